//! The one sentence that answers what was asked, with everything a reader must know not to misread
//! it. The terminal's end and the page's head share it; it must never say more than was seen.

use super::without_controls;
use crate::format::{latency, memory, rate, size, stretch};
use sustain_bench::backlog::backlog_not_seen;
use sustain_bench::result::{MeasureResult, Recommendation, TargetError, TargetResult, Total};
use sustain_bench::rhythm::rhythm_not_seen;

/// Runs shorter than this cannot be judged steady.
const SHORT_RUN_S: f64 = 10.0;
/// Rates of several targets that lie further apart than this are all said.
const RATES_APART: f64 = 0.02;
/// A paced run's stall is told beside the run's own if it is so many times longer,
const STALL_LONGER: f64 = 1.5;
/// and no shorter than this.
const STALL_SAID_NS: u64 = 100_000_000;
/// A backlog that ends at more than this part of its largest has not come down again.
const STILL_GROWS: f64 = 0.9;
/// A disk that gave less than this part of the recommended rate for 10 s swings.
const SWINGS_BELOW: f64 = 0.95;

/// The answer: "records 3.80 GB/s with a 512 MiB buffer (confirmed for 10 s); worst stall 41.0 ms;
/// over 4 GiB rewritten 26 times, a larger cache would not show: --size".
#[must_use]
pub fn sentence(result: &MeasureResult) -> String {
    let mut clauses: Vec<String> = Vec::new();
    if result.plan.simulated {
        clauses.push("simulated".to_owned());
    }
    clauses.extend(ending(result));
    clauses.extend(failures(&result.targets));
    if result.total.bytes == 0 {
        clauses.push(format!("nothing was {}", verb_done(result)));
        return clauses.join("; ");
    }
    let no_disk = result.targets.iter().all(|target| target.kind == "null");
    if no_disk {
        clauses.push("null: is no disk, this is the tool's own speed".to_owned());
    }
    clauses.push(answer(result));
    clauses.extend(worst_seconds(result));
    clauses.extend(rewritten(result));
    clauses.extend(tool_limited(&result.total));
    clauses.extend(burst(&result.total));
    clauses.extend(rates_apart(result));
    clauses.extend(worst_stall(result));
    clauses.extend(rhythm_not_seen(result));
    if !no_disk {
        clauses.extend(backlog_not_seen(result).or_else(|| not_seen(result)));
    }
    clauses.join("; ")
}

fn reads(result: &MeasureResult) -> bool {
    result.plan.direction == "read"
}

fn writes_buffered(result: &MeasureResult) -> bool {
    result.plan.path == "buffered" && !reads(result)
}

fn verb_done(result: &MeasureResult) -> &'static str {
    if reads(result) { "read" } else { "written" }
}

fn ending(result: &MeasureResult) -> Option<String> {
    let seconds = result.total.seconds;
    if result
        .targets
        .iter()
        .any(|target| target.ended == "interrupted")
    {
        return Some(format!(
            "interrupted after {}, this is what was done",
            stretch(seconds)
        ));
    }
    if result.interrupted {
        return Some(
            "interrupted when the run itself was over, and without what was to follow".to_owned(),
        );
    }
    let short = result.total.bytes > 0 && seconds < SHORT_RUN_S;
    let mut targets = result.targets.iter();
    let again = match targets.all(|target| target.ended == "end_of_device") {
        true => " (--size goes over the device again and again)",
        false => "",
    };
    short.then(|| {
        format!(
            "only {} long, too short to judge what lasts{again}",
            long(seconds)
        )
    })
}

fn has_failed(target: &TargetResult) -> bool {
    !target.errors.is_empty()
}

fn failures(targets: &[TargetResult]) -> Option<String> {
    let failed: Vec<&TargetResult> = targets.iter().filter(|t| !t.errors.is_empty()).collect();
    let first = failed.first()?;
    let error = first.errors.first()?;
    let count: usize = failed.iter().map(|target| target.errors.len()).sum();
    let others = match count {
        1 => String::new(),
        _ => {
            format!(", {} more errors listed", count - 1).replace(" 1 more errors", " 1 more error")
        }
    };
    Some(format!(
        "{} failed: {}: {}{others}",
        without_controls(&first.name),
        without_controls(&request(error)),
        without_controls(&error.message),
    ))
}

/// Which request failed: a flush has no place.
pub(super) fn request(error: &TargetError) -> String {
    if error.operation == "flush" {
        return error.operation.clone();
    }
    format!("{} at {}", error.operation, size(error.offset_bytes))
}

