//! Whether others used the disks meanwhile: what the disks' own counters saw, less what this process
//! moved. Pure; the system alongside feeds it once a second.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sustain_disk::clock::Timestamp;
use sustain_disk::units::Rate;
use sustain_host::Sample;

/// What others move more slowly is what any system does now and then.
const RATE_MIN_BYTES_PER_S: f64 = 1e6;
/// Up to this part of our own bytes may be a file system's metadata and journal, written for us.
const SHARE_OF_OWN_MIN: f64 = 0.05;
/// Who moves less than this in an interval has nothing that others could be in the way of.
const OWN_MIN_BYTES_PER_S: f64 = 64e3;
/// So many intervals at least must show others: one or two are a journal's commit.
const INTERVALS_MIN: u32 = 3;
/// Others who pause for no longer are the same others: the kernel writes back every five seconds.
const PAUSE_INTERVALS_MAX: u32 = 5;
/// What others do now is taken over so many intervals.
const RECENT_INTERVALS: usize = 3;
/// Stretches kept; what comes later is added to the last.
const STRETCHES_MAX: usize = 32;

/// A stretch of time in which others read or wrote the disks that were driven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Kernel names of the disks, or of the volumes or loop devices, whose counters told it; of
    /// several, what others moved on all of them together.
    pub devices: Vec<String>,
    /// Since when, on the run's time axis.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Bytes that others read.
    pub read_bytes: u64,
    /// Bytes that others wrote.
    pub written_bytes: u64,
    /// Both over the time.
    pub rate_bytes_per_s: f64,
    /// What this process moved meanwhile.
    pub own_rate_bytes_per_s: f64,
}

/// Bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moved {
    read_bytes: u64,
    written_bytes: u64,
}

impl Moved {
    fn bytes(self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    fn plus(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }

    fn less(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.saturating_sub(other.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(other.written_bytes),
        }
    }
}

/// What was moved between two moments.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Timestamp,
    to: Timestamp,
    others: Moved,
    own: Moved,
}

impl Stretch {
    fn joined(self, next: Stretch) -> Stretch {
        Stretch {
            from: self.from,
            to: next.to,
            others: self.others.plus(next.others),
            own: self.own.plus(next.own),
        }
    }

    fn seconds(self) -> f64 {
        self.to.since_s(self.from).max(1e-9)
    }

    fn others_bytes_per_s(self) -> f64 {
        self.others.bytes() as f64 / self.seconds()
    }

    /// Whether others moved more than a file system may have written for us.
    fn is_shared(self) -> bool {
        let others = self.others.bytes() as f64;
        others > self.own.bytes() as f64 * SHARE_OF_OWN_MIN
            && self.others_bytes_per_s() > RATE_MIN_BYTES_PER_S
            && self.own.bytes() as f64 > OWN_MIN_BYTES_PER_S * self.seconds()
    }
}

/// Intervals that show others, with short pauses between.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// From its first to its last interval that shows others.
    sure: Stretch,
    /// The same with the pause since.
    with_pause: Stretch,
    intervals: u32,
    pause: u32,
}

impl Group {
    fn counts(&self) -> bool {
        self.intervals >= INTERVALS_MIN && self.sure.is_shared()
    }
}

/// Looks for others on disks through whose counters all that is driven passes just once.
#[derive(Debug)]
pub(crate) struct OthersWatch {
    devices: Vec<String>,
    /// Of our own bytes, what the disks have not seen yet: it is dirty in memory, or under way.
    waiting: Moved,
    recent: VecDeque<Stretch>,
    group: Option<Group>,
    found: Vec<Stretch>,
}

impl OthersWatch {
    pub(crate) fn new(devices: Vec<String>) -> OthersWatch {
        OthersWatch {
            devices,
            waiting: Moved::default(),
            recent: VecDeque::new(),
            group: None,
            found: Vec::new(),
        }
    }

    /// Takes what the system says of the time between two moments.
    pub(crate) fn take(&mut self, from: Timestamp, to: Timestamp, sample: &Sample) {
        let own = sample.process_read_bytes.zip(sample.process_written_bytes);
        let Some((read_bytes, written_bytes)) = own.filter(|_| !self.devices.is_empty()) else {
            return;
        };
        let devices = sample.devices.iter();
        let seen = devices
            .filter(|device| self.devices.contains(&device.name))
            .map(|device| Moved {
                read_bytes: device.read_bytes,
                written_bytes: device.written_bytes,
            })
            .fold(Moved::default(), Moved::plus);
        let own = Moved {
            read_bytes,
            written_bytes,
        };
        self.step(from, to, seen, own);
    }

