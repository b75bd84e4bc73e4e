//! Samples the system during a run: processors, the threads of this process, dirty memory, the
//! disks' own counters and temperatures. The measuring program takes one sample a second and gives
//! it its own time. This module keeps no clock and never sleeps, and must not disturb the disks
//! that it watches.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use procfs::{DiskStats, ExplicitSystemInfo, FromBufRead, FromBufReadSI, FromRead, KernelStats};
use sustain_document::system::{CpuShares, DeviceSample, MemorySample, Sample, ThreadSample};

use crate::block_device::sysfs_name;
use crate::error::HostError;
use crate::roots::{Roots, attribute, names_in, parse_file, read_text};
use crate::throttled::ThrottleCounters;

/// /proc/diskstats counts in sectors of 512 bytes, whatever the device's block size is.
const DISKSTATS_SECTOR_BYTES: u64 = 512;
/// Asking a disk for its temperature is a command that some disks serve only with an empty queue,
/// so it is asked seldom.
const TEMPERATURE_PERIOD_S: f64 = 10.0;

/// Takes samples.
#[derive(Debug)]
pub struct Sampler {
    roots: Roots,
    devices: Vec<WatchedSystem>,
    with_threads: bool,
    throttle: ThrottleCounters,
    temperature_time_s: Option<f64>,
    last: Counters,
}

#[derive(Debug)]
struct WatchedSystem {
    name: String,
    temperature_path: Option<PathBuf>,
}

/// All rising counters, in the kernel's units.
#[derive(Debug, Default)]
struct Counters {
    /// user, system, iowait, idle, irq, steal
    cpu_ticks: [u64; 6],
    process_ticks: (u64, u64),
    /// read, written
    process_bytes: Option<(u64, u64)>,
    throttled_ns: Option<u64>,
    threads: BTreeMap<String, (String, u64)>,
    devices: BTreeMap<String, DeviceCounters>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DeviceCounters {
    sectors_read: u64,
    sectors_written: u64,
    ios_in_flight: u64,
    busy_ms: u64,
    /// Flushes, and the time that they took; older kernels do not count them.
    flushes: Option<(u64, u64)>,
}

impl Sampler {
    /// Starts counting now. `device_names` are kernel names (`sda`, `nvme0n1p2`); `with_threads`
    /// adds the threads of this process one by one.
    ///
    /// # Errors
    /// `HostError::Read` or `HostError::Malformed` if procfs is not as expected.
    pub fn start(
        roots: Roots,
        device_names: &[String],
        with_threads: bool,
    ) -> Result<Sampler, HostError> {
        let mut devices = Vec::new();
        for name in device_names {
            let temperature_path = temperature_path(&roots, name);
            devices.push(WatchedSystem {
                name: name.clone(),
                temperature_path,
            });
        }
        let throttle = ThrottleCounters::find(&roots);
        let mut last = Counters::read(&roots, &devices, with_threads)?;
        last.throttled_ns = throttle.throttled_ns();
        Ok(Sampler {
            roots,
            devices,
            with_threads,
            throttle,
            temperature_time_s: None,
            last,
        })
    }

