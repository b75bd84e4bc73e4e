//! Records streams on the members of a store, and reads them back.
//!
//! [`mod@format`] is the format of the members, byte by byte, as docs/format.md describes it.
//!
//! A pipe is recorded on a directory, in which a store is created:
//!
//! ```no_run
//! use sustain_host::Roots;
//! use sustain_record::run::{RecordPlan, SourcePlan, record};
//! use sustain_targets::Stop;
//!
//! let plan = RecordPlan::new(["store"], [SourcePlan::path("/dev/stdin", "main")]);
//! let result = record(&plan, &Roots::default(), &Stop::default(), &mut |_event| {})?;
//! assert!(result.is_some(), "only a dry run has none");
//! # Ok::<(), sustain_record::error::RecordError>(())
//! ```
//!
//! [`recorder::Recorder`] records what the caller fills itself.

#![forbid(unsafe_code)]

pub mod best_size;
pub mod document;
pub mod error;
pub mod forecast;
pub mod format;
pub mod hold_back_words;
pub mod member_io;
pub mod opening;
pub mod reading;
pub mod rebuilt;
pub mod recorder;
pub mod recover;
pub mod repair;
pub mod retire;
pub mod run;
pub mod scrub;
pub mod share_words;
pub mod source;
pub mod store;
mod time_text;
pub mod verdicts;
pub mod walk;
