//! Other programs are held back while data waits for a disk, and get back the limits that they had,
//! whatever ends the recorder. On loop devices and control groups of version 1; skipped, with the
//! reason, where these cannot be had.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Signal;
use sustain_testing::{Requirement, skip};

use crate::MIB;
use crate::devices::becomes;
use crate::members::{Made, Members, SMALL, whole};
use crate::running::Running;
use crate::support::json_of;
use crate::throttles::Throttles;

/// What the other program may read anyway.
const LIMIT_BYTES_PER_S: &str = "500000000";
/// What the members take of a source that gives more.
const MEMBER_BYTES_PER_S: u64 = 5_000_000;
const SOURCE: &[&str] = &["--from", "test:30MB/s", "--on-full", "drop"];
const HOLD_BACK: &[&str] = &["--hold-back", "others"];

/// A program in a control group of its own that reads the store's device all the time.
struct Other {
    group: PathBuf,
    child: Child,
}

impl Other {
    fn reads(device: &str) -> Option<Other> {
        let name = device.trim_start_matches("/dev/");
        let group = Path::new("/sys/fs/cgroup/blkio").join(format!("sustain-other-{name}"));
        let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
        let limit = format!("{} {LIMIT_BYTES_PER_S}", number.trim());
        let made = std::fs::create_dir(&group)
            .and_then(|()| std::fs::write(group.join("blkio.throttle.read_bps_device"), limit));
        if let Err(error) = made {
            skip(Requirement::Throttle, error);
            return None;
        }
        let read = "echo $$ > \"$0\"/cgroup.procs
            while :; do dd if=\"$1\" of=/dev/null bs=64k iflag=direct count=64 || exit; done";
        let mut command = Command::new("sh");
        command.args(["-c", read]).arg(&group).arg(device);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        Some(Other { group, child })
    }

    /// The limit of its reads, in bytes per second.
    fn limit(&self) -> String {
        let file = self.group.join("blkio.throttle.read_bps_device");
        let text = std::fs::read_to_string(file).unwrap();
        text.trim().rsplit(' ').next().unwrap().to_owned()
    }

    fn is_held_back(&self) -> bool {
        self.limit() != LIMIT_BYTES_PER_S
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // A `dd` that was under way ends with its 4 MiB.
        if !becomes(|| std::fs::remove_dir(&self.group).is_ok()) {
            eprintln!("{} could not be taken away", self.group.display());
        }
    }
}

/// A store on a device that is too slow for the source, and a program that reads it meanwhile.
struct Scene {
    _alone: MutexGuard<'static, ()>,
    other: Other,
    throttle: Throttles,
    members: Members,
}

impl Scene {
    fn new() -> Option<Scene> {
        // Of two recorders over one disk only one holds others back, and their devices lie on one.
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let members = Members::store(Made::Loops, &[64 * MIB], "256KiB")?;
        let throttle = Throttles::writes(&members.names[0], MEMBER_BYTES_PER_S)?;
        let other = Other::reads(&members.names[0])?;
        Some(Scene {
            _alone: alone,
            other,
            throttle,
            members,
        })
    }

    fn record(&self, more: &[&str]) -> Running {
        let flags = [SMALL, SOURCE, HOLD_BACK, more].concat();
        let command = self.members.command("record", &flags);
        Running::start(&mut self.throttle.around(&command))
    }
}

/// The process that puts limits back for this recorder.
fn supervisor(of: u32) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let children = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("children")).ok()
    };
    let children: Vec<String> = tasks.filter_map(children).collect();
    children.concat().split_whitespace().next()?.parse().ok()
}

#[test]
fn others_are_held_back_while_data_waits_and_no_longer() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let mut running = scene.record(&["--json", "json"]);
    assert!(running.becomes(|| scene.other.is_held_back()));
    running.signal(Signal::INT);
    let ran = running.finish().expect(1);
    assert_eq!(scene.other.limit(), LIMIT_BYTES_PER_S);
    let result = json_of(&scene.members.place.read("json"));
    let held = &result["share"]["hold_back"];
    let groups = held["groups"].as_array().unwrap();
    let name = format!("/{}", scene.other.group.file_name().unwrap().display());
    let group = groups.iter().find(|group| group["name"] == name).unwrap();
    assert_eq!(group["ended"], "restored");
    assert!(whole(&group["least_read_bytes_per_s"]) < 500_000_000);
    assert!(held["held_s"].as_f64().unwrap() > 0.0);
    let line = ran.stdout + &ran.stderr;
    assert!(line.contains("other programs were held back for"), "{line}");
}

#[test]
fn limits_are_put_back_when_the_recorder_is_killed() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let mut running = scene.record(&[]);
    assert!(running.becomes(|| scene.other.is_held_back()));
    running.kill();
    assert!(becomes(|| !scene.other.is_held_back()));
}

#[test]
fn the_next_recording_puts_back_what_nobody_else_could() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let mut running = scene.record(&[]);
    assert!(running.becomes(|| scene.other.is_held_back()));
    let supervisor = supervisor(running.process()).unwrap();
    let kill = |process: u32| {
        let process = rustix::process::Pid::from_raw(process as i32).unwrap();
        rustix::process::kill_process(process, Signal::KILL).unwrap();
    };
    kill(supervisor);
    running.kill();
    assert!(scene.other.is_held_back());
    // One that needs nothing, and by another store, so that no limit is its own.
    let elsewhere = Members::files(&[16 * MIB]);
    let flags = [
        SMALL,
        HOLD_BACK,
        &["--from", "test:1MB/s", "--bytes", "4KiB"],
    ]
    .concat();
    elsewhere.run("record", &flags).expect(0);
    assert_eq!(scene.other.limit(), LIMIT_BYTES_PER_S);
}

#[test]
fn who_shares_fairly_holds_nobody_back() {
    let members = Members::files(&[16 * MIB]);
    let flags = [HOLD_BACK, &["--share", "fair", "--from", "test:1MB/s"]].concat();
    let ran = members.run("record", &flags).expect(2);
    assert!(
        ran.stderr.contains("use only one of them"),
        "{}",
        ran.stderr
    );
}
