//! What the rest of the members gives back without one, and how soon it rebuilds that.

use super::members::{EQUAL_BYTES_PER_S, MEMBERS, Members};
use crate::groups::rows::rate_row;
use crate::pairs::{Compared, Side, compare};
use crate::process;
use crate::roles;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row};
use crate::tools::store_tool::{self, Recording};

const STREAM_BYTES: u64 = 2_400_000_000;
const EXTRACT_RATIO_MIN: f64 = 0.5;
/// More than any of them gives.
const UNLIMITED_BYTES_PER_S: [u64; MEMBERS] = [100_000_000_000; MEMBERS];
const REPAIR_RATIO_MIN: f64 = 0.9;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
    let source = Source::new(Pouring::Splice)?;
    let mut rows = Vec::new();
    for parities in [1, 2] {
        members.create(parities, setting)?;
        let recording = Recording {
            members: &members.paths(),
            ring: false,
            buffer_bytes: None,
            time_s: None,
        };
        store_tool::record(recording, &source, STREAM_BYTES, setting)?;
        for (limits, which) in [
            (&UNLIMITED_BYTES_PER_S, "in memory"),
            (&EQUAL_BYTES_PER_S, "equal"),
        ] {
            members.limit(limits)?;
            let compared = compare(setting.effort.cpu_rounds, |side| {
                extract(&members, side, setting)
            })?;
            let what = format!(
                "{which}, p = {parities}: `extract` without a member, against with all of them"
            );
            rows.push(rate_row(what, &compared, Goal::AtLeast(EXTRACT_RATIO_MIN)));
        }
        let limit = EQUAL_BYTES_PER_S[0] as f64;
        let mut rates = Vec::new();
        for _ in 0..setting.effort.cpu_rounds {
            rates.push(repair(&members, setting)?);
        }
        let limits = vec![limit; rates.len()];
        let what =
            format!("equal, p = {parities}: `repair` of a member, against what one disk writes");
        let compared = Compared::of(&rates, &limits);
        rows.push(rate_row(what, &compared, Goal::AtLeast(REPAIR_RATIO_MIN)));
    }
    Ok(rows)
}

/// Into a pipe whose reader throws all away.
fn extract(members: &Members, side: Side, setting: &Setting) -> anyhow::Result<f64> {
    let paths = members.paths();
    let there = match side {
        Side::Ours => &paths[1..],
        Side::Theirs => &paths,
    };
    let from = store_tool::extract_command(there, setting);
    let elapsed_s = process::run_into(from, roles::command("discard")?, setting)?;
    Ok(STREAM_BYTES as f64 / elapsed_s)
}

/// The rate at which the first member is rebuilt onto a new device.
fn repair(members: &Members, setting: &Setting) -> anyhow::Result<f64> {
    let onto = members.spare(EQUAL_BYTES_PER_S[0], setting)?;
    store_tool::repair(&members.paths()[1..], onto.path(), setting)
}
