//! The rotation of a simulated disk: the time when a place on it comes under the head. The disk
//! calls it for transfers to and from the media. It is pure arithmetic on virtual time: a platter
//! rotates for ever, so it needs no events of its own.

use super::fluid::{FlowRate, moved, whole_bytes};

/// A platter that rotates at an even speed. Neighbouring bytes follow each other, also from one
/// track to the next (the skew of tracks and heads is exactly what a switch takes), so a stream
/// that keeps up with the media never waits.
pub(super) struct Rotation {
    revolution_ns: u64,
    /// At this time
    passed_ns: u64,
    /// the head was at the beginning of this byte.
    passed_offset_bytes: u64,
}

impl Rotation {
    /// `index` is that of the disk on its machine: platters do not rotate in step.
    pub(super) fn new(rpm: u32, index: usize) -> Self {
        let revolution_ns = (60_000_000_000 / u64::from(rpm)).max(1);
        // Multiples of the golden ratio spread over the revolution for any number of disks.
        let thousandths = index as u64 * 618 % 1000;
        Self {
            revolution_ns,
            passed_ns: revolution_ns * thousandths / 1000,
            passed_offset_bytes: 0,
        }
    }

    /// The bytes that pass under the head in one revolution.
    pub(super) fn track_bytes(&self, media_rate: FlowRate) -> u64 {
        whole_bytes(moved(media_rate, self.revolution_ns)).max(1)
    }

    /// When the beginning of this byte, at this rate of the media, is under the head, at `now_ns`
    /// or next after it.
    pub(super) fn comes_ns(&self, offset_bytes: u64, media_rate: FlowRate, now_ns: u64) -> u64 {
        let track = i128::from(self.track_bytes(media_rate));
        let ahead_bytes = i128::from(offset_bytes) - i128::from(self.passed_offset_bytes);
        let revolution_ns = i128::from(self.revolution_ns);
        let turn_ns = ahead_bytes.rem_euclid(track) * revolution_ns / track;
        let then_ns = i128::from(self.passed_ns) + turn_ns;
        let wait_ns = (then_ns - i128::from(now_ns)).rem_euclid(revolution_ns);
        now_ns.saturating_add(u64::try_from(wait_ns).expect("less than a revolution"))
    }

    /// Notes that the head is, or was, at the beginning of this byte then.
    pub(super) fn passes(&mut self, offset_bytes: u64, time_ns: u64) {
        self.passed_offset_bytes = offset_bytes;
        self.passed_ns = time_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fluid::flow_rate;
    use super::*;

    #[test]
    fn what_has_just_passed_comes_again_after_a_revolution() {
        let mut rotation = Rotation::new(6000, 0);
        let rate = flow_rate(30e6);
        assert_eq!(rotation.track_bytes(rate), 300_000);
        rotation.passes(1_000_000, 7_000_000);
        assert_eq!(rotation.comes_ns(1_000_000, rate, 7_000_000), 7_000_000);
        assert_eq!(rotation.comes_ns(1_000_000, rate, 7_000_001), 17_000_000);
        assert_eq!(rotation.comes_ns(1_000_000, rate, 17_000_001), 27_000_000);
    }

    #[test]
    fn places_ahead_and_behind_come_in_their_order_on_the_track() {
        let mut rotation = Rotation::new(6000, 0);
        let rate = flow_rate(30e6);
        rotation.passes(1_000_000, 20_000_000);
        // A third of a track ahead, two thirds, and a track and a half.
        assert_eq!(rotation.comes_ns(1_100_000, rate, 20_000_000), 23_333_333);
        assert_eq!(rotation.comes_ns(900_000, rate, 20_000_000), 26_666_666);
        assert_eq!(rotation.comes_ns(1_450_000, rate, 20_000_000), 25_000_000);
    }

    #[test]
    fn platters_do_not_turn_in_step() {
        let rate = flow_rate(30e6);
        let mut firsts: Vec<u64> = (0..16)
            .map(|index| Rotation::new(7200, index).comes_ns(0, rate, 0))
            .collect();
        assert!(firsts.iter().all(|first_ns| *first_ns < 8_333_333));
        firsts.sort_unstable();
        assert!(firsts.windows(2).all(|pair| pair[1] - pair[0] > 100_000));
    }
}
