//! Breaks prose at the width of a terminal.

/// Breaks a line at spaces to fit so many columns, with a newline at its end. Every line but the
/// first is indented by two more columns. A word that is longer than a line stays whole. All prose
/// in a terminal goes through here.
#[must_use]
pub fn wrapped(line: &str, width: usize) -> String {
    let words = line.trim_start_matches(' ');
    let indent = line.len() - words.len();
    let mut text = " ".repeat(indent);
    let mut column = indent;
    let words: Vec<&str> = words.split(' ').collect();
    let mut rest = words.as_slice();
    while let [first, others @ ..] = rest {
        // A figure and its unit stay together.
        let count = 1 + others
            .iter()
            .take_while(|next| is_unit(first, next))
            .count()
            .min(1);
        let (together, after) = rest.split_at(count);
        rest = after;
        let length = together
            .iter()
            .map(|word| word.chars().count())
            .sum::<usize>()
            + count
            - 1;
        if column > indent && column + 1 + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 2));
            column = indent + 2;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(&together.join(" "));
        column += length;
    }
    text.push('\n');
    text
}

/// Whether `next` is the unit of a figure at the end of `word`.
fn is_unit(word: &str, next: &str) -> bool {
    let next = next.trim_end_matches([',', ';', ':', '.', ')', ']']);
    let next = next.strip_suffix("/s").unwrap_or(next);
    let is_figure = word.ends_with(|last: char| last.is_ascii_digit());
    let units = [
        "%", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "s", "min",
        "h", "d",
    ];
    is_figure && units.contains(&next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_keeps_its_unit() {
        assert_eq!(
            wrapped("it takes 252 MB/s, at 1.5 % of 4 disks", 12),
            "it takes\n  252 MB/s,\n  at 1.5 %\n  of 4 disks\n"
        );
        assert_eq!(wrapped("  a  b", usize::MAX), "  a  b\n");
        assert_eq!(wrapped("", 10), "\n");
    }
}
