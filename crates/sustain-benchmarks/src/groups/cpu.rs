//! CPU time of the whole process per GB written: what is left for the one who has data to record.

use super::disk::FILE_BYTES;
use super::rows::AGAINST_FIO;
use crate::group::Group;
use crate::pairs::Compared;
use crate::places::WrittenFile;
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Goal, Row, Section};
use crate::tools::fio::{self, Mode};
use crate::tools::{Interface, Way, Work, sustain_tool};

/// Against fio's default data, which is the same bytes over and over.
const RATIO_MAX: f64 = 1.0;
/// Against data that fio makes anew for each request; ours are new as well.
const RATIO_REFILL_MAX: f64 = 0.15;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    let work = Work {
        path: file.path(),
        way: Way::Write,
        interface: Interface::IoUring,
        record_bytes: 1 << 20,
        depth: 8,
        size_bytes: FILE_BYTES,
        time_s: setting.effort.cpu_large_run_s,
    };
    let [mut ours, mut plain, mut refill] = [const { Vec::new() }; 3];
    for round in 0..setting.effort.cpu_rounds {
        let mut turns = [0, 1, 2];
        if !round.is_multiple_of(2) {
            turns.reverse();
        }
        for turn in turns {
            let (figures, done) = match turn {
                0 => (&mut ours, sustain_tool::run(&work, setting)?),
                1 => (&mut plain, fio::run(&work, Mode::Plain, setting)?),
                _ => (&mut refill, fio::run(&work, Mode::Refill, setting)?),
            };
            figures.push(done.cpu_s_per_gb());
        }
    }
    let row = |what: &str, theirs: &[f64], goal: f64| {
        let compared = Compared::of(&ours, theirs);
        let figure = |value: f64| format!("{value:.4} s/GB");
        let row = Row::compared(what.to_owned(), &compared, Goal::AtMost(goal), figure);
        progress(&row.line());
        row
    };
    Ok(Section {
        name: Group::Cpu.name(),
        columns: AGAINST_FIO,
        rows: vec![
            row("new data against the same data", &plain, RATIO_MAX),
            row(
                "new data against `--refill_buffers`",
                &refill,
                RATIO_REFILL_MAX,
            ),
        ],
        notes: Vec::new(),
    })
}
