//! The matrix: the rates of combinations of targets in one direction or both. Each direction is a
//! diagnosis that also measures the combinations asked for; here the rates are put side by side.

use sustain_disk::target::Direction;
use sustain_document::diagnose::{DiagnoseResult, Measurement, SearchEnd};
use sustain_document::matrix::{Combination, CombinationRate, MATRIX_SCHEMA, MatrixResult};
use sustain_host::Roots;
use sustain_load::plan::LoadPlan;
use sustain_targets::Stop;

use super::event::{DiagnoseEvent, DiagnoseObserver};
use super::plan::DiagnosePlan;
use super::run::{diagnose_with, rehearse_diagnosis};
use crate::error::MeasureError;

/// Says what [`diagnose_matrix`] would do, write and destroy, and does nothing.
///
/// # Errors
/// As for [`diagnose_matrix`], as far as errors show before the work begins.
pub fn rehearse_matrix(
    plan: &DiagnosePlan,
    directions: &[Direction],
    roots: &Roots,
) -> Result<Vec<String>, MeasureError> {
    let mut statements = Vec::new();
    for plan in plans(plan, directions) {
        statements.extend(rehearse_diagnosis(&plan, roots)?);
    }
    Ok(statements)
}

/// Diagnoses the targets in each of these directions, and measures the combinations that the plan
/// asks for. Without a direction, it is the one that a diagnosis would have.
///
/// # Errors
/// As of [`super::diagnose`]. An error in the second direction loses the first one's result.
pub fn diagnose_matrix(
    plan: &DiagnosePlan,
    directions: &[Direction],
    roots: &Roots,
    stop: &Stop,
    observer: &mut DiagnoseObserver<'_>,
) -> Result<MatrixResult, MeasureError> {
    let plans = plans(plan, directions);
    if plans.len() > 1 {
        // What the second one would be refused for is told before the first one takes its time.
        rehearse_matrix(plan, directions, roots)?;
    }
    let mut sets = Vec::new();
    let mut diagnoses: Vec<DiagnoseResult> = Vec::new();
    for plan in &plans {
        if let (true, Some(direction)) = (plans.len() > 1, plan.load.direction) {
            observer(DiagnoseEvent::Note(begins(direction)));
        }
        let diagnosed = diagnose_with(plan, roots, stop, observer)?;
        sets = diagnosed.combinations;
        let is_ended = diagnosed.result.ended == SearchEnd::Interrupted;
        diagnoses.push(diagnosed.result);
        if is_ended {
            break;
        }
    }
    Ok(matrix(sets, directions, diagnoses))
}

/// A diagnosis for each direction.
fn plans(plan: &DiagnosePlan, directions: &[Direction]) -> Vec<DiagnosePlan> {
    if directions.is_empty() {
        return vec![plan.clone()];
    }
    let plan_of = |direction: &Direction| DiagnosePlan {
        load: LoadPlan {
            direction: Some(*direction),
            ..plan.load.clone()
        },
        ..plan.clone()
    };
    directions.iter().map(plan_of).collect()
}

fn begins(direction: Direction) -> String {
    match direction {
        Direction::Read => "reading:".to_owned(),
        _ => "writing:".to_owned(),
    }
}

fn matrix(
    sets: Vec<Vec<String>>,
    directions: &[Direction],
    diagnoses: Vec<DiagnoseResult>,
) -> MatrixResult {
    let rate = |members: &[String], direction: Direction| {
        let mut diagnoses = diagnoses.iter();
        let diagnosis = diagnoses.find(|one| one.plan.direction == direction)?;
        mean_rate(members, &diagnosis.measurements)
    };
    let combination = |members: Vec<String>| Combination {
        read: rate(&members, Direction::Read),
        write: rate(&members, Direction::Write),
        members,
    };
    let measured: Vec<Direction> = diagnoses.iter().map(|one| one.plan.direction).collect();
    let ends = || diagnoses.iter().map(|one| one.ended);
    let is_interrupted = ends().any(|ended| ended == SearchEnd::Interrupted);
    let is_noisy = ends().any(|ended| ended == SearchEnd::TooNoisy);
    MatrixResult {
        schema: MATRIX_SCHEMA.to_owned(),
        sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
        targets: diagnoses.first().map_or_else(Vec::new, |one| {
            let alone = one.alone.iter();
            alone.map(|alone| alone.target.clone()).collect()
        }),
        directions: match directions.is_empty() {
            true => measured,
            false => directions.to_vec(),
        },
        combinations: sets.into_iter().map(combination).collect(),
        ended: match (is_interrupted, is_noisy) {
            (true, _) => SearchEnd::Interrupted,
            (false, true) => SearchEnd::TooNoisy,
            (false, false) => SearchEnd::Done,
        },
        diagnoses,
    }
}

/// The mean of all readings of just these targets; none if there is no such reading.
fn mean_rate(members: &[String], measurements: &[Measurement]) -> Option<CombinationRate> {
    let of_these = |one: &&Measurement| {
        let is_same = one.members.len() == members.len()
            && one.members.iter().all(|member| members.contains(member));
        is_same && one.dummy_bytes_per_s.is_none()
    };
    let readings: Vec<&Measurement> = measurements.iter().filter(of_these).collect();
    let count = readings.len();
    let rate_of = |member: &String| {
        let rates = readings.iter().filter_map(|reading| {
            let position = reading.members.iter().position(|one| one == member)?;
            reading.rates_bytes_per_s.get(position)
        });
        rates.sum::<f64>() / count as f64
    };
    let rates: Vec<f64> = members.iter().map(rate_of).collect();
    (count > 0).then(|| CombinationRate {
        sum_bytes_per_s: rates.iter().sum(),
        rates_bytes_per_s: rates,
        readings: count,
    })
}
