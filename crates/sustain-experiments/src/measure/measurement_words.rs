//! All English of a measurement: its verdicts and remarks as clauses, from data only. The
//! conclusion writes them into the document's notes, and the answer of a report has the same
//! words.

use sustain_disk::units::{Duration, Rate, Size};
use sustain_document::measure::TargetResult;
use sustain_document::setting::{DEPTH, EFFECT, PATH, SIZE, THREADS, TIME, joined};
use sustain_document::verdicts::{BacklogNotSeen, RhythmNotSeen};
use sustain_load::event::Phase;

use super::statements::{
    BufferedWriting, ConfirmedSoFar, DifferingRates, EffectBacklog, Extent, FailedAttempt,
    ForeseenParts, LongFlush, MeasureRemark, Passes, RemainingTargets, UndecidedReason,
};

const GIB: u64 = 1 << 30;

/// The verdict on a run through the page cache, whose single intervals show only memory.
pub(super) const THROUGH_PAGE_CACHE: &str = "through the page cache, a completed write is only in \
     memory; this is the rate with all flushes included";

/// What is done after a run whose bytes are read back, before it is done.
pub(super) const WOULD_READ_BACK: &str = "would then write on while it reads back what the run has \
     written, and read that alone, each for as long as the run";

/// A remark for the notes of a document.
pub(super) fn remark(remark: &MeasureRemark) -> String {
    match remark {
        MeasureRemark::ToolLimited => {
            format!(
                "this program itself was the limit: one of its threads had no CPU time left; use \
                 larger records or, with several targets, more {THREADS}"
            )
        }
        MeasureRemark::OneAtATime => {
            format!(
                "the engine sync keeps only one request in flight, whatever {} asks for",
                DEPTH.the()
            )
        }
        MeasureRemark::NotADisk => {
            "null: is not a disk; its rate is that of this program and of its calls into the kernel"
                .to_owned()
        }
        MeasureRemark::Watched => {
            format!(
                "the probe workloads of {} ran beside this run: without them its rate may be a \
                 little higher",
                EFFECT.the()
            )
        }
        MeasureRemark::BufferedRead => {
            "buffered: the kernel was asked to drop the data from the page \
                                 cache before each time it was read; data that another program \
                                 uses, or that the host of a virtual machine has cached, may \
                                 still come from memory"
                .to_owned()
        }
        MeasureRemark::BufferedWrite(writing) => buffered_write(writing),
        MeasureRemark::RatesDiffer(rates) => rates_differ(rates),
        MeasureRemark::LongFlush(flush) => long_flush(flush),
        MeasureRemark::SubmitBlocked { blocked_ns } => format!(
            "io_submit blocked for {} in all: native AIO was not asynchronous here, and a slow \
             target delayed the others; io_uring and threads do not have this problem",
            Duration(*blocked_ns)
        ),
        MeasureRemark::RateUndecided { why } => {
            format!("whether the rate held could not be decided: {why}")
        }
        MeasureRemark::EvenedByProfile { profile } => format!(
            "whether the rates are steady was judged with the position effect removed, by \
             {profile}: a sustained rate is the mean over all positions that the run covered"
        ),
        MeasureRemark::MadeTooSlowly { rate_bytes_per_s } => made_too_slowly(*rate_bytes_per_s),
        MeasureRemark::NewBytesNotTried { is_too_short } => format!(
            "this run did not try entirely new data for each write, as a recorder has it: the \
             targets may take that more slowly{}",
            match is_too_short {
                true => ". A run of 10 s or more tries it",
                false => "",
            }
        ),
        MeasureRemark::OfRemaining(remaining) => format!(
            "the rate of all together, the verdict on it and the buffer curve are those {}",
            of_remaining(remaining)
        ),
        MeasureRemark::InMemory { target, kind } => {
            format!("{target} is in memory ({kind}), so its rate is that of memory, not of a disk")
        }
        MeasureRemark::RhythmNotSeen(rhythm) => rhythm_not_seen(rhythm),
        MeasureRemark::BacklogNotSeen(backlog) => backlog_not_seen(backlog),
    }
}

