//! Stores that are full, buffers that are full, and the bounds of a recording.

use std::io::{Read as _, Seek, Write as _};

use crate::MIB;
use crate::check::{assert_accounts, assert_reads_back};
use crate::members::{Made, Members, stream, whole};
use crate::running::Running;
use crate::support::{Place, json_of, ran};

const FAST: &[&str] = &[
    "--from",
    "test:80MB/s,frame=10kB..50kB",
    "--stream",
    "fast",
    "--frames",
    "lines",
    "--from",
    "test:20kB/s",
    "--stream",
    "slow",
    "--frames",
    "none",
];

#[test]
fn a_full_store_ends_the_recording_and_keeps_what_it_said() {
    std::thread::scope(|scope| {
        for made in [Made::Files, Made::Loops] {
            scope.spawn(move || fill(made));
        }
    });
}

fn fill(made: Made) {
    let Some(members) = Members::store(made, &[4 * MIB, 24 * MIB], "256KiB") else {
        return;
    };
    let result = members.record(1, &[FAST, &["--time", "60s"]].concat());
    assert_eq!(result["ended"], "full");
    assert_accounts(&result);
    for name in ["fast", "slow"] {
        assert_reads_back(&members, &result, name);
    }
    // Members of different size are full together. Twice a second the slow stream begins a slot in
    // which no append of the fast one has room, so the longer it takes, the less is used.
    let slots_begun = 2 * result["seconds"].as_f64().unwrap() as u64 + 1;
    let unused_bytes = slots_begun * (MIB / 4);
    for (member, size_bytes) in [(0, 4 * MIB), (1, 24 * MIB)] {
        let bytes = whole(&result["members"][member]["bytes"]);
        assert!(
            bytes + unused_bytes > size_bytes * 7 / 10,
            "{bytes} of {size_bytes} bytes are used"
        );
    }
    members.verify(0);
    let listed = members.list();
    assert_eq!(listed["recordings"][0]["ended"], "full");
    if whole(&stream(&result, "fast")["gap_bytes"]) > 0 {
        let of_fast = ["--stream", "fast", "-o", "fast.raw"];
        let extracted = members.run("extract", &of_fast).expect(1);
        extracted.says("never recorded, because the store was full");
    }
    let frames = whole(&listed["recordings"][0]["streams"][0]["frames"]);
    assert!(frames <= whole(&stream(&result, "fast")["frames"]));

    // There is no room for another one, and it harms nothing to try: what comes stays with its
    // source.
    let full = "is full, so nothing was read or recorded: use --ring to overwrite";
    let source = members.place.path("source");
    std::fs::write(&source, "of great value").unwrap();
    for drop in [&[][..], &["--on-full", "drop"]] {
        let mut command = members.command("record", &[&["--buffer", "4MiB"], drop].concat());
        let mut file = std::fs::File::open(&source).unwrap();
        command.stdin(file.try_clone().unwrap());
        let ran = Running::start(&mut command).finish().expect(2).says(full);
        assert!(ran.stdout.is_empty(), "{ran:#?}");
        assert_eq!(file.stream_position().unwrap(), 0, "{ran:#?}");
    }
    assert_eq!(members.list(), listed);
    let rehearsal = ["--buffer", "4MiB", "--from", "test:1MB/s", "--dry-run"];
    members.run("record", &rehearsal).expect(2).says(full);
    let ring = [&rehearsal[..], &["--ring"]].concat();
    let ran = members.run("record", &ring).expect(0);
    assert!(!ran.stderr.contains(full), "{ran:#?}");
    for name in ["fast", "slow"] {
        assert_reads_back(&members, &result, name);
    }
    // A ring has room again.
    let flags = ["--ring", "--from", "test:20MB/s", "--time", "500ms"];
    let ring = members.record(0, &flags);
    assert_eq!(ring["ended"], "time");
    let verified = members.verify(0);
    assert_eq!(verified["bad"].as_array().unwrap().len(), 0);
}

#[test]
fn what_is_dropped_is_counted_to_the_byte() {
    let members = Members::files(&[256 * MIB, 128 * MIB]);
    // One append to fill for each stream, and one on its way: that is never enough.
    let flags = [
        "--from",
        "test:8GB/s,frame=10kB..50kB",
        "--stream",
        "framed",
        "--frames",
        "lines",
        "--from",
        "test:8GB/s",
        "--stream",
        "plain",
        "--frames",
        "none",
        "--on-full",
        "drop",
        "--durable",
        "each",
        "--depth",
        "1",
        "--time",
        "100ms",
        "--buffer",
        "768KiB",
    ];
    let ran = members
        .run("record", &[&flags[..], &["--json", "-"]].concat())
        .expect(1);
    let result = crate::support::json_of(&ran.stdout);
    assert_eq!(result["ended"], "time");
    assert_accounts(&result);
    let verified = members.verify(0);
    for name in ["framed", "plain"] {
        let told = stream(&result, name);
        let gap_bytes = whole(&told["gap_bytes"]);
        assert!(gap_bytes > 0, "nothing was dropped: {told:#}");
        let checked = stream(&verified["recordings"][0], name);
        assert_eq!(whole(&checked["gap_bytes"]), gap_bytes);
        assert_eq!(
            whole(&checked["whole_bytes"]),
            whole(&told["recorded_bytes"])
        );
        assert_eq!(whole(&checked["bytes"]), whole(&told["offered_bytes"]));
        assert_eq!(whole(&told["settled_bytes"]), whole(&told["offered_bytes"]));
        assert_eq!(
            whole(&told["durable_bytes"]),
            whole(&told["recorded_bytes"])
        );
    }
}

