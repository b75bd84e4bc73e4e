//! The answer of a measurement in sentences, with everything that a reader must know not to
//! misread it. The terminal prints it last and the page shows it first; it must never say more
//! than was seen.

use sustain_document::measure::{MeasureResult, TargetResult, Total};
use sustain_document::verdicts::IntoCache;
use sustain_document::vocabulary::{DataPath, Ending, TargetKind};
use sustain_experiments::measure::measurement_words::{backlog_not_seen, rhythm_not_seen};
use sustain_experiments::measure::verdicts;

use super::{SIMULATED, sentences, without_controls};
use crate::format::{half_width, latency, memory, position, rate, stretch};

mod failures;
mod not_seen;
mod recommended;
mod subject;

use failures::{failures, later_failures};
pub(crate) use failures::{request, while_doing};
use not_seen::not_seen;
use recommended::records;
use subject::{reads, targets};

/// The time over which the slowest rate of a run is taken.
const WORST_S: f64 = 10.0;

/// The answer: "A stream can be recorded at 3.80 GB/s on this target with a 512 MiB buffer
/// (confirmed by a paced run of 10 s). The worst stall, with nothing completed, was 41.0 ms. The
/// run rewrote 4 GiB 26 times, so a cache of more than 4 GiB would go unnoticed (use a larger
/// --size)."
#[must_use]
pub fn sentence(result: &MeasureResult) -> String {
    let mut clauses: Vec<String> = Vec::new();
    clauses.extend(ending(result));
    clauses.extend(failures(&result.targets));
    clauses.extend(later_failures(&result.later_failures));
    if result.total.bytes == 0 {
        clauses.push(format!("Nothing was {}", verb_done(result)));
        clauses.extend(simulated(result));
        return sentences(&clauses);
    }
    let no_disk = result
        .targets
        .iter()
        .all(|target| target.kind == TargetKind::Null);
    if no_disk {
        clauses.push("null: is not a disk, so these figures are the tool's own speed".to_owned());
    }
    // Nothing can be recorded on what keeps nothing.
    if !no_disk || result.plan.rate_bytes_per_s.is_some() {
        clauses.push(answer(result));
    }
    clauses.extend(worst_seconds(result));
    clauses.extend(read_back(result));
    clauses.extend(rewritten(result));
    clauses.extend(tool_limited(&result.total));
    clauses.extend(burst(&result.total));
    clauses.extend(worst_stall(result));
    let verdicts = verdicts::of(result);
    let rhythm = verdicts.rhythm_not_seen.as_ref().map(rhythm_not_seen);
    clauses.extend(rhythm.map(|clause| capitalized(&clause)));
    if !no_disk {
        let backlog = verdicts.backlog_not_seen.as_ref().map(backlog_not_seen);
        let in_memory = backlog.map(|clause| capitalized(&clause));
        clauses.extend(in_memory.or_else(|| not_seen(result)));
    }
    clauses.extend(simulated(result));
    sentences(&clauses)
}

fn simulated(result: &MeasureResult) -> Option<String> {
    result.plan.simulated.then(|| SIMULATED.to_owned())
}

/// A clause as the beginning of a sentence.
pub(crate) fn capitalized(clause: &str) -> String {
    let mut characters = clause.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// The targets as the subject of a sentence, with the verb in the number that suits them.
fn targets_do(result: &MeasureResult, verb_of_one: &str, verb_of_several: &str) -> String {
    match result.targets.len() {
        1 => format!("This target {verb_of_one}"),
        several => format!("These {several} targets together {verb_of_several}"),
    }
}

/// The subject of a steady rate, which is that of the targets which are left after others
/// failed.
fn left_do(result: &MeasureResult, verb_of_one: &str, verb_of_several: &str) -> String {
    let left = result.targets.iter().filter(|target| !has_failed(target));
    match (left.count(), result.targets.len()) {
        (0, _) => targets_do(result, verb_of_one, verb_of_several),
        (left, all) if left == all => targets_do(result, verb_of_one, verb_of_several),
        (1, _) => format!("The 1 target that is left {verb_of_one}"),
        (left, _) => format!("The {left} targets that are left together {verb_of_several}"),
    }
}

fn writes_buffered(result: &MeasureResult) -> bool {
    result.plan.path == DataPath::Buffered && !reads(result)
}

fn verb_done(result: &MeasureResult) -> &'static str {
    if reads(result) { "read" } else { "written" }
}

