//! Draws the latencies of the probe workloads beside a load, and the dirty memory, one under the
//! other on one time axis: direct against buffered where the load ran by both I/O paths. The
//! section on the effect of a load calls it.

use sustain_document::effect::{EffectResult, PathEffect, ProbeInterval};

use super::chart::{Arrangement, Figure, Key, Panel, Scale, TimeUnit};
use super::marks;
use super::system_panels::{PANEL_PX, memory_points, memory_scale};
use super::time_chart::latency_scale;

/// The panel of a probe workload is a little higher than one of the machine.
const VICTIM_PX: usize = 190;

/// The latencies of one probe workload beside a load by one I/O path.
type Seen = fn(&PathEffect) -> &[ProbeInterval];

/// The chart; none if there is no probe workload to draw.
pub(super) fn effect_chart(effect: &EffectResult, id: String) -> Option<Figure> {
    let times = Times::of(effect)?;
    let unit = TimeUnit::for_run(times.load_s);
    let across = Scale::time(times.begin_s, times.end_s, unit);
    let paths = effect.paths.iter().enumerate();
    let keys: Vec<Key> = paths
        .map(|(index, path)| Key::new(index, &path.path))
        .collect();
    let victims: [(&str, Seen); 2] = [
        ("Longest write of 4 KiB with fsync", |path| {
            &path.writes_over_time
        }),
        (
            "Largest delay of a timer that fires each millisecond",
            |path| &path.timer_over_time,
        ),
    ];
    let is_seen = |of: Seen| effect.paths.iter().any(|path| !of(path).is_empty());
    let seen = victims.into_iter().filter(|(_, of)| is_seen(*of));
    let mut panels: Vec<Panel> = seen
        .map(|(title, of)| victim_panel(title, of, effect, &keys, &across))
        .collect();
    if panels.is_empty() {
        return None;
    }
    panels.extend(memory_panel(effect, &keys, &across));
    for panel in &mut panels {
        marks::around(panel, times.load_s, (times.begin_s, times.end_s), None);
        for (path, key) in effect.paths.iter().zip(&keys) {
            if let Some(during) = path.stretches.during {
                panel.vertical(key, during.end_s);
            }
        }
    }
    Some(Figure {
        id,
        heading: "Probe workloads beside the load".to_owned(),
        caption: "Grey: before and after the load. Dotted line: the end of a load. Each point is \
                  the worst of its quarter of a second."
            .to_owned(),
        keys,
        panels,
        // Its time counts from the start of a load of its own, which no other chart shows.
        arrangement: Arrangement::Stacked,
    })
}

/// The time axis of all I/O paths together.
struct Times {
    begin_s: f64,
    /// The end of the load that took longest.
    load_s: f64,
    end_s: f64,
}

impl Times {
    fn of(effect: &EffectResult) -> Option<Times> {
        let stretches = || effect.paths.iter().map(|path| &path.stretches);
        let ends = stretches().filter_map(|all| Some(all.during?.end_s));
        let load_s = ends.reduce(f64::max)?;
        let begins = stretches().filter_map(|all| Some(all.before?.start_s));
        let after = stretches().filter_map(|all| Some(all.after?.end_s));
        Some(Times {
            begin_s: begins.fold(0.0, f64::min),
            load_s,
            end_s: after.reduce(f64::max).unwrap_or(load_s),
        })
    }
}

fn victim_panel(
    title: &str,
    of: Seen,
    effect: &EffectResult,
    keys: &[Key],
    across: &Scale,
) -> Panel {
    let all = effect.paths.iter().flat_map(of);
    let up = latency_scale(all.map(|step| step.max_ns.max(1)));
    let mut panel = Panel::new(title, VICTIM_PX, across, up);
    for (path, key) in effect.paths.iter().zip(keys) {
        let steps = of(path).iter();
        let points = steps.map(|step| {
            let middle_s = f64::midpoint(step.start_s, step.end_s);
            (middle_s, step.max_ns as f64 / 1e9)
        });
        panel.line(key, &key.name, "thin", &points.collect::<Vec<_>>());
    }
    panel
}

/// The memory that is dirty or in writeback; none without samples.
fn memory_panel(effect: &EffectResult, keys: &[Key], across: &Scale) -> Option<Panel> {
    let all = || effect.paths.iter().flat_map(|path| &path.memory_over_time);
    all().next()?;
    let up = memory_scale(all().map(|moment| moment.dirty_bytes));
    let mut panel = Panel::new("Memory dirty or in writeback", PANEL_PX, across, up);
    for (path, key) in effect.paths.iter().zip(keys) {
        let moments = path.memory_over_time.iter();
        let points = memory_points(moments.map(|moment| (moment.time_s, moment.dirty_bytes)));
        panel.line(key, &key.name, "thin", &points);
    }
    Some(panel)
}
