//! Marks the burst, the steady window, idle periods, kernel messages and errors on a time axis. The
//! time charts of a measurement and of a recording call it.

use sustain_document::measure::{Burst, MeasureResult, Stall, Sustained};
use sustain_document::system::System;

use super::chart::{Key, NEUTRAL, Panel};
use crate::dip_words::dip_words;
use crate::format::{latency, position};

/// The key of lines that belong to no target, and that no legend hides.
pub(super) const NO_KEY: usize = usize::MAX;
/// The number of the lines at kernel messages, which no legend has.
const MESSAGE_KEY: usize = usize::MAX - 1;

/// One stall in words.
pub(super) fn stall_words(stall: &Stall) -> String {
    let company = match stall.shared_with.as_slice() {
        [] => String::new(),
        others => format!(", at the same moment as on {}", others.join(", ")),
    };
    format!(
        "stall of {} on {} at offset {}{company}",
        latency(stall.duration_ns),
        stall.target,
        position(stall.offset_bytes)
    )
}

/// Kernel messages, dips and errors as marks at the top of the panel, with their words.
pub(super) fn events(panel: &mut Panel, result: &MeasureResult) {
    kernel_messages(panel, &result.system);
    for dip in &result.dips {
        let middle_s = f64::midpoint(dip.start_s, dip.end_s);
        panel.event_on_top("triangle", middle_s, &dip_words(dip, result));
    }
    for target in &result.targets {
        for error in &target.errors {
            let (operation, message) = (error.operation, &error.message);
            let words = format!("{}: {operation}: {message}", target.name);
            panel.event_on_top("cross", error.at_s, &words);
        }
    }
}

/// Kernel messages as marks at the top of the panel, with their words.
pub(super) fn kernel_messages(panel: &mut Panel, system: &System) {
    for message in &system.kernel_messages {
        let words = format!("kernel message: {}", message.text);
        panel.event_on_top("triangle", message.at_s, &words);
    }
}

/// The burst and the steady window of the verdict that the panel of rates shows.
pub(super) fn judged_periods(panel: &mut Panel, result: &MeasureResult) {
    let run_s = result.total.seconds;
    let (sustained, burst) = judged(result);
    if sustained.reached {
        panel.period("steady", sustained.from_s, sustained.to_s.unwrap_or(run_s));
    }
    if let Some(burst) = burst.filter(|burst| burst.rate_bytes_per_s > 0.0) {
        let until_s = (burst.bytes as f64 / burst.rate_bytes_per_s).min(run_s);
        panel.period("burst", 0.0, until_s);
    }
}

/// What all panels of a run have: the time before and after it, and a line at each kernel message.
pub(super) fn around(panel: &mut Panel, run_s: f64, ends_s: (f64, f64), system: Option<&System>) {
    let (begin_s, end_s) = ends_s;
    if begin_s < 0.0 {
        panel.period("idle", begin_s, 0.0);
    }
    if end_s > run_s {
        panel.period("idle", run_s, end_s);
    }
    let key = Key::coloured(MESSAGE_KEY, "", NEUTRAL);
    for message in system.iter().flat_map(|system| &system.kernel_messages) {
        panel.vertical(&key, message.at_s);
    }
}

/// The verdict that the first panel shows: that of all targets together, or of a single target.
fn judged(result: &MeasureResult) -> (&Sustained, Option<&Burst>) {
    match result.targets.as_slice() {
        [only] => (&only.sustained, only.burst.as_ref()),
        _ => (&result.total.sustained, result.total.burst.as_ref()),
    }
}
