//! Decides how fast all other programs together may go, from the recorder's backlog. A function of
//! time and data only.
//!
//! What the others are allowed moves the backlog as a force moves a mass: whatever they get above
//! what the recorder leaves is added to the backlog each second. So the allowance is steered by the
//! backlog's growth and by its distance from a target, with the weights of a damped spring that
//! comes to rest without swinging. At rest the backlog stands at its target, and the others get all
//! that is left.

/// How fast the backlog comes back to its target. Faster, and the time that a limit takes to be
/// felt (100 ms of the kernel's accounting, and the requests in flight) makes it swing.
const STIFFNESS_PER_S: f64 = 2.0;
/// Nobody is stopped altogether, bytes per second.
const LEAST_BYTES_PER_S: f64 = 1e6;
/// Whoever uses this part of an allowance would use more.
const SATURATED_PART: f64 = 0.8;
/// Where the others want less than they may have, the allowance goes this far above what they use.
const ROOM_FACTOR: f64 = 2.0;
/// An allowance that nobody has used up for this long is no longer needed.
const UNNEEDED_NS: u64 = 5_000_000_000;

/// What is known at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Observation {
    pub(crate) now_ns: u64,
    /// Bytes that wait for the members.
    pub(crate) backlog_bytes: f64,
    /// What all others that can be held back read and write together.
    pub(crate) others_bytes_per_s: f64,
}

/// The state between two decisions.
#[derive(Debug)]
pub(crate) struct Controller {
    target_bytes: f64,
    allowance_bytes_per_s: Option<f64>,
    before: Option<Observation>,
    unneeded_since_ns: Option<u64>,
}

impl Controller {
    /// One that holds a backlog at this size.
    pub(crate) fn new(target_bytes: u64) -> Controller {
        Controller {
            target_bytes: target_bytes as f64,
            allowance_bytes_per_s: None,
            before: None,
            unneeded_since_ns: None,
        }
    }

    /// What the others together may have from now on, in bytes per second; `None` if there is no
    /// need to limit them.
    pub(crate) fn decide(&mut self, now: Observation) -> Option<f64> {
        let before = self.before.replace(now)?;
        let elapsed_s = now.now_ns.saturating_sub(before.now_ns) as f64 / 1e9;
        if elapsed_s <= 0.0 {
            return self.allowance_bytes_per_s;
        }
        let growth_bytes = now.backlog_bytes - before.backlog_bytes;
        let excess_bytes = now.backlog_bytes - self.target_bytes;
        self.allowance_bytes_per_s = match self.allowance_bytes_per_s {
            None if excess_bytes <= 0.0 || now.others_bytes_per_s < LEAST_BYTES_PER_S => None,
            // What the backlog grows by is what they have had too much of.
            None => {
                let left = now.others_bytes_per_s - growth_bytes.max(0.0) / elapsed_s;
                Some(left.max(LEAST_BYTES_PER_S))
            }
            Some(allowance) => {
                let damped = 2.0 * STIFFNESS_PER_S * growth_bytes;
                let pulled = STIFFNESS_PER_S * STIFFNESS_PER_S * excess_bytes * elapsed_s;
                self.unless_unneeded(allowance - damped - pulled, allowance, &now)
            }
        };
        self.allowance_bytes_per_s
    }

