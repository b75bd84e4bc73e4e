//! Others on the disks that are driven, on real loop devices: they are named, and a run that is
//! alone names nobody. Skipped, with the reason, where the tests may not make loop devices. Each
//! takes some seconds: others are looked for once a second and believed from the third time on.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::MIB;
use crate::devices::{Disk, Loop, Mount, Partition, make_file_system};
use crate::support::{Ran, json_of, number, ran, unwrapped};
use crate::throttles::Throttles;
use serde_json::Value;

/// A slow run leaves the machine to the other tests.
const PACED: &[&str] = &[
    "--rate",
    "20MB/s",
    "--size",
    "32MiB",
    "--time",
    "5s",
    "--no-confirm",
    "--json",
    "-",
];

/// What another user of a disk does, about 25 MB/s of it.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Reads,
    Writes,
}

/// Another user of a disk, until it is dropped.
struct Other {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    fn on(device: &str, does: Does) -> Other {
        const BYTES: usize = 256 << 10;
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = OpenOptions::new()
            .read(true)
            .write(does == Does::Writes)
            .custom_flags(direct)
            .open(device)
            .unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut memory = vec![7_u8; BYTES + 4096];
            let start = memory.as_ptr().align_offset(4096);
            let buffer = &mut memory[start..start + BYTES];
            let mut number = 0;
            while !until.load(Ordering::Relaxed) {
                let offset = number % 16 * BYTES as u64;
                match does {
                    Does::Reads => file.read_exact_at(buffer, offset).unwrap(),
                    Does::Writes => file.write_all_at(buffer, offset).unwrap(),
                }
                number += 1;
                std::thread::park_timeout(Duration::from_millis(10));
            }
        });
        Other {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Runs these all at once.
fn together(commands: Vec<Command>) -> Vec<Ran> {
    let children: Vec<_> = commands
        .into_iter()
        .map(|mut command| command.spawn().unwrap())
        .collect();
    let children = children.into_iter();
    children
        .map(|child| ran(child.wait_with_output().unwrap()))
        .collect()
}

/// Two loop devices, each over a partition of another one.
struct Stacks {
    shared: Loop,
    alone: Loop,
    /// A partition beside that beneath the first.
    beside: Partition,
    _beneath: [Partition; 2],
    disks: [Disk; 2],
}

impl Stacks {
    fn new() -> Option<Stacks> {
        let disks = [Disk::new(64 * MIB)?, Disk::new(64 * MIB)?];
        let beneath = disks
            .each_ref()
            .map(|disk| Partition::add(disk, 1, MIB, 34 * MIB));
        let beside = Partition::add(&disks[0], 2, 40 * MIB, 16 * MIB);
        let over = |partition: &Partition| Loop::over(partition.name.as_ref(), &["--direct-io=on"]);
        Some(Stacks {
            shared: over(&beneath[0])?,
            alone: over(&beneath[1])?,
            beside,
            _beneath: beneath,
            disks,
        })
    }
}

fn others(result: &Value) -> &[Value] {
    result["system"]["others"].as_array().unwrap()
}

#[test]
fn others_on_a_disk_are_named_and_who_is_alone_names_nobody() {
    let new = || Disk::new(64 * MIB);
    let (Some(shared), Some(whole), Some(parted), Some(mounted)) = (new(), new(), new(), new())
    else {
        return;
    };
    let measured = Partition::add(&shared, 1, MIB, 32 * MIB);
    let used = Partition::add(&shared, 2, 40 * MIB, 16 * MIB);
    let alone = Partition::add(&parted, 1, MIB, 40 * MIB);
    make_file_system(mounted.name());
    let mount = Mount::new(&mounted.place, &[mounted.name()]);
    let Some(stacks) = Stacks::new() else {
        return;
    };
    let on_device = |name: &str| {
        let target = ["measure", name, "--write", "--destroy", name];
        whole.place.command(&[&target, PACED].concat())
    };
    let in_directory = |flags: &[&str]| {
        let target = ["measure", mount.point.to_str().unwrap()];
        whole.place.command(&[&target, PACED, flags].concat())
    };
    let other = Other::on(&used.name, Does::Writes);
    let beneath = Other::on(&stacks.beside.name, Does::Writes);
    let commands = vec![
        on_device(&measured.name),
        on_device(&stacks.shared.name),
        on_device(&stacks.alone.name),
        on_device(whole.name()),
        on_device(&alone.name),
        in_directory(&[]),
    ];
    let mut ran = together(commands).into_iter();
    drop((other, beneath));

    let beside = ran.next().unwrap().expect(0);
    let result = json_of(&beside.stdout);
    let found = others(&result);
    assert!(!found.is_empty(), "{beside:#?}");
    assert_eq!(found[0]["device"], shared.device.kernel_name());
    let rate = number(&found[0]["rate_bytes_per_s"]);
    assert!((3e6..60e6).contains(&rate), "{rate}");
    let said = unwrapped(&beside.stderr);
    assert!(said.contains("note: other programs wrote"), "{said}");
    assert!(said.contains("figures of shared disks"), "{said}");

    let above = ran.next().unwrap().expect(0);
    let result = json_of(&above.stdout);
    let found = others(&result);
    assert!(!found.is_empty(), "{above:#?}");
    assert_eq!(found[0]["device"], stacks.disks[0].device.kernel_name());

    for lone in ran {
        let result = json_of(&lone.expect(0).stdout);
        assert!(others(&result).is_empty(), "{:#}", result["system"]);
    }
}

#[test]
fn settings_compared_in_turn_are_told_to_have_been_beside_others() {
    let (Some(shared), Some(alone)) = (Disk::new(64 * MIB), Disk::new(64 * MIB)) else {
        return;
    };
    let disks = [&shared, &alone];
    let throttles = disks.map(|disk| Throttles::writes(disk.name(), 20_000_000));
    let [Some(beside), Some(by_itself)] = &throttles else {
        return;
    };
    let compare = |disk: &Disk| {
        // On a busy machine a run of half a second has to hold what is in flight, too.
        let what = ["compare", "--ab", "--depth 1", "--depth 2", disk.name()];
        let how = ["--write", "--size", "32MiB", "--destroy", disk.name()];
        let time = ["--time-per-run", "500ms", "--time", "6s"];
        disk.place.command(&[&what[..], &how, &time].concat())
    };
    let other = Other::on(shared.name(), Does::Reads);
    let commands = vec![
        beside.around(&compare(&shared)),
        by_itself.around(&compare(&alone)),
    ];
    let ran = together(commands);
    drop(other);
    let words = |ran: &Ran| unwrapped(&format!("{} {}", ran.stdout, ran.stderr));
    let (beside, by_itself) = (words(&ran[0]), words(&ran[1]));
    assert!(beside.contains("note: other programs read"), "{beside}");
    let device = shared.device.kernel_name();
    assert!(beside.contains(&format!("on {device}")), "{beside}");
    assert!(by_itself.contains("all together"), "{by_itself}");
    assert!(!by_itself.contains("other programs"), "{by_itself}");
}

#[test]
fn a_recorder_says_with_whom_its_members_are_shared() {
    let Some(disk) = Disk::new(96 * MIB) else {
        return;
    };
    let name = disk.name();
    let Some(throttle) = Throttles::writes(name, 10_000_000) else {
        return;
    };
    let create = ["create", name, "--destroy", name, "--no-prewrite"];
    disk.place.run(&create).expect(0);
    let source = ["--from", "test:30MB/s", "--time", "5s", "--on-full", "drop"];
    let how = ["--ring", "--buffer", "16MiB", "--status", "status"];
    let record = [&["record", name], &source[..], &how, &["--json", "-"]].concat();
    let other = Other::on(name, Does::Reads);
    let recorded = ran(throttle
        .around(&disk.place.command(&record))
        .output()
        .unwrap());
    drop(other);
    let recorded = recorded.expect(1);
    let result = json_of(&recorded.stdout);
    assert!(number(&others(&result)[0]["read_bytes"]) > 3e6);
    let said = unwrapped(&recorded.stderr);
    for words in [
        "note: other programs read",
        "of the time; other programs used their disks at",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let status = disk.place.read("status");
    let told = status.lines().map(json_of);
    let rates = told.filter_map(|line| line["others_bytes_per_s"].as_f64());
    assert!(rates.fold(0.0, f64::max) > 1e6, "{status}");
}
