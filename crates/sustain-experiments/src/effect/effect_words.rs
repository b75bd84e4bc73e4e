//! States the effect in one sentence, from the figures alone. What was not measured is not
//! mentioned.

use sustain_disk::units::Duration;
use sustain_document::effect::{
    Datagrams, MemoryShare, PathEffect, ProbePlace, Stretches, Timer, Writes,
};

/// The sentence. The number of writes is told if there were clearly fewer than before the load.
pub(super) fn verdict(
    effect: &PathEffect,
    place: Option<&ProbePlace>,
    has_fewer_writes: bool,
) -> String {
    if effect.stretches.during.is_none() {
        return "the load did not run, so its effect is not known".to_owned();
    }
    let stalls = effect.kernel.during.as_ref();
    let stalls = stalls.and_then(|counted| counted.allocation_stalls);
    let before = effect.kernel.before.as_ref();
    let before = before.and_then(|counted| counted.allocation_stalls);
    let clauses = [
        place
            .zip(effect.writes.as_ref())
            .and_then(|(place, writes)| of_writes(place, writes, has_fewer_writes)),
        effect.timer.as_ref().and_then(of_timer),
        effect.datagrams.as_ref().and_then(of_datagrams),
        of_memory(stalls, before),
        effect.memory_share.as_ref().map(of_share),
    ];
    let said: Vec<String> = clauses.into_iter().flatten().collect();
    if said.is_empty() {
        return "no probe workload could be measured during this load".to_owned();
    }
    said.join("; ")
}

fn of_writes(
    place: &ProbePlace,
    writes: &Stretches<Writes>,
    has_fewer_writes: bool,
) -> Option<String> {
    let during = writes.during.as_ref()?;
    let directory = place.directory.display();
    let which = match (place.is_in_memory, place.is_file_system_of_target) {
        (true, _) => ", in memory,",
        (false, true) => ", the file system under test,",
        (false, false) => "",
    };
    let Some(p99_ns) = during.latency_p99_ns else {
        return Some(format!(
            "no write on {directory}{which} completed while this load ran"
        ));
    };
    let mut said = format!(
        "the slowest 1 % of writes on {directory}{which} took {} or more while this load ran",
        Duration(p99_ns)
    );
    let before = writes.before.as_ref();
    if let Some(before_ns) = before.and_then(|before| before.latency_p99_ns) {
        said.push_str(&format!(", against {} before", Duration(before_ns)));
    }
    if let Some(before) = before.filter(|_| has_fewer_writes) {
        said.push_str(&format!(
            " ({:.0} a second instead of {:.0})",
            during.writes_per_s, before.writes_per_s
        ));
    }
    Some(said)
}

fn of_timer(timer: &Stretches<Timer>) -> Option<String> {
    let latest_ns = timer.during.as_ref()?.late_max_ns?;
    let before = timer.before.as_ref();
    let before = before.and_then(|before| before.late_max_ns);
    let before = before.map_or_else(String::new, |before_ns| {
        format!(", against {} before", Duration(before_ns))
    });
    let latest = Duration(latest_ns);
    Some(format!("timers fired up to {latest} late{before}"))
}

fn of_datagrams(datagrams: &Stretches<Datagrams>) -> Option<String> {
    let during = datagrams.during.as_ref()?;
    if during.sent == 0 {
        return (during.refused > 0)
            .then(|| format!("none of {} datagrams could be sent", during.refused));
    }
    let mut said = match during.lost {
        0 => "no datagram was lost".to_owned(),
        lost => format!("{lost} of {} datagrams were lost", during.sent),
    };
    if let Some(before) = datagrams.before.as_ref().filter(|before| before.sent > 0)
        && during.lost + before.lost > 0
    {
        said.push_str(&format!(
            ", against {} of {} before",
            before.lost, before.sent
        ));
    }
    if during.refused > 0 {
        said.push_str(&format!(", and {} more could not be sent", during.refused));
    }
    Some(said)
}

/// Says how often programs had to free memory before they got any.
fn of_memory(during: Option<u64>, before: Option<u64>) -> Option<String> {
    let during = during.filter(|stalls| *stalls > 0)?;
    let before = before.map_or_else(String::new, |before| format!(" ({before} before)"));
    let count = if during == 1 {
        "once".to_owned()
    } else {
        format!("{during} times")
    };
    Some(format!(
        "{count}{before}, programs had to free memory before they could allocate any"
    ))
}

