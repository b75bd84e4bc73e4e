//! The position at which a run begins on its targets, and what a profile has shown about the
//! positions that it covers. Opening the session checks that the profile fits the targets; the
//! conclusion removes the position effect from the verdicts.

use sustain_disk::error::Error;
use sustain_disk::target::{Direction, TargetKind};
use sustain_disk::units::{DisplayPosition, Size};
use sustain_document::profile::{ProfileOutlier, ProfileTarget};
use sustain_document::setting::{AT, BYTES, DESTROY, JSON, READ, SIZE, WRITE};
use sustain_load::collect::steps;
use sustain_load::open_target::OpenTarget;
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;
use sustain_statistics::judge::Step;
use sustain_statistics::judge::places::{PlaceRates, even_steps};
use sustain_targets::shell_argument;

use super::plan::{At, KnownProfile, LoadPlan, MeasurePlan};
use crate::error::MeasureError;

/// Checks whether start and profile fit the targets.
///
/// # Errors
/// [`MeasureError`], naming the target and what to do.
pub(crate) fn check(plan: &MeasurePlan, session: &Session) -> Result<(), MeasureError> {
    for target in &session.targets {
        let name = &target.target.name;
        if plan.load.at.is_some() && target.target.kind == TargetKind::Null {
            let why = format!("it has no positions to begin at: leave out {}", AT.the());
            return Err(Error::target(name, why).into());
        }
        if let Some(At::Byte(byte)) = plan.load.at
            && byte >= target.size_bytes
        {
            let why = why_beyond(byte, target, &plan.load);
            return Err(Error::target(name, why).into());
        }
        if let Some(profile) = &plan.profile {
            of_target(profile, target, session.direction).map_err(|why| {
                let make = profile_command(plan, session.direction);
                MeasureError::Usage(format!("{why}: make one with `{make}`"))
            })?;
        }
    }
    Ok(())
}

/// Why a run cannot begin at this byte of a target. It may use less than all of it.
fn why_beyond(byte: u64, target: &OpenTarget, plan: &LoadPlan) -> String {
    let (at, end) = (AT.of(Size(byte)), DisplayPosition(target.size_bytes));
    let is_scratch = target.target.kind == TargetKind::ScratchFile;
    let capacity_bytes = target.target.capacity_bytes.unwrap_or(0);
    if byte >= capacity_bytes && !is_scratch {
        return format!("{at} is beyond its end at {end}");
    }
    let by = match (plan.size_bytes, plan.bytes) {
        (Some(_), _) => format!("by {}", SIZE.the()),
        (None, Some(_)) => format!("by {}", BYTES.the()),
        (None, None) => format!("without {}", SIZE.the()),
    };
    format!(
        "{at} is beyond the end of what this run uses of it, {end} {by}: begin before that, or \
         give a {SIZE} that reaches beyond it"
    )
}

/// The command that makes a profile of the plan's targets, as they were typed.
fn profile_command(plan: &MeasurePlan, direction: Direction) -> String {
    let mut words = vec!["sustain".to_owned(), "profile".to_owned()];
    words.extend(
        plan.load
            .targets
            .iter()
            .map(|target| shell_argument(target)),
    );
    let direction = match direction {
        Direction::Read => READ,
        Direction::Write => WRITE,
    };
    words.push(direction.flag().to_owned());
    for name in &plan.load.destroy {
        words.extend([DESTROY.flag().to_owned(), shell_argument(name)]);
    }
    if let Some(size_bytes) = plan.load.size_bytes {
        words.extend([SIZE.flag().to_owned(), size_bytes.to_string()]);
    }
    words.extend([JSON.flag().to_owned(), "new-profile.json".to_owned()]);
    words.join(" ")
}

