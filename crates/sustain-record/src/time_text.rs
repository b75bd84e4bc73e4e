//! Times as text, for documents and for what is recorded.

/// Formats a time of day as RFC 3339, in UTC, with nanoseconds.
pub fn time_text(unix_ns: i64) -> String {
    // Every such number is within the years that `jiff` supports.
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns))
        .map_or_else(|_| String::new(), |time| format!("{time:.9}"))
}

/// The nanoseconds since 1970 of such a text, in any zone; none if it is no time, has no zone, or
/// lies in no year that anything recorded has.
pub fn time_ns_of_text(text: &str) -> Option<i64> {
    let time = text.parse::<jiff::Timestamp>().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_any_zone() {
        assert_eq!(
            time_ns_of_text("1970-01-01T00:00:01.5Z"),
            Some(1_500_000_000)
        );
        assert_eq!(time_ns_of_text("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(time_ns_of_text("1970-01-01T00:00:00"), None);
        assert_eq!(time_ns_of_text("2300-01-01T00:00:00Z"), None);
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
