//! Assembles the result of a recording from the recorder, the intakes and the monitor.

use jiff::Timestamp as WallTime;
use sustain_disk::driver::Ending;
use sustain_disk::meter::{Meter, StallLedger};
use sustain_document::record::{
    BufferPointResult, HostResult, MarksResult, MemberResult, PlanResult, RECORD_SCHEMA,
    RecordResult, RecordingBefore, SampleResult, StreamBefore, StreamResult, TotalResult,
};
use sustain_document::share::ShareResult;
use sustain_document::system::System;
use sustain_targets::others_deeds;

use super::frames::{histogram, latency};
use super::left_free::left_free;
use super::{RecordPlan, SourcePlan, frames, note_words};
use crate::recorder::{
    LimitedBy, MarksStanding, MemberStanding, MemberState, OnFull, Recorded, RecordedBefore,
    StreamStanding, Taken, recording_end,
};
use crate::source::framing::Framing;
use crate::verdicts::{self, LIMITS_FROM_BYTES};

/// A recorder thread that used more than this share of its CPU was the limit.
const BUSY_SHARE: f64 = 0.95;

/// What was observed besides the recorder.
pub(super) struct RunObservations {
    /// The state of the recording, in even steps.
    pub(super) samples: Vec<SampleResult>,
    /// A description of the machine.
    pub(super) host: HostResult,
    /// What the recorder took for itself.
    pub(super) share: ShareResult,
    /// What the monitor saw of the machine.
    pub(super) system: System,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
    /// CPU time of the process for the whole recording.
    pub(super) cpu_ns: u64,
}

pub(super) fn result(
    plan: &RecordPlan,
    recorded: &Recorded,
    taken: &[Taken],
    seen: RunObservations,
) -> RecordResult {
    let RunObservations {
        samples,
        host,
        share,
        system,
        mut notes,
        cpu_ns,
    } = seen;
    notes.extend(shared(&samples, &system));
    notes.extend(remarks(plan, recorded, taken));
    let total = total(recorded, cpu_ns);
    let points = recorded.buffer_curve.points();
    let mut result = RecordResult {
        schema: RECORD_SCHEMA.to_owned(),
        store: recorded.store.to_string(),
        recording: recorded.recording,
        before: recorded.before.iter().map(before).collect(),
        ended: recording_end(recorded.ended, false),
        started: started(recorded.started_ns),
        seconds: recorded.elapsed_ns as f64 / 1e9,
        engine: format!("{}: {}", recorded.engine.0, recorded.engine.1),
        plan: plan_result(plan, recorded),
        host,
        streams: streams(plan, recorded),
        marks: recorded.standing.marks.as_ref().map(marks),
        members: members(recorded),
        total,
        buffer_curve: points
            .iter()
            .map(|point| BufferPointResult {
                rate_bytes_per_s: point.rate_bytes_per_s,
                buffer_bytes: point.buffer_bytes,
            })
            .collect(),
        samples,
        verdicts: None,
        share: Some(share),
        system,
        notes,
    };
    result.verdicts = Some(verdicts::decide(&result));
    result
}

fn started(started_ns: i64) -> String {
    WallTime::from_nanosecond(i128::from(started_ns))
        .map_or_else(|_| String::new(), |time| time.to_string())
}

fn before(recorded: &RecordedBefore) -> RecordingBefore {
    let paces = recorded.paces.iter().map(Option::as_ref);
    let paces = paces.chain(std::iter::repeat(None));
    let streams = recorded.streams.iter().zip(paces);
    let streams = streams.map(|(standing, pace)| StreamBefore {
        name: standing.name.clone(),
        offered_bytes: standing.offered_bytes,
        recorded_bytes: standing.recorded_bytes,
        gap_bytes: standing.gap_bytes,
        durable_bytes: standing.durable_bytes,
        frames: standing.frames,
        pace: pace.map(frames::pace),
    });
    RecordingBefore {
        recording: recorded.recording,
        ended: recording_end(recorded.ended, true),
        started: started(recorded.started_ns),
        seconds: recorded.elapsed_ns as f64 / 1e9,
        streams: streams.collect(),
        marks: recorded.marks.as_ref().map(marks),
        errors: recorded.errors.clone(),
    }
}

/// What the monitor saw during the last recording, if there were others before it.
pub(super) fn since(mut system: System, recorded: &Recorded) -> System {
    if !recorded.before.is_empty() {
        system.samples.retain(|sample| sample.time_s >= 0.0);
        system.kernel_messages.retain(|message| message.at_s >= 0.0);
    }
    system
}

