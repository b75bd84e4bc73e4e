//! Compares a run without a break with what the samples promise for the same stretch, and lowers
//! the promise to what the run held. Pure; the conclusion calls it.
//!
//! Each sample begins after a pause, in which a cache is emptied and a throttle gives credit back.
//! What passes at the beginning of a sample is then no rate that lasts. A run without a break has
//! that only once, at its beginning, which does not count.

use super::fit::Fit;
use super::zone::FittedZone;

/// A run that falls short by less than this part holds the rate.
const SHORT_MIN: f64 = 0.05;
/// A run that falls short by no more than this many standard deviations of a sample holds the rate:
/// chance explains it.
const DEVIATIONS: f64 = 3.0;
/// A run that falls short by this part never holds the rate: a run is far longer than a sample, and
/// averages what makes samples differ.
const SHORT_MAX: f64 = 0.10;
/// Zones that differ by less than this part are tried in one run.
const ALIKE: f64 = 0.05;

/// A run without a break.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HeldRate {
    /// The number of its curve.
    pub(super) curve: usize,
    /// The part of the target at which it began,
    pub(super) from: f64,
    /// and how long it took.
    pub(super) elapsed_s: f64,
    /// The rate that the samples promise where it counts.
    pub(super) promised: f64,
    /// The rate that it held there.
    pub(super) held: f64,
}

/// Why a run without a break tells nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhyUntried {
    /// There was no time for it, or the user ended the profile.
    Time,
    /// Bad spots leave no stretch that is long enough for several targets.
    BadSpots,
    /// A request failed, or nothing was transferred.
    Failure,
}

impl HeldRate {
    /// Whether it falls short of what the samples promise, by more than noise explains.
    pub(super) fn is_short(&self, noise: f64) -> bool {
        let explained = (DEVIATIONS * noise).clamp(SHORT_MIN, SHORT_MAX);
        self.held < self.promised * (1.0 - explained)
    }
}

/// The zones in which the promise is tried: the slowest, and the fastest if that is another.
pub(super) fn zones_to_try(fit: &Fit) -> Vec<FittedZone> {
    let fastest = fit.zones.iter();
    let fastest = fastest.max_by(|one, other| one.rate.total_cmp(&other.rate));
    let (Some(slowest), Some(fastest)) = (fit.slowest_zone(), fastest) else {
        return Vec::new();
    };
    if slowest.rate > fastest.rate * (1.0 - ALIKE) {
        return vec![*slowest];
    }
    vec![*slowest, *fastest]
}

/// The rate of going over a stretch as the samples show it, bad spots included: all bytes over all
/// time. Both are parts of the target; what goes beyond its end goes on at its start.
pub(super) fn promised_rate(fit: &Fit, from: f64, length: f64) -> Option<f64> {
    let mut time = 0.0;
    let (mut at, mut left) = (from.rem_euclid(1.0), length);
    while left > f64::EPSILON {
        let edges = fit.zones.iter().map(|zone| zone.to);
        let spots = fit.bad_spots.iter().flat_map(|spot| [spot.from, spot.to]);
        let next = edges
            .chain(spots)
            .filter(|edge| *edge > at)
            .fold(1.0, f64::min);
        let step = (next - at).min(left);
        time += step / rate_at(fit, at + step / 2.0)?;
        left -= step;
        at = if next >= 1.0 { 0.0 } else { next };
    }
    (time > 0.0).then(|| length / time)
}

fn rate_at(fit: &Fit, position: f64) -> Option<f64> {
    let mut spots = fit.bad_spots.iter();
    let spot = spots.find(|spot| (spot.from..spot.to).contains(&position));
    let rate = spot
        .map(|spot| spot.rate)
        .or_else(|| Some(fit.zone_at(position)?.rate));
    rate.filter(|rate| *rate > 0.0)
}

/// Lowers rates to what runs without a break held.
#[derive(Debug, Clone, Default)]
pub(super) struct Lowering {
    /// Promised rates, ascending, and the part of each that was held.
    known: Vec<(f64, f64)>,
}

