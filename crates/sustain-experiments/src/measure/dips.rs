//! Finds the seconds in which all targets together were much slower than usual, and names what the
//! samples of the machine show at the same time. Pure; the conclusion of a measurement calls it.

use std::collections::BTreeMap;

use sustain_disk::target::DataPath;
use sustain_document::dips::{Dip, DipCause};
use sustain_document::measure::TargetResult;
use sustain_document::system::{Sample, System};
use sustain_statistics::median;

/// A second with less than this part of the usual rate belongs to a dip.
const DIP_PART: f64 = 0.7;
/// In a shorter run no rate is usual.
const SECONDS_MIN: usize = 10;
/// Where more of the run than this is below, the rate is unsteady, and no second stands out.
const DIPS_PART_MAX: f64 = 0.25;
const DIPS_LISTED: usize = 16;
/// A kernel message is logged, and a sample taken, so long before or after what it is about.
const NEAR_S: f64 = 1.0;
const CPU_BUSY_PERCENT: f64 = 95.0;
const CPU_STOLEN_PERCENT: f64 = 10.0;
/// What took less than this part of a dip does not explain it.
const DIP_PART_MIN: f64 = 0.2;
/// The data sheets of many drives name 70 degrees as the highest temperature of operation.
const HOT_CELSIUS: f64 = 70.0;
/// Less on its way to a disk is what any system writes now and then.
const WRITEBACK_BYTES_MIN: u64 = 64 << 20;

/// The dips of a run, the deepest first.
pub(super) fn dips(targets: &[TargetResult], system: &System, path: DataPath) -> Vec<Dip> {
    let rates = rates_by_second(targets);
    let usual = median(&rates);
    let is_low = |rate: &f64| *rate < usual * DIP_PART;
    let low = rates.iter().filter(|rate| is_low(rate)).count();
    if rates.len() < SECONDS_MIN || low as f64 > rates.len() as f64 * DIPS_PART_MAX {
        return Vec::new();
    }
    let mut dips: Vec<Dip> = Vec::new();
    let mut seconds = rates.iter().enumerate().peekable();
    while let Some((start, _)) = seconds.find(|(_, rate)| is_low(rate)) {
        let mut end = start + 1;
        while seconds.next_if(|(_, rate)| is_low(rate)).is_some() {
            end += 1;
        }
        let (start_s, end_s) = (start as f64, end as f64);
        let of_dip = &rates[start..end];
        dips.push(Dip {
            start_s,
            end_s,
            rate_bytes_per_s: of_dip.iter().sum::<f64>() / of_dip.len() as f64,
            usual_bytes_per_s: usual,
            causes: causes((start_s, end_s), system, path),
        });
    }
    dips.sort_by(|one, other| one.rate_bytes_per_s.total_cmp(&other.rate_bytes_per_s));
    dips.truncate(DIPS_LISTED);
    dips
}

/// The rate of all targets in each whole second in which all of them were at work.
fn rates_by_second(targets: &[TargetResult]) -> Vec<f64> {
    let ends = targets
        .iter()
        .map(|one| one.intervals.last().map_or(0.0, |last| last.end_s));
    let seconds = ends.fold(f64::INFINITY, f64::min);
    if !seconds.is_finite() {
        return Vec::new();
    }
    let mut rates = vec![0.0; seconds as usize];
    for interval in targets.iter().flat_map(|target| &target.intervals) {
        let first = interval.start_s.max(0.0) as usize;
        let end = (interval.end_s.ceil() as usize).min(rates.len());
        for (second, rate) in rates.iter_mut().enumerate().take(end).skip(first) {
            let from_s = interval.start_s.max(second as f64);
            let to_s = interval.end_s.min(second as f64 + 1.0);
            *rate += interval.rate_bytes_per_s * (to_s - from_s).max(0.0);
        }
    }
    rates
}

