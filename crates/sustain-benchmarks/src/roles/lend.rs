//! A recorder within the program that has the data, as a camera's would be: it fills buffers that
//! the library lends, and the bytes are never copied.

use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use sustain::disk::data::FreshData;
use sustain::host::Roots;
use sustain::record::store::{Mode, Store};
use sustain::record::{RecordOptions, Recorder};

/// Taken and filled with random bytes once, in every run: so it is as small as will do, four times
/// what is in flight.
const BUFFER_BYTES: u64 = 32 << 20;
const SEED: u64 = 7;

/// What came of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Lent {
    /// What the caller put into the buffers, and is recorded.
    pub(crate) bytes: u64,
    /// From the recorder's start to its last flush.
    pub(crate) seconds: f64,
}

/// Records new data for `time_s`, as fast as buffers are lent.
pub(super) fn lend(member: &str, time_s: u64, json: &Path) -> anyhow::Result<()> {
    let store = Store::open([member], Mode::Record, &Roots::default())?;
    let options = RecordOptions {
        buffer_bytes: BUFFER_BYTES,
        ring: true,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(store, ["main"], options)?;
    let mut writer = recorder.writer("main")?;
    let mut data = FreshData::new(SEED);
    let end = writer.clock().now() + time_s * 1_000_000_000;
    while writer.clock().now() < end {
        let Some(mut filling) = writer.lend() else {
            break;
        };
        let room_bytes = filling.room_bytes();
        refresh(&mut data, filling.spare_mut());
        filling.take(room_bytes, &[], writer.now_ns());
        writer.commit(filling);
    }
    drop(writer);
    let recorded = recorder.finish()?;
    let mut members = recorded.standing.members.iter();
    if let Some(why) = members.find_map(|member| member.error.as_ref()) {
        bail!("the member failed: {why}");
    }
    let lent = Lent {
        bytes: recorded.standing.streams[0].recorded_bytes,
        seconds: recorded.elapsed_ns as f64 / 1e9,
    };
    let text = serde_json::to_string(&lent)?;
    std::fs::write(json, text).with_context(|| format!("cannot write {}", json.display()))
}

/// Eight new bytes in each block, as `sustain measure` writes; of a buffer that is lent for the
/// first time, all.
fn refresh(data: &mut FreshData, bytes: &mut [u8]) {
    let is_new = bytes[8..16] == [0; 8];
    if is_new {
        data.fill(bytes);
    }
    data.stamp(bytes);
}
