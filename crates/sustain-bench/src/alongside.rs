//! The system alongside a run, once a second: CPU, memory, the targets' disks, the kernel log.
//! A little before, during and a little after, so that the run's own effect can be seen.

use sustain_disk::clock::{Clock, Timestamp};
use sustain_host::{BlockDevice, KernelLog, Roots, Sample, Sampler};

use crate::event::{Event, Live, Observer, Phase};
use crate::feed::Stop;
use crate::result;

/// Time between two samples.
const SAMPLE_EVERY_NS: u64 = 1_000_000_000;
/// How finely an idle wait looks for Ctrl-C.
const LOOK_NS: u64 = 50_000_000;

/// Collects samples and kernel messages.
pub(crate) struct Alongside {
    clock: Clock,
    sampler: Option<Sampler>,
    log: Option<KernelLog>,
    log_names: Vec<String>,
    next_at: Timestamp,
    samples: Vec<(Timestamp, Sample)>,
    messages: Vec<(Timestamp, sustain_host::KernelMessage)>,
    unreadable: Option<String>,
}

impl Alongside {
    /// Starts to watch the disks given. On a simulated machine there is nothing to watch.
    pub(crate) fn start(roots: &Roots, clock: &Clock, devices: &[BlockDevice]) -> Alongside {
        let names: Vec<String> = devices
            .iter()
            .map(|device| device.name().to_owned())
            .collect();
        let mut alongside = Alongside {
            clock: clock.clone(),
            sampler: None,
            log: None,
            log_names: devices.iter().flat_map(BlockDevice::log_names).collect(),
            next_at: clock.now() + SAMPLE_EVERY_NS,
            samples: Vec::new(),
            messages: Vec::new(),
            unreadable: None,
        };
        if clock.is_virtual() {
            return alongside;
        }
        // Without procfs the run goes on; its result then simply has no samples.
        alongside.sampler = Sampler::start(roots.clone(), &names, true).ok();
        match KernelLog::open() {
            Ok(log) => alongside.log = Some(log),
            Err(error) => alongside.unreadable = Some(error.to_string()),
        }
        alongside
    }

    /// Why the kernel log could not be read, if so.
    pub(crate) fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Takes a sample if one is due.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        if now < self.next_at || self.clock.is_virtual() {
            return;
        }
        while self.next_at <= now {
            self.next_at = self.next_at + SAMPLE_EVERY_NS;
        }
        if let Some(sampler) = &mut self.sampler
            && let Ok(sample) = sampler.sample(0.0)
        {
            self.samples.push((now, sample));
        }
        if let Some(log) = &mut self.log {
            let messages = log.poll(&self.log_names);
            self.messages
                .extend(messages.into_iter().map(|message| (now, message)));
        }
    }

    /// Watches an idle system for a while.
    pub(crate) fn idle(
        &mut self,
        phase: Phase,
        for_ns: u64,
        stop: &Stop,
        observer: &mut Observer<'_>,
    ) {
        if self.clock.is_virtual() {
            return;
        }
        let start = self.clock.now();
        let end = start + for_ns;
        while self.clock.now() < end && stop.reason().is_none() {
            let now = self.clock.now();
            observer(Event::Live(Live {
                phase,
                elapsed_s: now.since_s(start),
                remaining_s: Some(end.since_s(now)),
                done: None,
                targets: Vec::new(),
            }));
            self.clock.wait_until(end.min(now + LOOK_NS));
            self.tick(self.clock.now());
        }
    }

    /// What was seen, with times from `start`.
    pub(crate) fn finish(self, start: Timestamp) -> result::System {
        let samples = self
            .samples
            .into_iter()
            .map(|(at, sample)| Sample {
                time_s: at.since_s(start),
                ..sample
            })
            .collect();
        let kernel_messages = self
            .messages
            .into_iter()
            .map(|(at, message)| result::KernelMessage {
                at_s: at.since_s(start),
                level: message.level,
                text: message.text,
            })
            .collect();
        result::System {
            samples,
            kernel_messages,
            kernel_log_unreadable: self.unreadable,
        }
    }
}
