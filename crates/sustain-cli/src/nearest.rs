//! What was probably meant by a name that does not exist: an existing one that is typed nearly
//! alike.

use std::path::{Path, PathBuf};

use strsim::damerau_levenshtein;
use sustain::disk::simulated::parse_target;

/// More names than this are no help.
const NAMES_MAX: usize = 3;
/// One letter in so many may be wrong: more, and a short name would be near to any other.
const LETTERS_PER_MISTAKE: usize = 4;

/// The names near to the first of these arguments that is named in the error and does not exist.
pub(crate) fn hint(arguments: impl Iterator<Item = String>, error: &str) -> Option<String> {
    let paths = arguments
        .filter(|typed| !typed.starts_with('-') && !typed.is_empty())
        .map(|typed| match parse_target(&typed) {
            Ok((machine, _disk)) => machine,
            Err(_) => PathBuf::from(typed),
        });
    let mut missing = paths.filter(|path| {
        let is_named = error.contains(&path.display().to_string());
        is_named && path.symlink_metadata().is_err()
    });
    let names: Vec<String> = near(&missing.next()?)
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Existing paths that differ from this one by few letters in one part, the nearest first.
fn near(path: &Path) -> Vec<PathBuf> {
    let Some(parent) = path.ancestors().skip(1).find(|one| exists(one)) else {
        return Vec::new();
    };
    let mut rest = path.strip_prefix(parent).unwrap_or(path).components();
    let Some(wrong) = rest.next() else {
        return Vec::new();
    };
    let wrong = wrong.as_os_str().to_string_lossy().into_owned();
    let allowed = wrong.chars().count().div_ceil(LETTERS_PER_MISTAKE);
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
