//! Keeps what was measured so far, and measures more. The search asks here by position in the
//! order of the targets; the probe and the log know targets. Nothing is decided here.

pub(in crate::walls) mod agreeing;
pub(in crate::walls) mod scatter;

use std::collections::{HashMap, VecDeque};

use crate::walls::evidence::agreeing::agreeing;
use crate::walls::expected::expected_readings;
use crate::walls::model::{Model, SumLimit, common};
use crate::walls::reading::SubsetReading;
use crate::walls::types::{Ask, Findings, FoundWall, Halt, MeasuredSubset, Probe, SearchStep};

/// Sets the limits of collapses to what this set meets: the sum at full load with all members, the
/// best sum with one. Returns false if the set is in between, because it cannot be predicted how
/// far the sum falls there.
fn fit_collapses(model: &mut Model, walls: &[FoundWall], set: &[usize]) -> bool {
    for (limit, wall) in model.walls.iter_mut().zip(walls) {
        let Some(least) = wall.at_full_load_bytes_per_s else {
            continue;
        };
        let met = common(set, &wall.members);
        limit.limit_bytes_per_s = if met == wall.members.len() {
            least
        } else {
            wall.limit_bytes_per_s
        };
        let members = set.iter().filter(|one| wall.members.contains(one));
        let wanted: f64 = members.map(|&one| model.alone_bytes_per_s[one]).sum();
        if met > 1 && met < wall.members.len() && wanted > least {
            return false;
        }
    }
    true
}

/// The reasons why the search ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walls) enum SearchStop {
    /// The user stopped it, or the time is up.
    Halt,
    /// Targets failed: the search starts again without them.
    Died,
    /// There were more subsets than any machine needs, because the readings contradict each other.
    Exhausted,
}

/// All subsets, kept across restarts.
#[derive(Default)]
pub(in crate::walls) struct SubsetLog {
    pub(in crate::walls) measurements: Vec<MeasuredSubset>,
    noise: Vec<Vec<f64>>,
    pub(in crate::walls) dropped: Vec<usize>,
}

impl SubsetLog {
    /// Hands all subsets over to the findings, with the sums that the walls found allow.
    pub(in crate::walls) fn hand_over(self, findings: &mut Findings) {
        findings.measurements = self.measurements;
        findings.predict_sums();
        findings.dropped = self.dropped;
        findings.dropped.sort_unstable();
        findings.dropped.dedup();
    }
}

impl Findings {
    /// Adds a reading that the search did not ask for, of these targets, sorted, and for what it
    /// was made. The walls stay what they are; a target that failed in it is dropped.
    pub fn add_reading(&mut self, members: &[usize], step: SearchStep, reading: &SubsetReading) {
        self.measurements.push(MeasuredSubset {
            members: members.to_vec(),
            with_dummy: false,
            step,
            rates_bytes_per_s: reading.rates_bytes_per_s.clone(),
            sum_bytes_per_s: reading.rates_bytes_per_s.iter().sum(),
            predicted_bytes_per_s: None,
            failed: !reading.failed.is_empty(),
        });
        self.predict_sums();
        self.dropped.extend(&reading.failed);
        self.dropped.sort_unstable();
        self.dropped.dedup();
    }

    /// Computes for each subset the sum that the walls found allow.
    fn predict_sums(&mut self) {
        let limits = self.walls.iter().map(|wall| SumLimit {
            members: wall.members.clone(),
            limit_bytes_per_s: wall.limit_bytes_per_s,
        });
        let alone = self.alone.iter().map(|rate| rate.unwrap_or(0.0));
        let mut model = Model {
            alone_bytes_per_s: alone.collect(),
            walls: limits.collect(),
        };
        for measurement in &mut self.measurements {
            let known = |&member: &usize| self.alone[member].is_some();
            let set = &measurement.members;
            let explains = set.iter().all(known) && fit_collapses(&mut model, &self.walls, set);
            measurement.predicted_bytes_per_s = explains.then(|| model.predict(set));
        }
    }
}

/// One reading, by position.
pub(in crate::walls) struct PlacedReading {
    pub(in crate::walls) set: Vec<usize>,
    pub(in crate::walls) rates: Vec<f64>,
}

