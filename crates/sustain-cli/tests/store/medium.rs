//! `extract` to a file system whose medium has no room for what it took.

use std::process::Command;

use sustain_testing::{Requirement, skip};

use crate::recorded::{self, End, Stream, content};
use crate::support::{Place, Ran, ran};

/// What the script says with where it cannot be set up.
const NO_SETUP: i32 = 77;

/// A file system of 64 MB on a file in 6 MB of memory, mounted for the command alone: it takes what
/// is written, and fails when that is to be kept. `None`, with the reason printed, where the tests
/// may not mount.
fn extract_to_overbooked(place: &Place, output: &str) -> Option<Ran> {
    let script = format!(
        "mkdir small mounted && mount -t tmpfs -o size=6m none small && truncate -s 64M small/image \
         && mkfs.ext4 -q -F -O ^has_journal small/image && mount -o loop small/image mounted \
         || exit {NO_SETUP}; exec \"$0\" extract a -o mounted/{output}"
    );
    let run = Command::new("unshare")
        .args([
            "--mount",
            "sh",
            "-c",
            &script,
            env!("CARGO_BIN_EXE_sustain"),
        ])
        .current_dir(place.path("."))
        .output();
    let run = match run {
        Ok(output) => ran(output),
        Err(error) => {
            skip(Requirement::Mounts, format!("unshare: {error}"));
            return None;
        }
    };
    if run.code == NO_SETUP || run.stderr.contains("unshare failed") {
        skip(Requirement::Mounts, &run.stderr);
        return None;
    }
    Some(run)
}

fn store_of(stream: Stream<'_>) -> Place {
    let place = Place::new();
    recorded::create(&place, &["a"], "16MiB");
    recorded::record(&place, &["a"], &[stream], End::InOrder);
    place
}

#[test]
fn bytes_that_the_medium_does_not_keep_are_no_success() {
    let place = store_of(Stream::plain("main", &content(12_000_000)));
    if let Some(run) = extract_to_overbooked(&place, "out") {
        run.expect(1)
            .says("took 12000000 bytes, but they could not be made durable");
    }
}

#[test]
fn frames_that_the_medium_does_not_keep_are_no_success() {
    let line = [&[b'x'; 99_999][..], b"\n"].concat();
    let place = store_of(Stream::framed("log", "lines", &line.repeat(120)));
    if let Some(run) = extract_to_overbooked(&place, "frames/") {
        run.expect(1)
            .says("took 120 frames, but they could not be made durable");
    }
}
