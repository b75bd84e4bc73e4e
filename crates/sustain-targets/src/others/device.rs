//! Looks for foreign I/O on one device, from what its counters saw and what was its share of this
//! process's bytes.

use std::collections::VecDeque;

use sustain_disk::clock::Timestamp;
use sustain_document::system::Others;

use super::moved::{MovedBytes, TransferWindow};

/// At least this many intervals must show foreign I/O, because one or two may be the commit of a
/// journal.
const INTERVALS_MIN: u32 = 3;
/// Foreign I/O that pauses for no longer than this counts as one stretch, because the kernel writes
/// back every five seconds.
const PAUSE_INTERVALS_MAX: u32 = 5;
/// The current rate of foreign I/O is the mean over this many intervals.
const RECENT_INTERVALS: usize = 3;
/// A shorter run through memory says nothing about foreign I/O: its sum may be the commit of a
/// journal.
const SUM_S_MIN: f64 = 3.0;
/// Number of stretches that are kept; later ones are added to the last.
pub(super) const STRETCHES_MAX: usize = 32;

/// Intervals that show foreign I/O, with short pauses between them.
#[derive(Debug, Clone, Copy)]
struct SharedPeriod {
    /// From the first to the last interval that shows foreign I/O.
    sure: TransferWindow,
    /// The same, including the pause since then.
    with_pause: TransferWindow,
    intervals: u32,
    pause: u32,
}

impl SharedPeriod {
    fn counts(&self) -> bool {
        self.intervals >= INTERVALS_MIN && self.sure.is_shared()
    }
}

/// Looks for others on one device.
#[derive(Debug)]
pub(super) struct DeviceWatch {
    pub(super) device: String,
    /// Whether it lies beneath others that are watched.
    pub(super) is_beneath: bool,
    /// The bytes that its targets were given in all, and those up to the last sample.
    pub(super) driven: MovedBytes,
    pub(super) driven_before: MovedBytes,
    /// The bytes that it has seen in all, and those that had been passed down at the last sample.
    seen: MovedBytes,
    passed_before: MovedBytes,
    /// The bytes of this process that the device has not seen yet, because they are dirty in memory
    /// or in flight.
    waiting: MovedBytes,
    recent: VecDeque<TransferWindow>,
    group: Option<SharedPeriod>,
    found: Vec<TransferWindow>,
    /// Whether the run rests, so that nothing is beside it.
    is_resting: bool,
    /// While bytes of this process may be in memory: the traffic of the device and that of this
    /// process, since then.
    sum: Option<Sum>,
}

/// The traffic of a device and that of this process over a run whose bytes go through memory. While
/// it lasts, anything that the device sees may come from this process; after everything is flushed,
/// the rest does not.
#[derive(Debug, Clone, Copy)]
struct Sum {
    /// From the first to the last sample; `None` before the first.
    time: Option<(Timestamp, Timestamp)>,
    seen: MovedBytes,
    own: MovedBytes,
    /// The number of stretches that had been found before.
    found_before: usize,
}

impl DeviceWatch {
    pub(super) fn new(device: &str) -> DeviceWatch {
        DeviceWatch {
            device: device.to_owned(),
            is_beneath: false,
            driven: MovedBytes::default(),
            driven_before: MovedBytes::default(),
            seen: MovedBytes::default(),
            passed_before: MovedBytes::default(),
            waiting: MovedBytes::default(),
            recent: VecDeque::new(),
            group: None,
            found: Vec::new(),
            is_resting: false,
            sum: None,
        }
    }

    pub(super) fn rest_begins(&mut self) {
        self.is_resting = true;
        self.recent.clear();
        if let Some(group) = self.group.take() {
            self.keep(group);
        }
    }

    pub(super) fn rest_ends(&mut self) {
        self.is_resting = false;
        self.recent.clear();
    }

    pub(super) fn begin_sum(&mut self) {
        self.sum = Some(Sum {
            time: None,
            seen: MovedBytes::default(),
            own: MovedBytes::default(),
            found_before: self.found.len(),
        });
    }

