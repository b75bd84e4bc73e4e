//! What the files of a mount contain and what its directories list, by node. The kernel's requests
//! come to it from `file_system.rs`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use fuser::{FileAttr, FileType};
use sustain_document::list::ListDocument;
use sustain_record::store::Store;

use crate::attributes::MountOwner;
use crate::cursor::{ReadBytes, ReadFailure, WantedBytes};
use crate::error::MountError;
use crate::frames::FrameShelf;
use crate::names;
use crate::node::{GROUP_FRAMES, INDEX_MAX, MountNode};
use crate::shelf::{CursorShelf, LossReading};
use crate::view::{ShownRecording, StoreReplaced, StoreView};

/// Pins come behind all recordings in the directory that has both.
const PINS_FROM: u64 = 1 << 16;

/// Everything that a mount shows.
pub(crate) struct MountContents {
    view: StoreView,
    cursors: CursorShelf,
    frames: FrameShelf,
    /// The size of the pieces of a stream, if streams are split.
    split_bytes: Option<u64>,
    owner: MountOwner,
}

/// Why a request for a node cannot be answered.
#[derive(Debug)]
pub(crate) enum NodeFailure {
    /// There is no such file.
    Absent,
    /// It is no directory.
    NoDirectory,
    /// It is a directory.
    Directory,
    /// It was there when it was opened, and is not any more.
    Gone,
    /// It was of a store in the place of which there is another one.
    Replaced,
    /// Too many wait already for what it says.
    Busy,
    /// It cannot be read.
    Read(ReadFailure),
}

/// An entry of a directory: its place in it, what it is, and its name.
pub(crate) type ListedEntry<'a> = (u64, MountNode, FileType, &'a str);

impl From<ReadFailure> for NodeFailure {
    fn from(failure: ReadFailure) -> NodeFailure {
        NodeFailure::Read(failure)
    }
}

impl From<StoreReplaced> for NodeFailure {
    fn from(StoreReplaced: StoreReplaced) -> NodeFailure {
        NodeFailure::Replaced
    }
}

impl MountContents {
    /// Looks at a store for the first time.
    pub(crate) fn open(
        store: Store,
        losses: LossReading,
        split_bytes: Option<u64>,
        owner: MountOwner,
    ) -> Result<MountContents, MountError> {
        Ok(MountContents {
            view: StoreView::open(store)?,
            cursors: CursorShelf::new(losses),
            frames: FrameShelf::default(),
            split_bytes,
            owner,
        })
    }

    /// The directory that a node lies in.
    pub(crate) fn parent(&self, node: MountNode) -> MountNode {
        let MountNode::Recording(slot) = node else {
            return node.parent();
        };
        let last = self.view.last().unwrap_or_default();
        let shown = last.iter().find(|shown| shown.slot == slot);
        let pin = shown.and_then(|shown| shown.recording.pin);
        pin.map_or(MountNode::Root, MountNode::Pin)
    }

    /// What lies in a directory above those of recordings, each with its place in it.
    fn above(&self, directory: MountNode) -> Result<Vec<(u64, String, MountNode)>, NodeFailure> {
        let wanted_pin = match directory {
            MountNode::Pin(number) => Some(number),
            _ => None,
        };
        let shown = self.view.now()?;
        let within = shown.iter().filter(|one| one.recording.pin == wanted_pin);
        let mut entries: Vec<_> = within
            .map(|one| {
                let name = names::of_recording(one.recording.number);
                (u64::from(one.slot), name, MountNode::Recording(one.slot))
            })
            .collect();
        if directory == MountNode::Root {
            let pins: BTreeSet<u32> = shown.iter().filter_map(|one| one.recording.pin).collect();
            entries.extend(pins.into_iter().map(|pin| {
                let place = PINS_FROM + u64::from(pin);
                (place, names::of_pin(pin), MountNode::Pin(pin))
            }));
        } else if entries.is_empty() {
            // The pin was freed.
            return Err(NodeFailure::Absent);
        }
        Ok(entries)
    }

