//! Judges repeated readings of many points: the rate of each point with its interval, and whether
//! two points differ by more than the noise explains. Pure; docs/comparing.md, "Sweep", has the
//! reasons.
//!
//! The logarithm of a reading is the point's own level, plus an effect that all points share in
//! that round (the disks' temperature, wear, other programs), plus noise of the point. Weighted
//! least squares estimate the levels and the effects of the rounds. The effect of a round has a
//! wide prior, so that rounds which no points connect stay where they are. The variance of a
//! point with few readings is drawn towards that of its kind. Where a point met a stall, it is
//! no smaller than what the stalls of its kind bring by chance.

use super::noise::NoiseEstimate;
use crate::judge::student::t_two_sided;

/// The standard deviation that the effect of a round is expected to have.
const ROUND_DEVIATION: f64 = 0.2;
/// The noise at which the search for it begins.
const NOISE_START: f64 = 0.01;
/// Weights depend on the noise and the noise on the weights; this many turns are more than enough.
const TURNS: usize = 6;
/// Up to this many standard deviations, the two rounds that are furthest apart are so by chance.
const DRIFT_DEVIATIONS: f64 = 4.0;
/// The part of cases in which an interval may miss the true value.
const OUTSIDE: f64 = 0.05;

/// An interval that goes so far either way, as a logarithm, tells nothing of a rate: a factor of
/// e^0.5, from 39 % less to 65 % more. Two readings far apart have such a one.
const SAYS_NOTHING: f64 = 0.5;

/// A stall that takes all of a reading leaves no rate; its loss counts as that of this part.
const STALL_SHARE_MAX: f64 = 0.9;
/// Readings whose stalls count as one.
const READINGS_PER_DRAW: f64 = 2.0;
/// A reading is known by its longest stall; all of its stalls cost no more than this many such.
const STALLS_MOST: f64 = 2.0;
/// The noise of stalls never counts as more readings than this.
const STALL_DEGREES_MAX: f64 = 40.0;

/// One measurement of one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointReading {
    /// The point.
    pub point: usize,
    /// Readings of one round are made under the same conditions.
    pub round: usize,
    /// The rate, above zero.
    pub rate_bytes_per_s: f64,
    /// The part of its time that the targets stalled; 0 if they did not for long enough to show.
    pub stall_share: f64,
}

/// The estimate for one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The number of readings.
    pub repeats: usize,
    /// Its rate, under the mean conditions of all rounds.
    pub rate_bytes_per_s: f64,
    /// The 95 % interval of that; none if nothing is known of its noise, or as good as nothing.
    pub ci95_bytes_per_s: Option<[f64; 2]>,
    /// Standard deviation of its readings as a part of the rate, with the effects of the rounds
    /// removed.
    pub spread: Option<f64>,
}

/// One point's rate over another's, less one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference: -0.05 means 5 % slower.
    pub share: f64,
    /// Its 95 % interval, which holds for all comparisons that were made at once; none if nothing
    /// is known of the noise, or as good as nothing.
    pub ci95: Option<[f64; 2]>,
    /// Whether the noise explains it, so that `ci95` includes 0; also true if nothing is known of
    /// the noise.
    pub is_noise: bool,
}

impl Difference {
    /// Whether nothing is known of the noise: it was measured once, and so were the others like
    /// it; or the few readings are so far apart that any difference may be it.
    pub fn is_undecided(&self) -> bool {
        self.ci95.is_none()
    }
}

/// The changes from round to round that all points share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundDrift {
    /// The fastest round over the slowest, less one.
    pub share: f64,
    /// Whether the noise explains it.
    pub is_noise: bool,
}

