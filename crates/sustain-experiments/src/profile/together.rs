//! Compares all targets at once with each alone, position by position: whether they share a limit,
//! of what kind it is, and from which position on it no longer binds. Pure; the conclusion calls
//! it.
//!
//! On disks that share a channel, the sum stays level where the limit binds while the rates alone
//! fall (`limit`); or the sum is erratic, or rises, or is a whole part of the rates alone, because
//! a disk that is served late waits for a revolution (`collapse`). Further in, where the disks need
//! less than the limit lets through, the curve becomes smooth and equals the sum of the rates
//! alone. A plain limit meets that sum where it ends; a collapse leaps up to it.

use sustain_document::profile::SharedLimitKind;
use sustain_statistics::median;

use super::noise::{NOISE_MIN, noise};
use super::shape::FittedLine;

/// Fewer positions say nothing.
const POSITIONS_MIN: usize = 4;
/// A smaller loss is no limit,
const LOSS_MIN: f64 = 0.05;
/// nor is one that chance explains at this many standard deviations.
const DEVIATIONS: f64 = 5.0;
/// If the level of a limit is known, a sum alone that is above it by this part is held by it,
const HELD_MIN: f64 = 0.01;
/// if it is above by this many standard deviations as well.
const HELD_DEVIATIONS: f64 = 3.0;
/// A limit that binds at less than this part of the positions binds nowhere.
const BOUND_MIN: f64 = 0.04;
/// A sum is erratic if its noise is more than this,
const ERRATIC_MIN: f64 = 0.04;
/// and this many times that of the targets alone.
const ERRATIC_TIMES: f64 = 3.0;
/// A sum rises if it does so by more than this part,
const RISE_MIN: f64 = 0.05;
/// and by this many standard errors.
const RISE_ERRORS: f64 = 4.0;
/// Where a plain limit ends, the sum at once is above it by no more than this part.
const LEAP_MIN: f64 = 0.15;
/// A sum is a whole part of the sum alone if it is this near to it,
const PART_TOLERANCE: f64 = 0.06;
/// and stays so while the disks fall by at least this part.
const PART_FALL_MIN: f64 = 0.10;
/// All at once are less than one alone if they are so by more than this part.
const LESS_MIN: f64 = 0.02;

/// One position at which all were measured at once, and each alone.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The position, as a part of each target.
    pub(super) position: f64,
    /// The sum at each visit.
    pub(super) sums: Vec<f64>,
    /// The sum of the rates alone.
    pub(super) alone: f64,
    /// The highest of the rates alone.
    pub(super) best_alone: f64,
}

impl Spot {
    /// The sum, of all visits.
    pub(super) fn sum(&self) -> f64 {
        median(&self.sums)
    }
}

/// All bytes from the first spot to the last over the time that they take. Where more is measured
/// because the rate changes there, that counts no more than its part of the bytes.
pub(super) fn mean_rate(spots: &[Spot], rate: impl Fn(&Spot) -> f64) -> f64 {
    let [first, .., last] = spots else {
        return spots.first().map_or(0.0, rate);
    };
    let stretches = spots.windows(2).map(|ends| {
        let slowness = f64::midpoint(1.0 / rate(&ends[0]), 1.0 / rate(&ends[1]));
        (ends[1].position - ends[0].position) * slowness
    });
    (last.position - first.position) / stretches.sum::<f64>()
}

/// The limit that the targets share.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shared {
    pub(super) kind: SharedLimitKind,
    /// The rate that it lets through, if known.
    pub(super) rate: Option<f64>,
    /// From this position on it no longer binds; `None` if it binds to the end.
    pub(super) until: Option<f64>,
    /// The part of the sum alone that is lost where it binds.
    pub(super) loss: f64,
    /// A smaller loss would not be seen where it ends.
    pub(super) resolution: f64,
    pub(super) is_erratic: bool,
    pub(super) is_rising: bool,
    /// All at once get less than one of them alone, which no limit does.
    pub(super) is_less_than_one: bool,
    /// The sum is the sum alone divided by this number.
    pub(super) part: Option<u32>,
}

