//! What `stat` shows of a file or directory. It is pure.

use std::time::{Duration, SystemTime};

use fuser::{FileAttr, FileType, INodeNo};

/// Blocks of which `stat` counts.
const COUNTED_BYTES: u64 = 512;
/// The length of reads that is best: `cp` and `cat` read so much at once.
const READ_BYTES: u32 = 1 << 20;

/// Who owns all that is in a mount: the user who mounted it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MountOwner {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl MountOwner {
    /// A file that can be read.
    pub(crate) fn file(self, inode: INodeNo, length_bytes: u64, time_ns: i64) -> FileAttr {
        FileAttr {
            kind: FileType::RegularFile,
            size: length_bytes,
            // All of it counts, or `cp` would take it for sparse and look for its holes.
            blocks: length_bytes.div_ceil(COUNTED_BYTES),
            perm: 0o444,
            nlink: 1,
            ..self.directory(inode, time_ns)
        }
    }

    /// A directory that can be listed.
    pub(crate) fn directory(self, inode: INodeNo, time_ns: i64) -> FileAttr {
        let time = time_of(time_ns);
        FileAttr {
            ino: inode,
            size: 0,
            blocks: 0,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: FileType::Directory,
            perm: 0o555,
            nlink: 2,
            uid: self.user,
            gid: self.group,
            rdev: 0,
            blksize: READ_BYTES,
            flags: 0,
        }
    }
}

/// A time in nanoseconds since 1970.
fn time_of(unix_ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(unix_ns.unsigned_abs());
    let moved = match unix_ns < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(distance),
        false => SystemTime::UNIX_EPOCH.checked_add(distance),
    };
    moved.unwrap_or(SystemTime::UNIX_EPOCH)
}
