//! Draws one panel of a chart: what lies in it is stretched to the width of the screen, lines keep
//! their thickness, and all words are text of the page, so that they stay legible on any screen and
//! on paper. Places in a path are parts of [`FULL`]; the page's script reads figures out of them.

use std::fmt::Write as _;

use super::super::escape;
use super::key::{Key, key_markup};
use super::quantity::Quantity;
use super::scale::Scale;

/// The width and the height of the drawing area in its own units: fine enough that a figure read
/// out of a place has five digits.
const FULL: f64 = 100_000.0;
/// The place of a mark that has no figure.
const TOP: f64 = 0.96;
/// More items than this are too long a list of words, and further marks are only counted.
const MARKS_LISTED: usize = 20;
/// A longer text beside the pointer would hide the chart.
const MARK_CHARACTERS_MAX: usize = 200;

/// A panel under construction.
pub(in super::super) struct Panel {
    title: String,
    keys: Vec<Key>,
    height_px: usize,
    across: Scale,
    up: Scale,
    periods: String,
    paths: String,
    marks: String,
    /// Each series and mark in words.
    descriptions: Vec<String>,
    /// How many marks are told in words, and how many are not because they are too many.
    marks_listed: usize,
    marks_unlisted: usize,
}

impl Panel {
    /// A panel of this height over these scales.
    pub(in super::super) fn new(title: &str, height_px: usize, across: &Scale, up: Scale) -> Panel {
        Panel {
            title: title.to_owned(),
            keys: Vec::new(),
            height_px,
            across: across.clone(),
            up,
            periods: String::new(),
            paths: String::new(),
            marks: String::new(),
            descriptions: Vec::new(),
            marks_listed: 0,
            marks_unlisted: 0,
        }
    }

    /// The keys of lines that are in this panel only.
    pub(in super::super) fn with_keys(mut self, keys: Vec<Key>) -> Panel {
        self.keys = keys;
        self
    }

    /// A line through these points, by the style sheet's class `thin`, `bold`, `dashed`, `dotted`
    /// or `area`. A reader finds its figures under this name.
    pub(in super::super) fn line(
        &mut self,
        key: &Key,
        name: &str,
        style: &str,
        points: &[(f64, f64)],
    ) {
        self.drawn_line(key, name, style, points);
        self.describe_range(name, points, points.iter().map(|(_, figure)| *figure));
    }

    /// A thin line through the means of what was joined, in a band from the least to the most of
    /// it. Words tell the ends of the band, so that no hole and no spike is lost. Each point is its
    /// place, the mean, the least and the most.
    pub(in super::super) fn line_in_band(
        &mut self,
        key: &Key,
        name: &str,
        points: &[(f64, f64, [f64; 2])],
    ) {
        self.band(key, points);
        let means: Vec<(f64, f64)> = points.iter().map(|(x, mean, _)| (*x, *mean)).collect();
        self.drawn_line(key, name, "thin", &means);
        self.describe_range(name, &means, points.iter().flat_map(|(_, _, ends)| *ends));
    }

    fn drawn_line(&mut self, key: &Key, name: &str, style: &str, points: &[(f64, f64)]) {
        let mut path = String::new();
        for (index, point) in points.iter().enumerate() {
            path.push(if index == 0 { 'M' } else { ' ' });
            self.place(&mut path, *point);
        }
        let style = match points {
            [] => return,
            // A single point makes no line, so that it needs a mark to be visible.
            [_] => {
                path.push('z');
                "dots"
            }
            _ => style,
        };
        if style == "area" {
            let foot = |path: &mut String, x: f64| {
                let x = self.across.at(x) * FULL;
                let _ = write!(path, " {x:.0} {FULL}");
            };
            let mut area = path.clone();
            foot(&mut area, points[points.len() - 1].0);
            foot(&mut area, points[0].0);
            self.path(key, None, "under", &area);
        }
        self.path(key, Some(name), style, &path);
    }

    /// The space between the least and the most at each place; nothing where these are the same.
    fn band(&mut self, key: &Key, points: &[(f64, f64, [f64; 2])]) {
        let is_joined = points.iter().any(|(_, _, [least, most])| least < most);
        if points.len() < 2 || !is_joined {
            return;
        }
        let upper = points.iter().map(|(x, _, [_, most])| (*x, *most));
        let lower = points.iter().rev().map(|(x, _, [least, _])| (*x, *least));
        let mut path = String::new();
        for (index, point) in upper.chain(lower).enumerate() {
            path.push(if index == 0 { 'M' } else { ' ' });
            self.place(&mut path, point);
        }
        self.path(key, None, "band", &path);
    }