fn made_too_slowly(rate_bytes_per_s: f64) -> String {
    format!(
        "entirely new data for each write, as a recorder has it, could be generated at {} only, \
         which kept a CPU busy all the time: the targets may take such data more slowly than this \
         run's. With several targets, more {THREADS} generate it faster",
        Rate(rate_bytes_per_s)
    )
}

fn buffered_write(writing: &BufferedWriting) -> String {
    let BufferedWriting {
        is_flushed_each_lap,
        dirty_bytes,
        writeback_bytes,
        are_others_unseen,
    } = writing;
    let before = match is_flushed_each_lap {
        true => "data was flushed before it was overwritten, and ",
        false => "",
    };
    let others = match are_others_unseen {
        true => "; whether other programs used the same disks during the run is not known here",
        false => "",
    };
    format!(
        "buffered: {before}the closing flush is part of the measured time; single intervals show \
         memory and disk together; up to {} of memory were dirty and {} in writeback{others}",
        Size(*dirty_bytes),
        Size(*writeback_bytes)
    )
}

fn rates_differ(rates: &DifferingRates) -> String {
    let DifferingRates {
        are_remaining,
        active_bytes_per_s,
        sum_bytes_per_s,
        wall_clock_bytes_per_s,
    } = rates;
    let all = match are_remaining {
        true => "all remaining targets",
        false => "all",
    };
    format!(
        "the targets were not all active for the whole time: the rate was {} while {all} were, and \
         {} over the whole time; the rates of the single targets add up to {}",
        Rate(*active_bytes_per_s),
        Rate(*wall_clock_bytes_per_s),
        Rate(*sum_bytes_per_s)
    )
}

fn long_flush(flush: &LongFlush) -> String {
    let LongFlush {
        target,
        flush_s,
        flushed_bytes_per_s,
    } = flush;
    let of = target.as_ref().map(|target| format!(" of {target}"));
    format!(
        "the last flush{}, which came after the run and is not part of its rate, took {}: only \
         then was all written data out of the caches and safe. With the flush counted, the rate \
         is {}",
        of.unwrap_or_default(),
        Duration((flush_s * 1e9) as u64),
        Rate(*flushed_bytes_per_s)
    )
}

/// Whose figures these are: `of the 3 targets left after d2 failed at 12.5 s`.
pub(super) fn of_remaining(remaining: &RemainingTargets) -> String {
    let targets = match remaining.left {
        1 => "target",
        _ => "targets",
    };
    format!(
        "of the {} {targets} left after {} failed at {:.1} s",
        remaining.left, remaining.failed, remaining.failed_s
    )
}

/// A verdict on all together, with whose figures these are.
pub(super) fn verdict_of_remaining(why: &str, remaining: &RemainingTargets) -> String {
    format!("{why}; these are figures {}", of_remaining(remaining))
}

/// Why a run cannot tell whether a rate holds, and what to do instead.
pub(super) fn undecided(reason: UndecidedReason, targets: &[TargetResult]) -> String {
    match reason {
        UndecidedReason::RewrittenInCache => format!(
            "data that was rewritten in the page cache may never have reached the disk; use a \
             larger {SIZE}, or direct I/O"
        ),
        UndecidedReason::EndOfDevice => format!(
            "the end of the device was reached before the time was over; use {} to go over the \
             same part again, or a shorter {TIME}",
            SIZE.the()
        ),
        UndecidedReason::TargetFull { target, full_s } => {
            let name = targets
                .get(target)
                .map_or("a target", |target| &target.name);
            format!(
                "{name} was full after {full_s} s, and until then the rate was held; use {}, or {} \
                 to go over the same part again",
                TIME.of(format_args!("{full_s}s")),
                SIZE.the()
            )
        }
        UndecidedReason::Cached { flush_ns } => format!(
            "a part of it went into a volatile cache, whose flush after the run took {}; whether \
             the cache was still filling shows in a longer {TIME}",
            flush_time(flush_ns)
        ),
        UndecidedReason::CachedOnOne { target, flush_ns } => {
            let name = targets
                .get(target)
                .map_or("a target", |target| &target.name);
            format!(
                "{name} took its part into a volatile cache, whose flush after the run took \
                 {}; whether the other targets take over when that cache is full shows in a longer \
                 {TIME}",
                flush_time(flush_ns)
            )
        }
    }
}

