//! The parts that all charts of the page share: colours, axes with readable units, and the place in
//! the page. Every module that draws a chart with the plotting script calls it.

use super::escape;
use crate::format::{latency, memory};
use plotly::common::{Anchor, Font, Orientation, Title};
use plotly::layout::{Axis, HoverMode, Legend, Margin};
use plotly::{Configuration, Layout, Plot};

/// Colours that colour-blind people can tell apart, legible on light and dark (after Okabe and
/// Ito).
const COLOURS: [&str; 7] = [
    "#2b8cc4", "#e08a00", "#0a9d73", "#c9689d", "#8c7ae6", "#d5601f", "#9a8b1f",
];
/// The colour of the sum of all targets, and of lines that belong to no target.
pub(super) const NEUTRAL: &str = "#7d8590";
/// The colour of errors, messages and stalls.
pub(super) const ALARM: &str = "#d1433f";
/// A longer name would take space from the chart.
const TRACE_NAME_CHARACTERS_MAX: usize = 32;
/// With more targets than this their legend stands beside the chart, where it can be scrolled.
const LEGEND_ABOVE_TARGETS_MAX: usize = 8;
/// A transparent background, through which that of the page shows.
const CLEAR: &str = "rgba(0,0,0,0)";

/// The colour of the target with this index.
pub(super) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// One chart and the words around it.
pub(super) struct Chart {
    /// The id, unique in the page.
    pub(super) id: String,
    /// The heading as plain text.
    pub(super) heading: String,
    /// The explanation below the chart as plain text.
    pub(super) caption: String,
    /// The height in the page.
    pub(super) height_px: usize,
    /// The traces and the layout.
    pub(super) plot: Plot,
}

impl Chart {
    /// The place that the page's script fills, and the data from which it is filled.
    pub(super) fn markup(&self) -> String {
        let id = escape::text(&self.id);
        format!(
            "<figure><h3>{heading}</h3>\n\
             <div class=\"chart\" data-chart=\"{id}\" style=\"height:{height}px\"></div>\n\
             <script type=\"application/json\" id=\"{id}\">{json}</script>\n\
             <figcaption>{caption}</figcaption></figure>\n",
            heading = escape::text(&self.heading),
            height = self.height_px,
            json = escape::script_json(&self.plot.to_json()),
            caption = escape::text(&self.caption),
        )
    }
}

/// The empty plot with which every chart begins.
pub(super) fn empty_plot() -> Plot {
    let mut plot = Plot::new();
    let configuration = Configuration::new().responsive(true).display_logo(false);
    plot.set_configuration(configuration.typeset_math(false));
    plot
}

/// The layout with which every chart begins; its legend has space for this many targets.
pub(super) fn layout(targets: usize) -> Layout {
    let legend = Legend::new().background_color(CLEAR).x_anchor(Anchor::Left);
    let legend = if targets > LEGEND_ABOVE_TARGETS_MAX {
        legend.x(1.01).y(1.0).y_anchor(Anchor::Top)
    } else {
        let above = legend.orientation(Orientation::Horizontal);
        above.x(0.0).y(1.0).y_anchor(Anchor::Bottom)
    };
    Layout::new()
        .paper_background_color(CLEAR)
        .plot_background_color(CLEAR)
        .font(Font::new().family("system-ui, sans-serif").size(13))
        .hover_mode(HoverMode::Closest)
        .margin(Margin::new().left(92).right(24).top(64).bottom(52))
        .legend(legend)
}

/// An axis with the grid and colours of the page.
pub(super) fn axis() -> Axis {
    Axis::new()
        .zero_line(false)
        .grid_color("rgba(128,128,128,0.22)")
        .auto_margin(true)
}

/// An axis of rates: `2GB/s`.
pub(super) fn rate_axis() -> Axis {
    axis().tick_format("~s").tick_suffix("B/s")
}

/// A title in the page's font.
pub(super) fn title(text: &str) -> Title {
    Title::with_text(escape::label(text)).font(Font::new().size(13))
}

