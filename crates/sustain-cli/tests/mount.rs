//! `sustain mount`: what its files give, compared with `extract`; how it grows, and how it ends. What
//! mounts is skipped where there is no FUSE.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

#[path = "mount/contents.rs"]
mod contents;
#[path = "mount/endings.rs"]
mod endings;
#[path = "mount/live.rs"]
mod live;
#[path = "mount/pins.rs"]
mod pins;
#[allow(dead_code, reason = "it is made for the tests of stores")]
#[path = "store/recorded.rs"]
mod recorded;
#[path = "mount/refused.rs"]
mod refused;
#[allow(dead_code, reason = "some of it is for the tests of stores")]
#[path = "store/ring.rs"]
mod ring;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use support::Place;
use sustain_testing::{Requirement, skip};

/// How often something is looked for that must come, each time after a rest.
const LOOKS_MAX: u32 = 1200;
const REST: Duration = Duration::from_millis(100);

/// A store of its own with a mount point beside it. The mount ends with it.
pub(crate) struct MountPlace {
    pub(crate) place: Place,
}

impl MountPlace {
    /// A place with an empty store; `None` where this machine cannot mount it.
    #[track_caller]
    pub(crate) fn new() -> Option<MountPlace> {
        let device = fs::File::options().read(true).write(true).open("/dev/fuse");
        if let Err(error) = device {
            skip(Requirement::Fuse, format!("/dev/fuse: {error}"));
            return None;
        }
        if let Err(error) = Command::new("fusermount3").arg("--version").output() {
            skip(Requirement::Fuse, format!("fusermount3: {error}"));
            return None;
        }
        let place = Place::new();
        fs::create_dir(place.path("store")).unwrap();
        fs::create_dir(place.path("view")).unwrap();
        let size = ["create", "store", "--size", "64MiB", "--slot", "1MiB"];
        place.run(&size).expect(0);
        let tried = place.run(&["mount", "store", "view"]);
        if tried.stderr.contains("may not mount") {
            skip(Requirement::Fuse, tried.stderr);
            return None;
        }
        let mounted = MountPlace { place };
        mounted.unmount();
        Some(mounted)
    }

    /// Records bytes as the only stream of a recording.
    #[track_caller]
    pub(crate) fn record(&self, bytes: &[u8], flags: &[&str]) {
        fs::write(self.place.path("source"), bytes).unwrap();
        let record = ["record", "store", "--from", "source"];
        self.place.run(&[&record, flags].concat()).expect(0);
    }

    #[track_caller]
    pub(crate) fn mount(&self, flags: &[&str]) {
        self.mount_members(&["store"], flags);
    }

    /// Mounts the store of these members.
    #[track_caller]
    pub(crate) fn mount_members(&self, members: &[&str], flags: &[&str]) {
        let mount = [&["mount"], members, &["view"]].concat();
        let mounted = self.place.run(&[&mount, flags].concat()).expect(0);
        assert!(
            mounted.stderr.contains("mounted at view by process"),
            "{mounted:?}"
        );
    }

    /// Unmounts from outside, as a user does.
    #[track_caller]
    pub(crate) fn unmount(&self) {
        unmount(&self.path(""));
    }

    /// A path in the mount.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path("view").join(name)
    }

    /// The names in a directory of the mount, sorted.
    #[track_caller]
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for MountPlace {
    fn drop(&mut self) {
        // Whatever a failed test has left must not stay. Most often nothing is mounted any more.
        let mut away = Command::new("fusermount3");
        let away = away.args(["-u", "-z", "-q"]).arg(self.place.path("view"));
        let _ = away.output();
    }
}

/// Unmounts a directory once no file of it is open. A file that was closed here may stay open for a
/// moment in a program that another test is starting.
#[track_caller]
pub(crate) fn unmount(directory: &Path) {
    wait_for("the unmount", || {
        let mut helper = Command::new("fusermount3");
        let helper = helper.arg("-u").arg(directory).output().unwrap();
        let is_busy = String::from_utf8_lossy(&helper.stderr).contains("busy");
        assert!(helper.status.success() || is_busy, "{helper:?}");
        helper.status.success().then_some(())
    });
}

/// Bytes of which no stretch is like another one.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut bytes = vec![0; length];
    random.fill(&mut bytes[..]);
    bytes
}

/// Waits for what must come.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (_sender, never) = channel::<()>();
    for _ in 0..LOOKS_MAX {
        if let Some(found) = look() {
            return found;
        }
        // Nothing ever comes there.
        let _ = never.recv_timeout(REST);
    }
    panic!("{what} has not come");
}
