//! Tests on files that look like those of control groups. What is written to them is read back in
//! the form in which it was written, which is the form in which the kernel shows it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::process::Command;

use super::*;

const DEVICE: DeviceNumber = (8, 16);
const TARGET_BYTES: u64 = 8 << 20;
const STEP_NS: u64 = 100_000_000;
const MB: u64 = 1_000_000;

/// A machine with control groups of version 2, of which `me` is the recorder's.
struct Machine {
    directory: tempfile::TempDir,
    roots: Roots,
}

impl Machine {
    fn new(groups: &[&str]) -> Machine {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let roots = Roots {
            sys: path.join("sys"),
            proc: path.join("proc"),
        };
        fs::create_dir_all(roots.proc.join("self")).unwrap();
        fs::create_dir(path.join("run")).unwrap();
        let root = path.join("groups");
        fs::create_dir_all(root.join("me")).unwrap();
        fs::write(root.join("cgroup.controllers"), "cpu io\n").unwrap();
        let mount = format!("40 30 0:35 / {} rw - cgroup2 x rw\n", root.display());
        fs::write(roots.proc.join("self/mountinfo"), mount).unwrap();
        fs::write(roots.proc.join("self/cgroup"), "0::/me\n").unwrap();
        let machine = Machine { directory, roots };
        for group in groups {
            fs::create_dir(root.join(group)).unwrap();
            machine.set(group, "");
            machine.use_disk(group, 1, 0);
        }
        machine
    }

    fn set(&self, group: &str, limits: &str) {
        fs::write(self.group(group).join("io.max"), limits).unwrap();
    }

    fn limits(&self, group: &str) -> String {
        fs::read_to_string(self.group(group).join("io.max")).unwrap()
    }

    fn use_disk(&self, group: &str, read_bytes: u64, write_bytes: u64) {
        let text = format!("8:16 rbytes={read_bytes} wbytes={write_bytes} rios=1 wios=1\n");
        fs::write(self.group(group).join("io.stat"), text).unwrap();
    }

    fn group(&self, group: &str) -> PathBuf {
        self.directory.path().join("groups").join(group)
    }

    fn run(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    fn journals(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.run()).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .collect()
    }

    fn groups(&self) -> ControlGroups {
        ControlGroups::find(&self.roots).unwrap().unwrap()
    }

    fn start(&self) -> HoldBack {
        let supervisor = SupervisorCommand {
            program: "sh".into(),
            arguments: ["-c", "echo ready; cat"].map(Into::into).to_vec(),
        };
        HoldBack::start(&self.setup(), &supervisor, &self.roots).unwrap()
    }

    fn setup(&self) -> HoldBackSetup {
        HoldBackSetup {
            devices: vec![("sdb".to_owned(), DEVICE)],
            target_bytes: TARGET_BYTES,
            directory: self.run(),
        }
    }
}

/// Three steps in which each group writes 8 MB and the backlog grows past its target.
fn flood(machine: &Machine, hold_back: &mut HoldBack, groups: &[&str]) {
    for step in 1..=3 {
        for group in groups {
            machine.use_disk(group, 1, step * 8 * MB);
        }
        hold_back.step(step * STEP_NS, (step + 1) * 3 * MB);
    }
}

#[test]
fn limits_fall_with_a_backlog_and_are_put_back() {
    let machine = Machine::new(&["a", "b"]);
    let mut hold_back = machine.start();
    let journal = hold_back.journal.path().to_owned();
    flood(&machine, &mut hold_back, &["a", "b"]);
    let first = machine.limits("a");
    assert!(first.starts_with("8:16 rbps="), "{first}");
    assert_eq!(first, machine.limits("b"), "equal wants, equal parts");
    assert!(!machine.limits("a").contains("max"));
    // It falls on while the backlog grows.
    hold_back.step(4 * STEP_NS, 13 * MB);
    assert_ne!(machine.limits("a"), first);
    let entries: Vec<JournalEntry> = serde_json::from_slice(&fs::read(&journal).unwrap()).unwrap();
    assert_eq!(entries.len(), 2);
    let result = hold_back.finish();
    for group in ["a", "b"] {
        assert_eq!(machine.limits(group), "8:16 rbps=max wbps=max");
    }
    assert!(!journal.exists());
    assert_eq!(result.groups.len(), 2);
    let held = &result.groups[0];
    assert_eq!((held.name.as_str(), held.device.as_str()), ("/a", "sdb"));
    assert_eq!(held.ended, LimitEnd::Restored);
    assert_eq!(held.write_bytes, 16 * MB, "from the first look on");
    assert!(held.least_write_bytes_per_s.unwrap() > 0);
    assert!(result.held_s > 0.0);
}