    /// Keeps the foreign I/O that the whole sum shows, unless most of it was found in intervals,
    /// whose times are finer.
    pub(super) fn end_sum(&mut self) {
        // If the kernel has counted more bytes of this process than came here, the rest will never
        // come.
        self.waiting = MovedBytes::default();
        let Some(sum) = self.sum.take() else {
            return;
        };
        let Some((from, to)) = sum.time else {
            return;
        };
        let all = TransferWindow {
            from,
            to,
            others: sum.seen.less(sum.own),
            own: sum.own,
        };
        let found = self.found[sum.found_before..].iter();
        let grouped = self
            .group
            .filter(SharedPeriod::counts)
            .map(|group| group.sure);
        let known: u64 = found.chain(&grouped).map(|one| one.others.bytes()).sum();
        let is_new = known < all.others.bytes() / 2;
        if is_new && all.seconds() >= SUM_S_MIN && all.is_shared() {
            self.group = None;
            self.found.truncate(sum.found_before);
            self.found.push(all);
        }
    }

    /// The bytes that it has passed down since the last sample. Some kernels count twice what goes
    /// through the device mapper; such a device counts as passing down no more than it was given.
    pub(super) fn passed_down(&mut self, seen: MovedBytes) -> MovedBytes {
        self.seen = self.seen.plus(seen);
        let passed = if self.device.starts_with("dm-") {
            self.seen.least(self.driven)
        } else {
            self.seen
        };
        let now = passed.less(self.passed_before);
        self.passed_before = passed;
        now
    }

    pub(super) fn step(
        &mut self,
        (from, to): (Timestamp, Timestamp),
        seen: MovedBytes,
        own: MovedBytes,
    ) {
        if let Some(sum) = &mut self.sum {
            let since = sum.time.map_or(from, |(since, _)| since);
            sum.time = Some((since, to));
            sum.seen = sum.seen.plus(seen);
            sum.own = sum.own.plus(own);
        }
        let expected = self.waiting.plus(own);
        self.waiting = expected.less(seen);
        let now = TransferWindow {
            from,
            to,
            others: seen.less(expected),
            own,
        };
        if self.is_resting {
            return;
        }
        self.recent.push_back(now);
        if self.recent.len() > RECENT_INTERVALS {
            self.recent.pop_front();
        }
        self.group = match (self.group.take(), now.is_shared()) {
            (None, false) => None,
            (None, true) => Some(SharedPeriod {
                sure: now,
                with_pause: now,
                intervals: 1,
                pause: 0,
            }),
            (Some(group), true) => {
                let all = group.with_pause.joined(now);
                Some(SharedPeriod {
                    sure: all,
                    with_pause: all,
                    intervals: group.intervals + 1,
                    pause: 0,
                })
            }
            (Some(group), false) if group.pause < PAUSE_INTERVALS_MAX => Some(SharedPeriod {
                with_pause: group.with_pause.joined(now),
                pause: group.pause + 1,
                ..group
            }),
            (Some(group), false) => {
                self.keep(group);
                None
            }
        };
    }

    fn keep(&mut self, group: SharedPeriod) {
        if !group.counts() {
            return;
        }
        let is_full = self.found.len() >= STRETCHES_MAX;
        match self.found.last_mut() {
            Some(last) if is_full => *last = last.joined(group.sure),
            _ => self.found.push(group.sure),
        }
    }

    pub(super) fn rate_now(&self) -> Option<f64> {
        self.group.as_ref().filter(|group| group.counts())?;
        let recent = self.recent.iter().copied().reduce(TransferWindow::joined)?;
        recent.is_shared().then(|| recent.others_bytes_per_s())
    }

    pub(super) fn finish(&mut self, start: Timestamp) -> Vec<Others> {
        if let Some(group) = self.group.take() {
            self.keep(group);
        }
        self.recent.clear();
        let found = std::mem::take(&mut self.found).into_iter();
        found
            .map(|stretch| Others {
                device: self.device.clone(),
                from_s: stretch.from.since_s(start),
                to_s: stretch.to.since_s(start),
                read_bytes: stretch.others.read_bytes,
                written_bytes: stretch.others.written_bytes,
                rate_bytes_per_s: stretch.others_bytes_per_s(),
                own_rate_bytes_per_s: stretch.own.bytes() as f64 / stretch.seconds(),
                is_beneath: self.is_beneath,
            })
            .collect()
    }
}
