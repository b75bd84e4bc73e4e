//! Leaves out settings that a point is too short for, and says how long it must be. Pure; the run
//! calls it once it knows how fast the targets are.

use std::collections::BTreeSet;

use sustain_disk::target::Direction;
use sustain_disk::units::Rate;
use sustain_document::setting::TIME_PER_POINT;
use sustain_document::sweep::LongerPoints;

use super::axes::{Grid, LeftOut};
use super::run_times::FirstRun;
use super::setting::{Axis, Setting};
use crate::error::MeasureError;

/// The requests in flight of a point must be transferred within this part of its time.
const WINDOW_SHARE: f64 = 0.5;
/// Points are named that are longer than needed by this, so that the members of a stripe wait for
/// each other in most of them.
const LONGER_BY: f64 = 2.0;

/// Leaves out settings whose requests in flight take longer than a point to transfer, because a
/// point cannot measure these.
pub(super) fn leave_out_long_windows(
    grid: &mut Grid,
    time_per_point_ns: u64,
    first_run: &FirstRun,
    (names, varying): (&[String], &[Axis]),
) -> Result<(), MeasureError> {
    let time_s = time_per_point_ns as f64 / 1e9;
    let window_s =
        |setting: &Setting| setting.window_bytes() as f64 / first_run.rate_of(setting.layout);
    let is_long = |setting: &Setting| window_s(setting) > time_s * WINDOW_SHARE;
    let points = std::mem::take(&mut grid.points);
    let (long, short): (Vec<_>, Vec<_>) = points
        .into_iter()
        .partition(|point| is_long(&point.setting));
    grid.points = short;
    if grid.points.is_empty() {
        return Err(MeasureError::Usage(format!(
            "none of these settings can be measured: all of them have more bytes in flight than \
             are transferred in half a point of {time_s} s at {}; use a longer \
             {TIME_PER_POINT}, or smaller records and depths",
            Rate(first_run.rate_bytes_per_s)
        )));
    }
    for direction in [Direction::Write, Direction::Read] {
        let settings = long.iter().map(|point| &point.setting);
        let settings = settings.filter(|setting| setting.direction == direction);
        let settings: Vec<&Setting> = settings.collect();
        let longest = settings
            .iter()
            .max_by(|one, other| window_s(one).total_cmp(&window_s(other)));
        let (Some(first), Some(longest)) = (settings.first(), longest) else {
            continue;
        };
        let rate = first_run.rate_of(longest.layout);
        let whose = match rate < first_run.rate_bytes_per_s {
            true => "the pace of the slowest in the first run",
            false => "the rate of the first run",
        };
        let longer = LongerPoints {
            time_per_point_s: (LONGER_BY * window_s(longest) / WINDOW_SHARE).ceil(),
            unmeasured: unmeasured(grid, &settings, names, varying),
        };
        grid.left_out.push(LeftOut {
            why: format!(
                "at {}, {whose}, too few of their requests would end within a point; a \
                 {TIME_PER_POINT} of {:.0} s includes them",
                Rate(rate),
                longer.time_per_point_s
            ),
            count: settings.len(),
            first: (*first).clone(),
            longer: Some(longer),
        });
    }
    Ok(())
}

/// The values that only settings have which were left out, axis by axis.
fn unmeasured(
    grid: &Grid,
    left_out: &[&Setting],
    names: &[String],
    varying: &[Axis],
) -> Vec<String> {
    let words = |axis: &Axis| {
        let points = grid.points.iter();
        let measured = points.map(|point| point.setting.value(*axis, names));
        let measured: BTreeSet<Option<String>> = measured.collect();
        // Where no layout is left that has chunks, or an order, naming the layouts says all.
        if measured.iter().all(Option::is_none) {
            return None;
        }
        let mut missing: Vec<String> = Vec::new();
        for value in left_out
            .iter()
            .filter_map(|setting| setting.value(*axis, names))
        {
            if !measured.contains(&Some(value.clone())) && !missing.contains(&value) {
                missing.push(value);
            }
        }
        let name = axis.name().replace('_', " ");
        (!missing.is_empty()).then(|| format!("{name} {}", missing.join(", ")))
    };
    varying.iter().filter_map(words).collect()
}
