//! `sustain man`: writes the manual pages. They are made from the text of `--help`, so that the two
//! cannot differ.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{output, say};
use crate::Exit;
use crate::flags::Arguments;
use crate::flags::generated::ManFlags;
use crate::request::UsageError;

/// The words in the last part of a command's help with which its exit codes begin.
const EXIT_CODES: &str = "Exit codes:";

pub(crate) fn run(flags: &ManFlags) -> anyhow::Result<Exit> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &flags.directory else {
        output::write(Path::new("-"), &page(&command)?)?;
        return Ok(Exit::Done);
    };
    if directory.exists() && !directory.is_dir() {
        let directory = directory.display();
        return Err(UsageError(format!(
            "{directory} is not a directory: name one, because each command gets a page of its own"
        ))
        .into());
    }
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut count = 0;
    for command in std::iter::once(&command).chain(visible) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = directory.join(format!("{name}.1"));
        output::write(&path, &page(command)?)?;
        count += 1;
    }
    say(&format!("{count} pages: {}", directory.display()));
    Ok(Exit::Done)
}

/// Renders the page of a command. The clap_mangen crate renders all but the last part of the help,
/// whose examples and exit codes have sections of their own in manuals.
fn page(command: &Command) -> anyhow::Result<String> {
    let last_words = command.get_after_help().map(ToString::to_string);
    let plain = command.clone().after_help(None::<&str>);
    let man = Man::new(plain)
        .source(format!("sustain {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut page = String::from_utf8(page).context("the page is not UTF-8")?;
    page.push_str(&sections(&last_words.unwrap_or_default()));
    Ok(page)
}

/// Renders the last part of a help as sections: examples first, then other text, then exit codes.
fn sections(last_words: &str) -> String {
    let mut roff = Roff::new();
    let (words, codes) = last_words
        .split_once(EXIT_CODES)
        .unwrap_or((last_words, ""));
    let (examples, notes): (Vec<&str>, Vec<&str>) =
        words.lines().partition(|line| line.starts_with(' '));
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        for line in examples {
            example(&mut roff, line);
        }
    }
    let is_heading = |line: &&str| line.starts_with("Example");
    let notes: Vec<&str> = notes.into_iter().filter(|line| !is_heading(line)).collect();
    let notes = notes.join(" ");
    if !notes.trim().is_empty() {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(notes.trim())]);
    }
    if !codes.is_empty() {
        roff.control("SH", ["EXIT STATUS"]);
        let codes: Vec<&str> = codes.lines().map(str::trim).collect();
        for code in codes.join(" ").trim().trim_end_matches('.').split("; ") {
            let (number, meaning) = code.split_once(' ').unwrap_or((code, ""));
            roff.control("TP", []);
            roff.text([bold(number)]);
            roff.text([roman(meaning)]);
        }
    }
    // Apostrophes are kept as they are typed, and not replaced by printed ones.
    roff.render()
}

/// Renders a line of an example. A command is indented by two columns, its explanation below it by
/// six.
fn example(roff: &mut Roff, line: &str) {
    let words = line.trim_start();
    if line.len() - words.len() > 2 {
        roff.control("RS", ["4"]);
        roff.text([roman(words)]);
        roff.control("RE", []);
    } else {
        // Commands are to be copied, so they are neither filled nor justified.
        roff.control("PP", []);
        roff.control("nf", []);
        roff.text([bold(words)]);
        roff.control("fi", []);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_become_sections() {
        let page = sections(
            "Examples:\n  sustain list a\n      What is there.\n\nNothing is\nwritten. Exit codes: \
             0 done; 130 on a\nsecond Ctrl-C.",
        );
        let expected = ".SH EXAMPLES\n.PP\n.nf\n\\fBsustain list a\\fR\n.fi\n.RS 4\nWhat is \
                        there.\n.RE\n.SH NOTES\nNothing is written.\n.SH \"EXIT \
                        STATUS\"\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB130\\fR\non a second Ctrl\\-C\n";
        assert!(page.ends_with(expected), "{page}");
    }
}
