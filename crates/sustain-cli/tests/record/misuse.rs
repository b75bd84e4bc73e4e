//! Misuse that harms nothing: a disk together with its partition, rehearsals over a store, places
//! without room, and nobody who reads what is said.

use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::MIB;
use crate::check::{assert_reads_back, extract};
use crate::devices::{Disk, Mount, Partition};
use crate::members::{Members, SMALL};
use crate::running::{PATIENCE, Running, run};
use crate::support::{Place, Ran};

/// A file system of this size; `None`, with the reason printed, where that cannot be had.
fn small_file_system(place: &Place, size: &str) -> Option<Mount> {
    let size = format!("size={size}");
    Mount::try_new(place, &["-t", "tmpfs", "-o", &size, "tmpfs"])
}

/// Runs a command in a process that begins with one of its first three descriptors closed.
fn run_closed(members: &Members, command: &str, flags: &[&str], closed: &str) -> Ran {
    let inner = members.command(command, flags);
    let mut outer = Command::new("sh");
    outer
        .args(["-c", &format!("exec \"$0\" \"$@\" {closed}")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(inner.get_current_dir().unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running::start(&mut outer).finish()
}

#[test]
fn a_closed_descriptor_is_told_where_it_is_needed_and_changes_nothing_elsewhere() {
    let members = Members::files(&[2 * MIB]);
    members.record(0, &["--from", "test:1MB/s", "--bytes", "100kB"]);
    for command in ["list", "verify", "recover"] {
        let plain = run_closed(&members, command, &["--json", "-"], "</dev/null");
        for closed in ["<&-", "2>&-", "<&- 2>&-"] {
            let ran = run_closed(&members, command, &["--json", "-"], closed).expect(0);
            assert_eq!(ran.stdout, plain.stdout, "{command} {closed}");
        }
        run_closed(&members, command, &[], ">&-")
            .expect(2)
            .says("standard output is closed");
        run_closed(&members, command, &["--json", "-"], "1</dev/null")
            .expect(2)
            .says("open for reading only");
    }
    let whole = run_closed(&members, "extract", &["-o", "whole"], "<&- >&- 2>&-").expect(0);
    assert_eq!(
        std::fs::metadata(members.place.path("whole"))
            .unwrap()
            .len(),
        100_000
    );
    assert_eq!(whole.stderr, "");
    let closed = run_closed(&members, "record", SMALL, "<&-").expect(2);
    closed.says("standard input cannot be recorded: it is closed, or /dev/null");
    assert_eq!(members.list()["recordings"].as_array().unwrap().len(), 1);
    let others = ["--from", "test:1MB/s", "--bytes", "100kB"];
    run_closed(
        &members,
        "record",
        &[SMALL, &others].concat(),
        "<&- >&- 2>&-",
    )
    .expect(0);
    members.verify(0);
}

#[test]
fn a_disk_and_its_partition_are_no_two_members() {
    let Some(disk) = Disk::new(64 * MIB) else {
        return;
    };
    let partition = Partition::add(&disk, 1, MIB, 32 * MIB);
    let before = disk.bytes();
    for [first, second] in [
        [disk.name(), &partition.name],
        [partition.name.as_str(), disk.name()],
    ] {
        let members = ["create", first, second, "--slot", "64KiB"];
        let force = ["--destroy", first, "--destroy", second];
        let ran = run(&disk.place, &[&members[..], &force].concat()).expect(2);
        ran.says(&partition.name);
    }
    assert!(disk.bytes() == before, "a refused creation has written");

    // As the only member, each is one; the store on the partition is not recorded to under its
    // disk.
    let create = ["create", &partition.name, "--destroy", &partition.name];
    run(&disk.place, &[&create[..], &["--slot", "64KiB"]].concat()).expect(0);
    let source = ["--from", "test:1MB/s", "--bytes", "10kB"];
    let both = ["record", &partition.name, disk.name()];
    run(&disk.place, &[&both[..], SMALL, &source].concat()).expect(2);
    let alone = ["record", &partition.name];
    run(&disk.place, &[&alone[..], SMALL, &source].concat()).expect(0);
    let outside = |bytes: Vec<u8>| {
        let range = partition.range();
        [&bytes[..range.start], &bytes[range.end..]].concat()
    };
    assert!(
        outside(disk.bytes()) == outside(before),
        "written beside the partition"
    );
}

#[test]
fn a_rehearsal_over_a_store_leaves_every_byte() {
    let members = Members::files(&[16 * MIB; 2]);
    let source = ["--from", "test:20MB/s", "--bytes", "1MB"];
    let result = members.record(0, &source);
    let bytes = || members.images.iter().map(std::fs::read).map(Result::unwrap);
    let before: Vec<Vec<u8>> = bytes().collect();
    let mut flags = vec!["--slot", "64KiB", "--dry-run"];
    for name in &members.names {
        flags.extend(["--destroy", name]);
    }
    members.run("create", &flags).expect(0);
    let rehearsal = [SMALL, &source, &["--dry-run"]].concat();
    members.run("record", &rehearsal).expect(0);
    let ring = [&rehearsal[..], &["--ring"]].concat();
    members.run("record", &ring).expect(0);
    assert!(bytes().eq(before), "a rehearsal has written");
    assert_reads_back(&members, &result, "main");
}

#[test]
fn a_size_that_does_not_fit_is_refused_and_the_default_becomes_smaller() {
    let place = Place::new();
    let Some(mount) = small_file_system(&place, "4m") else {
        return;
    };
    let (file, directory) = (mount.path("file"), mount.path("directory"));
    std::fs::create_dir(&directory).unwrap();
    let new = format!("{directory}/sustain.store");
    let source = ["--from", "test:1MB/s", "--bytes", "10kB"];
    let create = ["create", &file, "--slot", "64KiB"];
    let record = [&["record", &directory][..], SMALL, &source].concat();
    // Just too much, and far too much: nothing of it is written.
    for size in ["4MiB", "100TB"] {
        let refused = |command: &[&str]| {
            let sized = [command, &["--size", size]].concat();
            run(&place, &sized).expect(2)
        };
        let ran = refused(&create).says("MiB are free, enough for a file of 3");
        ran.says("give a smaller --size");
        // With slots of the default size not even the smallest member fits.
        let ran = refused(&record).says("the smallest member needs 25.3 MB");
        ran.says("or use `sustain create` with a smaller --slot");
    }
    let exists = |name: &str| std::path::Path::new(name).exists();
    assert!(!exists(&file) && !exists(&new));
    // Two share what is free.
    let second = mount.path("second");
    let both = [&create[..], &[&second, "--size", "3MiB"]].concat();
    run(&place, &both).expect(2).says("KiB but not of 3 MiB");
    assert!(!exists(&file) && !exists(&second));
    let ran = run(&place, &create).expect(0);
    ran.says(", half of what is free; give --size to have another");
    let length = std::fs::metadata(&file).unwrap().len();
    assert!((MIB..=2 * MIB).contains(&length), "{length}");
    // Half of the rest does not hold two slots of this size, and all of it does.
    let large = ["create", &second, "--slot", "512KiB"];
    let ran = run(&place, &large).expect(0);
    ran.says("the smallest member with slots of this size; give --size to have another");
    let length = std::fs::metadata(&second).unwrap().len();
    assert_eq!(length, 512 * 1024 * 3 + 128 * 1024);
}

#[test]
fn a_store_that_recording_makes_leaves_half_of_the_free_space() {
    let place = Place::new();
    let Some(mount) = small_file_system(&place, "128m") else {
        return;
    };
    let directory = mount.path("directory");
    std::fs::create_dir(&directory).unwrap();
    let source = ["--from", "test:1MB/s", "--bytes", "10kB"];
    let record = [&["record", &directory][..], SMALL, &source].concat();
    let ran = run(&place, &record).expect(0);
    let first = ran.stderr.lines().next().unwrap();
    let is_said = first.ends_with(", half of what is free; give --size to have another");
    assert!(is_said && first.contains("a file of 6"), "{ran:#?}");
    let store = std::fs::metadata(mount.path("directory/sustain.store"));
    let length = store.unwrap().len();
    assert!((60 * MIB..=64 * MIB).contains(&length), "{length}");
}

#[test]
fn a_creation_that_cannot_tell_its_result_is_ended_by_a_second_signal() {
    let place = Place::new();
    // Its document has the names as typed, and so is longer than a pipe holds.
    let long = "./".repeat(1500);
    let names: Vec<String> = (0..40)
        .map(|index| format!("{long}member{index}"))
        .collect();
    let mut flags: Vec<&str> = vec!["create", "--json", "-", "--size", "1MiB", "--slot", "64KiB"];
    flags.extend(names.iter().map(String::as_str));
    let mut child = place.command(&flags).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut running = Running::of(child);
    let (sender, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let read = stdout.read_exact(&mut [0]);
        let _ = sender.send(read.map(|()| stdout));
    });
    let _stdout = told.recv_timeout(PATIENCE).unwrap().unwrap();
    assert!(!running.ends_within(std::time::Duration::ZERO));
    // Two of a kind might be taken for one.
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.finish().expect(130);
}

#[test]
fn a_file_system_that_is_full_is_told_by_extract_and_harms_no_recording() {
    let members = Members::files(&[16 * MIB; 2]);
    let Some(mount) = small_file_system(&members.place, "64k") else {
        return;
    };
    mount.fill();
    // The account of a recording has no room any more; the recording has.
    let status = mount.path("filling-status");
    let source = [
        "--from",
        "test:3MB/s",
        "--bytes",
        "1MB",
        "--durable",
        "20ms",
    ];
    let flags = [&source[..], &["--status", &status]].concat();
    let result = members.record(1, &flags);
    assert!(
        result["notes"]
            .to_string()
            .contains("cannot write the status")
    );
    assert_eq!(result["ended"], "bytes");
    assert_reads_back(&members, &result, "main");

    let output = mount.path("output");
    let ran = members.run("extract", &["-o", &output]).expect(1);
    ran.says("No space left on device");
    let result = members.run("record", &[SMALL, &source, &["--json", &output]].concat());
    assert!([1, 2].contains(&result.code), "{result:#?}");
    assert!(extract(&members, 1, "main").lost.is_empty());
    members.verify(0);
}

#[test]
fn a_name_that_is_no_text_is_refused_or_is_that_very_file() {
    let members = Members::files(&[16 * MIB]);
    let odd = |prefix: &[u8]| std::ffi::OsString::from_vec([prefix, b"\xff"].concat());
    let source = ["--from", "test:1MB/s", "--bytes", "10kB"];
    // A member or a source goes into documents and messages, as text.
    let mut as_member = members.place.command(&["record"]);
    as_member.arg(odd(b"member")).args(source);
    let mut as_source = members.command("record", &["--from"]);
    as_source.arg(odd(b"source"));
    let mut as_new = members.place.command(&["create", "--size", "16MiB"]);
    as_new.arg(odd(b"new"));
    for command in [&mut as_member, &mut as_source, &mut as_new] {
        Running::start(command).finish().expect(2).says("UTF-8");
    }
    // What is only written to need not be.
    for flag in ["--json", "--status", "--report"] {
        let mut command = members.command("record", &[SMALL, &source, &[flag]].concat());
        let name = flag.trim_start_matches('-').as_bytes();
        command.arg(odd(name));
        Running::start(&mut command).finish().expect(0);
        let path = members.place.path("").join(odd(name));
        assert!(path.metadata().is_ok_and(|file| file.len() > 0), "{flag}");
    }
    let mut command = members.command("extract", &["-o"]);
    command.arg(odd(b"extracted"));
    Running::start(&mut command).finish().expect(0);
    let path = members.place.path("").join(odd(b"extracted"));
    assert_eq!(path.metadata().unwrap().len(), 10_000);
}