    /// The sample since the last call, or since the start. `time_s` is the caller's time and is
    /// only passed on.
    ///
    /// # Errors
    /// `HostError::Read` or `HostError::Malformed`; the next call may succeed again.
    pub fn sample(&mut self, time_s: f64) -> Result<Sample, HostError> {
        let memory = read_memory(&self.roots)?;
        let mut now = Counters::read(&self.roots, &self.devices, self.with_threads)?;
        now.throttled_ns = self.throttle.throttled_ns();
        let last = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let mut threads: Vec<ThreadSample> = Vec::new();
        for (id, (name, ticks)) in &now.threads {
            // A thread that was not there before is new: all its time is since the last sample.
            let before = last.threads.get(id).map_or(0, |(_, ticks)| *ticks);
            let cpu_s = seconds(ticks.saturating_sub(before));
            threads.push(ThreadSample {
                name: name.clone(),
                cpu_s,
            });
        }
        let with_temperature = self
            .temperature_time_s
            .is_none_or(|then| time_s - then >= TEMPERATURE_PERIOD_S);
        if with_temperature {
            self.temperature_time_s = Some(time_s);
        }
        let mut devices = Vec::new();
        for watched in &self.devices {
            let Some(counters) = now.devices.get(&watched.name) else {
                continue;
            };
            // A device that has just come starts from its present count.
            let before = last.devices.get(&watched.name).unwrap_or(counters);
            let path = watched
                .temperature_path
                .as_deref()
                .filter(|_| with_temperature);
            devices.push(counters.since(before, &watched.name, path));
        }
        let [user, system] = [
            now.process_ticks.0.saturating_sub(last.process_ticks.0),
            now.process_ticks.1.saturating_sub(last.process_ticks.1),
        ];
        let moved = last.process_bytes.zip(now.process_bytes);
        let moved = moved.map(|(before, now)| {
            let (read, written) = (now.0.saturating_sub(before.0), now.1);
            (read, written.saturating_sub(before.1))
        });
        Ok(Sample {
            time_s,
            cpu: cpu_shares(&last.cpu_ticks, &now.cpu_ticks),
            process_user_cpu_s: seconds(user),
            process_system_cpu_s: seconds(system),
            process_read_bytes: moved.map(|(read, _)| read),
            process_written_bytes: moved.map(|(_, written)| written),
            throttled_s: last
                .throttled_ns
                .zip(now.throttled_ns)
                .map(|(before, now)| now.saturating_sub(before) as f64 / 1e9),
            threads,
            memory,
            devices,
        })
    }
}

impl Counters {
    fn read(
        roots: &Roots,
        watched: &[WatchedSystem],
        with_threads: bool,
    ) -> Result<Counters, HostError> {
        let system = ExplicitSystemInfo {
            boot_time_secs: 0,
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            page_size: rustix::param::page_size() as u64,
            is_little_endian: cfg!(target_endian = "little"),
        };
        let cpu = parse_file(&roots.proc.join("stat"), |bytes| {
            KernelStats::from_buf_read(bytes, &system)
        })?
        .total;
        let mut counters = Counters {
            cpu_ticks: [
                cpu.user + cpu.nice,
                cpu.system,
                cpu.iowait.unwrap_or(0),
                cpu.idle,
                cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0),
                cpu.steal.unwrap_or(0),
            ],
            process_ticks: process_stat(&roots.proc.join("self/stat")).map(|(_, ticks)| ticks)?,
            threads: if with_threads {
                read_threads(roots)?
            } else {
                BTreeMap::new()
            },
            process_bytes: None,
            throttled_ns: None,
            devices: BTreeMap::new(),
        };
        if watched.is_empty() {
            return Ok(counters);
        }
        let disks = parse_file(&roots.proc.join("diskstats"), |bytes| {
            DiskStats::from_buf_read(bytes)
        })?;
        for disk in disks.0 {
            if watched.iter().any(|device| device.name == disk.name) {
                let device = DeviceCounters {
                    sectors_read: disk.sectors_read,
                    sectors_written: disk.sectors_written,
                    ios_in_flight: disk.in_progress,
                    busy_ms: disk.time_in_progress,
                    flushes: disk.flushes.zip(disk.time_flushing),
                };
                counters.devices.insert(disk.name, device);
            }
        }
        // This is read after the disks' counters, so that the bytes of this process that the disks
        // have seen are counted here, too.
        counters.process_bytes = process_bytes(roots);
        Ok(counters)
    }
}

impl DeviceCounters {
    fn since(
        &self,
        before: &DeviceCounters,
        name: &str,
        temperature_path: Option<&Path>,
    ) -> DeviceSample {
        let bytes = |now: u64, before: u64| now.saturating_sub(before) * DISKSTATS_SECTOR_BYTES;
        let millidegrees: Option<f64> =
            temperature_path.and_then(|path| attribute(path)?.parse().ok());
        let flushes = before.flushes.zip(self.flushes).map(|(before, now)| {
            (
                now.0.saturating_sub(before.0),
                now.1.saturating_sub(before.1),
            )
        });
        DeviceSample {
            name: name.to_owned(),
            read_bytes: bytes(self.sectors_read, before.sectors_read),
            written_bytes: bytes(self.sectors_written, before.sectors_written),
            ios_in_flight: self.ios_in_flight,
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
            flushes: flushes.map(|(count, _)| count),
            flush_ms: flushes.map(|(_, time_ms)| time_ms),
            temperature_celsius: millidegrees.map(|value| value / 1000.0),
        }
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn cpu_shares(before: &[u64; 6], now: &[u64; 6]) -> Option<CpuShares> {
    // iowait and idle may step back a little (proc(5)); that counts as nothing.
    let passed: [u64; 6] = std::array::from_fn(|index| now[index].saturating_sub(before[index]));
    let total: u64 = passed.iter().sum();
    if total == 0 {
        return None;
    }
    let [user, system, iowait, idle, irq, steal] =
        passed.map(|ticks| 100.0 * ticks as f64 / total as f64);
    Some(CpuShares {
        user_percent: user,
        system_percent: system,
        iowait_percent: iowait,
        idle_percent: idle,
        irq_percent: irq,
        steal_percent: steal,
    })
}

/// Name, and ticks in user and kernel mode.
fn process_stat(path: &Path) -> Result<(String, (u64, u64)), HostError> {
    let stat = parse_file(path, |bytes| procfs::process::Stat::from_read(bytes))?;
    Ok((stat.comm, (stat.utime, stat.stime)))
}

/// The bytes that this process has read and written so far; not every kernel counts them.
fn process_bytes(roots: &Roots) -> Option<(u64, u64)> {
    let text = read_text(&roots.proc.join("self/io")).ok()?;
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(found, _)| *found == name)?.1.parse().ok()
    };
    Some((field("read_bytes")?, field("write_bytes")?))
}

