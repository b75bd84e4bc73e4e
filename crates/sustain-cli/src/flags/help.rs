//! What stands around the flags in a help: their groups, and the last part, which is short for `-h`
//! and whole for `--help`.

use std::io::IsTerminal;

/// The groups of flags, in the order of their questions.
pub(crate) mod group {
    pub(crate) const WHAT: &str = "What to load";
    pub(crate) const WHAT_TO_COMPARE: &str = "What to compare";
    pub(crate) const WHAT_TO_CREATE: &str = "What to create";
    pub(crate) const WHAT_TO_RECORD: &str = "What to record";
    pub(crate) const WHAT_TO_READ: &str = "What to read";
    pub(crate) const HOW: &str = "How";
    pub(crate) const HOW_LONG: &str = "How long";
    pub(crate) const SAFETY: &str = "Safety";
    pub(crate) const OUTPUT: &str = "Output";
    pub(crate) const RARE: &str = "Rarely needed";
}

/// The number of examples that `-h` has.
const EXAMPLES_SHORT: usize = 2;
/// Longer lines are hard to read.
const WIDTH_MAX: usize = 100;
/// An explanation below a command or a column is indented by so many spaces.
const EXPLANATION_INDENT: usize = 6;

/// The last part of `-h`: the first examples, and where the rest is.
pub(crate) fn short(command: &str, words: &str) -> String {
    let examples = words.split("\n\n").next().unwrap_or_default();
    let mut count = 0;
    let first = examples.lines().take_while(|line| {
        let is_command = line.starts_with("  ") && !line.starts_with("   ");
        count += usize::from(is_command);
        count <= EXAMPLES_SHORT
    });
    let first: Vec<&str> = first.collect();
    let more = format!(
        "`sustain {command} --help` has all flags and examples, what each figure of the output \
         means, and the exit codes."
    );
    filled(&format!("{}\n\n{more}", first.join("\n")), width())
}

/// The last part of `--help`: examples, what the figures in the output mean, then the rest.
pub(crate) fn whole(words: &str, output: &str) -> String {
    let (examples, rest) = words.split_once("\n\n").unwrap_or((words, ""));
    filled(&format!("{examples}\n\n{output}\n\n{rest}"), width())
}

/// The width of the terminal, as far as lines are easy to read.
fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok();
    let columns = columns.and_then(|columns| columns.parse().ok());
    let terminal = std::io::stdout()
        .is_terminal()
        .then(terminal_size::terminal_size)
        .flatten()
        .map(|(terminal_size::Width(columns), _)| usize::from(columns));
    terminal.or(columns).unwrap_or(WIDTH_MAX).min(WIDTH_MAX)
}

/// The commands that are used before, after or instead of this one.
pub(crate) fn see_also(command: &str) -> &'static [&'static str] {
    match command {
        "devices" => &["measure", "diagnose", "create"],
        "measure" => &[
            "profile", "sweep", "compare", "diagnose", "record", "report",
        ],
        "diagnose" => &["devices", "measure", "sweep", "report"],
        "profile" => &["measure", "record", "report"],
        "sweep" => &["measure", "compare", "diagnose", "report"],
        "compare" => &["measure", "sweep", "report"],
        "create" => &["record", "devices", "measure"],
        "record" => &[
            "create", "control", "list", "extract", "mount", "verify", "recover", "measure",
        ],
        "control" => &["record", "list", "extract", "unpin"],
        "list" => &["record", "extract", "mount", "verify"],
        "extract" => &["record", "list", "mount", "verify"],
        "mount" => &["record", "list", "extract", "verify"],
        "verify" => &["record", "list", "recover", "repair", "scrub", "extract"],
        "recover" => &["record", "verify", "list"],
        "repair" => &["create", "retire", "scrub", "verify", "extract", "record"],
        "retire" => &["create", "repair", "verify"],
        "scrub" => &["verify", "repair"],
        "unpin" => &["control", "list", "record"],
        "report" => &[
            "measure", "diagnose", "profile", "sweep", "compare", "record",
        ],
        _ => &[],
    }
}

/// Fills lines that belong together to this width. Commands keep their lines, so that they can be
/// copied.
fn filled(text: &str, width: usize) -> String {
    // A command that its author broke is broken where the width asks for it.
    let text = text.replace(" \\\n      ", " ");
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let is_prose = (indent == 0 || indent == EXPLANATION_INDENT) && !words.is_empty();
        let begins = words.starts_with("Exit codes:");
        match paragraphs.last_mut() {
            Some((last_indent, last))
                if is_open && is_prose && !begins && *last_indent == indent =>
            {
                last.push(' ');
                last.push_str(words);
            }
            _ => paragraphs.push((indent, words.to_owned())),
        }
        let is_heading = words.ends_with(':') && indent == 0;
        is_open = is_prose && !is_heading;
    }
    let lines = paragraphs.iter().map(|(indent, words)| match indent {
        2 => fill_command(words, width),
        _ => fill(words, *indent, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Breaks a command between its arguments so that it can still be copied.
fn fill_command(command: &str, width: usize) -> String {
    let mut text = String::from("  ");
    let mut columns = text.len();
    let mut quotes = 0;
    for word in command.split(' ') {
        let length = word.chars().count();
        // Two columns are for what continues the line.
        if columns + 1 + length + 2 > width && quotes % 2 == 0 && columns > EXPLANATION_INDENT {
            text.push_str(" \\\n");
            text.push_str(&" ".repeat(EXPLANATION_INDENT));
            columns = EXPLANATION_INDENT;
        } else if columns > 2 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(word);
        columns += length;
        quotes += word.matches('\'').count();
    }
    text
}

/// Breaks one paragraph into lines of this width, all indented alike.
fn fill(words: &str, indent: usize, width: usize) -> String {
    let indent = " ".repeat(indent);
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let last = lines.last_mut().expect("there is a first line");
        let columns = indent.len() + last.chars().count() + 1 + word.chars().count();
        if last.is_empty() {
            last.push_str(word);
        } else if columns <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let lines = lines.iter().map(|line| format!("{indent}{line}"));
    lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "Examples:\n  sustain a \\\n      --b c\n      Does one thing, and then\n      \
                         another.\n  sustain d\n      Second.\n  sustain e\n      Third.\n\nA note \
                         that is\nin two lines.\nExit codes: 0 done.";

    #[test]
    fn explanations_are_filled_and_commands_are_kept() {
        let text = filled(WORDS, 30);
        let expected = "Examples:\n  sustain a --b c\n      Does one thing, and then\n      \
                        another.\n  sustain d\n      Second.\n  sustain e\n      Third.\n\nA note \
                        that is in two lines.\nExit codes: 0 done.";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_short_help_has_two_examples_and_says_where_the_rest_is() {
        let text = short("measure", WORDS);
        assert!(
            text.contains("Second.") && !text.contains("Third."),
            "{text}"
        );
        assert!(
            text.contains("`sustain measure --help` has all flags"),
            "{text}"
        );
    }
}