/// A point in the model.
#[derive(Debug, Clone, Default)]
struct Level {
    readings: Vec<usize>,
    log_rate: f64,
    /// The noise of one reading, from the point's own readings.
    own_noise: Option<NoiseEstimate>,
    /// The number of readings with a stall.
    stalled: usize,
    /// The noise with that of its kind taken into account, but not that of stalls.
    noise_besides_stalls: Option<NoiseEstimate>,
    /// The same with stalls.
    noise: Option<NoiseEstimate>,
    /// What the longest stalls cost its readings in the mean, as a logarithm.
    stall_loss: f64,
}

impl Level {
    fn repeats(&self) -> f64 {
        self.readings.len() as f64
    }

    /// The noise of its mean.
    fn of_mean(&self, noise: NoiseEstimate) -> NoiseEstimate {
        NoiseEstimate {
            variance: noise.variance / self.repeats(),
            ..noise
        }
    }
}

/// The model that all readings together lead to.
#[derive(Debug, Clone)]
pub struct Judgement {
    readings: Vec<PointReading>,
    levels: Vec<Level>,
    /// The effect of each round that all points share, as a logarithm.
    rounds: Vec<f64>,
    /// The number of points in each round.
    points_in_round: Vec<usize>,
    /// Covariance of `rounds`.
    covariance: Vec<Vec<f64>>,
}

impl Judgement {
    /// Judges the readings of points, each of a kind with similar noise. Points of one direction
    /// have rounds of their own, because what slows writing down need not slow reading down.
    ///
    /// # Panics
    /// Panics if a reading is of a point that has no kind.
    pub fn of(kinds: &[usize], readings: &[PointReading]) -> Judgement {
        let rounds = readings.iter().map(|one| one.round + 1).max().unwrap_or(0);
        let mut judgement = Judgement {
            readings: readings.to_vec(),
            levels: vec![Level::default(); kinds.len()],
            rounds: vec![0.0; rounds],
            points_in_round: vec![0; rounds],
            covariance: Vec::new(),
        };
        for (index, reading) in readings.iter().enumerate() {
            let level = &mut judgement.levels[reading.point];
            level.readings.push(index);
            level.stalled += usize::from(reading.stall_share > 0.0);
            level.stall_loss += stall_loss(reading);
            judgement.points_in_round[reading.round] += 1;
        }
        for level in &mut judgement.levels {
            level.stall_loss /= level.repeats().max(1.0);
        }
        for _ in 0..TURNS {
            judgement.fit();
            judgement.find_noise(kinds);
        }
        judgement
    }

    fn log_rate(&self, reading: usize) -> f64 {
        self.readings[reading].rate_bytes_per_s.ln()
    }

    /// The weight of a reading, which is one over its variance.
    fn weight(&self, point: usize) -> f64 {
        let noise = self.levels[point].noise;
        1.0 / noise.map_or(NOISE_START * NOISE_START, |noise| noise.variance)
    }

    /// Fits levels and rounds for the current weights. The levels are eliminated first, so that
    /// only a system of the size of the rounds is left.
    fn fit(&mut self) {
        let count = self.rounds.len();
        let mut matrix = vec![vec![0.0; count]; count];
        let mut right = vec![0.0; count];
        for (round, row) in matrix.iter_mut().enumerate() {
            row[round] = 1.0 / (ROUND_DEVIATION * ROUND_DEVIATION);
        }
        for (point, level) in self.levels.iter().enumerate() {
            let repeats = level.readings.len() as f64;
            let weight = self.weight(point);
            let logs = level.readings.iter().map(|one| self.log_rate(*one));
            let mean = logs.sum::<f64>() / repeats;
            for one in level.readings.iter().copied() {
                let round = self.readings[one].round;
                // A single point says nothing about an effect that others share.
                if self.points_in_round[round] < 2 {
                    continue;
                }
                matrix[round][round] += weight;
                right[round] += weight * (self.log_rate(one) - mean);
                for other in &level.readings {
                    let other = self.readings[*other].round;
                    if self.points_in_round[other] >= 2 {
                        matrix[round][other] -= weight / repeats;
                    }
                }
            }
        }
        self.covariance = inverted(matrix);
        let product = |row: &Vec<f64>| row.iter().zip(&right).map(|(one, other)| one * other).sum();
        self.rounds = self.covariance.iter().map(product).collect();
        for point in 0..self.levels.len() {
            let own = self.levels[point].readings.iter();
            let own = own.map(|one| self.log_rate(*one) - self.rounds[self.readings[*one].round]);
            let sum: f64 = own.sum();
            let level = &mut self.levels[point];
            level.log_rate = sum / level.readings.len() as f64;
        }
    }