fn read_threads(roots: &Roots) -> Result<BTreeMap<String, (String, u64)>, HostError> {
    let tasks = roots.proc.join("self/task");
    let mut threads = BTreeMap::new();
    for id in names_in(&tasks)? {
        // A thread may end between listing and reading.
        if let Ok((name, (user, system))) = process_stat(&tasks.join(&id).join("stat")) {
            threads.insert(id, (name, user + system));
        }
    }
    Ok(threads)
}

fn read_memory(roots: &Roots) -> Result<MemorySample, HostError> {
    let path = roots.proc.join("meminfo");
    let text = read_text(&path)?;
    let field = |name: &str| {
        meminfo_bytes(&text, name).ok_or_else(|| HostError::Malformed {
            path: path.clone(),
            why: format!("no {name}"),
        })
    };
    Ok(MemorySample {
        dirty_bytes: field("Dirty")?,
        writeback_bytes: field("Writeback")?,
        cached_bytes: field("Cached")?,
        available_bytes: field("MemAvailable")?,
    })
}

/// A field of `/proc/meminfo`, which counts in KiB. It is parsed by hand, because the procfs crate
/// refuses the whole table if a container leaves lines out.
pub(crate) fn meminfo_bytes(text: &str, field: &str) -> Option<u64> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| *name == field)?;
    let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The first temperature sensor of the disk: `drivetemp` for SATA, the controller's own for NVMe.
