//! Recording through the library: checksums and the store's own blocks must cost no rate, and leave
//! the CPU to the one who has the data.

use super::disk::FILE_BYTES;
use super::rows::rate_row;
use crate::group::Group;
use crate::pairs::{Side, compare};
use crate::places::WrittenFile;
use crate::process;
use crate::progress::progress;
use crate::roles::{self, Lent};
use crate::setting::Setting;
use crate::statistics::Median;
use crate::table::{Goal, Row, Section};
use crate::tools::{Interface, Way, Work, store_tool, sustain_tool};

const RATIO_MIN: f64 = 0.97;
const CPU_S_PER_GB_MAX: f64 = 0.10;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    let work = Work {
        path: file.path(),
        way: Way::Write,
        interface: Interface::IoUring,
        record_bytes: 1 << 20,
        depth: 8,
        size_bytes: FILE_BYTES,
        time_s: setting.effort.library_run_s,
    };
    let compared = compare(setting.effort.library_pairs, |side| match side {
        Side::Ours => {
            let (lent, _) = record(&work, setting)?;
            Ok(lent.bytes as f64 / lent.seconds)
        }
        Side::Theirs => Ok(sustain_tool::run(&work, setting)?.rate_bytes_per_s),
    })?;
    let goal = Goal::AtLeast(RATIO_MIN);
    let rates = rate_row("1 MiB appends".to_owned(), &compared, goal);
    let longer = Work {
        time_s: setting.effort.cpu_large_run_s,
        ..work
    };
    let cpu = cpu_row(&longer, setting)?;
    Ok(Section {
        name: Group::RecordLibrary.name(),
        columns: ["", "Recorder", "sustain measure", "ratio [95 %]"],
        rows: vec![rates, cpu],
        notes: Vec::new(),
    })
}

/// Longer than the pairs: taking memory at the start costs the same CPU time whatever comes after.
fn cpu_row(work: &Work<'_>, setting: &Setting) -> anyhow::Result<Row> {
    let mut used_s_per_gb = Vec::new();
    for _ in 0..setting.effort.cpu_rounds {
        let (lent, cpu_s) = record(work, setting)?;
        used_s_per_gb.push(cpu_s / (lent.bytes as f64 / 1e9));
    }
    let cpu_s_per_gb = Median::of(&used_s_per_gb);
    let Median {
        value, low, high, ..
    } = cpu_s_per_gb;
    let row = Row::alone(
        &format!("CPU time of the whole process, {} s", work.time_s),
        format!("{value:.4} s/GB [{low:.4}, {high:.4}]"),
        format!("<= {CPU_S_PER_GB_MAX:.2} s/GB"),
        Goal::AtMost(CPU_S_PER_GB_MAX).judge(cpu_s_per_gb),
    );
    progress(&row.line());
    Ok(row)
}

/// Records in a process of its own; its CPU time is that of all its threads, start-up included.
fn record(work: &Work<'_>, setting: &Setting) -> anyhow::Result<(Lent, f64)> {
    // The measurement has overwritten it.
    store_tool::create(&[work.path], &[], setting)?;
    let json = setting.scratch().join("lent.json");
    let mut command = roles::command("lend")?;
    command.arg(work.path).arg("--json").arg(&json);
    command.args(["--time-s", &work.time_s.to_string()]);
    let used = process::run(&mut command, setting.scratch(), &setting.interrupt)?;
    let lent = serde_json::from_str(&std::fs::read_to_string(&json)?)?;
    Ok((lent, used.cpu_s))
}
