//! From a simulated disk to the forecast: the disk is profiled, a store is made on it, recorded to
//! until it is full, and what was forecast on the way is held against when that was.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod simulated_recording;

use sustain_disk::driver::Ending;
use sustain_disk::target::Direction;
use sustain_document::profile::ProfileResult;
use sustain_experiments::profile::{ProfilePlan, profile};
use sustain_host::Roots;
use sustain_load::Stop;
use sustain_record::forecast::{Forecast, ForecastMember, SpaceUse};
use sustain_record::recorder::{LimitedBy, RecordingProgress};

use simulated_recording::Recording;

/// Appends come whole, so over a second a source seems up to a fiftieth faster or slower than it
/// is.
const NEAR: f64 = 0.03;

/// A disk whose zones, of 8 MB each, give 3 MB/s and 0.4 MB/s less from one to the next.
fn disk(zones: u32) -> String {
    let inner = 3.0 - 0.4 * f64::from(zones - 1);
    let inner = match zones {
        1 => String::new(),
        _ => format!("inner_write = \"{inner:.1}MB/s\"\nzones = {zones}\n"),
    };
    let capacity = zones * 8;
    format!("[[disk]]\nname = \"hda\"\ncapacity = \"{capacity}MB\"\nwrite = \"3MB/s\"\n{inner}")
}

/// What a profile says of the first `size_bytes` of a disk with so many zones.
fn profiled(zones: u32, size_bytes: Option<u64>) -> ProfileResult {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("machine.toml");
    std::fs::write(&path, disk(zones)).unwrap();
    let mut plan = ProfilePlan {
        directions: vec![Direction::Write],
        budget_ns: 40_000_000_000,
        ..ProfilePlan::new([format!("sim:{}", path.display())])
    };
    plan.load.record_bytes = 16 << 10;
    plan.load.size_bytes = size_bytes;
    profile(&plan, &Roots::default(), &Stop::default(), &mut |_| {}).unwrap()
}

/// How a recording stood on a store on a disk with so many zones, until it was full.
fn recorded(zones: u32, rate_bytes_per_s: Option<f64>) -> Vec<RecordingProgress> {
    let recording = Recording {
        machine: disk(zones),
        rate_bytes_per_s,
        time_s: None,
        parities: 0,
        append_bytes: 64 << 10,
    };
    let (standings, ended) = recording.run();
    assert_eq!(ended, Some(Ending::Full));
    standings
}

/// Holds what is forecast on the way against the end, while there is anything to speak of left.
fn assert_forecast(profile: &ProfileResult, standings: &[RecordingProgress]) {
    let member = ForecastMember {
        name: "hda",
        capacity_bytes: None,
    };
    let forecast = Forecast::new(profile, &[member], &|_, _| false).unwrap();
    let end_s = standings.last().unwrap().time_s;
    let offered = |standing: &RecordingProgress| standing.streams[0].offered_bytes as f64;
    let mut looks = 0;
    let mut space = SpaceUse::default();
    for (index, now) in standings.iter().enumerate() {
        space.see(now);
        let before = standings[..index].iter();
        let Some(before) = before.rev().find(|one| now.time_s - one.time_s >= 1.0) else {
            continue;
        };
        if now.time_s > 0.8 * end_s {
            break;
        }
        let in_rate = (offered(now) - offered(before)) / (now.time_s - before.time_s);
        let space_per_byte = space.per_payload_byte();
        let coming = forecast.coming(now, in_rate, space_per_byte).unwrap();
        let full_at_s = now.time_s + coming.full_in_s;
        assert!(
            (full_at_s / end_s - 1.0).abs() < NEAR,
            "at {:.1} s: full at {full_at_s:.1} s is forecast, and it was at {end_s:.1} s",
            now.time_s
        );
        looks += 1;
    }
    assert!(looks >= 5, "{looks} forecasts");
}

#[test]
fn a_store_of_the_size_that_was_profiled_is_full_when_it_was_forecast_to_be() {
    assert_forecast(&profiled(5, None), &recorded(5, None));
}

#[test]
fn a_store_that_is_smaller_than_the_profile_is_full_when_it_was_forecast_to_be() {
    // The first two of five zones.
    assert_forecast(&profiled(5, None), &recorded(2, None));
}

#[test]
fn a_store_that_is_larger_than_the_profile_is_full_when_it_was_forecast_to_be() {
    // The first half of a zone was profiled, so all that lies behind is as that; the disk is so.
    assert_forecast(&profiled(1, Some(4_000_000)), &recorded(1, None));
    // The last zone is profiled in part.
    assert_forecast(&profiled(3, Some(20_000_000)), &recorded(3, None));
}

#[test]
fn a_source_with_a_rate_of_its_own_is_forecast_to_meet_the_inner_zones() {
    // Slower than the outer zones, faster than the inner ones.
    assert_forecast(&profiled(5, None), &recorded(5, Some(2.0e6)));
}

#[test]
fn data_waits_for_a_disk_only_where_the_disk_is_slower_than_its_source() {
    for (rate_bytes_per_s, waits) in [(Some(2.0e6), false), (None, true)] {
        let standings = recorded(1, rate_bytes_per_s);
        // At its start and its end a recording waits for its marks.
        let within = &standings[2..standings.len() - 2];
        let waiting = within
            .iter()
            .filter(|standing| standing.limited_by == LimitedBy::Members)
            .count();
        let all = if waits { within.len() } else { 0 };
        assert_eq!(waiting, all, "of {}", within.len());
    }
}
