//! A slow target beside three fast ones, which must not notice it.

use std::path::Path;

use super::rows::{rate_row, skipped};
use crate::group::Group;
use crate::pairs::{Side, compare};
use crate::places::{LoopDevice, Throttle};
use crate::setting::Setting;
use crate::table::{Goal, Section};
use crate::tools::{Interface, Way, Work, sustain_tool};

const FAST: usize = 3;
const DEVICE_BYTES: u64 = 512 << 20;
/// Low enough that neither CPU nor memory is what the devices share.
const FAST_BYTES_PER_S: u64 = 400_000_000;
const SLOW_BYTES_PER_S: u64 = FAST_BYTES_PER_S / 10;
const RATIO_MIN: f64 = 0.98;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    if let Some(why) = Throttle::refused() {
        return Ok(skipped(Group::Isolation, &why));
    }
    let devices: Vec<LoopDevice> = (0..=FAST)
        .map(|_| LoopDevice::new(DEVICE_BYTES, &setting.interrupt))
        .collect::<Result<_, _>>()?;
    let throttle = Throttle::enter()?;
    for (index, device) in devices.iter().enumerate() {
        let limit = if index < FAST {
            FAST_BYTES_PER_S
        } else {
            SLOW_BYTES_PER_S
        };
        throttle.limit(device, limit)?;
    }
    let paths: Vec<&Path> = devices.iter().map(LoopDevice::path).collect();
    let mut rows = Vec::new();
    for way in Way::BOTH {
        let work = Work {
            path: paths[0],
            way,
            interface: Interface::IoUring,
            record_bytes: 1 << 20,
            depth: 8,
            size_bytes: DEVICE_BYTES,
            time_s: setting.effort.run_s,
        };
        let compared = compare(setting.effort.pairs, |side| {
            let chosen = match side {
                Side::Ours => &paths[..],
                Side::Theirs => &paths[..FAST],
            };
            let several = sustain_tool::run_several(&work, chosen, setting)?;
            Ok(several.rates_bytes_per_s[..FAST].iter().sum())
        })?;
        let what = format!("{}, sum of the three", work.label());
        rows.push(rate_row(what, &compared, Goal::AtLeast(RATIO_MIN)));
    }
    Ok(Section {
        name: Group::Isolation.name(),
        columns: ["", "slow one beside", "three alone", "ratio [95 %]"],
        rows,
        notes: vec![
            "Loop devices in memory, throttled to 400 MB/s each, the slow one to 40 MB/s."
                .to_owned(),
        ],
    })
}
