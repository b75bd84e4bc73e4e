//! A member that is a file, looked at from beside: others may delete it or cut it off while it is
//! recorded to, and neither a write nor a flush says so.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, StatxFlags, fstat, stat, statx};
use sustain_disk::target::{Target, TargetKind};
use sustain_disk::units::Size;

/// The file of a member.
#[derive(Debug, Clone)]
pub struct MemberFile {
    file: Arc<OwnedFd>,
    member_bytes: u64,
    /// One that had no name from the beginning, and was opened by a descriptor's, is not deleted.
    has_name: bool,
}

impl MemberFile {
    /// That of a target, if it is a file, which is to hold so many bytes.
    pub(super) fn of(target: &Target, member_bytes: u64) -> Option<MemberFile> {
        let file = target.file.clone();
        let file = file.filter(|_| target.kind == TargetKind::File)?;
        let mut file = MemberFile {
            file,
            member_bytes,
            has_name: false,
        };
        let is_linked = file.links_and_bytes().is_some_and(|(links, _)| links > 0);
        // It may have been deleted since it was opened: then what was typed does not lead to it.
        file.has_name = is_linked || !file.is_at(&target.name);
        Some(file)
    }

    fn is_at(&self, path: &str) -> bool {
        let identity = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
        let there = stat(path).map(identity);
        there.is_ok() && there == fstat(&*self.file).map(identity)
    }

    /// What has become of it, in words, if it is not whole any more.
    pub(super) fn harm(&self) -> Option<String> {
        let (links, bytes) = self.links_and_bytes()?;
        if self.has_name && links == 0 {
            return Some(
                "was deleted while it was recorded to: all that is on it is gone when the recorder \
                 ends"
                    .to_owned(),
            );
        }
        (bytes < self.member_bytes).then(|| {
            format!(
                "became shorter while it was recorded to, {} instead of {}: what lay behind is \
                 gone",
                Size(bytes),
                Size(self.member_bytes)
            )
        })
    }

    /// As the kernel knows it by now: a server that does not answer is not asked.
    fn links_and_bytes(&self) -> Option<(u32, u64)> {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let wanted = StatxFlags::NLINK | StatxFlags::SIZE;
        let found = statx(&*self.file, c"", flags, wanted).ok()?;
        Some((found.stx_nlink, found.stx_size))
    }
}
