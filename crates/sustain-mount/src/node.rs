//! What there is in a mount, and the inode number of each thing. A number says all of it, so
//! nothing has to be remembered for the kernel, however many frames it asks for. It is pure.

use fuser::INodeNo;

/// A file or directory of a mount. Recordings, and what pins keep of them, are numbered in the
/// order in which the mount met them. It is not their number in the store: that may be given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum MountNode {
    /// The mount point.
    Root,
    /// The directory of a pin, by its number.
    Pin(u32),
    /// The directory of a recording, or of what a pin keeps of one.
    Recording(u16),
    /// Its `recording.json`.
    Document(u16),
    /// A stream: a file, or a directory of its pieces.
    Stream(u16, u16),
    /// A piece of a stream that is split.
    Piece(u16, u16, u64),
    /// The directory of a stream's frames.
    Frames(u16, u16),
    /// A directory of frames that follow each other.
    Group(u16, u16, u64),
    /// A frame, by its number in the stream.
    Frame(u16, u16, u64),
}

const KIND_SHIFT: u32 = 61;
/// Pins are of the same kind as the mount point, and have this bit besides.
const PIN_BIT: u64 = 1 << 60;
const RECORDING_SHIFT: u32 = 45;
const STREAM_SHIFT: u32 = 39;
/// A recording has at most so many streams, as docs/format.md says.
const STREAMS_MAX: u64 = 1 << (RECORDING_SHIFT - STREAM_SHIFT);
/// Frames in one directory: few enough that `ls -l` of it reads little, and many enough that a
/// million frames are a thousand directories.
pub(crate) const GROUP_FRAMES: u64 = 1000;
/// Frames and pieces from this number on are not shown.
pub(crate) const INDEX_MAX: u64 = 1 << STREAM_SHIFT;

impl MountNode {
    /// The number of its inode.
    pub(crate) fn inode(self) -> INodeNo {
        let (kind, recording, stream, index): (u64, u16, u16, u64) = match self {
            MountNode::Root => return INodeNo::ROOT,
            MountNode::Pin(number) => return INodeNo(PIN_BIT | u64::from(number)),
            MountNode::Recording(recording) => (1, recording, 0, 0),
            MountNode::Document(recording) => (2, recording, 0, 0),
            MountNode::Stream(recording, stream) => (3, recording, stream, 0),
            MountNode::Piece(recording, stream, index) => (4, recording, stream, index),
            MountNode::Frames(recording, stream) => (5, recording, stream, 0),
            MountNode::Group(recording, stream, index) => (6, recording, stream, index),
            MountNode::Frame(recording, stream, index) => (7, recording, stream, index),
        };
        assert!(
            u64::from(stream) < STREAMS_MAX && index < INDEX_MAX,
            "{self:?} is shown"
        );
        let place = u64::from(recording) << RECORDING_SHIFT | u64::from(stream) << STREAM_SHIFT;
        INodeNo(kind << KIND_SHIFT | place | index)
    }

    /// The place of its recording in the order in which the mount met them; `None` for what is of
    /// no recording.
    pub(crate) fn slot(self) -> Option<u16> {
        match self {
            MountNode::Root | MountNode::Pin(_) => None,
            MountNode::Recording(slot)
            | MountNode::Document(slot)
            | MountNode::Stream(slot, _)
            | MountNode::Piece(slot, _, _)
            | MountNode::Frames(slot, _)
            | MountNode::Group(slot, _, _)
            | MountNode::Frame(slot, _, _) => Some(slot),
        }
    }

    /// The directory that it lies in. What a pin keeps of a recording lies in that of the pin,
    /// which the number does not tell.
    pub(crate) fn parent(self) -> MountNode {
        match self {
            MountNode::Root | MountNode::Pin(_) | MountNode::Recording(_) => MountNode::Root,
            MountNode::Document(slot) | MountNode::Stream(slot, _) | MountNode::Frames(slot, _) => {
                MountNode::Recording(slot)
            }
            MountNode::Piece(slot, stream, _) => MountNode::Stream(slot, stream),
            MountNode::Group(slot, stream, _) => MountNode::Frames(slot, stream),
            MountNode::Frame(slot, stream, number) => {
                MountNode::Group(slot, stream, number / GROUP_FRAMES)
            }
        }
    }

    /// The node with this inode number; `None` if there is none.
    pub(crate) fn of(inode: INodeNo) -> Option<MountNode> {
        let INodeNo(number) = inode;
        let recording = (number >> RECORDING_SHIFT) as u16;
        let stream = (number >> STREAM_SHIFT & (STREAMS_MAX - 1)) as u16;
        let index = number & (INDEX_MAX - 1);
        Some(match number >> KIND_SHIFT {
            0 if inode == INodeNo::ROOT => MountNode::Root,
            0 if number & PIN_BIT > 0 => MountNode::Pin(u32::try_from(number - PIN_BIT).ok()?),
            1 => MountNode::Recording(recording),
            2 => MountNode::Document(recording),
            3 => MountNode::Stream(recording, stream),
            4 => MountNode::Piece(recording, stream, index),
            5 => MountNode::Frames(recording, stream),
            6 => MountNode::Group(recording, stream, index),
            7 => MountNode::Frame(recording, stream, index),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_number_of_its_own_and_comes_back() {
        let mut nodes = vec![MountNode::Root];
        nodes.extend([0, 1, u32::MAX].map(MountNode::Pin));
        for recording in [0, 1, u16::MAX] {
            nodes.extend([
                MountNode::Recording(recording),
                MountNode::Document(recording),
            ]);
            for stream in [0, 63] {
                nodes.extend([
                    MountNode::Stream(recording, stream),
                    MountNode::Frames(recording, stream),
                ]);
                for index in [0, 1, INDEX_MAX - 1] {
                    nodes.extend([
                        MountNode::Piece(recording, stream, index),
                        MountNode::Group(recording, stream, index),
                        MountNode::Frame(recording, stream, index),
                    ]);
                }
            }
        }
        let mut numbers: Vec<u64> = nodes.iter().map(|node| node.inode().0).collect();
        let back = nodes.iter().map(|node| MountNode::of(node.inode()));
        assert!(back.eq(nodes.iter().copied().map(Some)));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), nodes.len());
        assert_eq!(MountNode::of(INodeNo(0)), None);
        assert_eq!(MountNode::of(INodeNo(2)), None);
    }
}
