//! Draws the head of a section: the answer in one sentence, its figures large below, and the rest
//! of the answer in words. All reports begin with it.

use super::escape;
use super::table::glued;

/// How a figure stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is what it is.
    Plain,
    /// The answer is no: lost, failed, not held.
    Bad,
    /// It is not decided.
    Open,
}

/// The figures of an answer.
#[derive(Default)]
pub(super) struct Tiles {
    markup: String,
}

impl Tiles {
    /// Adds a figure and the words that say what it is.
    pub(super) fn add(&mut self, figure: &str, words: &str) {
        self.stand(Standing::Plain, figure, words);
    }

    /// Adds a figure that stands well or badly.
    pub(super) fn stand(&mut self, standing: Standing, figure: &str, words: &str) {
        self.tile(standing, figure, words, "");
    }

    /// Adds a part of a whole with a bar.
    pub(super) fn gauge(&mut self, part: f64, figure: &str, words: &str) {
        let percent = (part * 100.0).clamp(0.0, 100.0);
        let gauge = format!("<i class=\"gauge\" style=\"--part:{percent:.1}%\"></i>");
        self.tile(Standing::Plain, figure, words, &gauge);
    }

    fn tile(&mut self, standing: Standing, figure: &str, words: &str, picture: &str) {
        let class = match standing {
            Standing::Plain => "card",
            Standing::Bad => "card bad",
            Standing::Open => "card open",
        };
        self.markup.push_str(&format!(
            "<div class=\"{class}\"><b>{}</b><span>{}</span>{picture}</div>\n",
            escape::text(&figure.replace(' ', "\u{a0}")),
            escape::text(&glued(words))
        ));
    }

    pub(super) fn markup(&self) -> String {
        if self.markup.is_empty() {
            return String::new();
        }
        format!("<div class=\"cards\">\n{}</div>\n", self.markup)
    }
}

/// The answer: its first sentence as a headline, the figures, and what else it says.
pub(super) fn answer(standing: Standing, said: &str, tiles: &Tiles) -> String {
    let (first, rest) = first_sentence(said);
    let class = match standing {
        Standing::Plain => "answer",
        Standing::Bad => "answer bad",
        Standing::Open => "answer open",
    };
    let rest = if rest.is_empty() {
        String::new()
    } else {
        format!("<p>{}</p>\n", escape::text(&glued(rest)))
    };
    format!(
        "<p class=\"{class}\">{}</p>\n{}{rest}",
        escape::text(&glued(first)),
        tiles.markup()
    )
}

/// Divides a text after its first sentence. The next one may begin with the name of a disk, so a
/// small letter tells nothing: a full stop ends a sentence unless it is that of an abbreviation.
fn first_sentence(said: &str) -> (&str, &str) {
    let ends = said.match_indices(". ");
    let mut ends = ends.filter(|(at, _)| {
        let is_abbreviation = said[..*at].ends_with("e.g") || said[..*at].ends_with("i.e");
        let next = said[at + 2..].chars().next();
        next.is_some_and(|next| !is_abbreviation && !next.is_ascii_digit())
    });
    match ends.next() {
        Some((at, _)) => (&said[..=at], &said[at + 2..]),
        None => (said, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_is_one_sentence() {
        let said = "It takes 1.2 GB/s, e.g. at noon. Nothing was lost. 3 more.";
        let (first, rest) = first_sentence(said);
        assert_eq!(first, "It takes 1.2 GB/s, e.g. at noon.");
        assert_eq!(rest, "Nothing was lost. 3 more.");
        assert_eq!(first_sentence("Nothing."), ("Nothing.", ""));
        let (first, rest) = first_sentence("Two limits were found. sda, sdb share one of them.");
        assert_eq!(first, "Two limits were found.");
        assert_eq!(rest, "sda, sdb share one of them.");
    }

    #[test]
    fn a_no_is_red_and_what_is_not_decided_amber() {
        let mut tiles = Tiles::default();
        tiles.stand(Standing::Bad, "12 MB", "were <lost>");
        tiles.stand(Standing::Open, "?", "is not known");
        let markup = answer(Standing::Bad, "No. Lost.", &tiles);
        assert!(
            markup.contains("<p class=\"answer bad\">No.</p>"),
            "{markup}"
        );
        assert!(markup.contains("class=\"card bad\"><b>12\u{a0}MB</b><span>were &lt;lost&gt;<"));
        assert!(markup.contains("class=\"card open\""), "{markup}");
    }
}
