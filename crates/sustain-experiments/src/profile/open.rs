//! Prepares a profile: opens the targets, decides which curves are sampled, and says what is going
//! to be done. The run calls it; nothing is written here.

use sustain_disk::target::Direction;
use sustain_disk::units::{Duration, Size};
use sustain_document::setting::{DEPTH, RECORD_SIZE};
use sustain_host::Roots;
use sustain_load::error::LoadError;
use sustain_load::plan::LoadPlan;
use sustain_load::rehearsal::verb;
use sustain_load::session::Session;

use super::plan::ProfilePlan;
use super::sample::SampledCurve;
use crate::error::MeasureError;

/// A target is large enough for a curve if this many samples fit beside each other.
pub(super) const POSITIONS_MIN: u64 = 8;

/// Says what `profile` would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`super::profile`], as far as errors show before the work begins.
pub fn rehearse_profile(plan: &ProfilePlan, roots: &Roots) -> Result<Vec<String>, MeasureError> {
    plan.check()?;
    let session = open(plan, roots, Session::rehearse)?;
    let curves = curves(plan, &session);
    let sample_ns = plan.sample_ns(curves.len())?;
    let is_used = |direction| curves.iter().any(|curve| curve.direction == direction);
    let mut statements = session.would(verb(is_used), |target| {
        format!(
            "samples of about {} at positions across its first {}",
            Duration(sample_ns),
            Size(target.size_bytes)
        )
    });
    let time = Duration(plan.budget_ns);
    statements.push(if session.targets.len() > 1 {
        format!("would measure each target alone and all at once, in at most {time}")
    } else {
        format!("would take at most {time}")
    });
    Ok(statements)
}

/// Opens the targets and checks that they are large enough.
pub(super) fn open(
    plan: &ProfilePlan,
    roots: &Roots,
    open: impl FnOnce(&LoadPlan, &Roots) -> Result<Session, LoadError>,
) -> Result<Session, MeasureError> {
    let mut session = open(&plan.opened_as(), roots)?;
    let reads = plan.directions.contains(&Direction::Read) || session.direction == Direction::Read;
    if reads {
        session.prewrite_what_is_read();
    }
    for target in &session.targets {
        let least = plan.sample_bytes_min();
        if target.size_bytes / POSITIONS_MIN < least {
            return Err(MeasureError::Usage(format!(
                "{} has {}, and a profile needs at least {POSITIONS_MIN} samples of {}: use a \
                 smaller {RECORD_SIZE} or {DEPTH}",
                target.target.name,
                Size(target.size_bytes),
                Size(least)
            )));
        }
    }
    Ok(session)
}

/// The curves: each target alone, then all at once; once per direction.
pub(super) fn curves(plan: &ProfilePlan, session: &Session) -> Vec<SampledCurve> {
    let directions = if plan.directions.is_empty() {
        vec![session.direction]
    } else {
        plan.directions.clone()
    };
    let all: Vec<usize> = (0..session.targets.len()).collect();
    let mut curves = Vec::new();
    for direction in directions {
        let curve = |members: Vec<usize>| SampledCurve {
            direction,
            sample_bytes: vec![plan.sample_bytes_min(); members.len()],
            members,
            record_bytes: plan.load.record_bytes,
            time_ns: 0,
            expected_ns: 0,
        };
        curves.extend(all.iter().map(|target| curve(vec![*target])));
        if all.len() > 1 {
            curves.push(curve(all.clone()));
        }
    }
    curves
}