fn ending(result: &MeasureResult) -> Option<String> {
    let seconds = result.total.seconds;
    if result
        .targets
        .iter()
        .any(|target| target.ended == Ending::Interrupted)
    {
        return Some(format!(
            "The run was interrupted after {}; the figures cover what was done until then",
            stretch(seconds)
        ));
    }
    if result.interrupted {
        return Some(
            "The interruption came after the run itself; what was to follow it is missing"
                .to_owned(),
        );
    }
    let mut targets = result.targets.iter();
    let again = match targets.all(|target| target.ended == Ending::EndOfDevice) {
        true => " (with --size the run goes over the device again and again)",
        false => "",
    };
    verdicts::of(result).is_too_short.then(|| {
        format!(
            "The run was only {} long, which is too short to judge what lasts{again}",
            long(seconds)
        )
    })
}

fn has_failed(target: &TargetResult) -> bool {
    !target.errors.is_empty()
}

fn answer(result: &MeasureResult) -> String {
    if let Some(rate_bytes_per_s) = result.plan.rate_bytes_per_s {
        return held(result, rate_bytes_per_s);
    }
    let sustained = &result.total.sustained;
    if writes_buffered(result) {
        return format!(
            "{} {} through the page cache, flushes included; measure with --path direct to learn \
             the rate at which one may record",
            targets_do(result, "writes", "write"),
            rate(sustained.rate_bytes_per_s)
        );
    }
    if !sustained.reached {
        return unsteady(result);
    }
    if let Some(found) = &result.recommendation {
        return records(result, found);
    }
    let mean = rate(sustained.rate_bytes_per_s);
    let spread = rate(half_width(sustained.ci95_bytes_per_s));
    if reads(result) {
        let subject = left_do(result, "reads", "read");
        return format!("{subject} {mean} steadily (± {spread})");
    }
    let subject = left_do(result, "writes", "write");
    let failed = result.targets.iter().any(has_failed) || !result.later_failures.is_empty();
    let without = if failed {
        "after a failure".to_owned()
    } else {
        format!("with a {} buffer", memory(result.plan.buffer_bytes))
    };
    format!("{subject} {mean} steadily (± {spread}), but no rate can be recommended {without}")
}

/// What tells more of a rate that was not steady.
const LONGER: &str = "a longer --time, or --until-steady, tells more";

/// The answer where the rate was not steady: there may still be a rate that a paced run held.
fn unsteady(result: &MeasureResult) -> String {
    let sustained = &result.total.sustained;
    let since = match sustained.from_s > 0.0 {
        true => format!("From {} on", long(sustained.from_s)),
        false => "Over the whole run".to_owned(),
    };
    let average = rate(sustained.rate_bytes_per_s);
    let at_the_end = format!("{since} it was {average} on average");
    let why = without_controls(&sustained.why);
    let why = format!("The rate was not found to be steady: {why}. {at_the_end}");
    match &result.recommendation {
        Some(found) if found.confirmed == Some(true) => format!(
            "{}. {why}. So {} may not last: {LONGER}",
            records(result, found),
            rate(found.rate_bytes_per_s)
        ),
        Some(found) => format!(
            "{why}. So what follows is less certain: {LONGER}. {}",
            records(result, found)
        ),
        None => format!("{why}. No rate to rely on follows from that: {LONGER}"),
    }
}

/// What is left for writing while what was written is read back.
fn read_back(result: &MeasureResult) -> Option<String> {
    let found = result.read_back.as_ref()?;
    let held = match &found.writing.recommendation {
        Some(held) if held.confirmed == Some(true) => format!(
            "a stream can be recorded at {} meanwhile (confirmed by a paced run)",
            rate(held.rate_bytes_per_s)
        ),
        _ => "no rate is confirmed at which a stream can be recorded meanwhile".to_owned(),
    };
    let alone = found
        .reading_alone
        .as_ref()
        .map_or_else(String::new, |alone| {
            let speed = rate(alone.sustained.rate_bytes_per_s);
            format!(". Reading alone gives {speed}")
        });
    Some(format!(
        "While what the run has written is read back, with as many requests in flight, {} are \
         written and {} are read, and {held}{alone}",
        rate(found.writing.sustained.rate_bytes_per_s),
        rate(found.reading_meanwhile.rate_bytes_per_s)
    ))
}

