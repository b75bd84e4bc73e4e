//! `sustain unpin`: frees what a pin keeps, while nobody records to the store.

use sustain::host::Roots;
use sustain::record::document::{listed_pins, unpin_document};
use sustain::record::store::{Mode, Store};
use sustain::report::terminal::unpin_text;

use super::{output, stores};
use crate::exit::Exit;
use crate::flags::unpin::UnpinFlags;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &UnpinFlags) -> anyhow::Result<Exit> {
    stores::check_result(flags.json.as_deref(), &flags.members)?;
    check_at_rest(flags)?;
    let mut store = stores::open(&flags.members, Mode::Record)?;
    let pins = listed_pins(&mut store)?;
    let freed_bytes = store.unpin(flags.pin)?;
    let pin = pins.into_iter().find(|pin| pin.number == flags.pin);
    let pin = pin.ok_or_else(|| UsageError(format!("the store has no pin {}", flags.pin)))?;
    let document = unpin_document(&store, pin, freed_bytes);
    let text = unpin_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}

/// Refuses a store that is recorded to: its recorder frees pins itself.
fn check_at_rest(flags: &UnpinFlags) -> anyhow::Result<()> {
    let store = Store::open(&flags.members, Mode::Read, &Roots::default())?;
    if store.is_recorded_to() == Some(false) {
        return Ok(());
    }
    let number = flags.pin;
    Err(UsageError(format!(
        "somebody records to this store, so nothing was changed: free the pin with `sustain \
         control SOCKET unpin {number}`, or wait for the end of the recording"
    ))
    .into())
}
