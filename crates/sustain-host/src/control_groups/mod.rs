//! Control groups and the disks they use: which groups a limit can hold back without holding back
//! the program that asks, what they read and wrote, and what limits they have. Called by
//! `sustain-hold-back`. It knows both hierarchies, `blkio` of version 1 and `io` of version 2 (the
//! kernel's admin-guide, cgroup-v1/blkio-controller and cgroup-v2), and it sets no limit: it says
//! which text would, in which file.

mod beside;
mod files;

pub(crate) use files::membership;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::mounts::read_mounts;
use crate::roots::{Roots, read_if_present, read_text};

/// A device number: major and minor.
pub type DeviceNumber = (u32, u32);

/// What a control group has read from a disk and written to it since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupBytes {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

/// The limits of a control group on a disk; `None` where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupLimits {
    /// Bytes per second it may read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes per second it may write.
    pub write_bytes_per_s: Option<u64>,
}

/// The two kinds of hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The controller whose hierarchy it is, where each has one.
    fn controller(self) -> Option<&'static str> {
        match self {
            Version::One => Some("blkio"),
            Version::Two => None,
        }
    }
}

/// The hierarchy that knows who does I/O on which disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlGroups {
    version: Version,
    root: PathBuf,
    /// The group of this process, relative to the root.
    own: PathBuf,
    /// What is mounted of the whole hierarchy.
    mounted: PathBuf,
}

impl ControlGroups {
    /// The hierarchy of this machine, as this process sees it; `None` if it has none that knows
    /// disks.
    ///
    /// # Errors
    /// [`HostError`] if what the kernel says of it cannot be read.
    pub fn find(roots: &Roots) -> Result<Option<ControlGroups>, HostError> {
        let memberships = read_text(&roots.proc.join("self/cgroup"))?;
        for mount in read_mounts(roots)? {
            let has = |option: &str| mount.options.iter().any(|known| known == option);
            let version = match mount.kind.as_str() {
                "cgroup" if has("blkio") => Version::One,
                "cgroup2" if knows_io(&mount.mount_point)? => Version::Two,
                _ => continue,
            };
            // In a container a part of the hierarchy may be mounted, and the group still be named
            // from the root of the whole.
            let own = membership(&memberships, version.controller())
                .and_then(|own| Path::new(own).strip_prefix(&mount.root).ok());
            if let Some(own) = own {
                return Ok(Some(ControlGroups {
                    version,
                    own: own.to_owned(),
                    root: mount.mount_point,
                    mounted: mount.root,
                }));
            }
        }
        Ok(None)
    }

    /// The group of this process, relative to the root of the hierarchy; empty for the root.
    #[must_use]
    pub fn own(&self) -> &Path {
        &self.own
    }

    /// The group of another process, relative to the root; `None` if it has ended, or is not below
    /// the root.
    #[must_use]
    pub fn group_of(&self, process: u32, roots: &Roots) -> Option<PathBuf> {
        let memberships = read_text(&roots.proc.join(format!("{process}/cgroup"))).ok()?;
        let own = membership(&memberships, self.version.controller())?;
        let own = Path::new(own).strip_prefix(&self.mounted).ok()?;
        Some(own.to_owned())
    }

    /// The directory of the hierarchy's root.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The groups, relative to the root, that can have limits without limiting this process. In
    /// version 2, where the limit of a group holds for all below it, these are the largest of them.
    ///
    /// # Errors
    /// [`HostError`] if the groups cannot be listed.
    pub fn beside(&self) -> Result<Vec<PathBuf>, HostError> {
        match self.version {
            Version::One => beside::all_but(&self.root, &self.own),
            Version::Two => beside::largest_without(&self.root, &self.own),
        }
    }

    /// A number that tells a group from one of the same name that is made later; `None` if the
    /// group is gone.
    #[must_use]
    pub fn node(&self, group: &Path) -> Option<u64> {
        let directory = std::fs::metadata(self.root.join(group)).ok()?;
        Some(directory.ino())
    }

