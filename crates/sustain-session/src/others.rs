//! Detects foreign I/O: the traffic that the disks' own counters saw, less what this process moved.
//! Pure; the monitor calls it once a second.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sustain_disk::clock::Timestamp;
use sustain_disk::target::Direction;
use sustain_disk::units::Rate;
use sustain_host::Sample;

use crate::beneath::Beneath;
use crate::counted_once::{Counted, CountedTarget};

/// Slower foreign I/O is ignored, because any system has that now and then.
const RATE_MIN_BYTES_PER_S: f64 = 1e6;
/// Up to this part of this process's bytes may be metadata and journal of a file system, written
/// for this process.
const SHARE_OF_OWN_MIN: f64 = 0.05;
/// If this process moves less than this in an interval, foreign I/O cannot be in its way.
const OWN_MIN_BYTES_PER_S: f64 = 64e3;
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
const STRETCHES_MAX: usize = 32;

/// A stretch of time in which other programs read or wrote the disks that were driven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Kernel name of the disk, or of the volume or loop device, whose counters showed it; for
    /// several parts of an array, their names separated by commas.
    pub device: String,
    /// Start, on the run's time axis.
    pub from_s: f64,
    /// End, on the run's time axis.
    pub to_s: f64,
    /// Bytes that other programs read.
    pub read_bytes: u64,
    /// Bytes that other programs wrote.
    pub written_bytes: u64,
    /// Both, over that time.
    pub rate_bytes_per_s: f64,
    /// The rate of this process in that time.
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

    fn in_direction(direction: Direction, bytes: u64) -> Moved {
        match direction {
            Direction::Read => Moved {
                read_bytes: bytes,
                written_bytes: 0,
            },
            Direction::Write => Moved {
                read_bytes: 0,
                written_bytes: bytes,
            },
        }
    }

    fn most(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.max(other.read_bytes),
            written_bytes: self.written_bytes.max(other.written_bytes),
        }
    }

    fn least(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.min(other.read_bytes),
            written_bytes: self.written_bytes.min(other.written_bytes),
        }
    }

    fn less(self, other: Moved) -> Moved {
        Moved {
            read_bytes: self.read_bytes.saturating_sub(other.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(other.written_bytes),
        }
    }
}

/// The bytes that were moved between two moments.
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

    /// Whether other programs moved more than a file system may have written for this process.
    fn is_shared(self) -> bool {
        let others = self.others.bytes() as f64;
        others > self.own.bytes() as f64 * SHARE_OF_OWN_MIN
            && self.others_bytes_per_s() > RATE_MIN_BYTES_PER_S
            && self.own.bytes() as f64 > OWN_MIN_BYTES_PER_S * self.seconds()
    }
}

/// Intervals that show foreign I/O, with short pauses between them.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// From the first to the last interval that shows foreign I/O.
    sure: Stretch,
    /// The same, including the pause since then.
    with_pause: Stretch,
    intervals: u32,
    pause: u32,
}

impl Group {
    fn counts(&self) -> bool {
        self.intervals >= INTERVALS_MIN && self.sure.is_shared()
    }
}

/// Looks for foreign I/O on the devices whose counters see each driven byte exactly once.
#[derive(Debug)]
pub(crate) struct OthersWatch {
    targets: Vec<CountedTarget>,
    devices: Vec<DeviceWatch>,
    /// The devices beneath them.
    beneath: Vec<(Beneath, DeviceWatch)>,
    /// The bytes that the kernel counted for this process, on any device.
    own: Moved,
    /// The largest part of these so far that no target had been given: probe workloads, sources on
    /// disks, metadata. It may have gone to any device.
    elsewhere: Moved,
    /// The bytes that were passed down to the devices beneath, and those of this process that
    /// neither were passed down nor driven.
    passed: Moved,
    elsewhere_beneath: Moved,
}

