//! Parses what people type: sizes, rates, durations and percentages. It uses exact integer
//! arithmetic as far as the result allows, and never guesses: `4G` is refused, not read as either.

use super::{
    GB, GIB, KB, KIB, MB, MIB, NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_S, NS_PER_US, TB, TIB,
};

/// The reason why a text is not a size, rate, duration or percentage. The messages say what to type
/// instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text has no number in front, or a malformed one (`1.2.3MB`, `NaN`, `1e9`).
    #[error("{text:?} is not a {what}: expected a plain number and a unit, {examples}")]
    Malformed {
        /// The text as typed.
        text: String,
        /// The expected quantity: size, rate, duration, percentage.
        what: &'static str,
        /// Valid examples.
        examples: &'static str,
    },
    /// The number is negative.
    #[error("{text:?}: a {what} cannot be negative, expected {examples}")]
    Negative {
        /// The text as typed.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// Valid examples.
        examples: &'static str,
    },
    /// There is no unit, but one is needed to know what is meant.
    #[error("{text:?} has no unit: expected a {what}, {examples}")]
    UnitMissing {
        /// The text as typed.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// Valid examples.
        examples: &'static str,
    },
    /// The unit may mean 10^3 or 2^10.
    #[error(
        "{text:?}: the unit {unit:?} may mean two things; write {decimal} ({decimal_bytes} bytes) \
         or {binary} ({binary_bytes} bytes)"
    )]
    UnitAmbiguous {
        /// The text as typed.
        text: String,
        /// The unit as typed.
        unit: String,
        /// The spelling in powers of 10^3.
        decimal: &'static str,
        /// Its bytes.
        decimal_bytes: u64,
        /// The spelling in powers of 2^10.
        binary: &'static str,
        /// Its bytes.
        binary_bytes: u64,
    },
    /// The unit is not one of those known.
    #[error("{text:?}: unknown unit {unit:?}; expected one of {known}, {examples}")]
    UnitUnknown {
        /// The text as typed.
        text: String,
        /// The unit as typed.
        unit: String,
        /// The units known.
        known: &'static str,
        /// Valid examples.
        examples: &'static str,
    },
    /// The value does not fit.
    #[error("{text:?} is too large: the largest {what} is {largest}")]
    TooLarge {
        /// The text as typed.
        text: String,
        /// The expected quantity.
        what: &'static str,
        /// The largest value, readable.
        largest: &'static str,
    },
    /// A rate of zero, or one that rounds to it.
    #[error("{text:?}: a rate must be above zero, expected {examples}")]
    Zero {
        /// The text as typed.
        text: String,
        /// Valid examples.
        examples: &'static str,
    },
}

/// The name and the examples of one kind of quantity, for its error messages.
struct QuantityKind {
    what: &'static str,
    examples: &'static str,
    known: &'static str,
}

const SIZE: QuantityKind = QuantityKind {
    what: "size",
    examples: "for example 20MB, 4GiB or 512 (bytes)",
    known: "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB",
};
const RATE: QuantityKind = QuantityKind {
    what: "rate",
    examples: "for example 200MB/s or 1.5GiB/s",
    known: "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s",
};
const DURATION: QuantityKind = QuantityKind {
    what: "duration",
    examples: "for example 30s, 120ms, 80us, 1.5m or 2h",
    known: "ns, us, ms, s, m, h",
};
const PERCENTAGE: QuantityKind = QuantityKind {
    what: "percentage",
    examples: "for example 2% or 0.5%",
    known: "%",
};

/// A number as typed: `digits` / 10^`decimals`, so that no digit is lost to binary fractions.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u128,
    decimals: u32,
}

impl Decimal {
    /// This number of units of `unit` each, rounded to whole; `None` if it does not fit.
    fn times(self, unit: u64) -> Option<u64> {
        let scale = 10u128.pow(self.decimals);
        let product = self.digits.checked_mul(u128::from(unit))?;
        let rounded = product.checked_add(scale / 2)? / scale;
        u64::try_from(rounded).ok()
    }

    /// The same as a floating-point number, not rounded to whole.
    fn times_f64(self, unit: u64) -> f64 {
        // Both factors are exact in f64 for all but absurdly long inputs.
        (self.digits as f64) * (unit as f64) / 10f64.powi(self.decimals.cast_signed())
    }
}

/// Parses `4GiB`, `20MB`, `1.5 GiB` or `512` (bytes) into bytes, rounded to whole ones.
///
/// # Errors
/// [`UnitError`] on anything else; `4G` is refused because it may mean 10^9 or 2^30.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text, &SIZE)?;
    let unit_bytes = if unit.is_empty() {
        1
    } else {
        byte_unit(text, unit, &SIZE)?
    };
    let too_large = || UnitError::TooLarge {
        text: text.to_owned(),
        what: SIZE.what,
        largest: "16777215 TiB",
    };
    number.times(unit_bytes).ok_or_else(too_large)
}

