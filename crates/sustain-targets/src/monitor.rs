//! The monitor of the system during a run. Once a second it samples CPU, memory, the targets' disks
//! and the kernel log. It begins a little before the run and ends a little after it, so that the
//! effect of the run itself can be seen.

use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::target::Direction;
use sustain_document::block_device::BlockDevice;
use sustain_document::system::Sample;
use sustain_document::system::{KernelMessage, System};
use sustain_host::{KernelLog, Roots, Sampler, log_names};

use crate::counted_once::Counted;
use crate::others::OthersWatch;
use crate::stop::Stop;

/// Time between two samples, at first.
const SAMPLE_EVERY_NS: u64 = 1_000_000_000;
/// Beyond so many samples every second one goes, and they are taken half as often: a run of weeks
/// must not fill the memory.
const SAMPLES_MAX: usize = 20_000;
/// How often an idle wait checks for Ctrl-C.
const LOOK_NS: u64 = 50_000_000;

/// The progress of an idle wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Idle {
    /// Time since its start.
    pub elapsed_s: f64,
    /// Time until its end.
    pub remaining_s: f64,
}

/// Collects samples and kernel messages.
pub struct Monitor {
    clock: Clock,
    sampler: Option<Sampler>,
    sampled_at: Timestamp,
    /// The devices whose samples are kept.
    shown: Vec<String>,
    others: OthersWatch,
    log: Option<KernelLog>,
    log_names: Vec<String>,
    next_at: Timestamp,
    every_ns: u64,
    samples: Vec<(Timestamp, Sample)>,
    messages: Vec<(Timestamp, sustain_host::KernelLogLine)>,
    unreadable: Option<String>,
}

impl Monitor {
    /// Starts to watch the given disks. Foreign I/O is looked for on the devices of `counted`. On a
    /// simulated machine there is nothing to watch.
    pub fn start(
        roots: &Roots,
        clock: &Clock,
        devices: &[BlockDevice],
        counted: Counted,
    ) -> Monitor {
        let names = devices.iter().map(|device| device.name().to_owned());
        let mut names: Vec<String> = names.collect();
        for target in &counted.targets {
            if !names.contains(&target.device) {
                names.push(target.device.clone());
            }
        }
        let shown = names.clone();
        for device in counted.devices() {
            if !names.contains(device) {
                names.push(device.clone());
            }
        }
        let mut monitor = Monitor {
            clock: clock.clone(),
            sampler: None,
            sampled_at: clock.now(),
            shown,
            others: OthersWatch::new(counted),
            log: None,
            log_names: devices.iter().flat_map(log_names).collect(),
            next_at: clock.now() + SAMPLE_EVERY_NS,
            every_ns: SAMPLE_EVERY_NS,
            samples: Vec::new(),
            messages: Vec::new(),
            unreadable: None,
        };
        if clock.is_virtual() {
            return monitor;
        }
        // Without procfs the run goes on; its result then simply has no samples.
        monitor.sampler = Sampler::start(roots.clone(), &names, true).ok();
        match KernelLog::open() {
            Ok(log) => monitor.log = Some(log),
            Err(error) => monitor.unreadable = Some(error.to_string()),
        }
        monitor
    }

    /// The reason why the kernel log could not be read, if it could not.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Notes that what is driven from now on goes through memory and reaches the disks at any later
    /// time.
    pub fn writes_through_memory(&mut self) {
        self.sample(self.clock.now());
        self.others.writes_through_memory();
    }

    /// Notes that everything driven through memory has been flushed, so that foreign I/O can be
    /// told from it.
    pub fn flushed(&mut self) {
        self.sample(self.clock.now());
        self.others.flushed();
    }

    /// Takes a sample if one is due.
    pub fn tick(&mut self, now: Timestamp) {
        if now >= self.next_at {
            self.sample(now);
        }
    }

    fn sample(&mut self, now: Timestamp) {
        if self.clock.is_virtual() {
            return;
        }
        while self.next_at <= now {
            self.next_at = self.next_at + self.every_ns;
        }
        if let Some(sampler) = &mut self.sampler
            && let Ok(mut sample) = sampler.sample(0.0)
        {
            self.others.take(self.sampled_at, now, &sample);
            self.sampled_at = now;
            sample.devices.retain(|one| self.shown.contains(&one.name));
            self.samples.push((now, sample));
            if self.samples.len() > SAMPLES_MAX {
                thin(&mut self.samples);
                self.every_ns *= 2;
            }
        }
        self.read_log(now);
    }

    /// Notes bytes that were driven to or from a target, because these are not foreign I/O.
    pub fn drove(&mut self, target: &str, direction: Direction, bytes: u64) {
        self.others.drove(target, direction, bytes);
    }

    /// Bytes that are dirty in the page cache or on their way to a disk, for all programs, by the
    /// last sample.
    pub fn unwritten_bytes(&self) -> Option<u64> {
        let (_, sample) = self.samples.last()?;
        Some(sample.memory.dirty_bytes + sample.memory.writeback_bytes)
    }

    /// The rate at which other programs use the disks now, if they do.
    pub fn others_bytes_per_s(&self) -> Option<f64> {
        self.others.rate_now_bytes_per_s()
    }