/// The rate with new bytes for each write, where it is less than the run's own.
fn rewritten(result: &MeasureResult) -> Option<String> {
    let found = result.rewritten.as_ref().filter(|found| found.is_slower)?;
    Some(format!(
        "A trial in which every byte was new, as in a recording, reached {}; one with this run's \
         bytes, most of which stay the same, reached {}",
        rate(found.rate_bytes_per_s),
        rate(found.fresh_bytes_per_s)
    ))
}

/// The rate of the slowest 10 s, of a disk whose rate swings.
fn worst_seconds(result: &MeasureResult) -> Option<String> {
    let found = result.recommendation.as_ref()?;
    let worst = found.worst_10_s_bytes_per_s?;
    let stalls = stall_words(result).or_else(|| stall_of_paced(result));
    if worst < 1.0 && stalls.is_some() {
        // The stall is told by itself.
        return None;
    }
    verdicts::of(result).swings.then(|| match worst < 1.0 {
        false => format!("The rate of the slowest 10 s was {}", rate(worst)),
        // There were ten seconds of nothing; a stall says how many more.
        true => {
            let paused_s = (longest_pause_ns(result) as f64 / 1e9).max(WORST_S);
            format!(
                "At the worst, nothing was {} for {}",
                verb_done(result),
                stretch(paused_s)
            )
        }
    })
}

/// The longest time in which nothing completed on any target. A paced run tells only the longest
/// stall of any one target, which is that of all where there is one target.
fn longest_pause_ns(result: &MeasureResult) -> u64 {
    if result.targets.len() == 1 {
        result.longest_stall_ns()
    } else {
        result.total.worst_stall_ns
    }
}

/// A period, also one that is a fraction of a second.
fn long(seconds: f64) -> String {
    if seconds < 1.0 {
        return latency((seconds * 1e9) as u64);
    }
    stretch(seconds)
}

/// Whether the rate held that was asked for, and if that is not known, why.
pub(crate) fn held_words(result: &MeasureResult) -> String {
    let total = &result.total;
    match (
        total.rate_held,
        result.targets.iter().find(|one| has_failed(one)),
    ) {
        (Some(true), _) => "yes".to_owned(),
        (Some(false), Some(failed)) => format!("NO, as {} failed", without_controls(&failed.name)),
        (Some(false), None) => "NO".to_owned(),
        (None, _) => match &total.rate_undecided {
            Some(why) => format!("not decided ({})", without_controls(why)),
            None => "not decided".to_owned(),
        },
    }
}

fn held(result: &MeasureResult, rate_bytes_per_s: f64) -> String {
    let mut failed = result.targets.iter().filter(|target| has_failed(target));
    let seconds = result.source_seconds();
    let (asked, length) = (rate(rate_bytes_per_s), stretch(seconds));
    let verdict = match (result.total.rate_held, failed.next()) {
        (Some(true), _) => format!(
            "{} {asked} for {length}",
            targets_do(result, "held", "held")
        ),
        (Some(false), failed) => format!(
            "{} NOT hold {asked} for {length}{}",
            targets_do(result, "did", "did"),
            failed.map_or_else(String::new, |failed| {
                format!(", as {} failed", without_controls(&failed.name))
            })
        ),
        (None, _) => {
            let (subject, why) = (targets(result), &result.total.rate_undecided);
            let why = why
                .as_ref()
                .map(|why| format!(" ({})", without_controls(why)));
            format!(
                "Whether {subject} can hold {asked} was not decided in {length}{}",
                why.unwrap_or_default()
            )
        }
    };
    let backlog = result
        .total
        .backlog_max_bytes
        .map_or_else(String::new, |bytes| {
            let buffer = memory(result.plan.buffer_bytes);
            if bytes > result.plan.buffer_bytes && result.total.rate_held.is_none() {
                format!("; afterwards the backlog grew to {}", memory(bytes))
            } else if bytes > result.plan.buffer_bytes {
                format!(
                    "; the backlog grew to {}, which is more than the buffer of {buffer}",
                    memory(bytes)
                )
            } else {
                format!("; {} of the {buffer} buffer were needed", memory(bytes))
            }
        });
    let verdicts = verdicts::of(result);
    let growing = match (verdicts.backlog_grows, result.total.rate_held) {
        (false, _) => "",
        (true, Some(false)) => {
            ", and the backlog grew steadily to the end, which no buffer rides out in a longer run"
        }
        (true, _) => " and still grew at the end, so a longer run may not hold it",
    };
    let cached = verdicts.into_cache.as_ref();
    let cached = cached.map_or_else(String::new, |cached| into_cache(result, cached));
    // Where the flush alone decides, it is told first.
    let is_of_flush = result.total.rate_held == Some(false)
        && growing.is_empty()
        && (result.total.backlog_max_bytes).is_none_or(|most| most <= result.plan.buffer_bytes)
        && !cached.is_empty();
    // Neither what is left after a failure nor the page cache has a rate to recommend.
    let has_other_rate = result.total.rate_held == Some(false)
        && !result.targets.iter().any(has_failed)
        && !writes_buffered(result);
    let instead = match has_other_rate {
        true => ". To learn which rate does hold, measure without --rate",
        false => "",
    };
    if is_of_flush {
        return format!("{verdict}{cached}{backlog}{instead}");
    }
    format!("{verdict}{backlog}{growing}{cached}{instead}")
}

