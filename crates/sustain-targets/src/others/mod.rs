//! Detects foreign I/O: the traffic that the disks' own counters saw, less what this process moved.
//! Pure; the monitor calls it once a second.

use sustain_disk::clock::Timestamp;
use sustain_disk::target::Direction;
use sustain_document::system::{Others, Sample};

use crate::beneath::Beneath;
use crate::counted_once::{Counted, CountedTarget};

mod deed_words;
mod deeds;
mod device;
mod moved;

use deeds::{OthersDeeds, devices_of, mean};
use device::DeviceWatch;
use moved::MovedBytes;

/// Looks for foreign I/O on the devices whose counters see each driven byte exactly once.
#[derive(Debug)]
pub(crate) struct OthersWatch {
    targets: Vec<CountedTarget>,
    devices: Vec<DeviceWatch>,
    /// The devices beneath them.
    beneath: Vec<(Beneath, DeviceWatch)>,
    /// The bytes that the kernel counted for this process, on any device.
    own: MovedBytes,
    /// The largest part of these so far that no target had been given: probe workloads, sources on
    /// disks, metadata. It may have gone to any device.
    elsewhere: MovedBytes,
    /// The bytes that were passed down to the devices beneath, and those of this process that
    /// neither were passed down nor driven.
    passed: MovedBytes,
    elsewhere_beneath: MovedBytes,
}

impl OthersWatch {
    pub(crate) fn new(counted: Counted) -> OthersWatch {
        let Counted { targets, beneath } = counted;
        let watched = |one: Beneath| {
            let mut watch = DeviceWatch::new(&one.seen_on.join(", "));
            watch.is_beneath = true;
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
            own: MovedBytes::default(),
            elsewhere: MovedBytes::default(),
            passed: MovedBytes::default(),
            elsewhere_beneath: MovedBytes::default(),
        }
    }

    /// Notes bytes that were driven to or from a target.
    pub(crate) fn drove(&mut self, target: &str, direction: Direction, bytes: u64) {
        let Some(of_target) = self.targets.iter().find(|known| known.target == target) else {
            return;
        };
        let mut devices = self.devices.iter_mut();
        if let Some(device) = devices.find(|known| known.device == of_target.device) {
            let moved = MovedBytes::in_direction(direction, bytes);
            device.driven = device.driven.plus(moved);
        }
    }

    /// Takes a sample of the time between two moments.
    pub(crate) fn take(&mut self, from: Timestamp, to: Timestamp, sample: &Sample) {
        let own = sample.process_read_bytes.zip(sample.process_written_bytes);
        let Some((read_bytes, written_bytes)) = own else {
            return;
        };
        let own = MovedBytes {
            read_bytes,
            written_bytes,
        };
        let seen = |device: &str| {
            let found = sample.devices.iter().find(|known| known.name == device);
            found.map_or_else(MovedBytes::default, |found| MovedBytes {
                read_bytes: found.read_bytes,
                written_bytes: found.written_bytes,
            })
        };
        self.step((from, to), own, seen);
    }

    fn step(
        &mut self,
        (from, to): (Timestamp, Timestamp),
        own: MovedBytes,
        seen: impl Fn(&str) -> MovedBytes,
    ) {
        self.own = self.own.plus(own);
        let driven = self.devices.iter().map(|device| device.driven);
        let driven = driven.fold(MovedBytes::default(), MovedBytes::plus);
        // A driver reports a little later than the kernel counts, so the largest value so far
        // counts.
        let elsewhere = self.elsewhere.most(self.own.less(driven));
        let more = elsewhere.less(self.elsewhere);
        self.elsewhere = elsewhere;
        let is_only = self.devices.len() == 1;
        let mut passed_by: Vec<(String, MovedBytes)> = Vec::new();
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
        passed_by: &[(String, MovedBytes)],
        seen: impl Fn(&str) -> MovedBytes,
    ) {
        let passed = |name: &String| {
            let known = passed_by.iter().find(|(device, _)| device == name);
            known.map_or_else(|| seen(name), |(_, passed)| *passed)
        };
        let passed_all = |names: &[String]| {
            names
                .iter()
                .map(passed)
                .fold(MovedBytes::default(), MovedBytes::plus)
        };
        let ours: Vec<MovedBytes> = self
            .beneath
            .iter()
            .map(|one| passed_all(&one.0.own_on))
            .collect();
        // The kernel counts the bytes that an array or a volume passes down once more for this
        // process.
        self.passed = ours.iter().copied().fold(self.passed, MovedBytes::plus);
        let driven = self.devices.iter().map(|device| device.driven);
        let known = driven.fold(self.passed, MovedBytes::plus);
        let elsewhere = self.elsewhere_beneath.most(self.own.less(known));
        let more = elsewhere.less(self.elsewhere_beneath);
        self.elsewhere_beneath = elsewhere;
        for ((compared, watch), ours) in self.beneath.iter_mut().zip(ours) {
            let each = compared.seen_on.iter().map(|name| seen(name));
            let seen = each.fold(MovedBytes::default(), MovedBytes::plus);
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

    /// Notes that the run rests from now on: whatever else moves, such as what was prepared before
    /// or small probes, is beside no load, and its rate is not that of the run.
    pub(crate) fn rest_begins(&mut self) {
        self.each_watch(DeviceWatch::rest_begins);
    }

    /// Notes that the rest is over.
    pub(crate) fn rest_ends(&mut self) {
        self.each_watch(DeviceWatch::rest_ends);
    }

    fn each_watch(&mut self, note: fn(&mut DeviceWatch)) {
        let beneath = self.beneath.iter_mut().map(|(_, watch)| watch);
        self.devices.iter_mut().chain(beneath).for_each(note);
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

    /// The stretches found, in order, with times from `start`; none is kept. What ended before that
    /// was in the way of the preparation alone, and is left out.
    pub(crate) fn finish(&mut self, start: Timestamp) -> Vec<Others> {
        let above = self.devices.iter_mut();
        let mut found: Vec<Others> = above.flat_map(|device| device.finish(start)).collect();
        for (compared, watch) in &mut self.beneath {
            let mut seen = watch.finish(start);
            seen.retain(|one| !was_seen_above(one, &found, &compared.own_on));
            found.extend(seen);
        }
        found.retain(|one| one.to_s > 0.0);
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

/// The rate of foreign I/O while there was any, on all devices together.
#[must_use]
pub fn others_bytes_per_s(others: &[Others]) -> Option<f64> {
    let rates = devices_of(others).into_iter();
    let rates = rates.map(|device| mean(others, device, |one| one.rate_bytes_per_s));
    rates.reduce(|sum, rate| sum + rate)
}

/// Says in one sentence what other programs did, what it means for the measurement, and what to do;
/// `None` if there was no foreign I/O.
#[must_use]
pub fn others_words(others: &[Others]) -> Option<String> {
    OthersDeeds::of(others).map(|deeds| deed_words::of_measurement(&deeds))
}

/// Says what other programs did, where, when, and beside which load of this run; `None` if there
/// was no foreign I/O.
#[must_use]
pub fn others_deeds(others: &[Others]) -> Option<String> {
    OthersDeeds::of(others).map(|deeds| deed_words::deeds(&deeds))
}

#[cfg(test)]
mod tests;
