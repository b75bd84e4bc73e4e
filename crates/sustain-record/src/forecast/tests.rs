use sustain_document::host::Host;
use sustain_document::profile::OutlierKind;
use sustain_document::profile::{
    CurveShape, ProfileOutlier, ProfilePlanUsed, ProfileZone, TogetherShape, TogetherZone,
};
use sustain_document::system::System;
use sustain_document::vocabulary::{DataPath, Direction, EngineChoice, ExperimentEnd, TargetKind};

use super::*;
use crate::recorder::LimitedBy;

const GB: u64 = 1_000_000_000;

/// The first half of 60 GB gives 60 MB/s, the second 30 MB/s.
fn target(name: &str) -> ProfileTarget {
    let zone = |from_byte, to_byte, rate_bytes_per_s| ProfileZone {
        from_byte,
        to_byte,
        rate_bytes_per_s,
        points: 10,
    };
    ProfileTarget {
        name: name.to_owned(),
        kind: TargetKind::BlockDevice,
        size_bytes: 60 * GB,
        direction: Direction::Write,
        shape: CurveShape::Zones,
        verdict: Vec::new(),
        mean_rate_bytes_per_s: Some(40e6),
        outer_rate_bytes_per_s: Some(60e6),
        inner_rate_bytes_per_s: Some(30e6),
        fall: Some(0.5),
        noise: 0.01,
        resolution: 0.01,
        zones: vec![zone(0, 30 * GB, 60e6), zone(30 * GB, 60 * GB, 30e6)],
        outliers: Vec::new(),
        points: Vec::new(),
        errors: Vec::new(),
        unseen_bytes_max: None,
        closer: None,
        held: Vec::new(),
    }
}

fn profile(targets: Vec<ProfileTarget>, size_bytes: Option<u64>) -> ProfileResult {
    let names: Vec<String> = targets.iter().map(|one| one.name.clone()).collect();
    ProfileResult {
        schema: "sustain.profile/1".to_owned(),
        plan: ProfilePlanUsed {
            sustain_version: String::new(),
            arguments: Vec::new(),
            started: None,
            targets: names.clone(),
            target_names: names,
            record_size_bytes: 1 << 20,
            depth: 8,
            engine: EngineChoice::Auto,
            engine_used: None,
            path: DataPath::Direct,
            budget_s: 120.0,
            elapsed_s: 120.0,
            sample_s: 0.5,
            threads: 1,
            size_bytes,
            seed: 0,
            simulated: false,
        },
        host: Host {
            description: None,
            devices: Vec::new(),
            file_systems: Vec::new(),
        },
        targets,
        together: Vec::new(),
        notes: Vec::new(),
        ended: ExperimentEnd::Done,
        system: System::default(),
    }
}

fn named(name: &str) -> ForecastMember<'_> {
    ForecastMember {
        name,
        capacity_bytes: None,
    }
}

fn no_alias(_: &str, _: &str) -> bool {
    false
}

fn forecast() -> Forecast {
    let profile = profile(vec![target("/dev/sdb")], None);
    Forecast::new(&profile, &[named("/dev/sdb")], &no_alias).unwrap()
}

fn member(name: &str, slots_end_bytes: u64, free_bytes: Option<u64>) -> MemberStanding {
    MemberStanding {
        name: name.to_owned(),
        bytes: 0,
        written_bytes: 0,
        state: MemberState::Active,
        rate_bytes_per_s: 0.0,
        free_bytes,
        slots_end_bytes,
        lost_bytes: 0,
        error: None,
    }
}

fn standing_of(members: Vec<MemberStanding>) -> RecordingProgress {
    RecordingProgress {
        time_s: 1.0,
        streams: Vec::new(),
        members,
        parities: 0,
        buffer_fill: 0.0,
        longest_write_ns: 0,
        is_longest_write_under_way: false,
        limited_by: LimitedBy::Source,
        others_bytes_per_s: None,
        marks: None,
        pins: None,
        recording: 1,
        begun_at: sustain_disk::clock::Timestamp(0),
        is_paused: false,
        flushes: 0,
        is_over: false,
    }
}

fn standing(free_bytes: Option<u64>) -> RecordingProgress {
    standing_of(vec![member("/dev/sdb", 60 * GB, free_bytes)])
}

#[track_caller]
fn assert_full_in(coming: Option<Coming>, expected_s: f64) {
    let found_s = coming.unwrap().full_in_s;
    assert!((found_s / expected_s - 1.0).abs() < 0.002, "{coming:?}");
}

