use super::device::STRETCHES_MAX;
use super::*;

const MB: u64 = 1_000_000;

fn at(second: u64) -> Timestamp {
    Timestamp(second * 1_000_000_000)
}

fn written(bytes: u64) -> MovedBytes {
    MovedBytes {
        read_bytes: 0,
        written_bytes: bytes,
    }
}

fn read(bytes: u64) -> MovedBytes {
    MovedBytes {
        read_bytes: bytes,
        written_bytes: 0,
    }
}

fn target(target: &str, device: &str) -> CountedTarget {
    CountedTarget {
        target: target.to_owned(),
        device: device.to_owned(),
    }
}

fn watch_of(targets: Vec<CountedTarget>) -> OthersWatch {
    OthersWatch::new(Counted {
        targets,
        beneath: Vec::new(),
    })
}

/// Sees one interval a second: what the disk saw, what was our own.
fn watched(intervals: &[(MovedBytes, MovedBytes)]) -> OthersWatch {
    let mut watch = watch_of(vec![target("/dev/sda1", "sda")]);
    for (second, (seen, own)) in intervals.iter().enumerate() {
        let second = second as u64;
        watch.step((at(second), at(second + 1)), *own, |_| *seen);
    }
    watch
}

fn found(intervals: &[(MovedBytes, MovedBytes)]) -> Vec<Others> {
    watched(intervals).finish(at(0))
}

#[test]
fn others_are_named_with_their_time_and_their_part() {
    let alone = (written(100 * MB), written(100 * MB));
    let shared = (written(100 * MB), written(10 * MB));
    let all = [[alone; 4], [shared; 4], [alone; 4]].concat();
    let found = found(&all);
    let [others] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(others.device, "sda");
    assert_eq!((others.from_s, others.to_s), (4.0, 8.0));
    assert_eq!((others.read_bytes, others.written_bytes), (0, 360 * MB));
    assert_eq!(others.rate_bytes_per_s, 90e6);
    assert_eq!(others.own_rate_bytes_per_s, 10e6);
    let words = others_words(&found).unwrap();
    let expected = "other programs wrote 90.0 MB/s on sda from 4 s to 8 s, beside the \
                    10.0 MB/s of this run itself";
    assert!(words.starts_with(expected), "{words}");
}

#[test]
fn readers_beside_a_writer_are_others() {
    let shared = MovedBytes {
        read_bytes: 50 * MB,
        written_bytes: 10 * MB,
    };
    let found = found(&[(shared, written(10 * MB)); 5]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].read_bytes, found[0].written_bytes), (250 * MB, 0));
    assert!(
        others_words(&found)
            .unwrap()
            .starts_with("other programs read 50.0")
    );
}

#[test]
fn own_bytes_that_reach_the_disk_later_are_no_others() {
    let into_memory = (written(0), written(400 * MB));
    let written_back = (written(100 * MB), written(0));
    let both = (written(100 * MB), written(MB));
    let all = [vec![into_memory; 2], vec![both; 4], vec![written_back; 4]].concat();
    assert_eq!(found(&all), []);
}

#[test]
fn others_beside_buffered_writes_show_once_all_of_our_own_has_been_seen() {
    let into_memory = (written(100 * MB), written(200 * MB));
    let rest = (written(100 * MB), written(MB));
    let found = found(&[vec![into_memory; 2], vec![rest; 8]].concat());
    assert_eq!(found.len(), 1, "{found:?}");
    // 1000 MB were seen and 408 were our own, of which two showed in the last own seconds.
    assert_eq!(found[0].written_bytes, 592 * MB);
}

#[test]
fn metadata_and_a_journal_are_our_own() {
    let metadata = (written(104 * MB), written(100 * MB));
    let commit = (written(4 * MB + 2 * MB), written(4 * MB));
    let quiet = (written(4 * MB), written(4 * MB));
    let commits = [commit, commit, quiet, quiet, quiet, quiet, quiet, quiet].repeat(4);
    assert_eq!(found(&[metadata; 20]), []);
    assert_eq!(found(&commits), []);
    // Less than a MB/s is nobody, however slow the disk.
    assert_eq!(found(&[(written(MB), written(MB / 10)); 20]), []);
}

