//! Decides whether two runs did the same work, and which of their targets belong together. Pure;
//! `conclude` calls it. Runs of different work are refused, never compared with a warning.

use std::collections::BTreeSet;

use sustain_disk::units::{Rate, Size};
use sustain_document::measure::{MeasureResult, Plan, TargetResult};
use sustain_document::setting::AB;
use sustain_document::vocabulary::Direction;
use sustain_document::vocabulary::Ending;
use sustain_targets::others_bytes_per_s;

use super::comparison_words;
use crate::error::MeasureError;

/// Targets that belong together, A's and B's.
pub(super) struct Pairing {
    /// Numbers in A and in B, in A's order.
    pub(super) pairs: Vec<[usize; 2]>,
    /// Set if names did not show which targets belong together.
    pub(super) note: Option<String>,
}

/// Refuses what is not the same work; says which targets belong together.
pub(super) fn same_work(a: &MeasureResult, b: &MeasureResult) -> Result<Pairing, MeasureError> {
    let mut differences = of_work(&a.plan, &b.plan);
    let of_settings = of_settings(&a.plan, &b.plan);
    // What differs in nothing but settings of a trial can be measured as one.
    let refuse = |differences: &[String]| {
        let instead = match differences.is_empty() {
            true => format!(
                ", or let `sustain compare {}` measure the two settings in turn",
                AB.flag()
            ),
            false => String::new(),
        };
        Err(MeasureError::Usage(format!(
            "A and B did not do the same work, so their rates cannot be compared: {}. Measure both \
             with the same flags{instead}",
            [differences, &of_settings].concat().join("; "),
        )))
    };
    let (count_a, count_b) = (a.targets.len(), b.targets.len());
    if count_a != count_b {
        differences.push(format!(
            "A has {}, B {}",
            targets(count_a),
            targets(count_b)
        ));
        return refuse(&differences);
    }
    let pairing = pairing(&a.targets, &b.targets);
    if !differences.is_empty() || !of_settings.is_empty() {
        return refuse(&differences);
    }
    for (side, result) in [("A", a), ("B", b)] {
        if let Some(target) = result.targets.iter().find(|target| target.bytes == 0) {
            return Err(MeasureError::Usage(format!(
                "{side} transferred no bytes on {}: there is nothing to compare; measure it again",
                target.name
            )));
        }
        if result.targets.is_empty() {
            return Err(MeasureError::Usage(format!("{side} has no targets")));
        }
    }
    Ok(pairing)
}

fn targets(count: usize) -> String {
    match count {
        1 => "one target".to_owned(),
        count => format!("{count} targets"),
    }
}

/// Differences that only two measurements with the same flags can do without.
fn of_work(a: &Plan, b: &Plan) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, is_same: bool, words: &dyn Fn(&Plan) -> String| {
        if !is_same {
            differences.push(format!("{what}: A {}, B {}", words(a), words(b)));
        }
    };
    differ("time", a.simulated == b.simulated, &|plan| {
        if plan.simulated { "simulated" } else { "real" }.to_owned()
    });
    differ("direction", a.direction == b.direction, &|plan| {
        plan.direction.to_string()
    });
    let is_same = a.rate_bytes_per_s == b.rate_bytes_per_s;
    differ("paced rate", is_same, &|plan| {
        or(plan.rate_bytes_per_s.map(Rate), "none, as fast as possible")
    });
    differ("size", a.size_bytes == b.size_bytes, &|plan| {
        or(plan.size_bytes.map(Size), "by default")
    });
    differ("start", a.at == b.at, &|plan| {
        or(plan.at.as_ref(), "at the beginning")
    });
    let is_same = a.profile.is_some() == b.profile.is_some();
    differ("judged by a profile", is_same, &|plan| {
        or(plan.profile.as_ref(), "no")
    });
    differences
}

/// Differences in settings that a trial can compare.
fn of_settings(a: &Plan, b: &Plan) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, is_same: bool, words: &dyn Fn(&Plan) -> String| {
        if !is_same {
            differences.push(format!("{what}: A {}, B {}", words(a), words(b)));
        }
    };
    let is_same = a.record_size_bytes == b.record_size_bytes;
    differ("record size", is_same, &|plan| {
        Size(plan.record_size_bytes).to_string()
    });
    differ("depth", a.depth == b.depth, &|plan| plan.depth.to_string());
    differ("layout", a.layout == b.layout, &|plan| {
        plan.layout.to_string()
    });
    differ("chunk", a.chunk_bytes == b.chunk_bytes, &|plan| {
        or(plan.chunk_bytes.map(Size), "none")
    });
    let is_same = a.data == b.data || a.direction == Direction::Read;
    differ("data", is_same, &|plan| plan.data.to_string());
    differences
}

fn or(found: Option<impl std::fmt::Display>, none: &str) -> String {
    found.map_or_else(|| none.to_owned(), |found| found.to_string())
}