/// What went on in this stretch of the run.
fn causes((start_s, end_s): (f64, f64), system: &System, path: DataPath) -> Vec<DipCause> {
    let is_near = |at_s: f64| at_s >= start_s - NEAR_S && at_s <= end_s + NEAR_S;
    let messages = system.kernel_messages.iter();
    let messages = messages.filter(|message| is_near(message.at_s));
    let mut causes: Vec<DipCause> = messages
        .map(|message| DipCause::KernelMessage {
            text: message.text.clone(),
        })
        .collect();
    let others = system.others.iter();
    let others = others.filter(|one| one.from_s < end_s && one.to_s > start_s);
    causes.extend(others.map(|one| DipCause::Others {
        device: one.device.clone(),
        rate_bytes_per_s: one.rate_bytes_per_s,
    }));
    let samples = system.samples.iter();
    let samples: Vec<&Sample> = samples
        .filter(|sample| sample.time_s > start_s && sample.time_s <= end_s + NEAR_S)
        .collect();
    let long_s = DIP_PART_MIN * (end_s - start_s);
    causes.extend(causes_of_cpu(&samples, long_s));
    causes.extend(flushed(&samples, long_s));
    causes.extend(hottest(&samples));
    let writeback = samples.iter().map(|sample| sample.memory.writeback_bytes);
    // Past the cache it is the load of somebody else, which counts among the others.
    let writeback = writeback.max().filter(|_| path == DataPath::Buffered);
    let writeback = writeback.filter(|bytes| *bytes >= WRITEBACK_BYTES_MIN);
    causes.extend(writeback.map(|bytes| DipCause::Writeback { bytes }));
    causes
}

fn causes_of_cpu(samples: &[&Sample], long_s: f64) -> Vec<DipCause> {
    let shares = || samples.iter().filter_map(|sample| sample.cpu.as_ref());
    let busiest = shares().map(|cpu| 100.0 - cpu.idle_percent - cpu.iowait_percent);
    let busiest = busiest.fold(0.0, f64::max);
    let stolen = shares().map(|cpu| cpu.steal_percent).fold(0.0, f64::max);
    let mut causes = Vec::new();
    if busiest >= CPU_BUSY_PERCENT {
        causes.push(DipCause::CpuBusy {
            busy_percent: busiest,
        });
    }
    if stolen >= CPU_STOLEN_PERCENT {
        causes.push(DipCause::CpuStolen {
            stolen_percent: stolen,
        });
    }
    let throttled_s = samples.iter().filter_map(|sample| sample.throttled_s).sum();
    if throttled_s >= long_s {
        causes.push(DipCause::CpuThrottled { throttled_s });
    }
    causes
}

/// The device that flushed for the longest time, if that was long.
fn flushed(samples: &[&Sample], long_s: f64) -> Option<DipCause> {
    let mut by_device: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        let sums = by_device.entry(&device.name).or_default();
        sums.0 += device.flushes.unwrap_or(0);
        sums.1 += device.flush_ms.unwrap_or(0);
    }
    let longest = by_device
        .into_iter()
        .max_by_key(|(_, (_, time_ms))| *time_ms);
    let (device, (flushes, time_ms)) = longest?;
    let flush_s = time_ms as f64 / 1000.0;
    (flush_s >= long_s).then(|| DipCause::Flushes {
        device: device.to_owned(),
        flushes,
        flush_s,
    })
}

/// The hottest device, if it is hot.
fn hottest(samples: &[&Sample]) -> Option<DipCause> {
    let devices = samples.iter().flat_map(|sample| &sample.devices);
    let hot = devices.filter_map(|device| Some((device.temperature_celsius?, &device.name)));
    let (celsius, device) = hot.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (celsius >= HOT_CELSIUS).then(|| DipCause::Hot {
        device: device.clone(),
        celsius,
    })
}

#[cfg(test)]
mod tests {
    use sustain_document::measure::Interval;
    use sustain_document::system::{CpuShares, DeviceSample, KernelMessage, MemorySample, Others};

    use super::*;
    use crate::compare::sample;

    /// A target with these rates in MB/s, one for each second.
    fn target(rates: &[f64]) -> TargetResult {
        let intervals = rates.iter().enumerate().map(|(second, rate)| Interval {
            start_s: second as f64,
            end_s: second as f64 + 1.0,
            bytes: (rate * 1e6) as u64,
            rate_bytes_per_s: rate * 1e6,
            average_bytes_per_s: 0.0,
            latency_max_ns: 0,
            rate_range_bytes_per_s: None,
        });
        let mut target = sample::run(&[("a", Vec::new())]).targets.remove(0);
        target.intervals = intervals.collect();
        target
    }

    fn found(targets: &[TargetResult], system: &System) -> Vec<(f64, f64, u64)> {
        let dips = dips(targets, system, DataPath::Direct);
        let dips = dips.iter();
        dips.map(|dip| (dip.start_s, dip.end_s, (dip.rate_bytes_per_s / 1e6) as u64))
            .collect()
    }

