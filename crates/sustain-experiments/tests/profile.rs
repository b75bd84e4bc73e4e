//! A profile from the machine file to the document: simulated disks whose rates at each position
//! are known, driven through the same phases as real ones.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

use sustain_disk::target::Direction;
use sustain_document::profile::{
    CurveShape, OutlierKind, ProfilePoint, ProfileResult, ProfileTarget, TogetherShape,
};
use sustain_document::vocabulary::ExperimentEnd;
use sustain_experiments::profile::{ProfileEvent, ProfilePlan, profile};
use sustain_host::Roots;
use sustain_load::Stop;

/// A machine in a file, and the plan of a profile of it.
struct Bench {
    directory: tempfile::TempDir,
    plan: ProfilePlan,
}

impl Bench {
    fn new(machine: &str) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("machine.toml");
        std::fs::write(&path, machine).unwrap();
        let target = format!("sim:{}", path.display());
        Bench {
            directory,
            plan: ProfilePlan {
                directions: vec![Direction::Read],
                ..ProfilePlan::new([target])
            },
        }
    }

    fn run(&self) -> ProfileResult {
        assert!(self.directory.path().exists());
        let roots = Roots::default();
        let result = profile(&self.plan, &roots, &Stop::default(), &mut |_| {}).unwrap();
        for target in &result.targets {
            eprintln!("{}: {:#?}", target.name, target.verdict);
        }
        for together in &result.together {
            eprintln!("{:#?} {:?}", together.verdict, together.shared_limit);
        }
        eprintln!("{:#?}", result.notes);
        result
    }

    fn only(&self) -> ProfileTarget {
        self.run().targets.remove(0)
    }
}

fn disk(name: &str, keys: &str) -> String {
    format!("[[disk]]\nname = \"{name}\"\ncapacity = \"80GB\"\n{keys}\n")
}

const FALLING: &str = "read = \"60MB/s\"\ninner_read = \"30MB/s\"\nzones = 7";

fn is_near(found: f64, wanted: f64, part: f64) -> bool {
    (found / wanted - 1.0).abs() < part
}

#[test]
fn zones_are_found_with_their_rates_and_edges() {
    let found = Bench::new(&disk("hda", FALLING)).only();
    assert_eq!((found.shape, found.zones.len()), (CurveShape::Zones, 7));
    for (index, zone) in found.zones.iter().enumerate() {
        let rate = 60e6 - 5e6 * index as f64;
        assert!(is_near(zone.rate_bytes_per_s, rate, 0.01), "{zone:?}");
        let edge = 80e9 / 7.0 * (index + 1) as f64;
        assert!((zone.to_byte as f64 - edge).abs() < 0.6e9, "{zone:?}");
    }
    // All bytes over all time.
    let time: f64 = (0..7)
        .map(|zone| 1.0 / (60e6 - 5e6 * f64::from(zone)) / 7.0)
        .sum();
    let mean = found.mean_rate_bytes_per_s.unwrap();
    assert!(is_near(mean, 1.0 / time, 0.01), "{mean}");
    assert!(is_near(found.inner_rate_bytes_per_s.unwrap(), 30e6, 0.01));
    assert!(is_near(found.outer_rate_bytes_per_s.unwrap(), 60e6, 0.01));
    assert!((found.fall.unwrap() - 0.5).abs() < 0.01);
    assert!(found.outliers.is_empty());
    let visits = found
        .points
        .iter()
        .map(|point| point.rates_bytes_per_s.len());
    assert_eq!(visits.min(), Some(2), "every position was visited twice");
}

#[test]
fn noise_hides_no_fall_and_makes_no_spots() {
    for noise in ["1%", "3%"] {
        let keys = format!("{FALLING}\nnoise = \"{noise}\"");
        let found = Bench::new(&disk("hda", &keys)).only();
        assert!(matches!(
            found.shape,
            CurveShape::Zones | CurveShape::Smooth
        ));
        assert!(found.outliers.is_empty(), "{:?}", found.outliers);
        let inner = found.inner_rate_bytes_per_s.unwrap();
        assert!(is_near(inner, 30e6, 0.08), "{noise}: {inner}");
    }
}

