//! What was probably meant by a name that does not exist: an existing one that is typed nearly
//! alike.

use std::path::{Path, PathBuf};

use strsim::damerau_levenshtein;
use sustain::disk::simulated::parse_target;

/// More names than this are no help.
const NAMES_MAX: usize = 3;
/// One letter in so many may be wrong: more, and a short name would be near to any other.
const LETTERS_PER_MISTAKE: usize = 4;

/// What was typed behind the command's own name.
pub(crate) fn typed() -> impl Iterator<Item = String> {
    let arguments = std::env::args_os().skip(1);
    arguments.map(|argument| argument.to_string_lossy().into_owned())
}

/// The names near to that of these arguments which the error names first and which does not exist.
pub(crate) fn hint(arguments: impl Iterator<Item = String>, error: &str) -> Option<String> {
    let given = arguments.filter(|typed| !typed.starts_with('-'));
    let missing = paths(given).filter(|path| path.symlink_metadata().is_err());
    // An error may also have the command's own name, in its advice.
    let named = missing.filter_map(|path| {
        let at = place_named_in(error, &path.display().to_string())?;
        Some((at, path))
    });
    let (_, missing) = named.min()?;
    let names: Vec<String> = near(&missing)
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Where a text has a name as a whole, and not as a part of other words.
fn place_named_in(text: &str, name: &str) -> Option<usize> {
    let continues = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
    let mut places = text.match_indices(name).map(|(at, _)| at);
    places.find(|at| {
        let (before, after) = (&text[..*at], &text[*at + name.len()..]);
        !continues(before.chars().next_back()) && !continues(after.chars().next())
    })
}

/// The paths that these arguments may name, those that are joined to their flags too. Other words
/// are among them, as names of files that most often do not exist.
pub(crate) fn paths(arguments: impl Iterator<Item = String>) -> impl Iterator<Item = PathBuf> {
    let values = arguments.filter_map(|typed| match typed.strip_prefix('-') {
        Some(flag) => flag.split_once('=').map(|(_, value)| value.to_owned()),
        None => Some(typed),
    });
    let values = values.filter(|typed| !typed.is_empty());
    values.map(|typed| match parse_target(&typed) {
        Ok((machine, _disk)) => machine,
        Err(_) => PathBuf::from(typed),
    })
}

/// Existing paths that differ from this one by few letters in one part, the nearest first.
fn near(path: &Path) -> Vec<PathBuf> {
    let allowed = |wrong: &str| wrong.chars().count() / LETTERS_PER_MISTAKE;
    near_within(path, &allowed)
}

/// Whether nothing has this name, and something has one that differs by one letter. Files are often
/// numbered, so another number is another file; but beside a numbered directory or disk there is no
/// file of such a name.
pub(crate) fn is_mistyped(path: &Path) -> bool {
    let letters = |path: &Path| -> String {
        let name = path.components().collect::<PathBuf>();
        let name = name.to_string_lossy();
        name.chars().filter(|c| !c.is_ascii_digit()).collect()
    };
    let is_file = |found: &Path| found.metadata().is_ok_and(|found| found.is_file());
    let is_another = |found: &PathBuf| is_file(found) && letters(found) == letters(path);
    !exists(path)
        && near_within(path, &|_| 1)
            .iter()
            .any(|found| !is_another(found))
}

fn near_within(path: &Path, allowed: &dyn Fn(&str) -> usize) -> Vec<PathBuf> {
    let Some(parent) = path.ancestors().skip(1).find(|one| exists(one)) else {
        return Vec::new();
    };
    let mut rest = path.strip_prefix(parent).unwrap_or(path).components();
    let Some(wrong) = rest.next() else {
        return Vec::new();
    };
    let wrong = wrong.as_os_str().to_string_lossy().into_owned();
    let allowed = allowed(&wrong);
    let place = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let mut found: Vec<(usize, PathBuf)> = entries
        .map(|entry| entry.file_name())
        .map(|name| (damerau_levenshtein(&wrong, &name.to_string_lossy()), name))
        .filter(|(mistakes, _)| *mistakes <= allowed)
        // What follows the part that was mistyped must be right.
        .map(|(mistakes, name)| (mistakes, parent.join(name).join(rest.as_path())))
        .map(|(mistakes, path)| (mistakes, path.components().collect::<PathBuf>()))
        .filter(|(_, path)| exists(path))
        .collect();
    found.sort();
    found.truncate(NAMES_MAX);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether there is something; the directory of a name without one is the current one.
fn exists(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.symlink_metadata().is_ok()
}
