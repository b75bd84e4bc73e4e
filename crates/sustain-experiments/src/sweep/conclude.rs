//! Makes the result document from the readings so far. Pure; the run calls it after each point and
//! at the end.

use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, Direction};
use sustain_document::host::Host;
use sustain_document::sweep::{
    AgainstBest, LeftOutSettings, SWEEP_SCHEMA, SweepAnswer, SweepAxis, SweepDrift,
    SweepMeasurement, SweepPlanUsed, SweepPoint, SweepResult, SweepSetting, SweepValue,
};
use sustain_document::system::System;
use sustain_document::vocabulary::ExperimentEnd;
use sustain_statistics::points::{Difference, Judgement, PointReading};
use sustain_targets::others_words;

use super::answer::{Answer, Cost, answers, is_as_good};
use super::array::ArrayCost;
use super::axes::{Grid, LeftOut, direction_of_round};
use super::plan::SweepPlan;
use super::point::{LatencyTail, PointOutcome};
use super::remark::SweepRemark;
use super::remark_words;
use super::setting::{Axis, Setting, layout_kind};
use crate::figures::time_of_day;
use crate::others::others_unseen;

/// A smaller drift is not mentioned.
const DRIFT_SAID: f64 = 0.03;

/// What is known of a point besides its rate.
#[derive(Debug, Clone, Default)]
pub(super) struct PointObservation {
    cpu_seconds_per_gb: Vec<f64>,
    tail: LatencyTail,
    is_tool_limited: bool,
    is_from_memory: bool,
    engine: Option<&'static str>,
    bytes_max: u64,
    /// The longest flush after it, if caches had taken part of what it wrote.
    cache_flush_s: Option<f64>,
    pub(super) failed: Option<String>,
}

impl PointObservation {
    pub(super) fn add(&mut self, setting: &Setting, outcome: &PointOutcome) {
        self.cpu_seconds_per_gb.extend(outcome.cpu_seconds_per_gb);
        self.tail.join(&outcome.tail);
        self.is_tool_limited |= outcome.is_tool_limited;
        let may_be_cached =
            setting.path == DataPath::Buffered && setting.direction == Direction::Read;
        self.is_from_memory |= may_be_cached && outcome.is_wrapped;
        self.engine = Some(outcome.engine);
        self.bytes_max = self.bytes_max.max(outcome.bytes);
        let flushes = [self.cache_flush_s, outcome.cache_flush_s]
            .into_iter()
            .flatten();
        self.cache_flush_s = flushes.reduce(f64::max);
    }

    pub(super) fn cost(&self) -> Cost {
        let all = &self.cpu_seconds_per_gb;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Cost {
            cpu_seconds_per_gb: (!all.is_empty()).then_some(mean),
        }
    }
}

/// Everything that a sweep has measured so far.
pub(super) struct Swept<'a> {
    pub(super) plan: &'a SweepPlan,
    /// What differs between places besides the way to them.
    pub(super) place_notes: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) grid: &'a Grid,
    pub(super) varying: &'a [Axis],
    pub(super) readings: Vec<PointReading>,
    pub(super) measurements: Vec<SweepMeasurement>,
    /// One entry per point.
    pub(super) seen: Vec<PointObservation>,
    /// The settings that were refused during the sweep.
    pub(super) refused: Vec<LeftOut>,
    pub(super) threads: u32,
    pub(super) arrays: ArrayCost,
    pub(super) host: Host,
    pub(super) elapsed_s: f64,
    /// Whether the budget ended before the rounds did.
    pub(super) is_cut_short: bool,
    pub(super) started_unix_s: i64,
    pub(super) is_simulated: bool,
}