#[test]
fn a_slow_source_fills_the_store_at_its_own_rate() {
    let coming = forecast().coming(&standing(Some(60 * GB)), 20e6, 1.0);
    assert_full_in(coming, 3000.0);
    assert_eq!(coming.unwrap().short, None);
}

#[test]
fn room_that_is_used_for_more_than_payload_is_gone_sooner_and_nobody_falls_short() {
    let coming = forecast().coming(&standing(Some(60 * GB)), 1e3, 16.0);
    assert_full_in(coming, 60e9 / 16e3);
    assert_eq!(coming.unwrap().short, None);
}

#[test]
fn a_source_that_is_faster_than_the_inner_zones_is_warned_of() {
    let coming = forecast().coming(&standing(Some(60 * GB)), 50e6, 1.0);
    // Half at 50 MB/s, half at 30 MB/s.
    assert_full_in(coming, 1600.0);
    let short = coming.unwrap().short.unwrap();
    assert!((short.in_s - 600.0).abs() < 1.0, "{short:?}");
    assert!((short.after_bytes / 30e9 - 1.0).abs() < 0.01, "{short:?}");
    assert!((short.least_bytes_per_s - 30e6).abs() < 1.0, "{short:?}");
    assert!((short.part_left - 0.5).abs() < 0.01, "{short:?}");
    // What is left lies in the inner zone.
    let coming = forecast().coming(&standing(Some(15 * GB)), 50e6, 1.0);
    assert_full_in(coming, 500.0);
    let short = coming.unwrap().short.unwrap();
    assert_eq!((short.in_s, short.after_bytes), (0.0, 0.0));
}

#[test]
fn a_ring_has_no_end_to_forecast() {
    assert_eq!(forecast().coming(&standing(None), 50e6, 1.0), None);
}

#[test]
fn a_store_that_is_smaller_than_the_profile_begins_where_it_begins() {
    // All of it lies in the outer half.
    let store = standing_of(vec![member("/dev/sdb", 20 * GB, Some(20 * GB))]);
    let coming = forecast().coming(&store, 100e6, 1.0);
    assert_full_in(coming, 20e9 / 60e6);
    assert_eq!(forecast().unprofiled(&store), []);
    let store = standing_of(vec![member("/dev/sdb", 40 * GB, Some(20 * GB))]);
    assert_full_in(forecast().coming(&store, 100e6, 1.0), 500.0);
}

#[test]
fn what_was_not_profiled_is_as_the_last_zone_and_is_said_to_be() {
    let store = standing_of(vec![member("/dev/sdb", 90 * GB, Some(90 * GB))]);
    assert_full_in(forecast().coming(&store, 100e6, 1.0), 500.0 + 2000.0);
    let beyond = Unprofiled {
        member: "/dev/sdb".to_owned(),
        profiled_bytes: 60 * GB,
        slots_end_bytes: 90 * GB,
    };
    assert_eq!(forecast().unprofiled(&store), [beyond]);
    assert_eq!(forecast().unprofiled(&standing(Some(60 * GB))), []);
}

#[test]
fn bad_spots_take_their_time() {
    let mut spotted = target("/dev/sdb");
    let outlier = |kind: OutlierKind, from_byte, rate| ProfileOutlier {
        from_byte,
        to_byte: from_byte + GB,
        kind,
        rate_bytes_per_s: rate,
        mean_rate_bytes_per_s: rate,
        zone_rate_bytes_per_s: Some(60e6),
        words: String::new(),
    };
    spotted.outliers = vec![
        outlier(OutlierKind::BadSpot, 10 * GB, Some(10e6)),
        outlier(OutlierKind::Disturbance, 20 * GB, Some(1e6)),
        outlier(OutlierKind::Error, 40 * GB, None),
    ];
    let profile = profile(vec![spotted], None);
    let forecast = Forecast::new(&profile, &[named("/dev/sdb")], &no_alias).unwrap();
    let coming = forecast.coming(&standing(Some(60 * GB)), 100e6, 1.0);
    assert_full_in(coming, 29e9 / 60e6 + 1e9 / 10e6 + 1000.0);
}

#[test]
fn members_are_full_together_as_long_as_the_source_lets_them() {
    let mut slow = target("/dev/sdc");
    for zone in &mut slow.zones {
        zone.rate_bytes_per_s /= 3.0;
    }
    let profile = profile(vec![target("/dev/sdb"), slow], None);
    let members = [named("/dev/sdb"), named("/dev/sdc")];
    let forecast = Forecast::new(&profile, &members, &no_alias).unwrap();
    let both = ["/dev/sdb", "/dev/sdc"];
    let store = both.map(|name| member(name, 60 * GB, Some(60 * GB)));
    let store = standing_of(store.to_vec());
    // Each takes 10 MB/s, as the slower one just can.
    assert_full_in(forecast.coming(&store, 20e6, 1.0), 6000.0);
    // Each goes at its own rate, and the slower one's last half alone.
    assert_full_in(forecast.coming(&store, 200e6, 1.0), 1500.0 + 3000.0);
}