    /// What `stat` shows of a node, and whether that may change at any time.
    pub(crate) fn attributes(&self, node: MountNode) -> Result<(FileAttr, bool), NodeFailure> {
        let Some(slot) = node.slot() else {
            if matches!(node, MountNode::Pin(_)) {
                self.above(node)?;
            }
            // The mount point stays when its store is gone, so that it can be unmounted by name.
            let shown = self.view.now().unwrap_or_default();
            let newest = shown.last().and_then(|newest| newest.recording.started_ns);
            let root = self.owner.directory(node.inode(), newest.unwrap_or(0));
            return Ok((root, true));
        };
        let shown = self.shown(slot)?;
        let started_ns = shown.recording.started_ns.unwrap_or(0);
        let time_ns = |number| {
            let stream = shown.stream(number);
            let stream = stream.filter(|stream| stream.offered_bytes > 0);
            stream.map_or(started_ns, |stream| stream.last_time_ns)
        };
        let (length_bytes, time_ns) = match node {
            MountNode::Document(_) => (self.document_bytes(&shown)?, started_ns),
            MountNode::Stream(_, stream) if self.split_bytes.is_none() => {
                let bytes = bytes_of(&shown, stream)?;
                (bytes.end - bytes.start, time_ns(stream))
            }
            MountNode::Piece(_, stream, index) => {
                let piece = self.piece(&shown, stream, index)?;
                (piece.end - piece.start, time_ns(stream))
            }
            MountNode::Frame(_, stream, number) => {
                let place = self.frames.place(&shown, stream, number)?;
                (place.length_bytes, place.time_ns)
            }
            MountNode::Stream(_, stream)
            | MountNode::Frames(_, stream)
            | MountNode::Group(_, stream, _) => {
                let directory = self.owner.directory(node.inode(), time_ns(stream));
                return Ok((directory, shown.may_move));
            }
            MountNode::Root | MountNode::Pin(_) | MountNode::Recording(_) => {
                let directory = self.owner.directory(node.inode(), started_ns);
                return Ok((directory, shown.may_move));
            }
        };
        let file = self.owner.file(node.inode(), length_bytes, time_ns);
        Ok((file, shown.may_move))
    }

    /// What has this name in a directory.
    pub(crate) fn named(&self, parent: MountNode, name: &str) -> Result<MountNode, NodeFailure> {
        let absent = NodeFailure::Absent;
        let Some(slot) = parent.slot() else {
            let mut entries = self.above(parent)?.into_iter();
            let named = entries.find_map(|(_, entry, node)| (entry == name).then_some(node));
            return named.ok_or(absent);
        };
        let shown = self.shown(slot)?;
        let found = match parent {
            MountNode::Recording(_) => {
                let entries = names::in_recording(slot, &shown.recording);
                let mut entries = entries.into_iter();
                entries.find_map(|(entry, node)| (entry == name).then_some(node))
            }
            MountNode::Stream(_, stream) if self.split_bytes.is_some() => {
                let of = shown.stream(stream).ok_or(NodeFailure::Absent)?;
                let index = names::piece_named(of, name).filter(|index| *index < INDEX_MAX);
                let index = index.filter(|index| self.piece(&shown, stream, *index).is_ok());
                index.map(|index| MountNode::Piece(slot, stream, index))
            }
            MountNode::Frames(_, stream) => {
                let groups = groups_of(&shown, stream)?;
                let index = names::group_named(name).filter(|index| groups.contains(index));
                index.map(|index| MountNode::Group(slot, stream, index))
            }
            MountNode::Group(_, stream, group) => {
                let of = shown.stream(stream).ok_or(NodeFailure::Absent)?;
                let frames = frames_of(&shown, stream)?;
                let number = names::frame_named(of, name)
                    .filter(|number| frames.contains(number) && number / GROUP_FRAMES == group);
                number.map(|number| MountNode::Frame(slot, stream, number))
            }
            _ => return Err(NodeFailure::NoDirectory),
        };
        found.ok_or(absent)
    }

