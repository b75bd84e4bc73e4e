//! Shows the result of a recording as text: a line for each stream and member, what the kernel and
//! the recorder noted, and the answer in sentences.

use sustain_document::record::{
    MemberResult, OnFull, RecordResult, RecordingBefore, RecordingEnd, StreamResult,
};
use sustain_document::system::KernelMessage;
use sustain_record::hold_back_words::held_line;
use sustain_record::recorder::{LimitedBy, MemberState, RecorderShare};
use sustain_record::share_words::share_line;
use sustain_record::verdicts;
use sustain_targets::others_bytes_per_s;

use super::control::marks_line;
use super::recorded_frames::frame_lines;
use super::sentence::capitalized;
use super::{sentences, without_controls};
use crate::format::{latency, percent, position, rate, stall, stretch};

/// The result for a person: a line per stream, a line per member, the notes, and last the answer.
#[must_use]
pub fn record_summary(result: &RecordResult) -> String {
    // Of a fair recorder there is nothing to say.
    let share = result.share.as_ref();
    let first = share.filter(|share| share.asked == RecorderShare::First);
    summary(result, first.map(share_line))
}

/// The same for who has just seen the recording, whose first line said what the recorder took for
/// itself.
#[must_use]
pub fn record_outcome(result: &RecordResult) -> String {
    summary(result, None)
}