#[test]
fn nobody_is_limited_without_a_backlog() {
    let machine = Machine::new(&["a"]);
    let mut hold_back = machine.start();
    for step in 1..100 {
        machine.use_disk("a", 1, step * 8 * MB);
        hold_back.step(step * STEP_NS, MB);
    }
    assert_eq!(machine.limits("a"), "");
    let result = hold_back.finish();
    assert_eq!(result.groups[0].ended, LimitEnd::NotNeeded);
    assert_eq!(result.held_s, 0.0);
}

#[test]
fn a_limit_that_was_there_is_never_loosened_and_comes_back() {
    let machine = Machine::new(&["a"]);
    machine.set("a", "8:16 rbps=max wbps=70000 riops=max wiops=5");
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a"]);
    assert!(
        machine.limits("a").ends_with("wbps=70000"),
        "{}",
        machine.limits("a")
    );
    let _ = hold_back.finish();
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=70000");
}

#[test]
fn what_someone_else_sets_meanwhile_is_theirs() {
    let machine = Machine::new(&["a", "b"]);
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a", "b"]);
    machine.set("a", "8:16 rbps=11 wbps=12");
    // Of the second one only the limit of writes was changed.
    let reads = machine.limits("b").split(' ').nth(1).unwrap().to_owned();
    machine.set("b", &format!("8:16 {reads} wbps=12"));
    hold_back.step(4 * STEP_NS, 30 * MB);
    hold_back.step(5 * STEP_NS, 40 * MB);
    let result = hold_back.finish();
    assert_eq!(machine.limits("a"), "8:16 rbps=11 wbps=12");
    assert_eq!(machine.limits("b"), "8:16 rbps=max wbps=12");
    let ended: Vec<LimitEnd> = result.groups.iter().map(|group| group.ended).collect();
    assert_eq!(ended, [LimitEnd::TakenOver, LimitEnd::TakenOver]);
}

#[test]
fn a_group_that_goes_takes_its_limit_with_it() {
    let machine = Machine::new(&["a", "b"]);
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a", "b"]);
    fs::remove_dir_all(machine.group("a")).unwrap();
    hold_back.step(4 * STEP_NS, 30 * MB);
    hold_back.step(5 * STEP_NS, 40 * MB);
    let result = hold_back.finish();
    assert_eq!(result.groups[0].ended, LimitEnd::Removed);
    assert_eq!(result.groups[1].ended, LimitEnd::Restored);
    assert_eq!(machine.limits("b"), "8:16 rbps=max wbps=max");
}

#[test]
fn what_a_killed_recorder_left_is_put_back_by_the_next_one() {
    let machine = Machine::new(&["a", "b"]);
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a", "b"]);
    let journal = hold_back.journal.path().to_owned();
    // Its own limits stay, and nobody holds its journal any more.
    let left = machine.run().join("hold-back-1.json");
    fs::copy(&journal, &left).unwrap();
    machine.set("b", "8:16 rbps=11 wbps=12");
    journal::put_back_leftovers(&machine.run(), &machine.groups()).unwrap();
    assert!(!left.exists());
    assert!(journal.exists(), "of a recorder that runs");
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
    assert_eq!(machine.limits("b"), "8:16 rbps=11 wbps=12");
}

