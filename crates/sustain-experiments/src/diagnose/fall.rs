//! Finds the readings that show a collapse: targets that reached less together than some of them
//! did. Pure; the advice and the document tell them.

use super::sums::SubsetSums;

/// Targets, by number, that reached less than some of them did.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeenFall {
    pub(super) members: Vec<usize>,
    pub(super) sum: f64,
    pub(super) fewer: Vec<usize>,
    pub(super) fewer_sum: f64,
}

/// The largest fall among subsets of these targets, as a part of the larger sum.
pub(super) fn largest(members: &[usize], sums: &SubsetSums<'_>) -> Option<SeenFall> {
    let inside = sums.iter().filter(|(set, _)| {
        let mut targets = set.iter();
        targets.all(|target| members.contains(target))
    });
    let means: Vec<(&[usize], f64)> = inside.map(|(set, sum)| (*set, *sum)).collect();
    let falls = means.iter().flat_map(|(set, sum)| {
        let is_part = |part: &[usize]| {
            part.len() < set.len() && part.iter().all(|target| set.contains(target))
        };
        let parts = means.iter().filter(move |(part, _)| is_part(part));
        let more = parts.filter(move |(_, of_part)| of_part > sum);
        more.map(move |(fewer, fewer_sum)| SeenFall {
            members: set.to_vec(),
            sum: *sum,
            fewer: fewer.to_vec(),
            fewer_sum: *fewer_sum,
        })
    });
    let left = |fall: &SeenFall| fall.sum / fall.fewer_sum;
    falls.min_by(|one, other| left(one).total_cmp(&left(other)))
}

#[cfg(test)]
mod tests {
    use sustain_statistics::walls::{MeasuredSubset, SearchStep};

    use super::super::sums::means;
    use super::*;

    fn measured(members: &[usize], sum: f64) -> MeasuredSubset {
        MeasuredSubset {
            members: members.to_vec(),
            with_dummy: false,
            step: SearchStep::Ladder,
            sum_bytes_per_s: sum,
            rates_bytes_per_s: vec![sum / members.len() as f64; members.len()],
            predicted_bytes_per_s: None,
            failed: false,
        }
    }

    #[test]
    fn the_largest_fall_is_between_two_and_one_though_all_reach_the_most() {
        let all = [
            measured(&[0], 35.0),
            measured(&[0, 1], 33.0),
            measured(&[0, 1], 33.2),
            measured(&[0, 1, 2], 49.7),
            measured(&[0, 1, 2, 3], 58.6),
            measured(&[4], 900.0),
        ];
        let found = largest(&[0, 1, 2, 3], &means(&all)).unwrap();
        assert_eq!((found.members, found.fewer), (vec![0, 1], vec![0]));
        assert!((found.sum - 33.1).abs() < 1e-9 && found.fewer_sum > 34.9);
        assert_eq!(largest(&[0, 1, 2, 3], &means(&all[3..])), None);
    }
}
