//! Settings that have targets of their own: two ways to one disk. Says which targets are whose.

use sustain_document::compare::ComparedTarget;
use sustain_host::Roots;
use sustain_load::session::Session;

use super::LETTERS;
use super::plan::TrialPlan;
use crate::error::MeasureError;
use crate::ways::{self, Way};

/// The targets of a side by number, in the order in which it names them; all of them if the sides
/// have none of their own.
pub(super) fn targets_of(plan: &TrialPlan, side: usize, session: &Session) -> Vec<usize> {
    if !plan.has_own_targets() {
        return (0..session.targets.len()).collect();
    }
    let places = plan.settings[side].targets.iter().filter_map(|name| {
        let mut named = plan.load.targets.iter();
        named.position(|typed| typed == name)
    });
    places
        .flat_map(|place| ways::named_at(place, session))
        .collect()
}

/// Makes both sides alike in all but the way, if they have targets of their own.
pub(super) fn make_alike(
    plan: &TrialPlan,
    session: &mut Session,
    roots: &Roots,
) -> Result<(), MeasureError> {
    if !plan.has_own_targets() {
        return Ok(());
    }
    let sides = [0, 1].map(|side| Way {
        name: LETTERS[side].to_owned(),
        targets: targets_of(plan, side, session),
    });
    ways::make_alike(&sides, session, roots)
}

/// The targets of both sides for the result, with their places if these may differ.
pub(super) fn compared_targets(
    plan: &TrialPlan,
    session: &Session,
    roots: &Roots,
) -> [Vec<ComparedTarget>; 2] {
    [0, 1].map(|side| {
        let targets = targets_of(plan, side, session).into_iter();
        let compared = targets.map(|target| {
            let compared = ways::compared_target(session, target, roots);
            let place = compared.place.filter(|_| plan.has_own_targets());
            ComparedTarget { place, ..compared }
        });
        compared.collect()
    })
}

/// What differs between the sides besides the way, or what of that is not known.
pub(super) fn notes(plan: &TrialPlan, sides: &[Vec<ComparedTarget>; 2]) -> Vec<String> {
    if plan.has_own_targets() {
        ways::notes("A and B", sides)
    } else {
        Vec::new()
    }
}
