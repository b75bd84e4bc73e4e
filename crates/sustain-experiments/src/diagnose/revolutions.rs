//! Tells whether disks that collapse together wait for whole revolutions of their platters: then a
//! record takes a revolution of a common speed longer than alone, whatever else is active. Pure;
//! the conclusion of a diagnosis calls it.

use std::collections::BTreeMap;

use sustain_document::diagnose::{Alone, Measurement, Wall, WallKind};
use sustain_document::revolutions::LostRevolutions;

/// The speeds at which disks are made to turn.
const SPEEDS_PER_MINUTE: [u32; 6] = [4200, 5400, 5900, 7200, 10_000, 15_000];
/// More of them would fit almost any time.
const REVOLUTIONS_MAX: u32 = 2;
/// Each reading is so near to whole revolutions.
const TOLERANCE: f64 = 0.03;
/// One set of disks may be near to them by chance.
const SETS_MIN: usize = 2;

/// The revolutions that each record waits for in every reading in which members of this wall
/// reached less together than one of them alone; none if they are not the same ones in all.
pub(super) fn lost_revolutions(
    wall: &Wall,
    alone: &[Alone],
    measurements: &[Measurement],
    record_bytes: u64,
) -> Option<LostRevolutions> {
    if wall.kind != WallKind::Collapse {
        return None;
    }
    let alone: BTreeMap<&str, f64> = alone
        .iter()
        .filter_map(|one| Some((one.target.as_str(), one.rate_bytes_per_s?)))
        .collect();
    let is_of_wall = |reading: &&Measurement| {
        let members = reading.members.iter();
        reading.members.len() > 1 && members.clone().all(|member| wall.members.contains(member))
    };
    let fell = |reading: &&Measurement| {
        let rates = reading.members.iter();
        let rates = rates.filter_map(|member| alone.get(member.as_str()));
        reading.sum_bytes_per_s < rates.copied().fold(0.0, f64::max)
    };
    let readings: Vec<&Measurement> = measurements
        .iter()
        .filter(is_of_wall)
        .filter(fell)
        .collect();
    let mut sets: Vec<&[String]> = readings.iter().map(|one| &one.members[..]).collect();
    sets.sort_unstable();
    sets.dedup();
    if sets.len() < SETS_MIN {
        return None;
    }
    let times = readings.iter().flat_map(|reading| {
        let members = reading.members.iter().zip(&reading.rates_bytes_per_s);
        members.filter_map(|(member, rate)| {
            let alone = alone.get(member.as_str())?;
            Some((record_bytes as f64 / alone, record_bytes as f64 / rate))
        })
    });
    of_times(&times.collect::<Vec<(f64, f64)>>(), record_bytes)
}

/// The same from the times of a record alone and beside others, in seconds.
fn of_times(times: &[(f64, f64)], record_bytes: u64) -> Option<LostRevolutions> {
    let furthest = |revolutions: u32, per_minute: u32| {
        let whole_s = f64::from(revolutions) * 60.0 / f64::from(per_minute);
        let off = times
            .iter()
            .map(|(alone_s, beside_s)| ((beside_s - alone_s) / whole_s - 1.0).abs());
        off.fold(0.0, f64::max)
    };
    let all = (1..=REVOLUTIONS_MAX)
        .flat_map(|revolutions| SPEEDS_PER_MINUTE.map(|per_minute| (revolutions, per_minute)));
    let nearest =
        all.min_by(|one, other| furthest(one.0, one.1).total_cmp(&furthest(other.0, other.1)));
    let (revolutions, per_minute) = nearest?;
    let mean = |sum: f64| sum / times.len() as f64;
    (furthest(revolutions, per_minute) <= TOLERANCE).then(|| LostRevolutions {
        revolutions_per_minute: per_minute,
        revolutions_per_record: revolutions,
        record_bytes,
        record_alone_s: mean(times.iter().map(|(alone_s, _)| alone_s).sum()),
        record_beside_others_s: mean(times.iter().map(|(_, beside_s)| beside_s).sum()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revolution_more_for_each_record_is_found_whatever_the_rate_alone() {
        let at_7200 = 60.0 / 7200.0;
        let times: Vec<(f64, f64)> = [0.0023, 0.0031]
            .map(|alone_s| (alone_s, alone_s + at_7200 * 1.01))
            .to_vec();
        let found = of_times(&times, 80_000).unwrap();
        let speed = (found.revolutions_per_minute, found.revolutions_per_record);
        assert_eq!(speed, (7200, 1));
        let twice = [(0.001, 0.001 + 2.0 * 60.0 / 5400.0)];
        let found = of_times(&twice, 80_000).unwrap();
        let speed = (found.revolutions_per_minute, found.revolutions_per_record);
        assert_eq!(speed, (5400, 2));
    }

    #[test]
    fn other_delays_and_delays_that_differ_are_none() {
        // A queue that is shared halves each rate, for records of any length.
        assert_eq!(of_times(&[(0.0030, 0.0060), (0.0030, 0.0061)], 1), None);
        let at_7200 = 60.0 / 7200.0;
        let differ = [(0.002, 0.002 + at_7200), (0.002, 0.002 + at_7200 * 1.1)];
        assert_eq!(of_times(&differ, 1), None);
    }
}
