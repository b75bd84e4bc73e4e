//! Puts into words what follows from a profile: the figures first, then what to do. Pure; the
//! conclusion calls it. The document keeps these words, so that the terminal and all reports say
//! the same.

mod target;
mod together;

pub(super) use target::{of_outlier, of_target};
pub(super) use together::of_together;

/// A smaller loss is not mentioned, and rates that differ by less are called alike.
const MUCH: f64 = 0.02;

pub(super) fn of_drift(name: &str, drift: f64) -> String {
    let (how, change) = if drift > 1.0 {
        ("faster", drift - 1.0)
    } else {
        ("slower", 1.0 - drift)
    };
    let why = if drift > 1.0 {
        "a cache may hold what the first pass read"
    } else {
        "something else may have used the disk, or it slowed down"
    };
    format!(
        "{name}: the second pass was {} {how} than the first: {why}",
        percent(change)
    )
}

fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}
