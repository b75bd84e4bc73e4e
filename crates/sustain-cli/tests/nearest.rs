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
        "sustain: recoding.bin: recoding.bin does not exist; --new-file creates it\n\
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
