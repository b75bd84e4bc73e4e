//! Makes the comparison document from two saved runs. Pure; the command calls it.

use sustain_document::compare::RowVerdict;
use sustain_document::compare::{
    COMPARE_SCHEMA, CompareAnswer, ComparePlanUsed, CompareResult, ComparedRow, ComparedSide,
    ComparedTarget,
};
use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::vocabulary::Ending;
use sustain_document::vocabulary::{DataPath, Direction};
use sustain_statistics::ratio::effect::OUTSIDE;

use super::comparison_words;
use super::limit::{self, LimitedFigures};
use super::rows::{ComparedQuantity, RunFigures, cpu, latencies, rates};
use super::work::{remarks, same_work};
use crate::error::MeasureError;

/// What `compare` is asked of two saved runs.
#[derive(Debug, Clone, Default)]
pub struct ComparePlan {
    /// What A and B are called: their files as typed.
    pub labels: [String; 2],
    /// The part by which B may be slower.
    pub fail_if_slower: Option<f64>,
    /// The arguments as typed.
    pub arguments: Vec<String>,
}

/// Whether B differs from A, and by how much.
///
/// # Errors
/// [`MeasureError::Usage`] if the two did not do the same work, naming every difference.
pub fn compare(
    a: &MeasureResult,
    b: &MeasureResult,
    plan: &ComparePlan,
) -> Result<CompareResult, MeasureError> {
    let pairing = same_work(a, b)?;
    let mut groups = Vec::new();
    if pairing.pairs.len() > 1 {
        groups.push(ComparedGroup {
            target: None,
            quantities: rates(&together(a), &together(b)),
        });
    }
    for [one, other] in &pairing.pairs {
        let (one, other) = (&a.targets[*one], &b.targets[*other]);
        let (of_a, of_b) = (seen(a, one), seen(b, other));
        let mut quantities = rates(&of_a, &of_b);
        quantities.extend(latencies(&of_a, &of_b));
        groups.push(ComparedGroup {
            target: Some(one.name.clone()),
            quantities,
        });
    }
    groups[0]
        .quantities
        .extend(cpu(a.total.cpu_seconds_per_gb, b.total.cpu_seconds_per_gb));
    let pairs = pairing.pairs.iter();
    let failures = pairs
        .filter_map(|[one, other]| failure_of(&a.targets[*one], &b.targets[*other]))
        .collect();
    let mut notes: Vec<String> = pairing.note.into_iter().collect();
    notes.extend(remarks(a, b, &pairing.pairs));
    notes.push(comparison_words::within_each_run());
    let rows = rows(&groups);
    Ok(CompareResult {
        schema: COMPARE_SCHEMA.to_owned(),
        plan: ComparePlanUsed {
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: plan.arguments.clone(),
            fail_if_slower: plan.fail_if_slower,
        },
        a: side(a, &plan.labels[0]),
        b: side(b, &plan.labels[1]),
        answer: answer(&groups, &rows),
        rows,
        limit: plan
            .fail_if_slower
            .map(|most| limit::judge(most, &watched(&groups), failures)),
        trial: None,
        notes,
    })
}

/// Says how B's target failed where A's did not.
fn failure_of(a: &TargetResult, b: &TargetResult) -> Option<String> {
    let failed = |target: &TargetResult| target.ended == Ending::Error || !target.errors.is_empty();
    if failed(a) || !failed(b) {
        return None;
    }
    let first = b.errors.first();
    let why = first.map_or(comparison_words::ENDED_WITH_AN_ERROR, |error| {
        error.message.as_str()
    });
    Some(comparison_words::failed_in_b(&b.name, why))
}

/// The quantities compared for a target, or for all together; the rate that answers comes first.
struct ComparedGroup {
    target: Option<String>,
    quantities: Vec<ComparedQuantity>,
}

impl ComparedGroup {
    fn name(&self) -> &str {
        self.target.as_deref().unwrap_or("together")
    }
}

