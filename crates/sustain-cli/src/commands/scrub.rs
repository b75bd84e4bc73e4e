//! `sustain scrub`: checks a store with parity, and writes what is damaged to its place again.

use anyhow::bail;
use sustain::Stop;
use sustain::document::verify::VerifyDocument;
use sustain::host::Roots;
use sustain::record::document::{scrub_document, verify_document};
use sustain::record::reading::readable::readable_pins;
use sustain::record::reading::verify::{Checkable, verify};
use sustain::record::repair::{RepairEvent, Repaired};
use sustain::record::store::{Mode, Onto, Store};
use sustain::report::terminal::scrub_text;

use super::progress::ProgressLine;
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::scrub::ScrubFlags;
use crate::interrupt;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &ScrubFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let store = stores::open(&flags.members, Mode::Read)?;
    check_scrubbable(&store)?;
    let mut check = checked(store, &stop)?;
    if !check.complete {
        bail!("interrupted before everything was checked: nothing was written");
    }
    let bad_places = check.bad.len() as u64 + check.bad_unlisted;
    let mut repaired = Vec::new();
    for member in damaged(&flags.members, &check) {
        repaired.push(put_back(&flags.members, member, &stop)?);
    }
    if !repaired.is_empty() {
        let store = Store::open(&flags.members, Mode::Read, &Roots::default())?;
        check = checked(store, &stop)?;
    }
    let document = scrub_document(bad_places, &repaired, check);
    let text = scrub_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.check.complete, document.check.ok) {
        (false, _) => Exit::Interrupted,
        (true, true) => Exit::Done,
        (true, false) => Exit::Failed,
    })
}

/// Refuses stores of which nothing can be put back, and those that somebody writes to.
fn check_scrubbable(store: &Store) -> Result<(), UsageError> {
    let mut members = store.members.iter();
    let why = if !members.all(|member| member.superblock.has_parity()) {
        "the store has no parity, so what is damaged cannot be computed: `sustain verify` names it"
    } else if !store.missing.is_empty() || store.members.iter().any(|member| !member.is_there()) {
        "members of the store are missing: name all of them, or put a lost one back with `sustain \
         repair` first"
    } else if store.is_recorded_to() != Some(false) {
        "the store is being recorded to: scrub it when the recording has ended"
    } else {
        return Ok(());
    };
    Err(UsageError(why.to_owned()))
}

/// Checks everything in a store.
fn checked(mut store: Store, stop: &Stop) -> anyhow::Result<VerifyDocument> {
    let recordings = store.recordings()?;
    let pins = readable_pins(&mut store)?;
    let checkable = Checkable::of(&store, &recordings).with_pins(&pins);
    let mut progress = ProgressLine::new("checking");
    let result = verify(
        checkable,
        &mut |now| progress.update(now.checked_bytes, Some(now.total_bytes)),
        stop,
    );
    progress.finish();
    Ok(verify_document(&store, &result?))
}

/// The members on which something is damaged, in the order in which they were typed.
fn damaged<'a>(
    members: &'a [String],
    check: &'a VerifyDocument,
) -> impl Iterator<Item = &'a String> {
    let is_bad = |name: &&String| {
        let mut bad = check.bad.iter();
        bad.any(|bad| bad.member.as_ref() == Some(*name))
    };
    members.iter().filter(is_bad)
}

/// Computes what a member lacks from the others, and writes it to its place.
fn put_back(members: &[String], damaged: &String, stop: &Stop) -> anyhow::Result<Repaired> {
    let others: Vec<String> = members
        .iter()
        .filter(|member| *member != damaged)
        .cloned()
        .collect();
    let mut store = Store::open(&others, Mode::Read, &Roots::default())?;
    store.recordings()?;
    let onto = Onto {
        name: damaged.clone(),
        destroy: Vec::new(),
        // It stays where it is.
        same_disk: true,
        accept_loss: false,
    };
    let slot_bytes = u64::from(store.slot_bytes);
    let mut progress = ProgressLine::new("mending");
    let mut observer = |event| match event {
        RepairEvent::Note(note) => progress.note(&format!("note: {note}")),
        RepairEvent::Written {
            slots_done,
            slots_all,
        } => progress.update(slots_done * slot_bytes, Some(slots_all * slot_bytes)),
    };
    let repaired = store.repair_onto(&onto, &Roots::default(), stop, &mut observer);
    progress.finish();
    Ok(repaired?)
}