impl PlacedReading {
    pub(in crate::walls) fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// Mean of the readings of one set.
pub(in crate::walls) struct ReadingMean {
    pub(in crate::walls) rates: Vec<f64>,
    pub(in crate::walls) readings: usize,
}

impl ReadingMean {
    pub(in crate::walls) fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// The readings that concern the living targets.
pub(in crate::walls) struct Evidence<'a> {
    probe: &'a mut dyn Probe,
    log: &'a mut SubsetLog,
    /// Readings from before a restart that have not been asked for again.
    unread: HashMap<(Vec<usize>, bool), VecDeque<usize>>,
    /// The target at each position.
    places: Vec<usize>,
    pub(in crate::walls) runs: Vec<PlacedReading>,
    by_set: HashMap<Vec<usize>, Vec<usize>>,
    alone: Vec<f64>,
    alone_count: Vec<usize>,
    noise_sum: f64,
    noise_weight: f64,
    count: usize,
    /// Contradictions between readings that stayed when both were repeated.
    pub(in crate::walls) contradictions: usize,
    /// The number of subsets that are expected in all.
    pub(in crate::walls) expected: usize,
    pub(in crate::walls) runs_max: usize,
}

/// The prior counts as much as this many readings.
const PRIOR_WEIGHT: f64 = 4.0;
/// The limit per target and doubling; no machine came near it.
const RUNS_MAX_FACTOR: f64 = 40.0;

impl<'a> Evidence<'a> {
    pub(in crate::walls) fn new(
        probe: &'a mut dyn Probe,
        log: &'a mut SubsetLog,
        places: Vec<usize>,
        prior: f64,
    ) -> Self {
        let mut unread: HashMap<_, VecDeque<usize>> = HashMap::new();
        for (index, measurement) in log.measurements.iter().enumerate() {
            let key = (measurement.members.clone(), measurement.with_dummy);
            if !measurement.failed {
                unread.entry(key).or_default().push_back(index);
            }
        }
        let count = places.len();
        Self {
            probe,
            log,
            unread,
            alone: vec![0.0; count],
            alone_count: vec![0; count],
            places,
            runs: Vec::new(),
            by_set: HashMap::new(),
            noise_sum: prior * PRIOR_WEIGHT,
            noise_weight: if prior > 0.0 { PRIOR_WEIGHT } else { 0.0 },
            count: 0,
            contradictions: 0,
            expected: expected_readings(count).0,
            runs_max: (RUNS_MAX_FACTOR * count as f64 * (count as f64).log2().max(1.0)) as usize,
        }
    }

    /// The number of targets that have not failed.
    pub(in crate::walls) fn count(&self) -> usize {
        self.places.len()
    }

    /// Relative standard deviation of one reading.
    pub(in crate::walls) fn noise(&self) -> f64 {
        if self.noise_weight > 0.0 {
            self.noise_sum / self.noise_weight
        } else {
            0.0
        }
    }

    /// Targets of these positions, sorted.
    pub(in crate::walls) fn targets(&self, set: &[usize]) -> Vec<usize> {
        let mut targets: Vec<usize> = set.iter().map(|&position| self.places[position]).collect();
        targets.sort_unstable();
        targets
    }

    /// Target at a position.
    pub(in crate::walls) fn target(&self, position: usize) -> usize {
        self.places[position]
    }

    /// Measures a set (sorted positions) once more, whatever its result.
    pub(in crate::walls) fn read(
        &mut self,
        set: &[usize],
        step: SearchStep,
    ) -> Result<(), SearchStop> {
        debug_assert!(!set.is_empty() && set.is_sorted());
        let rates = self.ask(set, false, step)?;
        self.count += 1;
        let index = self.runs.len();
        if let [position] = set {
            self.alone_count[*position] += 1;
        }
        self.by_set.entry(set.to_vec()).or_default().push(index);
        self.runs.push(PlacedReading {
            set: set.to_vec(),
            rates,
        });
        if let ([position], Some(mean)) = (set, self.mean(set)) {
            self.alone[*position] = mean.sum();
        }
        Ok(())
    }

    /// Measures a set in passing, for its sum only.
    pub(in crate::walls) fn once(
        &mut self,
        set: &[usize],
        step: SearchStep,
    ) -> Result<f64, SearchStop> {
        self.count += 1;
        Ok(self.ask(set, false, step)?.iter().sum())
    }

    /// The number of runs that were made, including forgotten ones.
    pub(in crate::walls) fn runs_done(&self) -> usize {
        self.count
    }

    /// Discards everything that was measured so far.
    pub(in crate::walls) fn forget(&mut self) {
        self.runs.clear();
        self.by_set.clear();
        self.alone.fill(0.0);
        self.alone_count.fill(0);
    }

    /// Scales the rates alone, and discards all other readings.
    pub(in crate::walls) fn forget_but_alone(&mut self, factor: f64) {
        self.runs.retain(|run| run.set.len() == 1);
        self.by_set.clear();
        for (index, run) in self.runs.iter_mut().enumerate() {
            run.rates[0] *= factor;
            self.by_set.entry(run.set.clone()).or_default().push(index);
        }
        self.alone.iter_mut().for_each(|rate| *rate *= factor);
    }

