//! The search for walls from the first measurement to the findings. Called by `diagnose`. It
//! decides which subset is measured next, and here a wall is accepted (`explain_one`) and dropped
//! again where others explain it or a set contradicts it (`prune`). What single readings mean for
//! that, the modules of `search` decide.

use crate::walls::evidence::{Evidence, PlacedReading, SearchStop, SubsetLog};
use crate::walls::findings::NOISE_MAX;
use crate::walls::model::{SumLimit, common};
use crate::walls::search::drift::Anchor;
use crate::walls::search::members::FoundMembers;
use crate::walls::search::scan::{KnownWalls, Loss};
use crate::walls::search::windows::{Covered, FILL};
use crate::walls::search::{FLAG, WallSearch};
use crate::walls::types::{Findings, Probe, SearchBasis, SearchStep};

/// With this noise or less, one reading of each set suffices, if there are at least
/// `TARGETS_SINGLE` targets.
const NOISE_SINGLE: f64 = 0.0175;
/// From so many targets on, one reading of each set may suffice: among fewer, a single target has
/// more weight in their sum.
const TARGETS_SINGLE: f64 = 16.0;
/// With fewer targets, a loss that stands out by this many standard deviations may be that of a
/// wall.
const LOSS_IN_DOUBT: f64 = 1.6;
/// With more noise than this, every set is read as often as the noise calls for, whatever the
/// number of targets: repeating only doubtful readings would then miss more walls and find more
/// false ones.
const NOISE_IN_DOUBT_MAX: f64 = 0.035;
/// A run certainly fills a wall if it could reach this many times the limit.
const FULL: f64 = 1.05;
/// The most readings of each set before the search doubts any; what is in doubt is read more often.
const FIRST_READINGS_MAX: f64 = 4.0;

/// Finds the limits that the targets share.
///
/// Measures what the readings so far call for. It ends when nothing is left to explain, or when the
/// probe halts; then it concludes from what is known. A target that fails is left out: readings
/// with it are dropped, and readings without it are not repeated.
///
/// # Panics
/// Panics if the order does not name each target once.
pub fn find(basis: &SearchBasis, probe: &mut dyn Probe) -> Findings {
    let order = basis
        .order
        .clone()
        .unwrap_or_else(|| (0..basis.targets).collect());
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(
        sorted.into_iter().eq(0..basis.targets),
        "the order must name each target once"
    );
    let mut log = SubsetLog::default();
    loop {
        let places: Vec<usize> = order
            .iter()
            .copied()
            .filter(|target| !log.dropped.contains(target))
            .collect();
        let evidence = Evidence::new(probe, &mut log, places, basis.noise);
        let known = KnownWalls::new(&evidence);
        let mut search = WallSearch {
            evidence,
            known,
            order_known: basis.order.is_some(),
            only_limits: false,
            readings: 1,
            readings_in_doubt: 1,
            found: Vec::new(),
            anchor: Anchor::default(),
            predictions: Vec::new(),
            scanned: 0,
            taken_back: false,
            dropped: Vec::new(),
            dummy: None,
            with_dummy: Vec::new(),
        };
        let end = search.run(basis);
        if end == Err(SearchStop::Died) {
            continue;
        }
        let mut findings = search.findings(basis, end);
        log.hand_over(&mut findings);
        return findings;
    }
}

