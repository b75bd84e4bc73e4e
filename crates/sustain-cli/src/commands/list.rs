//! `sustain list`: shows the recordings on a store.

use sustain::document::list::ListDocument;
use sustain::record::document::{list_document, list_notes, listed_pins};
use sustain::record::reading::readable::behind_cuts;
use sustain::record::reading::verify::Checkable;
use sustain::record::store::Mode;
use sustain::report::terminal::{list_text, places_text};

use super::extract::list_frames;
use super::progress::{SEARCH, watched};
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::list::ListFlags;

pub(crate) fn run(flags: &ListFlags) -> anyhow::Result<Exit> {
    if flags.frames {
        return list_frames(flags);
    }
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    let mut recordings = stores::recordings(&mut store)?;
    // Behind a cut in a ring this reads slots, which is left alone while the ring is recorded to:
    // what can be read moves on then.
    if store.is_recorded_to() == Some(false) {
        let store = Checkable::of(&store, &recordings);
        recordings = watched(SEARCH, |observer| behind_cuts(store, observer))?;
    }
    for note in list_notes(&store, &recordings) {
        super::say(&format!("note: {note}"));
    }
    let document = ListDocument {
        pins: listed_pins(&mut store)?,
        ..list_document(&store, &recordings)?
    };
    let mut text = list_text(&document, output::width());
    if flags.verbose {
        text.push_str(&places_text(&document, output::width()));
    }
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}
