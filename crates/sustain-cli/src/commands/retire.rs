//! `sustain retire`: takes a member out of a store, and copies what it had to the others. `sustain
//! repair` does the same with a lost one where no new member takes its place.

use std::path::Path;

use sustain::Stop;
use sustain::disk::clock::Clock;
use sustain::disk::units::Size;
use sustain::document::retire::RetireDocument;
use sustain::host::Roots;
use sustain::record::document::retire_document;
use sustain::record::retire::RehearsedRetirement;
use sustain::record::store::{Mode, Store};
use sustain::report::terminal::retire_text;

use super::progress::ProgressLine;
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::retire::RetireFlags;
use crate::interrupt;

pub(crate) fn run(flags: &RetireFlags) -> anyhow::Result<Exit> {
    let mut members = flags.members.clone();
    // Whoever names it only once means it all the same.
    if !members.contains(&flags.member) && Path::new(&flags.member).exists() {
        members.push(flags.member.clone());
    }
    stores::check_result(flags.json.as_deref(), &members)?;
    let read = stores::open(&members, Mode::Read)?;
    let member = read.member_named(&flags.member)?;
    if flags.dry_run {
        return rehearse(&members, read, (member, flags.accept_loss));
    }
    let (document, exit) = retire(&members, read, (member, flags.accept_loss))?;
    let text = retire_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(exit)
}

/// Says what would be copied, and writes nothing.
pub(super) fn rehearse(
    members: &[String],
    mut read: Store,
    (member, accept_loss): (usize, bool),
) -> anyhow::Result<Exit> {
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let recordings = read.recordings()?;
    let store = Store::open_to_retire(members, member, &Roots::default())?;
    let slot_bytes = u64::from(store.slot_bytes);
    let mut progress = ProgressLine::new("reading");
    let rehearsed = store.rehearse_retirement(
        (&read, &recordings),
        (member, accept_loss),
        &stop,
        // Nothing is read for a second time.
        &mut |done, all| progress.update(done * slot_bytes, Some(all / 2 * slot_bytes)),
    );
    progress.finish();
    let rehearsed = rehearsed?;
    for note in &rehearsed.unknown {
        super::say(&format!("note: {note}"));
    }
    let name = format!("member {}", member + 1);
    let words = output::prose(&rehearsal_words(&name, &rehearsed));
    output::write(Path::new("-"), &words)?;
    Ok(Exit::Done)
}

fn rehearsal_words(name: &str, rehearsed: &RehearsedRetirement) -> String {
    let copies = match rehearsed.appends {
        0 => format!("{name} has nothing to copy"),
        appends => format!(
            "{appends} appends of {name} would be on the other members, in copies of {}, of {} \
             that are free there",
            Size(rehearsed.copies_bytes),
            Size(rehearsed.free_bytes)
        ),
    };
    let lost = match rehearsed.lost_bytes {
        0 => String::new(),
        bytes => format!(
            " {} can neither be read nor computed, and would be lost.",
            Size(bytes)
        ),
    };
    format!(
        "dry run: {copies}.{lost} Then it would be retired: left out of all commands from then on, \
         also if it comes back. Nothing was written."
    )
}

/// Retires a member of a store that is open for reading, by its place in the table.
pub(super) fn retire(
    members: &[String],
    mut read: Store,
    (member, accept_loss): (usize, bool),
) -> anyhow::Result<(RetireDocument, Exit)> {
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let begun_at = Clock::Real.now();
    // What members lack is found with the recordings.
    let recordings = read.recordings()?;
    let mut store = Store::open_to_retire(members, member, &Roots::default())?;
    let slot_bytes = u64::from(store.slot_bytes);
    let mut progress = ProgressLine::new("copying");
    let retired = store.retire(
        (&read, &recordings),
        (member, accept_loss),
        &stop,
        &mut |done, all| progress.update(done * slot_bytes, Some(all * slot_bytes)),
    );
    progress.finish();
    let elapsed_s = Clock::Real.now().since_ns(begun_at) as f64 / 1e9;
    let retired = retired?;
    let notes = [read.notes, retired.unknown.clone()].concat();
    for note in &retired.unknown {
        super::say(&format!("note: {note}"));
    }
    let exit = match (retired.tally.lost_bytes, retired.unknown.is_empty()) {
        (0, true) => Exit::Done,
        _ => Exit::Failed,
    };
    Ok((retire_document(&store, &retired, elapsed_s, &notes), exit))
}
