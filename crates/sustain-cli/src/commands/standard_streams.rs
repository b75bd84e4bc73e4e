//! Standard output and standard error, looked at before a store is: what is printed there must not
//! take the place of what is recorded, whatever name the shell has opened.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FileType, Stat, fstat, stat};
use sustain::host::{Refusal, Roots, inspect_stat};
use sustain::record::store::FILE_NAME;

use crate::Exit;
use crate::request::UsageError;

/// Fails in words if standard output leads to a member. If standard error does, they are told on
/// standard output, and the process ends: nothing may be said there.
pub(crate) fn check(members: &[String]) -> Result<(), UsageError> {
    let mut output = std::io::stdout();
    let of_output = harm(output.as_fd(), members);
    if let Some(why) = harm(std::io::stderr().as_fd(), members) {
        if of_output.is_none() {
            // Whoever does not read it sees the exit code.
            let _ = writeln!(output, "sustain: standard error {why}");
        }
        std::process::exit(Exit::Usage.code().into());
    }
    of_output.map_or(Ok(()), |why| {
        Err(UsageError(format!("standard output {why}")))
    })
}

/// Why nothing may be printed there, if so.
fn harm(stream: BorrowedFd<'_>, members: &[String]) -> Option<String> {
    let found = fstat(stream).ok()?;
    match FileType::from_raw_mode(found.st_mode) {
        // Which bytes of which members a disk shares is not asked: results go to files.
        FileType::BlockDevice => Some(
            "is a disk, and what is printed would be written over what lies there: send it to a \
             file, or pipe it to a program"
                .to_owned(),
        ),
        FileType::RegularFile if is_member(&found, members) => Some(
            "is a member of the store, and what is printed would be written over what is \
             recorded: send it to another file"
                .to_owned(),
        ),
        FileType::RegularFile => loop_over(&found).map(|name| {
            format!(
                "is the file under the loop device {name}, and what is printed would be written \
                 over what lies there: send it to another file"
            )
        }),
        _ => None,
    }
}

fn is_member(found: &Stat, members: &[String]) -> bool {
    let is_it = |path: &Path| {
        stat(path).is_ok_and(|one| (one.st_dev, one.st_ino) == (found.st_dev, found.st_ino))
    };
    let mut members = members.iter().map(Path::new);
    members.any(|member| is_it(member) || is_it(&member.join(FILE_NAME)))
}

/// The kernel's name of a loop device over a file. Where none can be told there is none to harm.
fn loop_over(found: &Stat) -> Option<String> {
    let inspection = inspect_stat(&Roots::default(), Path::new("-"), found).ok()?;
    let mut refusals = inspection.refusals.into_iter();
    refusals.find_map(|refusal| match refusal {
        Refusal::FileBacksLoop { loop_device } => Some(loop_device),
        _ => None,
    })
}
