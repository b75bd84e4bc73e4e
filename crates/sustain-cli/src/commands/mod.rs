//! The commands, one file each. Only the code here prints.

mod begin;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod control;
pub(crate) mod create;
pub(crate) mod devices;
pub(crate) mod diagnose;
pub(crate) mod extract;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod mount;
mod output;
pub(crate) mod profile;
mod progress;
mod prose;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod repair;
pub(crate) mod report;
pub(crate) mod retire;
mod say;
pub(crate) mod scrub;
mod standard_streams;
mod status_file;
mod stores;
pub(crate) mod sweep;
pub(crate) mod unpin;
pub(crate) mod verify;

pub(crate) use say::say;
