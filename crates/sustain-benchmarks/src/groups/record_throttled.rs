//! Recording on four members of which one is slow: each is to give what it has, where a stripe
//! gives four times what the slowest has.

use std::path::Path;

use super::rows::{rate, rate_row, skipped};
use crate::group::Group;
use crate::pairs::Compared;
use crate::places::{LoopDevice, Throttle};
use crate::progress::progress;
use crate::setting::Setting;
use crate::source::{Pouring, Source};
use crate::table::{Goal, Row, Section};
use crate::tools::store_tool::{self, Recording};
use crate::tools::{Interface, Way, Work, sustain_tool};

const MEMBERS: usize = 4;
const DEVICE_BYTES: u64 = 512 << 20;
/// Low enough that neither CPU nor memory is what the devices share.
const FAST_BYTES_PER_S: u64 = 400_000_000;
const SLOW_BYTES_PER_S: u64 = FAST_BYTES_PER_S / 10;
const RATIO_MIN: f64 = 0.95;

pub(super) fn run(setting: &Setting) -> anyhow::Result<Section> {
    if let Some(why) = Throttle::refused() {
        return Ok(skipped(Group::RecordThrottled, &why));
    }
    let devices: Vec<LoopDevice> = (0..MEMBERS)
        .map(|_| LoopDevice::new(DEVICE_BYTES, &setting.interrupt))
        .collect::<Result<_, _>>()?;
    let throttle = Throttle::enter()?;
    for (index, device) in devices.iter().enumerate() {
        let limit = if index == 0 {
            SLOW_BYTES_PER_S
        } else {
            FAST_BYTES_PER_S
        };
        throttle.limit(device, limit)?;
    }
    let paths: Vec<&Path> = devices.iter().map(LoopDevice::path).collect();
    let source = Source::new(Pouring::Splice)?;
    let [mut recorded, mut sum, mut stripe] = [const { Vec::new() }; 3];
    for round in 0..setting.effort.cpu_rounds {
        // Each round in the other direction, so that a drift falls on all alike.
        let mut turns = [0, 1, 2];
        if !round.is_multiple_of(2) {
            turns.reverse();
        }
        for turn in turns {
            match turn {
                0 => recorded.push(record(&paths, &source, setting)?),
                1 => sum.push(measure(&paths, &[], setting)?),
                _ => stripe.push(measure(&paths, &["--layout", "stripe"], setting)?),
            }
        }
    }
    let compared = Compared::of(&recorded, &sum);
    let goal = Goal::AtLeast(RATIO_MIN);
    let against_sum = rate_row("the members' rates together".to_owned(), &compared, goal);
    let what = "a stripe over them, `--layout stripe`".to_owned();
    let against_stripe = Row::shown(what, &Compared::of(&recorded, &stripe), rate);
    progress(&against_stripe.line());
    Ok(Section {
        name: Group::RecordThrottled.name(),
        columns: ["", "sustain record", "sustain measure", "ratio [95 %]"],
        rows: vec![against_sum, against_stripe],
        notes: vec![format!(
            "Loop devices in memory, throttled to {} each, the slow one to {}.",
            rate(FAST_BYTES_PER_S as f64),
            rate(SLOW_BYTES_PER_S as f64)
        )],
    })
}

/// The rate by its own account, of what is on the members of the stream.
fn record(paths: &[&Path], source: &Source, setting: &Setting) -> anyhow::Result<f64> {
    // The measurements have overwritten it.
    store_tool::create(paths, &[], setting)?;
    let recording = Recording {
        members: paths,
        ring: true,
        buffer_bytes: None,
        time_s: Some(setting.effort.record_run_s),
    };
    let recorded = store_tool::record(recording, source, u64::MAX, setting)?;
    Ok(recorded.bytes as f64 / recorded.own_s)
}

/// The sum of the rates.
fn measure(paths: &[&Path], more: &[&str], setting: &Setting) -> anyhow::Result<f64> {
    let work = Work {
        path: paths[0],
        way: Way::Write,
        interface: Interface::IoUring,
        record_bytes: 1 << 20,
        depth: 8,
        size_bytes: DEVICE_BYTES,
        time_s: setting.effort.record_run_s,
    };
    let several = sustain_tool::run_with(&work, paths, more, setting)?;
    Ok(several.rates_bytes_per_s.iter().sum())
}
