//! What the commands on stores share: opening one to read, checking where their results may go, and
//! showing them. Nothing here writes to a member.

use std::path::Path;

use sustain::document::reader::{self, Document};
use sustain::host::Roots;
use sustain::record::opening::Recording;
use sustain::record::store::{FILE_NAME, Mode, Store};

use super::output::{self, OutputKind, Outputs};
use super::say;
use super::standard_streams::{self, Given};
use crate::usage_error::UsageError;

/// Opens the store of these members and prints its notes.
pub(crate) fn open(members: &[String], mode: Mode) -> anyhow::Result<Store> {
    let store = Store::open(members, mode, &Roots::default())?;
    store
        .notes
        .iter()
        .for_each(|note| say(&format!("note: {note}")));
    let count = store.member_count();
    let mut members = store.members.iter();
    let then = match members.any(|member| member.superblock.has_parity()) {
        true => "and no parity on the others tells of anything that it had",
        false => "so the data on it cannot be read",
    };
    for missing in &store.missing {
        say(&format!(
            "note: member {} of {count} is missing (UUID {}), {then}",
            missing.index + 1,
            missing.member
        ));
    }
    Ok(store)
}

/// The recordings of a store, as [`Store::recordings`] finds them. Prints what that notes of
/// members that lack something.
pub(crate) fn recordings(store: &mut Store) -> anyhow::Result<Vec<Recording>> {
    let told = store.notes.len();
    let recordings = store.recordings()?;
    for note in store.notes.iter().skip(told) {
        say(&format!("note: {note}"));
    }
    Ok(recordings)
}

/// Says it if somebody records on the members' disks, for commands that read for long.
pub(crate) fn say_recorders(store: &Store) {
    if let Some(note) = store.recorders_beside().note() {
        say(&format!("note: {note}"));
    }
}

/// Fails in words unless the result may be written there, and the words on standard output. Neither
/// may take a member's place.
pub(crate) fn check_json(json: Option<&Path>, members: &[String]) -> Result<(), UsageError> {
    standard_streams::check(Given::Members(members))?;
    let Some(path) = json.filter(|path| !output::is_standard_output(path)) else {
        return json.map_or(Ok(()), |_| output::check_standard_output());
    };
    check_no_member(path, members)?;
    output::check(path, OutputKind::Json)
}

/// As [`check_json`], for a command whose words are its result: without a document they must have a
/// place.
pub(crate) fn check_result(json: Option<&Path>, members: &[String]) -> Result<(), UsageError> {
    check_json(json, members)?;
    json.map_or_else(output::check_standard_output, |_| Ok(()))
}

/// Checks that the path is not one of the members, under any name.
pub(crate) fn check_no_member(path: &Path, members: &[String]) -> Result<(), UsageError> {
    for member in members {
        let named = Path::new(member);
        let within = named.join(FILE_NAME);
        if output::is_same(named, path) && !named.is_dir() || output::is_same(&within, path) {
            let path = path.display();
            return Err(UsageError(format!(
                "{path} is a member of the store: choose another file"
            )));
        }
    }
    Ok(())
}

/// Writes the document if a file is given for it, and prints the text: on standard output, unless
/// the document goes there.
pub(crate) fn present(
    json: Option<&Path>,
    document: &impl Document,
    text: &str,
) -> anyhow::Result<()> {
    let outputs = Outputs { json, report: None };
    outputs.deliver(text, || reader::write(document), || Ok(String::new()))
}
