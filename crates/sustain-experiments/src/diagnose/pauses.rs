//! Finds when single targets pause in a run, what each lacks of its rate meanwhile, and how much of
//! that the sum of all targets shows. A pause takes from a sum what the other targets cannot take
//! over: where a limit binds and they can, nothing is missing, and where they cannot, the sum is
//! short as if they had a lower limit of their own. Pure; the reading of a run is made with it.

use sustain_disk::meter::MeterInterval;

/// A shorter gap between two completions is no pause: a disk that comes late waits for a
/// revolution.
const PAUSE_NS_MIN: f64 = 20e6;
/// Nor is one of so many mean gaps.
const PAUSE_MEAN_GAPS: f64 = 4.0;
/// Gaps that take more than this part of the time are the pace of a target, as behind a throttle,
const PAUSED_SHARE_MAX: f64 = 0.25;
/// and so are those that come more often than this.
const PAUSE_EVERY_NS_MIN: f64 = 400e6;

/// A stretch of a run, in nanoseconds from its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunStretch {
    pub(super) from_ns: f64,
    pub(super) until_ns: f64,
}

impl RunStretch {
    fn length_ns(self) -> f64 {
        (self.until_ns - self.from_ns).max(0.0)
    }

    /// What both have in common; of no length if they have nothing.
    fn within(self, other: RunStretch) -> RunStretch {
        RunStretch {
            from_ns: self.from_ns.max(other.from_ns),
            until_ns: self.until_ns.min(other.until_ns),
        }
    }

    fn has(self, time_ns: f64) -> bool {
        (self.from_ns..self.until_ns).contains(&time_ns)
    }
}

/// The pauses of one target.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses {
    pauses: Vec<Pause>,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    stretch: RunStretch,
    /// What the target lacks of the rate that it has otherwise.
    missing_bytes_per_s: f64,
}

impl Pauses {
    /// The pauses of a target with these completions, in the part of the run that counts.
    pub(super) fn of(completions: &[MeterInterval], counts: RunStretch) -> Pauses {
        let gaps = completions.iter().map(|one| RunStretch {
            from_ns: one.start_ns as f64,
            until_ns: one.end_ns as f64,
        });
        let gaps = gaps.map(|gap| gap.within(counts)).zip(completions);
        let gaps: Vec<(RunStretch, &MeterInterval)> =
            gaps.filter(|(gap, _)| gap.length_ns() > 0.0).collect();
        let mean_ns = counts.length_ns() / gaps.len().max(1) as f64;
        let is_pause = |one: &MeterInterval| {
            let length_ns = (one.end_ns - one.start_ns) as f64;
            length_ns > PAUSE_NS_MIN.max(PAUSE_MEAN_GAPS * mean_ns)
        };
        let (long, short): (Vec<_>, Vec<_>) = gaps.into_iter().partition(|(_, one)| is_pause(one));
        let length_ns = |of: &[(RunStretch, &MeterInterval)]| -> f64 {
            of.iter().map(|(gap, _)| gap.length_ns()).sum()
        };
        let is_pace = length_ns(&long) > PAUSED_SHARE_MAX * counts.length_ns()
            || long.len() as f64 > 1.0 + counts.length_ns() / PAUSE_EVERY_NS_MIN;
        if long.is_empty() || short.is_empty() || is_pace {
            return Pauses::default();
        }
        let bytes: f64 = short
            .iter()
            .map(|(gap, one)| rate(one) * gap.length_ns() / 1e9)
            .sum();
        let otherwise = bytes / length_ns(&short) * 1e9;
        let pause = |(stretch, one): &(RunStretch, &MeterInterval)| Pause {
            stretch: *stretch,
            missing_bytes_per_s: (otherwise - rate(one)).max(0.0),
        };
        Pauses {
            pauses: long.iter().map(pause).collect(),
        }
    }

    /// What the target lacks in a stretch, as a rate over all of it.
    pub(super) fn missing_in(&self, stretch: RunStretch) -> f64 {
        let pauses = self.pauses.iter();
        let lacks = pauses
            .map(|pause| pause.missing_bytes_per_s * pause.stretch.within(stretch).length_ns());
        lacks.sum::<f64>() / stretch.length_ns()
    }

    fn missing_at(&self, time_ns: f64) -> f64 {
        let pauses = self.pauses.iter();
        let at_it = pauses.filter(|pause| pause.stretch.has(time_ns));
        at_it.map(|pause| pause.missing_bytes_per_s).sum()
    }
}

fn rate(one: &MeterInterval) -> f64 {
    one.bytes as f64 / (one.end_ns - one.start_ns) as f64 * 1e9
}

