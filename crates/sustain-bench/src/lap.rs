//! What comes before a stream through the page cache goes over its bytes again. What is rewritten in
//! memory would count without ever reaching the disk, and what is read there again never left
//! it: so the one is flushed and the other forgotten first, inside the time. Called by the feed.

use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What the next lap of a stream waits for.
#[derive(Debug, Default)]
pub enum LapEnd {
    /// Nothing: past the page cache, a completion says that the device has done it.
    #[default]
    Nothing,
    /// What was written must be on the disk.
    Flushed(Flushing),
    /// What was read must have left memory.
    Forgotten(Vec<Arc<OwnedFd>>),
}

/// How far the flush at the end of a lap has come.
#[derive(Debug, Default)]
pub struct Flushing {
    /// A flush only covers what had completed before it.
    in_flight: u32,
    /// Targets that are still to be flushed, once the last write has completed.
    left: Option<Vec<usize>>,
}

/// What is to be done now, at the end of a lap.
#[derive(Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing any more: the next lap begins.
    NextLap,
    /// A flush of this target.
    Flush(usize),
    /// Something that is in flight must complete.
    Completion,
}

impl LapEnd {
    /// What comes before the next lap over `targets`.
    pub fn next(&mut self, targets: &[usize]) -> Before {
        match self {
            LapEnd::Nothing => Before::NextLap,
            LapEnd::Flushed(flushing) => flushing.next(targets),
            LapEnd::Forgotten(files) => {
                for file in files {
                    // Advice only; what the kernel keeps all the same is told in the remarks.
                    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
                }
                Before::NextLap
            }
        }
    }

    /// A request was handed out.
    pub fn begun(&mut self) {
        if let LapEnd::Flushed(flushing) = self {
            flushing.in_flight += 1;
        }
    }

    /// A request came back. Whether a stream that waits for the end of its lap should be asked.
    pub fn done(&mut self) -> bool {
        let LapEnd::Flushed(flushing) = self else {
            return false;
        };
        // The closing flush is the driver's own, and comes back here as well.
        flushing.in_flight = flushing.in_flight.saturating_sub(1);
        flushing.in_flight == 0
    }
}

impl Flushing {
    fn next(&mut self, targets: &[usize]) -> Before {
        match &mut self.left {
            None if self.in_flight > 0 => return Before::Completion,
            None => self.left = Some(targets.to_vec()),
            Some(_) => {}
        }
        let Some(left) = &mut self.left else {
            return Before::NextLap;
        };
        match left.pop() {
            Some(target) => Before::Flush(target),
            None if self.in_flight > 0 => Before::Completion,
            None => {
                self.left = None;
                Before::NextLap
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_flushed_after_the_last_write_and_before_the_next_lap() {
        let mut end = LapEnd::Flushed(Flushing::default());
        end.begun();
        end.begun();
        assert_eq!(end.next(&[4, 7]), Before::Completion);
        assert!(!end.done(), "one write is still under way");
        assert!(end.done(), "the last one");
        assert_eq!(end.next(&[4, 7]), Before::Flush(7));
        end.begun();
        assert_eq!(end.next(&[4, 7]), Before::Flush(4));
        end.begun();
        assert_eq!(end.next(&[4, 7]), Before::Completion);
        assert!(!end.done());
        assert!(end.done());
        assert_eq!(end.next(&[4, 7]), Before::NextLap);
        // The lap after is flushed as well.
        assert_eq!(end.next(&[4, 7]), Before::Flush(7));
    }

    #[test]
    fn past_the_page_cache_nothing_is_waited_for() {
        let mut end = LapEnd::Nothing;
        end.begun();
        assert_eq!(end.next(&[0]), Before::NextLap);
        assert!(!end.done());
    }
}
