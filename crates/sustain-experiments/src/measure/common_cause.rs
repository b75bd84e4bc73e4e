//! Whether stalls of several targets at the same moment have a cause in common. Pauses of disks
//! that have nothing to do with each other meet as well, the more often the more and the longer
//! they are, so a common cause is only said of what chance does not explain. Pure; called by the
//! conclusion.

use sustain_disk::meter::MeteredStall;

use crate::profile::chance::poisson_tail;

/// A cause in common is said where chance would bring as much in fewer cases than this.
const CHANCE_MAX: f64 = 0.01;

/// For each of the stalls of a run of this length, whether what it shares with others has a cause
/// in common. `shared_with` must be known of all.
///
/// Two stalls of lengths a and b overlap by more than half of the shorter one while the beginning
/// of one lies in a stretch of max(a, b), so two without a common cause do with a chance of max(a,
/// b) over the length of the run; how many do is nearly a Poisson number. Two tests: of two
/// targets, whether more of their stalls meet than that (a channel that both share), and of one
/// stall, whether it meets more targets than that (a reset of all at once, of which one is
/// enough).
pub(crate) fn of_each(stalls: &[MeteredStall], run_ns: u64) -> Vec<bool> {
    let targets = stalls.iter().map(|stall| stall.target + 1).max();
    let pairs = Pairs::of(stalls, targets.unwrap_or(0), run_ns);
    let chance_max = CHANCE_MAX / stalls.len().max(1) as f64;
    let is_common = |stall: &MeteredStall| {
        let with = stall.shared_with.iter();
        let mut with = with.map(|other| pairs.chance(stall.target, *other));
        let by_pair = with.any(|chance| chance < pairs.chance_max());
        let met = stall.shared_with.len();
        // With one other target the pair has told all there is.
        by_pair || met > 1 && poisson_tail(met, expected_of(stall, stalls, run_ns)) < chance_max
    };
    stalls.iter().map(is_common).collect()
}

/// Of each two targets, how many stalls meet and how many would by chance.
struct Pairs {
    targets: usize,
    met: Vec<usize>,
    expected: Vec<f64>,
}

impl Pairs {
    fn of(stalls: &[MeteredStall], targets: usize, run_ns: u64) -> Pairs {
        let mut pairs = Pairs {
            targets,
            met: vec![0; targets * targets],
            expected: vec![0.0; targets * targets],
        };
        for (index, stall) in stalls.iter().enumerate() {
            for other in &stall.shared_with {
                pairs.met[stall.target * targets + other] += 1;
            }
            for other in &stalls[index + 1..] {
                let chance = chance_to_meet(stall, other, run_ns);
                pairs.expected[stall.target * targets + other.target] += chance;
                pairs.expected[other.target * targets + stall.target] += chance;
            }
        }
        pairs
    }

    /// Each two targets are a chance to be wrong.
    fn chance_max(&self) -> f64 {
        CHANCE_MAX / (self.targets * (self.targets - 1) / 2).max(1) as f64
    }

    /// How likely so many or more of the stalls of two targets meet by chance.
    fn chance(&self, one: usize, other: usize) -> f64 {
        let (there, back) = (one * self.targets + other, other * self.targets + one);
        // A long one meets several short ones, which count once each.
        let met = self.met[there].min(self.met[back]);
        poisson_tail(met, self.expected[there])
    }
}

/// How many other stalls one meets by chance.
fn expected_of(stall: &MeteredStall, stalls: &[MeteredStall], run_ns: u64) -> f64 {
    let others = stalls.iter().filter(|other| other.target != stall.target);
    others
        .map(|other| chance_to_meet(stall, other, run_ns))
        .sum()
}

fn chance_to_meet(one: &MeteredStall, other: &MeteredStall, run_ns: u64) -> f64 {
    let longer_ns = one.duration_ns.max(other.duration_ns);
    longer_ns as f64 / run_ns.max(longer_ns).max(1) as f64
}

#[cfg(test)]
mod tests {
    use sustain_disk::meter::mark_shared;

    use super::*;

    const MS: u64 = 1_000_000;
    const RUN_NS: u64 = 280_000 * MS;

    fn every(target: usize, from_ms: u64, every_ms: u64, for_ms: u64) -> Vec<MeteredStall> {
        let starts = (from_ms..RUN_NS / MS).step_by(every_ms as usize);
        let stall = |start_ms| MeteredStall {
            target,
            start_ns: start_ms * MS,
            duration_ns: for_ms * MS,
            offset_bytes: 0,
            shared_with: Vec::new(),
        };
        starts.map(stall).collect()
    }

    /// How many meet another, and how many are said to have a cause in common.
    fn counted(parts: &[Vec<MeteredStall>]) -> (usize, usize) {
        let mut stalls = parts.concat();
        mark_shared(&mut stalls);
        let met = stalls.iter().filter(|stall| !stall.shared_with.is_empty());
        let common = of_each(&stalls, RUN_NS).into_iter();
        (met.count(), common.filter(|is_common| *is_common).count())
    }

    #[test]
    fn pauses_that_meet_by_chance_have_no_common_cause() {
        let (met, common) =
            counted(&[every(0, 7_000, 7_000, 400), every(1, 11_000, 11_000, 1_500)]);
        assert!(met >= 4, "{met} meet");
        assert_eq!(common, 0);
    }

    #[test]
    fn pauses_that_always_meet_have_one() {
        let (met, common) = counted(&[every(0, 7_000, 7_000, 400), every(1, 7_005, 7_000, 380)]);
        assert_eq!((met, common), (78, 78));
        // One in a run, of the same moment, is no chance either.
        let (met, common) = counted(&[
            every(0, 90_000, 900_000, 400),
            every(1, 90_010, 900_000, 400),
        ]);
        assert_eq!((met, common), (2, 2));
    }

    #[test]
    fn a_pause_of_many_at_once_has_one() {
        let all: Vec<Vec<MeteredStall>> = (0..40)
            .map(|target| every(target, 99_000, 900_000, 2_000))
            .collect();
        assert_eq!(counted(&all), (40, 40));
    }
}
