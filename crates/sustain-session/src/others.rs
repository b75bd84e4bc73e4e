//! Whether others used the disks meanwhile: what the disks' own counters saw, less what this process
//! moved. Pure; the system alongside feeds it once a second.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sustain_disk::clock::Timestamp;
use sustain_disk::target::Direction;
use sustain_disk::units::Rate;
use sustain_host::Sample;

use crate::beneath::Beneath;
use crate::counted_once::{Counted, CountedTarget};

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
/// A shorter run through memory tells nothing of others: its sum may be a journal's commit.
const SUM_S_MIN: f64 = 3.0;
/// Stretches kept; what comes later is added to the last.
const STRETCHES_MAX: usize = 32;

/// A stretch of time in which others read or wrote the disks that were driven.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Others {
    /// Kernel name of the disk, or of the volume or loop device, whose counters told it; of several
    /// parts of an array their names with commas between.
    pub device: String,
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

/// Looks for others on the devices whose counters see just once what is driven.
#[derive(Debug)]
pub(crate) struct OthersWatch {
    targets: Vec<CountedTarget>,
    devices: Vec<DeviceWatch>,
    /// What lies beneath them.
    beneath: Vec<(Beneath, DeviceWatch)>,
    /// What the kernel counted as our own, on whatever device.
    own: Moved,
    /// The most of that which no target had been given: victims, sources that lie on disks, metadata.
    /// It may have gone to any device.
    elsewhere: Moved,
    /// What was passed down to what lies beneath, and what of our own neither is that nor was driven.
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

    /// Takes what a target was given, or gave.
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

    /// Takes what the system says of the time between two moments.
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
        // A driver tells a little later than the kernel counts, so the most so far is what counts.
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
            // The kernel also knows what was written over in memory and never reached the disk.
            let own = if is_only { own } else { driven.plus(more) };
            device.step((from, to), seen, own);
        }
        self.step_beneath((from, to), &passed_by, seen);
    }

    /// The same beneath: what the devices above passed down, and what no target was given, is our own.
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
        // The kernel counts what an array or a volume passes down once more as ours.
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

    /// From now on our own bytes may lie in memory for as long as they like: what the device sees of them
    /// says little until [`Self::flushed`].
    pub(crate) fn writes_through_memory(&mut self) {
        for device in &mut self.devices {
            device.begin_sum();
        }
    }

    /// All of our own bytes are on the devices by now: what these saw beyond them is of others.
    pub(crate) fn flushed(&mut self) {
        for device in &mut self.devices {
            device.end_sum();
        }
    }

    /// Whether there is a device on which others can be told.
    pub(crate) fn is_possible(&self) -> bool {
        !self.devices.is_empty()
    }

    /// How fast others are now, on all devices together, if they are there. What is seen beneath may
    /// be what was seen above: the larger of the two counts.
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

    /// The stretches found, with times from `start` and in their order; none is kept.
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

/// Whether most of what was found beneath some devices was found on these devices themselves: others
/// on a volume are also seen on the disk below it.
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
    /// What its targets were given in all, and what of it at the last sample.
    driven: Moved,
    driven_before: Moved,
    /// What it has seen in all, and what of it had been passed down at the last sample.
    seen: Moved,
    passed_before: Moved,
    /// Of our own bytes, what the device has not seen yet: it is dirty in memory, or under way.
    waiting: Moved,
    recent: VecDeque<Stretch>,
    group: Option<Group>,
    found: Vec<Stretch>,
    /// While our own bytes may lie in memory: what the device saw, and what was our own, since then.
    sum: Option<Sum>,
}

/// What a device saw, and what was our own, over a run whose bytes go through memory. While it lasts,
/// anything that the device sees may be ours; once all is flushed, the rest is not.
#[derive(Debug, Clone, Copy)]
struct Sum {
    /// From the first to the last sample; none before the first.
    time: Option<(Timestamp, Timestamp)>,
    seen: Moved,
    own: Moved,
    /// How many stretches had been found before.
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

    /// Keeps what the whole sum shows of others, unless most of it has been found in intervals, whose
    /// times are finer.
    fn end_sum(&mut self) {
        // Where the kernel has counted more of our own than came here, the rest never will.
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

    /// What it has passed down since the last sample. Some kernels count twice what goes through the
    /// device mapper: of such a device no more than it was given.
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

/// The rate of others while they were there, on all devices together.
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
        "others {verb} {} {when}, beside {} of this run's own",
        places.collect::<Vec<_>>().join(", "),
        Rate(own.sum()),
    ))
}

#[cfg(test)]
mod tests;
