//! The periodic stalls of a simulated disk: at each multiple of a period, everything is held for a
//! while. The disk calls it. It is pure arithmetic on virtual time, so an idle disk needs no events
//! for it.

use super::machine_file::StallDescription;

/// The disk is held in [k `every_ns`, k `every_ns` + `for_ns`) for k = 1, 2, ...
#[derive(Clone, Copy)]
pub(super) struct StallSchedule {
    every_ns: u64,
    for_ns: u64,
}

impl StallSchedule {
    pub(super) fn new(description: StallDescription) -> Self {
        Self {
            every_ns: description.every_ns,
            for_ns: description.for_ns,
        }
    }

    /// Whether the disk is held at this time.
    pub(super) fn holds(self, now_ns: u64) -> bool {
        now_ns >= self.every_ns && now_ns % self.every_ns < self.for_ns
    }

    /// The next time after `now_ns` at which holding begins or ends.
    pub(super) fn next_change_ns(self, now_ns: u64) -> u64 {
        let period_start_ns = now_ns - now_ns % self.every_ns;
        if self.holds(now_ns) {
            period_start_ns.saturating_add(self.for_ns)
        } else {
            period_start_ns.saturating_add(self.every_ns)
        }
    }

    /// The time when work begun at `start_ns` is done, if it rests while the disk is held.
    pub(super) fn work_end_ns(self, start_ns: u64, work_ns: u64) -> u64 {
        let mut time_ns = start_ns;
        let mut left_ns = work_ns;
        while left_ns > 0 && time_ns < u64::MAX {
            let change_ns = self.next_change_ns(time_ns);
            if !self.holds(time_ns) {
                if left_ns <= change_ns - time_ns {
                    return time_ns + left_ns;
                }
                left_ns -= change_ns - time_ns;
            }
            time_ns = change_ns;
        }
        time_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_at_each_multiple() {
        let stall = StallSchedule::new(StallDescription {
            every_ns: 100,
            for_ns: 10,
        });
        assert!(!stall.holds(0), "a run does not begin with a stall");
        assert!(!stall.holds(99));
        assert!(stall.holds(100));
        assert!(stall.holds(109));
        assert!(!stall.holds(110));
        assert_eq!(stall.next_change_ns(0), 100);
        assert_eq!(stall.next_change_ns(100), 110);
        assert_eq!(stall.next_change_ns(110), 200);
    }

    #[test]
    fn work_rests_while_held() {
        let stall = StallSchedule::new(StallDescription {
            every_ns: 100,
            for_ns: 10,
        });
        assert_eq!(stall.work_end_ns(0, 0), 0);
        assert_eq!(stall.work_end_ns(0, 100), 100);
        assert_eq!(stall.work_end_ns(95, 10), 115);
        assert_eq!(stall.work_end_ns(105, 10), 120);
        assert_eq!(stall.work_end_ns(0, 300), 330);
    }
}
