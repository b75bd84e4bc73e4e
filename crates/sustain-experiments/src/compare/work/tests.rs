//! What is refused, difference by difference, and what is only said.

use sustain_document::measure::{Extents, MeasureResult};
use sustain_document::vocabulary::{DataKind, DataPath, Direction, LayoutKind, TargetKind};
use sustain_statistics::judge::series::SeriesNoise;

use super::super::sample::{noisy, run};
use super::*;

fn two_disks() -> MeasureResult {
    let mut noise = SeriesNoise::new(1);
    let mut disk = || noisy(&mut noise, 30, 2e8, 0.3);
    run(&[("/dev/sdb", disk()), ("/dev/sdc", disk())])
}

/// Why a run is not comparable with one that was changed like this.
fn refusal(change: impl Fn(&mut MeasureResult)) -> String {
    let a = two_disks();
    let mut b = a.clone();
    change(&mut b);
    let why = same_work(&a, &b).map(|_| ()).unwrap_err();
    assert!(why.is_usage());
    assert!(same_work(&b, &a).is_err(), "the other way round");
    why.to_string()
}

#[test]
fn each_difference_in_the_work_is_refused_by_name() {
    let said = |words: &str, change: fn(&mut MeasureResult)| {
        let why = refusal(change);
        assert!(why.contains(words), "no {words:?} in {why:?}");
    };
    said("direction: A write, B read", |run| {
        run.plan.direction = Direction::Read;
    });
    said("record size: A 1 MiB, B 2 MiB", |run| {
        run.plan.record_size_bytes = 2 << 20;
    });
    said("depth: A 8, B 4", |run| run.plan.depth = 4);
    said("layout: A independent, B stripe", |run| {
        run.plan.layout = LayoutKind::Stripe;
        run.plan.chunk_bytes = Some(1 << 20);
    });
    said("chunk: A none, B 64 KiB", |run| {
        run.plan.chunk_bytes = Some(64 << 10);
    });
    said(
        "paced rate: A none, as fast as possible, B 100 MB/s",
        |run| run.plan.rate_bytes_per_s = Some(1e8),
    );
    said("data: A fresh, B zero", |run| {
        run.plan.data = DataKind::Zero;
    });
    said("size: A by default, B 4 GiB", |run| {
        run.plan.size_bytes = Some(4 << 30);
    });
    said("start: A at the beginning, B 95 %", |run| {
        run.plan.at = Some("95 %".to_owned());
    });
    said("judged by a profile: A no, B p.json", |run| {
        run.plan.profile = Some("p.json".to_owned());
    });
    said("time: A real, B simulated", |run| run.plan.simulated = true);
    said("A has 2 targets, B one target", |run| {
        run.targets.truncate(1);
    });
    said("transferred no bytes on /dev/sdb", |run| {
        run.targets[0].bytes = 0;
    });
}

#[test]
fn another_order_of_the_targets_is_named_and_compared() {
    let in_order = |names: [usize; 2]| {
        let mut run = two_disks();
        run.plan.layout = LayoutKind::Turns;
        run.targets = names.map(|target| run.targets[target].clone()).to_vec();
        let names = run.targets.iter().map(|target| target.name.clone());
        run.plan.order = Some(names.collect());
        run
    };
    let (a, b) = (in_order([0, 1]), in_order([1, 0]));
    let pairing = same_work(&a, &b).unwrap();
    assert_eq!(pairing.pairs, [[0, 1], [1, 0]]);
    let notes = of_ways(&a, &b, &pairing.pairs);
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert!(note.contains("/dev/sdb,/dev/sdc"), "{note}");
    assert_eq!(of_ways(&a, &a, &[[0, 0], [1, 1]]), [""; 0]);
}

#[test]
fn other_ways_to_the_targets_are_named_and_compared() {
    let a = two_disks();
    let mut b = a.clone();
    b.plan.path = DataPath::Buffered;
    b.targets[1].kind = TargetKind::File;
    b.targets[0].extents = Some(Extents::Unwritten);
    let pairing = same_work(&a, &b).unwrap();
    let notes = of_ways(&a, &b, &pairing.pairs);
    insta::assert_snapshot!(notes.join("\n"), @"
    the I/O path differs: A direct, B buffered
    the state of the blocks of /dev/sdb differs: A unknown, B unwritten
    the kind of /dev/sdc differs: A block device, B file
    ");
    assert!(of_ways(&a, &a, &pairing.pairs).is_empty());
}

#[test]
fn all_differences_are_named_at_once() {
    let why = refusal(|run| {
        run.plan.depth = 1;
        run.plan.direction = Direction::Read;
    });
    assert!(
        why.contains("direction: ") && why.contains("; depth: "),
        "{why}"
    );
}

#[test]
fn zeros_or_not_does_not_matter_to_what_is_read() {
    let mut a = two_disks();
    a.plan.direction = Direction::Read;
    let mut b = a.clone();
    b.plan.data = DataKind::Zero;
    assert!(same_work(&a, &b).is_ok());
}

#[test]
fn targets_belong_together_by_name_and_else_by_place() {
    let a = two_disks();
    let mut b = a.clone();
    b.targets.reverse();
    let pairing = same_work(&a, &b).unwrap();
    assert_eq!(pairing.pairs, [[0, 1], [1, 0]]);
    assert_eq!(pairing.note, None);
    // Sizes are of targets, wherever these stand.
    b.targets[0].capacity_bytes = Some(1 << 40);
    let mut a_too = a.clone();
    a_too.targets[1].capacity_bytes = Some(1 << 40);
    assert_eq!(remarks(&a_too, &b, &pairing.pairs), [""; 0]);
    b.targets[0].name = "/dev/sdx".to_owned();
    let pairing = same_work(&a, &b).unwrap();
    assert_eq!(pairing.pairs, [[0, 0], [1, 1]]);
    let note = pairing.note.unwrap();
    assert!(note.contains("/dev/sdb with /dev/sdx"), "{note}");
}

#[test]
fn what_may_differ_is_said() {
    let a = two_disks();
    let mut b = a.clone();
    assert_eq!(remarks(&a, &b, &[]), [""; 0]);
    b.plan.engine_used = "threads".to_owned();
    b.plan.sustain_version = "0.2.0".to_owned();
    b.targets[0].capacity_bytes = Some(2 << 40);
    b.total.tool_limited = true;
    let notes = remarks(&a, &b, &[[0, 0], [1, 1]]).join("\n");
    for words in [
        "the engine differs: A io_uring, B threads",
        "the version of sustain differs",
        "the capacity of",
        "in B this program had no CPU time left",
    ] {
        assert!(notes.contains(words), "no {words:?} in {notes}");
    }
}
