//! Finds the generic character device (`ng0n1`) that belongs to an NVMe namespace's block device
//! (`nvme0n1`), and the other way round. Called by whoever uses passthrough. It only looks: the
//! guard, which sees the block device, decides whether the namespace may be written.

use std::path::Path;

use super::{NoPassthrough, command_bytes_max, resolve};
use crate::block_device::device_number;
use crate::error::HostError;
use crate::roots::{Roots, attribute, names_in};

/// Where the kernel lists these devices.
const CLASS: &str = "class/nvme-generic";

/// A namespace's character device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NvmeGeneric {
    /// Kernel name: `ng0n1`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// The largest number of bytes that one command may move, however the memory is scattered, as
    /// the drive (MDTS), the bus and the list of pages allow it.
    pub command_bytes_max: u64,
}

impl NvmeGeneric {
    /// Finds the character device of this namespace, whose directory of sysfs is `directory`.
    ///
    /// Both are in the same directory of sysfs, that of the controller or, for a namespace with
    /// several paths, that of the subsystem; and both names end in the namespace's number. What
    /// comes before that need not be the same in both names. `None` if the disk is no namespace.
    pub(super) fn of_disk(
        roots: &Roots,
        disk: &str,
        directory: &Path,
    ) -> Result<Option<Result<NvmeGeneric, NoPassthrough>>, HostError> {
        let Some(namespace) = namespace_of(disk, "nvme") else {
            return Ok(None);
        };
        let home = directory.parent().unwrap_or(directory);
        for name in names_in(home)? {
            let is_its = namespace_of(&name, "ng") == Some(namespace);
            if !is_its || resolve(&roots.sys.join(CLASS).join(&name))? != home.join(&name) {
                continue;
            }
            let stated = attribute(&home.join(&name).join("dev"));
            if let Some((major, minor)) = stated.as_deref().and_then(device_number) {
                return Ok(Some(Ok(NvmeGeneric {
                    name,
                    major,
                    minor,
                    command_bytes_max: command_bytes_max(&directory.join("queue")),
                })));
            }
        }
        let disk = disk.to_owned();
        Ok(Some(Err(NoPassthrough::NoGenericDevice { disk })))
    }

    /// Kernel name of the block device to which the character device with this number belongs;
    /// `None` if it is not the generic device of a namespace.
    ///
    /// # Errors
    /// `HostError` if sysfs cannot be read.
    pub fn block_device(
        roots: &Roots,
        major: u32,
        minor: u32,
    ) -> Result<Option<String>, HostError> {
        let names = names_in(&roots.sys.join(CLASS))?;
        let found = names.into_iter().find(|name| {
            let stated = attribute(&roots.sys.join(CLASS).join(name).join("dev"));
            stated.as_deref().and_then(device_number) == Some((major, minor))
        });
        let Some((name, namespace)) =
            found.and_then(|name| Some((name.clone(), namespace_of(&name, "ng")?)))
        else {
            return Ok(None);
        };
        let directory = resolve(&roots.sys.join(CLASS).join(name))?;
        let home = directory.parent().unwrap_or(&directory);
        let names = names_in(home)?;
        Ok(names
            .into_iter()
            .find(|name| namespace_of(name, "nvme") == Some(namespace)))
    }
}

/// The namespace's number in `nvme0n1` or `ng0n1`. A hidden path (`nvme0c1n1`) has none.
fn namespace_of(name: &str, prefix: &str) -> Option<u32> {
    let (controller, namespace) = name.strip_prefix(prefix)?.split_once('n')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(controller) && is_number(namespace))
        .then(|| namespace.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;
    use crate::fake_host::FakeHost;
    use crate::passthrough::PassthroughDevice;

    const CONTROLLER: &str = "devices/pci0000:00/0000:00:04.0/nvme/nvme3";

    fn generic_at(host: &FakeHost, place: &str, name: &str, minor: u32) -> PathBuf {
        let sys = &host.roots().sys;
        let directory = sys.join(place).join(name);
        host.write_under(&directory, "dev", &format!("237:{minor}\n"));
        fs::create_dir_all(sys.join(CLASS)).unwrap();
        symlink(&directory, sys.join(CLASS).join(name)).unwrap();
        directory
    }

    fn found(host: &FakeHost, minor: u32) -> Result<NvmeGeneric, NoPassthrough> {
        let found = PassthroughDevice::of(host.roots(), 300, minor).unwrap()?;
        let PassthroughDevice::Nvme(generic) = found else {
            panic!("{found:?}");
        };
        Ok(generic)
    }

    #[test]
    fn a_namespace_and_its_character_device_find_each_other() {
        let host = FakeHost::new();
        let one = host.disk_at(CONTROLLER, "nvme3n1", 300, 0, 2048);
        host.disk_at(CONTROLLER, "nvme3n12", 300, 1, 2048);
        host.write_under(&one, "queue/max_hw_sectors_kb", "128\n");
        host.write_under(&one, "queue/max_segments", "127\n");
        generic_at(&host, CONTROLLER, "ng3n12", 5);
        generic_at(&host, CONTROLLER, "ng3n1", 4);
        let expected = NvmeGeneric {
            name: "ng3n1".to_owned(),
            major: 237,
            minor: 4,
            command_bytes_max: 128 << 10,
        };
        assert_eq!(found(&host, 0).unwrap(), expected);
        assert_eq!(found(&host, 1).unwrap().name, "ng3n12");
        let block = |minor| NvmeGeneric::block_device(host.roots(), 237, minor).unwrap();
        assert_eq!(block(4).as_deref(), Some("nvme3n1"));
        assert_eq!(block(5).as_deref(), Some("nvme3n12"));
        assert_eq!(block(6), None);
    }

    #[test]
    fn of_several_paths_that_of_the_subsystem_counts() {
        let host = FakeHost::new();
        let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys1";
        host.disk_at(subsystem, "nvme1n2", 300, 0, 2048);
        host.disk_at(CONTROLLER, "nvme1c3n2", 300, 1, 2048);
        generic_at(&host, subsystem, "ng1n2", 0);
        assert_eq!(found(&host, 0).unwrap().name, "ng1n2");
        let block = NvmeGeneric::block_device(host.roots(), 237, 0).unwrap();
        assert_eq!(block.as_deref(), Some("nvme1n2"));
        let hidden = found(&host, 1).unwrap_err();
        assert!(matches!(hidden, NoPassthrough::OtherDriver { .. }));
    }

    /// The number in front is the controller's in one name and the subsystem's in the other.
    #[test]
    fn only_the_namespace_and_the_place_must_agree() {
        let host = FakeHost::new();
        host.disk_at(CONTROLLER, "nvme0n1", 300, 0, 2048);
        generic_at(&host, CONTROLLER, "ng3n1", 7);
        let elsewhere = "devices/pci0000:00/0000:00:05.0/nvme/nvme0";
        generic_at(&host, elsewhere, "ng0n1", 8);
        assert_eq!(found(&host, 0).unwrap().minor, 7);
    }
}