impl OthersWatch {
    pub(crate) fn new(counted: Counted) -> OthersWatch {
        let Counted { targets, beneath } = counted;
        let watched = |one: Beneath| {
            let watch = DeviceWatch::new(&one.seen_on.join(", "));
            (one, watch)
        };
        let mut devices: Vec<DeviceWatch> = Vec::new();
        for target in &targets {
            if devices.iter().all(|known| known.device != target.device) {
                devices.push(DeviceWatch::new(&target.device));
            }
        }
        OthersWatch {
            targets,
            devices,
            beneath: beneath.into_iter().map(watched).collect(),
            own: Moved::default(),
            elsewhere: Moved::default(),
            passed: Moved::default(),
            elsewhere_beneath: Moved::default(),
        }
    }

    /// Notes bytes that were driven to or from a target.
    pub(crate) fn drove(&mut self, target: &str, direction: Direction, bytes: u64) {
        let Some(of_target) = self.targets.iter().find(|known| known.target == target) else {
            return;
        };
        let mut devices = self.devices.iter_mut();
        if let Some(device) = devices.find(|known| known.device == of_target.device) {
            let moved = Moved::in_direction(direction, bytes);
            device.driven = device.driven.plus(moved);
        }
    }

    /// Takes a sample of the time between two moments.
    pub(crate) fn take(&mut self, from: Timestamp, to: Timestamp, sample: &Sample) {
        let own = sample.process_read_bytes.zip(sample.process_written_bytes);
        let Some((read_bytes, written_bytes)) = own else {
            return;
        };
        let own = Moved {
            read_bytes,
            written_bytes,
        };
        let seen = |device: &str| {
            let found = sample.devices.iter().find(|known| known.name == device);
            found.map_or_else(Moved::default, |found| Moved {
                read_bytes: found.read_bytes,
                written_bytes: found.written_bytes,
            })
        };
        self.step((from, to), own, seen);
    }

    fn step(
        &mut self,
        (from, to): (Timestamp, Timestamp),
        own: Moved,
        seen: impl Fn(&str) -> Moved,
    ) {
        self.own = self.own.plus(own);
        let driven = self.devices.iter().map(|device| device.driven);
        let driven = driven.fold(Moved::default(), Moved::plus);
        // A driver reports a little later than the kernel counts, so the largest value so far
        // counts.
        let elsewhere = self.elsewhere.most(self.own.less(driven));
        let more = elsewhere.less(self.elsewhere);
        self.elsewhere = elsewhere;
        let is_only = self.devices.len() == 1;
        let mut passed_by: Vec<(String, Moved)> = Vec::new();
        for device in &mut self.devices {
            let driven = device.driven.less(device.driven_before);
            device.driven_before = device.driven;
            let seen = seen(&device.device);
            passed_by.push((device.device.clone(), device.passed_down(seen)));
            // The kernel also counts data that was overwritten in memory and never reached the
            // disk.
            let own = if is_only { own } else { driven.plus(more) };
            device.step((from, to), seen, own);
        }
        self.step_beneath((from, to), &passed_by, seen);
    }

    /// The same step for the devices beneath: bytes that the devices above passed down, and bytes
    /// that no target had been given, belong to this process.
    fn step_beneath(
        &mut self,
        between: (Timestamp, Timestamp),
        passed_by: &[(String, Moved)],
        seen: impl Fn(&str) -> Moved,
    ) {
        let passed = |name: &String| {
            let known = passed_by.iter().find(|(device, _)| device == name);
            known.map_or_else(|| seen(name), |(_, passed)| *passed)
        };
        let passed_all =
            |names: &[String]| names.iter().map(passed).fold(Moved::default(), Moved::plus);
        let ours: Vec<Moved> = self
            .beneath
            .iter()
            .map(|one| passed_all(&one.0.own_on))
            .collect();
        // The kernel counts the bytes that an array or a volume passes down once more for this
        // process.
        self.passed = ours.iter().copied().fold(self.passed, Moved::plus);
        let driven = self.devices.iter().map(|device| device.driven);
        let known = driven.fold(self.passed, Moved::plus);
        let elsewhere = self.elsewhere_beneath.most(self.own.less(known));
        let more = elsewhere.less(self.elsewhere_beneath);
        self.elsewhere_beneath = elsewhere;
        for ((compared, watch), ours) in self.beneath.iter_mut().zip(ours) {
            let each = compared.seen_on.iter().map(|name| seen(name));
            let seen = each.fold(Moved::default(), Moved::plus);
            watch.step(between, seen, ours.plus(more));
        }
    }