/// Parses `200MB/s` or `1.5GiB/s` into bytes per second, above zero.
///
/// # Errors
/// [`UnitError`] on anything else, on zero, and above 16777215 TiB/s.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split(text, &RATE)?;
    if unit.is_empty() {
        return Err(unit_missing(text, &RATE));
    }
    let Some(unit) = unit.strip_suffix("/s") else {
        return Err(unit_unknown(text, unit, &RATE));
    };
    let unit_bytes = byte_unit(text, unit.trim_end(), &RATE)?;
    let rate_bytes_per_s = number.times_f64(unit_bytes);
    if rate_bytes_per_s <= 0.0 {
        return Err(UnitError::Zero {
            text: text.to_owned(),
            examples: RATE.examples,
        });
    }
    if rate_bytes_per_s > u64::MAX as f64 {
        return Err(UnitError::TooLarge {
            text: text.to_owned(),
            what: RATE.what,
            largest: "16777215 TiB/s",
        });
    }
    Ok(rate_bytes_per_s)
}

/// Parses `30s`, `2h`, `80us`, `120ms`, `1.5m` (minutes) or `500ns` into nanoseconds.
///
/// # Errors
/// [`UnitError`] on anything else, a number without a unit included.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text, &DURATION)?;
    let unit_ns = match unit {
        "ns" => 1,
        "us" | "µs" => NS_PER_US,
        "ms" => NS_PER_MS,
        "s" => NS_PER_S,
        "m" | "min" => NS_PER_MINUTE,
        "h" => NS_PER_HOUR,
        "" => return Err(unit_missing(text, &DURATION)),
        other => return Err(unit_unknown(text, other, &DURATION)),
    };
    let too_large = || UnitError::TooLarge {
        text: text.to_owned(),
        what: DURATION.what,
        largest: "5124095h",
    };
    number.times(unit_ns).ok_or_else(too_large)
}

/// Parses `2%` into a fraction (0.02), from 0 % to 100 %.
///
/// # Errors
/// [`UnitError`] on anything else.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    let (number, unit) = split(text, &PERCENTAGE)?;
    match unit {
        "%" => {}
        "" => return Err(unit_missing(text, &PERCENTAGE)),
        other => return Err(unit_unknown(text, other, &PERCENTAGE)),
    }
    let fraction = number.times_f64(1) / 100.0;
    if fraction > 1.0 {
        return Err(UnitError::TooLarge {
            text: text.to_owned(),
            what: PERCENTAGE.what,
            largest: "100%",
        });
    }
    Ok(fraction)
}

/// Splits a text into its number and its unit (which may be empty).
fn split<'text>(text: &'text str, kind: &QuantityKind) -> Result<(Decimal, &'text str), UnitError> {
    let malformed = || UnitError::Malformed {
        text: text.to_owned(),
        what: kind.what,
        examples: kind.examples,
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(UnitError::Negative {
            text: text.to_owned(),
            what: kind.what,
            examples: kind.examples,
        });
    }
    let number_end = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // At most 18 decimals: 10^18 nanobytes are beyond every purpose, and it bounds the arithmetic.
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') || fraction.len() > 18 {
        return Err(malformed());
    }
    // `1e9` would otherwise read as the number 1 with the unit "e9".
    if unit.starts_with(['e', 'E']) {
        return Err(malformed());
    }
    let digits: u128 = format!("{whole}{fraction}")
        .parse()
        .map_err(|_| malformed())?;
    let decimals = u32::try_from(fraction.len()).map_err(|_| malformed())?;
    Ok((Decimal { digits, decimals }, unit.trim_start()))
}

/// The bytes of one byte unit; refuses those that may mean two things, naming both.
fn byte_unit(text: &str, unit: &str, kind: &QuantityKind) -> Result<u64, UnitError> {
    let bytes = match unit {
        "B" => 1,
        "kB" => KB,
        "MB" => MB,
        "GB" => GB,
        "TB" => TB,
        "KiB" => KIB,
        "MiB" => MIB,
        "GiB" => GIB,
        "TiB" => TIB,
        other => {
            let (decimal, decimal_bytes, binary, binary_bytes) =
                match other.to_ascii_lowercase().as_str() {
                    "k" | "kb" | "kib" | "ki" => ("kB", KB, "KiB", KIB),
                    "m" | "mb" | "mib" | "mi" => ("MB", MB, "MiB", MIB),
                    "g" | "gb" | "gib" | "gi" => ("GB", GB, "GiB", GIB),
                    "t" | "tb" | "tib" | "ti" => ("TB", TB, "TiB", TIB),
                    _ => return Err(unit_unknown(text, other, kind)),
                };
            return Err(UnitError::UnitAmbiguous {
                text: text.to_owned(),
                unit: other.to_owned(),
                decimal,
                decimal_bytes,
                binary,
                binary_bytes,
            });
        }
    };
    Ok(bytes)
}

