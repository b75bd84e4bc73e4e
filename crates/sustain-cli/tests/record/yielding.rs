//! Our own readers beside a recorder on the same device know of it, and say so; once it has ended,
//! or was killed, nothing is left of it. How far they yield is shown on a simulated disk, in
//! `sustain-disk`.

use rustix::process::Signal;

use crate::MIB;
use crate::members::{Made, Members, SMALL};

#[test]
fn readers_beside_a_recorder_say_that_they_wait_for_it() {
    let Some(members) = Members::store(Made::Loops, &[64 * MIB], "256KiB") else {
        return;
    };
    let flags = [SMALL, &["--from", "test:1MB/s", "--status", "status"]].concat();
    let mut running = members.start("record", &flags);
    // Other tests may record on the disk under the loop device, too.
    let process = running.process().to_string();
    let names_it = |said: &str| {
        let note = said
            .lines()
            .find(|line| line.contains("on this disk: reads wait"));
        let mut words = note.into_iter().flat_map(|note| note.split([' ', ',']));
        words.any(|word| word == process)
    };
    let status = members.place.path("status");
    let is_durable = || {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let whole = told.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let last = whole.lines().last();
        last.is_some_and(|line| !line.contains("\"durable_bytes\":0,"))
    };
    assert!(running.becomes(is_durable));
    let readers: [(&str, &[&str]); 3] = [
        ("verify", &[]),
        ("extract", &["--output", "bytes"]),
        ("measure", &["--read", "--time", "200ms"]),
    ];
    for (command, more) in readers {
        let ran = members.run(command, more);
        assert!(names_it(&ran.said_of_recorders), "{command}: {ran:#?}");
    }
    running.signal(Signal::KILL);
    running.kill();
    let after = members.run("verify", &[]);
    assert!(!names_it(&after.said_of_recorders), "{after:#?}");
}
