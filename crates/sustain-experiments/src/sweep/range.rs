//! Parses the values of an axis: a list, a range in powers of two, or a list of both. Pure; the
//! command line calls it. It must never guess: a range whose end is not met is refused.

use sustain_disk::units::parse_size;

/// The most values that one axis may have.
const VALUES_MAX: usize = 64;

/// The values of an axis that has an order, as typed and each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values(pub Vec<u64>);

/// Parses `64KiB`, `4KiB,1MiB` or `4KiB..16MiB`, which doubles from the first to the last.
///
/// # Errors
/// A message: the text is not a size, a range does not meet its end or runs downwards, or there are
/// too many values.
pub fn parse_sizes(text: &str) -> Result<Values, String> {
    let size = |text: &str| parse_size(text).map_err(|error| error.to_string());
    parse(text, &size)
}

/// Parses `8`, `1,3,8` or `1..64`, which doubles from the first to the last.
///
/// # Errors
/// As for [`parse_sizes`].
pub fn parse_counts(text: &str) -> Result<Values, String> {
    let count = |text: &str| {
        let count: Result<u32, _> = text.trim().parse();
        let wrong = |_| format!("{text:?} is not a number from 1 up, such as 8 or 1..64");
        count.map(u64::from).map_err(wrong)
    };
    parse(text, &count)
}

fn parse(text: &str, one: &dyn Fn(&str) -> Result<u64, String>) -> Result<Values, String> {
    let mut values = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => values.push(one(part)?),
            Some((first, last)) => values.extend(doubled(part, one(first)?, one(last)?)?),
        }
    }
    if values.contains(&0) {
        return Err(format!("{text}: 0 is not possible; begin at 1 or more"));
    }
    let mut each: Vec<u64> = Vec::new();
    for value in values {
        if !each.contains(&value) {
            each.push(value);
        }
    }
    if each.len() > VALUES_MAX {
        return Err(format!("{text} has more than {VALUES_MAX} values"));
    }
    each.sort_unstable();
    Ok(Values(each))
}

fn doubled(range: &str, first: u64, last: u64) -> Result<Vec<u64>, String> {
    if first == 0 {
        return Err(format!(
            "{range} begins at 0, and 0 doubled is 0: begin at 1 or more"
        ));
    }
    if first > last {
        return Err(format!(
            "{range} runs downwards: name the smaller end first, as in 4KiB..16MiB or 1..64"
        ));
    }
    let next = |value: &u64| value.checked_mul(2);
    let values: Vec<u64> = std::iter::successors(Some(first), next)
        .take_while(|value| *value <= last)
        .collect();
    if values.last() == Some(&last) {
        return Ok(values);
    }
    Err(format!(
        "{range} doubles from its first value and does not meet its last one: end it at a power of \
         two times the first, or list the values with commas"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_doubles_and_a_list_is_taken_as_it_is() {
        let sizes = parse_sizes("4KiB..64KiB").unwrap();
        assert_eq!(sizes.0, [4096, 8192, 16384, 32768, 65536]);
        assert_eq!(parse_counts("1..8,12").unwrap().0, [1, 2, 4, 8, 12]);
        assert_eq!(parse_counts("3..24").unwrap().0, [3, 6, 12, 24]);
        assert_eq!(parse_counts("8,1,8").unwrap().0, [1, 8], "each once");
        assert_eq!(parse_sizes("1MiB..1MiB").unwrap().0, [1 << 20]);
    }

    #[test]
    fn impossible_ranges_are_refused_with_the_way_on() {
        let why = |text| parse_counts(text).unwrap_err();
        assert!(why("64..1").contains("smaller end first"));
        assert!(why("1..48").contains("does not meet"));
        assert!(why("0..8").contains("begin at 1"));
        assert!(why("0").contains("begin at 1"));
        assert!(why("many").contains("not a number"));
        assert!(why("1..").contains("not a number"));
        assert!(why("-1").contains("not a number"));
        assert!(why("99999999999").contains("not a number"));
        assert!(parse_sizes("4K..8K").unwrap_err().contains("KiB"));
        let far = parse_sizes("1..16777216TiB").unwrap_err();
        assert!(!far.is_empty(), "{far}");
    }
}
