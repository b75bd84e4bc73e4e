//! Makes the tables of a recording: streams, members, the limits of its rate, and the settings. The
//! section of a recording calls it.

use sustain_document::frames::FramePaceResult;
use sustain_document::record::{LatencyResult, OnFull, PlanResult, RecordResult};
use sustain_record::hold_back_words::held_line;
use sustain_record::share_words::share_line;
use sustain_record::verdicts;

use super::super::samples;
use super::super::table::Table;
use super::super::where_tables::{asked_markup, machine};
use super::time_chart::limit_row;
use crate::ReportError;
use crate::format::{frame_rate, latency, memory, percent, position, rate, size, stall, stretch};
use crate::terminal::marks_line;

/// The losses and failures; empty if there are none.
pub(super) fn alarms(result: &RecordResult) -> String {
    let mut table = Table::new("Alarms", &[]);
    let lost = result.streams.iter().filter(|stream| stream.gap_bytes > 0);
    for stream in lost {
        let words = format!(
            "{} of {}",
            exact(stream.gap_bytes),
            position(stream.offered_bytes)
        );
        table.pair(&format!("stream {}: lost", stream.name), words);
    }
    for member in &result.members {
        if let Some(error) = &member.error {
            table.pair(&format!("member {} failed", member.name), error);
        }
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<div class=\"alarm\">{markup}</div>\n"),
    }
}

/// An amount in a readable unit and in bytes.
fn exact(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", position(bytes))
}

/// The tables of streams, of their latencies, of members, and of all together.
pub(super) fn key_figures(result: &RecordResult) -> String {
    format!(
        "<h2>Streams</h2>\n{}{}{}{}<h2>Members</h2>\n{}{}",
        streams(result).markup(),
        times(result).markup(),
        frames(result).markup(),
        incidents(result).markup(),
        members(result).markup(),
        together(result).markup()
    )
}

fn streams(result: &RecordResult) -> Table {
    let mut table = Table::new(
        "Streams",
        &[
            "stream", "source", "framing", "offered", "recorded", "lost", "durable", "frames",
        ],
    );
    for stream in &result.streams {
        let lost = match stream.gap_bytes {
            0 => "nothing".to_owned(),
            bytes => exact(bytes),
        };
        table.row(vec![
            stream.name.clone(),
            stream.source.clone(),
            stream.framing.clone(),
            exact(stream.offered_bytes),
            exact(stream.recorded_bytes),
            lost,
            position(stream.durable_bytes),
            stream.frames.to_string(),
        ]);
    }
    table
}

fn times(result: &RecordResult) -> Table {
    let mut table = Table::new(
        "Times of each stream",
        &[
            "appends of stream",
            "latency until",
            "p50",
            "p99",
            "p99.9",
            "max",
        ],
    );
    for stream in &result.streams {
        let until = [
            ("written", &stream.written_latency_ns),
            ("durable", &stream.durable_latency_ns),
        ];
        for (until, times) in until {
            let mut row = vec![stream.name.clone(), until.to_owned()];
            row.extend(percentiles(times));
            table.row(row);
        }
    }
    table
}

/// What the frames of each stream were like.
fn frames(result: &RecordResult) -> Table {
    let mut table = Table::new(
        "Frames of each stream",
        &[
            "frames of stream",
            "rate",
            "size p50",
            "largest",
            "interval p50",
            "longest",
            "until durable p50",
            "longest",
            "missing",
            "late",
        ],
    );
    for stream in &result.streams {
        let Some(frames) = &stream.frame_figures else {
            continue;
        };
        let at = |ns, at_s| format!("{} at {at_s:.3} s", latency(ns));
        let counted = |of: fn(&FramePaceResult) -> u64| {
            let pace = frames.pace.as_ref();
            pace.map_or_else(|| "-".to_owned(), |pace| of(pace).to_string())
        };
        let (interval, durable) = (&frames.interval_ns, &frames.until_durable_ns);
        table.row(vec![
            stream.name.clone(),
            frames
                .frames_per_s
                .map_or_else(|| "-".to_owned(), frame_rate),
            position(frames.size_bytes.p50),
            position(frames.size_bytes.max),
            latency(interval.p50),
            at(interval.max, interval.max_at_s),
            latency(durable.p50),
            at(durable.max, durable.max_at_s),
            counted(|pace| pace.missing),
            counted(|pace| pace.late),
        ]);
    }
    table
}

/// The first frames before which others are missing or came late.
fn incidents(result: &RecordResult) -> Table {
    let mut table = Table::new(
        "Frames that are missing or late",
        &["stream", "before frame", "at", "wait", "missing", "late"],
    );
    for stream in &result.streams {
        let pace = stream
            .frame_figures
            .iter()
            .filter_map(|frames| frames.pace.as_ref());
        for incident in pace.flat_map(|pace| &pace.incidents) {
            table.row(vec![
                stream.name.clone(),
                incident.frame.to_string(),
                incident.time.clone(),
                latency(incident.interval_ns),
                incident.missing.to_string(),
                incident.late.to_string(),
            ]);
        }
    }
    table
}

fn percentiles(times: &LatencyResult) -> [String; 4] {
    [
        latency(times.p50),
        latency(times.p99),
        latency(times.p99_9),
        format!("{} at {:.3} s", latency(times.max), times.max_at_s),
    ]
}