/// Names how two runs reached their targets in other ways: what one way costs more than the other
/// is what such runs are compared for.
fn of_ways(a: &MeasureResult, b: &MeasureResult, pairs: &[[usize; 2]]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut differ = |what: &str, one: &str, other: &str| {
        if one != other {
            let (one, other) = (one.replace('_', " "), other.replace('_', " "));
            notes.push(comparison_words::differs(what, &one, &other));
        }
    };
    let path = |result: &MeasureResult| result.plan.path.to_string();
    differ("the I/O path", &path(a), &path(b));
    if let (Some(one), Some(other)) = (&a.plan.order, &b.plan.order)
        && pairs.iter().any(|[one, other]| one != other)
    {
        differ("the order of the targets", &one.join(","), &other.join(","));
    }
    let blocks = |target: &TargetResult| or(target.extents, "unknown");
    for [one, other] in pairs {
        let (one, other) = (&a.targets[*one], &b.targets[*other]);
        let name = &one.name;
        differ(
            &format!("the kind of {name}"),
            one.kind.name(),
            other.kind.name(),
        );
        differ(
            &format!("the state of the blocks of {name}"),
            &blocks(one),
            &blocks(other),
        );
    }
    notes
}

/// Pairs targets by name; by their order if the names differ.
fn pairing(a: &[TargetResult], b: &[TargetResult]) -> Pairing {
    let of = |name: &str| b.iter().position(|other| other.name == name);
    let by_name: Option<Vec<[usize; 2]>> = a
        .iter()
        .enumerate()
        .map(|(number, target)| Some([number, of(&target.name)?]))
        .collect();
    let is_each_once = |pairs: &Vec<[usize; 2]>| {
        let each: BTreeSet<usize> = pairs.iter().map(|[_, other]| *other).collect();
        each.len() == b.len()
    };
    if let Some(pairs) = by_name.filter(is_each_once) {
        return Pairing { pairs, note: None };
    }
    let names = a.iter().zip(b);
    let names = names.map(|(one, other)| (one.name.as_str(), other.name.as_str()));
    let renamed: Vec<(&str, &str)> = names.filter(|(one, other)| one != other).collect();
    Pairing {
        pairs: (0..a.len()).map(|number| [number, number]).collect(),
        note: Some(comparison_words::in_order(&renamed)),
    }
}

/// Names differences that are allowed and only reported.
pub(super) fn remarks(a: &MeasureResult, b: &MeasureResult, pairs: &[[usize; 2]]) -> Vec<String> {
    let mut notes = of_ways(a, b, pairs);
    let mut differ = |what: &str, one: &str, other: &str| {
        if one != other && !one.is_empty() && !other.is_empty() {
            notes.push(comparison_words::differs(what, one, other));
        }
    };
    let (plan_a, plan_b) = (&a.plan, &b.plan);
    differ("the engine", &plan_a.engine_used, &plan_b.engine_used);
    let threads = |plan: &Plan| plan.threads.to_string();
    differ("the number of threads", &threads(plan_a), &threads(plan_b));
    differ(
        "the version of sustain",
        &plan_a.sustain_version,
        &plan_b.sustain_version,
    );
    let machine = |result: &MeasureResult| result.host.description.clone();
    if let (Some(one), Some(other)) = (machine(a), machine(b)) {
        differ("the kernel", &one.kernel, &other.kernel);
        let cpu = |model: Option<String>| model.unwrap_or_default();
        differ("the processor", &cpu(one.cpu_model), &cpu(other.cpu_model));
    }
    differ("the disk", &models(a), &models(b));
    let file_systems = |result: &MeasureResult| {
        let each = result.host.file_systems.iter();
        sorted(each.map(|one| one.file_system.kind.as_str()))
    };
    differ("the file system", &file_systems(a), &file_systems(b));
    let capacity = |target: &TargetResult| {
        let capacity = target.capacity_bytes.map(|all| Size(all).to_string());
        capacity.unwrap_or_default()
    };
    for [one, other] in pairs {
        let (one, other) = (&a.targets[*one], &b.targets[*other]);
        let what = format!("the capacity of {}", one.name);
        differ(&what, &capacity(one), &capacity(other));
    }
    if a.effect.is_some() != b.effect.is_some() {
        let side = if a.effect.is_some() { "A" } else { "B" };
        notes.push(comparison_words::only_one_watched(side));
    }
    notes.extend(troubles(a, b));
    notes
}

/// Models of the disks under the targets, in whatever order these were given.
fn models(result: &MeasureResult) -> String {
    let models = result.host.devices.iter();
    sorted(models.filter_map(|device| device.model.as_deref()))
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.join(", ")
}

/// Names what makes one of the runs a poor basis for a comparison.
fn troubles(a: &MeasureResult, b: &MeasureResult) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, result) in [("A", a), ("B", b)] {
        if result.total.tool_limited {
            notes.push(comparison_words::no_cpu_time_left(side));
        }
        if let Some(rate) = others_bytes_per_s(&result.system.others) {
            notes.push(comparison_words::shared_disks(side, rate));
        }
        for target in &result.targets {
            if !target.errors.is_empty() {
                notes.push(comparison_words::requests_failed(side, &target.name));
            }
        }
        if result
            .targets
            .iter()
            .any(|target| target.ended == Ending::Interrupted)
        {
            notes.push(comparison_words::interrupted(side));
        }
    }
    if a.plan.rate_bytes_per_s.is_some() {
        notes.push(comparison_words::BOTH_PACED.to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
