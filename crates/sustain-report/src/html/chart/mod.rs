//! The one way in which the page draws: panels of lines, dots and bars over scales with readable
//! units, as SVG that needs no script, with the same in words below. A script of the page's own
//! adds a cursor and zoom. Every module that draws a chart calls this one.

mod key;
mod panel;
mod quantity;
mod scale;
pub(super) mod svg;

use super::escape;
use key::key_markup;
pub(super) use key::{ALARM, Key, NEUTRAL, colour};
pub(super) use panel::Panel;
pub(super) use quantity::{Quantity, TimeUnit};
pub(super) use scale::Scale;

/// One chart and the words around it.
pub(super) struct Figure {
    /// The id, unique in the page.
    pub(super) id: String,
    /// The heading as plain text.
    pub(super) heading: String,
    /// The explanation below the chart as plain text.
    pub(super) caption: String,
    /// The legend of all panels.
    pub(super) keys: Vec<Key>,
    pub(super) panels: Vec<Panel>,
    pub(super) arrangement: Arrangement,
}

/// How the panels of a chart stand to each other and to other charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One under the other on one axis, whose labels only the last has.
    Stacked,
    /// One under the other on the time axis of a run; cursor and zoom go in step with all other
    /// charts of runs.
    OverTime,
    /// Side by side, each with an axis of its own.
    Apart,
}

impl Figure {
    /// The chart with its legend, its words and its caption.
    pub(super) fn markup(&self) -> String {
        let id = escape::text(&self.id);
        let said = format!("{id}-said");
        let class = match self.arrangement {
            Arrangement::Stacked => "chart",
            Arrangement::OverTime => "chart over-time",
            Arrangement::Apart => "chart apart",
        };
        let across = match (self.arrangement, self.panels.first()) {
            (Arrangement::Apart, _) | (_, None) => String::new(),
            (_, Some(first)) => format!(" data-x=\"{}\"", first.across()),
        };
        let heading = escape::text(&self.heading);
        let words: String = self.panels.iter().map(Panel::words).collect();
        let panels = self.panels.iter().map(|panel| panel.markup(&said));
        format!(
            "<figure class=\"{class}\" id=\"{id}\"{across}><h3>{heading}</h3>\n{}\
             <div class=\"panels\">\n{}</div>\n<figcaption>{}</figcaption>\n\
             <details class=\"said\"><summary>This chart in words</summary>\
             <ul id=\"{said}\">\n{words}</ul></details></figure>\n",
            legend(&self.keys),
            panels.collect::<String>(),
            escape::text(&self.caption),
        )
    }
}

/// A legend; empty without an entry.
pub(super) fn legend(keys: &[Key]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let keys: String = keys.iter().map(key_markup).collect();
    format!("<p class=\"legend\">{keys}</p>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel() -> Panel {
        let across = Scale::time(0.0, 10.0, TimeUnit::Seconds);
        Panel::new("Rate", 200, &across, Scale::from_zero(Quantity::Rate, 4e9))
    }

    #[test]
    fn a_chart_tells_in_words_what_it_shows() {
        let mut panel = panel();
        let key = Key::new(0, "<sda>");
        panel.line(
            &key,
            &key.name,
            "thin",
            &[(0.0, 1e9), (5.0, 3e9), (10.0, 2e9)],
        );
        panel.event("cross", (5.0, 3e9), "a stall");
        let words = panel.words();
        let line = "Rate. &lt;sda&gt;: 1.00 GB/s to 3.00 GB/s, at the end 2.00 GB/s";
        assert!(words.contains(line), "{words}");
        assert!(words.contains("at 5 s: a stall"), "{words}");
    }

    #[test]
    fn a_single_point_is_a_dot_and_no_point_is_nothing() {
        let mut panel = panel();
        let key = Key::new(0, "sda");
        panel.line(&key, "sda", "thin", &[]);
        assert!(!panel.markup("said").contains("<path"));
        panel.line(&key, "sda", "thin", &[(1.0, 1e9)]);
        assert!(panel.markup("said").contains("class=\"dots w0\""));
    }

    #[test]
    fn long_names_keep_their_ends() {
        let long = "/srv/a/directory/with/a/very/long/name/for/one/legend/file.img";
        let name = Key::new(0, long).name;
        assert_eq!(name.chars().count(), key::NAME_CHARACTERS_MAX);
        assert!(name.ends_with("/legend/file.img") && name.contains('…'));
    }
}
