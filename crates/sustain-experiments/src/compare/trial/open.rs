//! Prepares a trial: opens the targets, fits both settings to them, and says what is going to be
//! done. Nothing is written here.

use sustain_disk::layout::Layout;
use sustain_disk::target::Direction;
use sustain_disk::units::{Duration, Size};
use sustain_host::Roots;
use sustain_load::error::LoadError;
use sustain_load::order::order_of;
use sustain_load::plan::LoadPlan;
use sustain_load::rehearsal::verb;
use sustain_load::session::Session;

use super::plan::TrialPlan;
use super::{LETTERS, sides};
use crate::error::MeasureError;
use crate::sweep::axes::{LayoutKind, SweepAxes};
use crate::sweep::open::facts;
use crate::sweep::setting::Setting;

/// Says what a trial would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`super::trial`], as far as errors show before the work begins.
pub fn rehearse_trial(plan: &TrialPlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    plan.check()?;
    let (session, _) = open(plan, roots, Session::rehearse)?;
    let is_used = |direction| session.direction == direction;
    let mut statements = session.would(verb(is_used), |target| {
        format!(
            "up to {} from its start, over and over",
            Size(target.size_bytes)
        )
    });
    statements.push(format!("would measure {}", announcement(plan)));
    Ok(statements)
}

pub(super) fn announcement(plan: &TrialPlan) -> String {
    let [a, b] = &plan.settings;
    format!(
        "A ({}) and B ({}) in turn, in runs of {}, until a difference is seen, or one above \
         {:.1} % is ruled out, for at most {}",
        a.words,
        b.words,
        Duration(plan.time_per_run_ns),
        plan.alike * 100.0,
        Duration(plan.time_ns)
    )
}

/// Opens the targets and finds what the settings become on them.
pub(super) fn open(
    plan: &TrialPlan,
    roots: &Roots,
    open: impl FnOnce(&LoadPlan, &Roots) -> Result<Session, LoadError>,
) -> Result<(Session, [Setting; 2]), MeasureError> {
    let mut session = open(&plan.opened_as(), roots)?;
    if session.direction == Direction::Read {
        session.prewrite_what_is_read();
    }
    sides::make_alike(plan, &mut session, roots)?;
    let found = [
        setting(plan, 0, &mut session, roots)?,
        setting(plan, 1, &mut session, roots)?,
    ];
    Ok((session, found))
}

fn setting(
    plan: &TrialPlan,
    side: usize,
    session: &mut Session,
    roots: &Roots,
) -> Result<Setting, MeasureError> {
    let typed = &plan.settings[side];
    let targets = sides::targets_of(plan, side, session);
    let facts = facts(session, &targets, &[typed.path], roots);
    let (layout, chunk_bytes) = match typed.layout {
        Layout::Independent => (LayoutKind::Independent, 1 << 20),
        Layout::Turns => (LayoutKind::Turns, 1 << 20),
        Layout::Stripe { chunk_bytes } => (LayoutKind::Stripe, chunk_bytes),
        Layout::Span => (LayoutKind::Span, 1 << 20),
    };
    let order = match &typed.order {
        None => targets,
        Some(order) => {
            let name = |target: &usize| session.targets[*target].target.name.clone();
            let names: Vec<String> = targets.iter().map(name).collect();
            let order = order_of(order, &names)
                .map_err(|why| MeasureError::Usage(format!("{}: {why}", LETTERS[side])))?;
            order.into_iter().map(|place| targets[place]).collect()
        }
    };
    let axes = SweepAxes {
        directions: vec![session.direction],
        engines: vec![typed.engine],
        paths: vec![typed.path],
        layouts: vec![layout],
        chunks_bytes: vec![chunk_bytes],
        orders: vec![order],
        record_sizes_bytes: vec![typed.record_bytes],
        depths: vec![typed.depth],
    };
    let grid = axes.grid(&facts);
    let why = grid.left_out.first().map(|left_out| left_out.why.clone());
    match grid.points.into_iter().next() {
        Some(point) => Ok(point.setting),
        None => Err(MeasureError::Usage(format!(
            "{} ({}) cannot be measured: {}",
            LETTERS[side],
            typed.words,
            why.unwrap_or_default()
        ))),
    }
}
