//! Reports what a buffered run still waits for when the user wants to end it: the kernel has taken
//! more data than the disk has, and returns from the flush only when the disk has all of it. Pure.

use sustain_disk::clock::Timestamp;
use sustain_disk::units::Size;

/// A flush that takes no longer than this is not mentioned.
const QUIET_NS: u64 = 200_000_000;
/// Time between two reports.
const EVERY_NS: u64 = 2_000_000_000;

/// Reports on one such flush.
#[derive(Debug, Default)]
pub struct ClosingFlush {
    due_at: Option<Timestamp>,
    is_reported: bool,
}

impl ClosingFlush {
    /// What to tell the user now, if anything. It is called from the request to end on;
    /// `left_bytes` are the bytes that are dirty or being written in the whole machine, if that is
    /// known.
    pub fn words(&mut self, now: Timestamp, left_bytes: Option<u64>) -> Option<String> {
        let due_at = *self.due_at.get_or_insert(now + QUIET_NS);
        if now < due_at {
            return None;
        }
        self.due_at = Some(now + EVERY_NS);
        let left = left_bytes.map_or_else(
            || "it is not known how much is left".to_owned(),
            |bytes| format!("{} left, for all programs together", Size(bytes)),
        );
        if std::mem::replace(&mut self.is_reported, true) {
            return Some(format!("interrupted: flushing the page cache, {left}"));
        }
        Some(format!(
            "interrupted: part of what was written is still in the page cache, and the run ends \
             when it is on the disk ({left}). A second Ctrl-C gives up the result, and the program \
             then ends as soon as the kernel returns from the flush"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_that_takes_long_is_told_at_once_and_then_now_and_then() {
        let mut flush = ClosingFlush::default();
        let mut told = Vec::new();
        for tenth in 0..=50 {
            let now = Timestamp(tenth * 100_000_000);
            let left_bytes = (tenth < 30).then(|| 5_000_000_000 - tenth * 100_000_000);
            if let Some(words) = flush.words(now, left_bytes) {
                told.push((tenth, words));
            }
        }
        let at: Vec<u64> = told.iter().map(|(tenth, _)| *tenth).collect();
        assert_eq!(at, [2, 22, 42]);
        assert!(told[0].1.contains("4.8 GB left"), "{told:?}");
        assert!(told[0].1.contains("A second Ctrl-C"), "{told:?}");
        assert!(
            told[1]
                .1
                .ends_with("2.8 GB left, for all programs together"),
            "{told:?}"
        );
        assert!(
            told[2].1.ends_with("it is not known how much is left"),
            "{told:?}"
        );
    }

    #[test]
    fn a_flush_that_is_over_at_once_is_not_told() {
        let mut flush = ClosingFlush::default();
        assert_eq!(flush.words(Timestamp(5), Some(1)), None);
        assert_eq!(flush.words(Timestamp(100_000_000), Some(1)), None);
    }
}