fn unit_missing(text: &str, kind: &QuantityKind) -> UnitError {
    UnitError::UnitMissing {
        text: text.to_owned(),
        what: kind.what,
        examples: kind.examples,
    }
}

fn unit_unknown(text: &str, unit: &str, kind: &QuantityKind) -> UnitError {
    UnitError::UnitUnknown {
        text: text.to_owned(),
        unit: unit.to_owned(),
        known: kind.known,
        examples: kind.examples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("4GiB"), Ok(4 << 30));
        assert_eq!(parse_size("20MB"), Ok(20_000_000));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("8.4GB"), Ok(8_400_000_000));
        assert_eq!(parse_size(" 1 kB "), Ok(1_000));
        assert_eq!(parse_size("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn sizes_refused() {
        for bad in [
            "", "MB", ".5MB", "1.MB", "1.2.3MB", "NaN", "inf", "1e9", "1E9B", "+5MB",
        ] {
            assert!(
                matches!(parse_size(bad), Err(UnitError::Malformed { .. })),
                "{bad}"
            );
        }
        assert!(matches!(
            parse_size("-1MB"),
            Err(UnitError::Negative { .. })
        ));
        assert!(matches!(
            parse_size("99999999TiB"),
            Err(UnitError::TooLarge { .. })
        ));
        assert!(matches!(
            parse_size("18446744073709551616"),
            Err(UnitError::TooLarge { .. })
        ));
        assert!(matches!(
            parse_size("4 bytes"),
            Err(UnitError::UnitUnknown { .. })
        ));
        let digits = "9".repeat(60);
        assert!(matches!(
            parse_size(&digits),
            Err(UnitError::Malformed { .. })
        ));
    }

    #[test]
    fn two_meanings_are_named() {
        let message = parse_size("4G").unwrap_err().to_string();
        assert_eq!(
            message,
            "\"4G\": the unit \"G\" may mean two things; write GB (1000000000 bytes) or GiB \
             (1073741824 bytes)"
        );
        assert!(parse_size("4K").unwrap_err().to_string().contains("KiB"));
        assert!(parse_rate("4KB/s").unwrap_err().to_string().contains("kB"));
    }

    #[test]
    fn rates() {
        assert_eq!(parse_rate("200MB/s"), Ok(200e6));
        assert_eq!(parse_rate("11.226MB/s"), Ok(11_226_000.0));
        assert_eq!(parse_rate("1GiB/s"), Ok(1_073_741_824.0));
        assert!(matches!(parse_rate("0MB/s"), Err(UnitError::Zero { .. })));
        assert!(matches!(
            parse_rate("200MB"),
            Err(UnitError::UnitUnknown { .. })
        ));
        assert!(matches!(
            parse_rate("200"),
            Err(UnitError::UnitMissing { .. })
        ));
        assert!(matches!(
            parse_rate("-1MB/s"),
            Err(UnitError::Negative { .. })
        ));
        assert!(matches!(
            parse_rate("99999999TiB/s"),
            Err(UnitError::TooLarge { .. })
        ));
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("30s"), Ok(30_000_000_000));
        assert_eq!(parse_duration("2h"), Ok(7_200_000_000_000));
        assert_eq!(parse_duration("80us"), Ok(80_000));
        assert_eq!(parse_duration("80µs"), Ok(80_000));
        assert_eq!(parse_duration("120ms"), Ok(120_000_000));
        assert_eq!(parse_duration("1.5m"), Ok(90_000_000_000));
        assert_eq!(parse_duration("500ns"), Ok(500));
        assert!(matches!(
            parse_duration("30"),
            Err(UnitError::UnitMissing { .. })
        ));
        assert!(matches!(
            parse_duration("30d"),
            Err(UnitError::UnitUnknown { .. })
        ));
        assert!(matches!(
            parse_duration("99999999h"),
            Err(UnitError::TooLarge { .. })
        ));
    }

    #[test]
    fn percentages() {
        assert_eq!(parse_percent("2%"), Ok(0.02));
        assert_eq!(parse_percent("0%"), Ok(0.0));
        assert!(matches!(
            parse_percent("101%"),
            Err(UnitError::TooLarge { .. })
        ));
        assert!(matches!(
            parse_percent("2"),
            Err(UnitError::UnitMissing { .. })
        ));
        assert!(matches!(
            parse_percent("2 percent"),
            Err(UnitError::UnitUnknown { .. })
        ));
    }
}
