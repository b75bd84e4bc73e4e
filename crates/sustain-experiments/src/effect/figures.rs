//! Computes the figures of the document from what the probe workloads saw. Pure.

use sustain_disk::clock::Timestamp;
use sustain_disk::target::DataPath;
use sustain_document::effect::{
    Datagrams, Load, MemoryCopy, MemoryMoment, PathEffect, ProbeInterval, ProbePlace, Ratios,
    Stretch, Stretches, Timer, Writes,
};
use sustain_document::system::{KernelCounters, Sample};

use super::board::{BoardPage, Entries, ObservedPhase as Number};
use super::effect_words;
use super::latencies::Latencies;
use super::probes::ProbeObservations;
use crate::memory_copy;

/// A stretch that is over.
#[derive(Debug)]
pub(super) struct EndedStretch {
    pub(super) number: Number,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// What the kernel counted during it.
    pub(super) kernel: KernelCounters,
}

impl EndedStretch {
    /// The rate of what came so often during it.
    fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.end.since_s(self.start).max(1e-9)
    }

    fn page<'a, T>(&self, entries: &'a Entries<T>) -> Option<&'a BoardPage<T>> {
        entries.pages.get(&self.number)
    }

    fn from(&self, origin: Timestamp) -> Stretch {
        Stretch {
            start_s: self.start.since_s(origin),
            end_s: self.end.since_s(origin),
        }
    }
}

/// One load that was watched.
pub(super) struct WatchedLoad {
    pub(super) path: DataPath,
    /// The start of the load itself, after its drivers were set up.
    pub(super) start: Timestamp,
    pub(super) bytes: u64,
    pub(super) last_ns: u64,
    pub(super) errors: u64,
    /// CPU time of the whole process, from the start to the end.
    pub(super) cpu_ns: u64,
    pub(super) elapsed_ns: u64,
    pub(super) marked: Stretches<EndedStretch>,
    pub(super) seen: ProbeObservations,
}

impl WatchedLoad {
    /// CPU time of the process without that of the probe workloads.
    pub(super) fn own_cpu_ns(&self) -> u64 {
        let Some(during) = &self.marked.during else {
            return self.cpu_ns;
        };
        // Their stretch began while the drivers were set up, a little before the load.
        let stretch_ns = during.end.since_ns(during.start).max(1);
        let part = (self.elapsed_ns as f64 / stretch_ns as f64).min(1.0);
        let victims_ns = self.victims_cpu_ns(during) as f64 * part;
        self.cpu_ns.saturating_sub(victims_ns as u64)
    }

    fn victims_cpu_ns(&self, marked: &EndedStretch) -> u64 {
        let seen = &self.seen;
        cpu_ns(seen.writes.as_ref(), marked)
            + cpu_ns(seen.timer.as_ref(), marked)
            + cpu_ns(seen.sent.as_ref(), marked)
            + cpu_ns(seen.received.as_ref(), marked)
    }

