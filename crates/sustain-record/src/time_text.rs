//! Times as text, for documents and for what is recorded.

/// Formats a time of day as RFC 3339, in UTC, with nanoseconds.
pub fn time_text(unix_ns: i64) -> String {
    // Every such number is within the years that `jiff` supports.
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .map_or_else(|_| String::new(), |time| format!("{time:.9}"))
}

/// Why a text is not a time that anything recorded can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeTextError {
    /// It is not a time, or has no zone.
    NotATime,
    /// It lies before or behind all times that anything recorded can have.
    OutOfRange,
}

/// The nanoseconds since 1970 of such a text, in any zone.
///
/// # Errors
/// What is wrong with it.
pub fn time_ns_of_text(text: &str) -> Result<i64, TimeTextError> {
    match text.parse::<jiff::Timestamp>() {
        Ok(time) => i64::try_from(time.as_nanosecond()).map_err(|_| TimeTextError::OutOfRange),
        Err(_) if is_of_later_year(text) => Err(TimeTextError::OutOfRange),
        Err(_) => Err(TimeTextError::NotATime),
    }
}

/// Whether it would be a time in another year: `jiff` reads none of more than four digits, nor the
/// last hours of the year 9999.
fn is_of_later_year(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    digits >= 4 && format!("2001{rest}").parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_any_zone() {
        assert_eq!(time_ns_of_text("1970-01-01T00:00:01.5Z"), Ok(1_500_000_000));
        assert_eq!(time_ns_of_text("1970-01-01T01:00:00+01:00"), Ok(0));
    }

    #[test]
    fn a_time_beyond_all_years_is_told_from_what_is_not_a_time() {
        for text in [
            "2300-01-01T00:00:00Z",
            "1600-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "10000-01-01T00:00:00Z",
            "123456789-02-28T00:00:00.5+01:00",
        ] {
            assert_eq!(
                time_ns_of_text(text),
                Err(TimeTextError::OutOfRange),
                "{text}"
            );
        }
        for text in [
            "",
            "10000",
            "1970-01-01T00:00:00",
            "10000-01-01",
            "2025-02-29T00:00:00Z",
            "10000-13-01T00:00:00Z",
        ] {
            assert_eq!(
                time_ns_of_text(text),
                Err(TimeTextError::NotATime),
                "{text}"
            );
        }
    }

    #[test]
    fn times_have_all_their_nanoseconds() {
        assert_eq!(time_text(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(
            time_text(1_700_000_000_000_000_001),
            "2023-11-14T22:13:20.000000001Z"
        );
        assert_eq!(time_text(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(time_text(i64::MAX), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(time_text(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }
}