/// The CPU time of the process before the last recording, of which this much was used before the
/// first one.
pub(super) fn cpu_before_ns(recorded: &Recorded, before_first_ns: u64) -> u64 {
    match recorded.before.is_empty() {
        true => before_first_ns,
        false => recorded.cpu_before_ns,
    }
}

/// Who else used the members' disks, and whether the sources had all they needed even so.
fn shared(samples: &[SampleResult], system: &System) -> Option<String> {
    let source = LimitedBy::Source;
    let is_held = |sample: &SampleResult| {
        sample.limited_by != source || sample.gap_bytes.iter().any(|bytes| *bytes > 0)
    };
    let deeds = others_deeds(&system.others)?;
    let had_all = !samples.iter().any(is_held);
    Some(note_words::shared(&deeds, had_all))
}

fn plan_result(plan: &RecordPlan, recorded: &Recorded) -> PlanResult {
    PlanResult {
        sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: plan.arguments.clone(),
        time_s: plan.time_ns.map(|time_ns| time_ns as f64 / 1e9),
        bytes: plan.bytes,
        buffer_bytes: plan.options.buffer_bytes,
        append_bytes: recorded.append_bytes,
        parity: recorded.parities,
        align_frames: plan.align_frames,
        depth: plan.options.depth,
        path: Some(recorded.path),
        on_full: match plan.on_full {
            OnFull::Block => OnFull::Block,
            OnFull::Drop => OnFull::Drop,
        },
        ring: plan.options.ring,
        durable_each: plan.options.durability.each,
        durable_interval_s: plan.options.durability.interval_ns as f64 / 1e9,
    }
}

fn streams(plan: &RecordPlan, recorded: &Recorded) -> Vec<StreamResult> {
    let latencies = recorded
        .written_latency
        .iter()
        .zip(&recorded.durable_latency);
    plan.sources
        .iter()
        .zip(&recorded.standing.streams)
        .zip(latencies)
        .zip(&recorded.frames)
        .map(
            |(((source, standing), (written, durable)), frames)| StreamResult {
                name: standing.name.clone(),
                source: source.typed.clone(),
                framing: source.framing.name().to_owned(),
                offered_bytes: standing.offered_bytes,
                recorded_bytes: standing.recorded_bytes,
                gap_bytes: standing.gap_bytes,
                durable_bytes: standing.durable_bytes,
                settled_bytes: standing.settled_bytes,
                protected_bytes: standing.protected_bytes,
                protected_settled_bytes: standing.protected_settled_bytes,
                frames: standing.frames,
                written_latency_ns: latency(written),
                durable_latency_ns: latency(durable),
                written_latency_histogram: histogram(written),
                durable_latency_histogram: histogram(durable),
                frame_figures: frames.as_deref().map(frames::frames),
            },
        )
        .collect()
}

fn marks(standing: &MarksStanding) -> MarksResult {
    MarksResult {
        count: standing.made,
        offered_bytes: standing.stream.offered_bytes,
        recorded_bytes: standing.stream.recorded_bytes,
        gap_bytes: standing.stream.gap_bytes,
        durable_bytes: standing.stream.durable_bytes,
    }
}

fn members(recorded: &Recorded) -> Vec<MemberResult> {
    let standings = &recorded.standing.members;
    let all: u64 = standings.iter().map(|member| member.bytes).sum();
    standings
        .iter()
        .zip(&recorded.meters)
        .map(|(standing, meter)| member(standing, meter, all))
        .collect()
}

fn member(standing: &MemberStanding, meter: &Meter, all_bytes: u64) -> MemberResult {
    MemberResult {
        name: standing.name.clone(),
        bytes: standing.bytes,
        written_bytes: meter.bytes(),
        share: standing.bytes as f64 / all_bytes.max(1) as f64,
        rate_bytes_per_s: rate(meter),
        state: standing.state,
        error: standing.error.clone(),
        lost_bytes: standing.lost_bytes,
        depth_reached: meter.depth_reached(),
        latency_ns: latency(meter.latency()),
        worst_stall_ns: meter.stalls().worst_ns(),
        is_worst_stall_unreturned: meter.stalls().is_worst_unreturned(),
    }
}

fn rate(meter: &Meter) -> f64 {
    meter.bytes() as f64 * 1e9 / meter.last_ns().max(1) as f64
}

