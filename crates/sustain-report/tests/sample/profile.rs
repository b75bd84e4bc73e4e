//! The profile of two disks that share a limit on their outer zone; one has a bad spot.

use sustain_document::profile::{
    CurveShape, OutlierKind, PROFILE_SCHEMA, ProfileOutlier, ProfilePlanUsed, ProfilePoint,
    ProfileResult, ProfileTarget, ProfileTogether, ProfileZone, SharedLimit, SharedLimitKind,
    TogetherPoint, TogetherShape, TogetherZone,
};
use sustain_document::vocabulary::TargetKind;
use sustain_document::vocabulary::{DataPath, Direction, EngineChoice, ExperimentEnd};

const SIZE_BYTES: u64 = 80_000_000_000;
const POINTS: u64 = 20;

pub fn shared() -> ProfileResult {
    let names = || vec!["hda".to_owned(), "hdb".to_owned()];
    ProfileResult {
        schema: PROFILE_SCHEMA.to_owned(),
        plan: ProfilePlanUsed {
            sustain_version: "0.1.0".to_owned(),
            arguments: vec!["profile".to_owned(), "hda".to_owned(), "hdb".to_owned()],
            started: None,
            targets: names(),
            target_names: names(),
            record_size_bytes: 1 << 20,
            depth: 8,
            engine: EngineChoice::Auto,
            engine_used: Some("io_uring".to_owned()),
            path: DataPath::Direct,
            budget_s: 120.0,
            elapsed_s: 118.0,
            sample_s: 0.2,
            threads: 1,
            size_bytes: None,
            seed: 0,
            simulated: false,
        },
        host: super::host(),
        targets: vec![target("hda", true), target("hdb", false)],
        together: vec![together(names())],
        notes: Vec::new(),
        ended: ExperimentEnd::Done,
        system: super::system(),
    }
}

fn rate(index: u64) -> f64 {
    if index < POINTS / 2 { 60e6 } else { 30e6 }
}

fn target(name: &str, is_spotted: bool) -> ProfileTarget {
    let zone = |index: u64| ProfileZone {
        from_byte: index * SIZE_BYTES / 2,
        to_byte: (index + 1) * SIZE_BYTES / 2,
        rate_bytes_per_s: rate(index * POINTS / 2),
        points: 10,
    };
    let point = |index: u64| {
        let is_bad = is_spotted && index == 5;
        let rate = if is_bad { 5e6 } else { rate(index) };
        ProfilePoint {
            offset_bytes: index * SIZE_BYTES / POINTS,
            bytes: 10_000_000,
            rates_bytes_per_s: vec![rate; 2],
            rate_bytes_per_s: Some(rate),
            flag: is_bad.then_some(OutlierKind::BadSpot),
        }
    };
    let spot = ProfileOutlier {
        from_byte: 18_000_000_000,
        to_byte: 22_000_000_000,
        kind: OutlierKind::BadSpot,
        rate_bytes_per_s: Some(5e6),
        mean_rate_bytes_per_s: Some(5e6),
        zone_rate_bytes_per_s: Some(60e6),
        words: "at 18.0 GB: a bad spot".to_owned(),
    };
    ProfileTarget {
        name: name.to_owned(),
        kind: TargetKind::BlockDevice,
        size_bytes: SIZE_BYTES,
        direction: Direction::Read,
        shape: CurveShape::Zones,
        verdict: vec!["reading all of it gets 40.0 MB/s on average".to_owned()],
        mean_rate_bytes_per_s: Some(40e6),
        outer_rate_bytes_per_s: Some(60e6),
        inner_rate_bytes_per_s: Some(30e6),
        fall: Some(0.5),
        noise: 0.002,
        resolution: 0.01,
        zones: (0..2).map(zone).collect(),
        outliers: if is_spotted { vec![spot] } else { Vec::new() },
        points: (0..POINTS).map(point).collect(),
        errors: Vec::new(),
        unseen_bytes_max: Some(640_000_000),
        closer: None,
        held: Vec::new(),
    }
}

fn together(targets: Vec<String>) -> ProfileTogether {
    let sum = |index: u64| (2.0 * rate(index)).min(90e6);
    let zone = |index: u64| TogetherZone {
        from: index as f64 / 2.0,
        to: (index + 1) as f64 / 2.0,
        rate_bytes_per_s: sum(index * POINTS / 2),
    };
    let point = |index: u64| TogetherPoint {
        position: index as f64 / POINTS as f64,
        sums_bytes_per_s: vec![sum(index); 2],
        rates_bytes_per_s: vec![sum(index) / 2.0; 2],
        alone_bytes_per_s: Some(2.0 * rate(index)),
    };
    ProfileTogether {
        direction: Direction::Read,
        targets,
        shape: TogetherShape::Limit,
        verdict: vec!["they share a limit of 90.0 MB/s".to_owned()],
        mean_rate_bytes_per_s: Some(72e6),
        outer_rate_bytes_per_s: Some(90e6),
        inner_rate_bytes_per_s: Some(60e6),
        noise: 0.002,
        shared_limit: Some(SharedLimit {
            kind: SharedLimitKind::Limit,
            rate_bytes_per_s: Some(90e6),
            binds_until: Some(0.5),
            loss: 0.25,
        }),
        zones: (0..2).map(zone).collect(),
        held: Vec::new(),
        points: (0..POINTS).map(point).collect(),
    }
}