    #[test]
    fn seconds_far_below_the_usual_rate_are_dips_and_the_deepest_comes_first() {
        let mut rates = vec![100.0; 30];
        rates[4] = 60.0;
        (rates[20], rates[21]) = (10.0, 30.0);
        let quiet = System::default();
        let expected = [(20.0, 22.0, 20), (4.0, 5.0, 60)];
        assert_eq!(found(&[target(&rates)], &quiet), expected);
        // The other target makes up for the first one's dip of one second.
        let mut other = vec![100.0; 30];
        other[4] = 140.0;
        let both = [target(&rates), target(&other)];
        assert_eq!(found(&both, &quiet), [(20.0, 22.0, 120)]);
    }

    #[test]
    fn a_short_run_and_one_without_a_usual_rate_have_none() {
        let quiet = System::default();
        assert_eq!(found(&[target(&[100.0, 1.0, 100.0])], &quiet), []);
        let swings: Vec<f64> = (0..40)
            .map(|at| if at % 3 == 0 { 20.0 } else { 100.0 })
            .collect();
        assert_eq!(found(&[target(&swings)], &quiet), []);
        assert_eq!(found(&[], &quiet), []);
    }

    #[test]
    fn what_went_on_at_the_same_time_is_named_and_nothing_else() {
        let mut rates = vec![100.0; 30];
        rates[10] = 10.0;
        let message = |at_s: f64| KernelMessage {
            at_s,
            level: 4,
            text: format!("ata1: reset at {at_s}"),
        };
        let others = |from_s: f64| Others {
            device: "sdb".to_owned(),
            from_s,
            to_s: from_s + 2.0,
            read_bytes: 0,
            written_bytes: 180_000_000,
            rate_bytes_per_s: 90e6,
            own_rate_bytes_per_s: 10e6,
            is_beneath: false,
        };
        let system = System {
            samples: vec![sampled(11.0, 99.0, 30.0), sampled(25.0, 100.0, 0.0)],
            kernel_messages: vec![message(2.0), message(11.5)],
            others: vec![others(1.0), others(9.5)],
            ..System::default()
        };
        let dips = dips(&[target(&rates)], &system, DataPath::Direct);
        let expected = [
            DipCause::KernelMessage {
                text: "ata1: reset at 11.5".to_owned(),
            },
            DipCause::Others {
                device: "sdb".to_owned(),
                rate_bytes_per_s: 90e6,
            },
            DipCause::CpuBusy { busy_percent: 99.0 },
            DipCause::CpuStolen {
                stolen_percent: 30.0,
            },
        ];
        assert_eq!(dips[0].causes, expected);
    }

    #[test]
    fn flushes_and_a_quota_of_processors_are_causes_if_they_took_long() {
        let device = |name: &str, flush_ms: u64| DeviceSample {
            name: name.to_owned(),
            read_bytes: 0,
            written_bytes: 0,
            ios_in_flight: 0,
            busy_ms: 0,
            flushes: Some(3),
            flush_ms: Some(flush_ms),
            temperature_celsius: None,
        };
        let mut rates = vec![100.0; 30];
        (rates[10], rates[11]) = (10.0, 10.0);
        let found = |throttled_s: f64, flush_ms: u64| {
            let samples = [11.0, 12.0, 20.0].map(|time_s| Sample {
                throttled_s: Some(throttled_s),
                devices: vec![device("sda", flush_ms / 2), device("sdb", flush_ms)],
                ..sampled(time_s, 10.0, 0.0)
            });
            let system = System {
                samples: samples.to_vec(),
                ..System::default()
            };
            dips(&[target(&rates)], &system, DataPath::Direct)
                .remove(0)
                .causes
        };
        let expected = [
            DipCause::CpuThrottled { throttled_s: 0.5 },
            DipCause::Flushes {
                device: "sdb".to_owned(),
                flushes: 6,
                flush_s: 0.6,
            },
        ];
        assert_eq!(found(0.25, 300), expected);
        assert_eq!(found(0.15, 150), [], "that does not explain two seconds");
    }

    /// A sample of busy processors, some of whose time went to others.
    fn sampled(time_s: f64, busy_percent: f64, steal_percent: f64) -> Sample {
        Sample {
            time_s,
            cpu: Some(CpuShares {
                user_percent: busy_percent - steal_percent,
                system_percent: 0.0,
                iowait_percent: 0.0,
                idle_percent: 100.0 - busy_percent,
                irq_percent: 0.0,
                steal_percent,
            }),
            process_user_cpu_s: 0.0,
            process_system_cpu_s: 0.0,
            process_read_bytes: None,
            process_written_bytes: None,
            throttled_s: Some(0.02),
            threads: Vec::new(),
            memory: MemorySample {
                dirty_bytes: 0,
                writeback_bytes: 1 << 30,
                cached_bytes: 0,
                available_bytes: 0,
            },
            devices: Vec::new(),
        }
    }
}
