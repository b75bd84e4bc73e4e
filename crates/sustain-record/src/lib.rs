//! Records streams on the members of a store, and reads them back.
//!
//! [`mod@format`] is the format of the members, byte by byte, as docs/format.md describes it.

#![forbid(unsafe_code)]

pub mod document;
pub mod error;
pub mod forecast;
pub mod format;
pub mod member_io;
pub mod opening;
pub mod reading;
pub mod recorder;
pub mod run;
pub mod source;
pub mod store;
pub mod walk;
