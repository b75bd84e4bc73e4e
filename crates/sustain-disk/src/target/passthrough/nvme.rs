//! Passthrough to an NVMe namespace past the block layer: its generic character device
//! (`/dev/ng0n1`), opened beside the block device that passed the guard. The engine of passthrough
//! drives it. It is never opened without that block device, whose claim it keeps.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use rustix::io::Errno;
use sustain_document::setting::PATH;

use super::{CacheKept, GenericDevice, block_device_of};
use crate::error::Error;
use crate::nvme::{
    BLOCKS_MAX, Format, IDENTIFY_BYTES, IOCTL_ADMIN, IOCTL_NAMESPACE_ID, NvmeCommand,
};
use crate::target::{Direction, Target};

/// An NVMe namespace, open for commands.
#[derive(Debug)]
pub struct NvmeNamespace {
    commands: OwnedFd,
    /// The descriptor that passed the guard. As long as this value lives, the block device is
    /// claimed if it was opened for writing.
    _block_device: CacheKept,
    namespace: u32,
    block_bytes: u64,
    command_bytes_max: u64,
    may_write: bool,
}

impl NvmeNamespace {
    /// Opens the character device of the namespace that `target` is, for the direction in which the
    /// target was opened.
    ///
    /// # Errors
    /// [`Error::Target`] if it is not a block device, if the node at the place is not that of the
    /// same namespace, if the format carries metadata, or if the kernel refuses, saying what to do.
    pub fn open(
        target: &Target,
        place: &GenericDevice,
        direction: Direction,
    ) -> Result<NvmeNamespace, Error> {
        let fail = |why: String| Err(Error::target(&target.name, why));
        let block_device = block_device_of(target)?;
        let may_write = direction == Direction::Write;
        let access = if may_write {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        let commands = match open(&place.path, access | OFlags::CLOEXEC, Mode::empty()) {
            Ok(commands) => commands,
            Err(errno) => return fail(cannot_be_opened(place, errno)),
        };
        if !is_device(&commands, place.device) {
            let path = place.path.display();
            return fail(format!(
                "{path} is not the device that the kernel knows by that name: check /dev, or \
                 restart udev"
            ));
        }
        let namespaces = namespace_id(commands.as_fd()).zip(namespace_id(block_device.as_fd()));
        let Some((namespace, _)) = namespaces.filter(|(one, other)| one == other) else {
            let path = place.path.display();
            return fail(format!(
                "{path} belongs to another namespace: passthrough is not safe here; use {}",
                PATH.to("direct")
            ));
        };
        let format = match identify(commands.as_fd(), namespace) {
            Ok(format) => format,
            Err(why) => return fail(why),
        };
        if let Err(why) = check_format(format, target) {
            return fail(why);
        }
        let command_bytes_max = (place.command_bytes_max / format.block_bytes)
            .clamp(1, BLOCKS_MAX)
            .saturating_mul(format.block_bytes);
        Ok(NvmeNamespace {
            commands,
            _block_device: CacheKept::of(target, block_device, direction)?,
            namespace,
            block_bytes: format.block_bytes,
            command_bytes_max,
            may_write,
        })
    }

    /// Bytes of a block: offsets and lengths are multiples of it.
    pub fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Bytes that one command moves at most.
    pub fn command_bytes_max(&self) -> u64 {
        self.command_bytes_max
    }

    pub(crate) fn namespace(&self) -> u32 {
        self.namespace
    }

    /// Whether it was opened for writing, with the guard's permission.
    pub(crate) fn may_write(&self) -> bool {
        self.may_write
    }

    pub(crate) fn commands(&self) -> BorrowedFd<'_> {
        self.commands.as_fd()
    }
}

fn cannot_be_opened(place: &GenericDevice, errno: Errno) -> String {
    let (path, direct) = (place.path.display(), PATH.to("direct"));
    match errno {
        Errno::ACCESS | Errno::PERM => {
            format!("{path}: permission denied; passthrough needs root, or use {direct}")
        }
        Errno::NOENT => format!("there is no {path}: a container may hide it; use {direct}"),
        other => format!("{path} cannot be opened: {other}; use {direct}"),
    }
}

