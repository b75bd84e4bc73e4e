//! File systems whose files are no storage: the kernel makes up the bytes that are read there, and
//! bytes that are written there set something, or reach the memory of a process.

use std::path::Path;

use rustix::fs::statfs;

/// The kernel's names of them, with the numbers by which `statfs` identifies them.
const KERNEL_FILE_SYSTEMS: [(&str, u32); 16] = [
    ("proc", 0x9fa0),
    ("sysfs", 0x6265_6572),
    ("debugfs", 0x6462_6720),
    ("tracefs", 0x7472_6163),
    ("securityfs", 0x7363_6673),
    ("selinuxfs", 0xf97c_ff8c),
    ("cgroup", 0x0027_e0eb),
    ("cgroup2", 0x6367_7270),
    ("bpf", 0xcafe_4a11),
    ("pstore", 0x6165_676c),
    ("efivarfs", 0xde5e_81e4),
    ("configfs", 0x6265_6570),
    ("fusectl", 0x6573_5543),
    ("binfmt_misc", 0x4249_4e4d),
    ("devpts", 0x1cd1),
    ("mqueue", 0x1980_0202),
];

/// The file system that `path` lies on, if it is one of the kernel's own; of a path that does not
/// exist yet, the one it would lie on.
pub(super) fn kernel_file_system(path: &Path) -> Option<&'static str> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let found = statfs(path)
        .or_else(|_| statfs(folder.unwrap_or(Path::new("."))))
        .ok()?;
    // Only the lower half is the number, and some systems extend its sign.
    let number = found.f_type as u32;
    let mut known = KERNEL_FILE_SYSTEMS.iter();
    known
        .find(|(_, known)| *known == number)
        .map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_no_disk_is_known_by_its_file_system() {
        for (path, expected) in [
            ("/proc/self/mem", Some("proc")),
            ("/proc", Some("proc")),
            ("/proc/self/no-such-file", Some("proc")),
            ("/sys/kernel/mm", Some("sysfs")),
            (env!("CARGO_MANIFEST_DIR"), None),
            ("no-such-file", None),
            ("/no-such-directory/file", None),
        ] {
            assert_eq!(kernel_file_system(Path::new(path)), expected, "{path}");
        }
    }
}