#[test]
fn with_parity_a_fast_source_leaves_space_on_the_slower_member() {
    let names = ["/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde"];
    let mut targets = names.map(target);
    for zone in &mut targets[1].zones {
        zone.rate_bytes_per_s /= 3.0;
    }
    let profile = profile(targets.to_vec(), None);
    let forecast = Forecast::new(&profile, &names.map(named), &no_alias).unwrap();
    let store = names.map(|name| member(name, 60 * GB, Some(60 * GB)));
    let mut store = standing_of(store.to_vec());
    store.parities = 1;
    // Four appends for three of data: all take 6.7 MB/s, or each as much as it can.
    let space_per_byte = 4.0 / 3.0;
    assert_full_in(forecast.coming(&store, 20e6, space_per_byte), 9000.0);
    let coming = forecast.coming(&store, 500e6, space_per_byte);
    assert_full_in(coming, 1500.0);
    let short = coming.unwrap().short.unwrap();
    // At the end, 30 MB/s of each of three and 10 MB/s of one.
    assert!(
        (short.least_bytes_per_s / 75e6 - 1.0).abs() < 0.03,
        "{short:?}"
    );
    // A larger member, or a faster one, helps only as far as others take the rest.
    store.members.truncate(2);
    let forecast = Forecast::new(&profile, &[names[0], names[1]].map(named), &no_alias).unwrap();
    assert_full_in(forecast.coming(&store, 500e6, 2.0), 4500.0);
    store.members[0].free_bytes = Some(6 * GB);
    assert_full_in(forecast.coming(&store, 2e6, 2.0), 3000.0);
}

#[test]
fn what_all_give_at_once_counts_as_long_as_all_are_at_work() {
    let names = ["/dev/sdb", "/dev/sdc"];
    let mut profile = profile(names.map(target).to_vec(), None);
    profile.together = vec![ProfileTogether {
        direction: Direction::Write,
        targets: names.map(str::to_owned).to_vec(),
        shape: TogetherShape::Limit,
        verdict: Vec::new(),
        mean_rate_bytes_per_s: None,
        outer_rate_bytes_per_s: None,
        inner_rate_bytes_per_s: None,
        noise: 0.0,
        shared_limit: None,
        zones: vec![TogetherZone {
            from: 0.0,
            to: 1.0,
            rate_bytes_per_s: 48e6,
        }],
        points: Vec::new(),
        held: Vec::new(),
    }];
    let members = names.map(named);
    let forecast = Forecast::new(&profile, &members, &no_alias).unwrap();
    let store = standing_of(
        names
            .map(|name| member(name, 60 * GB, Some(60 * GB)))
            .to_vec(),
    );
    assert_full_in(forecast.coming(&store, 200e6, 1.0), 120e9 / 48e6);
}

#[test]
fn a_member_is_known_under_any_of_its_names() {
    let profile = profile(vec![target("/dev/sdb"), target("store/")], None);
    let is_same = |one: &str, other: &str| one.trim_end_matches('/') == other.trim_end_matches('/');
    let forecast = Forecast::new(&profile, &[named("store")], &is_same).unwrap();
    let in_directory = member("store/sustain.store", 20 * GB, Some(20 * GB));
    let coming = forecast.coming(&standing_of(vec![in_directory]), 100e6, 1.0);
    assert_full_in(coming, 20e9 / 60e6);
    let why = Forecast::new(&profile, &[named("other")], &is_same).unwrap_err();
    assert!(why.contains("no writing profile of other"), "{why}");
}

#[test]
fn a_profile_of_another_device_is_refused() {
    let of_size = |capacity_bytes, profiled| {
        let member = ForecastMember {
            name: "/dev/sdb",
            capacity_bytes: Some(capacity_bytes),
        };
        let profile = profile(vec![target("/dev/sdb")], profiled);
        Forecast::new(&profile, &[member], &no_alias).map(|_| ())
    };
    let why = of_size(80 * GB, None).unwrap_err();
    assert!(why.contains("so it is of another device"), "{why}");
    assert_eq!(
        of_size(60 * GB + 4096, None),
        Ok(()),
        "less than a record more"
    );
    assert_eq!(
        of_size(80 * GB, Some(60 * GB)),
        Ok(()),
        "a part of it was asked for"
    );
}
