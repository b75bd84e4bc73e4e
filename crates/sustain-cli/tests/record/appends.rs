//! Appends of other sizes than usual: all that is known of the usual ones holds for them, and what
//! slots have no space for is refused.

use rustix::process::Signal;

use crate::MIB;
use crate::check::assert_reads_back;
use crate::members::{Made, Members, SMALL, stream, whole};
use crate::support::{Place, json_of};

const KIB: u64 = 1024;

#[test]
fn appends_of_every_size_are_recorded_checked_and_read_back() {
    let sizes = [
        ("256KiB", 256 * KIB, "256KiB"),
        ("768KiB", 768 * KIB, "2MiB"),
        ("4MiB", 4 * MIB, "8MiB"),
        ("16MiB", 16 * MIB, "16MiB"),
    ];
    std::thread::scope(|scope| {
        for (size, bytes, slot) in sizes {
            for mode in [&[][..], &["--ring"]] {
                scope.spawn(move || assert_appends(size, bytes, slot, mode));
            }
        }
    });
}

#[track_caller]
fn assert_appends(size: &str, bytes: u64, slot: &str, mode: &[&str]) {
    let sizes_bytes = [100 * MIB, 150 * MIB];
    let members = Members::store(Made::Files, &sizes_bytes, slot).unwrap();
    let fast = ["--from", "test:4GB/s,frame=1MB..5MB", "--stream", "fast"];
    let slow = ["--from", "test:100kB/s", "--stream", "slow"];
    let framings = ["--frames", "length-prefixed", "--frames", "none"];
    // A ring goes round, and a store without one does not become full.
    let (bound, bound_bytes) = match mode.is_empty() {
        true => ("60MB", 60_000_000),
        false => ("300MB", 300_000_000),
    };
    let flags = ["--append-size", size, "--buffer", "64MiB", "--json", "-"];
    let bounds = ["--bytes", bound, "--status", "status"];
    let all = [&fast[..], &slow, &framings, &flags, &bounds, mode].concat();
    let mut running = members.start("record", &all);
    // The slow stream would go on for minutes until it has as many.
    let status = members.place.path("status");
    assert!(running.becomes(|| {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let last = lines.lines().last().map(json_of);
        last.is_some_and(|line| whole(&stream(&line, "fast")["settled_bytes"]) >= bound_bytes)
    }));
    running.signal(Signal::INT);
    let result = json_of(&running.finish().expect(0).stdout);
    assert_eq!(whole(&result["plan"]["append_bytes"]), bytes);
    assert_eq!(whole(&stream(&result, "fast")["gap_bytes"]), 0);
    members.verify(0);
    if mode.is_empty() {
        for name in ["fast", "slow"] {
            assert_reads_back(&members, &result, name);
        }
    }
}

#[test]
fn appends_that_slots_have_no_space_for_are_refused_with_what_to_do() {
    let members = Members::files(&[16 * MIB]);
    let before = std::fs::read(&members.images[0]).unwrap();
    let source = ["--from", "test:1MB/s", "--time", "100ms"];
    let refusals: &[(&[&str], &str)] = &[
        (
            &["--append-size", "4MiB"],
            "--append-size 4 MiB is more than a slot of this store, which has 256 KiB: use at most \
             --append-size 256 KiB, or create the store anew with `sustain create --slot 4 MiB`",
        ),
        (&["--append-size", "17MiB"], "17 MiB is not such a size"),
        (&["--append-size", "128KiB"], "from 256KiB to 16MiB"),
        (&["--append-size", "300kB"], "whole blocks of 4KiB"),
        (
            &["--append-size", "256KiB", "--buffer", "500KiB"],
            "--buffer must be at least 512 KiB for these streams: an append of 256 KiB for each",
        ),
        (
            &["--append-size", "256KiB", "--sweep", "sweep.json"],
            "cannot be used with",
        ),
    ];
    for (flags, words) in refusals {
        let ran = members.run("record", &[&source[..], flags].concat());
        ran.expect(2).says(words);
    }
    // What would be refused is refused in a rehearsal, too.
    let rehearsal = [SMALL, &source, &["--append-size", "4MiB", "--dry-run"]].concat();
    members.run("record", &rehearsal).expect(2);
    assert!(std::fs::read(&members.images[0]).unwrap() == before);
}

