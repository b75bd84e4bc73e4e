//! `sustain recover`: writes what is missing after a crash, as opening the store has found it.

use sustain::record::document::recover_document;
use sustain::record::store::Mode;
use sustain::report::terminal::recover_text;

use super::progress::{SEARCH, watched};
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::recover::RecoverFlags;

pub(crate) fn run(flags: &RecoverFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let mut store = stores::open(&flags.members, Mode::Record)?;
    let recordings = store.recordings()?;
    let recovered = watched(SEARCH, |observer| store.recover(&recordings, observer))?;
    for note in &recovered.notes {
        super::say(&format!("note: {note}"));
    }
    let document = recover_document(&store, &recordings, &recovered);
    let text = recover_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.lost_marks, document.lost_bytes) {
        (0, 0) => Exit::Done,
        _ => Exit::Failed,
    })
}
