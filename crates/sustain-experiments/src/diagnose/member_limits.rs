//! Decides for each measurement what limited its members: nothing, a wall of the result, or what no
//! wall explains; and whether its sum is the predicted one. The pages only draw it.

use std::collections::{BTreeMap, BTreeSet};

use sustain_document::diagnose::{Alone, Measurement, MemberLimit, Wall};

use super::remarks::explained_within;

/// A smaller loss does not count as a loss, however quiet the readings are.
const LOSS_MIN: f64 = 0.05;
/// A larger loss counts as a loss, however noisy the readings are.
const LOSS_CERTAIN: f64 = 0.2;
/// The sum of a wall's members reaches its limit if it is no further below it than this.
const REACHED_WITHIN: f64 = 0.05;
/// A difference within this many standard deviations of one reading does not count as a loss.
const NOISE_DEVIATIONS: f64 = 3.0;

/// The targets of a measurement, and whether a dummy was among them.
type MeasuredKey = (BTreeSet<String>, bool);

/// What is known of the targets, of which each measurement has some.
struct KnownLimits<'a> {
    alone_bytes_per_s: BTreeMap<&'a str, f64>,
    walls: &'a [Wall],
    noise: f64,
}

/// Fills in what limited the members of each measurement, by the mean of all measurements of the
/// same targets.
pub(super) fn decide(
    measurements: &mut [Measurement],
    alone: &[Alone],
    walls: &[Wall],
    noise: f64,
) {
    let rates = alone.iter();
    let rates = rates.filter_map(|one| Some((one.target.as_str(), one.rate_bytes_per_s?)));
    let known = KnownLimits {
        alone_bytes_per_s: rates.collect(),
        walls,
        noise,
    };
    let mut groups: BTreeMap<MeasuredKey, Vec<usize>> = BTreeMap::new();
    for (index, measurement) in measurements.iter().enumerate() {
        let members = measurement.members.iter().cloned().collect();
        let key = (members, measurement.dummy_bytes_per_s.is_some());
        groups.entry(key).or_default().push(index);
    }
    for group in groups.values() {
        let readings: Vec<&Measurement> = group.iter().map(|one| &measurements[*one]).collect();
        let limits = known.of_members(&readings);
        let is_as_predicted = known.is_as_predicted(&readings);
        for index in group {
            let measurement = &mut measurements[*index];
            let members = measurement.members.iter();
            measurement.limited_by = members.map(|member| limits[member]).collect();
            measurement.is_as_predicted = is_as_predicted;
        }
    }
}

impl KnownLimits<'_> {
    /// What limited each target of these readings, which are all of the same targets. It is the
    /// smallest of its walls whose members together reach the wall's limit.
    fn of_members(&self, readings: &[&Measurement]) -> BTreeMap<String, MemberLimit> {
        let rates = mean_rates(readings);
        // A target by itself shares nothing, so what it reaches is its rate alone.
        let is_alone = rates.len() == 1 && readings[0].dummy_bytes_per_s.is_none();
        let walls = self.walls.iter().enumerate();
        let mut reached: Vec<(usize, &Wall)> = walls
            .filter(|(_, wall)| self.is_reached(wall, &rates))
            .collect();
        reached.sort_by_key(|(_, wall)| wall.members.len());
        let limit = |target: &str, rate: f64| {
            if is_alone || !self.is_slower(target, rate) {
                return MemberLimit::Nothing;
            }
            let has_it = |wall: &Wall| wall.members.iter().any(|member| member == target);
            let own = reached.iter().find(|(_, wall)| has_it(wall));
            own.map_or(MemberLimit::Unknown, |(wall, _)| MemberLimit::Wall {
                wall: *wall,
            })
        };
        let limits = rates.iter();
        limits
            .map(|(target, rate)| ((*target).to_owned(), limit(target, *rate)))
            .collect()
    }

    /// Whether a target is slower than alone by more than readings differ.
    fn is_slower(&self, target: &str, rate_bytes_per_s: f64) -> bool {
        let noise = NOISE_DEVIATIONS * self.noise;
        let alone = self.alone_bytes_per_s.get(target);
        alone.is_some_and(|alone| {
            rate_bytes_per_s < alone * (1.0 - noise.clamp(LOSS_MIN, LOSS_CERTAIN))
        })
    }

    /// Whether several of a wall's members are active and reach its limit together.
    fn is_reached(&self, wall: &Wall, rates: &BTreeMap<&str, f64>) -> bool {
        let members = wall.members.iter();
        let members: Vec<f64> = members
            .filter_map(|member| rates.get(member.as_str()).copied())
            .collect();
        let limit = wall.limit_bytes_per_s;
        let least = wall.at_full_load_bytes_per_s.unwrap_or(limit).min(limit);
        let noise = NOISE_DEVIATIONS * self.noise;
        let sum: f64 = members.iter().sum();
        members.len() > 1 && sum >= least * (1.0 - noise.max(REACHED_WITHIN))
    }

    /// Whether the mean sum of these readings is what the walls predict.
    fn is_as_predicted(&self, readings: &[&Measurement]) -> Option<bool> {
        let last = readings.last()?;
        let predicted = last.predicted_bytes_per_s.filter(|sum| *sum > 0.0)?;
        let sums = readings.iter().map(|reading| reading.sum_bytes_per_s);
        let mean = sums.sum::<f64>() / readings.len() as f64;
        let within = explained_within(self.noise, last.members.len());
        Some((mean / predicted - 1.0).abs() <= within)
    }
}

