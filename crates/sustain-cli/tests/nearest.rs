//! A name that does not exist is answered with those that are typed nearly alike, whatever the
//! command.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod support;

use support::Place;

#[test]
fn a_mistyped_name_is_answered_with_the_nearest_ones() {
    let place = Place::with_machine("");
    std::fs::create_dir(place.path("records")).unwrap();
    for name in [
        "recording.bin",
        "records/left.bin",
        "records/left.bit",
        "run.json",
    ] {
        place.write(name, "");
    }
    let ran = place.run(&["measure", "recoding.bin"]).expect(2);
    assert_eq!(
        ran.stderr,
        "sustain: recoding.bin: it does not exist; --new-file creates it\n\
         did you mean recording.bin?\n"
    );
    let answers: [(&[&str], &str); 8] = [
        (
            &["measure", "recoding.bin", "--read"],
            "did you mean recording.bin?",
        ),
        (
            &["measure", "recoding.bin", "run.json"],
            "did you mean recording.bin?",
        ),
        (&["list", "recordnig.bin"], "did you mean recording.bin?"),
        (&["record", "recoding.bin"], "did you mean recording.bin?"),
        (
            &["verify", "recrods/left.bin"],
            "did you mean records/left.bin?",
        ),
        (
            &["extract", "records/left.bi"],
            "did you mean records/left.bin or records/left.bit?",
        ),
        (
            &["measure", "sim:machin.toml:sda"],
            "did you mean machine.toml?",
        ),
        (&["report", "rnu.json"], "did you mean run.json?"),
    ];
    for (arguments, words) in answers {
        let ran = place.run(arguments).expect(2);
        assert_eq!(ran.stderr.lines().last(), Some(words), "{arguments:?}");
    }
    assert_eq!(
        place.names(),
        ["machine.toml", "recording.bin", "records", "run.json"]
    );
}

#[test]
fn a_name_like_no_other_is_answered_without_a_guess() {
    let place = Place::new();
    place.write("recording.bin", "");
    for arguments in [&["measure", "left"][..], &["list", "recording.bin"]] {
        let ran = place.run(arguments);
        assert!(
            ran.code != 0 && !ran.stderr.contains("did you mean"),
            "{ran:?}"
        );
    }
}

#[test]
fn a_new_member_that_is_nearly_named_as_something_else_needs_its_size() {
    let place = Place::new();
    for name in ["camera.store", "disk1.img"] {
        place.write(name, "");
    }
    std::fs::create_dir(place.path("data1")).unwrap();
    for (typed, meant) in [
        ("camrea.store", "camera.store"),
        ("data2", "data1"),
        ("dat1", "data1"),
    ] {
        let ran = place.run(&["create", typed, "--dry-run"]).expect(2);
        let words = format!("{typed} does not exist, and its name differs by one letter");
        assert!(ran.stderr.contains(&words), "{ran:?}");
        let hint = format!("did you mean {meant}?");
        assert_eq!(ran.stderr.lines().last(), Some(hint.as_str()));
        place
            .run(&[
                "create",
                typed,
                "--dry-run",
                "--size",
                "2MiB",
                "--slot",
                "64KiB",
            ])
            .expect(0);
    }
    // Files are numbered, and other names are other files. How much is free does not matter.
    for typed in ["disk2.img", "./disk2.img", "other.img", "cam.store"] {
        let ran = place.run(&["create", typed, "--dry-run"]);
        assert!(!ran.stderr.contains("differs by one letter"), "{ran:?}");
    }
}

#[test]
fn a_size_is_no_name_of_a_new_member() {
    let place = Place::new();
    let refused = place.run(&["create", "store", "100MiB"]).expect(2);
    refused.says("100MiB is a size and no member: give --size 100MiB, or ./100MiB to make");
    assert!(!place.path("store").exists() && !place.path("100MiB").exists());
}

#[test]
fn a_short_name_is_near_to_no_other() {
    let place = Place::new();
    place.write("d1", "");
    let run = place.run(&["verify", "q"]);
    assert!(!run.stderr.contains("did you mean"), "{run:#?}");
}
