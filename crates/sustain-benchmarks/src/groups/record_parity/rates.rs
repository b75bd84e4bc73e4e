//! What parity leaves of the members' rates, and what a stripe with as much parity would.

use super::members::{EQUAL_BYTES_PER_S, MEMBERS, Members, UNEQUAL_BYTES_PER_S, measure, most};
use crate::groups::rows::{rate, rate_row};
use crate::pairs::Compared;
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row};
use crate::tools::Way;

const RATIO_MIN: f64 = 0.9;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Vec<Row>> {
    let members = Members::new(&EQUAL_BYTES_PER_S, setting)?;
    let source = Source::new(Pouring::Splice)?;
    let mut rows = of("equal", &members, &source, setting)?;
    members.limit(&UNEQUAL_BYTES_PER_S)?;
    rows.extend(of("unequal", &members, &source, setting)?);
    Ok(rows)
}

/// One round: the rates with one and two parities, and those of the members alone and as a stripe.
struct Round {
    recorded: [f64; 2],
    alone: Vec<f64>,
    stripe: f64,
}

fn of(
    which: &str,
    members: &Members,
    source: &Source,
    setting: &Setting,
) -> anyhow::Result<Vec<Row>> {
    let mut rounds = Vec::new();
    for _ in 0..setting.effort.cpu_rounds {
        rounds.push(round(members, source, setting)?);
    }
    let mut rows = Vec::new();
    for parities in [1, 2] {
        let of_rounds =
            |figure: &dyn Fn(&Round) -> f64| -> Vec<f64> { rounds.iter().map(figure).collect() };
        let recorded = of_rounds(&|round| round.recorded[parities - 1]);
        let bound = of_rounds(&|round| most(&round.alone, parities));
        let left = (MEMBERS - parities) as f64 / MEMBERS as f64;
        let stripe = of_rounds(&|round| round.stripe * left);
        let what = format!("{which}, p = {parities}: all that their rates allow");
        let compared = Compared::of(&recorded, &bound);
        rows.push(rate_row(what, &compared, Goal::AtLeast(RATIO_MIN)));
        let what = format!("{which}, p = {parities}: the most of a stripe with parity");
        let row = Row::shown(what, &Compared::of(&recorded, &stripe), rate);
        progress(&row.line());
        rows.push(row);
    }
    Ok(rows)
}

fn round(members: &Members, source: &Source, setting: &Setting) -> anyhow::Result<Round> {
    let paths = members.paths();
    let record = |parities| -> anyhow::Result<f64> {
        let recorded = members.record(parities, source, setting)?;
        Ok(recorded.bytes as f64 / recorded.own_s)
    };
    let one = record(1)?;
    let alone = measure(&paths, Way::Write, &[], setting)?;
    let stripe = measure(&paths, Way::Write, &["--layout", "stripe"], setting)?;
    Ok(Round {
        recorded: [one, record(2)?],
        alone: alone.rates_bytes_per_s,
        stripe: stripe.rates_bytes_per_s.iter().sum(),
    })
}