fn summary(result: &RecordResult, share_line: Option<String>) -> String {
    let streams = result.streams.iter();
    let mut lines: Vec<String> = streams
        .flat_map(|stream| [stream_line(stream)].into_iter().chain(frame_lines(stream)))
        .collect();
    let marks = result.marks.iter().filter(|marks| marks.count > 0);
    lines.extend(marks.map(marks_line));
    let has_parity = result.plan.parity > 0;
    let members = result.members.iter();
    lines.extend(members.map(|member| member_line(member, has_parity)));
    lines.extend(aligned_line(result));
    lines.extend(share_line);
    let share = result.share.as_ref();
    let held = share.and_then(|share| share.hold_back.as_ref());
    lines.extend(held.and_then(held_line));
    lines.extend(kernel_lines(&result.system.kernel_messages));
    lines.extend(result.notes.iter().map(|note| format!("note: {note}")));
    if verdicts::of(result).is_cpu_per_gb_known {
        let cpu_s = result.total.cpu_seconds_per_gb;
        lines.push(format!("CPU time: {cpu_s:.3} s per GB"));
    }
    lines.push(format!(
        "recording {} of store {}",
        result.recording, result.store
    ));
    lines.push(record_sentence(result));
    let lines = lines.iter().map(|line| without_controls(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The space that frames of an append each have cost.
fn aligned_line(result: &RecordResult) -> Option<String> {
    let payload_bytes: u64 = result.members.iter().map(|member| member.bytes).sum();
    let beside_bytes = result.total.beside_payload_bytes;
    let is_reported = result.plan.align_frames && payload_bytes > 0 && beside_bytes > 0;
    is_reported.then(|| {
        format!(
            "aligned frames: {} were written beside their bytes, {} of these, for descriptors and \
             to fill up blocks",
            position(beside_bytes),
            percent(beside_bytes as f64 / payload_bytes as f64)
        )
    })
}

/// The kernel's messages. Those that differ only in numbers are one line with their count: a disk
/// that fails does so for each request in flight.
fn kernel_lines(messages: &[KernelMessage]) -> Vec<String> {
    let mut groups: Vec<(&KernelMessage, usize, f64)> = Vec::new();
    for said in messages {
        let alike = groups
            .iter_mut()
            .find(|(first, _, _)| without_digits(&first.text).eq(without_digits(&said.text)));
        match alike {
            Some((_, count, last_s)) => (*count, *last_s) = (*count + 1, said.at_s),
            None => groups.push((said, 1, said.at_s)),
        }
    }
    let lines = groups.iter().map(|(first, count, last_s)| {
        let line = format!("kernel: at {:.3} s: {}", first.at_s, first.text);
        match count - 1 {
            0 => line,
            more => format!("{line} (and {more} more like it, the last at {last_s:.3} s)"),
        }
    });
    lines.collect()
}

fn without_digits(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| !character.is_ascii_digit())
}

fn stream_line(stream: &StreamResult) -> String {
    let frames = match stream.frames {
        0 => String::new(),
        1 => " in 1 frame".to_owned(),
        frames => format!(" in {frames} frames"),
    };
    let outcome = match stream.gap_bytes {
        0 => "all recorded".to_owned(),
        bytes => format!(
            "{} recorded, {} LOST ({bytes} bytes)",
            position(stream.recorded_bytes),
            position(bytes)
        ),
    };
    if stream.offered_bytes == 0 {
        return format!("stream {}: the source offered nothing", stream.name);
    }
    let mut line = format!(
        "stream {}: {} bytes{frames}, {outcome}",
        stream.name, stream.offered_bytes
    );
    if stream.recorded_bytes > 0 {
        line.push_str(&format!(
            "; 99.9 % of the appends were written within {} and durable within {}",
            latency(stream.written_latency_ns.p99_9),
            latency(stream.durable_latency_ns.p99_9),
        ));
    }
    line
}

fn member_line(member: &MemberResult, has_parity: bool) -> String {
    let state = match (&member.error, member.state) {
        (Some(error), _) => format!(", FAILED: {error}"),
        (None, MemberState::Full) => ", full".to_owned(),
        _ => String::new(),
    };
    if member.bytes == 0 {
        return format!(
            "member {}: no data of a stream is on it{state}",
            member.name
        );
    }
    let with = if has_parity { " with parity" } else { "" };
    format!(
        "member {}: {} ({} of what was recorded) at {}{with}, worst stall {}{state}",
        member.name,
        position(member.bytes),
        percent(member.share),
        rate(member.rate_bytes_per_s),
        stall(member.worst_stall_ns, member.is_worst_stall_unreturned),
    )
}

/// The length of a recording; a short one in milliseconds, because its rate follows from it.
fn length(seconds: f64) -> String {
    if (0.0..1.0).contains(&seconds) {
        latency((seconds * 1e9) as u64)
    } else {
        stretch(seconds)
    }
}

/// The answer in sentences: whether the recording is whole, its rate, what limited it, and why it
/// ended.
#[must_use]
pub fn record_sentence(result: &RecordResult) -> String {
    let sum = |part: fn(&StreamResult) -> u64| result.streams.iter().map(part).sum::<u64>();
    let (offered, recorded) = (sum(|one| one.offered_bytes), sum(|one| one.recorded_bytes));
    let rates = match recorded {
        0 => format!("nothing was recorded in {}", length(result.seconds)),
        recorded => format!(
            "{} were recorded in {} ({})",
            position(recorded),
            length(result.seconds),
            rate(verdicts::average_bytes_per_s(result)),
        ),
    };
    // What a member lost is an upper bound: a part of it may still be there.
    let with_members: u64 = result.members.iter().map(|one| one.lost_bytes).sum();
    let lost = sum(|one| one.gap_bytes) + with_members;
    let up_to = if with_members > 0 { "Up to " } else { "" };
    let mut parts = vec![match lost {
        0 if recorded == 0 => {
            let length = length(result.seconds);
            format!("Nothing was recorded in {length}, and nothing was lost")
        }
        // What came may have been recorded and overwritten since.
        0 if result.plan.ring => format!("{}, all that the sources gave", capitalized(&rates)),
        0 => format!("Nothing was lost: {rates}"),
        lost => format!(
            "{up_to}{} of the {} offered were LOST{}; {rates}",
            position(lost),
            position(offered),
            full_words(result)
        ),
    }];
    parts.extend(protection_words(result));
    let failed = result.members.iter().filter(|one| one.error.is_some());
    let failed: Vec<&str> = failed.map(|member| member.name.as_str()).collect();
    if !failed.is_empty() {
        let then = match result.plan.parity {
            0 => "",
            _ => ". `sustain repair` rebuilds what such a member had on another one, or on itself",
        };
        parts.push(format!("{} failed{then}", failed.join(" and ")));
    }
    parts.extend(kernel_error_words(result).map(str::to_owned));
    let durable = result.streams.iter().filter(|one| one.recorded_bytes > 0);
    if let Some(longest_ns) = durable.map(|one| one.durable_latency_ns.p99_9).max() {
        parts.push(format!(
            "99.9 % of the appends were durable within {}",
            latency(longest_ns)
        ));
    }
    parts.extend(limit_words(result));
    parts.extend(before_words(&result.before));
    if result.plan.ring {
        parts.push(RING.to_owned());
    }
    parts.push(ending_words(result).to_owned());
    without_controls(&sentences(&parts))
}

/// What to do where the kernel logged errors of the disks, and no request of the recorder failed:
/// what was written may be damaged all the same, or what was recorded before.
fn kernel_error_words(result: &RecordResult) -> Option<&'static str> {
    let mut messages = result.system.kernel_messages.iter();
    let has_errors = messages.any(|message| message.level <= KERNEL_ERROR_LEVEL);
    let has_failed = result.members.iter().any(|member| member.error.is_some());
    let words = "The kernel logged errors of the disks meanwhile: `sustain verify` reads all of it \
                 back and tells what is damaged";
    (has_errors && !has_failed).then_some(words)
}

/// What protects a recording on no more members than it has parities: all that is on one of them is
/// on the others as well.
fn few_members_words(members: usize) -> String {
    match members {
        1 => "Nothing protects it, because only one member of the store was there".to_owned(),
        members => format!(
            "All but one of the {members} members that were there may be lost, and no more, \
             because they were too few for the parity"
        ),
    }
}

/// How much can be read although members are gone, if there is parity.
fn protection_words(result: &RecordResult) -> Option<String> {
    let parities = usize::from(result.plan.parity);
    let failed = result.members.iter().filter(|one| one.error.is_some());
    let failed = failed.count();
    let streams = result.streams.iter();
    let recorded: u64 = streams.clone().map(|one| one.recorded_bytes).sum();
    if parities == 0 || recorded == 0 {
        return None;
    }
    if failed > parities {
        let words = "More members failed than parity replaces: what they had may be lost";
        return Some(words.to_owned());
    }
    if result.members.len() <= parities && failed == 0 {
        return Some(few_members_words(result.members.len()));
    }
    let protected: u64 = streams.filter_map(|one| one.protected_bytes).sum();
    let what = match (recorded.saturating_sub(protected), result.plan.ring) {
        (0, false) => "All of it is".to_owned(),
        // The ring has overwritten what those were protected by.
        (0, true) => "All of it that the ring has left, but for its oldest appends, is".to_owned(),
        _ if protected == 0 => "None of it is known to be".to_owned(),
        // Of what came later, more may be: it is counted to where the first is not.
        _ => format!("At least {} of it are", position(protected)),
    };
    let without = match failed {
        0 => "",
        1 => "without the member that failed",
        _ => "without the members that failed",
    };
    Some(match (failed, parities - failed) {
        (0, 1) => format!("{what} protected from the loss of any one member"),
        (0, count) => format!("{what} protected from the loss of any {count} members"),
        (_, 0) => format!("{what} there {without}, and the next loss would cost data"),
        (_, 1) => format!("{what} there {without}, and any one of the others may be lost as well"),
        (_, count) => {
            format!("{what} there {without}, and any {count} of the others may be lost as well")
        }
    })
}

/// Why bytes were lost, where a full store has taken them, or a part of them.
fn full_words(result: &RecordResult) -> &'static str {
    let waited = result.plan.on_full == OnFull::Block;
    let failed = result.members.iter().filter(|one| one.error.is_some());
    // As many as parity replaces take nothing with them.
    let took_data = failed.count() > usize::from(result.plan.parity);
    match (result.ended, result.plan.ring) {
        (RecordingEnd::Full, true) if waited && !took_data => {
            ", because the ring had nothing left to overwrite"
        }
        (RecordingEnd::Full, false) if waited && !took_data => ", because the store became full",
        (RecordingEnd::Full, false) if waited => ", some of it because the store became full",
        _ => "",
    }
}

