//! A file system that never answers, as behind a FUSE server that has stopped: every command says
//! what it waits for. That takes five seconds, which all commands wait together. What comes after
//! half a minute is tested in the library.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::process::{Child, Command};

use rustix::io::{FdFlags, fcntl_setfd};
use sustain_testing::{Requirement, skip};

use crate::support::Place;

/// Its server reads no request. When this ends, whatever waits for an answer gets an error.
struct Dead<'a> {
    place: &'a Place,
    _server: File,
}

impl<'a> Dead<'a> {
    fn mount(place: &'a Place) -> Result<Dead<'a>, String> {
        std::fs::create_dir(place.path("dead")).unwrap();
        let server = File::options().read(true).write(true).open("/dev/fuse");
        let server = server.map_err(|error| format!("/dev/fuse: {error}"))?;
        fcntl_setfd(&server, FdFlags::empty()).unwrap();
        let fd = server.as_raw_fd();
        let options = format!("fd={fd},rootmode=40000,user_id=0,group_id=0");
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "dead", "-o", &options]);
        let ran = mount.arg(place.path("dead")).output();
        fcntl_setfd(&server, FdFlags::CLOEXEC).unwrap();
        let ran = ran.map_err(|error| format!("mount: {error}"))?;
        if !ran.status.success() {
            return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
        }
        Ok(Dead {
            place,
            _server: server,
        })
    }
}

impl Drop for Dead<'_> {
    fn drop(&mut self) {
        let mut umount = Command::new("umount");
        let _ = umount.arg("-l").arg(self.place.path("dead")).status();
    }
}

fn said_first(child: &mut Child) -> String {
    let mut words = String::new();
    let said = child.stderr.take().unwrap();
    BufReader::new(said).read_line(&mut words).unwrap();
    words
}

#[test]
fn every_command_says_that_it_waits_for_a_file_system_that_does_not_answer() {
    let place = Place::new();
    place
        .run(&["create", "a", "--size", "2MiB", "--slot", "64KiB"])
        .expect(0);
    let dead = match Dead::mount(&place) {
        Ok(dead) => dead,
        Err(why) => return skip(Requirement::Mounts, why),
    };
    let commands: [(&[&str], &str); 11] = [
        (&["list", "dead/a"], "dead/a"),
        (&["list", "a", "--json", "dead/new"], "dead/new"),
        (&["create", "dead", "--size", "2MiB"], "dead"),
        (&["record", "a", "dead/b", "--from", "test:1MB/s"], "dead/b"),
        (&["record", "a", "--status", "dead/status"], "dead/status"),
        (&["record", "a", "--status=dead/status"], "dead/status"),
        (&["verify", "dead/a"], "dead/a"),
        (&["extract", "a", "-o", "dead/out"], "dead/out"),
        (&["measure", "dead", "--read"], "dead"),
        (
            &["measure", "sim:dead/machine.toml:sda"],
            "dead/machine.toml",
        ),
        (&["report", "dead/run.json"], "dead/run.json"),
    ];
    let begin = |arguments: &[&str]| place.command(arguments).spawn().unwrap();
    let begun = commands.map(|(arguments, name)| (begin(arguments), arguments, name));
    let said = begun.map(|(mut child, arguments, name)| {
        let words = said_first(&mut child);
        (child, words, arguments, name)
    });
    drop(dead);
    for (mut child, words, arguments, name) in said {
        let _ = child.kill();
        child.wait().unwrap();
        let waits = format!("note: looking at {name} has not returned for 5 s: it is given up");
        assert!(words.starts_with(&waits), "{arguments:?}: {words}");
    }
}
