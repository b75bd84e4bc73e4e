//! Scratch files: within the free space, where direct I/O is refused, and gone whatever happens.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::devices::{Disk, Mount, becomes};
use crate::support::{Place, json_of, ran};
use crate::{MIB, measure, path_text};

/// A run that goes on until it is ended.
const ENDLESS: &[&str] = &[
    "measure",
    "mounted",
    "--size",
    "16MiB",
    "--record-size",
    "64KiB",
    "--time",
    "10m",
    "--json",
    "run.json",
];

fn mounted_disk(size_bytes: u64) -> Option<(Disk, Mount)> {
    let disk = Disk::new(size_bytes)?;
    disk.make_file_system();
    let mount = Mount::new(&disk.place, &[disk.name()]);
    Some((disk, mount))
}

fn names_in(mount: &Mount) -> Vec<String> {
    let entries = std::fs::read_dir(&mount.point).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lost+found").collect()
}

#[test]
fn a_sparse_file_that_does_not_fit_is_refused_and_takes_no_space() {
    let Some((disk, mount)) = mounted_disk(64 * MIB) else {
        return;
    };
    let big = mount.path("big");
    std::fs::File::create(&big)
        .unwrap()
        .set_len(512 * MIB)
        .unwrap();
    mount.settle();
    let free_bytes = mount.free_bytes();
    let create = ["create", &big, "--destroy", &big, "--slot", "1MiB"];
    for flags in [
        &["--dry-run"][..],
        &[],
        &["--no-prewrite"],
        &["--size", "512MiB"],
        &["--size", "600MiB"],
    ] {
        let ran = disk.place.run(&[&create[..], flags].concat()).expect(2);
        let ran = ran.says("are free, enough for a file of").says("only ");
        assert_eq!(mount.free_bytes(), free_bytes, "{ran:#?}");
    }
    let measure = ["measure", &big, "--write", "--destroy", &big, "--dry-run"];
    let ran = disk.place.run(&measure).expect(0);
    ran.says("a file of").says("instead of 512 MiB");
    let measure = ["measure", &big, "--write", "--destroy", &big];
    let sized = [&measure[..], &["--size", "512MiB"]].concat();
    disk.place.run(&sized).expect(2).says("can be used");
    assert_eq!(mount.free_bytes(), free_bytes);
    // The default size of a new file does not shrink below the smallest member.
    let new = mount.path("new");
    for flags in [&[][..], &["--size", "512MiB"]] {
        let create = ["create", &new, "--slot", "16MiB"];
        let ran = disk.place.run(&[&create[..], flags].concat()).expect(2);
        ran.says("only ").says("the smallest member needs");
    }
    assert!(names_in(&mount) == ["big"]);
}

/// Starts it and waits until it measures.
fn started(place: &Place, mount: &Mount) -> (Child, BufReader<std::process::ChildStderr>) {
    let free_bytes = mount.free_bytes();
    let mut child = place.command(ENDLESS).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("measuring, ") {
        line.clear();
        let length = stderr.read_line(&mut line).unwrap();
        assert!(length > 0, "it ended before it measured");
    }
    assert!(names_in(mount).is_empty(), "it has a name");
    mount.settle();
    let taken = free_bytes - mount.free_bytes();
    assert!(taken >= 16 * MIB, "only {taken} bytes are used");
    (child, stderr)
}

fn assert_gone(mount: &Mount, free_before_bytes: u64) {
    assert!(names_in(mount).is_empty(), "{:?}", names_in(mount));
    assert!(
        becomes(|| mount.free_bytes() >= free_before_bytes),
        "{} of {free_before_bytes} bytes are free again",
        mount.free_bytes()
    );
}

#[test]
fn a_scratch_file_is_gone_after_ctrl_c_and_its_result_is_there() {
    let Some((disk, mount)) = mounted_disk(64 * MIB) else {
        return;
    };
    let free_bytes = mount.free_bytes();
    let (child, mut stderr) = started(&disk.place, &mount);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    ran(child.wait_with_output().unwrap()).expect(130);
    let result = json_of(&disk.place.read("run.json"));
    assert_eq!(result["targets"][0]["ended"], "interrupted");
    assert_gone(&mount, free_bytes);
}

#[test]
fn a_scratch_file_is_gone_after_a_kill() {
    let Some((disk, mount)) = mounted_disk(64 * MIB) else {
        return;
    };
    let free_bytes = mount.free_bytes();
    let (mut child, _stderr) = started(&disk.place, &mount);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_gone(&mount, free_bytes);
    assert!(!disk.place.names().contains(&"run.json".to_owned()));
}

#[test]
fn a_scratch_file_shrinks_to_the_free_space_with_a_note() {
    let Some((disk, mount)) = mounted_disk(32 * MIB) else {
        return;
    };
    let free_bytes = mount.free_bytes();
    let bytes = ["mounted", "--bytes", "1MiB"];
    measure(&disk.place, &[&bytes[..], &["--size", "4GiB"]].concat())
        .expect(2)
        .says("--size asks for 4 GiB, but only");
    let flags = ["measure", "mounted", "--json", "-", "--time", "200ms"];
    let ran = disk
        .place
        .run(&[&flags[..], &["--no-confirm"]].concat())
        .expect(0)
        .says("only")
        .says("instead of 4 GiB");
    let result = json_of(&ran.stdout);
    let target = &result["targets"][0];
    assert!(target["bytes"].as_u64() > Some(0));
    assert!(target["errors"].as_array().unwrap().is_empty());
    assert!(result["notes"].to_string().contains("instead of 4 GiB"));
    assert_gone(&mount, free_bytes);
}