fn answer(result: &MeasureResult) -> String {
    if let Some(rate_bytes_per_s) = result.plan.rate_bytes_per_s {
        return held(result, rate_bytes_per_s);
    }
    let sustained = &result.total.sustained;
    if writes_buffered(result) {
        return format!(
            "writes {} through the page cache, with all flushes; what may be recorded is told by \
             --path direct",
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
        return format!("reads {mean} steadily (± {spread})");
    }
    let without = if result
        .targets
        .iter()
        .any(|target| !target.errors.is_empty())
    {
        "after a failure".to_owned()
    } else {
        format!("with a {} buffer", memory(result.plan.buffer_bytes))
    };
    format!("writes {mean} steadily (± {spread}), but no rate can be recommended {without}")
}

/// Without a steady rate there may still be one that a paced run held.
fn unsteady(result: &MeasureResult) -> String {
    let sustained = &result.total.sustained;
    let did = if reads(result) { "read" } else { "wrote" };
    let at_the_end = format!("{did} {} at the end", rate(sustained.rate_bytes_per_s));
    let why = format!("no steady rate ({})", without_controls(&sustained.why));
    match &result.recommendation {
        Some(found) if found.confirmed == Some(true) => {
            format!("{}; {why}: {at_the_end}", records(result, found))
        }
        Some(found) => format!(
            "{why}: {at_the_end}, so take with care: {}",
            records(result, found)
        ),
        None => format!("{why}: {at_the_end}, no rate to rely on follows from it"),
    }
}

/// Half the width of a confidence interval: what stands behind a `±`.
pub(crate) fn half_width(ci95_bytes_per_s: [f64; 2]) -> f64 {
    (ci95_bytes_per_s[1] - ci95_bytes_per_s[0]).abs() / 2.0
}

fn records(result: &MeasureResult, found: &Recommendation) -> String {
    let speed = rate(found.rate_bytes_per_s);
    let buffer = memory(result.plan.buffer_bytes);
    let verb = if reads(result) { "read" } else { "record" };
    let held = stretch(found.held_seconds.unwrap_or(0.0));
    if found.confirmed == Some(false) {
        return did_not_hold(found, verb, &buffer);
    }
    let used = used_far_less(found);
    let needed = match (found.buffer_bytes < result.plan.buffer_bytes, &used) {
        (true, None) => format!("{} of it needed, ", memory(found.buffer_bytes)),
        (true, Some(_)) => format!(
            "{} of it needed for the pauses and slow stretches seen, ",
            memory(found.buffer_bytes)
        ),
        (false, _) => String::new(),
    };
    let proof = match found.confirmed {
        Some(_) => format!(
            "confirmed for {held}{}{}",
            used.unwrap_or_default(),
            stepped_down(found)
        ),
        None => "not confirmed by a paced run".to_owned(),
    };
    format!("{verb}s {speed} with a {buffer} buffer ({needed}{proof})")
}

/// What the run that confirmed it used, where it met so little of what the run before had met that the
/// memory said to be needed is no measure of it.
fn used_far_less(found: &Recommendation) -> Option<String> {
    let used = found.backlog_max_bytes?;
    (used < found.buffer_bytes / 2).then(|| format!(", which used {}", memory(used)))
}

/// That higher rates were tried first.
fn stepped_down(found: &Recommendation) -> String {
    let tried = found.attempts.iter().filter(|attempt| !attempt.held);
    match tried
        .map(|attempt| attempt.rate_bytes_per_s)
        .reduce(f64::max)
    {
        Some(highest) => format!(", {} did not hold", rate(highest)),
        None => String::new(),
    }
}

fn did_not_hold(found: &Recommendation, verb: &str, buffer: &str) -> String {
    let speed = rate(found.rate_bytes_per_s);
    let backlog = |before: &str, after: &str| {
        let most = found.backlog_max_bytes.map(memory);
        most.map_or_else(String::new, |most| {
            format!("{before}{most} were waiting {after}")
        })
    };
    match found.attempts.as_slice() {
        [first, _, ..] => format!(
            "{verb}s no rate for certain with a {buffer} buffer: of {} paced runs, from {} down to \
             {speed}, none held{}",
            found.attempts.len(),
            rate(first.rate_bytes_per_s),
            backlog(" (", "in the last one)")
        ),
        _ => {
            let held = stretch(found.held_seconds.unwrap_or(0.0));
            format!(
                "should {verb} {speed} with a {buffer} buffer by the pauses seen, but a run paced \
                 at it did NOT hold{}",
                backlog(": ", &format!("within {held}"))
            )
        }
    }
}

/// What new bytes gave, where that is less than the run's own.
fn rewritten(result: &MeasureResult) -> Option<String> {
    let found = result.rewritten.as_ref().filter(|found| found.is_slower)?;
    Some(format!(
        "with bytes that are new for each write, as a recorder's are: {}, and {} with bytes \
         that lay still, as in this run",
        rate(found.rate_bytes_per_s),
        rate(found.fresh_bytes_per_s)
    ))
}

/// What a disk that swings gave at its worst.
fn worst_seconds(result: &MeasureResult) -> Option<String> {
    let found = result.recommendation.as_ref()?;
    let worst = found.worst_10_s_bytes_per_s?;
    let swings = worst < found.rate_bytes_per_s * SWINGS_BELOW || found.confirmed == Some(false);
    swings.then(|| format!("its worst 10 s gave {}", rate(worst)))
}

/// A stretch of time, also one that is a fraction of a second.
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
    let verdict = held_words(result);
    let backlog = result
        .total
        .backlog_max_bytes
        .map_or_else(String::new, |bytes| {
            format!(
                ", backlog up to {} of {}",
                memory(bytes),
                memory(result.plan.buffer_bytes)
            )
        });
    let seconds = source_seconds(result);
    let record_bytes = result.plan.record_size_bytes * u64::from(result.plan.depth);
    let in_flight_bytes = record_bytes.saturating_mul(result.targets.len() as u64) as f64;
    let left_bytes = rate_bytes_per_s * seconds - result.total.bytes as f64;
    let most_bytes = result.total.backlog_max_bytes.unwrap_or(0) as f64;
    let grows = left_bytes > in_flight_bytes && left_bytes > STILL_GROWS * most_bytes;
    let growing = if grows && result.total.rate_held == Some(true) {
        " and still growing, so a longer run may not hold it"
    } else {
        ""
    };
    format!(
        "holds {} for {}: {verdict}{backlog}{growing}",
        rate(rate_bytes_per_s),
        stretch(seconds)
    )
}