    fn read_log(&mut self, now: Timestamp) {
        if let Some(log) = &mut self.log {
            let messages = log.poll(&self.log_names);
            self.messages
                .extend(messages.into_iter().map(|message| (now, message)));
        }
    }

    /// Watches an idle system for this long, or until `stop`; `report` is called about 20 times a
    /// second. In virtual time there is nothing to wait for.
    pub fn idle(&mut self, for_ns: u64, stop: &Stop, report: &mut dyn FnMut(Idle)) {
        self.idle_while(for_ns, &mut |idle| {
            let goes_on = stop.reason().is_none();
            if goes_on {
                report(idle);
            }
            goes_on
        });
    }

    /// Watches an idle system for this long, or until `goes_on`, called about 20 times a second,
    /// returns false. In virtual time there is nothing to wait for.
    pub fn idle_while(&mut self, for_ns: u64, goes_on: &mut dyn FnMut(Idle) -> bool) {
        let first = Idle {
            elapsed_s: 0.0,
            remaining_s: for_ns as f64 / 1e9,
        };
        if self.clock.is_virtual() || for_ns == 0 || !goes_on(first) {
            return;
        }
        self.sample(self.clock.now());
        self.others.rest_begins();
        self.wait(for_ns, goes_on);
        self.sample(self.clock.now());
        self.others.rest_ends();
    }

    fn wait(&mut self, for_ns: u64, goes_on: &mut dyn FnMut(Idle) -> bool) {
        let start = self.clock.now();
        let end = start + for_ns;
        loop {
            let now = self.clock.now();
            let idle = Idle {
                elapsed_s: now.since_s(start),
                remaining_s: end.since_s(now),
            };
            if now >= end || !goes_on(idle) {
                return;
            }
            self.clock.wait_until(end.min(now + LOOK_NS));
            self.tick(self.clock.now());
        }
    }

    /// Hands over what was seen, with times from `start`; none of it is kept.
    pub fn finish(&mut self, start: Timestamp) -> System {
        // Lines that came since the last sample.
        self.read_log(self.clock.now());
        let samples = std::mem::take(&mut self.samples)
            .into_iter()
            .map(|(at, sample)| Sample {
                time_s: at.since_s(start),
                ..sample
            })
            .collect();
        let kernel_messages = std::mem::take(&mut self.messages)
            .into_iter()
            .map(|(at, message)| KernelMessage {
                at_s: at.since_s(start),
                level: message.level,
                text: message.text,
            })
            .collect();
        System {
            samples,
            kernel_messages,
            kernel_log_unreadable: self.unreadable.take(),
            others: self.others.finish(start),
            others_can_be_told: self.sampler.is_some() && self.others.is_possible(),
        }
    }
}

/// Keeps the first of every two.
fn thin<T>(samples: &mut Vec<T>) {
    let mut is_kept = false;
    samples.retain(|_| {
        is_kept = !is_kept;
        is_kept
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nowhere() -> Roots {
        Roots {
            sys: "/nonexistent/sys".into(),
            proc: "/nonexistent/proc".into(),
        }
    }

    #[test]
    fn in_virtual_time_there_is_nothing_to_watch_and_nothing_to_wait_for() {
        let clock = Clock::simulated();
        let mut monitor = Monitor::start(&nowhere(), &clock, &[], Counted::default());
        assert_eq!(monitor.unreadable(), None);
        monitor.idle(2_000_000_000, &Stop::default(), &mut |idle| {
            panic!("{idle:?}")
        });
        assert_eq!(clock.now(), Timestamp(0));
        monitor.tick(Timestamp(5_000_000_000));
        assert_eq!(monitor.finish(clock.now()), System::default());
    }

    #[test]
    fn who_wants_to_end_need_not_wait_out_the_idle_time() {
        let stop = Stop::default();
        stop.interrupt();
        let mut monitor = Monitor::start(&nowhere(), &Clock::Real, &[], Counted::default());
        monitor.idle(u64::MAX / 4, &stop, &mut |idle| panic!("{idle:?}"));
    }

    #[test]
    fn times_count_from_the_start_of_the_run_also_before_it() {
        let clock = Clock::simulated();
        let mut monitor = Monitor::start(&nowhere(), &clock, &[], Counted::default());
        let line = |text: &str| sustain_host::KernelLogLine {
            time_s_since_boot: 0.0,
            level: 3,
            text: text.to_owned(),
        };
        monitor.messages = vec![
            (Timestamp(1_000_000_000), line("before")),
            (Timestamp(4_500_000_000), line("during")),
        ];
        let system = monitor.finish(Timestamp(3_000_000_000));
        let seen: Vec<(f64, &str)> = system
            .kernel_messages
            .iter()
            .map(|message| (message.at_s, message.text.as_str()))
            .collect();
        assert_eq!(seen, [(-2.0, "before"), (1.5, "during")]);
    }

    #[test]
    fn a_run_of_weeks_is_sampled_less_often_in_bounded_memory() {
        let mut samples: Vec<u32> = (0..7).collect();
        thin(&mut samples);
        assert_eq!(samples, [0, 2, 4, 6]);
    }
}
