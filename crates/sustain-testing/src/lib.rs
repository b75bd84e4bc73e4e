//! How a test says that it could not run, for the tests of all crates.
//!
//! A test that returns early has passed, as far as `cargo test` can tell. So it names, by a closed
//! word, what this machine lacks. `scripts/skips` counts these lines, asks the machine for each of
//! these words, and fails if it has what a test has missed.

use std::fmt;
use std::io::Write;
use std::panic::Location;

/// What a test may need and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// To be root.
    Root,
    /// Loop devices that can be attached.
    LoopDevices,
    /// File systems that can be mounted.
    Mounts,
    /// File systems that a program serves: `/dev/fuse`, and `fusermount3` to unmount them.
    Fuse,
    /// Swap that can be switched on.
    Swap,
    /// The block I/O controller of control groups of version 1.
    Throttle,
    /// A guest of the disk lab: QEMU, and the packages of its kernel.
    Guest,
    /// To run within such a guest.
    InsideGuest,
    /// Chromium.
    Browser,
    /// An I/O interface of the kernel, named by its engine.
    Engine(&'static str),
    /// A program, by its name.
    Program(&'static str),
    /// To start programs as another user, who may enter the build directory.
    AnotherUser,
    /// The first of all priorities, of I/O and of the CPU.
    Priorities,
    /// A SIGHUP that whoever started the tests has not had ignored.
    Hangup,
    /// A disk that is visible under the build directory.
    VisibleDisk,
    /// So little other work that limits of a second can be told.
    QuietMachine,
}

impl fmt::Display for Requirement {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Requirement::Root => "root",
            Requirement::LoopDevices => "loop-devices",
            Requirement::Mounts => "mounts",
            Requirement::Fuse => "fuse",
            Requirement::Swap => "swap",
            Requirement::Throttle => "throttle",
            Requirement::Guest => "guest",
            Requirement::InsideGuest => "inside-guest",
            Requirement::Browser => "browser",
            Requirement::Engine(name) => return write!(to, "engine:{name}"),
            Requirement::Program(name) => return write!(to, "program:{name}"),
            Requirement::AnotherUser => "another-user",
            Requirement::Priorities => "priorities",
            Requirement::Hangup => "hangup",
            Requirement::VisibleDisk => "visible-disk",
            Requirement::QuietMachine => "quiet-machine",
        };
        to.write_str(word)
    }
}

/// Says that this test, or a part of it, has not been made: what it needs, and what happened.
///
/// The caller returns then. The line passes by what `cargo test` holds back of a test that passes.
#[track_caller]
pub fn skip(need: Requirement, why: impl fmt::Display) {
    let thread = std::thread::current();
    let place = Location::caller();
    let line = line(thread.name(), place, need, &why.to_string());
    // A skip that cannot be told must not pass for a test.
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error takes a line");
}

/// The whole line. What runs in a thread of its own, or is the only test, has no name: then the
/// place says which test it is.
fn line(thread: Option<&str>, place: &Location<'_>, need: Requirement, why: &str) -> String {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let test = thread.filter(|name| *name != "main");
    let place = || format!("{}:{}", place.file(), place.line());
    let test = test.map_or_else(place, str::to_owned);
    format!("SKIPPED {test} needs={need}: {why}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line_with_the_test_its_need_and_its_reason() {
        let place = Location::caller();
        assert_eq!(
            line(
                Some("guard::swap"),
                place,
                Requirement::LoopDevices,
                "losetup:\n  no such\n"
            ),
            "SKIPPED guard::swap needs=loop-devices: losetup: no such\n"
        );
        let by_place = line(Some("main"), place, Requirement::Program("man"), "none");
        let expected = format!(
            "SKIPPED {}:{} needs=program:man: none\n",
            place.file(),
            place.line()
        );
        assert_eq!(by_place, expected);
    }
}
