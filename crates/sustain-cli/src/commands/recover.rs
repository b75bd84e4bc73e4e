//! `sustain recover`: writes what is missing after a crash, as opening the store has found it.

use sustain::record::document::recover_document;
use sustain::record::opening::Recording;
use sustain::record::store::Mode;
use sustain::report::terminal::recover_text;

use super::progress::{SEARCH, watched};
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::recover::RecoverFlags;

pub(crate) fn run(flags: &RecoverFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let mut store = stores::open(&flags.members, Mode::Record)?;
    let mut recordings = store.recordings()?;
    let recovered = watched(SEARCH, |observer| store.recover(&recordings, observer))?;
    for note in &recovered.notes {
        super::say(&format!("note: {note}"));
    }
    let is_ring = recordings.first().is_some_and(|newest| newest.ring);
    if is_ring && !recovered.marked.is_empty() {
        // Where the ring was full, each mark has taken the place of the oldest slot of its member.
        let found = std::mem::take(&mut store.notes);
        drop(store);
        store = stores::open(&flags.members, Mode::Read)?;
        store.notes = found;
        take_readable(&mut recordings, &store.recordings()?);
    }
    let document = recover_document(&store, &recordings, &recovered);
    let text = recover_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.lost_marks, document.lost_bytes) {
        (0, 0) => Exit::Done,
        _ => Exit::Failed,
    })
}

/// Takes over from where on the streams can be read now.
fn take_readable(recordings: &mut [Recording], now: &[Recording]) {
    for recording in recordings {
        let Some(found) = now.iter().find(|one| one.number == recording.number) else {
            continue;
        };
        for (stream, found) in recording.streams.iter_mut().zip(&found.streams) {
            stream.readable_from_bytes = found.readable_from_bytes;
        }
    }
}
