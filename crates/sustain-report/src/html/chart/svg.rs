//! Makes a picture that is no chart, such as a tree, as SVG: shapes and words in pixels of the
//! page, coloured by classes of the style sheet. All text is escaped here; a caller never writes
//! markup. The page of diagnoses draws with it.

use std::fmt::Write as _;

use super::super::escape;

/// A picture under construction.
pub(in super::super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty picture of this size.
    pub(in super::super) fn new(width: f64, height: f64) -> Svg {
        Svg {
            width,
            height,
            body: String::new(),
        }
    }

    /// A box. Its title shows when the pointer rests on it, unless the title is empty.
    pub(in super::super) fn rect(
        &mut self,
        at: (f64, f64),
        size: (f64, f64),
        class: &str,
        title: &str,
    ) {
        let (width, height) = (size.0.max(0.0), size.1.max(0.0));
        let _ = write!(
            self.body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             class=\"{class}\"",
            at.0, at.1
        );
        self.end("rect", title);
    }

    /// A line through these points.
    pub(in super::super) fn line(&mut self, points: &[(f64, f64)], class: &str, title: &str) {
        self.body.push_str("<polyline points=\"");
        for (x, y) in points {
            let _ = write!(self.body, "{x:.1},{y:.1} ");
        }
        let _ = write!(self.body, "\" class=\"{class}\"");
        self.end("polyline", title);
    }

    /// Words that begin at this point; the class `end` lets them end there, `middle` centres them.
    pub(in super::super) fn text(&mut self, at: (f64, f64), class: &str, words: &str) {
        self.titled_text(at, class, words, "");
    }

    /// Words with a title that shows when the pointer rests on them.
    pub(in super::super) fn titled_text(
        &mut self,
        at: (f64, f64),
        class: &str,
        words: &str,
        title: &str,
    ) {
        let _ = write!(
            self.body,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"{class}\">",
            at.0, at.1
        );
        if !title.is_empty() {
            let _ = write!(self.body, "<title>{}</title>", escape::text(title));
        }
        let _ = writeln!(self.body, "{}</text>", escape::text(words));
    }

    fn end(&mut self, element: &str, title: &str) {
        if title.is_empty() {
            self.body.push_str("/>\n");
        } else {
            let _ = writeln!(
                self.body,
                "><title>{}</title></{element}>",
                escape::text(title)
            );
        }
    }

    /// The picture; `said` describes it for a reader who cannot see it.
    pub(in super::super) fn markup(&self, said: &str) -> String {
        format!(
            "<svg class=\"drawn\" role=\"img\" aria-label=\"{}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n{}</svg>\n",
            escape::text(said),
            self.body,
            width = self.width,
            height = self.height,
        )
    }
}

/// A text that is too long for its place, cut before its last characters.
pub(in super::super) fn cut(text: &str, characters_max: usize, last: usize) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= characters_max {
        return text.to_owned();
    }
    let first = characters_max.saturating_sub(last + 1);
    let last = characters.iter().skip(characters.len() - last);
    let cut = characters.iter().take(first);
    cut.chain(std::iter::once(&'…')).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_keeps_both_ends() {
        assert_eq!(cut("äöüäöü", 5, 2), "äö…öü");
        assert_eq!(cut("äöü", 5, 2), "äöü");
    }
}
