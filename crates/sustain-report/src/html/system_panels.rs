//! Draws the machine during a run, as two panels of a time chart: CPU and memory. The time charts
//! of a measurement and of a recording call it.

use super::chart::{ALARM, Key, Panel, Scale};
use super::samples::{Processor, SystemMoment};

/// The height of each panel.
pub(super) const PANEL_PX: usize = 150;
/// Less memory is drawn as this much: a logarithmic axis has no zero.
const MEMORY_FLOOR_BYTES: u64 = 1 << 20;
/// The first number of the keys of these lines, which no target has.
const KEYS_FROM: usize = 1 << 20;

/// A line of a panel: its name, its colour, and its figure at a moment.
type Line = (&'static str, &'static str, fn(&SystemMoment) -> Option<f64>);

const PROCESSOR_LINES: [Line; 4] = [
    ("user", "w0", |at| part(at, |parts| parts.user)),
    ("system", "w4", |at| part(at, |parts| parts.system)),
    ("I/O wait", "w6", |at| part(at, |parts| parts.iowait)),
    ("part of this program", ALARM, |at| at.own),
];
const MEMORY_LINES: [Line; 3] = [
    ("dirty", "w5", |at| Some(floored(at.dirty_bytes))),
    ("in writeback", "w3", |at| Some(floored(at.writeback_bytes))),
    ("cached", "w2", |at| Some(floored(at.cached_bytes))),
];

fn part(moment: &SystemMoment, of: fn(&Processor) -> f64) -> Option<f64> {
    moment.processor.as_ref().map(of)
}

fn floored(bytes: u64) -> f64 {
    bytes.max(MEMORY_FLOOR_BYTES) as f64
}

/// Both panels; none without samples.
pub(super) fn panels(moments: &[SystemMoment], across: &Scale) -> Vec<Panel> {
    if moments.is_empty() {
        return Vec::new();
    }
    let memory = moments
        .iter()
        .flat_map(|at| [at.dirty_bytes, at.writeback_bytes, at.cached_bytes]);
    let memory = memory_scale(memory);
    vec![
        panel(
            "CPU of the machine",
            &PROCESSOR_LINES,
            moments,
            across,
            Scale::parts(),
        ),
        panel(
            "Memory of the machine",
            &MEMORY_LINES,
            moments,
            across,
            memory,
        ),
    ]
}

/// A scale of memory from the floor up to the most of these.
pub(super) fn memory_scale(bytes: impl Iterator<Item = u64>) -> Scale {
    let most = floored(bytes.max().unwrap_or(0)).max(floored(0) * 16.0);
    Scale::memory(floored(0), most)
}

/// A line of memory: its bytes at each moment, none below the floor.
pub(super) fn memory_points(moments: impl Iterator<Item = (f64, u64)>) -> Vec<(f64, f64)> {
    moments
        .map(|(at_s, bytes)| (at_s, floored(bytes)))
        .collect()
}

fn panel(
    title: &str,
    lines: &[Line],
    moments: &[SystemMoment],
    across: &Scale,
    up: Scale,
) -> Panel {
    let keys: Vec<Key> = lines
        .iter()
        .enumerate()
        .map(|(index, (name, ink, _))| Key::coloured(KEYS_FROM + index, name, ink))
        .collect();
    let mut panel = Panel::new(title, PANEL_PX, across, up).with_keys(keys.clone());
    for (key, (name, _, of)) in keys.iter().zip(lines) {
        let told = moments.iter();
        let points: Vec<(f64, f64)> = told
            .filter_map(|moment| Some((moment.time_s, of(moment)?)))
            .collect();
        let style = if key.ink == ALARM { "dotted" } else { "thin" };
        panel.line(key, name, style, &points);
    }
    panel
}