    /// Measures a set together with the dummy: sum of the set, and the dummy's rate.
    pub(in crate::walls) fn measure_with_dummy(
        &mut self,
        set: &[usize],
    ) -> Result<(f64, f64), SearchStop> {
        let rates = self.ask(set, true, SearchStep::Tool)?;
        self.count += 1;
        let dummy = rates.last().copied().unwrap_or_default();
        Ok((rates[..set.len()].iter().sum(), dummy))
    }

    /// Rates by position, in the order of the set, with the dummy's rate last.
    fn ask(
        &mut self,
        set: &[usize],
        with_dummy: bool,
        step: SearchStep,
    ) -> Result<Vec<f64>, SearchStop> {
        let members = self.targets(set);
        let key = (members, with_dummy);
        let index = match self.unread.get_mut(&key).and_then(VecDeque::pop_front) {
            Some(index) => index,
            None => self.probe_once(&key.0, with_dummy, step)?,
        };
        for &noise in &self.log.noise[index] {
            if noise.is_finite() {
                self.noise_sum += noise;
                self.noise_weight += 1.0;
            }
        }
        let rates = &self.log.measurements[index].rates_bytes_per_s;
        let mut ordered: Vec<f64> = set
            .iter()
            .map(|&position| {
                let place = key.0.binary_search(&self.places[position]);
                place.map_or(0.0, |place| rates[place])
            })
            .collect();
        if with_dummy {
            ordered.push(rates.last().copied().unwrap_or_default());
        }
        Ok(ordered)
    }

    /// Asks the probe and logs the result; returns its index in the log.
    fn probe_once(
        &mut self,
        members: &[usize],
        dummy: bool,
        step: SearchStep,
    ) -> Result<usize, SearchStop> {
        let done = self.log.measurements.len();
        if self.count >= self.runs_max {
            return Err(SearchStop::Exhausted);
        }
        let ask = Ask {
            members,
            with_dummy: dummy,
            step,
            remaining: self.expected.saturating_sub(self.count).max(1),
        };
        let SubsetReading {
            rates_bytes_per_s: mut rates,
            noise,
            failed,
        } = self.probe.measure(&ask).map_err(|Halt| SearchStop::Halt)?;
        let died = !failed.is_empty();
        rates.resize(members.len() + usize::from(dummy), 0.0);
        self.log.dropped.extend(failed);
        self.log.noise.push(noise);
        self.log.measurements.push(MeasuredSubset {
            members: members.to_vec(),
            with_dummy: dummy,
            step,
            sum_bytes_per_s: rates[..members.len()].iter().sum(),
            rates_bytes_per_s: rates,
            predicted_bytes_per_s: None,
            failed: died,
        });
        if died {
            Err(SearchStop::Died)
        } else {
            Ok(done)
        }
    }

    /// Allows so many more runs, and gives the most that were allowed before.
    pub(in crate::walls) fn allow(&mut self, runs: usize) -> usize {
        let most = self.runs_max;
        self.runs_max = most.min(self.count + runs);
        // Nobody is told that one is left while many more may come.
        self.expected = self.expected.max(self.runs_max);
        most
    }

    /// How often this set was measured.
    pub(in crate::walls) fn readings(&self, set: &[usize]) -> usize {
        self.by_set.get(set).map_or(0, Vec::len)
    }

    /// Mean of those readings of this set that agree: of three or more, the disturbed ones do not
    /// count.
    pub(in crate::walls) fn mean(&self, set: &[usize]) -> Option<ReadingMean> {
        let runs = agreeing(&self.readings_of(set), self.noise());
        if runs.is_empty() {
            return None;
        }
        let mut rates = vec![0.0; set.len()];
        for run in &runs {
            for (sum, rate) in rates.iter_mut().zip(&run.rates) {
                *sum += rate / runs.len() as f64;
            }
        }
        Some(ReadingMean {
            rates,
            readings: runs.len(),
        })
    }

    /// The sums of this set, one per reading.
    pub(in crate::walls) fn readings_of(&self, set: &[usize]) -> Vec<&PlacedReading> {
        let runs = self.by_set.get(set).map_or(&[][..], Vec::as_slice);
        runs.iter().map(|&run| &self.runs[run]).collect()
    }

    /// A target's own rate: mean of its readings alone, 0 without one.
    pub(in crate::walls) fn alone(&self, position: usize) -> f64 {
        self.alone[position]
    }

    /// The number of readings behind that rate.
    pub(in crate::walls) fn alone_readings(&self, position: usize) -> usize {
        self.alone_count[position]
    }

    /// Measures until the set has this many readings.
    pub(in crate::walls) fn at_least(
        &mut self,
        set: &[usize],
        readings: usize,
        step: SearchStep,
    ) -> Result<(), SearchStop> {
        while self.readings(set) < readings {
            self.measure(set, step)?;
        }
        Ok(())
    }
}
