//! Puts the figures of a load's effect on the machine into rows of text: before, during and after
//! the load. The terminal and the page call this module, so that both show the same rows.

use sustain_document::effect::{PathEffect, Stretches};
use sustain_document::system::KernelCounters;

use crate::format::{latency, memory, percent, rate};

/// The mark in place of a figure that was not measured.
const NOT_MEASURED: &str = "–";

/// One figure in three periods.
pub(crate) struct EffectRow {
    pub(crate) name: &'static str,
    pub(crate) before: String,
    pub(crate) during: String,
    pub(crate) after: String,
}

fn row<T>(
    name: &'static str,
    stretches: &Stretches<T>,
    words: impl Fn(&T) -> Option<String>,
) -> EffectRow {
    let of = |value: &Option<T>| {
        let said = value.as_ref().and_then(&words);
        said.unwrap_or_else(|| NOT_MEASURED.to_owned())
    };
    EffectRow {
        name,
        before: of(&stretches.before),
        during: of(&stretches.during),
        after: of(&stretches.after),
    }
}

impl EffectRow {
    fn empty(name: &'static str) -> EffectRow {
        let [before, during, after] = [NOT_MEASURED; 3].map(str::to_owned);
        EffectRow {
            name,
            before,
            during,
            after,
        }
    }

    /// The figures before, during and after the load.
    pub(crate) fn cells(&self) -> [&str; 3] {
        [&self.before, &self.during, &self.after]
    }

    /// Whether it counted nothing in any period.
    fn is_quiet(&self) -> bool {
        let quiet = |cell: &str| ["0", "0 %", NOT_MEASURED].contains(&cell);
        self.cells().into_iter().all(quiet)
    }

    /// Whether no period has a figure.
    fn is_empty(&self) -> bool {
        self.cells() == [NOT_MEASURED; 3]
    }
}

/// The rows of all I/O paths, a list for each, with the same names in the same order.
pub(crate) struct Rows {
    pub(crate) of_paths: Vec<Vec<EffectRow>>,
    /// The counters that counted nothing at all.
    pub(crate) quiet: Vec<&'static str>,
}

/// Every row for which some I/O path has figures.
pub(crate) fn rows(paths: &[PathEffect]) -> Rows {
    let mut of_paths: Vec<Vec<EffectRow>> = paths.iter().map(path_rows).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for row in of_paths.iter().flatten().filter(|row| !row.is_empty()) {
        if !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    let all_quiet = |name: &&'static str| {
        let mut same = of_paths.iter().flatten().filter(|row| row.name == *name);
        same.all(EffectRow::is_quiet)
    };
    let (quiet, shown): (Vec<_>, Vec<_>) = names.into_iter().partition(all_quiet);
    for rows in &mut of_paths {
        let mut own = std::mem::take(rows);
        *rows = shown
            .iter()
            .map(|name| {
                let found = own.iter().position(|row| row.name == *name);
                found.map_or_else(|| EffectRow::empty(name), |at| own.remove(at))
            })
            .collect();
    }
    Rows { of_paths, quiet }
}

/// All rows of an I/O path.
fn path_rows(path: &PathEffect) -> Vec<EffectRow> {
    let mut rows = Vec::new();
    if let Some(writes) = &path.writes {
        rows.push(row("write + fsync, median", writes, |all| {
            Some(latency(all.latency_p50_ns?))
        }));
        rows.push(row("write + fsync, p99", writes, |all| {
            Some(latency(all.latency_p99_ns?))
        }));
        rows.push(row("write + fsync, longest", writes, |all| {
            Some(latency(all.latency_max_ns?))
        }));
        rows.push(row("writes per second", writes, |all| {
            Some(format!("{:.0}", all.writes_per_s))
        }));
    }
    if let Some(timer) = &path.timer {
        rows.push(row("timer delay, median", timer, |all| {
            Some(latency(all.late_p50_ns?))
        }));
        rows.push(row("timer delay, p99", timer, |all| {
            Some(latency(all.late_p99_ns?))
        }));
        rows.push(row("timer delay, longest", timer, |all| {
            Some(latency(all.late_max_ns?))
        }));
    }
    if let Some(datagrams) = &path.datagrams {
        rows.push(row("datagrams lost", datagrams, |all| {
            Some(if all.lost == 0 {
                "none".to_owned()
            } else {
                format!("{} of {}", all.lost, all.sent)
            })
        }));
    }
    rows.extend(kernel_rows(path));
    rows.push(row("dirty memory, peak", &path.dirty_max_bytes, |bytes| {
        Some(memory(*bytes))
    }));
    rows
}