/// How long the source of a paced run went on: what was in flight then came in later, or had come before.
fn source_seconds(result: &MeasureResult) -> f64 {
    let ended_by_time = result.targets.iter().all(|target| target.ended == "time");
    let time_s = result.plan.time_s.filter(|_| ended_by_time);
    time_s.unwrap_or(result.total.seconds)
}

fn tool_limited(total: &Total) -> Option<String> {
    total.tool_limited.then(|| {
        "the tool, not the targets, set this rate: more --threads or a larger --record-size".into()
    })
}

fn burst(total: &Total) -> Option<String> {
    let burst = total.burst.as_ref()?;
    let (bytes, speed) = (size(burst.bytes), rate(burst.rate_bytes_per_s));
    Some(format!(
        "the first {bytes} went at {speed}, which does not last"
    ))
}

fn rates_apart(result: &MeasureResult) -> Option<String> {
    let total = &result.total;
    if result.targets.len() < 2 {
        return None;
    }
    let (sum, clock) = (total.sum_bytes_per_s, total.wall_clock_bytes_per_s);
    let together = total.all_active_bytes_per_s;
    let rates = [Some(sum), Some(clock), together];
    let most = rates.iter().flatten().copied().fold(f64::MIN, f64::max);
    let least = rates.iter().flatten().copied().fold(f64::MAX, f64::min);
    if most - least <= RATES_APART * most {
        return None;
    }
    let all = if result.targets.iter().any(has_failed) {
        "all that were left"
    } else {
        "all"
    };
    Some(format!(
        "three rates that differ: {} while {all} were active, {} as the sum of each, {} over the \
         wall clock",
        together.map_or_else(|| "none".to_owned(), rate),
        rate(sum),
        rate(clock),
    ))
}

