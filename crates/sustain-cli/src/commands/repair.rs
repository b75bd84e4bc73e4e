//! `sustain repair`: rebuilds a lost member of a store with parity onto a new one.

use sustain::Stop;
use sustain::disk::clock::Clock;
use sustain::host::Roots;
use sustain::record::document::repair_document;
use sustain::record::repair::RepairEvent;
use sustain::record::store::{Mode, Onto, Store};
use sustain::report::terminal::repair_text;

use super::progress::ProgressLine;
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::repair::RepairFlags;
use crate::interrupt;

pub(crate) fn run(flags: &RepairFlags) -> anyhow::Result<Exit> {
    let all: Vec<String> = flags.members.iter().chain([&flags.onto]).cloned().collect();
    stores::check_result(flags.json.as_deref(), &all)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let begun_at = Clock::Real.now();
    let mut store = stores::open(&flags.members, Mode::Read)?;
    // Members that are there and lack something are found with the recordings.
    store.recordings()?;
    let onto = Onto {
        name: flags.onto.clone(),
        destroy: flags.destroy.clone(),
        same_disk: flags.same_disk,
        accept_loss: flags.accept_loss,
    };
    let slot_bytes = u64::from(store.slot_bytes);
    let mut progress = ProgressLine::new("rebuilding");
    let mut notes = Vec::new();
    let mut observer = |event| match event {
        RepairEvent::Note(note) => {
            progress.note(&format!("note: {note}"));
            notes.push(note);
        }
        RepairEvent::Written {
            slots_done,
            slots_all,
        } => progress.update(slots_done * slot_bytes, Some(slots_all * slot_bytes)),
    };
    let repaired = store.repair_onto(&onto, &Roots::default(), &stop, &mut observer);
    progress.finish();
    let elapsed_s = Clock::Real.now().since_ns(begun_at) as f64 / 1e9;
    let repaired = repaired?;
    let missing_bytes = match repaired.still_missing.is_empty() {
        true => Some(missing_bytes(&all)?),
        false => None,
    };
    let document = repair_document(&store, &repaired, (elapsed_s, missing_bytes), &notes);
    let text = repair_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.lost.appends, missing_bytes) {
        (0, None | Some(0)) => Exit::Done,
        _ => Exit::Failed,
    })
}

/// What the recordings of a store lack on all its members.
fn missing_bytes(members: &[String]) -> anyhow::Result<u64> {
    let mut store = Store::open(members, Mode::Read, &Roots::default())?;
    let recordings = store.recordings()?;
    let streams = recordings.iter().flat_map(|recording| &recording.streams);
    Ok(streams.map(|stream| stream.hole_bytes).sum())
}