    /// Estimates each point's noise from the residuals of the fit, and the noise of the kinds from
    /// that of the points.
    fn find_noise(&mut self, kinds: &[usize]) {
        let mut weight_of_round = vec![0.0; self.rounds.len()];
        for reading in &self.readings {
            weight_of_round[reading.round] += self.weight(reading.point);
        }
        for point in 0..self.levels.len() {
            let (mut squares, mut degrees) = (0.0, 0.0);
            let level = &self.levels[point];
            let once = 1.0 / level.readings.len() as f64;
            for one in &level.readings {
                let round = self.readings[*one].round;
                let rest = self.log_rate(*one) - self.rounds[round] - level.log_rate;
                squares += rest * rest;
                // The part of this reading's residual that the effect of the round took.
                let taken = if self.points_in_round[round] < 2 {
                    0.0
                } else {
                    self.weight(point) / weight_of_round[round]
                };
                degrees += (1.0 - once) * (1.0 - taken);
            }
            let level = &mut self.levels[point];
            level.own_noise = NoiseEstimate::of_squares(squares, degrees);
        }
        let kinds_max = kinds.iter().max().map_or(0, |most| most + 1);
        let of_kinds: Vec<Option<NoiseEstimate>> = (0..kinds_max)
            .map(|kind| {
                let levels = self.levels.iter().zip(kinds);
                let of_kind = levels.filter(|(_, of_kind)| **of_kind == kind);
                let known: Vec<NoiseEstimate> =
                    of_kind.filter_map(|(level, _)| level.own_noise).collect();
                NoiseEstimate::of_kind(&known)
            })
            .collect();
        // A point that was measured once, and whose kind is not known yet, is taken to be as noisy
        // as the noisiest kind; a point that is slower even so is slower.
        let by_variance =
            |one: &NoiseEstimate, other: &NoiseEstimate| one.variance.total_cmp(&other.variance);
        let noisiest = of_kinds.iter().flatten().copied().max_by(by_variance);
        let with_stalls: Vec<Option<NoiseEstimate>> = (0..kinds_max)
            .map(|kind| self.noise_of_stalls(kinds, kind))
            .collect();
        let pooled: Vec<Option<NoiseEstimate>> = (0..kinds_max)
            .map(|kind| self.pooled_noise(kinds, kind))
            .collect();
        for (level, kind) in self.levels.iter_mut().zip(kinds) {
            let of_others = of_kinds[*kind].or(noisiest.filter(|_| level.own_noise.is_none()));
            let joined = NoiseEstimate::joined(level.own_noise, of_others);
            // The rounds may follow the quietest of two points, which then has no residuals.
            let joined = joined.or(pooled[*kind].filter(|_| level.readings.len() > 1));
            let of_stalls = with_stalls[*kind].filter(|_| level.stalled > 0);
            let all = [joined, of_stalls].into_iter().flatten();
            level.noise_besides_stalls = joined.map(NoiseEstimate::believed);
            level.noise = all.max_by(by_variance).map(NoiseEstimate::believed);
        }
    }

    /// The noise of those points of a kind that show some of their own, as if it were one and the
    /// same; `None` if none does.
    fn pooled_noise(&self, kinds: &[usize], kind: usize) -> Option<NoiseEstimate> {
        let levels = self.levels.iter().zip(kinds);
        let of_kind = levels.filter(|(_, of_kind)| **of_kind == kind);
        of_kind.fold(None, |all, (level, _)| {
            NoiseEstimate::joined(all, level.own_noise)
        })
    }