fn total(recorded: &Recorded, cpu_ns: u64) -> TotalResult {
    let bytes: u64 = recorded.meters.iter().map(Meter::bytes).sum();
    let wall_clock = bytes as f64 * 1e9 / recorded.elapsed_ns.max(1) as f64;
    let streams = || recorded.standing.streams.iter();
    let recorded_bytes: u64 = streams().map(|stream| stream.recorded_bytes).sum();
    let stalls = recorded.meters.iter().map(Meter::stalls);
    let worst = stalls.max_by_key(|stalls| stalls.worst_ns());
    let payload = recorded.standing.members.iter().map(|member| member.bytes);
    let payload_bytes: u64 = payload.sum();
    let mut members = recorded.standing.members.iter();
    let lost =
        streams().any(|stream| stream.gap_bytes > 0) || members.any(|member| member.lost_bytes > 0);
    TotalResult {
        sum_bytes_per_s: recorded.meters.iter().map(rate).sum(),
        wall_clock_bytes_per_s: wall_clock,
        all_active_bytes_per_s: wall_clock,
        // Divided by a few marks only, it would be a large number without meaning.
        cpu_seconds_per_gb: match recorded_bytes {
            0 => 0.0,
            recorded_bytes => cpu_ns as f64 / recorded_bytes as f64,
        },
        cpu_seconds: cpu_ns as f64 / 1e9,
        beside_payload_bytes: bytes.saturating_sub(payload_bytes),
        worst_stall_ns: worst.map_or(0, StallLedger::worst_ns),
        is_worst_stall_unreturned: worst.is_some_and(StallLedger::is_worst_unreturned),
        tool_limited: recorded.cpu_share > BUSY_SHARE && recorded_bytes >= LIMITS_FROM_BYTES,
        rate_held: !lost,
    }
}

fn remarks(plan: &RecordPlan, recorded: &Recorded, taken: &[Taken]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (source, taken) in plan.sources.iter().zip(taken) {
        if let Some(errno) = taken.read_error {
            let errno = sustain_disk::error::IoFault::Kernel(errno.raw_os_error());
            remarks.push(note_words::read_error(&source.typed, errno));
        }
        if let Some((cuts, error)) = &taken.framing_error {
            let later = taken.cuts - cuts;
            let before = (later > 0).then(|| recorded.recording.saturating_sub(later));
            let error = error.to_string();
            remarks.push(note_words::framing_error(&source.stream, &error, before));
        }
        if taken.offered_bytes == 0 && taken.ending == Ending::Source {
            remarks.push(note_words::empty(&source.typed));
        }
    }
    for (source, stream) in plan.sources.iter().zip(&recorded.standing.streams) {
        remarks.extend(without_frames(source, stream.offered_bytes, stream.frames));
        remarks.extend(small_frames(plan, stream));
    }
    // A source that waits loses nothing by itself, so its losses come from members.
    let waits = plan.on_full == OnFull::Block && recorded.ended != Ending::Full;
    let gaps = recorded.standing.streams.iter().map(|one| one.gap_bytes);
    let has_lost = waits && gaps.sum::<u64>() > 0;
    let members = &recorded.standing.members;
    let is_other_left = members.iter().any(|one| one.state != MemberState::Failed);
    for (member, slowness) in recorded.standing.members.iter().zip(&recorded.slowness) {
        if slowness.times > 0 && member.state != MemberState::Failed {
            let slow_after_ns = plan.options.patience.slow_after_ns;
            let is_alone = members.len() == 1;
            remarks.push(note_words::slow(
                &member.name,
                *slowness,
                slow_after_ns,
                is_alone,
            ));
        }
        if let (MemberState::Failed, Some(error)) = (member.state, &member.error) {
            remarks.push(note_words::failed(error, is_other_left, has_lost));
        }
    }
    let pins = recorded.standing.pins.as_ref();
    if let Some(pins) = pins.filter(|pins| pins.leave_nothing) {
        remarks.push(note_words::kept_by_pins(&pins.numbers));
    } else if recorded.ended == Ending::Full {
        remarks.push(note_words::full());
        let left = left_free(&recorded.standing);
        remarks.extend(left.as_ref().map(note_words::left_free));
    }
    remarks
}

/// Frames that are too small to be worth aligning.
fn small_frames(plan: &RecordPlan, stream: &StreamStanding) -> Option<String> {
    const SMALL_BYTES: u64 = 64 << 10;
    let mean_bytes = stream.offered_bytes.checked_div(stream.frames)?;
    let is_small = plan.align_frames && mean_bytes < SMALL_BYTES;
    is_small.then(|| note_words::small_aligned_frames(&stream.name, stream.frames, mean_bytes))
}

/// A source in which no frame of its framing was found.
fn without_frames(source: &SourcePlan, offered_bytes: u64, frames: u64) -> Option<String> {
    let is_framed = source.framing != Framing::None;
    (is_framed && frames == 0 && offered_bytes > 0)
        .then(|| note_words::without_frames(&source.stream, offered_bytes, source.framing))
}