    /// What a group has read and written, by disk. A group that is gone has used none.
    ///
    /// # Errors
    /// [`HostError`] if the kernel's account cannot be read.
    pub fn used(&self, group: &Path) -> Result<Vec<(DeviceNumber, GroupBytes)>, HostError> {
        let (name, parse): (_, fn(&str) -> _) = match self.version {
            Version::One => ("blkio.throttle.io_service_bytes", files::used_in_one),
            Version::Two => ("io.stat", files::used_in_two),
        };
        let text = read_if_present(&self.root.join(group).join(name))?;
        Ok(text.map_or_else(Vec::new, |text| parse(&String::from_utf8_lossy(&text))))
    }

    /// The limits that a group has on a disk; `None` if the group is gone.
    ///
    /// # Errors
    /// [`HostError`] if they cannot be read.
    pub fn limits(
        &self,
        group: &Path,
        device: DeviceNumber,
    ) -> Result<Option<GroupLimits>, HostError> {
        let read = |name: &str| -> Result<Option<String>, HostError> {
            let text = read_if_present(&self.root.join(group).join(name))?;
            Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
        };
        Ok(match self.version {
            Version::One => {
                let of_reads = read(files::READ_LIMIT)?;
                let of_writes = read(files::WRITE_LIMIT)?;
                let limit = |text: &str| files::limit_in_one(text, device);
                of_reads
                    .zip(of_writes)
                    .map(|(of_reads, of_writes)| GroupLimits {
                        read_bytes_per_s: limit(&of_reads),
                        write_bytes_per_s: limit(&of_writes),
                    })
            }
            Version::Two => read(files::LIMITS)?.map(|text| files::limits_in_two(&text, device)),
        })
    }

    /// The files, and the text for each, by which a group gets these limits on a disk.
    #[must_use]
    pub fn setting(
        &self,
        group: &Path,
        device: DeviceNumber,
        limits: GroupLimits,
    ) -> Vec<(PathBuf, String)> {
        let directory = self.root.join(group);
        let texts = match self.version {
            Version::One => files::setting_in_one(device, limits),
            Version::Two => vec![files::setting_in_two(device, limits)],
        };
        let within = |(name, text): (&str, String)| (directory.join(name), text);
        texts.into_iter().map(within).collect()
    }
}

