//! Rates on a loop device that is throttled: what a program loses here is its own fault.

use super::rows::{AGAINST_FIO, compare_rates, rate_row, skipped};
use crate::group::Group;
use crate::places::{LoopDevice, Throttle};
use crate::setting::Setting;
use crate::table::{Goal, Section};
use crate::tools::fio::Mode;
use crate::tools::{Interface, Way, Work};

const DEVICE_BYTES: u64 = 1 << 30;
const LIMIT_BYTES_PER_S: u64 = 1_000_000_000;
/// Small enough for one request of the device however the memory lies. The kernel (6.18) counts a
/// request that it must split twice against the limit, and 1 MiB of small pages is such a one.
const RECORD_BYTES: u64 = 256 << 10;
const RATIO_MIN: f64 = 0.99;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    if let Some(why) = Throttle::refused() {
        return Ok(skipped(Group::Throttled, &why));
    }
    let device = LoopDevice::new(DEVICE_BYTES, &setting.interrupt)?;
    let throttle = Throttle::enter()?;
    throttle.limit(&device, LIMIT_BYTES_PER_S)?;
    let mut rows = Vec::new();
    for way in Way::BOTH {
        let work = Work {
            path: device.path(),
            way,
            interface: Interface::IoUring,
            record_bytes: RECORD_BYTES,
            depth: 8,
            size_bytes: DEVICE_BYTES,
            time_s: setting.effort.run_s,
        };
        let compared = compare_rates(&work, Mode::Plain, setting)?;
        rows.push(rate_row(work.label(), &compared, Goal::AtLeast(RATIO_MIN)));
    }
    Ok(Section {
        name: Group::Throttled.name(),
        columns: AGAINST_FIO,
        rows,
        notes: Vec::new(),
    })
}