impl WallSearch<'_> {
    fn run(&mut self, basis: &SearchBasis) -> Result<(), SearchStop> {
        let count = self.evidence.count();
        if count == 0 {
            return Ok(());
        }
        self.measure_alone()?;
        let all: Vec<usize> = (0..count).collect();
        if count < 2 {
            self.known.refresh(&self.evidence);
            return Ok(());
        }
        self.evidence.measure(&all, SearchStep::All)?;
        self.known.refresh(&self.evidence);
        if self.evidence.noise() > NOISE_MAX {
            return Ok(());
        }
        self.choose_readings(count);
        self.measure_alone()?;
        self.evidence
            .at_least(&all, self.readings, SearchStep::All)?;
        self.known.refresh(&self.evidence);
        self.begin_anchor()?;
        self.explain()?;
        self.look_for_falls()?;
        self.decide_kinds(basis)?;
        self.try_predictions()?;
        self.reconsider(basis)
    }

    /// Chooses how often each set is read, by the noise. With many targets, or with much noise,
    /// every set is read that often, so that all losses can be told from chance at once; otherwise
    /// each is read once, and again only if a loss is in doubt.
    fn choose_readings(&mut self, count: usize) {
        let few = (count as f64 / TARGETS_SINGLE).min(1.0);
        let readings = (few * (self.evidence.noise() / NOISE_SINGLE).powi(2)).ceil();
        let readings = readings.clamp(1.0, FIRST_READINGS_MAX) as usize;
        if few < 1.0 && self.evidence.noise() <= NOISE_IN_DOUBT_MAX {
            self.readings_in_doubt = 2 * readings;
        } else {
            self.readings = readings;
        }
    }

    /// Finds walls until each measured set is explained and no window is left.
    pub(super) fn explain(&mut self) -> Result<(), SearchStop> {
        let all: Vec<usize> = (0..self.evidence.count()).collect();
        let mut suspects = vec![all.clone()];
        let mut covered = Covered::default();
        let mut failures: Vec<(Vec<usize>, usize)> = Vec::new();
        let (mut finds, mut changes) = (0, 0);
        loop {
            self.check_drift()?;
            if changes != self.anchor.changes {
                changes = self.anchor.changes;
                failures.clear();
                self.dropped.clear();
                self.recheck_walls()?;
                self.evidence
                    .at_least(&all, self.readings, SearchStep::All)?;
                suspects = vec![all.clone()];
            }
            self.evidence.expected = self.evidence.runs_done() + self.open_runs(&suspects);
            for set in &suspects {
                self.look_again(set)?;
            }
            if let Some((set, loss)) = self.most_suspect(&mut suspects, &failures) {
                if finds < 4 * self.evidence.count() && self.explain_one(&set, &loss)? {
                    finds += 1;
                    suspects.extend(self.measured());
                    suspects.sort_unstable();
                    suspects.dedup();
                } else if let Some(failure) = failures.iter_mut().find(|one| one.0 == set) {
                    failure.1 += 1;
                } else {
                    failures.push((set, 1));
                }
                continue;
            }
            if let Some(window) = self.next_window(&mut covered) {
                self.evidence
                    .at_least(&window, self.readings, SearchStep::Window)?;
                suspects.push(window);
                continue;
            }
            let is_changed = self.check_drift_at_end()?;
            if !is_changed && (self.unexplained().is_none() || !self.start_over()?) {
                return Ok(());
            }
        }
    }

    /// Repeats the readings behind a loss that may be due to chance or to a wall, until it is
    /// clearly one of the two. A loss that is clear at first sight is read once.
    fn look_again(&mut self, set: &[usize]) -> Result<(), SearchStop> {
        while let Some(loss) = self.known.scan(set, &self.evidence, 0.0)
            && set.len() > 1
            && (LOSS_IN_DOUBT..FLAG).contains(&loss.score)
        {
            let mut behind: Vec<Vec<usize>> = loss.members.iter().map(|&one| vec![one]).collect();
            behind.push(set.to_vec());
            let readings = |part: &Vec<usize>| self.evidence.readings(part);
            let fewest = behind.iter().map(readings).min().unwrap_or(0);
            if fewest >= self.readings_in_doubt {
                return Ok(());
            }
            behind.retain(|part| self.evidence.readings(part) == fewest);
            for part in behind {
                self.evidence.measure(&part, SearchStep::Confirm)?;
            }
            self.known.refresh(&self.evidence);
        }
        Ok(())
    }

    /// Roughly the number of runs that are still to come.
    fn open_runs(&self, suspects: &[Vec<usize>]) -> usize {
        let each = 4.0 * (self.evidence.count() as f64).log2() + 6.0;
        let windows: usize = self
            .known
            .model
            .walls
            .iter()
            .map(|wall| wall.members.len())
            .sum();
        suspects.len().min(1) * each as usize + windows.min(self.evidence.count()) / 2 + 2
    }

    /// Finds the wall behind one loss; false if there is none.
    fn explain_one(&mut self, set: &[usize], loss: &Loss) -> Result<bool, SearchStop> {
        let core = match self.sibling_core(loss)? {
            Some(core) => Some(core),
            None => self.core(set, loss)?,
        };
        let Some(core) = core else {
            return Ok(false);
        };
        let (mut wall, mut found) = self.wall_of(core)?;
        if self.check_drift()? || !found.falls && !self.is_supported(&found.core, &wall)? {
            return Ok(false);
        }
        let same = self
            .known
            .model
            .walls
            .iter()
            .any(|one| one.members == wall.members);
        let dropped = self
            .dropped
            .iter()
            .filter(|one| **one == wall.members)
            .count();
        if same || dropped > 1 || !self.is_beyond_doubt(&wall.members, wall.limit_bytes_per_s)? {
            return Ok(false);
        }
        found.peak = self.peak(&wall.members)?;
        found.falls = found.peak.is_some() || found.falls && self.peak(&found.core)?.is_some();
        if found.falls {
            // The shares show whether revolutions are missed, so one reading is too few.
            self.evidence
                .at_least(&found.core, 2 * self.readings, SearchStep::Confirm)?;
            let full = self.evidence.mean(&wall.members);
            wall.limit_bytes_per_s = full.map_or(wall.limit_bytes_per_s, |mean| mean.sum());
        }
        let members = wall.members.clone();
        self.add(wall, found);
        self.refit();
        self.review(&members)?;
        self.prune();
        Ok(true)
    }

    /// The set with the clearest loss; sets without a loss are taken off the list.
    fn most_suspect(
        &self,
        suspects: &mut Vec<Vec<usize>>,
        failures: &[(Vec<usize>, usize)],
    ) -> Option<(Vec<usize>, Loss)> {
        let mut best: Option<(Vec<usize>, Loss)> = None;
        suspects.retain(|set| {
            if failures
                .iter()
                .any(|failure| failure.0 == *set && failure.1 >= 2)
            {
                return false;
            }
            let Some(loss) = self.known.scan(set, &self.evidence, 0.0) else {
                return false;
            };
            if loss.score < FLAG || set.len() < 2 {
                return false;
            }
            if best
                .as_ref()
                .is_none_or(|(_, other)| loss.score > other.score)
            {
                best = Some((set.clone(), loss));
            }
            true
        });
        best
    }

    /// Sets measured since this was last called, or all if walls were taken back.
    fn measured(&mut self) -> Vec<Vec<usize>> {
        let runs = &self.evidence.runs;
        let since = if self.taken_back {
            0
        } else {
            self.scanned.min(runs.len())
        };
        self.taken_back = false;
        self.scanned = runs.len();
        let sets = runs[since..].iter().filter(|run| run.set.len() > 1);
        sets.map(|run| run.set.clone()).collect()
    }

    /// Adds a wall; of walls with equal members the one with the lowest limit is kept.
    fn add(&mut self, wall: SumLimit, mut found: FoundMembers) {
        found.found_at = self.evidence.runs_done();
        let deviation = self
            .evidence
            .mean(&found.core)
            .map_or(0.0, |mean| self.deviation(&mean.rates, mean.readings));
        let walls = &mut self.known.model.walls;
        if let Some(same) = walls.iter().position(|other| other.members == wall.members) {
            walls[same].limit_bytes_per_s = wall.limit_bytes_per_s;
            self.known.deviations[same] = deviation;
            self.known.falls_from[same] = found.falls_from();
            self.found[same] = found;
            return;
        }
        // The walls are ordered by size, because every prediction goes through them in that order.
        let place = walls.partition_point(|other| other.members.len() <= wall.members.len());
        walls.insert(place, wall);
        self.known.deviations.insert(place, deviation);
        self.known.falls_from.insert(place, found.falls_from());
        self.found.insert(place, found);
    }

    /// A wall that was full made its members look like members of the walls around it. Now that it
    /// is known, they are tried in sets that do not fill it.
    fn review(&mut self, inner: &[usize]) -> Result<(), SearchStop> {
        for index in 0..self.known.model.walls.len() {
            let wall = &self.known.model.walls[index];
            let mut members = wall.members.clone();
            let around = members.len() > inner.len() && common(&members, inner) == inner.len();
            if !around || self.found[index].falls {
                continue;
            }
            let limit = wall.limit_bytes_per_s;
            // While it is in doubt it must not explain itself.
            self.known.model.walls[index].limit_bytes_per_s = f64::INFINITY;
            let tried = self.trim(&mut members, limit, inner);
            self.known.model.walls[index].limit_bytes_per_s = limit;
            tried?;
            if members.len() < self.known.model.walls[index].members.len() {
                self.found[index].core.retain(|one| members.contains(one));
                self.known.model.walls[index].members = members;
                self.taken_back = true;
            }
        }
        Ok(())
    }

    /// Sets each limit to the mean over all readings that fill it and no wall around it.
    fn refit(&mut self) {
        for index in 0..self.known.model.walls.len() {
            if self.found[index].falls {
                continue;
            }
            let (mut sum, mut weight) = (0.0, 0.0);
            for run in &self.evidence.runs {
                if let Some((passed, deviation)) = self.full_reading(index, run) {
                    sum += passed / deviation.powi(2);
                    weight += deviation.powi(-2);
                }
            }
            if weight > 0.0 {
                self.known.model.walls[index].limit_bytes_per_s = sum / weight;
                self.known.deviations[index] = weight.powf(-0.5);
            }
        }
    }

    /// The sum that passed a wall in a run that fills it, with its standard deviation. Only runs of
    /// members count, because with other targets a wall not yet known may hold all of them back.
    fn full_reading(&self, index: usize, run: &PlacedReading) -> Option<(f64, f64)> {
        let walls = &self.known.model.walls;
        let wall = &walls[index];
        if common(&run.set, &wall.members) < run.set.len() {
            return None;
        }
        let core = &self.found[index].core;
        let wanted = self.known.predict_without(&run.set, index);
        if common(&run.set, core) < core.len() && wanted < FULL * wall.limit_bytes_per_s {
            return None;
        }
        // Another full wall that reaches outside decides the sum here.
        let around = |&other: &usize| {
            let shared = common(&walls[other].members, &wall.members);
            other != index && shared > 0 && shared < walls[other].members.len()
        };
        if self.known.model.binding(&run.set, FILL).iter().any(around) {
            return None;
        }
        let deviation = self.deviation(&run.rates, 1);
        let passed: f64 = run.rates.iter().sum();
        // If the sum is far below, a smaller wall inside, not yet known, was the limit.
        let near = (passed - wall.limit_bytes_per_s).abs()
            < 4.0 * deviation + 0.02 * wall.limit_bytes_per_s;
        (near && self.evidence.counts(run)).then_some((passed, deviation.max(f64::MIN_POSITIVE)))
    }

    /// Drops walls that the others explain, and walls that a measured set contradicts.
    fn prune(&mut self) {
        let noise = self.evidence.noise();
        let mut index = 0;
        while index < self.known.model.walls.len() {
            let wall = &self.known.model.walls[index];
            let members = wall.members.len() as f64;
            let others = self.known.predict_without(&wall.members, index);
            let slack = (2.5 * noise / members.sqrt()).max(0.01);
            let explained = others < wall.limit_bytes_per_s * (1.0 + slack);
            let deviation = self.known.deviations[index];
            let limit = wall.limit_bytes_per_s;
            let above =
                !self.found[index].falls && self.seen_above(&wall.members, limit, deviation);
            if explained || above {
                let members = self.remove(index);
                self.dropped.push(members);
            } else {
                index += 1;
            }
        }
    }
}