/// Whether all targets at once get less than the fastest of them alone.
pub(super) fn is_less_than_one(sum_bytes_per_s: f64, best_alone_bytes_per_s: f64) -> bool {
    sum_bytes_per_s < best_alone_bytes_per_s * (1.0 - LESS_MIN)
}

/// The smallest part of the sum alone whose loss is seen.
pub(super) fn least_loss(alone_noise: f64) -> f64 {
    1.0 - (-least_loss_log(alone_noise)).exp()
}

fn least_loss_log(alone_noise: f64) -> f64 {
    let noise = alone_noise.max(NOISE_MIN);
    (-(1.0 - LOSS_MIN).ln()).max(DEVIATIONS * noise * 2.0_f64.sqrt())
}

/// The limit that the targets share, if they do. `spots` are in order of position; `alone_noise` is
/// the standard deviation of the sum alone, as a part of it. `None` if too little is known.
pub(super) fn shared(spots: &[Spot], alone_noise: f64) -> Option<Option<Shared>> {
    if spots.len() < POSITIONS_MIN {
        return None;
    }
    let alone_noise = alone_noise.max(NOISE_MIN);
    let logs: Vec<f64> = spots.iter().map(|spot| median(&spot.sums).ln()).collect();
    let losses: Vec<f64> = spots
        .iter()
        .zip(&logs)
        .map(|(spot, log)| spot.alone.ln() - log)
        .collect();
    let tolerance = least_loss_log(alone_noise);
    let bound: Vec<bool> = losses.iter().map(|loss| *loss > tolerance).collect();
    let end = bound_end(&bound);
    if (end as f64) < (BOUND_MIN * spots.len() as f64).max(2.0) {
        return Some(None);
    }
    let (within, within_logs) = (&spots[..end], &logs[..end]);
    let visits: Vec<Vec<f64>> = within.iter().map(|spot| spot.sums.clone()).collect();
    let neighbours: Vec<Vec<f64>> = within_logs.iter().map(|log| vec![log.exp()]).collect();
    // An erratic sum may repeat itself at a position; then the neighbours show that it is erratic.
    let scatter = noise(&visits).max(noise(&neighbours));
    let is_erratic = scatter > ERRATIC_MIN.max(ERRATIC_TIMES * alone_noise);
    let positions: Vec<f64> = within.iter().map(|spot| spot.position).collect();
    let line = FittedLine::through(&positions, within_logs);
    let alone_logs: Vec<f64> = within.iter().map(|spot| spot.alone.ln()).collect();
    let alone_line = FittedLine::through(&positions, &alone_logs);
    let least_rise = RISE_MIN.max(RISE_ERRORS * scatter * line.error_per_noise);
    let is_rising = line.rise > least_rise && alone_line.rise < line.rise / 2.0;
    let level = median(within_logs).exp();
    let end_rate = spots
        .get(end)
        .map(|free| (spots[end - 1].alone * free.alone).sqrt());
    let behind = logs.get(end).map(|log| log.exp());
    let leaps = behind.is_some_and(|sum| sum > level * (1.0 + LEAP_MIN));
    let loss_line = FittedLine::through(&positions, &losses[..end]);
    let part = whole_part(median(&losses[..end]).exp())
        .filter(|_| -alone_line.rise > PART_FALL_MIN && loss_line.rise.abs() < PART_TOLERANCE);
    // One alone has shown that what they share lets more through.
    let is_less = |(spot, log): (&Spot, &f64)| spot.best_alone.ln() - log > tolerance;
    let less = within.iter().zip(within_logs).filter(|one| is_less(*one));
    let is_less_than_one = 2 * less.count() > end;
    let is_collapse = is_erratic || is_rising || leaps || part.is_some() || is_less_than_one;
    let held = HELD_MIN.max(HELD_DEVIATIONS * alone_noise * 2.0_f64.sqrt());
    let free = if is_collapse {
        end
    } else {
        // The level is known now: the limit ends where the targets need no more than it, not where
        // the loss is small.
        let is_held = |spot: &Spot| (spot.alone / level).ln() > held;
        let is_level = |log: &f64| (log - level.ln()).abs() <= tolerance;
        let all = spots.iter().zip(&logs).enumerate();
        let all = all.map(|(index, (spot, log))| index < end || is_held(spot) && is_level(log));
        bound_end(&all.collect::<Vec<bool>>()).max(end)
    };
    let until = spots
        .get(free)
        .map(|spot| f64::midpoint(spots[free - 1].position, spot.position));
    let (kind, rate) = if is_collapse {
        (SharedLimitKind::Collapse, end_rate)
    } else {
        (SharedLimitKind::Limit, Some(level))
    };
    Some(Some(Shared {
        kind,
        rate,
        until,
        loss: 1.0 - mean_rate(within, Spot::sum) / mean_rate(within, |spot| spot.alone),
        resolution: if is_collapse { tolerance } else { held },
        is_erratic,
        is_rising,
        is_less_than_one,
        part,
    }))
}