#[test]
fn a_recorder_killed_between_two_limits_is_put_right() {
    let machine = Machine::new(&["a"]);
    let limits = |read, write| GroupLimits {
        read_bytes_per_s: read,
        write_bytes_per_s: write,
    };
    let mut journal = Journal::create(&machine.run()).unwrap();
    let entry = JournalEntry {
        group: "a".into(),
        device: DEVICE,
        original: limits(None, Some(90)).into(),
        set: [
            limits(Some(5), Some(6)).into(),
            limits(Some(3), Some(4)).into(),
        ],
    };
    journal.put(entry).unwrap();
    // Version 1 has a file for each of the two: one was set, the other was not yet.
    machine.set("a", "8:16 rbps=3 wbps=6");
    journal::put_back(journal.path(), &machine.groups()).unwrap();
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=90");
}

#[test]
fn a_journal_never_leads_out_of_the_hierarchy() {
    let machine = Machine::new(&["a"]);
    let outside = machine.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("io.max"), "8:16 rbps=1 wbps=1").unwrap();
    for group in ["../outside", "", "/etc", "a/../../outside"] {
        let path = machine.run().join("forged");
        let text = format!(
            r#"[{{"group":"{group}","device":[8,16],"original":[2,2],"set":[[1,1],[1,1]]}}]"#
        );
        fs::write(&path, text).unwrap();
        assert!(
            journal::put_back(&path, &machine.groups()).is_err(),
            "{group}"
        );
    }
    let kept = fs::read_to_string(outside.join("io.max")).unwrap();
    assert_eq!(kept, "8:16 rbps=1 wbps=1");
}

#[test]
fn a_supervisor_that_does_not_start_leaves_nothing() {
    let machine = Machine::new(&["a"]);
    let setup = machine.setup();
    for program in ["false", "/nonexistent"] {
        let supervisor = SupervisorCommand {
            program: program.into(),
            arguments: Vec::new(),
        };
        let refused = HoldBack::start(&setup, &supervisor, &machine.roots);
        assert!(matches!(refused, Err(HoldBackError::Supervisor(_))));
        let journals = machine.journals();
        assert!(journals.is_empty(), "{journals:?}");
    }
}

#[test]
fn who_cannot_hold_anybody_back_says_why() {
    let refused = |machine: &Machine, devices: Vec<(String, DeviceNumber)>| {
        let setup = HoldBackSetup {
            devices,
            ..machine.setup()
        };
        HoldBack::rehearse(&setup, &machine.roots).unwrap_err()
    };
    let sdb = || vec![("sdb".to_owned(), DEVICE)];
    let alone = Machine::new(&[]);
    let why = refused(&alone, sdb()).to_string();
    assert!(why.contains("/me"), "{why}");
    assert!(matches!(refused(&alone, Vec::new()), HoldBackError::NoDisk));
    fs::write(alone.group("cgroup.controllers"), "cpu\n").unwrap();
    assert!(matches!(
        refused(&alone, sdb()),
        HoldBackError::NoControlGroups
    ));
}

#[test]
fn a_supervisor_lives_as_long_as_its_recorder() {
    let machine = Machine::new(&["a"]);
    let hold_back = machine.start();
    let process = hold_back.supervisor_process().to_string();
    let is_alive = || {
        let mut kill = Command::new("kill");
        kill.args(["-0", &process]).status().unwrap().success()
    };
    assert!(is_alive());
    drop(hold_back);
    assert!(!is_alive());
}

#[test]
fn of_two_recorders_on_one_disk_only_one_holds_others_back() {
    let machine = Machine::new(&["a"]);
    let first = machine.start();
    let supervisor = SupervisorCommand {
        program: "false".into(),
        arguments: Vec::new(),
    };
    let second = HoldBack::start(&machine.setup(), &supervisor, &machine.roots);
    assert!(matches!(second, Err(HoldBackError::Claimed { .. })));
    drop(first);
    drop(machine.start());
}