#[test]
fn a_ring_of_two_slots_refuses_more_than_half_a_slot() {
    let members = Members::store(Made::Files, &[3_407_872], "1MiB").unwrap();
    let flags = ["--ring", "--from", "test:1MB/s", "--time", "100ms"];
    let asked = |size| [SMALL, &flags, &["--append-size", size]].concat();
    let words = "at most --append-size 512 KiB";
    members
        .run("record", &asked("1MiB"))
        .expect(2)
        .says("half a slot of 1 MiB")
        .says(words);
    members.run("record", &asked("512KiB")).expect(0);
}

#[test]
fn a_store_that_is_made_for_a_recording_has_slots_for_its_appends() {
    for (size, slot_bytes) in [("1MiB", 8 * MIB), ("8MiB", 16 * MIB), ("16MiB", 16 * MIB)] {
        let place = Place::new();
        std::fs::create_dir(place.path("store")).unwrap();
        let source = ["--from", "test:4GB/s", "--bytes", "40MB"];
        let flags = ["--append-size", size, "--size", "160MiB"];
        let all = [&["record", "store"], &source[..], &flags].concat();
        let rehearsed = place.run(&[&all[..], &["--dry-run"]].concat()).expect(0);
        let shown = size.replace("MiB", " MiB");
        let slot = slot_bytes / MIB;
        let words = format!("would write appends of up to {shown} into slots of {slot} MiB");
        rehearsed.says(&words);
        place.run(&all).expect(0);
        let listed = place.run(&["verify", "store"]).expect(0);
        assert!(listed.stdout.contains("40.0 MB"), "{listed:#?}");
        let image = std::fs::read(place.path("store/sustain.store")).unwrap();
        let told: [u8; 4] = image[28..32].try_into().unwrap();
        assert_eq!(u64::from(u32::from_le_bytes(told)), slot_bytes, "{size}");
    }
}

/// A sweep of simulated disks, as if it had measured the member.
fn sweep_of(members: &Members, record_sizes: &str) {
    let machine = "[[disk]]\nname = \"disk\"\ncapacity = \"10GB\"\nwrite = \"100MB/s\"\n\
                   request = \"40ms\"\n";
    members.place.write("disk.toml", machine);
    let flags = ["--record-size", record_sizes, "--depth", "1", "--json"];
    let runs = ["sweep.json", "--time-per-point", "5s", "--rounds", "3"];
    let all = [&["sweep", "sim:disk.toml", "--write"], &flags[..], &runs].concat();
    members.place.run(&all).expect(0);
    let text = members.place.read("sweep.json");
    let named = text.replace("\"disk\"", &format!("{:?}", members.names[0]));
    assert!(named.contains("member0"));
    members.place.write("sweep.json", &named);
}

#[test]
fn the_record_size_that_a_sweep_found_best_is_that_of_appends() {
    let members = Members::store(Made::Files, &[64 * MIB], "4MiB").unwrap();
    sweep_of(&members, "256KiB,1MiB,4MiB");
    let source = ["--from", "test:1MB/s", "--time", "100ms", "--json", "-"];
    let flags = ["--sweep", "sweep.json", "--buffer", "16MiB"];
    let ran = members
        .run("record", &[&source[..], &flags].concat())
        .expect(0);
    let words = "appends of 4 MiB, the record size that sweep.json found best";
    let first = ran.stderr.lines().next().unwrap();
    assert!(first.contains(words), "{first}");
    let result = json_of(&ran.stdout);
    assert_eq!(whole(&result["plan"]["append_bytes"]), 4 * MIB);
    assert!(result["notes"].to_string().contains(words));
}

#[test]
fn a_sweep_that_does_not_tell_a_record_size_for_these_members_is_refused() {
    let members = Members::store(Made::Files, &[64 * MIB], "4MiB").unwrap();
    let record = |member: &str| {
        let flags = ["--from", "test:1MB/s", "--time", "100ms", "--sweep"];
        let place = &members.place;
        place.run(&[&["record", member], &flags[..], &["sweep.json"]].concat())
    };
    record("member0").expect(2).says("cannot read sweep.json");
    sweep_of(&members, "1MiB");
    record("member0")
        .expect(2)
        .says("compared none")
        .says("1MiB,4MiB");
    sweep_of(&members, "1MiB,4MiB");
    record("other").expect(2).says("did not measure other");
    members
        .place
        .write("sweep.json", "{ \"schema\": \"sustain.profile/1\" }");
    record("member0").expect(2).says("sustain.profile/1");
}
