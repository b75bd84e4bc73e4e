//! Makes the tables of the page. Cells are plain text and are escaped here; a caller never writes
//! markup.

use super::escape;

/// A table whose first column names the row.
pub(super) struct Table {
    caption: &'static str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this head; an empty head is not drawn. The caption is for those who have the
    /// page read to them: it names what a heading near the table shows to others.
    pub(super) fn new(caption: &'static str, head: &[&str]) -> Self {
        Self {
            caption,
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of plain text.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Adds a name and its value.
    pub(super) fn pair(&mut self, name: &str, value: impl Into<String>) {
        self.rows.push(vec![name.to_owned(), value.into()]);
    }

    /// The markup; empty if there is no row.
    pub(super) fn markup(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let class = if self.head.is_empty() {
            "pairs"
        } else {
            "figures"
        };
        let mut markup = format!(
            "<div class=\"scroll\"><table class=\"{class}\">\n{}",
            caption(self.caption)
        );
        if !self.head.is_empty() {
            let cells = self
                .head
                .iter()
                .map(|cell| format!("<th scope=\"col\">{}</th>", escape::text(cell)));
            markup.push_str(&format!(
                "<thead><tr>{}</tr></thead>\n",
                cells.collect::<String>()
            ));
        }
        markup.push_str("<tbody>\n");
        for row in &self.rows {
            markup.push_str("<tr>");
            for (index, cell) in row.iter().enumerate() {
                let (tag, closing) = match index {
                    0 => ("th scope=\"row\"", "th"),
                    _ => ("td", "td"),
                };
                let cell = if self.head.is_empty() {
                    cell.clone()
                } else {
                    glued(cell)
                };
                markup.push_str(&format!("<{tag}>{}</{closing}>", escape::text(&cell)));
            }
            markup.push_str("</tr>\n");
        }
        markup.push_str("</tbody></table></div>\n");
        markup
    }
}

/// The name of a table, which the page does not show.
pub(super) fn caption(words: &str) -> String {
    format!("<caption>{}</caption>\n", escape::text(words))
}

/// Keeps a figure and its unit on one line: a narrow column may break elsewhere.
pub(super) fn glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len());
    let mut before = ' ';
    for character in text.chars() {
        let unit_follows = character == ' ' && before.is_ascii_digit();
        glued.push(if unit_follows { '\u{a0}' } else { character });
        before = character;
    }
    glued
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_units_and_cells_their_place() {
        let mut table = Table::new("A & b", &["<a>", "b"]);
        table.row(vec!["x & y".to_owned(), "18 GB at 3.00 GB/s".to_owned()]);
        let markup = table.markup();
        assert!(markup.contains("<caption>A &amp; b</caption>"), "{markup}");
        let head = "<th scope=\"col\">&lt;a&gt;</th><th scope=\"col\">b</th>";
        assert!(markup.contains(head), "{markup}");
        let row = "<tr><th scope=\"row\">x &amp; y</th>\
                   <td>18\u{a0}GB at 3.00\u{a0}GB/s</td></tr>";
        assert!(markup.contains(row), "{markup}");
        assert_eq!(Table::new("A", &["a"]).markup(), "");
    }
}