#[test]
fn bytes_bound_each_stream_and_time_bounds_all() {
    std::thread::scope(|scope| {
        for bound in [["--bytes", "1000001B"], ["--time", "200ms"]] {
            scope.spawn(move || assert_bounded(bound));
        }
    });
}

#[track_caller]
fn assert_bounded(bound: [&str; 2]) {
    let members = Members::files(&[64 * MIB]);
    let fast = ["--from", "test:50MB/s", "--stream", "fast"];
    let slow = ["--from", "test:2MB/s", "--stream", "slow"];
    let result = members.record(0, &[&fast[..], &slow, &bound].concat());
    assert_eq!(result["ended"], bound[0].trim_start_matches('-'));
    // No append is larger than a slot.
    assert_eq!(whole(&result["plan"]["append_bytes"]), MIB / 4);
    for name in ["fast", "slow"] {
        assert_reads_back(&members, &result, name);
        let recorded_bytes = whole(&stream(&result, name)["recorded_bytes"]);
        match bound[0] {
            "--bytes" => assert_eq!(recorded_bytes, 1_000_001),
            _ => assert!(recorded_bytes > 0),
        }
    }
    members.verify(0);
}

/// What `create` says that one recording finds space for is what it takes, from a file and from a
/// pipe whose reader finds pieces of any length.
#[test]
fn a_store_takes_as_much_of_one_recording_as_create_said() {
    let sizes: [(&[&str], &str, &str); 4] = [
        (&["a"], "40MiB", "8MiB"),
        (&["a", "b"], "9MiB", "1MiB"),
        (&["a"], "5MiB", "256KiB"),
        (&["a"], "3MiB", "64KiB"),
    ];
    for (members, size, slot) in sizes {
        for is_pipe in [false, true] {
            let place = Place::new();
            let flags = [
                "--size",
                size,
                "--slot",
                slot,
                "--no-prewrite",
                "--json",
                "-",
            ];
            let created = place
                .run(&[&["create"], members, &flags].concat())
                .expect(0);
            let created = json_of(&created.stdout);
            let said_bytes = whole(&created["data_bytes"]);
            let of_members = created["members"].as_array().unwrap().iter();
            let sum_bytes: u64 = of_members.map(|member| whole(&member["data_bytes"])).sum();
            assert_eq!(said_bytes, sum_bytes);
            let source = std::fs::File::create_new(place.path("source")).unwrap();
            source.set_len(said_bytes + 4 * MIB).unwrap();
            let flags = [
                "--buffer",
                "4MiB",
                "--share",
                "fair",
                "--json",
                "result.json",
            ];
            let mut command = place.command(&[&["record"], members, &flags].concat());
            let source = std::fs::File::open(place.path("source")).unwrap();
            let feeding = match is_pipe {
                false => {
                    command.stdin(source);
                    None
                }
                true => {
                    let (from, to) = std::io::pipe().unwrap();
                    command.stdin(from);
                    Some(std::thread::spawn(move || feed(source, to)))
                }
            };
            ran(command.output().unwrap()).expect(1);
            drop(command);
            feeding.into_iter().for_each(|one| one.join().unwrap());
            let result = json_of(&place.read("result.json"));
            assert_eq!(result["ended"], "full");
            let took_bytes = whole(&result["streams"][0]["recorded_bytes"]);
            let least_bytes = took_bytes - took_bytes / 500;
            assert!(
                (least_bytes..=took_bytes).contains(&said_bytes),
                "{members:?} of {size}, slots of {slot}: said {said_bytes}, took {took_bytes}"
            );
        }
    }
}

/// Writes pieces of odd lengths, until nobody reads them any more.
fn feed(mut source: std::fs::File, mut to: std::io::PipeWriter) {
    let mut piece = vec![0; 70_001];
    while let Ok(count @ 1..) = source.read(&mut piece) {
        if to.write_all(&piece[..count]).is_err() {
            return;
        }
    }
}

/// The account of what found no place lies on one member, and has no parity any more.
#[test]
fn what_found_no_place_counts_as_never_recorded_without_any_one_member() {
    let members = Members::new(Made::Files, &[6 * MIB, 6 * MIB, 6 * MIB]).unwrap();
    let mut made = vec![
        "--parity",
        "1",
        "--same-disk",
        "--no-prewrite",
        "--slot",
        "256KiB",
    ];
    for name in &members.names {
        made.extend(["--destroy", name]);
    }
    members.run("create", &made).expect(0);
    let result = members.record(1, &[FAST, &["--time", "60s"]].concat());
    assert_eq!(result["ended"], "full");
    let lost_bytes = |document: &serde_json::Value, name: &str| {
        let stream = stream(document, name);
        (whole(&stream["gap_bytes"]), stream["hole_bytes"].as_u64())
    };
    let (fast_bytes, _) = lost_bytes(&result, "fast");
    assert!(fast_bytes > 0, "{result:#}");
    for gone in 0..members.names.len() {
        let mut left = members.names.clone();
        left.remove(gone);
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        let checked = members
            .place
            .run(&[&["verify", "--json", "-"], &left[..]].concat());
        let checked = json_of(&checked.stdout);
        let recording = &checked["recordings"][0];
        for name in ["fast", "slow"] {
            let (gap_bytes, _) = lost_bytes(&result, name);
            assert_eq!(
                lost_bytes(recording, name),
                (gap_bytes, Some(0)),
                "{name} without {gone}: {checked:#}"
            );
        }
    }
}
