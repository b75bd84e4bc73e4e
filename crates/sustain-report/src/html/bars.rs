//! Draws horizontal bars with their names and figures, as rows of the page: on a narrow screen the
//! words wrap, and nothing needs a script. The pages of diagnoses and recordings call it.

use super::escape;
use super::table::glued;

/// One bar, with an optional longer one behind it.
pub(super) struct Bar {
    pub(super) name: String,
    /// The name in full, where that is longer.
    pub(super) title: String,
    /// Whether the name is red.
    pub(super) is_alarming: bool,
    /// The figure of the grey bar behind, in the unit of `part`.
    pub(super) whole: Option<f64>,
    pub(super) part: f64,
    /// The class of the style sheet with the colour.
    pub(super) ink: String,
    /// The place of a mark across the bar.
    pub(super) fair: Option<f64>,
    /// The figures in words.
    pub(super) words: String,
}

/// A chart of bars.
pub(super) struct BarChart {
    /// The id, unique in the page; empty for none.
    pub(super) id: String,
    /// The heading as plain text; empty for none.
    pub(super) heading: String,
    /// The explanation below as plain text; empty for none.
    pub(super) caption: String,
    pub(super) bars: Vec<Bar>,
    /// The figure of the longest possible bar, where several charts have one scale.
    pub(super) most: Option<f64>,
}

impl BarChart {
    /// Bars without words around them.
    pub(super) fn plain(bars: Vec<Bar>, most: Option<f64>) -> BarChart {
        BarChart {
            id: String::new(),
            heading: String::new(),
            caption: String::new(),
            bars,
            most,
        }
    }

    /// The chart; empty without a bar.
    pub(super) fn markup(&self) -> String {
        if self.bars.is_empty() {
            return String::new();
        }
        let figures = self.bars.iter().flat_map(|bar| {
            let ends = [bar.whole, Some(bar.part), bar.fair];
            ends.into_iter().flatten()
        });
        let most = figures.chain(self.most).fold(f64::MIN_POSITIVE, f64::max);
        let rows: String = self.bars.iter().map(|bar| row(bar, most)).collect();
        let in_tag = |tag: &str, text: &str| match text {
            "" => String::new(),
            text => format!("<{tag}>{}</{tag}>\n", escape::text(text)),
        };
        let id = match self.id.as_str() {
            "" => String::new(),
            id => format!(" id=\"{}\"", escape::text(id)),
        };
        format!(
            "<figure class=\"chart\"{id}>{}<ul class=\"bars\">\n{rows}</ul>\n{}</figure>\n",
            in_tag("h3", &self.heading),
            in_tag("figcaption", &self.caption),
        )
    }
}

fn row(bar: &Bar, most: f64) -> String {
    let width = |figure: f64| (figure / most).clamp(0.0, 1.0) * 100.0;
    let whole = bar.whole.map_or_else(String::new, |whole| {
        format!(
            "<i class=\"alone\" style=\"width:{:.2}%\"></i>",
            width(whole)
        )
    });
    let fair = bar.fair.map_or_else(String::new, |fair| {
        format!("<i class=\"fair\" style=\"left:{:.2}%\"></i>", width(fair))
    });
    format!(
        "<li><span class=\"name{}\" title=\"{}\">{}</span><span class=\"track\">{whole}\
         <i class=\"got {}\" style=\"width:{:.2}%\"></i>{fair}</span><span>{}</span></li>\n",
        if bar.is_alarming { " alarming" } else { "" },
        escape::text(&bar.title),
        escape::text(&bar.name),
        bar.ink,
        width(bar.part),
        escape::text(&glued(&bar.words)),
    )
}
