//! Runs of the command that end in bounded time: what takes longer is killed, and the test fails.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Place, Ran, ran};

/// Longer than any of these runs takes, even on a machine that is busy with much else. Only a test
/// that fails waits for all of it.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// How often something is looked at that nobody tells of.
const LOOK: Duration = Duration::from_millis(5);

/// A command under way, killed with the test.
pub struct Running {
    /// Its standard input, if it is a pipe.
    pub stdin: Option<ChildStdin>,
    pid: Pid,
    output: Receiver<Ran>,
    ended: Option<Ran>,
}

impl Running {
    /// Starts it; whether its input is a pipe is the command's.
    pub fn start(command: &mut Command) -> Running {
        Running::of(command.spawn().unwrap())
    }

    /// Of a child whose output is read from now on, as far as it is a pipe and not taken.
    pub fn of(mut child: Child) -> Running {
        let stdin = child.stdin.take();
        let pid = Pid::from_child(&child);
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let _ = sender.send(ran(child.wait_with_output().unwrap()));
        });
        Running {
            stdin,
            pid,
            output,
            ended: None,
        }
    }

    /// Tells whether SIGTERM, and SIGINT before it, would be caught by now.
    pub fn signals_caught(&self) -> impl Fn() -> bool + use<> {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        move || {
            let status = std::fs::read_to_string(&path).unwrap_or_default();
            let caught = status
                .lines()
                .find_map(|line| line.strip_prefix("SigCgt:"))
                .map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
            (caught >> (Signal::TERM.as_raw() - 1)) & 1 == 1
        }
    }

    pub fn process(&self) -> u32 {
        self.pid.as_raw_nonzero().get() as u32
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).unwrap();
    }

    /// Whether it ends within this time.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        if self.ended.is_none() {
            match self.output.recv_timeout(time) {
                Ok(ran) => self.ended = Some(ran),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => panic!("its output cannot be read"),
            }
        }
        true
    }

    /// Waits until it is so, while the command runs; whether it became so before its end.
    #[track_caller]
    pub fn becomes(&mut self, mut so: impl FnMut() -> bool) -> bool {
        let mut looks = PATIENCE.as_nanos() / LOOK.as_nanos();
        while !so() {
            if self.ends_within(LOOK) {
                return so();
            }
            looks -= 1;
            assert!(looks > 0, "it did not become so within {PATIENCE:?}");
        }
        true
    }

    /// What it left, once it has ended by itself.
    #[track_caller]
    pub fn finish(mut self) -> Ran {
        self.stdin = None;
        assert!(self.ends_within(PATIENCE), "it hangs");
        self.ended.take().unwrap()
    }

    /// Ends it at once, as a power cut ends everything.
    pub fn kill(mut self) {
        if self.ended.is_none() {
            let _ = kill_process(self.pid, Signal::KILL);
        }
        assert!(self.ends_within(PATIENCE), "it cannot be killed");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.is_none() && self.output.try_recv().is_err() {
            let _ = kill_process(self.pid, Signal::KILL);
            // Its members are let go before they are taken away.
            let _ = self.output.recv_timeout(PATIENCE);
        }
    }
}

/// Runs it in a place where there are no members yet, or others.
#[track_caller]
pub fn run(place: &Place, arguments: &[&str]) -> Ran {
    Running::start(&mut place.command(arguments)).finish()
}

/// Runs it with this as its standard input, written as fast as it is taken.
#[track_caller]
pub fn fed(mut command: Command, input: Vec<u8>) -> Ran {
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let mut stdin = running.stdin.take().unwrap();
    // It goes with the child, which is killed when it takes too long.
    let writing = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let ran = running.finish();
    writing.join().unwrap();
    ran
}
