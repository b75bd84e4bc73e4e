//! Rates of large records on the file system of `--directory`.

use super::rows::{AGAINST_FIO, compare_rates, rate_row};
use crate::group::Group;
use crate::places::{self, HugePages, WrittenFile};
use crate::progress::progress;
use crate::setting::Setting;
use crate::table::{Goal, Row, Section};
use crate::tools::fio::Mode;
use crate::tools::{Interface, Way, Work};

pub(super) const FILE_BYTES: u64 = 4 << 30;
const RECORDS_BYTES: [u64; 2] = [1 << 20, 4 << 20];
const DEPTH: u32 = 8;
/// Huge pages of 2 MiB that hold fio's buffers of all requests in flight, and some to spare.
const HUGE_PAGES: u64 = 32;
/// What the interval of the ratio is to stay above.
const RATIO_MIN: f64 = 0.95;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    variant(&file, Interface::IoUring, Mode::Plain, setting, &mut rows)?;
    variant(&file, Interface::Libaio, Mode::Plain, setting, &mut rows)?;
    if let Some(why) = places::refused() {
        notes.push(format!("No comparison with fio in huge pages: {why}."));
    } else {
        let _pages = HugePages::keep(HUGE_PAGES)?;
        let mode = Mode::HugePages;
        variant(&file, Interface::IoUring, mode, setting, &mut rows)?;
    }
    notes.iter().for_each(|note| progress(note));
    Ok(Section {
        name: Group::Disk.name(),
        columns: AGAINST_FIO,
        rows,
        notes,
    })
}

fn variant(
    file: &WrittenFile,
    interface: Interface,
    mode: Mode,
    setting: &Setting,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    let huge = if mode == Mode::HugePages {
        ", fio in huge pages"
    } else {
        ""
    };
    for record_bytes in RECORDS_BYTES {
        for way in Way::BOTH {
            let work = Work {
                path: file.path(),
                way,
                interface,
                record_bytes,
                depth: DEPTH,
                size_bytes: FILE_BYTES,
                time_s: setting.effort.run_s,
            };
            let compared = compare_rates(&work, mode, setting)?;
            let what = format!("{}, {}{huge}", work.label(), interface.name());
            rows.push(rate_row(what, &compared, Goal::AtLeast(RATIO_MIN)));
        }
    }
    Ok(())
}