    /// A dot at each of these points.
    pub(in super::super) fn dots(&mut self, key: &Key, name: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        let mut path = String::new();
        for point in points {
            path.push('M');
            self.place(&mut path, *point);
            path.push('z');
        }
        self.path(key, Some(name), "dots", &path);
        self.describe_range(name, points, points.iter().map(|(_, figure)| *figure));
    }

    /// Lines that each join two points, such as the begin and the end of a period.
    pub(in super::super) fn strokes(
        &mut self,
        key: &Key,
        name: &str,
        style: &str,
        ends: &[[(f64, f64); 2]],
    ) {
        let mut path = String::new();
        for [from, to] in ends {
            path.push('M');
            self.place(&mut path, *from);
            path.push(' ');
            self.place(&mut path, *to);
        }
        self.path(key, Some(name), style, &path);
    }

    /// A line that joins two points and has no name, such as an interval.
    pub(in super::super) fn stroke(&mut self, ink: &str, style: &str, [from, to]: [(f64, f64); 2]) {
        let mut path = String::from("M");
        self.place(&mut path, from);
        path.push(' ');
        self.place(&mut path, to);
        let _ = writeln!(self.paths, "<path class=\"{style} {ink}\" d=\"{path}\"/>");
    }

    /// Bars given by their left end, right end and height.
    pub(in super::super) fn bars(&mut self, key: &Key, name: &str, bars: &[(f64, f64, f64)]) {
        let Some(highest) = bars.iter().max_by(|one, other| one.2.total_cmp(&other.2)) else {
            return;
        };
        let mut path = String::new();
        for (from, to, height) in bars {
            let (left, right) = (self.across.at(*from) * FULL, self.across.at(*to) * FULL);
            let top = (1.0 - self.up.at(*height)) * FULL;
            let _ = write!(
                path,
                "M{left:.0} {FULL} {left:.0} {top:.0} {right:.0} {top:.0} {right:.0} {FULL}"
            );
        }
        self.path(key, Some(name), "bars", &path);
        let words = |figure: f64| self.across.quantity.words(figure);
        let ends = bars[0].0..bars[bars.len() - 1].1;
        self.descriptions.push(format!(
            "{name}: {} to {}; most took {} to {} ({})",
            words(ends.start),
            words(ends.end),
            words(highest.0),
            words(highest.1),
            self.up.quantity.words(highest.2),
        ));
    }

    /// A period, shaded from the bottom to the top by a class of the style sheet.
    pub(in super::super) fn period(&mut self, class: &str, from: f64, to: f64) {
        let (from, to) = (self.across.at(from) * FULL, self.across.at(to) * FULL);
        let _ = writeln!(
            self.periods,
            "<rect class=\"{class}\" x=\"{from:.0}\" width=\"{:.0}\" height=\"{FULL}\"/>",
            (to - from).max(0.0)
        );
    }

    /// A line from the bottom to the top.
    pub(in super::super) fn vertical(&mut self, key: &Key, at: f64) {
        let x = self.across.at(at) * FULL;
        let path = format!("M{x:.0} 0 {x:.0} {FULL}");
        self.path(key, None, "dotted", &path);
    }

    /// A mark, by a class of the style sheet, with its words.
    pub(in super::super) fn mark(&mut self, class: &str, at: (f64, f64), words: &str) {
        self.mark_at(class, at.0, self.up.at(at.1), words);
    }

    /// A mark that is told in the chart's words as well.
    pub(in super::super) fn event(&mut self, class: &str, at: (f64, f64), words: &str) {
        self.mark(class, at, words);
        self.describe_event(at.0, words);
    }

    /// The same at the top of the panel, for what has no figure there.
    pub(in super::super) fn event_on_top(&mut self, class: &str, at: f64, words: &str) {
        self.mark_at(class, at, TOP, words);
        self.describe_event(at, words);
    }

