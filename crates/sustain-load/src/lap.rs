//! Decides what must happen before a buffered stream goes over its bytes again. Bytes rewritten in
//! memory would count without ever reaching the disk, and bytes read again from memory never came
//! from it. So written data is flushed and read data is dropped from memory first, inside the
//! measured time. The feed calls this.

use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What the next lap of a stream waits for.
#[derive(Debug, Default)]
pub enum LapEnd {
    /// Nothing: with direct I/O, a completion says that the device has done the request.
    #[default]
    Nothing,
    /// Written data must be on the disk.
    Flushed(Flushing),
    /// Read data must have left memory.
    Forgotten(Vec<Arc<OwnedFd>>),
}

/// The progress of the flush at the end of a lap.
#[derive(Debug, Default)]
pub struct Flushing {
    /// Requests in flight; a flush covers only what had completed before it.
    in_flight: u32,
    /// Targets that are still to be flushed, after the last write has completed.
    left: Option<Vec<usize>>,
}

/// The next step at the end of a lap.
#[derive(Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing is left to do: the next lap begins.
    NextLap,
    /// Flush this target.
    Flush(usize),
    /// Wait for a request in flight to complete.
    Completion,
}

impl LapEnd {
    /// The step that comes before the next lap over `targets`.
    pub fn next(&mut self, targets: &[usize]) -> Before {
        match self {
            LapEnd::Nothing => Before::NextLap,
            LapEnd::Flushed(flushing) => flushing.next(targets),
            LapEnd::Forgotten(files) => {
                for file in files {
                    // This is only advice; the remarks tell that the kernel may keep data all the
                    // same.
                    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
                }
                Before::NextLap
            }
        }
    }

    /// Notes that a request was handed out.
    pub fn begun(&mut self) {
        if let LapEnd::Flushed(flushing) = self {
            flushing.in_flight += 1;
        }
    }

    /// Notes that a request completed. Returns whether a stream that waits for the end of its lap
    /// should be asked again.
    pub fn done(&mut self) -> bool {
        let LapEnd::Flushed(flushing) = self else {
            return false;
        };
        // The closing flush is the driver's own, and its completion comes here as well.
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
