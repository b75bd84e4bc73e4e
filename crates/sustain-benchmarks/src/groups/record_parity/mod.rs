//! Recording with parity on five members: what it leaves of their rates, what it costs, how a
//! recording goes on when a member dies, and how fast the rest gives back and rebuilds what that
//! member had.

mod beside;
mod cost;
mod death;
mod members;
mod rates;
mod without;

use super::rows::skipped;
use crate::group::Group;
use crate::places::Throttle;
use crate::setting::Setting;
use crate::table::Section;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    if let Some(why) = Throttle::refused() {
        return Ok(skipped(Group::RecordParity, &why));
    }
    let mut rows = Vec::new();
    rows.extend(rates::run(setting)?);
    rows.extend(cost::run(setting)?);
    rows.extend(death::run(setting)?);
    rows.extend(without::run(setting)?);
    rows.extend(beside::run(setting)?);
    Ok(Section {
        name: Group::RecordParity.name(),
        columns: ["", "sustain", "other", "ratio or difference [95 %]"],
        rows,
        notes: vec![members::words()],
    })
}