/// Two if `times` is about 2, and so on up to four.
fn whole_part(times: f64) -> Option<u32> {
    let parts = [2, 3, 4].into_iter();
    let mut near = parts.filter(|part| (times / f64::from(*part) - 1.0).abs() < PART_TOLERANCE);
    near.next()
}

/// The position that best divides them into bound ones before and free ones after.
fn bound_end(bound: &[bool]) -> usize {
    let all = bound.iter().filter(|is_bound| **is_bound).count();
    // Free positions before the end, and bound ones after it, count as wrong.
    let (mut wrong, mut least, mut end) = (all, all, 0);
    for (index, is_bound) in bound.iter().enumerate() {
        if *is_bound {
            wrong -= 1;
        } else {
            wrong += 1;
        }
        if wrong < least {
            (least, end) = (wrong, index + 1);
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two disks that fall from 35 MB/s to 20 MB/s each.
    fn spots(sum: impl Fn(usize, f64) -> f64) -> Vec<Spot> {
        (0..60)
            .map(|index| {
                let position = index as f64 / 59.0;
                let alone = 2.0 * (35e6 - 15e6 * position);
                let sum = sum(index, alone);
                Spot {
                    position,
                    sums: vec![sum, sum],
                    alone,
                    best_alone: alone / 2.0,
                }
            })
            .collect()
    }

    #[test]
    fn a_limit_is_level_until_the_disks_need_less() {
        let found = shared(&spots(|_, alone| alone.min(55e6)), 0.005);
        let found = found.unwrap().unwrap();
        assert_eq!(found.kind, SharedLimitKind::Limit);
        assert!((found.rate.unwrap() / 55e6 - 1.0).abs() < 0.001);
        // They need 55 MB/s halfway; a loss of a twentieth is the least that is seen.
        let until = found.until.unwrap();
        assert!((0.38..0.52).contains(&until), "{until}");
        assert!((0.1..0.25).contains(&found.loss), "{}", found.loss);
    }

    #[test]
    fn a_limit_ends_where_the_disks_need_no_more_though_it_costs_little_before() {
        let zoned = |second: f64| {
            let zones = move |position: f64| match position {
                at if at < 0.4 => 400e6,
                at if at < 0.8 => second,
                _ => 200e6,
            };
            let mut spots = spots(|_, _| 0.0);
            for spot in &mut spots {
                spot.alone = zones(spot.position);
                spot.best_alone = spot.alone / 2.0;
                spot.sums = vec![spot.alone.min(300e6); 2];
            }
            shared(&spots, 0.002).unwrap().unwrap()
        };
        let until = zoned(305e6).until.unwrap();
        assert!((0.78..0.82).contains(&until), "{until}");
        let free = zoned(299e6);
        assert!((0.38..0.42).contains(&free.until.unwrap()), "{free:?}");
        assert!((0.005..0.02).contains(&free.resolution), "{free:?}");
        assert!((least_loss(0.001) - LOSS_MIN).abs() < 1e-9);
        assert!(least_loss(0.02) > 0.13, "what noise hides is not denied");
    }

    #[test]
    fn chaos_that_turns_smooth_is_a_collapse_above_a_rate() {
        let chaos = |index: usize, alone: f64| {
            if alone > 61e6 {
                alone * (0.3 + 0.05 * ((index * 37) % 7) as f64)
            } else {
                alone
            }
        };
        let found = shared(&spots(chaos), 0.005).unwrap().unwrap();
        assert_eq!(found.kind, SharedLimitKind::Collapse);
        assert!(found.is_erratic);
        assert!((found.rate.unwrap() / 61e6 - 1.0).abs() < 0.02);
        assert!((0.27..0.33).contains(&found.until.unwrap()));
    }

    #[test]
    fn a_sum_that_rises_while_the_disks_fall_is_a_collapse() {
        let found = shared(&spots(|_, alone| 15e6 + (70e6 - alone) / 2.0), 0.005);
        let found = found.unwrap().unwrap();
        assert_eq!(found.kind, SharedLimitKind::Collapse);
        assert!(found.is_rising && !found.is_erratic);
        assert_eq!((found.rate, found.until), (None, None));
    }

    #[test]
    fn half_of_what_they_give_alone_is_a_collapse_though_it_is_smooth() {
        let half = |_: usize, alone: f64| alone / 2.0;
        let found = shared(&spots(half), 0.005).unwrap().unwrap();
        assert_eq!(
            (found.kind, found.part),
            (SharedLimitKind::Collapse, Some(2))
        );
        let leaping = |_: usize, alone: f64| if alone > 60e6 { 32e6 } else { alone };
        let found = shared(&spots(leaping), 0.005).unwrap().unwrap();
        assert_eq!(found.kind, SharedLimitKind::Collapse);
        assert!((found.rate.unwrap() / 60e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn less_than_one_alone_is_a_collapse_though_it_is_level() {
        // A channel that lets 15 MB/s through would let one disk have no more.
        let mut level = spots(|_, _| 15e6);
        for spot in &mut level {
            (spot.alone, spot.best_alone) = (70e6, 35e6);
        }
        let found = shared(&level, 0.005).unwrap().unwrap();
        assert_eq!(found.kind, SharedLimitKind::Collapse);
        assert!(found.is_less_than_one && found.part.is_none() && found.rate.is_none());
    }

    #[test]
    fn a_mean_counts_bytes_and_not_samples() {
        let spot = |position: f64, rate: f64| Spot {
            position,
            sums: vec![rate],
            alone: rate,
            best_alone: rate,
        };
        let even = [
            spot(0.0, 10.0),
            spot(0.5, 10.0),
            spot(0.5, 40.0),
            spot(1.0, 40.0),
        ];
        // Half at 10 and half at 40: 0.05 and 0.0125 of a unit of time.
        assert!((mean_rate(&even, Spot::sum) - 16.0).abs() < 1e-9);
        let mut refined = even.to_vec();
        refined.splice(
            3..3,
            (1..50).map(|at| spot(0.5 + f64::from(at) / 1000.0, 40.0)),
        );
        assert!((mean_rate(&refined, Spot::sum) - 16.0).abs() < 1e-9);
        assert!((mean_rate(&even[..1], Spot::sum) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_sum_of_all_shares_nothing() {
        assert_eq!(shared(&spots(|_, alone| alone * 0.99), 0.005), Some(None));
        assert_eq!(shared(&[], 0.005), None);
    }
}
