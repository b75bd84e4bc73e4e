//! Prepares a sweep: opens the targets, finds the settings that are possible on them, and says what
//! is going to be done. The run calls it; nothing is written here.

use std::fmt::Write as _;

use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction, Passthrough, TargetKind};
use sustain_disk::units::{Duration, Size};
use sustain_document::setting::CHUNK;
use sustain_host::{Roots, describe_host};
use sustain_load::error::LoadError;
use sustain_load::open_target::OpenTarget;
use sustain_load::plan::LoadPlan;
use sustain_load::rehearsal::verb;
use sustain_load::session::Session;

use super::array::check_members;
use super::axes::{Grid, LeftOut, SettingConstraints, SweepAxes};
use super::mdadm;
use super::plan::SweepPlan;
use super::schedule::Schedule;
use super::setting::Setting;
use crate::error::MeasureError;
use crate::ways::{Way, make_alike, named_at};

/// A flush that takes less than this part of a point is not mentioned.
const FLUSH_REPORTED_SHARE: f64 = 0.02;

/// Says what `sweep` would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`super::sweep`], as far as errors show before the work begins.
pub fn rehearse_sweep(plan: &SweepPlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    plan.check()?;
    let (session, grid) = open(plan, roots, Session::rehearse)?;
    let is_used = |direction| {
        let mut points = grid.points.iter();
        points.any(|point| point.setting.direction == direction)
    };
    let mut statements = session.would(verb(is_used), |target| {
        format!(
            "up to {} from its start, over and over",
            Size(target.size_bytes)
        )
    });
    if plan.builds_arrays() && grid.points.iter().any(|point| point.setting.is_array) {
        statements.push(
            "would build an array (md RAID 0) of these for each run with layout md-raid0, then \
             stop it and remove its superblocks"
                .to_owned(),
        );
    }
    let schedule = Schedule::new(
        &grid,
        plan.rounds,
        runs_max(plan.time_per_point_ns, plan.budget_ns),
        plan.load.seed,
    );
    let announced = announcement(plan, &grid, &schedule, plan.time_per_point_ns);
    statements.push(format!("would measure {announced}"));
    if is_used(Direction::Write) {
        statements.push("would flush after each run that writes, on top of that time".to_owned());
    }
    statements.extend(grid.left_out.iter().map(left_out_words));
    Ok(statements)
}

/// Opens the targets and finds the settings that are possible on them.
pub(super) fn open(
    plan: &SweepPlan,
    roots: &Roots,
    open: impl FnOnce(&LoadPlan, &Roots) -> Result<Session, LoadError>,
) -> Result<(Session, Grid), MeasureError> {
    if plan.builds_arrays() {
        check_members(plan)?;
        mdadm::check(&plan.mdadm, roots)?;
    }
    let mut session = open(&plan.opened_as(), roots)?;
    let axes = plan.axes(&names(&session), session.direction)?;
    if axes.directions.contains(&Direction::Read) {
        session.prewrite_what_is_read();
    }
    let grid = if plan.are_places {
        grid_of_places(plan, &axes, &mut session, roots)?
    } else {
        let all: Vec<usize> = (0..session.targets.len()).collect();
        axes.grid(&facts(&mut session, &all, &plan.paths, roots))
    };
    if session.targets.len() > 1 && !plan.are_places {
        check_chunks(&axes, &grid)?;
    }
    if grid.points.is_empty() {
        let whys: Vec<String> = grid.left_out.iter().map(left_out_words).collect();
        return Err(MeasureError::Usage(format!(
            "none of these settings can be measured: {}",
            whys.join("; ")
        )));
    }
    Ok((session, grid))
}

/// The targets of each place, by number.
pub(super) fn places(plan: &SweepPlan, session: &Session) -> Vec<Way> {
    let names = plan.load.targets.iter().enumerate();
    let ways = names.map(|(place, name)| Way {
        name: name.clone(),
        targets: named_at(place, session),
    });
    ways.collect()
}

/// The settings of all places, which are alike in all else.
fn grid_of_places(
    plan: &SweepPlan,
    axes: &SweepAxes,
    session: &mut Session,
    roots: &Roots,
) -> Result<Grid, MeasureError> {
    let places = places(plan, session);
    make_alike(&places, session, roots)?;
    let mut grid = Grid::default();
    for place in places {
        let facts = facts(session, &place.targets, &plan.paths, roots);
        let axes = SweepAxes {
            orders: vec![place.targets],
            ..axes.clone()
        };
        grid.add_place(axes.grid(&facts));
    }
    Ok(grid)
}

