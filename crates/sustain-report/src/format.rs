//! Figures for people, made with the units that the whole tool shares. The terminal and the page
//! call this module, so that a figure reads the same in both. It must not be used for text that a
//! program reads.

use sustain_disk::units::{DisplayPosition, Duration, Rate, Size};

/// A rate: `3.80 GB/s`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    Rate(bytes_per_s).to_string()
}

/// A rate in MB/s without its unit, where one title gives the unit of many cells.
pub(crate) fn megabytes_per_s(bytes_per_s: f64) -> String {
    let megabytes_per_s = bytes_per_s / 1e6;
    if megabytes_per_s < 9.95 {
        format!("{megabytes_per_s:.1}")
    } else {
        format!("{megabytes_per_s:.0}")
    }
}

/// Frames per second.
pub(crate) fn frame_rate(frames_per_s: f64) -> String {
    match frames_per_s {
        many if many >= 1000.0 => format!("{many:.0} frames/s"),
        few => format!("{few:.3} frames/s"),
    }
}

/// An amount of data: `4 GiB` where that is exact, else `20.1 GB`.
pub(crate) fn size(bytes: u64) -> String {
    Size(bytes).to_string()
}

/// A place on a target, or an amount that stands in one table with others: always in powers of 10,
/// `8.00 GB`.
pub(crate) fn position(byte: u64) -> String {
    DisplayPosition(byte).to_string()
}

/// A latency or a stall: `41.2 ms`.
pub(crate) fn latency(duration_ns: u64) -> String {
    Duration(duration_ns).to_string()
}

/// A stall, of which nothing may have seen the end: `38.0 s (not returned by the end)`.
pub(crate) fn stall(duration_ns: u64, is_unreturned: bool) -> String {
    let returned = if is_unreturned {
        " (not returned by the end)"
    } else {
        ""
    };
    format!("{}{returned}", latency(duration_ns))
}

/// A period of a run: `30 s`, `5.33 min`.
pub(crate) fn stretch(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    // Short periods of a run are in seconds, as its time axis is: `0.2 s`, never `200 ms`.
    if seconds < 59.95 {
        return format!("{seconds:.1} s").replace(".0 s", " s");
    }
    Duration(((seconds * 10.0).round() as u64).saturating_mul(100_000_000)).to_string()
}

/// An amount of memory, always in binary units, so that a need compares with its bound:
/// `37.2 MiB` of `512 MiB`.
pub(crate) fn memory(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut exponent = 0;
    while exponent + 1 < UNITS.len() && bytes >> (10 * (exponent + 1)) > 0 {
        exponent += 1;
    }
    let unit_bytes = 1_u64 << (10 * exponent);
    if bytes.is_multiple_of(unit_bytes) {
        return format!("{} {}", bytes / unit_bytes, UNITS[exponent]);
    }
    let value = bytes as f64 / unit_bytes as f64;
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {}", UNITS[exponent])
}

/// A part of a whole: `41 %`.
pub(crate) fn percent(part: f64) -> String {
    if part.is_finite() {
        format!("{:.0} %", part * 100.0)
    } else {
        "?".to_owned()
    }
}

/// A confidence. It is never a whole: nothing measured is beyond all doubt.
pub(crate) fn confidence(part: f64) -> String {
    if part >= 0.995 {
        return "over 99 %".to_owned();
    }
    percent(part)
}

/// A place or a width as a part of a whole, where whole percents are too coarse: `41.3 %`.
pub(crate) fn part(part: f64) -> String {
    if part.is_finite() {
        format!("{:.1} %", part * 100.0)
    } else {
        "?".to_owned()
    }
}

/// Rates that differ by less are written as one.
const WRITTEN_AS_ONE: f64 = 0.02;

/// The rates of several targets: `100 MB/s each`, or `80.0 MB/s to 100 MB/s`; none if there are
/// none.
pub(crate) fn rates_of_each(rates_bytes_per_s: impl Iterator<Item = f64>) -> Option<String> {
    let ends = (f64::INFINITY, 0.0_f64);
    let (least, most) =
        rates_bytes_per_s.fold(ends, |(least, most), one| (least.min(one), most.max(one)));
    least.is_finite().then(|| {
        if most <= least * (1.0 + WRITTEN_AS_ONE) {
            format!("{} each", rate(most))
        } else {
            format!("{} to {}", rate(least), rate(most))
        }
    })
}

/// Half the width of a confidence interval, as it is written behind a `±`.
pub(crate) fn half_width(ci95_bytes_per_s: [f64; 2]) -> f64 {
    (ci95_bytes_per_s[1] - ci95_bytes_per_s[0]).abs() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_binary() {
        assert_eq!(memory(512 << 20), "512 MiB");
        assert_eq!(memory(39_000_000), "37.2 MiB");
        assert_eq!(memory(1000), "1000 B");
        assert_eq!(memory(u64::MAX), "16777216 TiB");
    }

    #[test]
    fn stretches_are_rounded_to_tenths() {
        assert!(
            stretch(1e300).ends_with(" h"),
            "a damaged document is no panic"
        );
        assert_eq!(stretch(30.012), "30 s");
        assert_eq!(stretch(3.21), "3.2 s");
        assert_eq!(stretch(0.2), "0.2 s");
        assert_eq!(stretch(5400.0), "1.5 h");
        assert_eq!(stretch(f64::NAN), "?");
    }

    #[test]
    fn parts_are_whole_percents() {
        assert_eq!(percent(0.414), "41 %");
        assert_eq!(percent(f64::NAN), "?");
        assert_eq!(
            (part(0.004), part(f64::NAN)),
            ("0.4 %".to_owned(), "?".to_owned())
        );
    }
}