    /// The noise that stalls bring to those points of a kind that met one; `None` if none did.
    /// Which points meet one is chance, and how a point's own readings scatter does not show it:
    /// one meets it each time. So it is that of a lottery which all readings of the kind draw from.
    /// A round and the same backwards draw alike where stalls come regularly, so two readings are
    /// one draw.
    fn noise_of_stalls(&self, kinds: &[usize], kind: usize) -> Option<NoiseEstimate> {
        let of_kind = self.readings.iter().filter(|one| kinds[one.point] == kind);
        let all = of_kind.clone().count() as f64;
        let losses: Vec<f64> = of_kind.map(stall_loss).filter(|loss| *loss > 0.0).collect();
        let hits = losses.len() as f64;
        if losses.is_empty() {
            return None;
        }
        let square = losses.iter().map(|loss| loss * loss).sum::<f64>() / hits;
        // The rule of succession: what was not seen in a few readings is not impossible.
        let chance = (hits + 1.0) / (all + 2.0);
        Some(NoiseEstimate {
            variance: READINGS_PER_DRAW * chance * (1.0 - chance) * square,
            degrees: (all - 1.0).clamp(1.0, STALL_DEGREES_MAX),
        })
    }

    /// The estimate for a point; `None` if it has no reading.
    pub fn estimate(&self, point: usize) -> Option<Estimate> {
        let level = &self.levels[point];
        let repeats = level.readings.len();
        if repeats == 0 {
            return None;
        }
        let half_width = level.noise.map(|noise| {
            t_two_sided(OUTSIDE, whole(noise.degrees)) * (noise.variance / repeats as f64).sqrt()
        });
        let half_width = half_width.filter(|half| *half <= SAYS_NOTHING);
        let around = |half: f64| [(level.log_rate - half).exp(), (level.log_rate + half).exp()];
        Some(Estimate {
            repeats,
            rate_bytes_per_s: level.log_rate.exp(),
            ci95_bytes_per_s: half_width.map(around),
            spread: level.own_noise.map(|noise| noise.variance.sqrt()),
        })
    }

    /// Compares a point's rate with another's. If more than two points might have been compared,
    /// some pair looks different by chance: `points` says how many there are. `None` if one of the
    /// two has no reading.
    pub fn compare(&self, point: usize, other: usize, points: usize) -> Option<Difference> {
        let (one, two) = (&self.levels[point], &self.levels[other]);
        if one.readings.is_empty() || two.readings.is_empty() {
            return None;
        }
        let log = one.log_rate - two.log_rate;
        let share = log.exp_m1();
        if point == other {
            return Some(Difference {
                share,
                ci95: Some([0.0, 0.0]),
                is_noise: true,
            });
        }
        // Bonferroni's correction: the best was chosen because it is above, so each pair counts as
        // a comparison.
        let pairs = (points.saturating_sub(1) * points / 2).max(1);
        let widths = [1, pairs].map(|pairs| self.half_width(one, two, OUTSIDE / pairs as f64));
        let [Some(of_this), Some(of_all)] = widths else {
            return Some(Difference {
                share,
                ci95: None,
                is_noise: true,
            });
        };
        let is_noise = log.abs() <= of_all;
        // What is beyond all noise is known to differ, however wide the interval.
        let is_reported = !is_noise || of_this <= SAYS_NOTHING;
        Some(Difference {
            share,
            ci95: is_reported.then(|| [(log - of_all).exp_m1(), (log + of_all).exp_m1()]),
            is_noise,
        })
    }

