//! What is being recorded to is not written by anything else, under any of its names and by none of
//! the commands, and reading it says so; nor do two measurements write to one file at once.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use crate::MIB;
use crate::check::extract;
use crate::devices::Loop;
use crate::members::{Made, Members, SMALL};
use crate::running::{Running, run};
use crate::support::Place;

/// What is recorded before the others try, and again after them.
static HALF: [u8; 300_000] = [7; 300_000];

/// A recorder under way whose source gives nothing more until it is told to.
struct Recorder {
    running: Running,
}

impl Recorder {
    fn start(members: &Members) -> Recorder {
        let flags = ["--durable", "20ms", "--status", "status"];
        let mut command = members.command("record", &[SMALL, &flags].concat());
        let mut running = Running::start(command.stdin(Stdio::piped()));
        let mut stdin = running.stdin.take().unwrap();
        stdin.write_all(&HALF).unwrap();
        running.stdin = Some(stdin);
        let status = members.place.path("status");
        let durable = format!("\"durable_bytes\":{}", HALF.len());
        let is_durable =
            || std::fs::read_to_string(&status).is_ok_and(|text| text.contains(&durable));
        assert!(running.becomes(is_durable));
        Recorder { running }
    }

    /// The second half is recorded as well, and both are there.
    #[track_caller]
    fn ends_with_every_byte_on(mut self, members: &Members) {
        let mut stdin = self.running.stdin.take().unwrap();
        stdin.write_all(&HALF).unwrap();
        drop(stdin);
        self.running.finish().expect(0);
        members.verify(0);
        assert!(extract(members, 1, "main").bytes == [HALF, HALF].concat());
    }
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Every command that would write to it, with the user's word that it may be destroyed.
#[track_caller]
fn assert_none_writes(place: &Place, name: &str, words: &str) {
    let destroy = ["--write", "--destroy", name];
    let writing = |command: &[&str]| run(place, &[command, &[name], &destroy].concat());
    for command in [
        &["measure", "--bytes", "1MiB"][..],
        &["measure", "--dry-run"],
        &["sweep"],
        &["profile"],
        &["compare", "--ab", "--depth 1", "--depth 2"],
    ] {
        writing(command).expect(2).says(words);
    }
    let other = place.path("beside");
    std::fs::create_dir(&other).unwrap();
    writing(&["diagnose", path_text(&other)])
        .expect(2)
        .says(words);
    std::fs::remove_dir(&other).unwrap();
    run(place, &["create", name, "--destroy", name])
        .expect(2)
        .says(words);
}

#[test]
fn a_file_that_is_recorded_to_is_written_by_nothing_else_and_may_be_read() {
    let members = Members::files(&[16 * MIB]);
    let recorder = Recorder::start(&members);
    let (place, words) = (&members.place, "it is being recorded to");
    assert_none_writes(place, "member0", words);
    run(place, &["record", "member0", "--from", "test:1MB/s"])
        .expect(2)
        .says(words);
    std::os::unix::fs::symlink("member0", place.path("link")).unwrap();
    std::fs::hard_link(place.path("member0"), place.path("hard")).unwrap();
    for name in ["./member0", "link", "hard"] {
        let writing = ["measure", name, "--write", "--destroy", name];
        run(place, &writing).expect(2).says(words);
    }
    let reading = ["measure", "hard", "--bytes", "1MiB", "--no-confirm"];
    run(place, &reading)
        .expect(0)
        .says("hard is being recorded to");
    recorder.ends_with_every_byte_on(&members);
    run(place, &["measure", "member0", "--dry-run", "--write"])
        .expect(2)
        .says("would be overwritten");
}

#[test]
fn a_loop_device_over_what_is_recorded_to_is_not_written() {
    let members = Members::files(&[16 * MIB]);
    let recorder = Recorder::start(&members);
    let member = members.images[0].as_path();
    let place = &members.place;
    let words = format!("its bytes are on {}, and it is being", member.display());
    let assert_kept = |name: &str| {
        let writing = ["measure", name, "--write", "--destroy", name];
        run(place, &writing).expect(2).says(&words);
        let reading = ["measure", name, "--bytes", "1MiB", "--no-confirm"];
        let words = format!("{name} is being recorded to");
        run(place, &reading).expect(0).says(&words);
    };
    let Some(over) = Loop::over(member, &[]) else {
        return;
    };
    assert_kept(&over.name);
    let Some(above) = Loop::over(Path::new(&over.name), &[]) else {
        return;
    };
    assert_kept(&above.name);
    drop(above);
    run(place, &["create", &over.name, "--destroy", &over.name])
        .expect(2)
        .says("is being recorded to");
    drop(over);
    recorder.ends_with_every_byte_on(&members);
}

#[test]
fn a_device_that_is_recorded_to_is_written_by_nothing_else_and_may_be_read() {
    let Some(members) = Members::store(Made::Loops, &[16 * MIB], "256KiB") else {
        return;
    };
    let recorder = Recorder::start(&members);
    let (place, name) = (&members.place, members.device(0));
    assert_none_writes(place, name, "it is being recorded to");
    let Some(above) = Loop::over(Path::new(name), &[]) else {
        return;
    };
    let words = format!("its bytes are on {name}, and it is being recorded to");
    let writing = ["measure", &above.name, "--write", "--destroy", &above.name];
    run(place, &writing).expect(2).says(&words);
    drop(above);
    let reading = ["measure", name, "--bytes", "1MiB", "--no-confirm"];
    let words = format!("{name} is being recorded to");
    run(place, &reading).expect(0).says(&words);
    recorder.ends_with_every_byte_on(&members);
}

#[test]
fn two_measurements_do_not_write_to_one_file_at_once() {
    let place = Place::new();
    let path = place.path("file");
    std::fs::write(&path, [1; 1 << 20]).unwrap();
    let writing = ["measure", "file", "--write", "--destroy", "file"];
    let first = [&writing[..], &["--size", "1MiB", "--time", "1h"]].concat();
    let mut first = Running::start(&mut place.command(&first));
    let file = std::fs::File::open(&path).unwrap();
    let is_locked = || flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    assert!(first.becomes(|| is_locked() || flock(&file, FlockOperation::Unlock).is_err()));
    run(&place, &writing).expect(2).says("or measured");
    first.signal(Signal::INT);
    first.finish().expect(130);
    run(&place, &[&writing[..], &["--dry-run"]].concat()).expect(0);
}