fn is_through_memory(result: &MeasureResult) -> bool {
    result.plan.path == DataPath::Buffered && result.plan.direction == Direction::Write
}

fn together(result: &MeasureResult) -> RunFigures<'_> {
    let total = &result.total;
    let rate = total.all_active_bytes_per_s;
    RunFigures {
        sustained: &total.sustained,
        intervals: &total.intervals,
        rate_bytes_per_s: rate.unwrap_or(total.wall_clock_bytes_per_s),
        is_through_memory: is_through_memory(result),
        latency: None,
    }
}

fn seen<'a>(result: &MeasureResult, target: &'a TargetResult) -> RunFigures<'a> {
    RunFigures {
        sustained: &target.sustained,
        intervals: &target.intervals,
        rate_bytes_per_s: target.rate_bytes_per_s,
        is_through_memory: is_through_memory(result),
        latency: Some(&target.latency_ns),
    }
}

/// With several targets, some would differ by chance, so their verdicts need stronger evidence.
fn outside_of(groups: &[ComparedGroup], group: &ComparedGroup) -> f64 {
    let targets = groups.iter().filter(|group| group.target.is_some()).count();
    match group.target {
        None => OUTSIDE,
        Some(_) => OUTSIDE / targets.max(1) as f64,
    }
}

fn rows(groups: &[ComparedGroup]) -> Vec<ComparedRow> {
    let of_group = |group: &ComparedGroup| -> Vec<ComparedRow> {
        let outside = outside_of(groups, group);
        let quantities = group.quantities.iter();
        quantities
            .map(|quantity| quantity.row(group.target.as_deref(), outside))
            .collect()
    };
    groups.iter().flat_map(of_group).collect()
}

/// The answer rests on the first row; for targets, on the first row of each.
fn answer(groups: &[ComparedGroup], rows: &[ComparedRow]) -> CompareAnswer {
    let with = |verdict: RowVerdict| -> Vec<String> {
        let leading = groups.iter().filter_map(|group| {
            let target = group.target.as_deref()?;
            let quantity = group.quantities.first()?;
            Some(quantity.row(Some(target), outside_of(groups, group)))
        });
        leading
            .filter(|row| row.verdict == verdict)
            .filter_map(|row| row.target)
            .collect()
    };
    CompareAnswer {
        row: 0,
        verdict: rows[0].verdict,
        slower_targets: with(RowVerdict::Slower),
        faster_targets: with(RowVerdict::Faster),
    }
}

fn watched(groups: &[ComparedGroup]) -> Vec<LimitedFigures<'_>> {
    let leading = groups
        .iter()
        .filter_map(|group| Some((group, group.quantities.first()?)));
    let outside = OUTSIDE / groups.len() as f64;
    leading
        .map(|(group, quantity)| LimitedFigures {
            name: group.name(),
            interval: quantity.effect.map(|effect| effect.interval(outside)),
            how: &quantity.how,
        })
        .collect()
}

fn side(result: &MeasureResult, label: &str) -> ComparedSide {
    let plan = &result.plan;
    let names = result.targets.iter().map(|target| target.name.as_str());
    let names: Vec<&str> = names.collect();
    ComparedSide {
        label: label.to_owned(),
        words: format!("{} {}", plan.direction, names.join(", ")),
        started: plan.started.clone(),
        sustain_version: plan.sustain_version.clone(),
        kernel: result
            .host
            .description
            .as_ref()
            .map(|host| host.kernel.clone()),
        engine: plan.engine_used.clone(),
        seconds: result.total.seconds,
        targets: result.targets.iter().map(compared_target).collect(),
    }
}

fn compared_target(target: &TargetResult) -> ComparedTarget {
    ComparedTarget {
        name: target.name.clone(),
        kind: target.kind,
        place: None,
    }
}

#[cfg(test)]
mod tests;