/// It is below the device, or in older kernels one directory further down.
fn temperature_path(roots: &Roots, name: &str) -> Option<PathBuf> {
    let directory = roots.sys.join("class/block").join(sysfs_name(name));
    let directory = fs::canonicalize(directory).ok()?;
    let disk = if directory.join("partition").exists() {
        directory.parent()?
    } else {
        &directory
    };
    let device = disk.join("device");
    for place in [device.clone(), device.join("hwmon")] {
        for name in names_in(&place).unwrap_or_default() {
            let sensor = place.join(&name).join("temp1_input");
            if name.starts_with("hwmon") && sensor.exists() {
                return Some(sensor);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    /// A snapshot of procfs after so many ticks of each kind.
    fn write_snapshot(host: &FakeHost, cpu: &str, user: u64, system: u64, disk: &str) {
        let stat = format!("cpu  {cpu}\nctxt 1\nbtime 1\nprocesses 1\n");
        host.write_proc("stat", &stat);
        let line = |name: &str, user: u64, system: u64| {
            let rest = "0 0 20 0 1 0 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26";
            format!("7 ({name}) R 1 1 1 0 -1 0 0 0 0 0 {user} {system} {rest} 27 28 29 30 31\n")
        };
        host.write_proc("self/stat", &line("sustain (x)", user, system));
        host.write_proc(
            "self/io",
            &format!(
                "rchar: 1\nread_bytes: {}\nwrite_bytes: {}\n",
                user * 512,
                system * 4096
            ),
        );
        host.write_proc("self/task/7/stat", &line("main", user, 0));
        host.write_proc("self/task/8/stat", &line("driver 0", 0, system));
        host.write_proc("diskstats", disk);
        host.write_proc(
            "meminfo",
            "MemTotal: 9000 kB\nMemAvailable: 8000 kB\nCached: 300 kB\nSwapCached: 1 kB\n\
             Dirty: 20 kB\nWriteback: 4 kB\nWritebackTmp: 0 kB\n",
        );
    }

    fn assert_close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn a_sample_is_the_difference_of_two_snapshots() {
        let host = FakeHost::new();
        let ticks = rustix::param::clock_ticks_per_second();
        host.disk("sdzz", 300, 0, 4096);
        write_snapshot(
            &host,
            "100 0 100 1000 50 5 5 0 0 0",
            10,
            20,
            " 300 0 sdzz 1 0 100 1 1 0 1000 1 0 500 1 0 0 0 0 5 40\n 300 16 sdzy 1 0 1 1 1 0 1 1 0 1 1\n",
        );
        let names = ["sdzz".to_owned(), "gone".to_owned()];
        let mut sampler = Sampler::start(host.roots().clone(), &names, true).unwrap();
        write_snapshot(
            &host,
            "130 10 120 1025 60 6 9 0 0 0",
            10 + ticks,
            20 + ticks / 2,
            " 300 0 sdzz 9 0 108 9 9 0 3048 9 7 900 9 0 0 0 0 8 290\n",
        );
        let sample = sampler.sample(2.5).unwrap();
        assert_close(sample.time_s, 2.5);
        let cpu = sample.cpu.unwrap();
        assert_close(cpu.user_percent, 40.0);
        assert_close(cpu.system_percent, 20.0);
        assert_close(cpu.idle_percent, 25.0);
        assert_close(cpu.iowait_percent, 10.0);
        assert_close(cpu.irq_percent, 5.0);
        assert_close(cpu.steal_percent, 0.0);
        assert_close(sample.process_user_cpu_s, 1.0);
        assert_close(sample.process_system_cpu_s, 0.5);
        assert_eq!(sample.process_read_bytes, Some(ticks * 512));
        assert_eq!(sample.process_written_bytes, Some(ticks / 2 * 4096));
        let threads: Vec<_> = sample
            .threads
            .iter()
            .map(|thread| (thread.name.as_str(), thread.cpu_s))
            .collect();
        assert_eq!(threads, [("main", 1.0), ("driver 0", 0.5)]);
        let memory = MemorySample {
            dirty_bytes: 20 * 1024,
            writeback_bytes: 4 * 1024,
            cached_bytes: 300 * 1024,
            available_bytes: 8000 * 1024,
        };
        assert_eq!(sample.memory, memory);
        let device = DeviceSample {
            name: "sdzz".to_owned(),
            read_bytes: 8 * 512,
            written_bytes: 2048 * 512,
            ios_in_flight: 7,
            busy_ms: 400,
            flushes: Some(3),
            flush_ms: Some(250),
            temperature_celsius: None,
        };
        assert_eq!(sample.devices, [device]);
    }

    #[test]
    fn nothing_passed_and_steps_back_count_as_nothing() {
        let host = FakeHost::new();
        write_snapshot(&host, "100 0 100 1000 50 5 5 0", 10, 20, "");
        let mut sampler = Sampler::start(host.roots().clone(), &[], false).unwrap();
        assert_eq!(sampler.sample(1.0).unwrap().cpu, None);
        write_snapshot(&host, "110 0 100 1000 40 5 5 0", 10, 20, "");
        let sample = sampler.sample(2.0).unwrap();
        assert_close(sample.cpu.unwrap().user_percent, 100.0);
        assert!(sample.threads.is_empty() && sample.devices.is_empty());
    }

    #[test]
    fn a_temperature_is_found_for_disk_and_partition_and_asked_seldom() {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 4096);
        host.partition("sdzz", "sdzz1", 300, 1, 1024);
        let nvme = host.disk("nvme9n1", 301, 0, 4096);
        host.write_under(&disk, "device/hwmon/hwmon3/temp1_input", "41000\n");
        host.write_under(&nvme, "device/hwmon4/temp1_input", "38850\n");
        let table = " 300 1 sdzz1 1 0 1 1 1 0 1 1 0 1 1\n 301 0 nvme9n1 1 0 1 1 1 0 1 1 0 1 1\n";
        write_snapshot(&host, "1 0 1 1 1 1 1 0", 1, 1, table);
        let names = ["sdzz1".to_owned(), "nvme9n1".to_owned()];
        let mut sampler = Sampler::start(host.roots().clone(), &names, false).unwrap();
        let mut temperatures = |time_s| -> Vec<Option<f64>> {
            let devices = sampler.sample(time_s).unwrap().devices;
            devices
                .iter()
                .map(|device| device.temperature_celsius)
                .collect()
        };
        assert_eq!(temperatures(1.0), [Some(41.0), Some(38.85)]);
        assert_eq!(temperatures(2.0), [None, None]);
        assert_eq!(temperatures(11.0), [Some(41.0), Some(38.85)]);
    }

    #[test]
    fn a_table_without_a_line_that_is_needed_is_named() {
        let host = FakeHost::new();
        write_snapshot(&host, "1 0 1 1 1 1 1 0", 1, 1, "");
        host.write_proc("meminfo", "MemTotal: 9000 kB\n");
        let mut sampler = Sampler::start(host.roots().clone(), &[], false).unwrap();
        let error = sampler.sample(1.0).unwrap_err();
        assert!(error.to_string().contains("Dirty"), "{error}");
    }
}
