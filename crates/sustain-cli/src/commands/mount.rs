//! `sustain mount`: shows a store as files. It goes to the background by starting this program once
//! more, so that all that can go wrong is told in the terminal before.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, absolute};
use std::process::{Command, Stdio};

use anyhow::Context;
use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use sustain::Stop;
use sustain::mount::{LossReading, MountError, MountPlan, check, mount};
use sustain::record::opening::Recording;
use sustain::record::reading::readable::FoundOfPin;
use sustain::record::reading::verify::Checkable;
use sustain::record::store::{Mode, Store};

use super::{say, stores};
use crate::exit::Exit;
use crate::flags::mount::{MountFlags, MountHolesFlag};
use crate::interrupt;

/// What the process in the background writes once it is mounted.
const READY: &[u8] = b"mounted\n";

pub(crate) fn run(flags: &MountFlags) -> anyhow::Result<Exit> {
    if !flags.foreground && !flags.detach {
        return in_background(flags);
    }
    stores::check_json(None, &flags.members)?;
    let plan = MountPlan {
        losses: match flags.holes {
            MountHolesFlag::Eio => LossReading::Error,
            MountHolesFlag::Zeros => LossReading::Zeros,
        },
        split_bytes: flags.split,
        ..MountPlan::new(&flags.members, &flags.directory)
    };
    check(&plan)?;
    let mut store = stores::open(&flags.members, Mode::Read)?;
    stores::say_recorders(&store);
    let found = stores::recordings(&mut store)?;
    for note in Checkable::of(&store, &found).unseen_notes() {
        say(&format!("note: {note}"));
    }
    say_only_pinned(&mut store, &found);
    let stop = Stop::default();
    interrupt::watch(&stop, say)?;
    let mounted = mount(&plan, store, say)?;
    if flags.detach {
        detach()?;
    } else {
        let directory = mounted.directory().display();
        say(&format!("mounted at {directory}; Ctrl-C unmounts it"));
    }
    mounted.serve(&stop, say)?;
    Ok(Exit::Done)
}

/// Says where what is left of a recording is shown, if only a pin keeps any of it.
fn say_only_pinned(store: &mut Store, recordings: &[Recording]) {
    for pin in store.pins() {
        // What cannot be looked at now is looked at again while it is mounted.
        let kept = store.pinned(pin.number).unwrap_or_default();
        let numbers = FoundOfPin::of(&kept).recordings.into_iter();
        let is_gone = |number: &u32| recordings.iter().all(|one| one.number != *number);
        for number in numbers.filter(is_gone) {
            say(&format!(
                "note: recording {number}: the ring has overwritten all of it but what pin {pin} \
                 keeps, which is in pin-{pin}/recording-{number}",
                pin = pin.number
            ));
        }
    }
}

/// Starts this program once more, and waits until it is mounted or has failed.
fn in_background(flags: &MountFlags) -> anyhow::Result<Exit> {
    let program = std::env::current_exe().context("cannot find this program to start it again")?;
    let mut child = Command::new(program)
        .args(arguments(flags)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start this program again, to go to the background")?;
    let mut output_bytes = Vec::new();
    let process = child.id();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut output_bytes)?;
    }
    if output_bytes == READY {
        let directory = flags.directory.display();
        say(&format!(
            "mounted at {directory} by process {process}; `fusermount3 -u {directory}`, or `umount \
             {directory}` as root, unmounts it"
        ));
        return Ok(Exit::Done);
    }
    // It has said why.
    Ok(match child.wait()?.code() {
        Some(0) => Exit::Done,
        Some(2) => Exit::Usage,
        Some(130) => Exit::Interrupted,
        Some(_) => Exit::Failed,
        None => {
            say("sustain: the process that was to serve the mount was killed");
            Exit::Failed
        }
    })
}

/// The same command for the process in the background, which may not stay in this directory.
fn arguments(flags: &MountFlags) -> anyhow::Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = vec!["mount".into(), "--detach".into()];
    if flags.holes == MountHolesFlag::Zeros {
        arguments.push("--holes=zeros".into());
    }
    if let Some(split) = flags.split {
        arguments.push(format!("--split={split}").into());
    }
    arguments.push("--".into());
    for member in &flags.members {
        // A name that is no path is refused there, as it was typed.
        arguments.push(match Path::new(member).exists() {
            true => absolute(member)?.into(),
            false => member.into(),
        });
    }
    arguments.push(absolute(&flags.directory)?.into());
    Ok(arguments)
}

/// Tells whoever waits for it that it is mounted, and lets go of the terminal and the directory.
fn detach() -> anyhow::Result<()> {
    let failed = |what: &str| {
        let what = format!("cannot go to the background: {what}");
        move |error: std::io::Error| MountError::Failed { what, error }
    };
    std::env::set_current_dir("/").map_err(failed("changing to /"))?;
    // The leader of a session has left its terminal already.
    let _ = setsid();
    let nothing = File::options().read(true).write(true).open("/dev/null");
    let nothing = nothing.map_err(failed("opening /dev/null"))?;
    let mut output = std::io::stdout();
    output
        .write_all(READY)
        .and_then(|()| output.flush())
        .map_err(failed("nobody waits for it any more"))?;
    let streams = dup2_stdin(&nothing)
        .and_then(|()| dup2_stdout(&nothing))
        .and_then(|()| dup2_stderr(&nothing));
    streams.map_err(|errno| failed("letting go of the terminal")(errno.into()))?;
    Ok(())
}
