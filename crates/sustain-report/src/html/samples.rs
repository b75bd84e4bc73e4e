//! Turns the monitor's samples of the machine into series that a chart draws. It is the only place
//! of the page that knows the fields of a sample.

use sustain_document::system::Sample;

/// The machine at one moment.
pub(super) struct SystemMoment {
    pub(super) time_s: f64,
    /// The parts of all processors' time; none if no clock tick passed since the last sample.
    pub(super) processor: Option<Processor>,
    /// This program's part of all processors' time, 0 to 1; none for the first sample, whose length
    /// is not known, and where the number of processors is not known.
    pub(super) own: Option<f64>,
    pub(super) dirty_bytes: u64,
    pub(super) writeback_bytes: u64,
    pub(super) cached_bytes: u64,
}

/// The parts of all processors' time, 0 to 1.
pub(super) struct Processor {
    pub(super) user: f64,
    /// The part in the kernel, interrupts included.
    pub(super) system: f64,
    pub(super) iowait: f64,
}

/// The samples in order of time, on a machine of so many processors.
pub(super) fn moments(samples: &[Sample], processors: Option<u32>) -> Vec<SystemMoment> {
    let befores = std::iter::once(None).chain(samples.iter().map(Some));
    samples
        .iter()
        .zip(befores)
        .map(|(sample, before)| SystemMoment {
            own: before.and_then(|before| own_share(sample, before, processors?)),
            ..moment(sample)
        })
        .collect()
}

fn own_share(sample: &Sample, before: &Sample, processors: u32) -> Option<f64> {
    let available_s = (sample.time_s - before.time_s) * f64::from(processors);
    let used_s = sample.process_user_cpu_s + sample.process_system_cpu_s;
    (available_s > 0.0).then(|| used_s / available_s)
}

fn moment(sample: &Sample) -> SystemMoment {
    SystemMoment {
        own: None,
        time_s: sample.time_s,
        processor: sample.cpu.as_ref().map(|shares| Processor {
            user: shares.user_percent / 100.0,
            system: (shares.system_percent + shares.irq_percent) / 100.0,
            iowait: shares.iowait_percent / 100.0,
        }),
        dirty_bytes: sample.memory.dirty_bytes,
        writeback_bytes: sample.memory.writeback_bytes,
        cached_bytes: sample.memory.cached_bytes,
    }
}

/// The highest temperature of each device that reports one, in the order of the samples.
pub(super) fn temperatures_max(samples: &[Sample]) -> Vec<(String, f64)> {
    let mut highest: Vec<(String, f64)> = Vec::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        let Some(celsius) = device.temperature_celsius else {
            continue;
        };
        match highest.iter_mut().find(|(name, _)| *name == device.name) {
            Some((_, most)) => *most = most.max(celsius),
            None => highest.push((device.name.clone(), celsius)),
        }
    }
    highest
}