/// The facts that decide which settings are possible on these targets, by number, which are opened
/// for these I/O paths.
pub(crate) fn facts(
    session: &mut Session,
    targets: &[usize],
    paths: &[DataPath],
    roots: &Roots,
) -> SettingConstraints {
    let passthrough = if paths.contains(&DataPath::Passthrough) {
        session.pass_through(targets, roots)
    } else {
        Err("it was not asked for".to_owned())
    };
    let targets = targets.iter().map(|index| &session.targets[*index]);
    let sizes = targets.clone().map(|target| target.size_bytes);
    let alignments = targets.clone().map(alignment_bytes);
    SettingConstraints {
        alignment_bytes: alignments.max().unwrap_or(1),
        least_size_bytes: sizes.min().unwrap_or(0),
        // If the machine does not report its memory, the kernel will refuse what is too much.
        memory_bytes: describe_host(roots).map_or(u64::MAX, |found| found.memory_bytes / 2),
        is_simulated: session.clock.is_virtual(),
        has_null: targets
            .clone()
            .any(|target| target.target.kind == TargetKind::Null),
        passthrough,
    }
}

fn alignment_bytes(target: &OpenTarget) -> u64 {
    let passthrough = target.passthrough.as_ref();
    let blocks = passthrough.map_or(1, Passthrough::block_bytes);
    blocks.max(u64::from(target.target.alignment_bytes))
}

/// Refuses a chunk that fits no record, because it is a mistake.
fn check_chunks(axes: &SweepAxes, grid: &Grid) -> Result<(), MeasureError> {
    let is_of =
        |setting: &Setting, chunk: u64| setting.layout == Layout::Stripe { chunk_bytes: chunk };
    for &chunk in &axes.chunks_bytes {
        let mut points = grid.points.iter();
        if points.any(|point| is_of(&point.setting, chunk)) {
            continue;
        }
        let mut left_out = grid.left_out.iter();
        if let Some(reason) = left_out.find(|one| is_of(&one.first, chunk)) {
            return Err(MeasureError::Usage(format!(
                "{} cannot be measured: {}",
                CHUNK.of(Size(chunk)),
                reason.why
            )));
        }
    }
    Ok(())
}

pub(super) fn names(session: &Session) -> Vec<String> {
    let targets = session.targets.iter();
    targets.map(|target| target.target.name.clone()).collect()
}

pub(super) fn left_out_words(left_out: &LeftOut) -> String {
    let settings = if left_out.count == 1 {
        "setting is"
    } else {
        "settings are"
    };
    format!("{} {settings} left out: {}", left_out.count, left_out.why)
}

/// The same before a run, with where to find which settings they are.
pub(super) fn left_out_note(left_out: &LeftOut) -> String {
    let which = if left_out.count == 1 {
        "it"
    } else {
        "one of them as an example"
    };
    format!(
        "{}. The result names {which} below its tables",
        left_out_words(left_out)
    )
}

/// The number of measurements that fit into a time, if each takes so long all in all.
pub(super) fn runs_max(run_ns: u64, time_ns: Option<u64>) -> Option<usize> {
    time_ns.map(|time_ns| (time_ns / run_ns) as usize)
}

/// What is going to be measured, and how long that takes if a run takes `run_ns` all in all.
pub(super) fn announcement(
    plan: &SweepPlan,
    grid: &Grid,
    schedule: &Schedule<'_>,
    run_ns: u64,
) -> String {
    let count = grid.points.len();
    let settings = if count == 1 {
        "1 setting".to_owned()
    } else {
        format!("{count} settings")
    };
    let mut each = Duration(plan.time_per_point_ns).to_string();
    let flush_ns = run_ns.saturating_sub(plan.time_per_point_ns);
    let is_reported = flush_ns as f64 > plan.time_per_point_ns as f64 * FLUSH_REPORTED_SHARE;
    if is_reported {
        let flush_s = flush_ns as f64 / 1e9;
        let _ = write!(each, " and about {flush_s:.1} s for the flush after it");
    }
    let run_ns = if is_reported {
        run_ns
    } else {
        plan.time_per_point_ns
    };
    let time = |runs: usize| Duration(runs as u64 * run_ns);
    match (schedule.runs(), schedule.coarse_points(), plan.budget_ns) {
        (Some(runs), ..) => format!(
            "{settings}, {}{}: {runs} run{} of {each}, {}",
            match plan.rounds {
                1 => "once".to_owned(),
                rounds => format!("{rounds} times"),
            },
            if count == 1 { "" } else { " each" },
            if runs == 1 { "" } else { "s" },
            time(runs)
        ),
        (None, Some(coarse), Some(budget_ns)) => format!(
            "{settings}, which would take {}: within {}, {coarse} of them are measured first, then \
             those near the best",
            time(count * plan.rounds as usize),
            Duration(budget_ns)
        ),
        _ => settings,
    }
}
