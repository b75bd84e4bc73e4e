//! The memory that recording takes: its buffer, and little else.

use std::path::Path;

use sustain::disk::units::Size;

use super::rows::rate;
use crate::group::Group;
use crate::places::{LoopDevice, Throttle, WrittenFile};
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Row, Section, Verdict};
use crate::tools::store_tool::{self, Recording};

const BUFFERS_BYTES: [u64; 3] = [64 << 20, 512 << 20, 2 << 30];
/// What the program may have besides its buffer.
const BESIDES_BYTES: u64 = 64 << 20;
const FILE_BYTES: u64 = 4 << 30;
const DEVICE_BYTES: u64 = 1 << 30;
/// So slow that the pipe fills any buffer.
const LIMIT_BYTES_PER_S: u64 = 500_000_000;
const MIB: f64 = 1_048_576.0;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let source = Source::new(Pouring::Splice)?;
    let mut rows = Vec::new();
    let file = WrittenFile::new(&setting.directory, FILE_BYTES, &setting.interrupt)?;
    measure("file on the disk", file.path(), &source, setting, &mut rows)?;
    drop(file);
    let note = if let Some(why) = Throttle::refused() {
        format!("No device so slow that the buffer fills: {why}.")
    } else {
        let device = LoopDevice::new(DEVICE_BYTES, &setting.interrupt)?;
        let throttle = Throttle::enter()?;
        throttle.limit(&device, LIMIT_BYTES_PER_S)?;
        let what = "throttled device";
        measure(what, device.path(), &source, setting, &mut rows)?;
        format!(
            "The device is a loop device in memory, throttled to {}.",
            rate(LIMIT_BYTES_PER_S as f64)
        )
    };
    Ok(Section {
        name: Group::RecordMemory.name(),
        columns: ["", "peak memory", "buffer seen filled to", ""],
        rows,
        notes: vec![note],
    })
}

fn measure(
    what: &str,
    member: &Path,
    source: &Source,
    setting: &Setting,
    rows: &mut Vec<Row>,
) -> anyhow::Result<()> {
    store_tool::create(&[member], &[], setting)?;
    for buffer_bytes in BUFFERS_BYTES {
        let recording = Recording {
            members: &[member],
            ring: true,
            buffer_bytes: Some(buffer_bytes),
            time_s: Some(setting.effort.record_run_s),
        };
        let recorded = store_tool::record(recording, source, u64::MAX, setting)?;
        let allowed_bytes = buffer_bytes + BESIDES_BYTES;
        let memory_bytes = recorded.used.memory_bytes_max;
        let row = Row {
            what: format!("--buffer {}, {what}", Size(buffer_bytes)),
            ours: format!("{:.0} MiB", memory_bytes as f64 / MIB),
            other: format!("{:.0} %", 100.0 * recorded.buffer_fill_max),
            ratio: String::new(),
            goal: format!("<= {:.0} MiB", allowed_bytes as f64 / MIB),
            verdict: Verdict::of(memory_bytes <= allowed_bytes),
        };
        progress(&row.line());
        rows.push(row);
    }
    Ok(())
}
