//! Whole numbers as typed.

use std::str::FromStr;

/// Parses a whole number, and says what one looks like where it is none.
pub(crate) fn parse_number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| match text.parse::<u128>() {
        Ok(_) => "it is too large".to_owned(),
        Err(_) => "write a whole number from 0 on, such as 3".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_answered_with_one() {
        assert_eq!(parse_number::<u32>("17"), Ok(17));
        for text in ["", "x", "-1", "1.5", "3 "] {
            let why = parse_number::<u32>(text).unwrap_err();
            assert!(why.contains("such as 3"), "{text}: {why}");
        }
        let why = parse_number::<u32>("4294967296").unwrap_err();
        assert_eq!(why, "it is too large");
    }
}