#[test]
fn a_disk_without_zones_is_flat_and_says_how_flat() {
    let found = Bench::new(&disk("ssd", "read = \"500MB/s\"\nnoise = \"2%\"")).only();
    assert_eq!((found.shape, found.zones.len()), (CurveShape::Flat, 1));
    assert!(found.resolution < 0.04, "{}", found.resolution);
    insta::assert_snapshot!(found.verdict.join("\n"), @"
    the rate is 498 MB/s at all positions sampled, to within 1.6 %; slow places shorter than 1.00 GB could lie between the samples
    to look closer, use the budget of 8m, which leaves at most about 96.4 MB between the samples
    ");
}

#[test]
fn a_bad_spot_is_marked_with_its_position_and_lowers_no_promise() {
    // Wide enough that a sample meets it.
    let slow = "slow = [{ at = \"20GB\", for = \"1200MB\", to = \"5MB/s\" }]";
    let found = Bench::new(&disk("hda", &format!("read = \"60MB/s\"\n{slow}"))).only();
    let spots: Vec<_> = found.outliers.iter().collect();
    assert_eq!(spots.len(), 1, "{spots:?}");
    assert_eq!(spots[0].kind, OutlierKind::BadSpot);
    assert!(spots[0].from_byte < 21_200_000_000 && spots[0].to_byte > 20_000_000_000);
    assert!(is_near(spots[0].rate_bytes_per_s.unwrap(), 5e6, 0.02));
    assert!(is_near(found.inner_rate_bytes_per_s.unwrap(), 60e6, 0.01));
}

#[test]
fn half_the_rate_is_called_a_missed_revolution() {
    let slow = "slow = [{ at = \"20GB\", for = \"1200MB\", to = \"30MB/s\" }]";
    let found = Bench::new(&disk("hda", &format!("read = \"60MB/s\"\n{slow}"))).only();
    assert_eq!(found.outliers.len(), 1, "{:?}", found.outliers);
    assert_eq!(found.outliers[0].kind, OutlierKind::MissedRevolutions);
    insta::assert_snapshot!(found.outliers[0].words, @"at 20.0 GB, about 1.21 GB wide: 30.0 MB/s at every visit, half of the zone's 60.0 MB/s: the disk misses revolutions there, as it does where it reads sectors again");
}

#[test]
fn a_passing_disturbance_is_no_bad_spot() {
    // A pause of most of a sample now and then.
    let keys = "read = \"60MB/s\"\nstall = { every = \"17s\", for = \"400ms\" }";
    let found = Bench::new(&disk("hda", keys)).only();
    assert!(!found.outliers.is_empty());
    for outlier in &found.outliers {
        assert_eq!(outlier.kind, OutlierKind::Disturbance, "{outlier:?}");
    }
    assert_eq!(found.shape, CurveShape::Flat);
    assert!(is_near(found.mean_rate_bytes_per_s.unwrap(), 60e6, 0.01));
    let decided = found
        .points
        .iter()
        .any(|point| point.rates_bytes_per_s.len() == 3);
    assert!(decided, "a third visit decides");
}

#[test]
fn a_disk_that_pauses_by_itself_has_no_bad_spots_and_no_zones() {
    for stall in [
        "every = \"7s\", for = \"300ms\"",
        "every = \"3s\", for = \"200ms\"",
        "every = \"1s\", for = \"100ms\"",
        "every = \"1s\", for = \"40ms\"",
    ] {
        let keys = format!("read = \"200MB/s\"\nnoise = \"0.5%\"\nstall = {{ {stall} }}");
        for seed in 0..4 {
            let mut bench = Bench::new(&disk("hda", &keys).replace("80GB", "500GB"));
            bench.plan.load.seed = seed;
            let found = bench.only();
            let spots: Vec<_> = found.bad_spots().collect();
            assert!(spots.is_empty(), "{stall}, seed {seed}: {spots:?}");
            assert_eq!(
                found.shape,
                CurveShape::Flat,
                "{stall}, seed {seed}: {:?}",
                found.zones
            );
        }
    }
}

#[test]
fn pauses_at_many_positions_are_told_in_one_sentence() {
    let stall = "stall = { every = \"7s\", for = \"300ms\" }";
    let keys = format!("read = \"200MB/s\"\nnoise = \"0.5%\"\n{stall}");
    let found = Bench::new(&disk("hda", &keys).replace("80GB", "500GB")).only();
    insta::assert_snapshot!(found.verdict.join("\n"), @"
    the rate is 189 MB/s at all positions sampled, to within 2.3 %; slow places shorter than 7.60 GB could lie between the samples
    a continuous 9.8 s run held only 189 MB/s, where short samples reached 200 MB/s; the rates given here are lowered to what it held. Either each sample begins faster than the disk can go on (a cache, or a throttle that gives credit back in pauses), or the disk paused, or something else used it, during that run
    12 of 100 positions were slow at times: either the disk stalls by itself, or something else uses it; the samples that were slowed down are not counted; at 2 of them the position itself may be slow: to know, repeat the profile while nothing else uses the disk, or with a longer budget
    to look closer, use the budget of 8m, which leaves at most about 3.62 GB between the samples
    ");
}

#[test]
fn bad_spots_are_found_on_a_disk_that_pauses() {
    let keys = "read = \"200MB/s\"\nnoise = \"0.5%\"\nstall = { every = \"7s\", for = \"300ms\" }\n\
                slow = [{ at = \"100GB\", for = \"12GB\", to = \"40MB/s\" }]";
    for seed in 0..6 {
        let mut bench = Bench::new(&disk("hda", keys).replace("80GB", "500GB"));
        bench.plan.load.seed = seed;
        let found = bench.only();
        let spots: Vec<_> = found.bad_spots().collect();
        assert_eq!(spots.len(), 1, "seed {seed}: {spots:?}");
        let at = (spots[0].from_byte, spots[0].to_byte);
        assert!(at.0 < 106_000_000_000 && at.1 > 106_000_000_000, "{at:?}");
        assert_eq!(
            found.shape,
            CurveShape::Flat,
            "seed {seed}: {:?}",
            found.zones
        );
        let visits = |point: &ProfilePoint| point.rates_bytes_per_s.len();
        let in_spot = found
            .points
            .iter()
            .filter(|one| (at.0..at.1).contains(&one.offset_bytes) && one.flag.is_some());
        assert!(
            in_spot.map(visits).max() >= Some(3),
            "slow twice asks for a third visit"
        );
    }
}

#[test]
fn samples_over_the_edge_between_two_zones_are_no_spots() {
    for (outer, inner) in [("200MB/s", "100MB/s"), ("100MB/s", "200MB/s")] {
        let keys = format!("read = \"{outer}\"\ninner_read = \"{inner}\"\nnoise = \"1%\"");
        for (zones, seed) in (2..8).flat_map(|zones| [(zones, 0), (zones, 1), (zones, 2)]) {
            let machine = disk("hda", &format!("{keys}\nzones = {zones}"));
            let mut bench = Bench::new(&machine.replace("80GB", "500GB"));
            bench.plan.load.seed = seed;
            let found = bench.only();
            assert_eq!(found.outliers, [], "{outer} {zones} zones, seed {seed}");
        }
    }
}

#[test]
fn a_run_without_a_break_that_fails_is_told_and_promises_nothing() {
    // Between two samples, in the middle of the slowest zone, where the rate is tried.
    let keys = format!("{FALLING}\nerror = {{ at = \"74300MB\", kind = \"eio\" }}");
    let result = Bench::new(&disk("hda", &keys)).run();
    let found = &result.targets[0];
    assert_eq!((found.held.len(), found.errors.len()), (1, 1), "{found:?}");
    insta::assert_snapshot!(result.notes.join("\n"), @"the rates were tried in runs of 7.8 s without a break; 1 of 2 rates was not tried in such a run and comes from short samples alone (read hda: it failed); a cache, or a burst allowance (such as the credits of a cloud disk), that lasts longer goes unnoticed: to see it, run `sustain measure` for as long as a recording takes");
}

#[test]
fn a_place_that_fails_is_told_and_the_rest_is_measured() {
    let keys = format!("{FALLING}\nerror = {{ at = \"0\", kind = \"eio\" }}");
    let result = Bench::new(&disk("hda", &keys)).run();
    let found = &result.targets[0];
    assert_eq!(found.outliers[0].kind, OutlierKind::Error);
    assert_eq!(found.outliers[0].from_byte, 0);
    assert_eq!(
        found.errors.len(),
        1,
        "once for a place: {:?}",
        found.errors
    );
    insta::assert_snapshot!(found.errors[0], @"read on hda at byte 0 failed: Input/output error (os error 5). The device could not do it: look at the kernel log (dmesg) and the disk's own error counters (smartctl -x) (at 2 visits of this position)");
    assert_eq!(found.zones.len(), 7);
    assert_eq!(result.ended, ExperimentEnd::Done);
}

fn two(channel: &str, more: &str) -> String {
    let keys =
        format!("read = \"35MB/s\"\ninner_read = \"20MB/s\"\n{more}\nthrough = [\"channel\"]");
    let limit = format!("[limit.channel]\nrate = \"{channel}\"\n");
    disk("hda", &keys) + &disk("hdb", &keys) + &limit
}

#[test]
fn a_shared_limit_binds_on_the_outer_zones_only() {
    let result = Bench::new(&two("55MB/s", "")).run();
    let found = &result.together[0];
    assert_eq!(found.shape, TogetherShape::Limit);
    let limit = found.shared_limit.as_ref().unwrap();
    assert!(
        is_near(limit.rate_bytes_per_s.unwrap(), 55e6, 0.02),
        "{limit:?}"
    );
    // Both need 55 MB/s halfway.
    let until = limit.binds_until.unwrap();
    assert!((0.35..0.55).contains(&until), "{until}");
    insta::assert_snapshot!(found.verdict.join("\n"), @"
    all targets at once reach 50.4 MB/s on average; every position reaches at least 40.0 MB/s
    they share a limit of 55.0 MB/s: together they do not get beyond it, while their rates alone add up to 63.2 MB/s
    it holds them on the first 48 % of their capacity; after that each target is as fast as alone (a loss below 1.0 % would not show), and the sum is 55.0 MB/s or less
    ");
    assert!(is_near(found.inner_rate_bytes_per_s.unwrap(), 40e6, 0.02));
    assert_eq!(result.targets.len(), 2);
    assert!(is_near(
        result.targets[0].outer_rate_bytes_per_s.unwrap(),
        35e6,
        0.01
    ));
}

#[test]
fn a_limit_that_never_binds_is_none() {
    let result = Bench::new(&two("90MB/s", "noise = \"1%\"")).run();
    assert_eq!(result.together[0].shape, TogetherShape::Free);
    insta::assert_snapshot!(result.together[0].verdict.join("\n"), @"all targets at once reach 53.4 MB/s on average, the sum of their rates alone, so they share no limit that costs 5.0 % or more");
    assert_eq!(result.together[0].shared_limit, None);
}

#[test]
fn the_bad_spot_of_one_disk_is_no_shared_limit() {
    let slow = "slow = [{ at = \"14GB\", for = \"2GB\", to = \"15MB/s\" }]";
    let one = "[[disk]]\nname = \"a\"\ncapacity = \"200GB\"\nread = \"150MB/s\"\n";
    let other = "[[disk]]\nname = \"b\"\ncapacity = \"200GB\"\nread = \"200MB/s\"\n\
                 inner_read = \"120MB/s\"\nzones = 8\n";
    let mut bench = Bench::new(&format!("{one}{slow}\n{other}"));
    bench.plan.budget_ns = 1_800_000_000_000;
    let result = bench.run();
    let together = &result.together[0];
    assert_eq!(together.shape, TogetherShape::Free);
    assert_eq!(together.shared_limit, None);
}

#[test]
fn what_a_bad_spot_does_not_reach_is_not_promised_at_every_position() {
    let z = "[[disk]]\nname = \"z\"\ncapacity = \"100GB\"\nread = \"200MB/s\"\n\
             inner_read = \"100MB/s\"\nzones = 5\nnoise = \"1%\"\nthrough = [\"c\"]\n\
             slow = [{ at = \"33GB\", for = \"2GB\", to = \"20MB/s\" }]\n";
    let y = "[[disk]]\nname = \"y\"\ncapacity = \"60GB\"\nread = \"150MB/s\"\n\
             inner_read = \"80MB/s\"\nzones = 3\nthrough = [\"c\"]\n";
    let mut bench = Bench::new(&format!("{z}{y}[limit.c]\nrate = \"270MB/s\"\n"));
    bench.plan.budget_ns = 1_800_000_000_000;
    let together = &bench.run().together[0];
    insta::assert_snapshot!(together.verdict[0], @"all targets at once reach 230 MB/s on average; every position outside the bad spots reaches at least 180 MB/s; in them as little as 135 MB/s was measured");
}

#[test]
fn disks_that_miss_revolutions_together_collapse_until_they_are_slow_enough() {
    // One drive alone falls smoothly; two on a channel that is too slow for both wait for whole
    // revolutions, until they need no more than it carries.
    let result = Bench::new(&two("60MB/s", "rpm = 7200")).run();
    let found = &result.together[0];
    assert_eq!(found.shape, TogetherShape::Collapse, "{:?}", found.verdict);
    let limit = found.shared_limit.as_ref().unwrap();
    assert!(limit.loss > 0.25, "{limit:?}");
    assert!(
        is_near(limit.rate_bytes_per_s.unwrap(), 60e6, 0.06),
        "{limit:?}"
    );
    assert!(
        (0.2..0.5).contains(&limit.binds_until.unwrap()),
        "{limit:?}"
    );
}

#[test]
fn both_directions_have_curves_of_their_own() {
    let keys = "read = \"60MB/s\"\ninner_read = \"30MB/s\"\nwrite = \"40MB/s\"\n\
                inner_write = \"40MB/s\"\ncache = \"32MB\"\ncache_rate = \"90MB/s\"";
    let mut bench = Bench::new(&disk("hda", keys));
    bench.plan.directions = vec![Direction::Write, Direction::Read];
    let result = bench.run();
    let of = |direction: Direction| {
        let mut targets = result.targets.iter();
        targets
            .find(|target| target.direction == direction)
            .unwrap()
    };
    assert_eq!(
        of(Direction::Write).shape,
        CurveShape::Flat,
        "the cache is flushed within the sample"
    );
    assert!(is_near(
        of(Direction::Write).mean_rate_bytes_per_s.unwrap(),
        40e6,
        0.05
    ));
    assert!(is_near(
        of(Direction::Read).inner_rate_bytes_per_s.unwrap(),
        30e6,
        0.02
    ));
}

#[test]
fn an_early_end_concludes_from_what_there_is() {
    let bench = Bench::new(&disk("hda", FALLING));
    let stop = Stop::default();
    let mut sampled = 0;
    let mut observer = |event: ProfileEvent| {
        if let ProfileEvent::Sampled(_) = event {
            sampled += 1;
            if sampled == 20 {
                stop.interrupt();
            }
        }
    };
    let result = profile(&bench.plan, &Roots::default(), &stop, &mut observer).unwrap();
    assert_eq!(result.ended, ExperimentEnd::Interrupted);
    let found = &result.targets[0];
    assert_eq!(found.points.len(), 20);
    assert!(is_near(found.outer_rate_bytes_per_s.unwrap(), 60e6, 0.1));
    assert!(is_near(found.inner_rate_bytes_per_s.unwrap(), 30e6, 0.2));
    insta::assert_snapshot!(result.notes.join("\n"), @"every position was visited only once, so a slow one may have been a passing disturbance");
}

#[test]
fn a_device_smaller_than_its_samples_is_refused_with_what_to_do() {
    let machine = "[[disk]]\nname = \"tiny\"\ncapacity = \"20MB\"\nread = \"10MB/s\"\n";
    let mut bench = Bench::new(machine);
    let roots = Roots::default();
    let why = profile(&bench.plan, &roots, &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(why.is_usage());
    insta::assert_snapshot!(why.to_string(), @"tiny has 19 MiB, and a profile needs at least 8 samples of 12 MiB: use a smaller record size or depth");
    bench.plan.load.record_bytes = 64 << 10;
    assert_eq!(bench.only().shape, CurveShape::Flat);
}

#[test]
fn the_budget_is_kept_whatever_the_size() {
    for capacity in ["1GB", "20TB"] {
        let machine = disk("hda", FALLING).replace("80GB", capacity);
        let mut bench = Bench::new(&machine);
        bench.plan.budget_ns = 30_000_000_000;
        let result = bench.run();
        let spent = result.plan.elapsed_s;
        assert!(spent <= 30.5, "{capacity}: {spent}");
        assert!(result.targets[0].zones.len() >= 6, "{capacity}");
    }
}

/// The cache is not flushed, as one with a battery is not; while other disks are sampled it drains.
const CACHED: &str = "write = \"40MB/s\"\ncache = \"64MB\"\ncache_rate = \"200MB/s\"\n\
                      volatile_cache = false";

#[test]
fn what_a_cache_takes_in_each_sample_is_not_promised() {
    let mut bench = Bench::new(&(disk("hda", CACHED) + &disk("hdb", CACHED)));
    bench.plan.directions = vec![Direction::Write];
    let result = bench.run();
    // The first disk is sampled just after both at once have filled its cache, the second after a
    // pause.
    let second = &result.targets[1];
    let sampled = second.points[9].rate_bytes_per_s.unwrap();
    assert!(sampled > 100e6, "samples show more than lasts: {sampled}");
    assert!(second.held[0].is_short, "{:?}", second.held);
    insta::assert_snapshot!(second.verdict.join("\n"), @"
    the rate is 40.0 MB/s at all positions sampled, to within 1.0 %; slow places shorter than 1.24 GB could lie between the samples
    a continuous 3.7 s run held only 40.0 MB/s, where short samples reached 200 MB/s; the rates given here are lowered to what it held. Either each sample begins faster than the disk can go on (a cache, or a throttle that gives credit back in pauses), or the disk paused, or something else used it, during that run
    to look closer, use the budget of 32m, which leaves at most about 380 MB between the samples
    ");
    for found in &result.targets {
        assert!(is_near(found.inner_rate_bytes_per_s.unwrap(), 40e6, 0.03));
        assert!(is_near(found.mean_rate_bytes_per_s.unwrap(), 40e6, 0.03));
    }
    let together = &result.together[0];
    assert!(is_near(
        together.inner_rate_bytes_per_s.unwrap(),
        80e6,
        0.03
    ));
}

#[test]
fn samples_that_hold_are_promised_as_they_are() {
    for keys in [FALLING, "read = \"60MB/s\"\nnoise = \"3%\""] {
        for seed in 0..2 {
            let mut bench = Bench::new(&(disk("hda", keys) + &disk("hdb", keys)));
            bench.plan.load.seed = seed;
            let result = bench.run();
            let together = result.together.iter().flat_map(|one| &one.held);
            let held: Vec<_> = result.targets.iter().flat_map(|one| &one.held).collect();
            assert!(held.len() >= 2, "{held:?}");
            let mut all = held.into_iter().chain(together);
            assert!(all.all(|run| !run.is_short), "seed {seed}");
        }
    }
}

#[test]
fn the_answer_says_what_it_could_have_missed_and_how_to_look_closer() {
    let machine =
        |slow: &str| disk("hda", &format!("read = \"100MB/s\"\n{slow}")).replace("80GB", "40GB");
    let even = Bench::new(&machine("")).only();
    let at = even.points[30].offset_bytes + even.points[30].bytes + 10_000_000;
    let slow = format!("slow = [{{ at = \"{at}\", for = \"150MB\", to = \"5MB/s\" }}]");
    let mut bench = Bench::new(&machine(&slow));
    let found = bench.only();
    assert_eq!(found.outliers, [], "it lies between two samples");
    let unseen = found.unseen_bytes_max.unwrap();
    let ends = found.points.windows(2).map(|pair| {
        // The first eighth of a sample does not count.
        pair[1].offset_bytes + pair[1].bytes / 8 - (pair[0].offset_bytes + pair[0].bytes)
    });
    assert_eq!(Some(unseen), ends.max());
    assert!(unseen > 150_000_000, "{unseen}");
    insta::assert_snapshot!(found.verdict.join("\n"), @"
    the rate is 100 MB/s at all positions sampled, to within 1.0 %; slow places shorter than 572 MB could lie between the samples
    to look closer, use the budget of 8m, which leaves at most about 198 MB between the samples
    ");
    let closer = found.closer.unwrap();
    bench.plan.budget_ns = (closer.budget_s * 1e9) as u64;
    let closest = bench.only().unseen_bytes_max.unwrap();
    let said = closer.unseen_bytes_max as f64;
    assert!(is_near(closest as f64, said, 0.15), "{closest} {said}");
}

#[test]
fn a_run_of_several_targets_lies_beside_the_bad_spots_of_each() {
    // The middle of each zone, where a run would lie, is in a bad spot of one of them.
    let slow = |at: &str| format!("slow = [{{ at = \"{at}\", for = \"2GB\", to = \"15MB/s\" }}]");
    let machine = |name: &str, at: &str| {
        disk(
            name,
            &format!("read = \"60MB/s\"\nthrough = [\"c\"]\n{}", slow(at)),
        )
    };
    let disks = machine("hda", "39GB") + &machine("hdb", "42GB");
    let result = Bench::new(&format!("{disks}[limit.c]\nrate = \"90MB/s\"\n")).run();
    let together = &result.together[0];
    assert!(!together.held.is_empty(), "{:?}", result.notes);
    assert!(
        together.held.iter().all(|run| !run.is_short),
        "{:?}",
        together.held
    );
    insta::assert_snapshot!(result.notes.join("\n"), @"the rates were tried in runs of 3.9 s without a break; a cache, or a burst allowance (such as the credits of a cloud disk), that lasts longer goes unnoticed: to see it, run `sustain measure` for as long as a recording takes");
}