fn members(result: &RecordResult) -> Table {
    let rate_name = match result.plan.parity {
        0 => "rate",
        _ => "rate with parity",
    };
    let mut table = Table::new(
        "Members",
        &[
            "member",
            "payload",
            "share",
            rate_name,
            "worst stall",
            "write latency p50",
            "p99",
            "p99.9",
            "max",
            "max in flight",
            "written in all",
            "state",
        ],
    );
    for member in &result.members {
        let mut row = vec![
            member.name.clone(),
            position(member.bytes),
            percent(member.share),
            rate(member.rate_bytes_per_s),
            stall(member.worst_stall_ns, member.is_worst_stall_unreturned),
        ];
        row.extend(percentiles(&member.latency_ns));
        row.extend([
            member.depth_reached.to_string(),
            position(member.written_bytes),
            member.state.to_string(),
        ]);
        table.row(row);
    }
    table
}

fn together(result: &RecordResult) -> Table {
    let total = &result.total;
    let mut table = Table::new("All together", &[]);
    table.pair(
        "all that was written, with the format's own bytes, over the whole time",
        rate(total.wall_clock_bytes_per_s),
    );
    table.pair("sum of the members' rates", rate(total.sum_bytes_per_s));
    let worst = stall(total.worst_stall_ns, total.is_worst_stall_unreturned);
    table.pair("worst stall of any member", worst);
    if verdicts::of(result).is_cpu_per_gb_known {
        let cpu = format!("{:.3} s", total.cpu_seconds_per_gb);
        table.pair("CPU time per GB", cpu);
    }
    for (device, celsius) in samples::temperatures_max(&result.system.samples) {
        let name = format!("highest temperature of {device}");
        table.pair(&name, format!("{celsius:.0} °C"));
    }
    if total.tool_limited {
        table.pair("limited by", "the recorder's own thread, not the members");
    }
    table
}

/// The limits of the rate, in words.
pub(super) fn limited_by(result: &RecordResult) -> String {
    let limits = verdicts::limits(&result.samples);
    let all_s = limits.last().map_or(0.0, |last| last.to_s);
    let mut table = Table::new(
        "What limited the rate",
        &["limited by", "part of the time", "time", "meaning", "when"],
    );
    for (by, seconds) in verdicts::seconds_by(&limits) {
        table.row(limit_row(&limits, by, seconds, all_s));
    }
    match table.markup() {
        markup if markup.is_empty() => markup,
        markup => format!("<h2>What limited the rate</h2>\n{markup}"),
    }
}

/// The settings, with the command to copy.
pub(super) fn asked(result: &RecordResult) -> String {
    let plan = &result.plan;
    let mut table = Table::new("Command, settings and machine", &[]);
    table.pair("store", &result.store);
    table.pair("recording", result.recording.to_string());
    table.pair("started", &result.started);
    table.pair("ended", result.ended.name());
    table.pair("engine", &result.engine);
    if let Some(path) = plan.path {
        table.pair("I/O path", path.name());
    }
    let sources = result.streams.iter();
    let sources = sources.map(|stream| format!("{} from {}", stream.name, stream.source));
    table.pair("streams", sources.collect::<Vec<_>>().join(", "));
    table.pair("buffer", memory(plan.buffer_bytes));
    table.pair("size of an append", size(plan.append_bytes.into()));
    table.pair("depth per member", plan.depth.to_string());
    if let Some(share) = &result.share {
        table.pair("beside other programs", share_line(share));
        if let Some(held) = share.hold_back.as_ref().and_then(held_line) {
            table.pair("others held back", held);
        }
    }
    table.pair("when the buffer is full", on_full(plan));
    table.pair("when the store is full", when_full(plan));
    table.pair("made durable", durable(plan));
    if let Some(marks) = result.marks.filter(|marks| marks.count > 0) {
        table.pair("marks", marks_line(&marks));
    }
    table.pair("recorded until", until(plan));
    table.pair("sustain version", &plan.sustain_version);
    asked_markup(&plan.arguments, &table)
}

fn on_full(plan: &PlanResult) -> String {
    match plan.on_full {
        OnFull::Block => "block: the source waits".to_owned(),
        OnFull::Drop => "drop: what comes is lost and becomes a gap".to_owned(),
    }
}

fn when_full(plan: &PlanResult) -> &'static str {
    if plan.ring {
        "the oldest data is overwritten"
    } else {
        "the recording ends"
    }
}

fn durable(plan: &PlanResult) -> String {
    if plan.durable_each {
        "each write".to_owned()
    } else {
        format!("within about {}", stretch(plan.durable_interval_s))
    }
}

fn until(plan: &PlanResult) -> String {
    let time = plan.time_s.map(stretch);
    let bytes = plan
        .bytes
        .map(|bytes| format!("{} per stream", size(bytes)));
    let bounds: Vec<String> = [time, bytes].into_iter().flatten().collect();
    if bounds.is_empty() {
        "the end of the sources".to_owned()
    } else {
        bounds.join(" or ")
    }
}

/// The machine, its devices and file systems.
pub(super) fn host(result: &RecordResult) -> Result<String, ReportError> {
    let host = &result.host;
    let places = host.file_systems.iter();
    let places = places.map(|place| (place.member.as_str(), &place.file_system));
    machine(host.description.as_ref(), &host.devices, places)
}