    /// Notes that from now on bytes of this process may stay in memory for any time: the traffic of
    /// the device says little until [`Self::flushed`].
    pub(crate) fn writes_through_memory(&mut self) {
        for device in &mut self.devices {
            device.begin_sum();
        }
    }

    /// Notes that all bytes of this process are on the devices by now: any further traffic is
    /// foreign I/O.
    pub(crate) fn flushed(&mut self) {
        for device in &mut self.devices {
            device.end_sum();
        }
    }

    /// Whether there is a device on which foreign I/O can be detected.
    pub(crate) fn is_possible(&self) -> bool {
        !self.devices.is_empty()
    }

    /// How fast others are now, on all devices together, if they are there. What is seen beneath
    /// may be what was seen above: the larger of the two counts.
    pub(crate) fn rate_now_bytes_per_s(&self) -> Option<f64> {
        let above = self.devices.iter().filter_map(DeviceWatch::rate_now);
        let beneath = self.beneath.iter().map(|(_, watch)| watch);
        let beneath = beneath.filter_map(DeviceWatch::rate_now);
        let sums = [
            above.reduce(|sum, rate| sum + rate),
            beneath.reduce(|sum, rate| sum + rate),
        ];
        sums.into_iter().flatten().reduce(f64::max)
    }

    /// The stretches found, in order, with times from `start`; none is kept.
    pub(crate) fn finish(&mut self, start: Timestamp) -> Vec<Others> {
        let above = self.devices.iter_mut();
        let mut found: Vec<Others> = above.flat_map(|device| device.finish(start)).collect();
        for (compared, watch) in &mut self.beneath {
            let mut seen = watch.finish(start);
            seen.retain(|one| !was_seen_above(one, &found, &compared.own_on));
            found.extend(seen);
        }
        found.sort_by(|one, other| one.from_s.total_cmp(&other.from_s));
        found
    }
}

/// Whether most of what was found beneath some devices was found on these devices themselves:
/// others on a volume are also seen on the disk below it.
fn was_seen_above(beneath: &Others, found: &[Others], devices: &[String]) -> bool {
    let bytes = |one: &Others| one.read_bytes + one.written_bytes;
    let meets = |one: &&Others| {
        devices.contains(&one.device) && one.from_s < beneath.to_s && beneath.from_s < one.to_s
    };
    let above: u64 = found.iter().filter(meets).map(bytes).sum();
    above >= bytes(beneath) / 2
}

/// Looks for others on one device.
#[derive(Debug)]
struct DeviceWatch {
    device: String,
    /// The bytes that its targets were given in all, and those up to the last sample.
    driven: Moved,
    driven_before: Moved,
    /// The bytes that it has seen in all, and those that had been passed down at the last sample.
    seen: Moved,
    passed_before: Moved,
    /// The bytes of this process that the device has not seen yet, because they are dirty in memory
    /// or in flight.
    waiting: Moved,
    recent: VecDeque<Stretch>,
    group: Option<Group>,
    found: Vec<Stretch>,
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
    seen: Moved,
    own: Moved,
    /// The number of stretches that had been found before.
    found_before: usize,
}

impl DeviceWatch {
    fn new(device: &str) -> DeviceWatch {
        DeviceWatch {
            device: device.to_owned(),
            driven: Moved::default(),
            driven_before: Moved::default(),
            seen: Moved::default(),
            passed_before: Moved::default(),
            waiting: Moved::default(),
            recent: VecDeque::new(),
            group: None,
            found: Vec::new(),
            sum: None,
        }
    }

    fn begin_sum(&mut self) {
        self.sum = Some(Sum {
            time: None,
            seen: Moved::default(),
            own: Moved::default(),
            found_before: self.found.len(),
        });
    }