/// The level from which down the kernel logs errors, as syslog counts: 3 is an error, and 2 to 0
/// are worse.
const KERNEL_ERROR_LEVEL: u8 = 3;

/// What a ring keeps, whether it was filled or not.
const RING: &str = "The store is a ring: once it is full, the newest data overwrites the oldest, \
                    of this recording and of earlier ones; `sustain list` says from which byte on \
                    each can still be read";

/// The limit of the recording's rate, if it was not the sources alone, and long enough to mention.
fn limit_words(result: &RecordResult) -> Option<String> {
    if result.total.tool_limited {
        return Some("The recorder's own thread set the rate, not the members".to_owned());
    }
    let verdicts = verdicts::of(result);
    let waited = verdicts.waited_for.as_ref()?;
    let part = percent(waited.share);
    let others = others_bytes_per_s(&result.system.others);
    let shared = others.map_or_else(String::new, |others| {
        format!("; other programs used their disks at {}", rate(others))
    });
    Some(match &waited.by {
        LimitedBy::Member(name) => format!(
            "Data waited {part} of the time, with {name} much slower than the other \
             members{shared}"
        ),
        LimitedBy::Pins => format!(
            "Data waited {part} of the time because pins kept all of the ring, so that there was \
             nothing left to overwrite"
        ),
        _ => format!("Data waited for the members {part} of the time{shared}"),
    })
}

