//! The colours of a chart, and the entries of its legend.

use super::super::escape;
use super::super::table::glued;
use super::svg;

/// The number of colours of the style sheet, `w0` and on. Colour-blind people can tell them apart,
/// and they are legible on light and dark (after Okabe and Ito).
pub(in crate::html) const COLOURS: usize = 7;
/// The colour of the sum of all targets, and of lines that belong to no target.
pub(in crate::html) const NEUTRAL: &str = "free";
/// The colour of errors, messages and stalls.
pub(in crate::html) const ALARM: &str = "lost";
/// A longer name would fill the legend.
pub(super) const NAME_CHARACTERS_MAX: usize = 48;
/// The characters that are kept at the end of a name that is cut, where names differ most.
const NAME_LAST: usize = 30;

/// The class of the style sheet with the colour of the target with this index.
pub(in crate::html) fn colour(index: usize) -> String {
    format!("w{}", index % COLOURS)
}

/// One entry of a legend: a colour and the name of what has it.
#[derive(Debug, Clone)]
pub(in crate::html) struct Key {
    pub(in crate::html) name: String,
    /// The class of the style sheet with the colour.
    pub(in crate::html) ink: String,
    /// What the script shows and hides together.
    pub(super) number: usize,
}

impl Key {
    /// The entry of the target, stream or run with this index.
    pub(in crate::html) fn new(index: usize, name: &str) -> Key {
        let name = svg::cut(name, NAME_CHARACTERS_MAX, NAME_LAST);
        Key::coloured(index, &name, &colour(index))
    }

    /// An entry with a colour of its own.
    pub(in crate::html) fn coloured(number: usize, name: &str, ink: &str) -> Key {
        Key {
            name: name.to_owned(),
            ink: ink.to_owned(),
            number,
        }
    }
}

/// A colour or mark and its meaning.
pub(super) fn key_markup(key: &Key) -> String {
    format!(
        "<span data-key=\"{}\"><b class=\"swatch {}\"></b>{}</span> ",
        key.number,
        key.ink,
        escape::text(&glued(&key.name))
    )
}
