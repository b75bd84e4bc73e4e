//! 64 targets at once: neither rate nor start-up nor memory may suffer from their number.

use std::path::Path;

use super::rows::rate;
use crate::group::Group;
use crate::pairs::Compared;
use crate::places::WrittenFile;
use crate::progress::progress;
use crate::setting::Setting;
use crate::statistics::Median;
use crate::table::{Goal, Row, Section, Verdict};
use crate::tools::{Interface, Way, Work, sustain_tool};

const TARGETS: usize = 64;
const FILE_BYTES: u64 = 64 << 20;
const RECORD_BYTES: u64 = 1 << 20;
const DEPTH: u32 = 8;
/// Targets in the sets, the largest last.
const SETS: [usize; 7] = [1, 2, 4, 8, 16, 32, TARGETS];
const RATIO_MIN: f64 = 0.98;
const START_UP_S_MAX: f64 = 2.0;
/// What the program may have besides its buffers.
const MEMORY_BESIDES_BYTES: u64 = 64 << 20;
const MIB: f64 = 1_048_576.0;

/// What was seen of one set, round by round.
#[derive(Debug, Clone, Default)]
struct Seen {
    rates_bytes_per_s: Vec<f64>,
    start_up_s: Vec<f64>,
    memory_bytes_max: u64,
}

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let files: Vec<WrittenFile> = (0..TARGETS)
        .map(|_| WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt))
        .collect::<Result<_, _>>()?;
    let paths: Vec<&Path> = files.iter().map(WrittenFile::path).collect();
    let mut seen = vec![Seen::default(); SETS.len()];
    for round in 0..setting.effort.set_rounds {
        // Each round in the other direction, so that a drift falls on all alike.
        let mut turns: Vec<usize> = (0..SETS.len()).collect();
        if !round.is_multiple_of(2) {
            turns.reverse();
        }
        for turn in turns {
            measure(&paths[..SETS[turn]], setting, &mut seen[turn])?;
        }
    }
    Ok(Section {
        name: Group::Many.name(),
        columns: ["", "64 targets", "best smaller set", "ratio [95 %]"],
        rows: rows(&seen),
        notes: vec![format!(
            "Files of 64 MiB, 1 MiB records, depth 8. Medians of sets of {}.",
            SETS.iter()
                .zip(&seen)
                .map(|(count, seen)| format!(
                    "{count}: {}",
                    rate(Median::of(&seen.rates_bytes_per_s).value)
                ))
                .collect::<Vec<_>>()
                .join(", ")
        )],
    })
}

fn measure(paths: &[&Path], setting: &Setting, seen: &mut Seen) -> anyhow::Result<()> {
    let work = Work {
        path: paths[0],
        way: Way::Write,
        interface: Interface::IoUring,
        record_bytes: RECORD_BYTES,
        depth: DEPTH,
        size_bytes: FILE_BYTES,
        time_s: setting.effort.run_s,
    };
    let several = sustain_tool::run_several(&work, paths, setting)?;
    seen.rates_bytes_per_s.push(several.done.rate_bytes_per_s);
    seen.start_up_s.push(several.start_up_s);
    let memory = several.done.used.memory_bytes_max;
    seen.memory_bytes_max = seen.memory_bytes_max.max(memory);
    Ok(())
}

fn rows(seen: &[Seen]) -> Vec<Row> {
    let (all, smaller) = seen.split_last().expect("there are several sets");
    // The set which is the hardest to keep up with.
    let hardest = smaller
        .iter()
        .map(|set| Compared::of(&all.rates_bytes_per_s, &set.rates_bytes_per_s))
        .min_by(|one, other| one.ratio.value.total_cmp(&other.ratio.value))
        .expect("there are smaller sets");
    let sum = Row::compared(
        "sum of the rates".to_owned(),
        &hardest,
        Goal::AtLeast(RATIO_MIN),
        rate,
    );
    let start_up = Median::of(&all.start_up_s);
    let start_up = Row {
        what: "start-up and end".to_owned(),
        ours: format!("{:.2} s", start_up.value),
        other: String::new(),
        ratio: String::new(),
        goal: format!("< {START_UP_S_MAX:.0} s"),
        verdict: Verdict::of(start_up.high < START_UP_S_MAX),
    };
    let buffers = u64::from(DEPTH) * RECORD_BYTES * TARGETS as u64;
    let allowed = buffers + MEMORY_BESIDES_BYTES;
    let memory = Row {
        what: "peak memory".to_owned(),
        ours: format!("{:.0} MiB", all.memory_bytes_max as f64 / MIB),
        other: String::new(),
        ratio: String::new(),
        goal: format!("<= {:.0} MiB", allowed as f64 / MIB),
        verdict: Verdict::of(all.memory_bytes_max <= allowed),
    };
    let rows = vec![sum, start_up, memory];
    rows.iter().for_each(|row| progress(&row.line()));
    rows
}
