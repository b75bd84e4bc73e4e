//! The buffer that is needed if the pauses of several disks meet at their worst. Each disk pauses
//! in a rhythm of its own, and in a short run the longest pauses of two of them may never have met;
//! in a longer one they do. Called by the run for its recommendation.
//!
//! A stream that is divided among the disks in fixed parts has a backlog on each of them, and one
//! that is not divided has no larger one than all of these together, whenever each of them was at
//! its highest: max(b1 + b2) <= max(b1) + max(b2) (J.-Y. Le Boudec and P. Thiran, "Network
//! Calculus", 2001, chapter 1). So the sum bounds the backlog for every way in which these runs of
//! the single disks may lie beside each other in time, as far as the steps of a run show it: inside
//! a step, of a tenth of a second as a rule, only the longest stall is known, and a backlog may be
//! higher there by what comes in during the step.

use super::Step;
use super::recommend::CurvePoint;

/// What one of several disks did in a run.
#[derive(Debug, Clone)]
pub struct PausingDisk {
    /// The rate that it has in the long run.
    pub rate_bytes_per_s: f64,
    /// Half the width of the 95 % interval of that rate.
    pub half_width_bytes_per_s: f64,
    /// The longest time in which it completed nothing.
    pub worst_stall_s: f64,
    /// Its bytes over time.
    pub steps: Vec<Step>,
}

impl PausingDisk {
    /// The highest backlog of a stream of this rate on the disk alone.
    fn backlog_bytes(&self, rate_bytes_per_s: f64) -> f64 {
        let in_steps = self.steps.iter().scan(0.0_f64, |level, step| {
            let offered = rate_bytes_per_s * (step.end_s - step.start_s);
            *level = (*level + offered - step.bytes as f64).max(0.0);
            Some(*level)
        });
        // A pause that is shorter than a step shows in none.
        in_steps.fold(self.worst_stall_s * rate_bytes_per_s, f64::max)
    }
}

/// The curve of a run with what is needed if the pauses of its disks meet, where that is more. A
/// disk alone has nothing to meet.
#[must_use]
pub fn if_pauses_meet(points: &[CurvePoint], members: &[PausingDisk]) -> Vec<CurvePoint> {
    let all: f64 = members.iter().map(|member| member.rate_bytes_per_s).sum();
    if members.len() < 2 || all <= 0.0 {
        return points.to_vec();
    }
    let needed = |rate_bytes_per_s: f64| -> f64 {
        let parts = members
            .iter()
            .map(|member| member.backlog_bytes(rate_bytes_per_s * member.rate_bytes_per_s / all));
        parts.sum()
    };
    let raised = points.iter().map(|point| CurvePoint {
        buffer_bytes: point.buffer_bytes.max(needed(point.rate_bytes_per_s)),
        ..*point
    });
    raised.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of 100 bytes a second that rests for `rest_s` seconds from `at_s` on, for 20 s.
    fn resting(at_s: u32, rest_s: u32) -> PausingDisk {
        let step = |second: u32| Step {
            start_s: f64::from(second),
            end_s: f64::from(second + 1),
            bytes: if (at_s..at_s + rest_s).contains(&second) {
                0
            } else {
                100
            },
        };
        PausingDisk {
            rate_bytes_per_s: 100.0,
            half_width_bytes_per_s: 0.0,
            worst_stall_s: f64::from(rest_s),
            steps: (0..20).map(step).collect(),
        }
    }

    fn needed(members: &[PausingDisk]) -> f64 {
        let point = CurvePoint {
            rate_bytes_per_s: 160.0,
            buffer_bytes: 130.0,
        };
        if_pauses_meet(&[point], members)[0].buffer_bytes
    }

    #[test]
    fn pauses_that_did_not_meet_are_added_up() {
        // 80 bytes a second each, for 3 s and for 2 s.
        assert_eq!(needed(&[resting(3, 3), resting(12, 2)]), 400.0);
        // A pause too short for a step counts as well.
        let short = PausingDisk {
            worst_stall_s: 0.5,
            ..resting(0, 0)
        };
        assert_eq!(needed(&[resting(3, 3), short]), 280.0);
    }

    #[test]
    fn a_disk_alone_keeps_its_curve() {
        assert_eq!(needed(&[resting(3, 3)]), 130.0);
        assert_eq!(needed(&[]), 130.0);
    }
}
