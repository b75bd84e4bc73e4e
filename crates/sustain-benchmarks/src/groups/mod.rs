//! What is compared: one file per group, one group per table of docs/benchmarks.md.

mod cpu;
mod disk;
mod extract;
mod isolation;
mod many;
mod null_engine;
mod parity;
mod record_library;
mod record_memory;
mod record_parity;
mod record_start;
mod record_stdin;
mod record_throttled;
mod rows;
mod share;
mod small;
mod sweep;
mod throttled;

use crate::group::Group;
use crate::setting::Setting;
use crate::table::Section;

/// Runs the comparisons of a group.
pub(crate) fn run(group: Group, setting: &Setting) -> anyhow::Result<Section> {
    match group {
        Group::Disk => disk::run(setting),
        Group::Throttled => throttled::run(setting),
        Group::Cpu => cpu::run(setting),
        Group::Small => small::run(setting),
        Group::Many => many::run(setting),
        Group::Isolation => isolation::run(setting),
        Group::NullEngine => null_engine::run(setting),
        Group::Sweep => sweep::run(setting),
        Group::RecordStdin => record_stdin::run(setting),
        Group::RecordStart => record_start::run(setting),
        Group::RecordLibrary => record_library::run(setting),
        Group::RecordThrottled => record_throttled::run(setting),
        Group::RecordMemory => record_memory::run(setting),
        Group::Share => share::run(setting),
        Group::Extract => extract::run(setting),
        Group::RecordParity => record_parity::run(setting),
        Group::Parity => parity::run(setting),
    }
}