#[test]
fn another_recorder_is_spared() {
    let machine = Machine::new(&["a", "b"]);
    let own = machine.roots.proc.join("77");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup"), "0::/a/deep/within\n").unwrap();
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a", "b"]);
    assert_ne!(machine.limits("a"), "");
    hold_back.spare(&[77, 78]);
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
    hold_back.step(4 * STEP_NS, 13 * MB);
    let result = hold_back.finish();
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
    assert_eq!(result.groups[0].ended, LimitEnd::Spared);
    assert_eq!(result.groups[1].ended, LimitEnd::Restored);
}

#[test]
fn a_recorder_that_begins_later_gets_no_limit_not_even_at_first() {
    let machine = Machine::new(&["a", "b"]);
    let own = machine.roots.proc.join("77");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup"), "0::/a\n").unwrap();
    let mut hold_back = machine.start();
    // Its group has not used the disk yet.
    hold_back.spare(&[77]);
    flood(&machine, &mut hold_back, &["a", "b"]);
    assert_eq!(machine.limits("a"), "", "no limit was ever set");
    assert_ne!(machine.limits("b"), "");
}

#[test]
fn a_group_that_was_made_again_is_held_back_again() {
    let machine = Machine::new(&["a"]);
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a"]);
    fs::remove_dir_all(machine.group("a")).unwrap();
    hold_back.step(12 * STEP_NS, 30 * MB);
    fs::create_dir(machine.group("a")).unwrap();
    machine.set("a", "");
    for step in 25..30 {
        machine.use_disk("a", 1, step * 8 * MB);
        hold_back.step(step * STEP_NS, step * 3 * MB);
    }
    assert_ne!(machine.limits("a"), "");
    let result = hold_back.finish();
    assert_eq!(result.groups[0].ended, LimitEnd::Restored);
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
}

#[test]
fn a_group_that_was_made_again_between_two_searches_is_held_back_again() {
    let machine = Machine::new(&["a"]);
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a"]);
    // Both limits that may be there are the recorder's by now.
    machine.use_disk("a", 1, 32 * MB);
    hold_back.step(4 * STEP_NS, 13 * MB);
    fs::remove_dir_all(machine.group("a")).unwrap();
    fs::create_dir(machine.group("a")).unwrap();
    machine.set("a", "");
    for step in 5..8 {
        machine.use_disk("a", 1, (step - 4) * 8 * MB);
        hold_back.step(step * STEP_NS, step * 4 * MB);
    }
    assert_ne!(machine.limits("a"), "");
    let result = hold_back.finish();
    assert_eq!(result.groups[0].ended, LimitEnd::Restored);
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
}

#[test]
fn a_group_whose_account_is_set_back_keeps_its_own_limit_to_get_back() {
    let machine = Machine::new(&["a"]);
    machine.set("a", "8:16 rbps=max wbps=70000000");
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a"]);
    machine.use_disk("a", 1, 0);
    hold_back.step(4 * STEP_NS, 13 * MB);
    let _ = hold_back.finish();
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=70000000");
}

#[test]
fn a_limit_of_a_spared_group_that_cannot_be_put_back_at_once_is_put_back_later() {
    let machine = Machine::new(&["a"]);
    let own = machine.roots.proc.join("77");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup"), "0::/a\n").unwrap();
    let mut hold_back = machine.start();
    flood(&machine, &mut hold_back, &["a"]);
    let (set, path) = (machine.limits("a"), machine.group("a").join("io.max"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    hold_back.spare(&[77]);
    fs::remove_dir(&path).unwrap();
    machine.set("a", &set);
    let _ = hold_back.finish();
    assert_eq!(machine.limits("a"), "8:16 rbps=max wbps=max");
}

#[test]
fn what_cannot_be_read_of_a_journal_stays_for_a_person() {
    let machine = Machine::new(&["a"]);
    let left = machine.run().join("hold-back-1.json");
    fs::write(&left, "not a journal").unwrap();
    drop(machine.start());
    assert!(left.exists());
}
