//! Takes in a source that makes its own bytes, at its own rate.

use sustain_disk::clock::Timestamp;

use super::{Intake, IntakeSpace, LOOK_NS, READ_BYTES_MAX, Taken};
use crate::source::synthetic::Synthetic;

/// A synthetic source without frames comes in portions of this time, if they are not too large.
const PORTION_NS: u64 = 5_000_000;

impl Intake {
    /// Runs a synthetic source at its own rate, from `start` on. Its timetable stands still while
    /// it is left waiting in a pause: it has nothing to make up for.
    pub fn run_synthetic(mut self, synthetic: &Synthetic, mut start: Timestamp) -> Taken {
        // It knows its own frames, whatever framing was given.
        self.is_framed = synthetic.frames().is_some();
        self.cuts.is_synthetic = true;
        let ending = loop {
            if let Some(ending) = self.bound_reached() {
                break ending;
            }
            let now = self.writer.clock().now();
            let position_bytes = self.writer.offered_bytes() + self.filled_bytes();
            if self.cut_if_wished() {
                // It begins anew in each recording, so that each can be checked by itself. Its
                // first byte is due when the next one was.
                start = start + synthetic.due_ns(position_bytes);
                continue;
            }
            if self.is_held() {
                self.rest();
                start = start + self.writer.clock().now().since_ns(now);
                continue;
            }
            let available_bytes = synthetic.available_bytes(now.since_ns(start));
            let portion = self.within_bound(portion_bytes(synthetic)) as u64;
            let wanted_bytes = position_bytes.saturating_add(portion);
            if available_bytes < wanted_bytes {
                self.commit_if_old();
                let due_at = start + synthetic.due_ns(wanted_bytes);
                let until = due_at.min(now + LOOK_NS).max(now + 1);
                self.writer.clock().wait_until(until);
                continue;
            }
            let count = (available_bytes - position_bytes).min(READ_BYTES_MAX as u64) as usize;
            self.make(synthetic, position_bytes, self.within_bound(count));
            self.show_taken();
            self.commit_if_old();
        };
        self.finish(ending, None)
    }

    /// Makes the next `count` bytes of a synthetic source.
    fn make(&mut self, synthetic: &Synthetic, position_bytes: u64, count: usize) {
        let room = self.room_to_read();
        if room == IntakeSpace::Over {
            return;
        }
        if let IntakeSpace::Lost(reason) = room {
            self.found.clear();
            if let Some(frames) = synthetic.frames() {
                frames.marks(position_bytes, count, &mut self.found);
            }
            self.note_frames();
            return self.lose_found(count as u64, reason);
        }
        let Some(filling) = &mut self.filling else {
            return;
        };
        let count = count.min(filling.room_bytes());
        synthetic.fill(position_bytes, &mut filling.spare_mut()[..count]);
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        if let Some(frames) = synthetic.frames() {
            frames.marks(position_bytes, count, &mut found);
        }
        let lost = self.lose_begun_frame(count, &mut found);
        let count = self.made_before_cut(count - lost, &mut found);
        let count = self.made_before_frame(count, &mut found);
        self.enter(count, &found);
        self.found = found;
        self.note_frames();
    }
}

/// The portion of a synthetic source that is waited for. The next single byte would be due before
/// the thread is asleep, and a thread that never sleeps occupies a CPU.
fn portion_bytes(synthetic: &Synthetic) -> usize {
    let bytes = synthetic.available_bytes(PORTION_NS);
    // A frame comes as a whole, however long that takes.
    let is_framed = synthetic.frames().is_some();
    let most = if is_framed { 1 } else { READ_BYTES_MAX as u64 };
    bytes.clamp(1, most) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synthetic_source_is_waited_for_in_portions() {
        let portion = |text: &str| portion_bytes(&Synthetic::new(&text.parse().unwrap(), 1));
        assert_eq!(portion("test:30MB/s"), 150_000);
        assert_eq!(portion("test:5GB/s"), READ_BYTES_MAX);
        assert_eq!(portion("test:10B/s"), 1);
        assert_eq!(portion("test:30MB/s,frame=10kB"), 1);
    }
}