impl Swept<'_> {
    pub(super) fn judgement(&self) -> Judgement {
        Judgement::of(&self.grid.kinds(), &self.readings)
    }

    pub(super) fn answers(&self, judgement: &Judgement) -> Vec<Answer> {
        let costs: Vec<Cost> = self.seen.iter().map(PointObservation::cost).collect();
        answers(self.grid, judgement, &costs)
    }

    /// The document for the readings so far.
    pub(super) fn result(&self, is_interrupted: bool, system: System) -> SweepResult {
        let judgement = self.judgement();
        let answers = self.answers(&judgement);
        let drift = self.drift(&judgement, &answers);
        let remarks = self.remarks(&drift, is_interrupted);
        let left_out = self.grid.left_out.iter().chain(&self.refused);
        SweepResult {
            schema: SWEEP_SCHEMA.to_owned(),
            plan: self.plan_used(),
            host: self.host.clone(),
            points: self.points(&judgement, &answers),
            left_out: left_out.map(|one| self.left_out(one)).collect(),
            measurements: self.measurements.clone(),
            notes: others_words(&system.others)
                .into_iter()
                .chain(others_unseen(&self.host))
                .chain(self.place_notes.iter().cloned())
                .chain(remarks.iter().map(remark_words::remark))
                .collect(),
            drift,
            answers: answers.iter().map(|answer| self.answer(answer)).collect(),
            ended: if is_interrupted {
                ExperimentEnd::Interrupted
            } else {
                ExperimentEnd::Done
            },
            system,
        }
    }

    fn plan_used(&self) -> SweepPlanUsed {
        let plan = self.plan;
        SweepPlanUsed {
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: plan.arguments.clone(),
            started: (!self.is_simulated).then(|| time_of_day(self.started_unix_s)),
            targets: plan.load.targets.clone(),
            target_names: self.names.clone(),
            axes: self.varying.to_vec(),
            time_per_point_s: plan.time_per_point_ns as f64 / 1e9,
            rounds: plan.rounds,
            budget_s: plan.budget_ns.map(|budget_ns| budget_ns as f64 / 1e9),
            elapsed_s: self.elapsed_s,
            threads: self.threads,
            size_bytes: plan.load.size_bytes,
            seed: plan.load.seed,
            simulated: self.is_simulated,
        }
    }

    fn setting(&self, setting: &Setting) -> SweepSetting {
        SweepSetting {
            direction: setting.direction,
            engine: setting.engine,
            path: setting.path,
            layout: layout_kind(setting),
            chunk_bytes: match setting.layout {
                Layout::Stripe { chunk_bytes } => Some(chunk_bytes),
                Layout::Independent | Layout::Turns | Layout::Span => None,
            },
            order: setting.order_names(&self.names),
            record_size_bytes: setting.record_bytes,
            depth: setting.depth,
            words: self.words(setting),
        }
    }

    /// Names what differs between the points; for a single point, its usual properties.
    pub(super) fn words(&self, setting: &Setting) -> String {
        if self.varying.is_empty() {
            return setting.words(&[Axis::RecordSize, Axis::Depth], &self.names);
        }
        setting.words(self.varying, &self.names)
    }

    fn left_out(&self, left_out: &LeftOut) -> LeftOutSettings {
        LeftOutSettings {
            why: left_out.why.clone(),
            count: left_out.count,
            first: self.setting(&left_out.first),
            longer: left_out.longer.clone(),
        }
    }

    fn points(&self, judgement: &Judgement, answers: &[Answer]) -> Vec<SweepPoint> {
        let known = |direction: Direction| {
            let points = self.grid.points.iter().enumerate();
            points
                .filter(|(number, point)| {
                    point.setting.direction == direction && judgement.estimate(*number).is_some()
                })
                .count()
        };
        let (written, read) = (known(Direction::Write), known(Direction::Read));
        let points = self.grid.points.iter().zip(&self.seen).enumerate();
        points
            .map(|(number, (point, seen))| {
                let estimate = judgement.estimate(number);
                let direction = point.setting.direction;
                let of = if direction == Direction::Write {
                    written
                } else {
                    read
                };
                let answer = answers.iter().find(|answer| answer.direction == direction);
                let difference =
                    answer.and_then(|answer| judgement.compare(number, answer.best, of));
                let is_seen = estimate.is_some();
                SweepPoint {
                    number,
                    setting: self.setting(&point.setting),
                    repeats: estimate.map_or(0, |estimate| estimate.repeats),
                    rate_bytes_per_s: estimate.map(|estimate| estimate.rate_bytes_per_s),
                    ci95_bytes_per_s: estimate.and_then(|estimate| estimate.ci95_bytes_per_s),
                    spread: estimate.and_then(|estimate| estimate.spread),
                    against_best: difference.map(against_best),
                    cpu_seconds_per_gb: seen.cost().cpu_seconds_per_gb,
                    latency_p99_9_ns: is_seen.then(|| seen.tail.p99_9_ns()),
                    latency_max_ns: is_seen.then(|| seen.tail.max_ns()),
                    tool_limited: seen.is_tool_limited,
                    cache_flush_s: seen.cache_flush_s,
                    engine_used: seen.engine.map(str::to_owned),
                    failed: seen.failed.clone(),
                }
            })
            .collect()
    }

    fn answer(&self, answer: &Answer) -> SweepAnswer {
        let axes = answer.axes.iter().map(|of_axis| SweepAxis {
            axis: of_axis.axis,
            matters: of_axis.matters(),
            values: of_axis
                .values
                .iter()
                .map(|(point, difference)| SweepValue {
                    value: self.grid.points[*point]
                        .setting
                        .value(of_axis.axis, &self.names)
                        .unwrap_or_default(),
                    point: *point,
                    against_best: against_best(*difference),
                })
                .collect(),
        });
        SweepAnswer {
            direction: answer.direction,
            best: answer.best,
            alike: answer.alike.clone(),
            measured_once: answer.undecided.clone(),
            cheapest: answer.cheapest,
            axes: axes.collect(),
        }
    }

    fn drift(&self, judgement: &Judgement, answers: &[Answer]) -> Vec<SweepDrift> {
        let directions = answers.iter().map(|answer| answer.direction);
        let drift = |direction: Direction| {
            let is_of = |round: usize| round % 2 == direction_of_round(direction);
            let found = judgement.drift(is_of)?;
            Some(SweepDrift {
                direction,
                share: found.share,
                is_noise: found.is_noise,
            })
        };
        directions.filter_map(drift).collect()
    }

    fn remarks(&self, drift: &[SweepDrift], is_interrupted: bool) -> Vec<SweepRemark> {
        let mut remarks = Vec::new();
        let all = self.grid.points.len();
        let count = |is_so: &dyn Fn(usize, &PointObservation) -> bool| {
            let seen = self.seen.iter().enumerate();
            seen.filter(|(number, seen)| is_so(*number, seen)).count()
        };
        let mut has_reading = vec![false; all];
        for reading in &self.readings {
            has_reading[reading.point] = true;
        }
        let not_measured = count(&|number, seen| !has_reading[number] && seen.failed.is_none());
        if not_measured > 0 && !is_interrupted && self.plan.budget_ns.is_some() {
            remarks.push(SweepRemark::BudgetSpent { not_measured, all });
        } else if self.is_cut_short && !is_interrupted {
            remarks.extend(self.rounds_left_out());
        }
        let is_said = |one: &&SweepDrift| one.share > DRIFT_SAID && !one.is_noise;
        let drift = drift.iter().filter(is_said);
        remarks.extend(drift.map(|one| SweepRemark::Drifted {
            direction: one.direction,
            share: one.share,
        }));
        let settings = count(&|_, seen| seen.is_tool_limited);
        if settings > 0 {
            remarks.push(SweepRemark::ToolLimited { settings });
        }
        if count(&|_, seen| seen.is_from_memory) > 0 {
            remarks.push(SweepRemark::ReadFromMemory);
        }
        remarks.extend(self.cache_remark());
        remarks.extend(self.array_remarks());
        let writes = |number: usize| self.grid.points[number].setting.direction == Direction::Write;
        let seen = self.seen.iter().enumerate();
        let written = seen.filter(|(number, _)| writes(*number));
        let bytes = written.map(|(_, seen)| seen.bytes_max).max().unwrap_or(0);
        if bytes > 0 {
            remarks.push(SweepRemark::LargerCacheNotSeen { bytes });
        }
        remarks
    }

    /// How many rounds the budget had no time for, where every setting was measured.
    fn rounds_left_out(&self) -> Option<SweepRemark> {
        let mut repeats = vec![0; self.grid.points.len()];
        for reading in &self.readings {
            repeats[reading.point] += 1;
        }
        let counts = repeats.into_iter().zip(&self.seen);
        let counted = counts.filter(|(_, seen)| seen.failed.is_none());
        let done = counted.map(|(repeats, _)| repeats).min()?;
        (done < self.plan.rounds).then(|| SweepRemark::RoundsLeftOut {
            left_out: self.plan.rounds - done,
            rounds: self.plan.rounds,
            run_s: self.elapsed_s / self.measurements.len().max(1) as f64,
            point_s: self.plan.time_per_point_ns as f64 / 1e9,
        })
    }

    /// How many settings were compared by their flush, and how long it was at most.
    fn cache_remark(&self) -> Option<SweepRemark> {
        let flushes = self.seen.iter().filter_map(|seen| seen.cache_flush_s);
        let settings = flushes.clone().count();
        let flush_s = flushes.reduce(f64::max)?;
        Some(SweepRemark::IntoCaches { settings, flush_s })
    }

    /// What arrays stand for here, and the time it took to build them.
    fn array_remarks(&self) -> Vec<SweepRemark> {
        let mut remarks = Vec::new();
        let has_arrays = self.grid.points.iter().any(|point| point.setting.is_array);
        if has_arrays && self.is_simulated {
            remarks.push(SweepRemark::ArraySimulated);
        }
        if self.arrays.built > 0 {
            let is_on_one = |point: usize| self.grid.points[point].setting.array_shape().is_some();
            let measurements = self.measurements.iter();
            let runs = measurements.filter(|one| is_on_one(one.point)).count();
            remarks.push(SweepRemark::ArraysBuilt {
                built: self.arrays.built,
                setup_s: self.arrays.setup_ns as f64 / 1e9,
                runs,
                measuring_s: runs as f64 * self.plan.time_per_point_ns as f64 / 1e9,
            });
        }
        remarks
    }
}

fn against_best(difference: Difference) -> AgainstBest {
    AgainstBest {
        share: difference.share,
        ci95: difference.ci95,
        is_noise: difference.is_noise,
        is_as_good: Some(is_as_good(difference.share)),
    }
}
