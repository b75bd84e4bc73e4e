//! Shows results and live events to people and programs: as text in a terminal, as JSON documents,
//! and as HTML pages. The commands call this crate with a result or an event, and print or write
//! what it returns. It measures nothing, opens no file and reads no clock.

#![forbid(unsafe_code)]

mod dip_words;
mod effect_rows;
mod error;
mod format;
pub mod html;
mod limits;
mod rate_rows;
pub mod terminal;

pub use error::ReportError;
