//! One setting of a sweep in words: its values, its rate, and its difference from the best. The
//! sentences, the table and the page share them.

use sustain_document::sweep::{AgainstBest, Axis, SweepAnswer, SweepPoint, SweepSetting};
use sustain_document::vocabulary::LayoutKind;

use crate::format::{rate, size};
use crate::terminal::without_controls;

/// `200 MB/s ± 0.4 %`.
pub(crate) fn rate_with_interval(point: &SweepPoint) -> String {
    let found = point.rate_bytes_per_s.unwrap_or(0.0);
    let half = half_width(point);
    format!(
        "{}{}",
        rate(found),
        half.map_or(String::new(), |half| format!(" ± {:.1} %", half * 100.0))
    )
}

/// Half of the width of the 95 % interval, as a part of the rate.
pub(crate) fn half_width(point: &SweepPoint) -> Option<f64> {
    let [low, high] = point.ci95_bytes_per_s?;
    Some((high - low) / 2.0 / point.rate_bytes_per_s?)
}

/// Whether the noise is not known, so that the difference may be noise.
pub(super) fn is_undecided(against: &AgainstBest) -> bool {
    against.is_noise && against.ci95.is_none()
}

/// Why it is not known whether a point differs.
pub(super) fn undecided_words(point: &SweepPoint) -> &'static str {
    match point.repeats {
        0 | 1 => "measured once",
        _ => "cannot be told",
    }
}

/// The difference of a setting from the best, and whether noise explains it.
pub(crate) fn against_cell(
    point: &SweepPoint,
    answer: &SweepAnswer,
    against: &AgainstBest,
) -> String {
    if point.number == answer.best {
        return "best".to_owned();
    }
    // No minus before a zero.
    let share = format!("{:+.1} %", (against.share * 1000.0).round() / 10.0 + 0.0);
    if is_undecided(against) {
        return format!("{share} ({})", undecided_words(point));
    }
    if against.is_noise {
        return format!("{share} (noise)");
    }
    share
}

/// A setting's value on an axis, for a column that has the axis' name.
pub(crate) fn cell(setting: &SweepSetting, axis: Axis) -> String {
    match axis {
        Axis::Direction => setting.direction.to_string(),
        Axis::Place => without_controls(&setting.order.join(",")),
        Axis::Engine => setting.engine.to_string(),
        Axis::Path => setting.path.to_string(),
        Axis::Layout => setting.layout.to_string(),
        Axis::Chunk => setting.chunk_bytes.map_or(String::new(), size),
        // Independent targets are all used at once, in no order.
        Axis::Order if setting.layout == LayoutKind::Independent => String::new(),
        Axis::Order => without_controls(&setting.order.join(",")),
        Axis::RecordSize => size(setting.record_size_bytes),
        Axis::Depth => setting.depth.to_string(),
    }
}

/// A part in percent with one decimal.
pub(crate) fn percent(part: Option<f64>) -> String {
    part.map_or(String::new(), |part| format!("{:.1} %", part * 100.0))
}
