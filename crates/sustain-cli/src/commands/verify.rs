//! `sustain verify`: reads everything that is recorded and accounts for every byte.

use sustain::Stop;
use sustain::record::document::verify_document;
use sustain::record::reading::readable::readable_pins;
use sustain::record::reading::verify::{Checkable, verify};
use sustain::record::store::Mode;
use sustain::report::terminal::verify_text;

use super::progress::ProgressLine;
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::verify::VerifyFlags;
use crate::interrupt;

pub(crate) fn run(flags: &VerifyFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    stores::say_recorders(&store);
    let recordings = stores::recordings(&mut store)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let pins = readable_pins(&mut store)?;
    let checkable = Checkable::of(&store, &recordings).with_pins(&pins);
    let mut progress = ProgressLine::new("checking");
    let result = verify(
        checkable,
        &mut |now| progress.update(now.checked_bytes, Some(now.total_bytes)),
        &stop,
    );
    progress.finish();
    let result = result?;
    for note in &result.notes {
        super::say(&format!("note: {note}"));
    }
    let document = verify_document(&store, &result);
    let text = verify_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(match (document.complete, document.ok) {
        (false, _) => Exit::Interrupted,
        (true, true) => Exit::Done,
        (true, false) => Exit::Failed,
    })
}