    /// How far the difference of two levels is from the true one at most, but for this part of
    /// cases; `None` if nothing is known of their noise.
    fn half_width(&self, one: &Level, two: &Level, outside: f64) -> Option<f64> {
        let rounds = self.rounds_apart(one, two);
        let by_chance = |first: NoiseEstimate, second: NoiseEstimate| {
            let (first, second) = (one.of_mean(first), two.of_mean(second));
            let variance = first.variance + second.variance;
            // The degrees of freedom by Welch and Satterthwaite.
            let degrees = variance.powi(2)
                / (first.variance.powi(2) / first.degrees
                    + second.variance.powi(2) / second.degrees);
            t_two_sided(outside, whole(degrees)) * (variance + rounds).sqrt()
        };
        let with_stalls = by_chance(one.noise?, two.noise?);
        let besides = one.noise_besides_stalls.zip(two.noise_besides_stalls);
        // Whichever points meet the stalls, they cost no more time than they last.
        let with_all_lost = besides.map(|(first, second)| {
            let slower = if one.log_rate < two.log_rate {
                one
            } else {
                two
            };
            by_chance(first, second) + STALLS_MOST * slower.stall_loss
        });
        Some(with_all_lost.map_or(with_stalls, |bound| with_stalls.min(bound)))
    }

    /// The part of a difference's variance that comes from measuring the two in different rounds.
    fn rounds_apart(&self, one: &Level, other: &Level) -> f64 {
        let mut part = vec![0.0; self.rounds.len()];
        for (level, sign) in [(one, 1.0), (other, -1.0)] {
            for reading in &level.readings {
                part[self.readings[*reading].round] += sign / level.readings.len() as f64;
            }
        }
        let rows = self.covariance.iter().zip(&part);
        rows.map(|(row, own)| {
            let along = row.iter().zip(&part).map(|(value, other)| value * other);
            own * along.sum::<f64>()
        })
        .sum()
    }

    /// The fastest round over the slowest, among those that count; `None` if fewer than two do.
    pub fn drift(&self, is_counted: impl Fn(usize) -> bool) -> Option<RoundDrift> {
        let rounds: Vec<usize> = (0..self.rounds.len())
            .filter(|round| self.points_in_round[*round] >= 2 && is_counted(*round))
            .collect();
        let by_share =
            |one: &&usize, other: &&usize| self.rounds[**one].total_cmp(&self.rounds[**other]);
        let (least, most) = (
            *rounds.iter().min_by(by_share)?,
            *rounds.iter().max_by(by_share)?,
        );
        let apart = self.rounds[most] - self.rounds[least];
        let variance = |one: usize, other: usize| self.covariance[one][other];
        let of_both = variance(least, least) + variance(most, most) - 2.0 * variance(least, most);
        (least != most).then(|| RoundDrift {
            share: apart.exp_m1(),
            is_noise: apart <= DRIFT_DEVIATIONS * of_both.max(0.0).sqrt(),
        })
    }
}

/// What the longest stall of a reading cost it, as a logarithm.
fn stall_loss(reading: &PointReading) -> f64 {
    -(1.0 - reading.stall_share.min(STALL_SHARE_MAX)).ln()
}

fn whole(degrees: f64) -> u32 {
    (degrees.floor() as u32).max(1)
}

/// The inverse of a symmetric, positive definite matrix, by Gauss and Jordan.
fn inverted(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let count = matrix.len();
    for (index, row) in matrix.iter_mut().enumerate() {
        row.resize(2 * count, 0.0);
        row[count + index] = 1.0;
    }
    for pivot in 0..count {
        let scale = matrix[pivot][pivot];
        matrix[pivot].iter_mut().for_each(|value| *value /= scale);
        let pivot_row = matrix[pivot].clone();
        for (index, row) in matrix.iter_mut().enumerate() {
            if index != pivot {
                let factor = row[pivot];
                let values = row.iter_mut().zip(&pivot_row);
                values.for_each(|(value, other)| *value -= factor * other);
            }
        }
    }
    matrix
        .into_iter()
        .map(|mut row| row.split_off(count))
        .collect()
}
