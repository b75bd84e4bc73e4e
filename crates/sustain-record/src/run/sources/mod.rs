//! The sources of a recording. They are opened before it begins, and each is then read in a thread
//! of its own.

mod kind;

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::JoinHandle;

use rustix::fs::{
    FileType, Mode, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, major, minor, open as open_file,
    stat,
};
use rustix::io::Errno;
use rustix::pipe::fcntl_setpipe_size;
use sustain_disk::clock::Timestamp;
use sustain_disk::engine::take_cpu_priority;
use sustain_document::setting::FROM;
use sustain_targets::Stop;

use super::RecordPlan;
use super::control::IntakeCommands;
use crate::error::RecordError;
use crate::recorder::{Intake, IntakeSetup, StreamWriter, Taken, is_readable_now};
use crate::source::SourceSpec;
use crate::source::synthetic::{Synthetic, seed_of};
use crate::store::Store;

/// The size of a pipe: a larger one needs fewer switches between its ends, and any user may have
/// this size.
const PIPE_BYTES: usize = 1 << 20;

/// A source that is ready to be read.
pub(super) enum ReadySource {
    Descriptor(OwnedFd),
    Synthetic(Synthetic),
}

impl ReadySource {
    /// Whether a sender has put something into the source that waits to be read. A file has no
    /// sender.
    pub(super) fn is_sending(&self) -> bool {
        let ReadySource::Descriptor(file) = self else {
            return false;
        };
        let is_stored = fstat(file).is_ok_and(|found| {
            let kind = FileType::from_raw_mode(found.st_mode);
            matches!(kind, FileType::RegularFile | FileType::BlockDevice)
        });
        !is_stored && is_readable_now(file.as_fd())
    }
}

/// A running intake.
pub(super) struct Running {
    thread: JoinHandle<Taken>,
}

impl Running {
    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the intake to end; returns its outcome, or its panic.
    pub(super) fn end(self) -> std::thread::Result<Taken> {
        self.thread.join()
    }
}

/// Passes on the panic of an intake, once everything that came before it is safe.
pub(super) fn passed_on(ended: Vec<std::thread::Result<Taken>>) -> Vec<Taken> {
    let ended = ended.into_iter();
    ended
        .map(|taken| taken.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        .collect()
}

/// Opens all sources, so that an unusable one is refused before anything is recorded.
pub(super) fn open(plan: &RecordPlan) -> Result<Vec<ReadySource>, RecordError> {
    let standard = plan
        .sources
        .iter()
        .filter(|source| source.source == SourceSpec::Standard);
    if standard.count() > 1 {
        let why = "standard input can be only one stream: name files or FIFOs for the others";
        return Err(RecordError::Usage(why.to_owned()));
    }
    let sources = plan.sources.iter().map(|source| match &source.source {
        SourceSpec::Synthetic(spec) => {
            let seed = seed_of(&source.stream);
            Ok(ReadySource::Synthetic(Synthetic::new(spec, seed)))
        }
        SourceSpec::Standard => {
            let standard = std::io::stdin().as_fd().try_clone_to_owned();
            let standard =
                standard.map_err(|error| refused("standard input", &error.to_string()))?;
            refuse_closed(&standard)?;
            prepare("standard input", standard)
        }
        SourceSpec::Path(path) => open_path(path),
    });
    let sources = sources.collect::<Result<Vec<ReadySource>, RecordError>>()?;
    check_pipes(plan, &sources)?;
    Ok(sources)
}

/// Refuses a closed standard input. If a process begins with its standard input closed, the Rust
/// runtime opens /dev/null in its place, for reading and writing, and the recording would be empty.
fn refuse_closed(standard: &OwnedFd) -> Result<(), RecordError> {
    const NULL: (u32, u32) = (1, 3);
    let is_null = fstat(standard).is_ok_and(|found| {
        let number = (major(found.st_rdev), minor(found.st_rdev));
        FileType::from_raw_mode(found.st_mode) == FileType::CharacterDevice && number == NULL
    });
    let access = fcntl_getfl(standard).map(|flags| flags & OFlags::RWMODE);
    if is_null && access == Ok(OFlags::RDWR) {
        let why = format!(
            "it is closed, or /dev/null: send it data, or name a source with {}",
            FROM.the()
        );
        return Err(refused("standard input", &why));
    }
    Ok(())
}

/// Refuses sources that are members of the store itself.
pub(super) fn check_members(
    plan: &RecordPlan,
    sources: &[ReadySource],
    store: &Store,
) -> Result<(), RecordError> {
    for (source, opened) in plan.sources.iter().zip(sources) {
        let ReadySource::Descriptor(file) = opened else {
            continue;
        };
        let name = name_of(&source.source, &source.typed);
        let found = fstat(file).map_err(|errno| refused(name, &errno.to_string()))?;
        if is_member(&found, store) {
            let why = "it is a member of the store that is to be recorded to";
            return Err(refused(name, why));
        }
    }
    Ok(())
}

fn name_of<'a>(source: &SourceSpec, typed: &'a str) -> &'a str {
    match source {
        SourceSpec::Standard => "standard input",
        SourceSpec::Path(_) | SourceSpec::Synthetic(_) => typed,
    }
}

