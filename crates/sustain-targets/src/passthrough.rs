//! Opens passthrough to a target that was opened under the guard, by what the host says of it. It
//! opens nothing whose block device the guard has not seen, except to read.

use std::path::{Path, PathBuf};

use rustix::fs::{FileType, major, minor, stat};
use sustain_disk::error::Error;
use sustain_disk::target::{
    Direction, GenericDevice, PASSED_THROUGH, Passthrough, PassthroughPlace, ScsiFacts, Target,
    TargetKind,
};
use sustain_document::setting::PATH;
use sustain_host::{NvmeGeneric, PassthroughDevice, Roots};

/// Opens passthrough to the disk that `target` is, for the direction in which the target was
/// opened. Its claim lasts as long as the returned value.
///
/// # Errors
/// [`Error::Target`] if there is none, or none that may be used, saying why.
pub fn open_passthrough(
    target: &Target,
    direction: Direction,
    roots: &Roots,
) -> Result<Passthrough, Error> {
    let fail = |why: String| Error::target(&target.name, why);
    let (Some((major, minor)), TargetKind::BlockDevice) = (target.device, target.kind) else {
        return Err(fail(format!(
            "passthrough needs {PASSED_THROUGH}, and this is not a disk: use {}",
            PATH.to("direct")
        )));
    };
    let found = PassthroughDevice::of(roots, major, minor)
        .map_err(|error| fail(format!("what passes commands to it is not known: {error}")))?
        .map_err(|none| fail(none.to_string()))?;
    Passthrough::open(target, &place_of(found), direction)
}

fn place_of(found: PassthroughDevice) -> PassthroughPlace {
    match found {
        PassthroughDevice::Nvme(generic) => PassthroughPlace::Nvme(GenericDevice {
            path: Path::new("/dev").join(&generic.name),
            device: (generic.major, generic.minor),
            command_bytes_max: generic.command_bytes_max,
        }),
        PassthroughDevice::Scsi(facts) => PassthroughPlace::Scsi(ScsiFacts {
            command_bytes_max: facts.command_bytes_max,
            scattered_bytes_max: facts.scattered_bytes_max,
            block_bytes: facts.block_bytes,
            is_cache_volatile: facts.is_cache_volatile,
            can_force: facts.can_force,
        }),
    }
}

/// The block device that belongs to an NVMe namespace's generic character device. The guard knows
/// the block device, and the namespace is claimed under its name. `None` for all other paths.
pub fn block_device_of_generic(path: &Path, roots: &Roots) -> Option<PathBuf> {
    let found = stat(path).ok()?;
    if FileType::from_raw_mode(found.st_mode) != FileType::CharacterDevice {
        return None;
    }
    let number = (major(found.st_rdev), minor(found.st_rdev));
    let name = NvmeGeneric::block_device(roots, number.0, number.1).ok()??;
    Some(Path::new("/dev").join(name))
}

#[cfg(test)]
mod tests {
    use sustain_disk::target::{DataPath, OpenRequest, open_null, open_path};

    use super::*;

    #[test]
    fn what_is_no_disk_has_no_passthrough() {
        let target = open_null("null:").unwrap();
        let refused = open_passthrough(&target, Direction::Write, &Roots::default());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("this is not a disk")
        );
        let request = OpenRequest {
            direction: Direction::Write,
            path: DataPath::Buffered,
            create: false,
        };
        let directory = tempfile::tempdir().unwrap();
        let scratch = open_path("here", directory.path(), request, &mut |_| Ok(())).unwrap();
        assert!(open_passthrough(&scratch, Direction::Write, &Roots::default()).is_err());
    }

    #[test]
    fn a_character_device_is_known_by_its_number() {
        let null = stat("/dev/null").unwrap();
        let number = (major(null.st_rdev), minor(null.st_rdev));
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots {
            sys: directory.path().join("sys"),
            proc: directory.path().join("proc"),
        };
        let found = || block_device_of_generic(Path::new("/dev/null"), &roots);
        assert_eq!(found(), None);
        let controller = roots.sys.join("devices/nvme0");
        std::fs::create_dir_all(controller.join("ng0n1")).unwrap();
        std::fs::create_dir_all(controller.join("nvme0n1")).unwrap();
        let dev = format!("{}:{}\n", number.0, number.1);
        std::fs::write(controller.join("ng0n1/dev"), dev).unwrap();
        let class = roots.sys.join("class/nvme-generic");
        std::fs::create_dir_all(&class).unwrap();
        std::os::unix::fs::symlink(controller.join("ng0n1"), class.join("ng0n1")).unwrap();
        assert_eq!(found().as_deref(), Some(Path::new("/dev/nvme0n1")));
        let other = block_device_of_generic(Path::new("/dev/zero"), &roots);
        assert_eq!(other, None);
    }
}
