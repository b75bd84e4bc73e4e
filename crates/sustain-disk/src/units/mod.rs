//! Sizes, rates, durations and percentages as people type and read them. Flags, machine files, the
//! terminal and reports use it. `parse` reads what is typed, and `display` shows it; a value that
//! was shown can be typed again.

mod display;
mod parse;

pub use display::{DisplayPosition, Duration, Rate, Size};
pub use parse::{UnitError, parse_duration, parse_percent, parse_rate, parse_size};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const KB: u64 = 1_000;
const MB: u64 = 1_000_000;
const GB: u64 = 1_000_000_000;
const TB: u64 = 1_000_000_000_000;

const NS_PER_US: u64 = 1_000;
const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const NS_PER_MINUTE: u64 = 60 * NS_PER_S;
const NS_PER_HOUR: u64 = 60 * NS_PER_MINUTE;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn size_round_trip(bytes: u64) {
            prop_assert_eq!(parse_size(&bytes.to_string()), Ok(bytes));
            let shown = parse_size(&Size(bytes).to_string()).unwrap();
            let difference = shown.abs_diff(bytes) as f64;
            prop_assert!(difference <= 0.0051 * bytes as f64);
        }

        #[test]
        fn exact_size_round_trip(count in 1u64..1000, power in 0u32..4) {
            let bytes = count << (10 * power);
            prop_assert_eq!(parse_size(&Size(bytes).to_string()), Ok(bytes));
        }

        #[test]
        fn rate_round_trip(exponent in 0.0f64..15.0) {
            let rate = 10f64.powf(exponent);
            let shown = parse_rate(&Rate(rate).to_string()).unwrap();
            // Below 100 B/s whole bytes are shown.
            prop_assert!((shown - rate).abs() <= (0.0051 * rate).max(0.5));
        }

        #[test]
        fn duration_round_trip(ns: u64) {
            prop_assert_eq!(parse_duration(&format!("{ns}ns")), Ok(ns));
            // The largest values may round up beyond what fits: stay a percent below.
            let ns = ns - ns / 64;
            let shown = parse_duration(&Duration(ns).to_string()).unwrap();
            prop_assert!(shown.abs_diff(ns) as f64 <= 0.0051 * ns as f64);
        }

        #[test]
        fn any_text_is_answered(text in "\\PC{0,12}") {
            let _ = parse_size(&text);
            let _ = parse_rate(&text);
            let _ = parse_duration(&text);
            let _ = parse_percent(&text);
        }
    }
}