#[test]
fn where_nothing_is_free_nothing_is_written() {
    let Some((disk, mount)) = mounted_disk(16 * MIB) else {
        return;
    };
    mount.fill();
    for target in ["mounted", "mounted/new"] {
        measure(&disk.place, &[target, "--new-file"])
            .expect(2)
            .says("no space")
            .says("free some");
    }
    assert_eq!(names_in(&mount), ["filling"]);
}

#[test]
fn a_small_file_system_in_memory_is_enough() {
    let place = Place::new();
    let flags = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"];
    let Some(mount) = Mount::try_new(&place, &flags) else {
        return;
    };
    // Older kernels refuse direct I/O there.
    let path = ["measure", "mounted", "--path", "buffered", "--no-confirm"];
    let flags = [&path[..], &["--time", "200ms"]].concat();
    place.run(&flags).expect(0).says("instead of 4 GiB");
    assert_gone(&mount, mount.free_bytes());
    mount.fill();
    place.run(&flags).expect(2).says("no space");
}

#[test]
fn a_file_system_without_direct_io_names_the_way_on() {
    let place = Place::new();
    let Some(mount) = Mount::try_new(&place, &["-t", "ramfs", "ramfs"]) else {
        return;
    };
    for target in [path_text(&mount.point), &mount.path("new")] {
        measure(&place, &[target, "--new-file", "--size", "1MiB"])
            .expect(2)
            .says("refuses direct I/O")
            .says("--path buffered");
    }
    let buffered = [
        path_text(&mount.point),
        "--path",
        "buffered",
        "--bytes",
        "1MiB",
    ];
    measure(&place, &buffered).expect(2).says("use --size");
    let with_size = [&buffered[..], &["--size", "1MiB"]].concat();
    measure(&place, &with_size).expect(0);
    assert!(names_in(&mount).is_empty(), "{:?}", names_in(&mount));
}

#[test]
fn a_new_file_goes_again_where_direct_io_turns_out_to_be_refused() {
    let Some(disk) = Disk::new(32 * MIB) else {
        return;
    };
    disk.make_file_system();
    let journalled = &["-o", "data=journal", disk.name()];
    let Some(mount) = Mount::try_new(&disk.place, journalled) else {
        return;
    };
    let new = mount.path("new");
    let flags = ["--new-file", "--size", "1MiB", "--bytes", "1MiB"];
    measure(&disk.place, &[&[new.as_str()], &flags[..]].concat())
        .expect(2)
        .says("refuses direct I/O");
    assert!(names_in(&mount).is_empty(), "{:?}", names_in(&mount));
}

#[test]
fn space_that_runs_out_on_the_way_is_said_and_nothing_else_is_touched() {
    let Some((disk, mount)) = mounted_disk(16 * MIB) else {
        return;
    };
    // The file of holes fits, until another file takes the space that it lacks.
    let file = std::fs::File::create(mount.point.join("holes")).unwrap();
    file.set_len(8 * MIB).unwrap();
    let name = mount.path("holes");
    let flags = [
        "measure",
        &name,
        "--write",
        "--destroy",
        &name,
        "--no-prewrite",
    ];
    let bounds = ["--size", "8MiB", "--record-size", "64KiB", "--time", "1m"];
    let paced = ["--rate", "1MB/s", "--no-confirm"];
    let mut command = disk.place.command(&[&flags[..], &bounds, &paced].concat());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    assert!(becomes(|| file.metadata().unwrap().blocks() > 0));
    let filler = std::fs::File::create(mount.point.join("filler")).unwrap();
    let mut filled = 0;
    while filler.write_at(&[0; 4096], filled).is_ok() {
        filled += 4096;
    }
    let ran = ran(child.wait_with_output().unwrap()).expect(1);
    assert!(ran.stdout.contains("No space is left there"), "{ran:#?}");
    assert_eq!(names_in(&mount).len(), 2);
}

#[test]
fn a_result_that_has_no_room_is_said_and_lies_elsewhere() {
    let place = Place::with_machine(&crate::support::disk("sda", "1GB", "100MB/s", ""));
    let flags = ["-t", "tmpfs", "-o", "size=8k", "tmpfs"];
    let Some(mount) = Mount::try_new(&place, &flags) else {
        return;
    };
    std::fs::create_dir(place.path("temporary")).unwrap();
    let (json, page) = (mount.path("run.json"), mount.path("run.html"));
    let arguments = [
        "measure",
        "sim:machine.toml",
        "--json",
        &json,
        "--report",
        &page,
    ];
    let mut command = place.command(&arguments);
    command.env("TMPDIR", place.path("temporary"));
    let ran = crate::support::ran(command.output().unwrap()).expect(1);
    assert!(ran.stdout.contains("100 MB/s"), "no words: {ran:#?}");
    let ran = ran.says(&format!("cannot write {json}"));
    ran.says(&format!("cannot write {page}")).says("instead");
    let saved = std::fs::read_dir(place.path("temporary")).unwrap();
    let mut starts: Vec<String> = saved
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .map(|text| text[..9].to_lowercase())
        .collect();
    starts.sort();
    assert_eq!(starts.len(), 2);
    assert!(starts[0].starts_with("<!doctype") && starts[1].starts_with('{'));
}