/// Whether this hierarchy of version 2 has the controller of I/O.
fn knows_io(mount_point: &Path) -> Result<bool, HostError> {
    let controllers = read_if_present(&mount_point.join("cgroup.controllers"))?.unwrap_or_default();
    let controllers = String::from_utf8_lossy(&controllers).into_owned();
    Ok(controllers.split_whitespace().any(|name| name == "io"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    fn machine(kind: &str, options: &str, own: &str) -> (FakeHost, PathBuf) {
        let host = FakeHost::new();
        let root = host.path().join("groups");
        std::fs::create_dir_all(&root).unwrap();
        let mount = format!(
            "40 30 0:35 / {} rw,relatime - {kind} cgroup rw,{options}\n",
            root.display()
        );
        host.write_proc("self/mountinfo", &mount);
        host.write_proc("self/cgroup", own);
        (host, root)
    }

    #[test]
    fn a_machine_without_a_controller_of_io_has_none() {
        let (host, root) = machine("cgroup2", "nsdelegate", "0::/user.slice\n");
        std::fs::write(root.join("cgroup.controllers"), "cpu memory\n").unwrap();
        assert_eq!(ControlGroups::find(host.roots()).unwrap(), None);
    }

    #[test]
    fn version_two_is_found_with_its_limits_and_what_was_used() {
        let (host, root) = machine("cgroup2", "nsdelegate", "0::/user.slice/me.scope\n");
        std::fs::write(root.join("cgroup.controllers"), "cpu io memory\n").unwrap();
        let group = root.join("system.slice");
        std::fs::create_dir(&group).unwrap();
        std::fs::write(
            group.join("io.stat"),
            "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n8:0 \n",
        )
        .unwrap();
        std::fs::write(
            group.join("io.max"),
            "8:16 rbps=2097152 wbps=max riops=max wiops=120\n",
        )
        .unwrap();
        let groups = ControlGroups::find(host.roots()).unwrap().unwrap();
        assert_eq!(groups.own(), Path::new("user.slice/me.scope"));
        let slice = Path::new("system.slice");
        let used = GroupBytes {
            read_bytes: 1_459_200,
            write_bytes: 314_773_504,
        };
        assert_eq!(groups.used(slice).unwrap(), [((8, 16), used)]);
        let limits = groups.limits(slice, (8, 16)).unwrap().unwrap();
        assert_eq!(limits.read_bytes_per_s, Some(2_097_152));
        assert_eq!(limits.write_bytes_per_s, None);
        let other = groups.limits(slice, (8, 0)).unwrap();
        assert_eq!(other, Some(GroupLimits::default()));
        assert_eq!(groups.limits(Path::new("gone"), (8, 0)).unwrap(), None);
        assert_eq!(groups.used(Path::new("gone")).unwrap(), []);
        assert_eq!(groups.node(Path::new("gone")), None);
        std::fs::create_dir(root.join("beside")).unwrap();
        assert_ne!(groups.node(slice), groups.node(Path::new("beside")));
        let text = groups.setting(slice, (8, 16), limits);
        assert_eq!(
            text,
            [(
                group.join("io.max"),
                "8:16 rbps=2097152 wbps=max".to_owned()
            )]
        );
    }

    #[test]
    fn version_one_is_found_with_its_limits_and_what_was_used() {
        let (host, root) = machine(
            "cgroup",
            "cpu,blkio",
            "9:name=systemd:/x\n7:cpu,blkio:/a:b\n",
        );
        let group = root.join("writers");
        std::fs::create_dir(&group).unwrap();
        std::fs::write(
            group.join("blkio.throttle.io_service_bytes"),
            "7:0 Read 4096\n7:0 Write 8192\n7:0 Sync 8192\n7:0 Total 12288\nTotal 12288\n",
        )
        .unwrap();
        std::fs::write(group.join("blkio.throttle.read_bps_device"), "").unwrap();
        std::fs::write(group.join("blkio.throttle.write_bps_device"), "7:0 500\n").unwrap();
        let groups = ControlGroups::find(host.roots()).unwrap().unwrap();
        assert_eq!(groups.own(), Path::new("a:b"));
        let writers = Path::new("writers");
        let used = GroupBytes {
            read_bytes: 4096,
            write_bytes: 8192,
        };
        assert_eq!(groups.used(writers).unwrap(), [((7, 0), used)]);
        let limits = groups.limits(writers, (7, 0)).unwrap().unwrap();
        assert_eq!(
            (limits.read_bytes_per_s, limits.write_bytes_per_s),
            (None, Some(500))
        );
        let text = groups.setting(writers, (7, 0), limits);
        let texts: Vec<&str> = text.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["7:0 0", "7:0 500"]);
    }

    #[test]
    fn where_a_part_of_the_hierarchy_is_mounted_the_own_group_is_found_within_it() {
        let (host, root) = machine("cgroup2", "nsdelegate", "0::/docker/x/sub\n");
        std::fs::write(root.join("cgroup.controllers"), "io\n").unwrap();
        let mount = |of: &str| {
            let line = format!("40 30 0:35 {of} {} rw - cgroup2 x rw\n", root.display());
            host.write_proc("self/mountinfo", &line);
            ControlGroups::find(host.roots()).unwrap()
        };
        assert_eq!(mount("/docker/x").unwrap().own(), Path::new("sub"));
        // A group that is not below what is mounted cannot be told from the others.
        assert_eq!(mount("/docker/y"), None);
    }
}