    /// The time from the first to the last stretch, with times from `origin`.
    pub(super) fn watched_s(&self, origin: Timestamp) -> Stretch {
        let all = || self.all_marked().map(|marked| marked.from(origin));
        Stretch {
            start_s: all().map(|one| one.start_s).fold(f64::INFINITY, f64::min),
            end_s: all().map(|one| one.end_s).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn all_marked(&self) -> impl Iterator<Item = &EndedStretch> {
        let marked = [&self.marked.before, &self.marked.during, &self.marked.after];
        marked.into_iter().flatten()
    }
}

fn cpu_ns<T>(entries: Option<&Entries<T>>, marked: &EndedStretch) -> u64 {
    let page = entries.and_then(|entries| marked.page(entries));
    page.map_or(0, |page| page.cpu_ns)
}

/// Makes a value from each stretch that took place.
fn each<T>(
    marked: &Stretches<EndedStretch>,
    make: impl Fn(&EndedStretch) -> Option<T>,
) -> Stretches<T> {
    let of = |marked: &Option<EndedStretch>| marked.as_ref().and_then(&make);
    Stretches {
        before: of(&marked.before),
        during: of(&marked.during),
        after: of(&marked.after),
    }
}

/// The document's entry. `samples` are the machine's, with times from `start`.
pub(super) fn path_effect(
    run: &WatchedLoad,
    start: Timestamp,
    place: Option<&ProbePlace>,
    memory_copy: Option<&MemoryCopy>,
    samples: &[Sample],
) -> PathEffect {
    let marked = &run.marked;
    let load = load(run);
    let memory_over_time = memory_moments(run, start, samples);
    let writes = run
        .seen
        .writes
        .as_ref()
        .map(|seen| each(marked, |marked| Some(writes(seen, marked))));
    // A probe workload that failed before the first stretch has seen nothing.
    let writes = writes.filter(|all| all.before.is_some_and(|before| before.count > 0));
    let timer = run
        .seen
        .timer
        .as_ref()
        .map(|seen| each(marked, |marked| Some(timer(seen, marked))));
    let mut effect = PathEffect {
        path: run.path.name().to_owned(),
        stretches: each(marked, |marked| Some(marked.from(run.start))),
        ratios: ratios(writes.as_ref(), timer.as_ref()),
        writes,
        timer,
        datagrams: datagrams(run),
        kernel: each(marked, |marked| Some(marked.kernel.clone())),
        dirty_max_bytes: each(marked, |marked| {
            dirty_max_bytes(&memory_over_time, marked.from(run.start))
        }),
        victims_cpu_s: each(marked, |marked| {
            Some(run.victims_cpu_ns(marked) as f64 / 1e9)
        }),
        memory_share: memory_copy
            .filter(|_| load.bytes > 0)
            .map(|found| memory_copy::share(found, run.path, load.rate_bytes_per_s)),
        load,
        writes_over_time: over_time(run.seen.writes.as_ref(), run),
        timer_over_time: over_time(run.seen.timer.as_ref(), run),
        memory_over_time,
        verdict: String::new(),
    };
    effect.verdict = effect_words::verdict(&effect, place, has_fewer_writes(&effect));
    effect
}

fn load(run: &WatchedLoad) -> Load {
    let seconds = run.last_ns as f64 / 1e9;
    let gigabytes = run.bytes as f64 / 1e9;
    Load {
        bytes: run.bytes,
        seconds,
        rate_bytes_per_s: if run.last_ns > 0 {
            run.bytes as f64 / seconds
        } else {
            0.0
        },
        cpu_seconds_per_gb: (run.bytes > 0).then(|| run.own_cpu_ns() as f64 / 1e9 / gigabytes),
        errors: run.errors,
    }
}

fn writes(entries: &Entries<Latencies>, marked: &EndedStretch) -> Writes {
    let seen = marked.page(entries).map(|page| &page.seen);
    let count = seen.map_or(0, Latencies::count);
    Writes {
        count,
        writes_per_s: marked.per_s(count),
        latency_p50_ns: seen.and_then(|seen| seen.percentile_ns(50.0)),
        latency_p99_ns: seen.and_then(|seen| seen.percentile_ns(99.0)),
        latency_max_ns: seen.and_then(Latencies::max_ns),
    }
}

fn timer(entries: &Entries<Latencies>, marked: &EndedStretch) -> Timer {
    let seen = marked.page(entries).map(|page| &page.seen);
    let wakeups = seen.map_or(0, Latencies::count);
    Timer {
        wakeups,
        wakeups_per_s: marked.per_s(wakeups),
        late_p50_ns: seen.and_then(|seen| seen.percentile_ns(50.0)),
        late_p99_ns: seen.and_then(|seen| seen.percentile_ns(99.0)),
        late_max_ns: seen.and_then(Latencies::max_ns),
    }
}

fn datagrams(run: &WatchedLoad) -> Option<Stretches<Datagrams>> {
    let (sent, received) = (run.seen.sent.as_ref()?, run.seen.received.as_ref()?);
    Some(each(&run.marked, |marked| {
        let out = marked.page(sent).map(|page| page.seen);
        let out = out.unwrap_or_default();
        let came = marked.page(received).map(|page| page.seen);
        let came = came.unwrap_or_default().0;
        Some(Datagrams {
            sent: out.sent,
            sent_per_s: marked.per_s(out.sent),
            received: came,
            lost: out.sent.saturating_sub(came),
            refused: out.refused,
        })
    }))
}

/// How much worse the load made each figure.
fn ratios(writes: Option<&Stretches<Writes>>, timer: Option<&Stretches<Timer>>) -> Ratios {
    Ratios {
        writes_latency_p50: ratio(writes, |all| Some(all.latency_p50_ns? as f64)),
        writes_latency_p99: ratio(writes, |all| Some(all.latency_p99_ns? as f64)),
        writes_per_s: ratio(writes, |all| Some(all.writes_per_s)),
        timer_late_p99: ratio(timer, |all| Some(all.late_p99_ns? as f64)),
        timer_late_max: ratio(timer, |all| Some(all.late_max_ns? as f64)),
    }
}

fn ratio<T>(all: Option<&Stretches<T>>, figure: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    let (before, during) = all?.before.as_ref().zip(all?.during.as_ref())?;
    let (before, during) = (figure(before)?, figure(during)?);
    (before > 0.0).then(|| during / before)
}

/// The machine's samples while this load was watched, with times from the start of the load.
fn memory_moments(run: &WatchedLoad, start: Timestamp, samples: &[Sample]) -> Vec<MemoryMoment> {
    let watched = run.watched_s(start);
    let begun_s = run.start.since_s(start);
    samples
        .iter()
        .filter(|sample| (watched.start_s..=watched.end_s).contains(&sample.time_s))
        .map(|sample| MemoryMoment {
            time_s: sample.time_s - begun_s,
            dirty_bytes: sample.memory.dirty_bytes + sample.memory.writeback_bytes,
            available_bytes: sample.memory.available_bytes,
        })
        .collect()
}

fn dirty_max_bytes(moments: &[MemoryMoment], stretch: Stretch) -> Option<u64> {
    moments
        .iter()
        .filter(|moment| (stretch.start_s..=stretch.end_s).contains(&moment.time_s))
        .map(|moment| moment.dirty_bytes)
        .max()
}

/// What a probe workload saw over time, in all stretches.
fn over_time(entries: Option<&Entries<Latencies>>, run: &WatchedLoad) -> Vec<ProbeInterval> {
    let pages = run.all_marked().filter_map(|marked| {
        let page = marked.page(entries?)?;
        Some((marked.from(run.start), page))
    });
    pages
        .flat_map(|(stretch, page)| {
            let steps = page.seen.intervals(run.start).into_iter();
            steps.map(move |step| clipped(step, stretch))
        })
        .collect()
}

/// The part of a step that is within its stretch. An operation that ended only after the stretch
/// stays where it ended.
fn clipped(step: ProbeInterval, stretch: Stretch) -> ProbeInterval {
    if step.start_s >= stretch.end_s {
        return step;
    }
    ProbeInterval {
        start_s: step.start_s.max(stretch.start_s),
        end_s: step.end_s.min(stretch.end_s),
        ..step
    }
}

/// Writes are clearly fewer if they come at less than this part of their rate before the load.
const FEWER_WRITES: f64 = 0.8;

/// Whether clearly fewer writes completed during the load than before it.
fn has_fewer_writes(effect: &PathEffect) -> bool {
    let writes = effect.writes.as_ref();
    let both = writes.and_then(|writes| writes.before.as_ref().zip(writes.during.as_ref()));
    both.is_some_and(|(before, during)| during.writes_per_s < before.writes_per_s * FEWER_WRITES)
}

#[cfg(test)]
mod tests {
    use super::super::board::{ProbeBoard, ProbeLog};
    use super::super::datagrams::{Received, Sent};
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn log<T: Default>(pages: Vec<(Number, T)>) -> Entries<T> {
        let mut entries = ProbeLog::new().take();
        for (number, seen) in pages {
            let cpu_ns = SECOND / 10;
            entries.pages.insert(number, BoardPage { seen, cpu_ns });
        }
        entries
    }

    fn latencies(each_ns: u64, count: u64, from: Timestamp) -> Latencies {
        let mut latencies = Latencies::default();
        for index in 0..count {
            latencies.record(each_ns, from + (index + 1) * 10_000_000);
        }
        latencies
    }

    fn marked(number: Number, start_s: u64, end_s: u64) -> EndedStretch {
        EndedStretch {
            number,
            start: Timestamp(start_s * SECOND),
            end: Timestamp(end_s * SECOND),
            kernel: KernelCounters::default(),
        }
    }

    /// A second before, two during from moment 11 s on, no after.
    fn run() -> WatchedLoad {
        let board = ProbeBoard::default();
        let (before, during) = (board.begin(false), board.begin(true));
        let sent = |sent| Sent { sent, refused: 0 };
        WatchedLoad {
            path: DataPath::Buffered,
            start: Timestamp(11 * SECOND),
            bytes: 4_000_000_000,
            last_ns: 2 * SECOND,
            errors: 0,
            cpu_ns: SECOND,
            elapsed_ns: 2 * SECOND,
            marked: Stretches {
                before: Some(marked(before, 10, 11)),
                during: Some(marked(during, 11, 13)),
                after: None,
            },
            seen: ProbeObservations {
                writes: Some(log(vec![
                    (before, latencies(1_000_000, 100, Timestamp(10 * SECOND))),
                    (during, latencies(3_000_000, 50, Timestamp(11 * SECOND))),
                ])),
                timer: None,
                sent: Some(log(vec![(before, sent(5000)), (during, sent(9000))])),
                received: Some(log(vec![
                    (before, Received(5000)),
                    (during, Received(8990)),
                ])),
                unmeasured: Vec::new(),
            },
        }
    }

    fn sample(time_s: f64, dirty_bytes: u64) -> Sample {
        Sample {
            time_s,
            cpu: None,
            process_user_cpu_s: 0.0,
            process_system_cpu_s: 0.0,
            process_read_bytes: None,
            process_written_bytes: None,
            throttled_s: None,
            threads: Vec::new(),
            memory: sustain_document::system::MemorySample {
                dirty_bytes,
                writeback_bytes: 5,
                cached_bytes: 0,
                available_bytes: 7,
            },
            devices: Vec::new(),
        }
    }

    #[test]
    fn figures_are_those_of_their_stretch() {
        let run = run();
        // The machine's samples count from another load, 6 s before this one.
        let samples = [(4.9, 9), (5.5, 10), (6.5, 30), (7.5, 20), (8.5, 99)];
        let samples = samples.map(|(time_s, dirty)| sample(time_s, dirty));
        let start = Timestamp(5 * SECOND);
        let effect = path_effect(&run, start, None, None, &samples);
        let writes = effect.writes.as_ref().unwrap();
        let (before, during) = (writes.before.unwrap(), writes.during.unwrap());
        assert_eq!((before.count, during.count), (100, 50));
        assert!((during.writes_per_s - 25.0).abs() < 1e-9);
        assert_eq!(during.latency_max_ns, Some(3_000_000));
        assert!(writes.after.is_none() && effect.timer.is_none());
        assert!((effect.ratios.writes_latency_p99.unwrap() - 3.0).abs() < 0.05);
        assert!((effect.ratios.writes_per_s.unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(effect.ratios.timer_late_max, None);
        let datagrams = effect.datagrams.as_ref().unwrap();
        assert_eq!(datagrams.before.unwrap().lost, 0);
        assert_eq!(datagrams.during.unwrap().lost, 10);
        assert_eq!(effect.dirty_max_bytes.before, Some(15));
        assert_eq!(effect.dirty_max_bytes.during, Some(35));
        let times: Vec<f64> = effect
            .memory_over_time
            .iter()
            .map(|moment| moment.time_s)
            .collect();
        assert_eq!(times, [-0.5, 0.5, 1.5]);
        assert!(effect.verdict.contains("10 of 9000 datagrams"));
    }

    #[test]
    fn the_victims_cpu_time_is_not_the_loads() {
        let run = run();
        // Three victims took a tenth of a second each, in both stretches.
        assert_eq!(run.own_cpu_ns(), SECOND - 3 * SECOND / 10);
        let effect = path_effect(&run, run.start, None, None, &[]);
        assert!((effect.victims_cpu_s.during.unwrap() - 0.3).abs() < 1e-9);
        let per_gb = effect.load.cpu_seconds_per_gb.unwrap();
        assert!((per_gb - 0.7 / 4.0).abs() < 1e-9, "{per_gb}");
        assert_eq!(effect.dirty_max_bytes, Stretches::default());
    }

    #[test]
    fn a_step_is_drawn_as_far_as_its_stretch_reaches() {
        let stretch = Stretch {
            start_s: -0.1,
            end_s: 2.0,
        };
        let step = |start_s, end_s| ProbeInterval {
            start_s,
            end_s,
            count: 1,
            max_ns: 1,
        };
        assert_eq!(clipped(step(-0.25, 0.0), stretch), step(-0.1, 0.0));
        assert_eq!(clipped(step(1.75, 2.25), stretch), step(1.75, 2.0));
        assert_eq!(clipped(step(2.5, 2.75), stretch), step(2.5, 2.75));
    }
}