    /// Keeps the foreign I/O that the whole sum shows, unless most of it was found in intervals,
    /// whose times are finer.
    fn end_sum(&mut self) {
        // If the kernel has counted more bytes of this process than came here, the rest will never
        // come.
        self.waiting = Moved::default();
        let Some(sum) = self.sum.take() else {
            return;
        };
        let Some((from, to)) = sum.time else {
            return;
        };
        let all = Stretch {
            from,
            to,
            others: sum.seen.less(sum.own),
            own: sum.own,
        };
        let found = self.found[sum.found_before..].iter();
        let grouped = self.group.filter(Group::counts).map(|group| group.sure);
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
    fn passed_down(&mut self, seen: Moved) -> Moved {
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

    fn step(&mut self, (from, to): (Timestamp, Timestamp), seen: Moved, own: Moved) {
        if let Some(sum) = &mut self.sum {
            let since = sum.time.map_or(from, |(since, _)| since);
            sum.time = Some((since, to));
            sum.seen = sum.seen.plus(seen);
            sum.own = sum.own.plus(own);
        }
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

    fn rate_now(&self) -> Option<f64> {
        self.group.as_ref().filter(|group| group.counts())?;
        let recent = self.recent.iter().copied().reduce(Stretch::joined)?;
        recent.is_shared().then(|| recent.others_bytes_per_s())
    }

    fn finish(&mut self, start: Timestamp) -> Vec<Others> {
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
            })
            .collect()
    }
}

/// The rate of foreign I/O while there was any, on all devices together.
#[must_use]
pub fn others_bytes_per_s(others: &[Others]) -> Option<f64> {
    let rates = devices_of(others).into_iter();
    let rates = rates.map(|device| mean(others, device, |one| one.rate_bytes_per_s));
    rates.reduce(|sum, rate| sum + rate)
}

/// The devices, each once.
fn devices_of(others: &[Others]) -> Vec<&str> {
    let mut devices: Vec<&str> = Vec::new();
    for one in others {
        if !devices.contains(&one.device.as_str()) {
            devices.push(&one.device);
        }
    }
    devices
}

/// The mean of a rate over the stretches of a device.
fn mean(others: &[Others], device: &str, rate: fn(&Others) -> f64) -> f64 {
    let of_device = || others.iter().filter(|one| one.device == device);
    let seconds: f64 = of_device().map(|one| one.to_s - one.from_s).sum();
    let bytes: f64 = of_device()
        .map(|one| rate(one) * (one.to_s - one.from_s))
        .sum();
    bytes / seconds.max(1e-9)
}

/// Says in one sentence what other programs did, what it means for the measurement, and what to do;
/// `None` if there was no foreign I/O.
#[must_use]
pub fn others_words(others: &[Others]) -> Option<String> {
    Some(format!(
        "{}: these are the figures of shared disks, which may be faster alone; find the programs \
         (`pidstat -d 1` shows them) and run again without them",
        others_deeds(others)?
    ))
}

/// Says what other programs did, where, when, and beside which load of this run; `None` if there
/// was no foreign I/O.
#[must_use]
pub fn others_deeds(others: &[Others]) -> Option<String> {
    let first = others.first()?;
    let last_s = others.iter().map(|one| one.to_s).fold(0.0, f64::max);
    let devices = devices_of(others);
    // The sample in which they were first seen may have begun just before the run.
    let from_s = |one: &Others| one.from_s.max(0.0);
    let when = match others {
        [only] => format!("from {:.0} s to {:.0} s", from_s(only), only.to_s),
        _ => format!("at times between {:.0} s and {last_s:.0} s", from_s(first)),
    };
    let sum = |part: fn(&Others) -> u64| others.iter().map(part).sum::<u64>();
    let (read, written) = (sum(|one| one.read_bytes), sum(|one| one.written_bytes));
    let verb = match (read > written / 8, written > read / 8) {
        (true, true) => "read and wrote",
        (true, false) => "read",
        _ => "wrote",
    };
    let rate = |device: &&str| Rate(mean(others, device, |one| one.rate_bytes_per_s));
    let places = devices.iter();
    let places = places.map(|device| format!("{} on {device}", rate(device)));
    let own = devices.iter();
    let own = own.map(|device| mean(others, device, |one| one.own_rate_bytes_per_s));
    Some(format!(
        "other programs {verb} {} {when}, beside the {} of this run itself",
        places.collect::<Vec<_>>().join(", "),
        Rate(own.sum()),
    ))
}

#[cfg(test)]
mod tests;
