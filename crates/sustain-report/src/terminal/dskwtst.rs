//! Makes the line of `--log dskwtst`, as the disk writing test of 1998 printed it. Scripts read
//! this line: its form must never change.

use super::without_controls;

/// One line, without its newline: the bytes and seconds of this interval and their rate, then the
/// rate of all bytes over all seconds so far. Rates are in 10^6 bytes per second.
///
/// `name` stands in front where several targets share the log.
#[must_use]
pub fn dskwtst_line(
    name: Option<&str>,
    bytes: u64,
    seconds: f64,
    all_bytes: u64,
    all_seconds: f64,
) -> String {
    let prefix = name.map_or_else(String::new, |name| format!("{}: ", without_controls(name)));
    format!(
        "{prefix}{bytes} bytes in {seconds:.6} seconds, {:.6} MBps, {:.6} MBps avg",
        megabytes_per_s(bytes, seconds),
        megabytes_per_s(all_bytes, all_seconds),
    )
}

fn megabytes_per_s(bytes: u64, seconds: f64) -> f64 {
    // An interval that took no time, as the last one of a simulated run may, has no rate.
    if seconds > 0.0 {
        bytes as f64 / seconds / 1e6
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_the_one_of_1998() {
        // The second rate is that of everything so far: 73400320 bytes in 13.993614 s.
        let line = dskwtst_line(None, 20_971_520, 5.002_443, 73_400_320, 13.993_614);
        assert_eq!(
            line,
            "20971520 bytes in 5.002443 seconds, 4.192256 MBps, 5.245273 MBps avg"
        );
    }

    #[test]
    fn several_targets_are_told_apart() {
        let line = dskwtst_line(Some("/dev/sd\x1b[31mb"), 1_048_576, 0.5, 2_097_152, 1.0);
        assert!(line.starts_with("/dev/sd\u{fffd}[31mb: 1048576 bytes in 0.500000 seconds, "));
    }

    #[test]
    fn no_time_has_no_rate() {
        assert!(dskwtst_line(None, 0, 0.0, 0, 0.0).ends_with("0.000000 MBps, 0.000000 MBps avg"));
    }
}
