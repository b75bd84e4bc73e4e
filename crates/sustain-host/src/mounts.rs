//! The mount table of this process, `/proc/self/mountinfo` (proc(5)). Called by the guard and by
//! `FileSystem`. A line that cannot be parsed is an error and is never skipped: a mount overlooked
//! is a disk destroyed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::block_device::device_number;
use crate::error::HostError;
use crate::roots::Roots;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number of the file system; major 0 if it has no device of its own.
    pub(crate) device: (u32, u32),
    /// The directory of the file system that was mounted, `/` for all of it.
    pub(crate) root: PathBuf,
    pub(crate) mount_point: PathBuf,
    /// The options of the mount, then those of the file system, each once.
    pub(crate) options: Vec<String>,
    /// `ext4`, `btrfs`, `overlay`.
    pub(crate) kind: String,
    /// What was mounted: a path of a device, or any other word.
    pub(crate) source: PathBuf,
}

/// Reads all mounts, in the order they were made.
///
/// # Errors
/// `HostError::Read` or `HostError::Malformed`.
pub(crate) fn read_mounts(roots: &Roots) -> Result<Vec<Mount>, HostError> {
    let path = roots.proc.join("self/mountinfo");
    let content = fs::read(&path).map_err(|error| HostError::Read {
        path: path.clone(),
        error,
    })?;
    let lines = content
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| {
            parse_line(line).ok_or_else(|| HostError::Malformed {
                path: path.clone(),
                why: format!("line {:?}", String::from_utf8_lossy(line)),
            })
        })
        .collect()
}

/// `36 35 98:0 /root /mount/point rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue`
fn parse_line(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    // The optional fields between the sixth and the dash vary in number.
    let dash = 6 + fields.get(6..)?.iter().position(|field| field == b"-")?;
    let mut options: Vec<String> = Vec::new();
    for list in [fields.get(5)?, fields.get(dash + 3)?] {
        for option in text(list).split(',') {
            if !options.iter().any(|known| known == option) {
                options.push(option.to_owned());
            }
        }
    }
    Some(Mount {
        device: device_number(&text(fields.get(2)?))?,
        root: unescape(fields.get(3)?),
        mount_point: unescape(fields.get(4)?),
        options,
        kind: text(fields.get(dash + 1)?),
        source: unescape(fields.get(dash + 2)?),
    })
}

/// The kernel writes white space and backslashes of a path as three octal digits: `\040`.
pub(crate) fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

fn octal(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\")?.get(..3)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn a_line_with_escapes_and_optional_fields_is_read() {
        let host = FakeHost::new();
        host.write_proc(
            "self/mountinfo",
            "36 35 300:1 / /my\\040disk rw,noatime shared:1 master:2 - ext4 /dev/sdzz1 \
             rw,errors=continue\n\
             22 27 0:21 / /proc rw,relatime - proc proc rw\n",
        );
        let mounts = read_mounts(host.roots()).unwrap();
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[0].device, (300, 1));
        assert_eq!(mounts[0].mount_point, PathBuf::from("/my disk"));
        assert_eq!(mounts[0].kind, "ext4");
        assert_eq!(mounts[0].source, PathBuf::from("/dev/sdzz1"));
        assert_eq!(mounts[0].options, ["rw", "noatime", "errors=continue"]);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        let host = FakeHost::new();
        host.write_proc("self/mountinfo", "36 35 300:1 / /mnt rw\n");
        let error = read_mounts(host.roots()).unwrap_err();
        assert!(matches!(error, HostError::Malformed { .. }), "{error}");
    }

    #[test]
    fn a_backslash_without_three_digits_stays() {
        assert_eq!(unescape(b"a\\04"), PathBuf::from("a\\04"));
        assert_eq!(unescape(b"a\\134b\\011"), PathBuf::from("a\\b\t"));
    }
}
