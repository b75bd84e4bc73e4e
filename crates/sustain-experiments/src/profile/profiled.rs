//! Keeps what was visited so far, and knows which positions need another visit. The run fills it;
//! the document is made from it.

use sustain_document::host::Host;
use sustain_document::vocabulary::TargetKind;
use sustain_load::phase::PhaseOutcome;
use sustain_load::session::Session;

use super::failure::FailedPlace;
use super::fit::fit;
use super::lasting_rate::{HeldRate, WhyUntried};
use super::plan::ProfilePlan;
use super::sample::{SampleOutcome, SampledCurve};
use super::visits::VisitedPlace;

/// A target at which this many positions failed is visited no more.
const FAILURES_MAX: usize = 5;

/// One position, for all curves.
#[derive(Debug, Clone)]
pub(super) struct ProfiledPosition {
    /// The position as a part of each target, less its sample.
    pub(super) position: f64,
    /// For each curve and visit, the rates of its members.
    pub(super) readings: Vec<Vec<Vec<f64>>>,
    /// For each curve, whether a visit failed.
    pub(super) failed: Vec<bool>,
}

/// What is known about a target besides its rates.
pub(super) struct TargetExtent {
    pub(super) name: String,
    pub(super) kind: TargetKind,
    pub(super) size_bytes: u64,
}

/// Everything that a profile has measured so far.
pub(super) struct Profiled<'a> {
    pub(super) plan: &'a ProfilePlan,
    pub(super) curves: Vec<SampledCurve>,
    /// The positions, in order.
    pub(super) positions: Vec<ProfiledPosition>,
    pub(super) sample_ns: u64,
    pub(super) threads: u32,
    pub(super) elapsed_s: f64,
    pub(super) started_unix_s: i64,
    /// Whether the time was over before everything was visited twice.
    pub(super) is_cut_short: bool,
    pub(super) facts: Vec<TargetExtent>,
    pub(super) failures: Vec<FailedPlace>,
    /// The runs without a break, in the order of time.
    pub(super) held: Vec<HeldRate>,
    /// The curves of those that tell nothing, once for each, and why.
    pub(super) untried: Vec<(usize, WhyUntried)>,
    /// How long a visit of one position took, on all curves.
    pub(super) visit_ns: u64,
    pub(super) engine_used: Option<String>,
    pub(super) host: Host,
    pub(super) is_simulated: bool,
}

impl<'a> Profiled<'a> {
    pub(super) fn new(
        plan: &'a ProfilePlan,
        session: &Session,
        curves: Vec<SampledCurve>,
        sample_ns: u64,
        host: Host,
    ) -> Profiled<'a> {
        let targets = session.targets.iter();
        let facts = targets.map(|target| TargetExtent {
            name: target.target.name.clone(),
            kind: target.target.kind,
            size_bytes: target.size_bytes,
        });
        Profiled {
            plan,
            curves,
            positions: Vec::new(),
            sample_ns,
            threads: 1,
            elapsed_s: 0.0,
            started_unix_s: 0,
            is_cut_short: false,
            facts: facts.collect(),
            failures: Vec::new(),
            held: Vec::new(),
            untried: Vec::new(),
            visit_ns: 0,
            engine_used: None,
            host,
            is_simulated: session.clock.is_virtual(),
        }
    }

    /// Notes which engine did the work.
    pub(super) fn remember(&mut self, phase: &PhaseOutcome) {
        if let (None, Some(driver)) = (&self.engine_used, phase.drivers.first()) {
            self.engine_used = Some(driver.engine.to_owned());
        }
    }

    /// Adds entries for positions that are going to be visited.
    pub(super) fn reserve(&mut self, positions: &[f64]) {
        let curves = self.curves.len();
        self.positions
            .extend(positions.iter().map(|position| ProfiledPosition {
                position: *position,
                readings: vec![Vec::new(); curves],
                failed: vec![false; curves],
            }));
        self.positions
            .sort_by(|one, other| one.position.total_cmp(&other.position));
    }

    /// Whether so many positions of one of its targets failed that it is visited no more.
    pub(super) fn is_given_up(&self, curve: &SampledCurve) -> bool {
        curve.members.iter().any(|target| {
            let is_of =
                |one: &&FailedPlace| (one.target, one.direction) == (*target, curve.direction);
            self.failures.iter().filter(is_of).count() >= FAILURES_MAX
        })
    }

    /// The curve of one target alone, in the direction of another curve.
    pub(super) fn curve_alone(&self, like: &SampledCurve, target: usize) -> Option<usize> {
        let is_of = |one: &SampledCurve| one.members == [target] && one.direction == like.direction;
        self.curves.iter().position(is_of)
    }

    /// The number of visits that have completed, for all curves.
    pub(super) fn readings(&self) -> usize {
        let curves = self.positions.iter().flat_map(|one| &one.readings);
        curves.map(Vec::len).sum()
    }

    pub(super) fn take(&mut self, curve: usize, position: f64, outcome: SampleOutcome) {
        let found = self
            .positions
            .iter_mut()
            .find(|one| one.position.total_cmp(&position).is_eq());
        let place = found.expect("a position is reserved before it is visited");
        match outcome {
            // A target that transferred nothing has no rate.
            SampleOutcome::Rates(rates) if rates.iter().all(|rate| *rate > 0.0) => {
                place.readings[curve].push(rates);
            }
            SampleOutcome::Rates(_) => place.failed[curve] = true,
            SampleOutcome::Failed { .. } => {
                place.failed[curve] = true;
                self.note_failure(curve, position, outcome);
            }
        }
    }

    /// Keeps why requests failed, if they did.
    pub(super) fn note_failure(&mut self, curve: usize, position: f64, outcome: SampleOutcome) {
        if let SampleOutcome::Failed { target, why } = outcome {
            let direction = self.curves[curve].direction;
            let failure = FailedPlace::new(target, direction, position, why);
            failure.join(&mut self.failures);
        }
    }

    /// The positions of a curve that were visited, with their numbers.
    pub(super) fn places(&self, curve: usize) -> (Vec<usize>, Vec<VisitedPlace>) {
        let positions = self.positions.iter().enumerate();
        let visited = positions.filter(|(_, one)| !one.readings[curve].is_empty());
        visited
            .map(|(index, one)| {
                let (from, to) = self.part(curve, one.position);
                let visits = one.readings[curve].iter();
                let place = VisitedPlace {
                    from,
                    to,
                    visits: visits.map(|rates| rates.iter().sum()).collect(),
                };
                (index, place)
            })
            .unzip()
    }

    /// The part of its target that a sample covers; of several targets, that of the first.
    pub(super) fn part(&self, curve: usize, position: f64) -> (f64, f64) {
        let curve = &self.curves[curve];
        let size_bytes = self.facts[curve.members[0]].size_bytes;
        let from = curve.offset_bytes(0, position, size_bytes);
        let part = |bytes: u64| bytes as f64 / size_bytes as f64;
        (part(from), part(from + curve.sample_bytes[0]))
    }

    /// Positions that need another visit; where a visit failed, another one would only wear the
    /// disk.
    pub(super) fn undecided(&self) -> Vec<f64> {
        let mut positions: Vec<f64> = Vec::new();
        for curve in 0..self.curves.len() {
            if !self.curves[curve].is_alone() || self.is_given_up(&self.curves[curve]) {
                continue;
            }
            let (indices, places) = self.places(curve);
            let undecided = fit(&places).undecided(|place| {
                let one = &self.positions[indices[place]];
                !one.failed[curve]
            });
            let undecided = undecided.into_iter().map(|place| indices[place]);
            positions.extend(undecided.map(|index| self.positions[index].position));
        }
        positions.sort_by(f64::total_cmp);
        positions.dedup();
        positions
    }
}