/// What was only in caches at the end, and what that means for a recorder.
fn into_cache(result: &MeasureResult, cached: &IntoCache) -> String {
    let took = format!(
        "when the run ended, {} of the {} taken were only in a volatile cache: the flush after it \
         took {}, and with it the rate is {}",
        position(cached.bytes),
        position(result.total.bytes),
        long(cached.flush_s),
        rate(cached.flushed_bytes_per_s)
    );
    match result.total.rate_held {
        Some(true) => format!(
            "; but {took}. If the cache was still filling, a longer run does not hold the rate"
        ),
        Some(false) => format!("; {took}"),
        None => format!("; but {took}"),
    }
}

fn tool_limited(total: &Total) -> Option<String> {
    total.tool_limited.then(|| {
        "The tool, not the targets, set this rate: try more --threads or a larger --record-size"
            .into()
    })
}

fn burst(total: &Total) -> Option<String> {
    let burst = total.burst.as_ref()?;
    let (bytes, speed) = (position(burst.bytes), rate(burst.rate_bytes_per_s));
    Some(format!(
        "The first {bytes} were faster, at {speed}, which does not last"
    ))
}

/// The longest stall, and the longest flush of a buffered run, during which nothing was written
/// either.
fn worst_stall(result: &MeasureResult) -> Option<String> {
    let flush = result
        .total
        .longest_flush_ns
        .filter(|flush_ns| *flush_ns > 0);
    let flush = flush.map(|flush_ns| format!("the longest flush took {}", latency(flush_ns)));
    let stalls = stall_words(result)
        .into_iter()
        .chain(stall_of_paced(result));
    let clauses: Vec<String> = stalls.chain(flush).collect();
    (!clauses.is_empty()).then(|| capitalized(&clauses.join("; ")))
}

/// A stall that only a paced run had.
fn stall_of_paced(result: &MeasureResult) -> Option<String> {
    let longest_ns = verdicts::of(result).paced_stall_ns?;
    Some(format!(
        "a stall in a paced run took {}",
        latency(longest_ns)
    ))
}

/// The longest time without any completion, and a longer one that only one target had.
fn stall_words(result: &MeasureResult) -> Option<String> {
    let together_ns = result.total.worst_stall_ns;
    let longest = result.stalls.iter().max_by_key(|stall| stall.duration_ns);
    let alone = longest.filter(|_| verdicts::of(result).stall_is_of_one);
    let alone = alone.map(|stall| {
        format!(
            "{} on {}",
            latency(stall.duration_ns),
            without_controls(&stall.target)
        )
    });
    match (together_ns, alone) {
        (0, None) => None,
        (0, Some(alone)) => Some(format!(
            "the worst stall, with nothing completed, was {alone}"
        )),
        (_, None) => Some(format!(
            "the worst stall, with nothing completed, was {}",
            latency(together_ns)
        )),
        (_, Some(alone)) => Some(format!(
            "the worst stall of all targets at once was {}, that of a single target {alone}",
            latency(together_ns)
        )),
    }
}