/// Refuses to read one pipe or socket twice, because each byte would go to one of the readers at
/// random. A file can be read twice.
fn check_pipes(plan: &RecordPlan, sources: &[ReadySource]) -> Result<(), RecordError> {
    let mut seen: Vec<((bool, u64, u64), &str)> = Vec::new();
    for (source, opened) in plan.sources.iter().zip(sources) {
        let ReadySource::Descriptor(file) = opened else {
            continue;
        };
        let found = fstat(file).map_err(|errno| refused(&source.typed, &errno.to_string()))?;
        let what = match FileType::from_raw_mode(found.st_mode) {
            FileType::Fifo => "pipe",
            FileType::Socket => "socket",
            _ => continue,
        };
        let (pipe, typed) = (identity(&found), source.typed.as_str());
        if let Some((_, other)) = seen.iter().find(|(one, _)| *one == pipe) {
            return Err(RecordError::Usage(format!(
                "{other} and {typed} are the same {what}, which can be only one stream: name files \
                 or other FIFOs"
            )));
        }
        seen.push((pipe, typed));
    }
    Ok(())
}

fn open_path(path: &Path) -> Result<ReadySource, RecordError> {
    let name = path.display().to_string();
    // Opening a FIFO would otherwise wait for its writer, and Ctrl-C would have no effect.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open_file(path, flags, Mode::empty()).map_err(|errno| {
        let advice = match errno {
            Errno::NOENT => format!("it does not exist; check {}", FROM.the()),
            Errno::ACCESS | Errno::PERM => "permission denied".to_owned(),
            // A socket in a file system has to be connected to; it cannot be opened.
            Errno::NXIO if is_socket(path) => format!(
                "a socket cannot be recorded directly; let a program connect to it and write to a \
                 pipe: socat -u UNIX-CONNECT:{name} - | sustain record ..."
            ),
            Errno::NXIO => "the device that it names is not there".to_owned(),
            other => other.to_string(),
        };
        refused(&name, &advice)
    })?;
    prepare(&name, file)
}

fn is_socket(path: &Path) -> bool {
    stat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket)
}

fn prepare(name: &str, file: OwnedFd) -> Result<ReadySource, RecordError> {
    let found = fstat(&file).map_err(|errno| refused(name, &errno.to_string()))?;
    if let Some(why) = kind::refusal(file.as_fd(), &found) {
        return Err(refused(name, &why));
    }
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Fifo => {
            // A smaller pipe works too, only more slowly.
            let _ = fcntl_setpipe_size(&file, PIPE_BYTES);
        }
        FileType::RegularFile | FileType::BlockDevice
            if fcntl_getfl(&file).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)) =>
        {
            let _ = fcntl_setfl(&file, OFlags::empty());
        }
        _ => {}
    }
    Ok(ReadySource::Descriptor(file))
}

/// Whether the source is a member of the store. Recording a member onto its own store would never
/// end.
fn is_member(found: &Stat, store: &Store) -> bool {
    let files = store
        .members
        .iter()
        .filter_map(|member| member.target.file.as_ref());
    files
        .filter_map(|file| fstat(file).ok())
        .any(|member| identity(&member) == identity(found))
}

/// The identity of a file or device under whatever name, because a device can have many nodes.
fn identity(found: &Stat) -> (bool, u64, u64) {
    if FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice {
        (true, found.st_rdev, 0)
    } else {
        (false, found.st_dev, found.st_ino)
    }
}

fn refused(name: &str, why: &str) -> RecordError {
    RecordError::Usage(format!("{name} cannot be recorded: {why}"))
}

/// What all intakes have in common.
pub(super) struct IntakeStart<'a> {
    pub(super) start: Timestamp,
    pub(super) stop: &'a Stop,
    pub(super) commands: IntakeCommands,
    /// Whether their threads come first on the CPU.
    pub(super) comes_first: bool,
}

/// Starts an intake for each source, in a thread that comes first on the CPU if the recorder does:
/// what it reads too late, it has lost.
pub(super) fn start(
    plan: &RecordPlan,
    sources: Vec<ReadySource>,
    writers: Vec<StreamWriter>,
    begun: IntakeStart<'_>,
) -> Result<Vec<Running>, RecordError> {
    let IntakeStart {
        start,
        stop,
        commands,
        comes_first,
    } = begun;
    let intakes = plan.sources.iter().zip(sources).zip(writers);
    intakes
        .map(|((source, opened), writer)| {
            let setup = IntakeSetup {
                framing: source.framing,
                align_frames: plan.align_frames,
                on_full: plan.on_full,
                linger_ns: plan.options.durability.interval_ns / 2,
                bytes_max: plan.bytes,
                deadline: plan.time_ns.map(|time_ns| start + time_ns),
                last_wait_ns: plan.options.patience.given_up_after_ns,
                stop: stop.clone(),
                pause: commands.pause.clone(),
                split: commands.split.clone(),
            };
            let marks = commands.marks.clone();
            let intake = Intake::new(writer, setup);
            let thread = std::thread::Builder::new()
                .name(format!("sustain-{}", source.stream))
                .spawn(move || {
                    if comes_first {
                        // The recorder's thread got the same, and tells of it.
                        let _ = take_cpu_priority();
                    }
                    let taken = match opened {
                        ReadySource::Descriptor(file) => intake.read_all(&File::from(file)),
                        ReadySource::Synthetic(synthetic) => {
                            intake.run_synthetic(&synthetic, start)
                        }
                    };
                    // The stream of marks ends with the last source.
                    drop(marks);
                    taken
                });
            thread
                .map(|thread| Running { thread })
                .map_err(RecordError::Thread)
        })
        .collect()
}
