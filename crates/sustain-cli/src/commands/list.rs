//! `sustain list`: shows the recordings on a store.

use sustain::record::document::list_document;
use sustain::record::store::Mode;
use sustain::report::terminal::list_text;

use super::{output, stores};
use crate::Exit;
use crate::flags::list::ListFlags;

pub(crate) fn run(flags: &ListFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    let recordings = store.recordings()?;
    let document = list_document(&store, &recordings);
    let text = list_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}
