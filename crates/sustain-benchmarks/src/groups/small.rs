//! Small requests per second of CPU time, where the cost of a request is all that counts.

use std::path::Path;

use super::rows::AGAINST_FIO;
use crate::group::Group;
use crate::pairs::{Side, compare};
use crate::places::{self, LoopDevice, WrittenFile};
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Goal, Row, Section};
use crate::tools::fio::{self, Mode};
use crate::tools::{Interface, Way, Work, sustain_tool};

const SIZE_BYTES: u64 = 1 << 30;
const RECORDS_BYTES: [u64; 2] = [4 << 10, 64 << 10];
const DEPTH: u32 = 64;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let file = WrittenFile::new(&setting.directory, SIZE_BYTES, &setting.interrupt)?;
    place_rows("file", file.path(), setting, &mut rows)?;
    drop(file);
    if let Some(why) = places::refused() {
        notes.push(format!("No loop device in memory: {why}."));
    } else {
        let device = LoopDevice::new(SIZE_BYTES, &setting.interrupt)?;
        place_rows("loop device in memory", device.path(), setting, &mut rows)?;
    }
    Ok(Section {
        name: Group::Small.name(),
        columns: AGAINST_FIO,
        rows,
        notes,
    })
}

fn place_rows(
    place: &str,
    path: &Path,
    setting: &Setting,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    for record_bytes in RECORDS_BYTES {
        for way in Way::BOTH {
            let work = Work {
                path,
                way,
                interface: Interface::IoUring,
                record_bytes,
                depth: DEPTH,
                size_bytes: SIZE_BYTES,
                time_s: setting.effort.cpu_small_run_s,
            };
            let (mut our_rates, mut fio_rates) = (Vec::new(), Vec::new());
            let compared = compare(setting.effort.cpu_rounds, |side| {
                let (rates, done) = match side {
                    Side::Ours => (&mut our_rates, sustain_tool::run(&work, setting)?),
                    Side::Theirs => (&mut fio_rates, fio::run(&work, Mode::Batched, setting)?),
                };
                rates.push(done.rate_bytes_per_s);
                Ok(done.requests_per_cpu_s(record_bytes))
            })?;
            let figure = |value: f64| format!("{:.0} k/s", value / 1e3);
            let what = format!("{}, {place}", work.label());
            let row = Row::compared(what, &compared, Goal::AtLeast(1.0), figure);
            progress(&row.line());
            rows.push(row);
            let by_clock = crate::pairs::Compared::of(&our_rates, &fio_rates);
            progress(&format!(
                "    by the clock {}",
                crate::table::interval(by_clock.ratio)
            ));
        }
    }
    Ok(())
}