fn of_share(share: &MemoryShare) -> String {
    let percent = share.share * 100.0;
    let part = if percent < 1.0 {
        "less than 1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    };
    let wall = if share.may_be_the_wall {
        ": memory may be the limit"
    } else {
        ""
    };
    format!("this load needs {part} of the rate at which this machine copies memory{wall}")
}

#[cfg(test)]
mod tests {
    use sustain_document::effect::{Load, Ratios, Stretch};
    use sustain_document::system::KernelCounters;

    use super::*;

    fn place(is_same: bool) -> ProbePlace {
        ProbePlace {
            directory: "/home".into(),
            file_system: Some("ext4".to_owned()),
            is_file_system_of_target: is_same,
            is_on_disk_of_target: Some(true),
            is_in_memory: false,
        }
    }

    fn writes(p99_ns: Option<u64>, writes_per_s: f64) -> Option<Writes> {
        Some(Writes {
            count: p99_ns.map_or(0, |_| 100),
            writes_per_s,
            latency_p50_ns: p99_ns,
            latency_p99_ns: p99_ns,
            latency_max_ns: p99_ns,
        })
    }

    fn timer(late_max_ns: u64) -> Option<Timer> {
        Some(Timer {
            wakeups: 1000,
            wakeups_per_s: 1000.0,
            late_p50_ns: Some(60_000),
            late_p99_ns: Some(100_000),
            late_max_ns: Some(late_max_ns),
        })
    }

    fn datagrams(lost: u64, refused: u64) -> Option<Datagrams> {
        Some(Datagrams {
            sent: 5000,
            sent_per_s: 5000.0,
            received: 5000 - lost,
            lost,
            refused,
        })
    }

    fn effect() -> PathEffect {
        let stretch = Stretch {
            start_s: 0.0,
            end_s: 1.0,
        };
        PathEffect {
            path: "direct".to_owned(),
            load: Load {
                bytes: 1,
                seconds: 1.0,
                rate_bytes_per_s: 1.0,
                cpu_seconds_per_gb: None,
                errors: 0,
            },
            stretches: Stretches {
                during: Some(stretch),
                ..Stretches::default()
            },
            writes: Some(Stretches {
                before: writes(Some(900_000), 100.0),
                during: writes(Some(3_100_000), 99.0),
                after: None,
            }),
            timer: Some(Stretches {
                before: timer(200_000),
                during: timer(1_200_000),
                after: None,
            }),
            datagrams: Some(Stretches {
                before: datagrams(0, 0),
                during: datagrams(0, 0),
                after: None,
            }),
            kernel: Stretches::default(),
            dirty_max_bytes: Stretches::default(),
            ratios: Ratios::default(),
            victims_cpu_s: Stretches::default(),
            memory_share: None,
            writes_over_time: Vec::new(),
            timer_over_time: Vec::new(),
            memory_over_time: Vec::new(),
            verdict: String::new(),
        }
    }

    #[test]
    fn a_harmless_load_is_said_to_be_so() {
        assert_eq!(
            verdict(&effect(), Some(&place(false)), false),
            "the slowest 1 % of writes on /home took 3.1 ms or more while this load ran, against \
             900 us before; timers fired up to 1.2 ms late, against 200 us before; no datagram was \
             lost"
        );
    }

    #[test]
    fn a_load_that_harms_is_said_to_do_so() {
        let mut effect = effect();
        effect.writes.as_mut().unwrap().during = writes(Some(800_000_000), 4.4);
        effect.datagrams.as_mut().unwrap().during = datagrams(12, 3);
        let stalls = |count| {
            Some(KernelCounters {
                allocation_stalls: Some(count),
                ..KernelCounters::default()
            })
        };
        (effect.kernel.before, effect.kernel.during) = (stalls(0), stalls(123));
        effect.memory_share = Some(MemoryShare {
            copies_per_byte: 1.5,
            needed_bytes_per_s: 5.4e9,
            share: 0.54,
            may_be_the_wall: true,
            model: String::new(),
        });
        let said = verdict(&effect, Some(&place(true)), true);
        for words in [
            "writes on /home, the file system under test, took 800 ms",
            "(4 a second instead of 100)",
            "12 of 5000 datagrams were lost, against 0 of 5000 before, and 3 more could not be",
            "123 times (0 before), programs had to free memory before they could allocate any",
            "needs 54 % of the rate at which this machine copies memory: memory may be the limit",
        ] {
            assert!(said.contains(words), "{words:?} is not in {said:?}");
        }
    }

    #[test]
    fn what_was_not_measured_is_not_mentioned() {
        let mut effect = effect();
        effect.writes = None;
        effect.timer.as_mut().unwrap().before = None;
        effect.datagrams = None;
        assert_eq!(
            verdict(&effect, Some(&place(false)), false),
            "timers fired up to 1.2 ms late"
        );
        effect.timer = None;
        assert!(verdict(&effect, None, false).contains("no probe workload could be measured"));
        effect.stretches.during = None;
        assert!(verdict(&effect, None, false).contains("did not run"));
    }

    #[test]
    fn writes_that_never_ended_are_not_a_figure() {
        let mut effect = effect();
        effect.writes.as_mut().unwrap().during = writes(None, 0.0);
        let said = verdict(&effect, Some(&place(false)), false);
        assert!(said.starts_with("no write on /home completed"), "{said}");
    }
}