/// The longest stall, and of a buffered run the longest flush: nothing was written meanwhile either.
fn worst_stall(result: &MeasureResult) -> Option<String> {
    let flush = result.total.longest_flush_ns;
    let flush = flush.map(|flush_ns| format!("the longest flush {}", latency(flush_ns)));
    let stalls = stall_words(result)
        .into_iter()
        .chain(stall_of_paced(result));
    let clauses: Vec<String> = stalls.chain(flush).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

/// A stall that only a paced run met.
fn stall_of_paced(result: &MeasureResult) -> Option<String> {
    let attempts = &result.recommendation.as_ref()?.attempts;
    let longest_ns = attempts
        .iter()
        .map(|attempt| attempt.worst_stall_ns)
        .max()?;
    let of_run = result.stalls.iter().map(|stall| stall.duration_ns).max();
    let of_run_ns = of_run.unwrap_or(0).max(result.total.worst_stall_ns);
    let is_longer = longest_ns as f64 > of_run_ns as f64 * STALL_LONGER;
    (is_longer && longest_ns >= STALL_SAID_NS)
        .then(|| format!("{} in a paced run", latency(longest_ns)))
}

/// The longest without any completion, and a longer one that only one target had.
fn stall_words(result: &MeasureResult) -> Option<String> {
    let together_ns = result.total.worst_stall_ns;
    let longest = result.stalls.iter().max_by_key(|stall| stall.duration_ns);
    let alone = longest
        .filter(|_| result.targets.len() > 1)
        .filter(|stall| {
            // What differs by less is the same stall, seen by two meters.
            stall.duration_ns as f64 > together_ns as f64 * (1.0 + RATES_APART)
        });
    let alone = alone.map(|stall| {
        format!(
            "{} on {}",
            latency(stall.duration_ns),
            without_controls(&stall.target)
        )
    });
    match (together_ns, alone) {
        (0, None) => None,
        (0, Some(alone)) => Some(format!("worst stall {alone}")),
        (_, None) => Some(format!("worst stall {}", latency(together_ns))),
        (_, Some(alone)) => Some(format!(
            "worst stall {} of all at once, {alone}",
            latency(together_ns)
        )),
    }
}

/// What the run could not see, and what would show it.
fn not_seen(result: &MeasureResult) -> Option<String> {
    let moved = result.targets.iter();
    let moved = moved.filter(|target| target.bytes > 0 && target.kind != "null");
    let moved: Vec<&TargetResult> = moved.collect();
    let least = least_seen(moved.iter().copied())?;
    // One that came to its end has nothing beyond.
    let is_open = |target: &&TargetResult| target.ended != "end_of_device";
    let open = least_seen(moved.iter().copied().filter(is_open));
    let each = if result.targets.len() > 1 {
        " each"
    } else {
        ""
    };
    let alike = |target: &&TargetResult| target.distinct_bytes == least.distinct_bytes;
    let are_alike = moved.iter().all(alike);
    let at_least = if are_alike { "" } else { "at least " };
    let seen = format!("over {at_least}{}", size(least.distinct_bytes));
    let Some(open) = open else {
        return Some(to_the_end(result, &seen, each));
    };
    if open.laps > 1 {
        let again = if reads(result) { "reread" } else { "rewritten" };
        return Some(format!(
            "{seen}{each} {again} {} times, a larger cache would not show: --size",
            open.laps
        ));
    }
    let flag = flag_for_more(result, open);
    let is_disk = open.kind == "block_device" || open.kind == "simulated";
    match open.capacity_bytes.filter(|_| is_disk) {
        Some(capacity) if capacity > open.distinct_bytes => {
            let of = if are_alike {
                format!(" of {}", size(capacity))
            } else {
                String::new()
            };
            Some(format!(
                "{seen}{of}{each} once, a larger cache and what lies beyond would not show: {flag}"
            ))
        }
        Some(_) => Some(format!("{seen}{each} once, end to end")),
        None => Some(format!(
            "{seen}{each} once, a larger cache would not show: {flag}"
        )),
    }
}

/// Of these, the one of which the least was seen.
fn least_seen<'a>(targets: impl Iterator<Item = &'a TargetResult>) -> Option<&'a TargetResult> {
    targets.min_by_key(|target| (target.distinct_bytes, target.laps))
}

/// Of targets that all came to their end: more of anything would show nothing.
fn to_the_end(result: &MeasureResult, seen: &str, each: &str) -> String {
    match &result.plan.at {
        Some(at) => format!(
            "{seen}{each} once, from {at} on to {} end; without --at the rest shows",
            if each.is_empty() { "its" } else { "their" }
        ),
        None => format!("{seen}{each} once, end to end"),
    }
}

/// What bounded a target that was gone over once.
fn flag_for_more(result: &MeasureResult, target: &TargetResult) -> &'static str {
    let record = result.plan.record_size_bytes;
    let size_bytes = result.plan.size_bytes;
    let all_of =
        |size| (..=size).contains(&target.distinct_bytes) && target.distinct_bytes + record > size;
    if size_bytes.is_some_and(all_of) {
        return "--size";
    }
    match target.ended.as_str() {
        "bytes" => "--bytes",
        "steady" => "--time without --until-steady",
        _ if target.kind == "block_device" || target.kind == "simulated" => "--time",
        _ => "--size and --time",
    }
}
