//! `sustain man`: writes the manual pages. They are made from the text of `--help`, so that the two
//! cannot differ.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{output, say};
use crate::exit::Exit;
use crate::flags::Arguments;
use crate::flags::generated::ManFlags;
use crate::flags::help;
use crate::usage_error::UsageError;

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
    say(&format!(
        "{count} manual pages are in {}",
        directory.display()
    ));
    Ok(Exit::Done)
}

/// Renders the page of a command. The clap_mangen crate renders all but the last part of the help,
/// whose examples and exit codes have sections of their own in manuals.
fn page(command: &Command) -> anyhow::Result<String> {
    let last_words = command.get_after_long_help().or(command.get_after_help());
    let last_words = last_words.map(ToString::to_string).unwrap_or_default();
    let plain = command.clone().after_help(None::<&str>);
    let plain = plain.after_long_help(None::<&str>);
    // What `-h` leaves out is in the page, with its text.
    let plain = plain.mut_args(|arg| arg.hide_short_help(false));
    let man = Man::new(plain)
        .source(format!("sustain {}", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render(&mut page)?;
    let mut page = String::from_utf8(page).context("the page is not UTF-8")?;
    page = with_subsections(&page, command);
    page.push_str(&sections(&last_words));
    page.push_str(&see_also(command));
    Ok(page)
}

/// Makes the groups of flags parts of the section OPTIONS; the crate gives each a section.
fn with_subsections(page: &str, command: &Command) -> String {
    let groups = command
        .get_arguments()
        .filter_map(|one| one.get_help_heading());
    let groups: Vec<&str> = groups.collect();
    let lines = page.lines().map(|line| {
        let title = line
            .strip_prefix(".SH ")
            .map(|title| title.trim_matches('"'));
        let group = groups
            .iter()
            .find(|group| Some(group.to_uppercase().as_str()) == title);
        group.map_or_else(|| line.to_owned(), |group| format!(".SS \"{group}\""))
    });
    lines.map(|line| line + "\n").collect()
}

/// Renders the names of the pages to read next.
fn see_also(command: &Command) -> String {
    let others: Vec<String> = match command.get_name() {
        "sustain" => command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .map(|one| format!("sustain-{}(1)", one.get_name()))
            .collect(),
        name => help::see_also(name)
            .iter()
            .map(|one| format!("sustain-{one}(1)"))
            .collect(),
    };
    let own = (command.get_name() != "sustain").then(|| "sustain(1)".to_owned());
    let pages: Vec<String> = own.into_iter().chain(others).collect();
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(pages.join(", "))]);
    roff.to_roff()
}

/// Renders the last part of a help as sections: examples, what the output means, other text, and
/// last the exit codes.
fn sections(last_words: &str) -> String {
    let mut roff = Roff::new();
    let (words, codes) = last_words
        .split_once(EXIT_CODES)
        .unwrap_or((last_words, ""));
    let mut notes = Vec::new();
    for block in words.split("\n\n") {
        let (heading, entries) = block.split_once('\n').unwrap_or((block, ""));
        match heading {
            "Example:" | "Examples:" => {
                roff.control("SH", ["EXAMPLES"]);
                for (commands, explanation) in parts(entries) {
                    example(&mut roff, &commands, &explanation);
                }
            }
            "What the output means:" => {
                roff.control("SH", ["OUTPUT"]);
                for (terms, meaning) in parts(entries) {
                    roff.control("TP", []);
                    roff.text([bold(terms.join(", "))]);
                    roff.text([roman(meaning)]);
                }
            }
            _ => notes.extend(block.lines()),
        }
    }
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

/// What is indented by two columns, and below it, by six, what it means. A command that goes on in
/// another line is whole again.
fn parts(entries: &str) -> Vec<(Vec<String>, String)> {
    let entries = entries.replace(" \\\n      ", " ");
    let mut parts: Vec<(Vec<String>, String)> = Vec::new();
    for line in entries.lines() {
        let words = line.trim_start();
        let is_explanation = line.len() - words.len() > 2;
        match parts.last_mut() {
            Some((_, explanation)) if is_explanation => {
                let separator = if explanation.is_empty() { "" } else { " " };
                explanation.push_str(separator);
                explanation.push_str(words);
            }
            Some((commands, explanation)) if explanation.is_empty() => {
                commands.push(words.to_owned());
            }
            _ => parts.push((vec![words.to_owned()], String::new())),
        }
    }
    parts
}

/// Renders an example. Commands are to be copied, so they are neither filled nor justified.
fn example(roff: &mut Roff, commands: &[String], explanation: &str) {
    for command in commands {
        roff.control("PP", []);
        roff.control("nf", []);
        roff.text([bold(command)]);
        roff.control("fi", []);
    }
    if !explanation.is_empty() {
        roff.control("RS", ["4"]);
        roff.text([roman(explanation)]);
        roff.control("RE", []);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_become_sections() {
        let page = sections(
            "Examples:\n  sustain list a\n      What is there.\n\nWhat the output means:\n  lost\n      Gone.\n\nNothing is\nwritten. Exit codes: \
             0 done; 130 on a\nsecond Ctrl-C.",
        );
        let expected = ".SH EXAMPLES\n.PP\n.nf\n\\fBsustain list a\\fR\n.fi\n.RS 4\nWhat is \
                        there.\n.RE\n.SH OUTPUT\n.TP\n\\fBlost\\fR\nGone.\n.SH NOTES\nNothing is written.\n.SH \"EXIT \
                        STATUS\"\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB130\\fR\non a second Ctrl\\-C\n";
        assert!(page.ends_with(expected), "{page}");
    }
}