    fn mark_at(&mut self, class: &str, at: f64, up: f64, words: &str) {
        let across = self.across.at(at);
        let mut shown: String = words.chars().take(MARK_CHARACTERS_MAX).collect();
        if shown.len() < words.len() {
            shown.push('…');
        }
        let _ = writeln!(
            self.marks,
            "<i class=\"mark {class}\" data-at=\"{:.0}\" \
             style=\"left:{:.3}%;bottom:{:.3}%\" title=\"{}\"></i>",
            across * FULL,
            across * 100.0,
            up * 100.0,
            escape::text(&shown)
        );
    }

    fn describe_event(&mut self, at: f64, words: &str) {
        if self.marks_listed < MARKS_LISTED {
            self.marks_listed += 1;
            let moment = self.across.quantity.words(at);
            self.descriptions.push(format!("at {moment}: {words}"));
        } else {
            self.marks_unlisted += 1;
        }
    }

    fn describe_range(
        &mut self,
        name: &str,
        points: &[(f64, f64)],
        figures: impl Iterator<Item = f64>,
    ) {
        if points.is_empty() {
            return;
        }
        let (least, most) = figures.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, one| {
            (ends.0.min(one), ends.1.max(one))
        });
        let words = |figure: f64| self.up.quantity.words(figure);
        let last = points.last().map_or(0.0, |(_, figure)| *figure);
        let descriptions = format!(
            "{name}: {} to {}, at the end {}",
            words(least),
            words(most),
            words(last)
        );
        self.descriptions.push(descriptions);
    }

    fn place(&self, path: &mut String, (x, y): (f64, f64)) {
        let (x, y) = (self.across.at(x) * FULL, (1.0 - self.up.at(y)) * FULL);
        let _ = write!(path, "{x:.0} {y:.0}");
    }

    fn path(&mut self, key: &Key, name: Option<&str>, style: &str, path: &str) {
        let name = name.map_or_else(String::new, |name| {
            format!(" data-name=\"{}\"", escape::text(name))
        });
        let _ = writeln!(
            self.paths,
            "<path class=\"{style} {}\" data-key=\"{}\"{name} d=\"{path}\"/>",
            key.ink, key.number
        );
    }

    /// What the panel shows, as items of a list.
    pub(super) fn words(&self) -> String {
        let more = match self.marks_unlisted {
            0 => None,
            more => Some(format!("and {more} more marks")),
        };
        let descriptions = self.descriptions.iter().cloned().chain(more);
        let prefix = if self.title.is_empty() {
            String::new()
        } else {
            format!("{}. ", self.title)
        };
        let items = descriptions
            .map(|words| format!("<li>{}</li>\n", escape::text(&(prefix.clone() + &words))));
        items.collect()
    }

    /// The panel; `said` is the id of the chart's words.
    pub(super) fn markup(&self, said: &str) -> String {
        let mut ticks = String::new();
        for (figure, label) in &self.up.ticks {
            let _ = write!(
                ticks,
                "<span class=\"y\" style=\"bottom:{:.3}%\"><b>{}</b></span>",
                self.up.at(*figure) * 100.0,
                escape::text(label)
            );
        }
        for (figure, label) in &self.across.ticks {
            let part = self.across.at(*figure);
            let _ = write!(
                ticks,
                "<span class=\"x\" data-at=\"{:.0}\" style=\"left:{:.3}%\"><b>{}</b></span>",
                part * FULL,
                part * 100.0,
                escape::text(label)
            );
        }
        let keys: String = self.keys.iter().map(key_markup).collect();
        let title = escape::text(&self.title);
        let head = if title.is_empty() && keys.is_empty() {
            String::new()
        } else {
            format!("<p class=\"head\"><b>{title}</b> {keys}</p>\n")
        };
        let class = match self.up.quantity {
            Quantity::Row => "panel rows",
            _ => "panel",
        };
        format!(
            "<div class=\"{class}\">{head}<div class=\"plot\" role=\"img\" aria-label=\"{title}\" \
             aria-describedby=\"{said}\" data-y=\"{}\" style=\"height:{}px\">{ticks}\n\
             <svg viewBox=\"0 0 {FULL} {FULL}\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\">\n\
             {}{}</svg>\n{}</div></div>\n",
            self.up.data(),
            self.height_px,
            self.periods,
            self.paths,
            self.marks,
        )
    }

    /// The scale across, for the page's script.
    pub(super) fn across(&self) -> String {
        self.across.data()
    }
}