/// The part of a profile that is about this target, or the reason why it is about another.
fn of_target<'a>(
    profile: &'a KnownProfile,
    target: &OpenTarget,
    direction: Direction,
) -> Result<&'a ProfileTarget, String> {
    let (file, name) = (&profile.name, &target.target.name);
    let targets = &profile.result.targets;
    let found = targets
        .iter()
        .find(|one| one.name == *name && one.direction == direction);
    let Some(found) = found else {
        let has: Vec<String> = targets
            .iter()
            // The file may be anybody's, so control characters are removed.
            .map(|one| format!("{} ({})", one.name.escape_debug(), one.direction))
            .collect();
        return Err(format!(
            "{file} has no profile of {name} ({direction}), only of {}",
            has.join(", ")
        ));
    };
    if found.zones.is_empty() {
        return Err(format!("{file} has no measurements of {name}"));
    }
    let is_whole = profile.result.plan.size_bytes.is_none();
    let capacity = target.target.capacity_bytes.filter(|_| is_whole);
    let record = profile.result.plan.record_size_bytes;
    let other = capacity.is_some_and(|capacity| capacity.abs_diff(found.size_bytes) >= record);
    if other || target.size_bytes > found.size_bytes + record {
        return Err(format!(
            "{file} covers {} of {name}, and {} are used now: it is a profile of another device, \
             or too short",
            DisplayPosition(found.size_bytes),
            DisplayPosition(capacity.unwrap_or(target.size_bytes))
        ));
    }
    Ok(found)
}

/// What the profile shows about the positions of each target; empty without a profile.
pub(crate) fn places(plan: &MeasurePlan, session: &Session) -> Vec<PlaceRates> {
    let Some(profile) = &plan.profile else {
        return Vec::new();
    };
    let targets = session.targets.iter();
    let known = targets.filter_map(|target| {
        let found = of_target(profile, target, session.direction).ok()?;
        let start = target.start_bytes(&plan.load);
        let places = PlaceRates::new(&stretches(found), start, target.size_bytes);
        Some(places.blurred(&around_spots(found)))
    });
    known.collect()
}

/// Each bad spot, extended to the nearest samples that do not show it.
fn around_spots(known: &ProfileTarget) -> Vec<(u64, u64)> {
    let mut around: Vec<(u64, u64)> = Vec::new();
    for spot in known.bad_spots() {
        let points = || known.points.iter();
        let ends = points().map(|point| point.offset_bytes + point.bytes);
        let from = ends.filter(|end| *end <= spot.from_byte).max();
        let starts = points().map(|point| point.offset_bytes);
        let to = starts.filter(|start| *start >= spot.to_byte).min();
        let (from, to) = (from.unwrap_or(0), to.unwrap_or(known.size_bytes));
        match around.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = to,
            None => around.push((from, to)),
        }
    }
    around
}

/// The target's zones with its bad spots cut out, as (byte after the last, rate).
fn stretches(known: &ProfileTarget) -> Vec<(u64, f64)> {
    let spots: Vec<&ProfileOutlier> = known.bad_spots().collect();
    let zone_edges = known.zones.iter().map(|zone| zone.to_byte);
    let spot_edges = spots.iter().flat_map(|spot| [spot.from_byte, spot.to_byte]);
    let mut edges: Vec<u64> = zone_edges.chain(spot_edges).collect();
    edges.sort_unstable();
    edges.dedup();
    let mut from = 0;
    let mut stretches = Vec::new();
    for to in edges {
        let middle = u64::midpoint(from, to);
        let spot = spots
            .iter()
            .find(|spot| (spot.from_byte..spot.to_byte).contains(&middle))
            .and_then(|spot| spot.mean_rate_bytes_per_s.or(spot.rate_bytes_per_s));
        let zone = known.zones.iter().find(|zone| middle < zone.to_byte);
        let zone = zone.or(known.zones.last());
        let rate = spot.or(zone.map(|zone| zone.rate_bytes_per_s));
        if let Some(rate) = rate.filter(|rate| *rate > 0.0 && from < to) {
            stretches.push((to, rate));
        }
        from = to;
    }
    stretches
}

/// The sum of all targets in these times, with the position effect removed; `None` without a
/// profile.
pub(crate) fn even_total(
    plan: &MeasurePlan,
    session: &Session,
    outcome: &PhaseOutcome,
    times: &[Step],
) -> Option<Vec<Step>> {
    let places = places(plan, session);
    let series = outcome.collected.targets.iter();
    let targets: Vec<_> = series
        .zip(&places)
        .map(|(series, places)| (steps(&series.steps), places))
        .collect();
    (!targets.is_empty()).then(|| even_steps(&targets, times))
}
