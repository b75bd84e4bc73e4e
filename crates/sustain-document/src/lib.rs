//! The result documents of `sustain`: what every command writes with `--json`, as types. Measuring,
//! diagnosing and recording fill them; the reports draw them and nothing else; `sustain report`
//! reads them back. Every other crate may use this one, and it uses none of them.
//!
//! Field names end with their units. All times count from the start of the run, all rates are bytes
//! per second, and a byte range ends before its second number. A document carries its kind and
//! version in `schema`; [`reader`] refuses what it does not know.
#![forbid(unsafe_code)]

#[macro_use]
mod closed_set;

pub mod block_device;
pub mod chain;
pub mod compare;
pub mod control;
pub mod create;
pub mod devices;
pub mod diagnose;
pub mod dips;
pub mod effect;
pub mod extract;
pub mod frames;
pub mod hold_back;
pub mod host;
pub mod latency;
pub mod list;
pub mod matrix;
pub mod measure;
pub mod profile;
pub mod rates;
pub mod reader;
pub mod record;
pub mod recover;
pub mod repair;
pub mod retire;
pub mod revolutions;
pub mod scrub;
pub mod setting;
pub mod share;
pub mod status;
pub mod sweep;
pub mod system;
pub mod unpin;
pub mod verdicts;
pub mod verify;
pub mod vocabulary;
