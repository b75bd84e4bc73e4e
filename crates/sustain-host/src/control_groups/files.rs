//! Reads and words the small files of a control group. A line that does not have the form of the
//! kernel's documentation is no line of a disk, and is passed over: these files have gained fields
//! with every other release.

use super::{DeviceNumber, GroupBytes, GroupLimits};
use crate::block_device::device_number;

/// Limits of version 2.
pub(super) const LIMITS: &str = "io.max";
/// Limits of version 1.
pub(super) const READ_LIMIT: &str = "blkio.throttle.read_bps_device";
pub(super) const WRITE_LIMIT: &str = "blkio.throttle.write_bps_device";

/// The group of a process in the text of `/proc/PID/cgroup`, whose lines are `7:cpu,blkio:/a:b` in
/// version 1, where each hierarchy has its controllers, and `0::/a` in version 2, where
/// `controller` is none.
pub(crate) fn membership<'a>(text: &'a str, controller: Option<&str>) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let controllers = fields.nth(1)?;
        let is_ours = match controller {
            Some(wanted) => controllers.split(',').any(|name| name == wanted),
            None => controllers.is_empty(),
        };
        fields.next().filter(|_| is_ours)
    })
}

/// `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0`
pub(super) fn used_in_two(text: &str) -> Vec<(DeviceNumber, GroupBytes)> {
    text.lines()
        .filter_map(|line| {
            let (device, values) = line.split_once(' ')?;
            let used = GroupBytes {
                read_bytes: value(values, "rbytes")?.parse().ok()?,
                write_bytes: value(values, "wbytes")?.parse().ok()?,
            };
            Some((device_number(device)?, used))
        })
        .collect()
}

/// `8:16 Read 1459200`, with a line for each kind of request.
pub(super) fn used_in_one(text: &str) -> Vec<(DeviceNumber, GroupBytes)> {
    let mut all: Vec<(DeviceNumber, GroupBytes)> = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(device) = fields.next().and_then(device_number) else {
            continue;
        };
        let (Some(kind), Some(Ok(bytes))) = (fields.next(), fields.next().map(str::parse)) else {
            continue;
        };
        let index = all.iter().position(|(known, _)| *known == device);
        let index = index.unwrap_or_else(|| {
            all.push((device, GroupBytes::default()));
            all.len() - 1
        });
        let used = &mut all[index].1;
        match kind {
            "Read" => used.read_bytes = bytes,
            "Write" => used.write_bytes = bytes,
            _ => {}
        }
    }
    all
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`
pub(super) fn limits_in_two(text: &str, device: DeviceNumber) -> GroupLimits {
    let of_device = text.lines().find_map(|line| {
        let (number, values) = line.split_once(' ')?;
        (device_number(number)? == device).then_some(values)
    });
    let limit = |key| value(of_device?, key)?.parse().ok();
    GroupLimits {
        read_bytes_per_s: limit("rbps"),
        write_bytes_per_s: limit("wbps"),
    }
}

/// `8:16 2097152`
pub(super) fn limit_in_one(text: &str, device: DeviceNumber) -> Option<u64> {
    text.lines().find_map(|line| {
        let (number, limit) = line.split_once(' ')?;
        let limit = limit.trim().parse().ok()?;
        (device_number(number)? == device).then_some(limit)
    })
}

pub(super) fn setting_in_two(
    (major, minor): DeviceNumber,
    limits: GroupLimits,
) -> (&'static str, String) {
    let word =
        |limit: Option<u64>| limit.map_or_else(|| "max".to_owned(), |limit| limit.to_string());
    let (read, write) = (limits.read_bytes_per_s, limits.write_bytes_per_s);
    let text = format!("{major}:{minor} rbps={} wbps={}", word(read), word(write));
    (LIMITS, text)
}

/// In version 1 a limit of 0 is none.
pub(super) fn setting_in_one(
    (major, minor): DeviceNumber,
    limits: GroupLimits,
) -> Vec<(&'static str, String)> {
    let text = |limit: Option<u64>| format!("{major}:{minor} {}", limit.unwrap_or(0));
    vec![
        (READ_LIMIT, text(limits.read_bytes_per_s)),
        (WRITE_LIMIT, text(limits.write_bytes_per_s)),
    ]
}

/// The value of `key=value` among words.
fn value<'a>(words: &'a str, key: &str) -> Option<&'a str> {
    words
        .split_whitespace()
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}
