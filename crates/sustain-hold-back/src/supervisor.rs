//! The process that puts limits back if the recorder is killed. It waits for the end of a pipe
//! whose other end only the recorder holds, and does nothing else.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use sustain_host::{ControlGroups, Roots};

use crate::error::HoldBackError;
use crate::journal;

/// Says that the supervisor has the journal and has left the recorder's session.
const READY: &[u8] = b"ready\n";

/// How the supervisor is started: a program that calls [`supervise`] with the path that it is given
/// as its last argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupervisorCommand {
    /// The program, usually this one.
    pub program: PathBuf,
    /// Its arguments before the path.
    pub arguments: Vec<OsString>,
}

/// A supervisor that runs.
#[derive(Debug)]
pub(crate) struct Supervisor {
    child: Child,
}

impl Supervisor {
    /// Starts one for this journal, and waits until it is ready.
    pub(crate) fn start(
        command: &SupervisorCommand,
        journal: &Path,
    ) -> Result<Supervisor, HoldBackError> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .arg(journal)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(HoldBackError::Supervisor)?;
        let mut ready = vec![0; READY.len()];
        let told = child
            .stdout
            .take()
            .map_or(Ok(()), |mut told| told.read_exact(&mut ready));
        let supervisor = Supervisor { child };
        match told {
            Ok(()) if ready == READY => Ok(supervisor),
            Ok(()) => Err(HoldBackError::Supervisor(io::Error::other(
                "it said something else than that it is ready",
            ))),
            Err(error) => Err(HoldBackError::Supervisor(error)),
        }
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // The end of its pipe ends it. What it does then takes no time.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// What a supervisor does: says that it is ready, waits for the end of its standard input, and puts
/// back what this journal still says.
///
/// # Errors
/// `io::Error` if the journal or the control groups cannot be read, or a limit not be put back.
pub fn supervise(journal: &Path) -> io::Result<()> {
    // So that Ctrl-C in the recorder's terminal is not meant for this process. The leader of a
    // process group cannot leave, and has none to fear.
    let _ = rustix::process::setsid();
    let file = File::open(journal)?;
    flock(&file, FlockOperation::LockShared)?;
    let groups = ControlGroups::find(&Roots::default())
        .map_err(io::Error::other)?
        .ok_or_else(|| io::Error::other("no control groups that limit I/O are mounted here"))?;
    let mut told = io::stdout();
    told.write_all(READY)?;
    told.flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    match journal::put_back(journal, &groups) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        put_back => put_back,
    }
}