/// How long a flush took, with the digits that the answer of a report has beside it.
fn flush_time(flush_ns: u64) -> String {
    match flush_ns < 1_000_000_000 {
        true => Duration(flush_ns).to_string(),
        false => time(flush_ns as f64 / 1e9),
    }
}

/// A paced run that did not hold, and what is tried next.
pub(super) fn did_not_hold(failed: &FailedAttempt) -> String {
    let growing = match failed.still_grew {
        true => " and was still growing at the end",
        false => "",
    };
    format!(
        "{} did not hold: the backlog reached {}{growing}, with a buffer of {}; trying {}",
        Rate(failed.rate_bytes_per_s),
        Size(failed.backlog_bytes),
        Size(failed.buffer_bytes),
        Rate(failed.next_bytes_per_s)
    )
}

/// The parts of a measurement, before they begin, and how long they take together.
pub(super) fn coming(coming: &ForeseenParts) -> String {
    let mut parts = Vec::new();
    if coming.prewritten_bytes > 0 {
        parts.push(format!("prewriting {}", Size(coming.prewritten_bytes)));
    }
    let idle = time(coming.idle_s);
    parts.push(format!("{idle} of idle time"));
    parts.push(match (coming.run_s, coming.may_end_early) {
        (Some(run_s), false) => format!("the run of {}", time(run_s)),
        (Some(run_s), true) => format!("the run of at most {}", time(run_s)),
        (None, _) => "the run, whose bytes decide how long it takes".to_owned(),
    });
    if coming.is_flushed {
        parts.push("a flush".to_owned());
    }
    parts.push(format!("{idle} of idle time again"));
    if coming.in_turn_s > 0.0 {
        parts.push(format!(
            "{} with entirely new data in each write (to see whether the targets take it more \
             slowly)",
            time(coming.in_turn_s)
        ));
    }
    if let Some(confirming_s) = coming.confirming_s {
        parts.push(format!(
            "1 to {} confirming runs of {} each, until a rate holds",
            coming.confirming_runs_max,
            time(confirming_s)
        ));
    }
    if coming.is_read_back {
        let each = match coming.confirming_s {
            Some(_) => ", each with confirming runs",
            None => "",
        };
        parts.push(match coming.run_s.map(time) {
            Some(long) => {
                format!("reading back for {long} while it writes and for {long} alone{each}")
            }
            None => format!(
                "reading back for as long as the run while it writes, and as long alone{each}"
            ),
        });
    }
    let all = coming
        .after(Phase::Prewrite, ConfirmedSoFar::default())
        .map(|[least_s, most_s]| match least_s < most_s {
            true => format!("; {} to {} in all", time(least_s), time(most_s)),
            false => format!("; {} in all", time(most_s)),
        });
    let besides = match (coming.prewritten_bytes > 0, coming.is_flushed) {
        _ if all.is_none() => "",
        (true, true) => ", without the prewriting and the flush",
        (true, false) => ", without the prewriting",
        (false, true) => ", without the flush",
        (false, false) => "",
    };
    format!(
        "to come: {}{}{besides}",
        parts.join(", "),
        all.unwrap_or_default()
    )
}

/// A time of the plan, as short as it can be said: `30 s`, `1.5 min`.
fn time(seconds: f64) -> String {
    let (figure, unit) = match seconds {
        short if short < 100.0 => (short, "s"),
        minutes if minutes < 6000.0 => (minutes / 60.0, "min"),
        hours => (hours / 3600.0, "h"),
    };
    format!("{figure:.1} {unit}").replace(".0 ", " ")
}