/// Ticks of a logarithmic axis of seconds, with their labels, that enclose these values: decades,
/// and 2 and 5 between them where there are few.
pub(super) fn second_ticks(least_s: f64, most_s: f64) -> (Vec<f64>, Vec<String>) {
    let (least_s, most_s) = (least_s.max(1e-9), most_s.max(1e-9));
    let first = least_s.log10().floor() as i32;
    let last = most_s.log10().ceil() as i32;
    let between: &[u64] = if last - first <= 2 { &[1, 2, 5] } else { &[1] };
    let ticks = (first..=last).flat_map(|decade| {
        // In whole nanoseconds, so that a label is exact.
        let decade_ns = 10_u64.pow(u32::try_from(decade + 9).unwrap_or(0));
        between
            .iter()
            .map(move |step| decade_ns.saturating_mul(*step))
    });
    ticks
        .map(|tick_ns| (tick_ns as f64 / 1e9, latency(tick_ns)))
        .unzip()
}

/// The ticks of a logarithmic axis of bytes, powers of two, with their labels; at most a dozen.
pub(super) fn memory_ticks(least_bytes: f64, most_bytes: f64) -> (Vec<f64>, Vec<String>) {
    let first = least_bytes.max(1.0).log2().floor() as u32;
    let last = (most_bytes.max(1.0).log2().ceil() as u32).min(62);
    let span = last.saturating_sub(first);
    let step = [1, 2, 5]
        .into_iter()
        .find(|step| span / step <= 9)
        .unwrap_or(10);
    let ticks = (first..=last).filter(|exponent| exponent % step == 0);
    ticks
        .map(|exponent| 1_u64 << exponent)
        .map(|tick| (tick as f64, memory(tick)))
        .unzip()
}

/// A target's name, short enough for a legend: a long name is cut in its middle.
pub(super) fn trace_name(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= TRACE_NAME_CHARACTERS_MAX {
        return escape::label(name);
    }
    let (head, tail) = (&characters[..9], &characters[characters.len() - 20..]);
    let short: String = head.iter().chain(&['…']).chain(tail).collect();
    escape::label(&short)
}

/// The time axis of a run in the unit that suits its length; series are divided by it.
#[derive(Clone, Copy)]
pub(super) struct TimeUnit {
    /// The seconds in one unit.
    pub(super) seconds: f64,
    /// The suffix: ` s`, ` min` or ` h`.
    pub(super) suffix: &'static str,
}

impl TimeUnit {
    /// The unit for a run of this length.
    pub(super) fn for_run(seconds: f64) -> Self {
        match seconds {
            s if s < 600.0 => Self {
                seconds: 1.0,
                suffix: " s",
            },
            s if s < 3.0 * 3600.0 => Self {
                seconds: 60.0,
                suffix: " min",
            },
            _ => Self {
                seconds: 3600.0,
                suffix: " h",
            },
        }
    }

    /// A moment on the axis, with so few digits that the page stays small.
    pub(super) fn at(self, moment_s: f64) -> f64 {
        rounded(moment_s / self.seconds)
    }
}

/// A value with six significant digits: more than a screen shows, and a third of the bytes in the
/// page.
pub(super) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10_f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_units() {
        let (values, labels) = second_ticks(3e-5, 0.2);
        assert_eq!(values, [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]);
        assert_eq!(
            labels,
            ["10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"]
        );
        let (_, labels) = second_ticks(4.8e-3, 0.042);
        assert_eq!(labels[..4], ["1 ms", "2 ms", "5 ms", "10 ms"]);
        let (_, labels) = memory_ticks(1.0e6, 3.0e9);
        assert_eq!(
            labels,
            [
                "1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB", "4 GiB"
            ]
        );
        assert!(memory_ticks(0.0, 1e18).0.len() <= 12);
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(trace_name("/dev/sdb"), "/dev/sdb");
        let name = trace_name("/dev/disk/by-id/ata-Example_Disk_SERIAL0001");
        assert_eq!(name, "/dev/disk…mple_Disk_SERIAL0001");
    }

    #[test]
    fn rounding_keeps_six_digits() {
        assert_eq!(rounded(3_812_345_678.9), 3_812_350_000.0);
        assert_eq!(rounded(-0.012_345_678), -0.012_345_7);
        assert_eq!(rounded(f64::NAN), 0.0);
    }
}