impl Lowering {
    /// What the runs of one curve say.
    pub(super) fn of<'a>(runs: impl Iterator<Item = &'a HeldRate>, noise: f64) -> Lowering {
        let part = |run: &HeldRate| {
            if run.is_short(noise) {
                run.held / run.promised
            } else {
                1.0
            }
        };
        let mut known: Vec<(f64, f64)> = runs.map(|run| (run.promised, part(run))).collect();
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        Lowering { known }
    }

    /// The rate that lasts where samples show this one. Between two rates that were tried the part
    /// that is held changes evenly with the logarithm of the rate.
    pub(super) fn lowered(&self, rate: f64) -> f64 {
        let part = match self.known[..] {
            [] => 1.0,
            [(_, part)] => part,
            [(low, low_part), .., (high, high_part)] => {
                let way = (rate / low).ln() / (high / low).ln();
                let way = if way.is_finite() {
                    way.clamp(0.0, 1.0)
                } else {
                    0.0
                };
                low_part + (high_part - low_part) * way
            }
        };
        rate * part
    }

    /// The findings with the rates that last. A bad spot keeps its rate, unless its zone is slower.
    pub(super) fn of_fit(&self, fit: &Fit) -> Fit {
        let mut lowered = fit.clone();
        for zone in &mut lowered.zones {
            zone.rate = self.lowered(zone.rate);
        }
        for value in lowered.values.iter_mut().flatten() {
            *value = self.lowered(*value);
        }
        let zones = lowered.clone();
        for spot in &mut lowered.bad_spots {
            let middle = f64::midpoint(spot.from, spot.to);
            let zone = zones
                .zone_at(middle)
                .map_or(f64::INFINITY, |zone| zone.rate);
            spot.rate = spot.rate.min(zone);
        }
        lowered
    }
}

#[cfg(test)]
mod tests {
    use super::super::fit::fit;
    use super::super::visits::VisitedPlace;
    use super::*;

    /// Forty samples of a target whose second half is slower.
    fn of_two_zones() -> Fit {
        let place = |index: usize| VisitedPlace {
            from: index as f64 / 40.0,
            to: (index as f64 + 0.5) / 40.0,
            visits: vec![if index < 20 { 60e6 } else { 30e6 }; 2],
        };
        fit(&(0..40).map(place).collect::<Vec<_>>())
    }

    fn run(promised: f64, held: f64) -> HeldRate {
        HeldRate {
            curve: 0,
            from: 0.0,
            elapsed_s: 1.0,
            promised,
            held,
        }
    }

    #[test]
    fn what_a_stretch_promises_is_all_bytes_over_all_time_and_goes_on_at_the_start() {
        let fit = of_two_zones();
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 0.05;
        assert!(near(promised_rate(&fit, 0.1, 0.2), 60e6));
        assert!(near(promised_rate(&fit, 0.0, 1.0), 40e6));
        assert!(near(promised_rate(&fit, 0.9, 0.2), 40e6));
        assert!(near(promised_rate(&fit, 0.9, 3.0), 40e6));
        assert_eq!(zones_to_try(&fit).len(), 2);
    }

    #[test]
    fn a_throttle_that_only_the_fast_zone_meets_lowers_that_zone() {
        let runs = [run(60e6, 40e6), run(30e6, 29.9e6)];
        let lowering = Lowering::of(runs.iter(), 0.002);
        assert!((lowering.lowered(60e6) - 40e6).abs() < 1.0);
        assert!((lowering.lowered(30e6) - 30e6).abs() < 1.0);
        let between = lowering.lowered(45e6);
        assert!((35e6..40e6).contains(&between), "{between}");
        let fit = lowering.of_fit(&of_two_zones());
        assert!((fit.outer_rate().unwrap() / 40e6 - 1.0).abs() < 0.01);
        assert!((fit.slowest_zone().unwrap().rate / 30e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn noise_lowers_nothing() {
        let one = run(60e6, 55e6);
        assert!(one.is_short(0.002));
        assert!(!one.is_short(0.03));
        assert!((Lowering::of([one].iter(), 0.03).lowered(60e6) - 60e6).abs() < 1.0);
        // Samples that scatter much do not excuse what is far below them.
        assert!(run(57.6e6, 45.3e6).is_short(0.05));
    }
}
