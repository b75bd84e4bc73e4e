//! `sustain unpin`: frees what a pin keeps, while nobody records to the store.

use std::path::Path;

use sustain::document::setting::PIN;
use sustain::host::Roots;
use sustain::record::document::{listed_pins, unpin_document};
use sustain::record::store::{Mode, Store};
use sustain::report::terminal::unpin_text;

use super::{output, stores};
use crate::exit::Exit;
use crate::flags::unpin::UnpinFlags;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &UnpinFlags) -> anyhow::Result<Exit> {
    let (members, number) = chosen(flags)?;
    stores::check_result(flags.json.as_deref(), members)?;
    check_at_rest(members, number)?;
    let mut store = stores::open(members, Mode::Record)?;
    let pins = listed_pins(&mut store)?;
    let freed_bytes = store.unpin(number)?;
    let pin = pins.into_iter().find(|pin| pin.number == number);
    let pin = pin.ok_or_else(|| UsageError(format!("the store has no pin {number}")))?;
    let document = unpin_document(&store, pin, freed_bytes);
    let text = unpin_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}

/// The members and the pin. A number in the last place is the pin's, as `sustain control` takes it,
/// unless something has it for its name.
fn chosen(flags: &UnpinFlags) -> Result<(&[String], u32), UsageError> {
    if let Some(number) = flags.pin {
        return Ok((&flags.members, number));
    }
    if let Some((last, members)) = flags.members.split_last()
        && !members.is_empty()
        && !Path::new(last).exists()
        && let Ok(number) = last.parse()
    {
        return Ok((members, number));
    }
    Err(UsageError(format!(
        "which pin is to be freed? Give its number with {} N: `sustain list` shows the pins of a \
         store",
        PIN.flag()
    )))
}

/// Refuses a store that is recorded to: its recorder frees pins itself.
fn check_at_rest(members: &[String], number: u32) -> anyhow::Result<()> {
    let store = Store::open(members, Mode::Read, &Roots::default())?;
    if store.is_recorded_to() == Some(false) {
        return Ok(());
    }
    Err(UsageError(format!(
        "somebody records to this store, so nothing was changed: free the pin with `sustain \
         control SOCKET unpin {number}`, or wait for the end of the recording"
    ))
    .into())
}