#[test]
fn the_counters_may_lag_either_way_by_what_is_in_flight() {
    let swings = [(90, 100), (110, 100), (95, 100), (105, 100)];
    let swings = swings.map(|(seen, own)| (written(seen * MB), written(own * MB)));
    assert_eq!(found(&swings.repeat(5)), []);
}

#[test]
fn who_writes_in_bursts_is_one_and_who_comes_twice_are_two() {
    let alone = (written(10 * MB), written(10 * MB));
    let shared = (written(100 * MB), written(10 * MB));
    let bursts = [shared, alone, alone, alone, alone, shared].repeat(3);
    let count = |intervals: &[(MovedBytes, MovedBytes)]| found(intervals).len();
    assert_eq!(count(&bursts), 1);
    let twice = [[shared; 4], [alone; 4], [alone; 4], [shared; 4]].concat();
    assert_eq!(count(&twice), 2);
    assert_eq!(count(&[shared, shared, alone, alone]), 0);
    let words = others_words(&found(&twice)).unwrap();
    let expected = "other programs wrote 90.0 MB/s on sda at times between 0 s and 16 s";
    assert!(words.contains(expected), "{words}");
}

#[test]
fn while_we_do_nothing_others_are_not_in_our_way() {
    assert_eq!(found(&[(written(100 * MB), written(0)); 10]), []);
    let elsewhere = (read(0), read(100 * MB));
    assert_eq!(found(&[elsewhere; 10]), []);
}

#[test]
fn others_are_told_live_as_long_as_they_are_there() {
    let alone = (written(100 * MB), written(100 * MB));
    let shared = (written(100 * MB), written(10 * MB));
    let now = |intervals: &[(MovedBytes, MovedBytes)]| watched(intervals).rate_now_bytes_per_s();
    assert_eq!(now(&[shared; 2]), None);
    assert_eq!(now(&[shared; 3]), Some(90e6));
    assert_eq!(now(&[vec![shared; 5], vec![alone; 3]].concat()), None);
}

#[test]
fn stretches_are_bounded_and_none_is_lost() {
    let alone = (written(10 * MB), written(10 * MB));
    let shared = (written(100 * MB), written(10 * MB));
    let round = [vec![shared; 3], vec![alone; 7]].concat();
    let found = found(&round.repeat(100));
    assert_eq!(found.len(), STRETCHES_MAX);
    let bytes: u64 = found.iter().map(|one| one.written_bytes).sum();
    assert_eq!(bytes, 100 * 3 * 90 * MB);
    assert_eq!(found.last().unwrap().to_s, 993.0);
}

/// Two targets on disks of their own, each given so many MB a second, told a tenth of a second
/// late; what each disk saw, what went elsewhere.
fn two_disks(driven: [u64; 2], seen: [u64; 2], elsewhere: u64) -> Vec<Others> {
    let targets = [target("a", "sda"), target("b", "sdb")];
    let mut watch = watch_of(targets.to_vec());
    for second in 0..10 {
        for (name, rate) in ["a", "b"].into_iter().zip(driven) {
            let told = if second == 0 { rate * 9 / 10 } else { rate };
            watch.drove(name, Direction::Write, told * MB);
        }
        let own = written((driven[0] + driven[1] + elsewhere) * MB);
        let seen_by = |device: &str| written(seen[usize::from(device == "sdb")] * MB);
        watch.step((at(second), at(second + 1)), own, seen_by);
    }
    watch.finish(at(0))
}

#[test]
fn of_several_disks_that_which_others_use_is_named() {
    assert_eq!(two_disks([500, 500], [500, 500], 0), []);
    // 3 % of all that is moved, and 6 % of what this disk sees.
    let found = two_disks([500, 500], [500, 530], 0);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].device, "sdb");
    let both = two_disks([100, 100], [150, 190], 0);
    let words = others_words(&both).unwrap();
    let expected = "other programs wrote 49.0 MB/s on sda, 89.0 MB/s on sdb at times between 0 s \
                    and 10 s";
    assert!(words.starts_with(expected), "{words}");
    assert!(others_bytes_per_s(&both).unwrap() > 135e6);
}

