//! The total size of the processors' last-level caches, so that a test of memory can use more than
//! that. Called before such a test. It is for information only, so a value that sysfs does not have
//! is `None`.

use std::collections::BTreeMap;

use crate::roots::{Roots, attribute, names_in};

/// Bytes of the last-level caches of all processors together; `None` if sysfs has no caches.
pub fn last_level_cache_bytes(roots: &Roots) -> Option<u64> {
    let processors = roots.sys.join("devices/system/cpu");
    // A cache is identified by its level and the processors that share it.
    let mut caches: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for processor in names_in(&processors).ok()? {
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
        if !processor.strip_prefix("cpu").is_some_and(is_number) {
            continue;
        }
        let place = processors.join(&processor).join("cache");
        for index in names_in(&place).ok()? {
            let facts = place.join(&index);
            let level = attribute(&facts.join("level")).and_then(|level| level.parse().ok());
            let size = attribute(&facts.join("size")).and_then(|size| size_bytes(&size));
            if let (Some(level), Some(size)) = (level, size) {
                let shared = attribute(&facts.join("shared_cpu_list")).unwrap_or_default();
                caches.insert((level, shared), size);
            }
        }
    }
    let last = caches.keys().map(|(level, _)| *level).max()?;
    let of_last = caches.iter().filter(|((level, _), _)| *level == last);
    Some(of_last.map(|(_, size)| *size).sum())
}

/// Parses `32768K`, as in sysfs.
fn size_bytes(text: &str) -> Option<u64> {
    let (digits, unit_bytes) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn each_cache_of_the_last_level_counts_once() {
        let host = FakeHost::new();
        let cache = |processor: &str, index: &str, level: &str, size: &str, shared: &str| {
            let place = format!("devices/system/cpu/{processor}/cache/{index}");
            host.write_sys(&format!("{place}/level"), level);
            host.write_sys(&format!("{place}/size"), size);
            host.write_sys(&format!("{place}/shared_cpu_list"), shared);
        };
        for processor in ["cpu0", "cpu1", "cpu2"] {
            cache(processor, "index0", "1\n", "48K\n", processor);
        }
        cache("cpu0", "index3", "3\n", "32768K\n", "0-1\n");
        cache("cpu1", "index3", "3\n", "32768K\n", "0-1\n");
        cache("cpu2", "index3", "3\n", "16M\n", "2\n");
        cache("cpufreq", "index3", "9\n", "1K\n", "7\n");
        assert_eq!(last_level_cache_bytes(host.roots()), Some(48 << 20));
        assert_eq!(last_level_cache_bytes(FakeHost::new().roots()), None);
        assert_eq!(size_bytes("12 kB"), None);
    }
}