/// The mean rate of each target.
fn mean_rates<'a>(readings: &[&'a Measurement]) -> BTreeMap<&'a str, f64> {
    let mut rates: BTreeMap<&str, f64> = BTreeMap::new();
    for reading in readings {
        for (member, rate) in reading.members.iter().zip(&reading.rates_bytes_per_s) {
            *rates.entry(member).or_default() += rate / readings.len() as f64;
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use sustain_document::diagnose::{WallKind, WallState};

    const MEGABYTE: f64 = 1e6;

    fn named(targets: &[&str]) -> Vec<String> {
        targets.iter().map(|target| (*target).to_owned()).collect()
    }

    fn alone(rates: &[(&str, f64)]) -> Vec<Alone> {
        let alone = |(target, rate): &(&str, f64)| Alone {
            target: (*target).to_owned(),
            rate_bytes_per_s: Some(rate * MEGABYTE),
        };
        rates.iter().map(alone).collect()
    }

    fn measured(rates: &[(&str, f64)], predicted: f64) -> Measurement {
        let targets: Vec<&str> = rates.iter().map(|(target, _)| *target).collect();
        Measurement {
            members: named(&targets),
            rates_bytes_per_s: rates.iter().map(|(_, rate)| rate * MEGABYTE).collect(),
            sum_bytes_per_s: rates.iter().map(|(_, rate)| rate * MEGABYTE).sum(),
            predicted_bytes_per_s: Some(predicted * MEGABYTE),
            step: "all together".to_owned(),
            dummy_bytes_per_s: None,
            limited_by: Vec::new(),
            is_as_predicted: None,
        }
    }

    fn wall(members: &[&str], limit: f64) -> Wall {
        Wall {
            members: named(members),
            limit_bytes_per_s: limit * MEGABYTE,
            deviation_bytes_per_s: 0.4 * MEGABYTE,
            kind: WallKind::Limit,
            explained_by: None,
            not_explained: None,
            hop: None,
            share_of_hop: None,
            confidence: 0.99,
            state: WallState::Confirmed,
            headroom: 0.5,
            weakest: None,
            prediction: None,
            at_full_load_bytes_per_s: None,
            fall: None,
            missed_revolutions: false,
            lost_revolutions: None,
            shares: Vec::new(),
            shares_repeat: None,
        }
    }

    fn decided(mut readings: Vec<Measurement>, walls: &[Wall], noise: f64) -> Vec<Measurement> {
        let alone = alone(&[("a", 100.0), ("b", 100.0), ("c", 100.0), ("d", 100.0)]);
        decide(&mut readings, &alone, walls, noise);
        readings
    }

    #[test]
    fn the_smallest_wall_that_is_reached_limits_its_members() {
        use MemberLimit::{Nothing, Wall as At};
        let walls = [wall(&["a", "b", "c"], 210.0), wall(&["b", "c"], 120.0)];
        let all = [("a", 90.0), ("b", 60.0), ("c", 60.0), ("d", 100.0)];
        let only_large = [("a", 80.0), ("b", 80.0), ("c", 50.0), ("d", 97.0)];
        let small = decided(vec![measured(&all, 310.0)], &walls, 0.008);
        let outer = [At { wall: 0 }, At { wall: 1 }, At { wall: 1 }, Nothing];
        assert_eq!(small[0].limited_by, outer);
        let large = decided(
            vec![measured(&only_large, 310.0)],
            &[walls[0].clone()],
            0.008,
        );
        let outer = [At { wall: 0 }, At { wall: 0 }, At { wall: 0 }, Nothing];
        assert_eq!(large[0].limited_by, outer);
    }

    #[test]
    fn a_target_at_half_its_rate_is_not_free_however_much_readings_differ() {
        let half = decided(vec![measured(&[("a", 48.0), ("b", 97.0)], 200.0)], &[], 0.2);
        let expected = [MemberLimit::Unknown, MemberLimit::Nothing];
        assert_eq!(half[0].limited_by, expected);
    }

    #[test]
    fn a_wall_of_which_one_member_is_active_limits_nothing() {
        let walls = [wall(&["a", "c"], 80.0)];
        let one = decided(
            vec![measured(&[("a", 80.0), ("b", 100.0)], 200.0)],
            &walls,
            0.008,
        );
        assert_eq!(one[0].limited_by[0], MemberLimit::Unknown);
    }

    #[test]
    fn readings_of_the_same_targets_are_judged_by_their_mean() {
        let low = measured(&[("a", 92.0), ("b", 80.0)], 200.0);
        let high = measured(&[("b", 112.0), ("a", 100.0)], 200.0);
        let both = decided(vec![low.clone(), high], &[], 0.008);
        for reading in &both {
            assert_eq!(reading.limited_by, [MemberLimit::Nothing; 2]);
            assert_eq!(reading.is_as_predicted, Some(true));
        }
        let single = decided(vec![low], &[], 0.008);
        assert_eq!(single[0].limited_by, [MemberLimit::Unknown; 2]);
        assert_eq!(single[0].is_as_predicted, Some(false));
    }

    #[test]
    fn a_target_by_itself_is_limited_by_nothing_shared() {
        let slow = decided(vec![measured(&[("a", 60.0)], 100.0)], &[], 0.008);
        assert_eq!(slow[0].limited_by, [MemberLimit::Nothing]);
    }
}