/// The part of the pauses of all targets that their sum shows, by least squares over the stretches
/// between the moments at which a pause begins or ends.
pub(super) fn part_in_sum(
    targets: &[&[MeterInterval]],
    pauses: &[Pauses],
    counts: RunStretch,
) -> f64 {
    let mut moments: Vec<f64> = pauses
        .iter()
        .flat_map(|of_target| &of_target.pauses)
        .flat_map(|pause| [pause.stretch.from_ns, pause.stretch.until_ns])
        .chain([counts.from_ns, counts.until_ns])
        .collect();
    moments.sort_by(f64::total_cmp);
    moments.dedup();
    let sums = bytes_until(targets, &moments);
    let stretches = moments.windows(2).zip(sums.windows(2));
    let seen: Vec<SumBesidePauses> = stretches
        .map(|(moments, sums)| {
            let length_ns = moments[1] - moments[0];
            let middle_ns = f64::midpoint(moments[0], moments[1]);
            SumBesidePauses {
                length_ns,
                total_bytes_per_s: (sums[1] - sums[0]) / length_ns * 1e9,
                missing_bytes_per_s: pauses.iter().map(|one| one.missing_at(middle_ns)).sum(),
            }
        })
        .collect();
    slope(&seen)
}

/// The sum of all targets in a stretch in which the same of them pause.
struct SumBesidePauses {
    length_ns: f64,
    total_bytes_per_s: f64,
    missing_bytes_per_s: f64,
}

/// By how much the total falls with what is missing: from nothing to all of it.
fn slope(seen: &[SumBesidePauses]) -> f64 {
    let all_ns: f64 = seen.iter().map(|one| one.length_ns).sum();
    let mean = |of: &dyn Fn(&SumBesidePauses) -> f64| {
        seen.iter().map(|one| one.length_ns * of(one)).sum::<f64>() / all_ns
    };
    let total = mean(&|one| one.total_bytes_per_s);
    let missing = mean(&|one| one.missing_bytes_per_s);
    let together =
        mean(&|one| (total - one.total_bytes_per_s) * (one.missing_bytes_per_s - missing));
    let squares = mean(&|one| (one.missing_bytes_per_s - missing).powi(2));
    match squares > 0.0 {
        true => (together / squares).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// The bytes of all targets until each of some moments in rising order, as if each request had come
/// evenly since the one before.
fn bytes_until(targets: &[&[MeterInterval]], moments: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; moments.len()];
    for completions in targets {
        let mut left = completions.iter().peekable();
        let mut bytes = 0.0;
        for (sum, moment_ns) in sums.iter_mut().zip(moments) {
            while let Some(one) = left.next_if(|one| one.end_ns as f64 <= *moment_ns) {
                bytes += one.bytes as f64;
            }
            let part = left.peek().map_or(0.0, |one| {
                let since_ns = moment_ns - one.start_ns as f64;
                rate(one) * since_ns.max(0.0) / 1e9
            });
            *sum += bytes + part;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: RunStretch = RunStretch {
        from_ns: 0.0,
        until_ns: 1e9,
    };

    /// A second of records of 1000 bytes each millisecond, but for rests from and to these
    /// milliseconds.
    fn resting(rests: &[(u64, u64)]) -> Vec<MeterInterval> {
        let mut completions = Vec::new();
        let mut start_ms = 0;
        for end_ms in 1..=1000 {
            if rests
                .iter()
                .any(|(from, to)| (*from..*to).contains(&(end_ms - 1)))
            {
                continue;
            }
            completions.push(MeterInterval {
                start_ns: start_ms * 1_000_000,
                end_ns: end_ms * 1_000_000,
                bytes: 1000,
                latency_max_ns: 0,
            });
            start_ms = end_ms;
        }
        completions
    }

    #[test]
    fn a_pause_lacks_what_the_target_has_otherwise() {
        let pauses = Pauses::of(&resting(&[(400, 469)]), SECOND);
        // 69 records of the million bytes a second.
        assert!((pauses.missing_in(SECOND) - 69e3).abs() < 1.0, "{pauses:?}");
        let half = RunStretch {
            until_ns: 0.4345e9,
            ..SECOND
        };
        let part = pauses.missing_in(half) * 0.4345;
        assert!((part / 69e3 - 0.49).abs() < 0.01, "{part}");
    }

    #[test]
    fn gaps_that_are_the_pace_of_a_target_are_no_pauses() {
        let often: Vec<_> = (0..10)
            .map(|tenth| (tenth * 100 + 60, tenth * 100 + 90))
            .collect();
        let long = [(300, 600)];
        let short = [(500, 512)];
        for rests in [&often[..], &long, &short] {
            let pauses = Pauses::of(&resting(rests), SECOND);
            assert_eq!(pauses.missing_in(SECOND), 0.0, "{rests:?}");
        }
    }

    #[test]
    fn of_a_pause_that_others_take_over_the_sum_shows_nothing() {
        let one = resting(&[(400, 469)]);
        let pauses = Pauses::of(&one, SECOND);
        let even = resting(&[]);
        let taking_over: Vec<MeterInterval> = even
            .iter()
            .map(|record| MeterInterval {
                bytes: if (400..469).contains(&(record.start_ns / 1_000_000)) {
                    2000
                } else {
                    1000
                },
                ..*record
            })
            .collect();
        let all = [pauses, Pauses::default()];
        let shown = |other: &[MeterInterval]| part_in_sum(&[&one, other], &all, SECOND);
        assert!((shown(&even) - 1.0).abs() < 0.01, "{}", shown(&even));
        assert!(shown(&taking_over) < 0.02, "{}", shown(&taking_over));
    }
}
