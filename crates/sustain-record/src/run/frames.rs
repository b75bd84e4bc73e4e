//! The parts of a recording's result that tell its latencies, and what its frames were like.

use sustain_disk::meter::LatencyMeter;
use sustain_document::frames::{
    FrameIncidentResult, FramePaceResult, FrameSample, FrameSizeBin, FrameSizeResult, FramesResult,
};
use sustain_document::latency::{LatencyBinResult, LatencyResult};

use crate::recorder::{FrameIncident, FrameMeter, FramePace};
use crate::time_text::time_text;

pub(super) fn frames(meter: &FrameMeter) -> FramesResult {
    let points = meter.series.points().iter().enumerate();
    let points = points.filter(|(_, point)| point.frames > 0);
    let step_s = meter.series.step_ns() as f64 / 1e9;
    FramesResult {
        frames_per_s: frames_per_s(meter),
        interval_ns: latency(&meter.interval),
        interval_histogram: histogram(&meter.interval),
        size_bytes: FrameSizeResult {
            p50: meter.size.percentile_ns(50.0),
            p99: meter.size.percentile_ns(99.0),
            max: meter.size.max().latency_ns,
        },
        size_histogram: sizes(&meter.size),
        until_durable_ns: latency(&meter.until_durable),
        until_durable_histogram: histogram(&meter.until_durable),
        series: points
            .map(|(index, point)| FrameSample {
                time_s: index as f64 * step_s,
                frames: point.frames,
                interval_max_ns: point.interval_max_ns,
                size_max_bytes: point.size_max_bytes,
                until_durable_max_ns: point.until_durable_max_ns,
            })
            .collect(),
        pace: meter.pace.as_ref().map(pace),
    }
}

fn frames_per_s(meter: &FrameMeter) -> Option<f64> {
    let [(first, first_ns), (last, last_ns)] = meter.ends?;
    let length_ns = last_ns.saturating_sub(first_ns);
    (length_ns > 0).then(|| (last - first) as f64 * 1e9 / length_ns as f64)
}

fn sizes(meter: &LatencyMeter) -> Vec<FrameSizeBin> {
    let bins = meter
        .bins()
        .map(|(from_bytes, to_bytes, count)| FrameSizeBin {
            from_bytes,
            to_bytes,
            count,
        });
    bins.collect()
}

pub(super) fn pace(pace: &FramePace) -> FramePaceResult {
    FramePaceResult {
        declared_frames_per_s: pace.frames_per_s(),
        missing: pace.missing,
        late: pace.late,
        incidents: pace.incidents.iter().map(incident).collect(),
        unlisted: pace.unlisted,
    }
}

fn incident(incident: &FrameIncident) -> FrameIncidentResult {
    FrameIncidentResult {
        frame: incident.frame,
        time: time_text(incident.time_ns),
        interval_ns: incident.interval_ns,
        missing: incident.missing,
        late: incident.late,
    }
}

pub(super) fn latency(latency: &LatencyMeter) -> LatencyResult {
    LatencyResult {
        p50: latency.percentile_ns(50.0),
        p99: latency.percentile_ns(99.0),
        p99_9: latency.percentile_ns(99.9),
        max: latency.max().latency_ns,
        max_at_s: latency.max().at_ns as f64 / 1e9,
    }
}

pub(super) fn histogram(latency: &LatencyMeter) -> Vec<LatencyBinResult> {
    let bins = latency.bins();
    bins.map(|(from_ns, to_ns, count)| LatencyBinResult {
        from_ns,
        to_ns,
        count,
    })
    .collect()
}