fn is_device(file: &OwnedFd, device: (u32, u32)) -> bool {
    fstat(file).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice
            && (major(found.st_rdev), minor(found.st_rdev)) == device
    })
}

/// `None` if the descriptor is not that of a namespace.
fn namespace_id(file: BorrowedFd<'_>) -> Option<u32> {
    // SAFETY: this request of the NVMe driver takes no argument and touches no memory of ours; what
    // knows no such request refuses it.
    let id = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_NAMESPACE_ID as _) };
    u32::try_from(id).ok().filter(|id| *id > 0)
}

fn identify(file: BorrowedFd<'_>, namespace: u32) -> Result<Format, String> {
    let mut answer = Box::new([0u8; IDENTIFY_BYTES]);
    let mut command = NvmeCommand::identify(namespace, answer.as_mut_ptr() as u64);
    // SAFETY: the command is the structure that this request takes, and both it and the memory that
    // it names, of the length that it states, live until the call returns.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ADMIN as _, &raw mut command) };
    match result {
        0 => Format::parse(&answer).ok_or_else(|| {
            "the drive describes its namespace in a way that cannot be right".to_owned()
        }),
        status if status > 0 => {
            let status = crate::nvme::status::NvmeStatus(status as u16);
            Err(format!(
                "the drive does not describe its namespace: {status}"
            ))
        }
        _ => {
            let error = std::io::Error::last_os_error();
            Err(format!(
                "the kernel takes no NVMe commands from this process ({error}): run as root, or \
                 use {}",
                PATH.to("direct")
            ))
        }
    }
}

fn check_format(format: Format, target: &Target) -> Result<(), String> {
    if format.metadata_bytes > 0 {
        return Err(format!(
            "its format carries {} bytes of metadata with each block of {}, which passthrough does \
             not generate: use {}",
            format.metadata_bytes,
            format.block_bytes,
            PATH.to("direct")
        ));
    }
    let drive_bytes = format.blocks.saturating_mul(format.block_bytes);
    if target
        .capacity_bytes
        .is_some_and(|bytes| bytes > drive_bytes)
    {
        return Err(format!(
            "the drive says that the namespace has {drive_bytes} bytes, less than its block \
             device: use {}",
            PATH.to("direct")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::target::TargetKind;

    fn target(kind: TargetKind) -> Target {
        Target {
            name: "disk".to_owned(),
            kind,
            file: Some(Arc::new(tempfile::tempfile().unwrap().into())),
            capacity_bytes: Some(1 << 20),
            alignment_bytes: 512,
            device: None,
            lock: None,
        }
    }

    fn refused(kind: TargetKind, path: &str, device: (u32, u32)) -> String {
        let place = GenericDevice {
            path: path.into(),
            device,
            command_bytes_max: 1 << 17,
        };
        let opened = NvmeNamespace::open(&target(kind), &place, Direction::Read);
        opened.unwrap_err().to_string()
    }

    #[test]
    fn only_the_character_device_of_that_number_is_used() {
        let block = TargetKind::BlockDevice;
        assert!(refused(TargetKind::File, "/dev/zero", (1, 5)).contains("not a block device"));
        assert!(refused(block, "/dev/no-such-ng0n1", (1, 5)).contains("there is no"));
        assert!(refused(block, "/dev/zero", (1, 3)).contains("not the device"));
        assert!(refused(block, "/proc/self/status", (1, 5)).contains("not the device"));
        assert!(refused(block, "/dev/zero", (1, 5)).contains("belongs to another namespace"));
    }

    #[test]
    fn formats_that_passthrough_cannot_serve_are_refused() {
        let target = target(TargetKind::BlockDevice);
        let format = Format {
            blocks: 2048,
            block_bytes: 512,
            metadata_bytes: 0,
        };
        check_format(format, &target).unwrap();
        let with_metadata = Format {
            metadata_bytes: 8,
            ..format
        };
        let why = check_format(with_metadata, &target).unwrap_err();
        assert!(why.contains("8 bytes of metadata"), "{why}");
        let smaller = Format {
            blocks: 2047,
            ..format
        };
        assert!(check_format(smaller, &target).is_err());
    }
}