    /// Calls `add` for the entries of a directory from this place on, until it says that there is
    /// no more room. Places do not change while a directory grows, or a ring takes its beginning.
    pub(crate) fn list(
        &self,
        directory: MountNode,
        from: u64,
        add: &mut dyn FnMut(ListedEntry<'_>) -> bool,
    ) -> Result<(), NodeFailure> {
        let Some(slot) = directory.slot() else {
            let entries = self.above(directory)?;
            for (place, name, node) in entries.iter().filter(|(place, ..)| *place >= from) {
                if add((*place, *node, FileType::Directory, name)) {
                    break;
                }
            }
            return Ok(());
        };
        let shown = self.shown(slot)?;
        let numbered = |number| shown.stream(number).ok_or(NodeFailure::Absent);
        match directory {
            MountNode::Recording(_) => {
                let entries = names::in_recording(slot, &shown.recording);
                for (place, (name, node)) in (0..).zip(entries).skip(from as usize) {
                    if add((place, node, self.kind(node), &name)) {
                        break;
                    }
                }
            }
            MountNode::Stream(_, number) if self.split_bytes.is_some() => {
                let stream = numbered(number)?;
                for index in from..self.pieces(&shown, number)? {
                    let (name, node) = (
                        names::of_piece(stream, index),
                        MountNode::Piece(slot, number, index),
                    );
                    if add((index, node, FileType::RegularFile, &name)) {
                        break;
                    }
                }
            }
            MountNode::Frames(_, number) => {
                let groups = groups_of(&shown, number)?;
                for index in groups.start.max(from)..groups.end {
                    let node = MountNode::Group(slot, number, index);
                    if add((index, node, FileType::Directory, &names::of_group(index))) {
                        break;
                    }
                }
            }
            MountNode::Group(_, number, group) => {
                let stream = numbered(number)?;
                let frames = frames_of(&shown, number)?;
                let first = frames.start.max(group * GROUP_FRAMES).max(from);
                let group_end = (group + 1) * GROUP_FRAMES;
                let end = match frames.end <= group_end {
                    true => self.finished_end(&shown, number, frames)?,
                    false => group_end,
                };
                for index in first..end {
                    let (name, node) = (
                        names::of_frame(stream, index),
                        MountNode::Frame(slot, number, index),
                    );
                    if add((index, node, FileType::RegularFile, &name)) {
                        break;
                    }
                }
            }
            _ => return Err(NodeFailure::NoDirectory),
        }
        Ok(())
    }

    /// Reads a file. It returns less than was asked for at the end of the file only, and, where it
    /// may be short, before the first lost byte.
    pub(crate) fn read(
        &self,
        node: MountNode,
        offset: u64,
        length: u32,
        may_be_short: bool,
    ) -> Result<ReadBytes, NodeFailure> {
        let slot = node.slot().ok_or(NodeFailure::Directory)?;
        // Whatever of it was opened is gone with the pin, or with the recording.
        let still = |found: Result<Arc<ShownRecording>, NodeFailure>| match found {
            Err(NodeFailure::Absent) => Err(NodeFailure::Gone),
            found => found,
        };
        let mut shown = still(found(&self.view.last()?, slot))?;
        if shown.recording.pin.is_some() {
            // Only a look tells that it was freed.
            shown = still(found(&self.view.now()?, slot))?;
        }
        let (stream, mut file) = self.extent(&shown, node)?;
        let wanted_end = offset.saturating_add(u64::from(length));
        if file.end - file.start < wanted_end {
            // Who reads on at the end waits for more, and may not ask for the length first.
            shown = still(found(&self.view.now()?, slot))?;
            (_, file) = self.extent(&shown, node)?;
        }
        let start = file.start.saturating_add(offset);
        let end = file.start.saturating_add(wanted_end).min(file.end);
        if start >= end {
            return Ok(ReadBytes::Joined(Vec::new()));
        }
        let wanted = WantedBytes {
            range: start..end,
            may_be_short,
        };
        let read = self.cursors.read(&self.view, &shown, stream, wanted);
        Ok(read?)
    }

    /// The stream of a file, and which of its bytes the file has.
    fn extent(
        &self,
        shown: &ShownRecording,
        node: MountNode,
    ) -> Result<(u16, Range<u64>), NodeFailure> {
        Ok(match node {
            MountNode::Stream(_, stream) if self.split_bytes.is_none() => {
                (stream, bytes_of(shown, stream)?)
            }
            MountNode::Piece(_, stream, index) => (stream, self.piece(shown, stream, index)?),
            MountNode::Frame(_, stream, number) => {
                let place = self.frames.place(shown, stream, number)?;
                let end = place.offset_bytes + place.length_bytes;
                (stream, place.offset_bytes..end)
            }
            _ => return Err(NodeFailure::Directory),
        })
    }

    /// The end of those frames without the last one, if that is unfinished.
    fn finished_end(
        &self,
        shown: &ShownRecording,
        stream: u16,
        frames: Range<u64>,
    ) -> Result<u64, NodeFailure> {
        let Some(last) = frames
            .end
            .checked_sub(1)
            .filter(|last| *last >= frames.start)
        else {
            return Ok(frames.end);
        };
        match self.frames.place(shown, stream, last) {
            Ok(_) | Err(ReadFailure::Lost) => Ok(frames.end),
            Err(ReadFailure::Unfinished) => Ok(last),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The text of `recording.json` by now.
    pub(crate) fn document(&self, slot: u16) -> Result<String, NodeFailure> {
        let shown = self.shown(slot)?;
        let document = self.view.document(&shown).map_err(ReadFailure::Members)?;
        text_of(&document.ok_or(NodeFailure::Busy)?)
    }

    /// The length of `recording.json`, of late. It is read to its end, whatever length is shown.
    fn document_bytes(&self, shown: &ShownRecording) -> Result<u64, NodeFailure> {
        let document = self.view.document_of_late(shown);
        let document = document.map_err(ReadFailure::Members)?;
        document.map_or(Ok(0), |document| Ok(text_of(&document)?.len() as u64))
    }

    fn shown(&self, slot: u16) -> Result<Arc<ShownRecording>, NodeFailure> {
        found(&self.view.now()?, slot)
    }

    fn kind(&self, node: MountNode) -> FileType {
        match node {
            MountNode::Stream(..) if self.split_bytes.is_some() => FileType::Directory,
            MountNode::Document(_)
            | MountNode::Stream(..)
            | MountNode::Piece(..)
            | MountNode::Frame(..) => FileType::RegularFile,
            MountNode::Root
            | MountNode::Pin(_)
            | MountNode::Recording(_)
            | MountNode::Frames(..)
            | MountNode::Group(..) => FileType::Directory,
        }
    }

    /// How many pieces a stream has.
    fn pieces(&self, shown: &ShownRecording, stream: u16) -> Result<u64, NodeFailure> {
        let split_bytes = self.split_bytes.ok_or(NodeFailure::NoDirectory)?;
        let bytes = bytes_of(shown, stream)?;
        let length = bytes.end - bytes.start;
        Ok(length.div_ceil(split_bytes).min(INDEX_MAX))
    }

    /// The bytes of a stream that a piece has.
    fn piece(
        &self,
        shown: &ShownRecording,
        stream: u16,
        index: u64,
    ) -> Result<Range<u64>, NodeFailure> {
        let split_bytes = self.split_bytes.ok_or(NodeFailure::Absent)?;
        if index >= self.pieces(shown, stream)? {
            return Err(NodeFailure::Absent);
        }
        let bytes = bytes_of(shown, stream)?;
        let start = bytes.start + index * split_bytes;
        Ok(start..bytes.end.min(start.saturating_add(split_bytes)))
    }
}

fn text_of(document: &ListDocument) -> Result<String, NodeFailure> {
    let text = sustain_document::reader::write(document);
    text.map_err(|_| NodeFailure::Read(ReadFailure::Lost))
}

fn found(all: &[Arc<ShownRecording>], slot: u16) -> Result<Arc<ShownRecording>, NodeFailure> {
    let shown = all.iter().find(|shown| shown.slot == slot);
    shown.cloned().ok_or(NodeFailure::Absent)
}

/// The bytes of a stream that are shown, with all that is lost of them.
fn bytes_of(shown: &ShownRecording, stream: u16) -> Result<Range<u64>, NodeFailure> {
    shown.bytes(stream).ok_or(NodeFailure::Absent)
}

/// The frames of a stream that are shown.
fn frames_of(shown: &ShownRecording, stream: u16) -> Result<Range<u64>, NodeFailure> {
    shown.frames(stream).ok_or(NodeFailure::Absent)
}

/// The directories of frames that a stream has.
fn groups_of(shown: &ShownRecording, stream: u16) -> Result<Range<u64>, NodeFailure> {
    let frames = frames_of(shown, stream)?;
    let end = match frames.is_empty() {
        true => frames.start / GROUP_FRAMES,
        false => frames.end.div_ceil(GROUP_FRAMES),
    };
    Ok(frames.start / GROUP_FRAMES..end)
}