    fn step(&mut self, from: Timestamp, to: Timestamp, seen: Moved, own: Moved) {
        let expected = self.waiting.plus(own);
        self.waiting = expected.less(seen);
        let now = Stretch {
            from,
            to,
            others: seen.less(expected),
            own,
        };
        self.recent.push_back(now);
        if self.recent.len() > RECENT_INTERVALS {
            self.recent.pop_front();
        }
        self.group = match (self.group.take(), now.is_shared()) {
            (None, false) => None,
            (None, true) => Some(Group {
                sure: now,
                with_pause: now,
                intervals: 1,
                pause: 0,
            }),
            (Some(group), true) => {
                let all = group.with_pause.joined(now);
                Some(Group {
                    sure: all,
                    with_pause: all,
                    intervals: group.intervals + 1,
                    pause: 0,
                })
            }
            (Some(group), false) if group.pause < PAUSE_INTERVALS_MAX => Some(Group {
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

    fn keep(&mut self, group: Group) {
        if !group.counts() {
            return;
        }
        let is_full = self.found.len() >= STRETCHES_MAX;
        match self.found.last_mut() {
            Some(last) if is_full => *last = last.joined(group.sure),
            _ => self.found.push(group.sure),
        }
    }

    /// How fast others are now, if they are there.
    pub(crate) fn rate_now_bytes_per_s(&self) -> Option<f64> {
        self.group.as_ref().filter(|group| group.counts())?;
        let recent = self.recent.iter().copied().reduce(Stretch::joined)?;
        recent.is_shared().then(|| recent.others_bytes_per_s())
    }

    /// The stretches found, with times from `start`; none is kept.
    pub(crate) fn finish(&mut self, start: Timestamp) -> Vec<Others> {
        if let Some(group) = self.group.take() {
            self.keep(group);
        }
        self.recent.clear();
        let found = std::mem::take(&mut self.found).into_iter();
        found
            .map(|stretch| Others {
                devices: self.devices.clone(),
                from_s: stretch.from.since_s(start),
                to_s: stretch.to.since_s(start),
                read_bytes: stretch.others.read_bytes,
                written_bytes: stretch.others.written_bytes,
                rate_bytes_per_s: stretch.others_bytes_per_s(),
                own_rate_bytes_per_s: stretch.own.bytes() as f64 / stretch.seconds(),
            })
            .collect()
    }
}

/// The rate of others while they were there.
#[must_use]
pub fn others_bytes_per_s(others: &[Others]) -> Option<f64> {
    let seconds: f64 = others.iter().map(|one| one.to_s - one.from_s).sum();
    let bytes: u64 = others
        .iter()
        .map(|one| one.read_bytes + one.written_bytes)
        .sum();
    (seconds > 0.0).then(|| bytes as f64 / seconds)
}

/// What others did, what it means for what was measured, and what to do, in one sentence; `None` if
/// nobody was there.
#[must_use]
pub fn others_words(others: &[Others]) -> Option<String> {
    Some(format!(
        "{}: these are the figures of shared disks, and alone they may be faster; see who it is \
         (`pidstat -d 1` says it) and run again without them",
        others_deeds(others)?
    ))
}

/// What others did, where, when, and beside what; `None` if nobody was there.
#[must_use]
pub fn others_deeds(others: &[Others]) -> Option<String> {
    let (first, last) = (others.first()?, others.last()?);
    let seconds: f64 = others.iter().map(|one| one.to_s - one.from_s).sum();
    let own = others
        .iter()
        .map(|one| one.own_rate_bytes_per_s * (one.to_s - one.from_s))
        .sum::<f64>();
    let when = match others.len() {
        1 => format!("from {:.0} s to {:.0} s", first.from_s, first.to_s),
        stretches => format!(
            "for {seconds:.0} s, in {stretches} stretches between {:.0} s and {:.0} s",
            first.from_s, last.to_s
        ),
    };
    let sum = |part: fn(&Others) -> u64| others.iter().map(part).sum::<u64>();
    let (read, written) = (sum(|one| one.read_bytes), sum(|one| one.written_bytes));
    let verb = match (read > written / 8, written > read / 8) {
        (true, true) => "read and wrote",
        (true, false) => "read",
        _ => "wrote",
    };
    Some(format!(
        "others {verb} {} on {} {when}, beside {} of this run's own",
        Rate(others_bytes_per_s(others)?),
        first.devices.join(", "),
        Rate(own / seconds),
    ))
}

#[cfg(test)]
mod tests;