/// The recordings of the same run before this one, which all figures leave out.
fn before_words(before: &[RecordingBefore]) -> Option<String> {
    let (first, last) = (before.first()?, before.last()?);
    let which = match before.len() {
        1 => format!("recording {} of this run", first.recording),
        _ => format!(
            "recordings {} to {} of this run",
            first.recording, last.recording
        ),
    };
    let streams = || before.iter().flat_map(|one| &one.streams);
    let recorded: u64 = streams().map(|stream| stream.recorded_bytes).sum();
    let marks = before.iter().filter_map(|one| one.marks);
    let lost_marks: u64 = marks.map(|marks| marks.gap_bytes).sum();
    let lost: u64 = streams().map(|stream| stream.gap_bytes).sum::<u64>() + lost_marks;
    let lost = match lost {
        0 => "lost nothing".to_owned(),
        lost => format!("LOST {}", position(lost)),
    };
    let paces = || streams().filter_map(|stream| stream.pace.as_ref());
    let missing: u64 = paces().map(|pace| pace.missing).sum();
    let late: u64 = paces().map(|pace| pace.late).sum();
    let frames = match missing + late {
        0 => String::new(),
        _ => {
            let are = if missing == 1 { "is" } else { "are" };
            format!("; {missing} of their frames {are} MISSING and {late} came late")
        }
    };
    let harmed = before.iter().filter(|one| !one.errors.is_empty()).count();
    let harmed = match harmed {
        0 => String::new(),
        count => format!(", and members failed in {count} of them"),
    };
    Some(format!(
        "This one began where a `split` ended the one before: {which} took {} and \
         {lost}{harmed}{frames}",
        position(recorded)
    ))
}

fn ending_words(result: &RecordResult) -> &'static str {
    match result.ended {
        RecordingEnd::Source => "The recording ended because its sources ended",
        RecordingEnd::Time => "The recording ended after the time asked for",
        RecordingEnd::Bytes => "The recording ended after the bytes asked for",
        // Pins keep all of it, which a note tells with their numbers.
        RecordingEnd::Full if result.plan.ring => {
            "The recording ended because the ring had nothing left to overwrite"
        }
        RecordingEnd::Full => "The recording ended because the store is full",
        RecordingEnd::Split => "The recording ended where the next one began",
        RecordingEnd::Signal => "The recording was stopped and ended cleanly",
        RecordingEnd::Error | RecordingEnd::Unknown => {
            "The recording ended because it could not go on"
        }
        RecordingEnd::Recovered => "A crash or a kill ended the recording",
    }
}
