//! Draws results and live events: terminal, JSON, HTML. The faces call it; it measures nothing,
//! opens nothing and reads no clock.

#![forbid(unsafe_code)]

mod effect_rows;
mod error;
mod format;
pub mod html;
pub mod json;
mod limits;
mod status;
pub mod terminal;

pub use error::ReportError;
