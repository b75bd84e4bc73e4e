//! How long the ring goes on beside pins whose end is still to be told.

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::MemberWriter;

/// From the end of a pin to when it is told, all is kept: what waits has to become durable, which
/// takes a flush, and a later append has to tell so.
const UNTIL_CLOSED_NS: i64 = 2_500_000_000;
/// What was written in the last so long says at which rate the ring goes on.
const RATE_WINDOW_NS: i64 = 60_000_000_000;

impl<I: Inlet> RecordFeed<I> {
    /// How long it takes at most from the end of a pin to when it is told, as long as the members
    /// take what comes.
    pub(super) fn until_closed_ns(&self) -> i64 {
        let interval_ns = i64::try_from(self.setup.durability.interval_ns).unwrap_or(i64::MAX);
        // Then the groups close, and their parity takes a flush, too; and the same once more for
        // the group that tells so on more members than parity replaces.
        let group_ns = interval_ns.saturating_add(self.group_age_ns());
        let protected_ns = match self.protection {
            Some(_) => group_ns.saturating_mul(2),
            None => 0,
        };
        let durable_ns = UNTIL_CLOSED_NS.saturating_add(interval_ns);
        durable_ns.saturating_add(protected_ns)
    }

    /// How long until all ends of pins that are to come are told, at most; `None` if there are
    /// none, or if one is overdue: it may stay open for good.
    pub(super) fn ends_of_pins_in_ns(&self, now: Timestamp) -> Option<i64> {
        let now_ns = self.setup.unix_clock.unix_ns(now);
        let ends = self.pinning.open.iter().map(|open| {
            let told_ns = open.to_ns.saturating_add(self.until_closed_ns());
            told_ns.saturating_sub(now_ns)
        });
        let (least, most) = ends.fold((i64::MAX, None), |(least, most), ends_in_ns| {
            (ends_in_ns.min(least), most.max(Some(ends_in_ns)))
        });
        most.filter(|_| least >= 0)
    }

    /// The slots on each member that what has arrived and is not durable takes. All of it lies
    /// before the end of a pin that ends now.
    pub(super) fn waiting_slots(&self) -> u64 {
        let streams = 0..self.ledgers.len();
        let waiting = streams.map(|stream| {
            let arrived_bytes = self.arrived_bytes(stream);
            arrived_bytes.saturating_sub(self.watermark_bytes(stream))
        });
        let slots = self.members.iter().filter(|one| one.works());
        let slots = slots.map(|one| u64::from(one.setup.geometry.slot_bytes));
        waiting.sum::<u64>().div_ceil(slots.sum::<u64>().max(1))
    }

    /// What has arrived of a stream, that in an append that is not full yet included.
    pub(super) fn arrived_bytes(&self, stream: usize) -> u64 {
        let taken_bytes = self.inlet.taken_bytes(stream);
        self.offered_bytes(stream).max(taken_bytes)
    }

    /// When so many slots will be written, at the rate of the last minute. `None` if too little was
    /// written for a rate.
    pub(super) fn full_ns(&self, free_slots: u64, now_ns: i64) -> Option<i64> {
        let members = self.members.iter();
        let mut slots_per_ns: f64 = members.map(|one| one.slots_per_ns(now_ns)).sum();
        if slots_per_ns == 0.0 {
            slots_per_ns = self.arrived_slots_per_ns(now_ns);
        }
        (slots_per_ns > 0.0)
            .then(|| now_ns.saturating_add((free_slots as f64 / slots_per_ns) as i64))
    }

    /// The rate of what has arrived since the beginning: before slots were begun, nothing else
    /// tells.
    fn arrived_slots_per_ns(&self, now_ns: i64) -> f64 {
        let start_ns = self.setup.unix_clock.unix_ns(self.setup.start);
        let slot_bytes = self
            .members
            .first()
            .map(|one| one.setup.geometry.slot_bytes);
        let streams = 0..self.ledgers.len();
        let bytes: u64 = streams.map(|stream| self.arrived_bytes(stream)).sum();
        match (slot_bytes, now_ns.saturating_sub(start_ns)) {
            (Some(slot_bytes), elapsed_ns @ 1..) => {
                bytes as f64 / f64::from(slot_bytes) / elapsed_ns as f64
            }
            _ => 0.0,
        }
    }
}

impl MemberWriter {
    /// The rate at which slots were begun in the last minute; 0 before there are two. It falls when
    /// the next one is late.
    fn slots_per_ns(&self, now_ns: i64) -> f64 {
        let times = self.setup.slot_times.left.iter().rev();
        let times = times.map(|slot| slot.made_time_ns);
        let recent = times.take_while(|begun_ns| now_ns - begun_ns < RATE_WINDOW_NS);
        slots_per_ns(recent, now_ns)
    }

    /// How many slots were begun after this time, as far as is known.
    pub(super) fn slots_since(&self, time_ns: i64) -> u64 {
        let times = self.setup.slot_times.left.iter().rev();
        times.take_while(|slot| slot.made_time_ns > time_ns).count() as u64
    }
}

/// The same of slots that were begun at these times, newest first.
fn slots_per_ns(newest_first: impl Iterator<Item = i64>, now_ns: i64) -> f64 {
    let mut newest_ns = None;
    let (mut oldest_ns, mut count) = (now_ns, 0.0);
    for begun_ns in newest_first {
        newest_ns.get_or_insert(begun_ns);
        oldest_ns = begun_ns;
        count += 1.0;
    }
    let between_ns = newest_ns.unwrap_or(now_ns).saturating_sub(oldest_ns) as f64;
    if between_ns <= 0.0 {
        return 0.0;
    }
    // The newest slot is not full yet, but it may be overdue.
    let since_oldest_ns = now_ns.saturating_sub(oldest_ns) as f64;
    ((count - 1.0) / between_ns).min(count / since_oldest_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_slots_is_that_between_their_begins_and_falls_when_one_is_late() {
        let rate = |times: &[i64], now_ns| slots_per_ns(times.iter().rev().copied(), now_ns);
        assert_eq!(rate(&[], 9), 0.0);
        assert_eq!(rate(&[5], 9), 0.0);
        // Just begun, nearly full, and full: the rate is that of whole slots.
        for now_ns in [200, 299, 300] {
            assert_eq!(rate(&[0, 100, 200], now_ns), 0.01, "{now_ns}");
        }
        assert_eq!(rate(&[0, 100, 200], 600), 0.005);
    }
}