#[test]
fn what_no_target_was_given_may_be_our_own_on_any_disk() {
    assert_eq!(two_disks([100, 100], [100, 150], 50), []);
    assert_eq!(two_disks([100, 100], [150, 100], 50), []);
    assert_eq!(two_disks([0, 0], [100, 100], 200), []);
    assert_eq!(two_disks([100, 100], [100, 190], 50).len(), 1);
}

#[test]
fn a_sample_from_before_the_run_is_no_negative_time() {
    let others = Others {
        device: "sda".to_owned(),
        from_s: -0.4,
        to_s: 4.0,
        read_bytes: 0,
        written_bytes: 40_000_000,
        rate_bytes_per_s: 1e7,
        own_rate_bytes_per_s: 5e7,
        is_beneath: false,
    };
    let deeds = others_deeds(std::slice::from_ref(&others)).unwrap();
    assert!(deeds.contains("from 0 s to 4 s"), "{deeds}");
    // What went through a loop device to a disk counts once; that of two disks adds up.
    let beneath = Others {
        device: "loop0".to_owned(),
        own_rate_bytes_per_s: 1e7,
        ..others.clone()
    };
    let both = |is_beneath| {
        let disk = Others {
            is_beneath,
            ..others.clone()
        };
        others_deeds(&[disk, beneath.clone()]).unwrap()
    };
    assert!(both(true).ends_with("beside the 10.0 MB/s of this run itself"));
    assert!(both(false).ends_with("beside the 60.0 MB/s of this run itself"));
}

#[test]
fn what_moves_while_the_run_rests_is_beside_no_load() {
    let prepared = (written(200 * MB), written(100 * MB));
    let probes = (written(30 * MB), written(MB));
    let shared = (written(600 * MB), written(500 * MB));
    let mut watch = watch_of(vec![target("/dev/sda1", "sda")]);
    let mut second = 0;
    let mut see = |watch: &mut OthersWatch, (seen, own): (MovedBytes, MovedBytes), seconds: u64| {
        for _ in 0..seconds {
            watch.step((at(second), at(second + 1)), own, |_| seen);
            second += 1;
        }
    };
    see(&mut watch, prepared, 4);
    watch.rest_begins();
    see(&mut watch, probes, 5);
    watch.rest_ends();
    see(&mut watch, shared, 5);
    watch.rest_begins();
    see(&mut watch, probes, 5);
    watch.rest_ends();
    let found = watch.finish(at(9));
    let [only] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((only.from_s, only.to_s), (0.0, 5.0));
    let deeds = others_deeds(&found).unwrap();
    assert!(
        deeds.contains("beside the 500 MB/s of this run itself"),
        "{deeds}"
    );
}

/// The same intervals of a run whose bytes go through memory, with a flush at its end.
fn found_through_memory(intervals: &[(MovedBytes, MovedBytes)]) -> Vec<Others> {
    let mut watch = watch_of(vec![target("/dev/sda1", "sda")]);
    watch.writes_through_memory();
    for (second, (seen, own)) in intervals.iter().enumerate() {
        let second = second as u64;
        watch.step((at(second), at(second + 1)), *own, |_| *seen);
    }
    watch.flushed();
    watch.finish(at(0))
}

/// Ten seconds in which we make 100 MB/s dirty; the disk takes 60 MB/s for ten seconds and then, in
/// a closing flush of one second, the rest of ours and of what others wrote.
fn through_memory(others: u64) -> Vec<(MovedBytes, MovedBytes)> {
    let mut intervals = vec![(written(60 * MB), written(100 * MB)); 10];
    intervals.push((written(400 * MB + others), written(0)));
    intervals
}

#[test]
fn others_beside_a_run_through_memory_show_in_its_sum() {
    let intervals = through_memory(300 * MB);
    assert_eq!(found(&intervals), [], "one interval is a journal's commit");
    let found = found_through_memory(&intervals);
    let [others] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((others.from_s, others.to_s), (0.0, 11.0));
    assert_eq!(others.written_bytes, 300 * MB);
}