/// The part of a target that a run goes over, and how often.
pub(super) fn extent(extent: &Extent) -> String {
    let Extent {
        from_bytes,
        length_bytes,
        passes,
    } = extent;
    let from = match from_bytes {
        0 => "its start".to_owned(),
        start => format!("offset {}", Size(*start)),
    };
    let times = match passes {
        Passes::Repeated => ", over and over",
        Passes::OnceAndAgain => ", at most once, and again in the runs that follow",
        Passes::Once => ", at most once",
    };
    match length_bytes {
        Some(length_bytes) => format!("{} from {from}{times}", Size(*length_bytes)),
        None => "without end".to_owned(),
    }
}

/// That a long stall was seen too seldom, and the time that would show how often such stalls
/// come.
#[must_use]
pub fn rhythm_not_seen(rhythm: &RhythmNotSeen) -> String {
    format!(
        "a stall of {} was seen {} in {:.0} s, which is too short to show how often such stalls \
         come: use {}{}",
        Duration(rhythm.stall_ns),
        if rhythm.seen == 1 { "once" } else { "twice" },
        rhythm.seconds,
        time_of(rhythm.proposed_time_s),
        repeated(rhythm)
    )
}

/// The setting with which a run that is longer than its targets goes over them again.
fn repeated(rhythm: &RhythmNotSeen) -> String {
    if !rhythm.is_beyond_the_end {
        return String::new();
    }
    let size = match rhythm.proposed_size_bytes {
        Some(bytes) => SIZE.of(size_typed(bytes)),
        None => format!("a {SIZE}"),
    };
    format!(
        " with {size}, so that the run goes over the same part again: otherwise it comes to the \
         end of a target first"
    )
}

/// A size as it is typed, without a rest.
fn size_typed(bytes: u64) -> String {
    let units = [(GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let whole = units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    match whole {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// That the data written through the page cache fits into memory, and what would show more.
#[must_use]
pub fn backlog_not_seen(backlog: &BacklogNotSeen) -> String {
    let written = Size(backlog.written_bytes);
    let what = match backlog.targets {
        1 if backlog.is_one_file => format!("the file of {written} fits"),
        1 => format!("the {written} written fit"),
        several => format!("the {written} written to {several} targets fit"),
    };
    let advice = match &backlog.proposed {
        Some(proposed) => {
            let size = SIZE.of(format_args!("{}GiB", proposed.size_bytes / GIB));
            let settings = [Some(size), proposed.time_s.map(time_of)];
            format!(
                "use {} to see the disk behind a full cache",
                joined(&settings.into_iter().flatten().collect::<Vec<_>>())
            )
        }
        None => format!(
            "there is not enough space here for one; {} shows what the disk itself takes",
            PATH.to("direct")
        ),
    };
    format!(
        "{what} into the memory of {:.0} GiB, so no backlog larger than memory built up: {advice}",
        in_gib(backlog.memory_bytes)
    )
}

/// That the effect of a backlog larger than memory was not measured.
pub(super) fn effect_not_seen(backlog: &EffectBacklog) -> String {
    let advice = match backlog.larger_fits {
        true => format!("use a larger {SIZE} and {TIME} to see it"),
        false => {
            "there is not enough space for more here, so these targets cannot show it".to_owned()
        }
    };
    format!(
        "the effect of a backlog larger than memory: the {} written with buffered I/O fit into the \
         memory of {:.0} GiB; {advice}",
        Size(backlog.written_bytes),
        in_gib(backlog.memory_bytes)
    )
}

fn time_of(seconds: f64) -> String {
    TIME.of(format_args!("{:.0}m", whole_minutes(seconds)))
}

fn whole_minutes(seconds: f64) -> f64 {
    (seconds / 60.0).ceil()
}

fn in_gib(bytes: u64) -> f64 {
    bytes as f64 / GIB as f64
}
