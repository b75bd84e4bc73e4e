//! `sustain scrub`: checks a store with parity, and writes what is damaged to its place again.

use sustain::Stop;
use sustain::host::Roots;
use sustain::record::RecordError;
use sustain::record::document::{scrub_document, verify_document};
use sustain::record::reading::readable::readable_pins;
use sustain::record::reading::verify::{Checkable, VerifyResult, verify};
use sustain::record::scrub::ScrubbedMember;
use sustain::record::store::{Mode, Store};
use sustain::report::terminal::scrub_text;

use super::progress::{ProgressLine, watched};
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::scrub::ScrubFlags;
use crate::interrupt;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &ScrubFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    check_scrubbable(&store)?;
    let mut check = checked(&mut store, &stop)?;
    // One may have been left out meanwhile, because others tell of something else in its place.
    check_scrubbable(&store)?;
    let bad_places = check.bad.len() as u64 + check.bad_unlisted;
    let mut scrubbed = Vec::new();
    if bad_places > 0 && check.complete {
        scrubbed = put_back(&flags.members, &store, &check, &stop)?;
    }
    if stop.reason().is_some() {
        let words = "interrupted before everything was checked and put back: the store is as good \
                     as before, or better, and the same command goes on";
        return Err(RecordError::Interrupted(words.to_owned()).into());
    }
    if !scrubbed.is_empty() {
        store = Store::open(&flags.members, Mode::Read, &Roots::default())?;
        check = checked(&mut store, &stop)?;
    }
    let document = scrub_document(bad_places, &scrubbed, verify_document(&store, &check));
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
            .to_owned()
    } else if !store.has_all_members() {
        let missing = store.not_given().into_iter();
        let missing = missing.map(|one| format!("member {} (UUID {})", one.index + 1, one.member));
        format!(
            "missing of the store: {}. Name all of its members, or put a lost one back with \
             `sustain repair` first",
            missing.collect::<Vec<_>>().join(", ")
        )
    } else if store.is_recorded_to() != Some(false) {
        "the store is being recorded to: scrub it when the recording has ended".to_owned()
    } else {
        return Ok(());
    };
    Err(UsageError(why))
}

/// Checks everything in a store.
fn checked(store: &mut Store, stop: &Stop) -> anyhow::Result<VerifyResult> {
    let recordings = store.recordings()?;
    let pins = readable_pins(store)?;
    let checkable = Checkable::of(store, &recordings).with_pins(&pins);
    let mut progress = ProgressLine::new("checking");
    let result = verify(
        checkable,
        &mut |now| progress.update(now.checked_bytes, Some(now.total_bytes)),
        stop,
    );
    progress.finish();
    Ok(result?)
}

/// Writes what can be computed of the places that are bad. Nobody else may record meanwhile.
fn put_back(
    members: &[String],
    read: &Store,
    check: &VerifyResult,
    stop: &Stop,
) -> anyhow::Result<Vec<ScrubbedMember>> {
    let mut store = Store::open(members, Mode::Record, &Roots::default())?;
    let scrubbed = watched("putting back", |observer| {
        store.scrub(read, check, stop, observer)
    });
    Ok(scrubbed?)
}