#[cfg(test)]
mod tests {
    use sustain_disk::target::Direction;

    use super::*;

    /// Two disks alone, with a hundred positions that were visited twice.
    fn visited_twice(plan: &ProfilePlan) -> Profiled<'_> {
        let curve = |target| SampledCurve {
            direction: Direction::Read,
            members: vec![target],
            record_bytes: 1,
            sample_bytes: vec![2_000_000],
            time_ns: 1,
            expected_ns: 1,
        };
        let facts = |name: &str| TargetExtent {
            name: name.to_owned(),
            kind: TargetKind::Simulated,
            size_bytes: 1_000_000_000,
        };
        let mut profiled = Profiled {
            plan,
            curves: vec![curve(0), curve(1)],
            positions: Vec::new(),
            sample_ns: 1,
            threads: 1,
            elapsed_s: 0.0,
            started_unix_s: 0,
            is_cut_short: false,
            facts: vec![facts("hda"), facts("hdb")],
            failures: Vec::new(),
            held: Vec::new(),
            untried: Vec::new(),
            visit_ns: 0,
            engine_used: None,
            host: Host {
                description: None,
                devices: Vec::new(),
                file_systems: Vec::new(),
            },
            is_simulated: true,
        };
        let positions: Vec<f64> = (0..100).map(|place| f64::from(place) / 99.0).collect();
        profiled.reserve(&positions);
        for curve in [0, 0, 1, 1] {
            for position in &positions {
                profiled.take(curve, *position, SampleOutcome::Rates(vec![1e8]));
            }
        }
        profiled
    }

    fn fails(profiled: &mut Profiled<'_>, place: usize) {
        let why = "no answer".to_owned();
        let position = profiled.positions[place].position;
        profiled.take(0, position, SampleOutcome::Failed { target: 0, why });
    }

    #[test]
    fn a_place_that_failed_is_not_asked_for_again_and_keeps_none_from_their_visits() {
        let plan = ProfilePlan::new([""; 0]);
        let mut profiled = visited_twice(&plan);
        assert!(profiled.undecided().is_empty());
        // Slow in both visits, and slow in one of two.
        profiled.positions[30].readings[0] = vec![vec![1e7], vec![1e7]];
        profiled.positions[70].readings[0] = vec![vec![1e7], vec![1e8]];
        assert_eq!(profiled.undecided(), [profiled.positions[30].position]);
        let readings = profiled.readings();
        fails(&mut profiled, 30);
        assert_eq!(profiled.readings(), readings, "a failure tells no rate");
        assert_eq!(profiled.undecided(), [profiled.positions[70].position]);
        fails(&mut profiled, 70);
        assert!(profiled.undecided().is_empty());
    }

    #[test]
    fn nothing_is_asked_of_a_target_that_was_given_up() {
        let plan = ProfilePlan::new([""; 0]);
        let mut profiled = visited_twice(&plan);
        profiled.positions[30].readings[0] = vec![vec![1e7], vec![1e7]];
        profiled.positions[50].readings[1] = vec![vec![1e7], vec![1e7]];
        for place in 0..FAILURES_MAX {
            assert_eq!(profiled.undecided().len(), 2, "before place {place} failed");
            fails(&mut profiled, place);
        }
        assert!(profiled.is_given_up(&profiled.curves[0]));
        assert_eq!(profiled.undecided(), [profiled.positions[50].position]);
    }
}