    /// The next allowance within its bounds; `None` once nobody has needed a limit for a while.
    fn unless_unneeded(&mut self, next: f64, last: f64, now: &Observation) -> Option<f64> {
        let is_saturated = now.others_bytes_per_s >= SATURATED_PART * last;
        if is_saturated || now.backlog_bytes > self.target_bytes {
            self.unneeded_since_ns = None;
        } else {
            let since_ns = *self.unneeded_since_ns.get_or_insert(now.now_ns);
            if now.now_ns - since_ns >= UNNEEDED_NS {
                self.unneeded_since_ns = None;
                return None;
            }
        }
        let most = if is_saturated {
            f64::INFINITY
        } else {
            last.max(ROOM_FACTOR * now.others_bytes_per_s)
        };
        Some(next.min(most).max(LEAST_BYTES_PER_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: u64 = 100_000_000;
    const STEP_S: f64 = 0.1;

    /// A disk that serves the recorder and others in the order of their requests, so that whoever
    /// has more requests in flight gets more; and what one recording beside them comes to.
    struct Disk {
        rate_bytes_per_s: f64,
        /// The part that others get if nothing limits them.
        others_part: f64,
        /// What a byte of the others costs the disk, in bytes of the recorder.
        cost: f64,
        /// Steps until a limit is felt.
        delay_steps: usize,
    }

    struct Outcome {
        lost_bytes: f64,
        others_bytes: f64,
        /// What the recorder did not need.
        left_bytes: f64,
        is_limited_at_end: bool,
    }

    const DISK: Disk = Disk {
        rate_bytes_per_s: 100e6,
        others_part: 0.8,
        cost: 1.0,
        delay_steps: 2,
    };

    /// Runs a recording of this rate for so many seconds beside others who want this much.
    fn run(
        disk: &Disk,
        source: impl Fn(f64) -> f64,
        demand: impl Fn(f64) -> f64,
        buffer_bytes: u64,
        time_s: f64,
    ) -> Outcome {
        let mut controller = Controller::new(buffer_bytes / 8);
        let mut felt = vec![None; disk.delay_steps];
        let (mut backlog, mut others) = (0.0, 0.0);
        let mut outcome = Outcome {
            lost_bytes: 0.0,
            others_bytes: 0.0,
            left_bytes: 0.0,
            is_limited_at_end: false,
        };
        for step in 0..(time_s / STEP_S) as u64 {
            let at_s = step as f64 * STEP_S;
            let observation = Observation {
                now_ns: step * STEP_NS,
                backlog_bytes: backlog,
                others_bytes_per_s: others,
            };
            let allowance = controller.decide(observation);
            outcome.is_limited_at_end = allowance.is_some();
            felt.push(allowance);
            let limit: Option<f64> = felt.remove(0);
            let wanted = demand(at_s).min(limit.unwrap_or(f64::INFINITY));
            let source = source(at_s);
            // Either has its part for certain, and what the other one does not use.
            let wants = if backlog > 0.0 { f64::INFINITY } else { source };
            let contested = disk.rate_bytes_per_s * disk.others_part / disk.cost;
            let unused = (disk.rate_bytes_per_s - wants).max(0.0) / disk.cost;
            others = wanted.min(contested.max(unused));
            let ours = disk.rate_bytes_per_s - others * disk.cost;
            let written = (backlog + source * STEP_S).min(ours * STEP_S);
            backlog += source * STEP_S - written;
            let lost = (backlog - buffer_bytes as f64).max(0.0);
            backlog -= lost;
            outcome.lost_bytes += lost;
            outcome.others_bytes += others * STEP_S;
            outcome.left_bytes += (disk.rate_bytes_per_s - source) / disk.cost * STEP_S;
        }
        outcome
    }

    fn all(_: f64) -> f64 {
        f64::INFINITY
    }

    #[test]
    fn nothing_is_lost_and_the_others_get_most_of_what_is_left() {
        for rate in [10e6, 40e6, 70e6, 85e6] {
            for buffer_bytes in [64 << 20, 512 << 20] {
                let outcome = run(&DISK, |_| rate, all, buffer_bytes, 60.0);
                assert_eq!(outcome.lost_bytes, 0.0, "{rate} with {buffer_bytes}");
                let part = outcome.others_bytes / outcome.left_bytes;
                assert!(part >= 0.8, "{part} at {rate} with {buffer_bytes}");
            }
        }
    }

    #[test]
    fn others_whose_bytes_cost_more_are_held_back_further() {
        for (cost, delay_steps) in [(4.0, 2), (0.5, 2), (1.0, 4)] {
            let disk = Disk {
                cost,
                delay_steps,
                ..DISK
            };
            let outcome = run(&disk, |_| 70e6, all, 128 << 20, 60.0);
            assert_eq!(outcome.lost_bytes, 0.0, "{cost}, {delay_steps}");
            let part = outcome.others_bytes / outcome.left_bytes;
            assert!(part >= 0.8, "{part} at {cost}, {delay_steps}");
        }
    }

    #[test]
    fn nobody_is_limited_while_the_disk_is_enough_for_all() {
        let outcome = run(&DISK, |_| 70e6, |_| 20e6, 64 << 20, 60.0);
        assert_eq!(outcome.lost_bytes, 0.0);
        assert!(!outcome.is_limited_at_end);
        assert!((outcome.others_bytes / 1200e6 - 1.0).abs() < 0.001);
    }

    #[test]
    fn a_limit_goes_once_nobody_needs_it() {
        // Others flood the disk for 10 s and want little after that.
        let demand = |at_s: f64| if at_s < 10.0 { f64::INFINITY } else { 5e6 };
        let outcome = run(&DISK, |_| 70e6, demand, 64 << 20, 60.0);
        assert_eq!(outcome.lost_bytes, 0.0);
        assert!(!outcome.is_limited_at_end);
        // Also where the recorder needs less, and the others take what is left without a limit.
        let source = |at_s: f64| if at_s < 30.0 { 70e6 } else { 5e6 };
        let outcome = run(&DISK, source, |_| 60e6, 64 << 20, 60.0);
        assert_eq!(outcome.lost_bytes, 0.0);
        assert!(!outcome.is_limited_at_end);
    }

    #[test]
    fn others_that_come_and_go_cost_no_byte() {
        let demand = |at_s: f64| {
            let is_on = ((at_s / 7.0) as u64).is_multiple_of(2);
            if is_on { f64::INFINITY } else { 0.0 }
        };
        let outcome = run(&DISK, |_| 70e6, demand, 64 << 20, 120.0);
        assert_eq!(outcome.lost_bytes, 0.0);
        let source = |at_s: f64| {
            if (at_s as u64).is_multiple_of(10) {
                95e6
            } else {
                60e6
            }
        };
        let outcome = run(&DISK, source, all, 64 << 20, 120.0);
        assert_eq!(outcome.lost_bytes, 0.0);
    }

    #[test]
    fn where_the_disk_is_too_slow_even_alone_the_others_keep_the_least() {
        let outcome = run(&DISK, |_| 120e6, all, 64 << 20, 60.0);
        assert!(outcome.lost_bytes > 0.0);
        assert!(outcome.is_limited_at_end);
        assert!(outcome.others_bytes > 59.0 * LEAST_BYTES_PER_S);
    }
}