#[test]
fn a_run_through_memory_that_is_alone_names_nobody() {
    assert_eq!(found_through_memory(&through_memory(0)), []);
    // A journal, and what was made dirty twice before it was written once.
    assert_eq!(found_through_memory(&through_memory(40 * MB)), []);
    let rewritten = [(written(50 * MB), written(100 * MB)); 10];
    assert_eq!(found_through_memory(&rewritten), []);
    // Two seconds tell nothing.
    assert_eq!(
        found_through_memory(&[(written(300 * MB), written(100 * MB)); 2]),
        []
    );
}

#[test]
fn others_that_were_found_by_the_second_are_not_told_twice() {
    let alone = (written(100 * MB), written(100 * MB));
    let shared = (written(200 * MB), written(100 * MB));
    let found = found_through_memory(&[[alone; 4], [shared; 4], [alone; 4]].concat());
    let [others] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((others.from_s, others.to_s), (4.0, 8.0));
}

/// A striped device over two disks that is given 100 MB/s, beside so many more that others write to
/// `sdb`. The kernel counts all of ours twice, and on this device so many times.
fn striped(device: &str, counted: u64, of_others: u64) -> Vec<Others> {
    let names = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
    let mut watch = OthersWatch::new(Counted {
        targets: vec![target("striped", device)],
        beneath: vec![Beneath {
            seen_on: names(&["sda", "sdb"]),
            own_on: names(&[device]),
        }],
    });
    for second in 0..10 {
        watch.drove("striped", Direction::Write, 100 * MB);
        let seen = |name: &str| match name {
            "sda" => written(50 * MB),
            "sdb" => written((50 + of_others) * MB),
            _ => written(100 * counted * MB),
        };
        watch.step((at(second), at(second + 1)), written(200 * MB), seen);
    }
    watch.finish(at(0))
}

#[test]
fn others_beneath_an_array_are_what_its_disks_saw_and_it_did_not_pass_down() {
    for (device, counted) in [("md0", 1), ("dm-0", 1), ("dm-0", 2)] {
        assert_eq!(striped(device, counted, 0), []);
        let found = striped(device, counted, 30);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].device, "sda, sdb");
        assert_eq!(found[0].written_bytes, 300 * MB);
    }
}

#[test]
fn others_on_a_volume_are_not_told_once_more_on_its_disk() {
    let names = |name: &str| vec![name.to_owned()];
    let mut watch = OthersWatch::new(Counted {
        targets: vec![target("mounted", "dm-0")],
        beneath: vec![Beneath {
            seen_on: names("sda"),
            own_on: names("dm-0"),
        }],
    });
    for second in 0..10 {
        watch.drove("mounted", Direction::Write, 100 * MB);
        // They write 20 MB/s to the volume, and it passes all on.
        let seen = |_: &str| written(120 * MB);
        watch.step((at(second), at(second + 1)), written(100 * MB), seen);
        if second > 5 {
            assert_eq!(watch.rate_now_bytes_per_s(), Some(20.0 * MB as f64));
        }
    }
    let found = watch.finish(at(0));
    assert_eq!(devices_of(&found), ["dm-0"], "{found:?}");
}

#[test]
fn a_little_reading_beside_much_writing_is_in_the_words_as_it_is_in_the_rate() {
    let said = |read_bytes: u64, written_bytes: u64| {
        let stretch = Others {
            device: "sda".to_owned(),
            from_s: 0.0,
            to_s: 10.0,
            read_bytes,
            written_bytes,
            rate_bytes_per_s: (read_bytes + written_bytes) as f64 / 10.0,
            own_rate_bytes_per_s: 50e6,
            is_beneath: false,
        };
        others_deeds(&[stretch]).unwrap()
    };
    let after = "from 0 s to 10 s, beside the 50.0 MB/s of this run itself";
    let moved = "other programs moved 110 MB/s on sda";
    assert_eq!(
        [
            said(100 * MB, 1000 * MB),
            said(1000 * MB, 100 * MB),
            said(500 * MB, 600 * MB),
            said(MB, 1099 * MB),
            said(1100 * MB, 0),
        ],
        [
            format!("{moved}, mostly writing, {after}"),
            format!("{moved}, mostly reading, {after}"),
            format!("{moved}, reading and writing, {after}"),
            format!("other programs wrote 110 MB/s on sda {after}"),
            format!("other programs read 110 MB/s on sda {after}"),
        ]
    );
}