fn kernel_rows(path: &PathEffect) -> Vec<EffectRow> {
    let counted = |name, counter: fn(&KernelCounters) -> Option<u64>| {
        row(name, &path.kernel, |all| Some(counter(all)?.to_string()))
    };
    let waited = |name, counter: fn(&KernelCounters) -> Option<u64>| {
        let share = |counted: &Option<KernelCounters>, stretch: &Option<_>| {
            let waited_us = counter(counted.as_ref()?)?;
            let stretch: &sustain_document::effect::Stretch = stretch.as_ref()?;
            let seconds = stretch.end_s - stretch.start_s;
            (seconds > 0.0).then(|| percent(waited_us as f64 / 1e6 / seconds))
        };
        let (kernel, stretches) = (&path.kernel, &path.stretches);
        let or_dash = |words: Option<String>| words.unwrap_or_else(|| NOT_MEASURED.to_owned());
        EffectRow {
            name,
            before: or_dash(share(&kernel.before, &stretches.before)),
            during: or_dash(share(&kernel.during, &stretches.during)),
            after: or_dash(share(&kernel.after, &stretches.after)),
        }
    };
    vec![
        counted("received packets dropped", |all| {
            all.softnet_dropped_packets
        }),
        counted("receive rounds cut short", |all| all.softnet_time_squeezes),
        counted("stalls of programs for memory", |all| all.allocation_stalls),
        counted("pages scanned by programs", |all| all.direct_scanned_pages),
        counted("pages scanned by the kernel", |all| {
            all.background_scanned_pages
        }),
        counted("stalls for compaction", |all| all.compaction_stalls),
        waited("time with a task waiting for CPU", |all| {
            all.cpu_some_waited_us
        }),
        waited("time with a task waiting for I/O", |all| {
            all.io_some_waited_us
        }),
        waited("time with a task waiting for memory", |all| {
            all.memory_some_waited_us
        }),
    ]
}

/// The rate of the load, and the part of the memory's copy rate that it needed.
pub(crate) fn load_words(path: &PathEffect) -> String {
    let load = &path.load;
    let mut words = format!("the load reached {}", rate(load.rate_bytes_per_s));
    if let Some(seconds) = load.cpu_seconds_per_gb {
        words.push_str(&format!(" at {seconds:.3} s of CPU time per GB"));
    }
    if let Some(share) = &path.memory_share {
        words.push_str(&format!(
            " and needed {} of the rate at which memory can be copied",
            small_percent(share.share)
        ));
    }
    words
}

/// The CPU time of the probe workloads themselves.
pub(crate) fn cpu_words(path: &PathEffect) -> Option<String> {
    let (cpu_s, stretch) = (path.victims_cpu_s.during?, path.stretches.during?);
    let seconds = stretch.end_s - stretch.start_s;
    (seconds > 0.0).then(|| {
        format!(
            "the probe workloads took {} of one CPU, which is not counted as the load's",
            small_percent(cpu_s / seconds)
        )
    })
}

/// A part of a whole, with a decimal where it would otherwise look like nothing: `0.4 %`.
fn small_percent(part: f64) -> String {
    if part < 0.1 {
        format!("{:.1} %", part * 100.0)
    } else {
        percent(part)
    }
}
