//! What the frames of a recorded stream were like, in lines below that of the stream.

use sustain_document::frames::{FrameIncidentResult, FramePaceResult, FramesResult};
use sustain_document::record::StreamResult;

use crate::format::{frame_rate, latency, percent, position};

/// From this share on, it is told by how much frames came more slowly than declared.
const TOO_SLOW_MIN: f64 = 0.01;
/// The most incidents that get a line each.
const LINES_MAX: usize = 5;

pub(super) fn frame_lines(stream: &StreamResult) -> Vec<String> {
    let Some(frames) = &stream.frame_figures else {
        return Vec::new();
    };
    let mut lines = Vec::from_iter(figures(&stream.name, frames, stream.gap_bytes > 0));
    if let Some(pace) = &frames.pace {
        lines.extend(pace_lines(
            &stream.name,
            pace,
            stream.frames,
            frames.frames_per_s,
        ));
    }
    lines
}

/// The rate, sizes and times; none of fewer than two frames.
fn figures(name: &str, frames: &FramesResult, has_lost: bool) -> Option<String> {
    let rate = frame_rate(frames.frames_per_s?);
    let (usual, largest) = (
        position(frames.size_bytes.p50),
        position(frames.size_bytes.max),
    );
    let sizes = match usual == largest {
        true => format!("{usual} each"),
        false => format!("usually of {usual} and at most of {largest}"),
    };
    let mut line = format!(
        "stream {name}: {rate}, {sizes}; at most {} from one frame to the next",
        latency(frames.interval_ns.max),
    );
    if frames.until_durable_ns.max > 0 {
        let longest = latency(frames.until_durable_ns.max);
        let which = match has_lost {
            true => "every frame that was recorded whole was",
            false => "every frame was",
        };
        line.push_str(&format!("; {which} durable within {longest}"));
    }
    Some(line)
}

fn pace_lines(
    name: &str,
    pace: &FramePaceResult,
    frames: u64,
    frames_per_s: Option<f64>,
) -> Vec<String> {
    let declared = frame_rate(pace.declared_frames_per_s);
    if frames == 0 {
        return vec![format!(
            "stream {name}: no frame was found, so whether any is missing or late against the \
             declared {declared} is not known"
        )];
    }
    let too_slow = too_slow_line(name, pace, frames_per_s);
    if pace.missing + pace.late == 0 {
        let none =
            format!("stream {name}: no frame is missing or late against the declared {declared}");
        return vec![too_slow.unwrap_or(none)];
    }
    let (missing, late) = (pace.missing, pace.late);
    let frames = if missing == 1 { "frame" } else { "frames" };
    let first = format!(
        "stream {name}: {missing} {frames} MISSING and {late} late against the declared {declared}"
    );
    let mut lines = vec![first];
    lines.extend(too_slow);
    let shown = pace.incidents.iter().take(LINES_MAX);
    lines.extend(shown.map(|incident| incident_line(name, incident)));
    let more = pace.incidents.len().saturating_sub(LINES_MAX) as u64 + pace.unlisted;
    if more > 0 {
        lines.push(format!(
            "stream {name}: {more} more such waits (--json lists the first 100)"
        ));
    }
    lines
}

/// Where frames all come a little later than declared, no single wait is long enough to be counted.
fn too_slow_line(name: &str, pace: &FramePaceResult, frames_per_s: Option<f64>) -> Option<String> {
    let share = 1.0 - frames_per_s? / pace.declared_frames_per_s;
    let waits = match pace.missing + pace.late {
        0 => ", although no single wait was long enough for one to be missing",
        _ => "",
    };
    (share >= TOO_SLOW_MIN).then(|| {
        format!(
            "stream {name}: on the whole {} fewer frames came than the declared {}{waits}",
            percent(share),
            frame_rate(pace.declared_frames_per_s)
        )
    })
}

fn incident_line(name: &str, incident: &FrameIncidentResult) -> String {
    let words = [(incident.missing, "missing"), (incident.late, "late")];
    let words = words.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!(
        "stream {name}: {} at the wait before frame {}, which came at {}, {} after the one before",
        words.join(" and "),
        incident.frame,
        incident.time,
        latency(incident.interval_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident(frame: u64, missing: u64, late: u64) -> FrameIncidentResult {
        FrameIncidentResult {
            frame,
            time: "2026-11-23T15:56:57.000000000Z".to_owned(),
            interval_ns: 100_000_000,
            missing,
            late,
        }
    }

    #[test]
    fn missing_and_late_frames_are_named_and_the_rest_counted() {
        let mut pace = FramePaceResult {
            declared_frames_per_s: 29.97,
            missing: 0,
            late: 0,
            incidents: Vec::new(),
            unlisted: 0,
        };
        let whole = pace_lines("cam", &pace, 30, Some(29.97));
        assert_eq!(
            whole,
            ["stream cam: no frame is missing or late against the declared 29.970 frames/s"]
        );
        let without = pace_lines("cam", &pace, 0, None);
        assert_eq!(
            without,
            [
                "stream cam: no frame was found, so whether any is missing or late against the \
                 declared 29.970 frames/s is not known"
            ]
        );
        pace.incidents = (0..7).map(|at| incident(at * 10, at, 7 - at)).collect();
        (pace.missing, pace.late, pace.unlisted) = (21, 28, 3);
        let lines = pace_lines("cam", &pace, 30, Some(29.97));
        assert_eq!(lines.len(), 1 + LINES_MAX + 1);
        assert!(lines[0].contains("21 frames MISSING and 28 late against the declared 29.970"));
        assert!(
            lines[1].contains("7 late at the wait before frame 0, which came at"),
            "{}",
            lines[1]
        );
        assert!(lines[2].contains("1 missing and 6 late at the wait before frame 10"));
        assert!(lines[6].contains("5 more such waits"));
        (pace.missing, pace.late) = (1, 0);
        let lines = pace_lines("cam", &pace, 30, Some(29.97));
        assert!(lines[0].contains(": 1 frame MISSING and 0 late"));
        let lines = pace_lines("cam", &pace, 30, Some(29.0));
        assert_eq!(
            lines[1],
            "stream cam: on the whole 3 % fewer frames came than the declared 29.970 frames/s"
        );
    }

    #[test]
    fn frames_that_all_come_a_little_late_are_not_called_on_time() {
        let pace = FramePaceResult {
            declared_frames_per_s: 100.0,
            missing: 0,
            late: 0,
            incidents: Vec::new(),
            unlisted: 0,
        };
        assert_eq!(
            pace_lines("cam", &pace, 300, Some(91.0)),
            [
                "stream cam: on the whole 9 % fewer frames came than the declared 100.000 \
                 frames/s, although no single wait was long enough for one to be missing"
            ]
        );
    }
}
