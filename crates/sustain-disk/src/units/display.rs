//! Displays sizes, rates and durations with the unit that fits and three digits, so that columns of
//! them can be compared at a glance.

use std::fmt;

use super::{
    GB, GIB, KB, KIB, MB, MIB, NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US, TB, TIB,
};

const DECIMAL: [(u64, &str); 5] = [(TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "kB"), (1, "B")];

/// A size in bytes: `512 MiB` if that is exact, else decimal with three digits (`8.59 GB`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A position on a target, in bytes from its start, always decimal with three digits (`8.00 GB`),
/// so that positions can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DisplayPosition(pub u64);

/// A rate in bytes per second, decimal with three digits: `3.84 GB/s`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate(pub f64);

/// A duration in nanoseconds with three digits: `41.2 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        for (unit_bytes, unit) in [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")] {
            // 10^12 is a multiple of 1 KiB too: beyond four digits binary is no longer readable.
            if bytes >= unit_bytes && bytes.is_multiple_of(unit_bytes) {
                if bytes / unit_bytes < 10_000 {
                    return f.pad(&format!("{} {unit}", bytes / unit_bytes));
                }
                break;
            }
        }
        f.pad(&exact_or_three_digits(bytes, &DECIMAL))
    }
}

impl fmt::Display for DisplayPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&three_digits(self.0 as f64, &DECIMAL))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.pad("unknown");
        }
        let scales = [
            (TB, "TB/s"),
            (GB, "GB/s"),
            (MB, "MB/s"),
            (KB, "kB/s"),
            (1, "B/s"),
        ];
        f.pad(&three_digits(self.0, &scales))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scales = [
            (NS_PER_HOUR, "h"),
            (NS_PER_MINUTE, "min"),
            (NS_PER_S, "s"),
            (NS_PER_MS, "ms"),
            (NS_PER_US, "us"),
            (1, "ns"),
        ];
        f.pad(&exact_or_three_digits(self.0, &scales))
    }
}

/// `30 s` and `1.5 h` if three digits are exact, `41.2 ms` if they are rounded.
fn exact_or_three_digits(value: u64, scales: &[(u64, &str)]) -> String {
    for &(scale, unit) in scales {
        if value < scale {
            continue;
        }
        // At most two decimals, as three digits would show.
        for (decimals, factor) in [(0, 1), (1, 10), (2, 100)] {
            let scaled = u128::from(value) * factor;
            if scaled.is_multiple_of(u128::from(scale)) && scaled / u128::from(scale) < 1000 {
                return format!("{:.decimals$} {unit}", value as f64 / scale as f64);
            }
        }
        break;
    }
    three_digits(value as f64, scales)
}

/// Three significant digits in the largest unit that leaves at least one before the point.
/// `scales` go from the largest to the smallest.
fn three_digits(value: f64, scales: &[(u64, &str)]) -> String {
    for (index, &(scale, unit)) in scales.iter().enumerate() {
        let scaled = value / scale as f64;
        let last = index + 1 == scales.len();
        // A value that would round up to 1.00 of the next unit is shown in that unit already (999.6
        // kB = 1.00 MB); minutes and hours are not a thousandfold: 59.97 s stays 60.0 s.
        let next_scale = scales.get(index + 1).map_or(1, |next| next.0);
        let half_digit = if scale / next_scale == 1000 {
            0.0005
        } else {
            0.0
        };
        if scaled.abs() < 1.0 - half_digit && !last {
            continue;
        }
        let decimals = if scale == 1 || scaled.abs() >= 99.95 {
            0
        } else if scaled.abs() >= 9.995 {
            1
        } else {
            2
        };
        return format!("{scaled:.decimals$} {unit}");
    }
    unreachable!("the last scale always answers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown() {
        assert_eq!(Size(512 << 20).to_string(), "512 MiB");
        assert_eq!(Size(1 << 40).to_string(), "1 TiB");
        assert_eq!(Size(3 << 29).to_string(), "1536 MiB");
        assert_eq!(Size(20_000_000).to_string(), "20 MB");
        assert_eq!(Size(1_000_000_000_000).to_string(), "1 TB");
        assert_eq!(Size(8_589_934_593).to_string(), "8.59 GB");
        assert_eq!(Size(0).to_string(), "0 B");
        assert_eq!(Size(999_600).to_string(), "1.00 MB");
        assert_eq!(DisplayPosition(7629 << 20).to_string(), "8.00 GB");
        assert_eq!(DisplayPosition(0).to_string(), "0 B");
        assert_eq!(Rate(3.84e9).to_string(), "3.84 GB/s");
        assert_eq!(Rate(251.9e6).to_string(), "252 MB/s");
        assert_eq!(Rate(99.97e6).to_string(), "100 MB/s");
        assert_eq!(Rate(0.0).to_string(), "0 B/s");
        assert_eq!(Rate(f64::NAN).to_string(), "unknown");
        assert_eq!(Duration(41_230_000).to_string(), "41.2 ms");
        assert_eq!(Duration(30_000_000_000).to_string(), "30 s");
        assert_eq!(Duration(5_400_000_000_000).to_string(), "1.5 h");
        assert_eq!(Duration(59_970_000_000).to_string(), "60.0 s");
        assert_eq!(Duration(3_580_000_000_000).to_string(), "59.7 min");
        assert_eq!(Duration(500).to_string(), "500 ns");
        assert_eq!(Duration(0).to_string(), "0 ns");
        assert_eq!(
            format!("{:>10}|{:<8}|", Rate(1e6), Size(4096)),
            " 1.00 MB/s|4 KiB   |"
        );
    }
}
