//! What recorders tell, on the readers' side.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_disk::engine::{Engine, RecorderBacklog, YieldingEngine};
use sustain_disk::target::Target;
use sustain_host::{DeviceNumber, Roots};

use super::{FIRST_LINE_BYTES, NAME_END, NAME_START, directories};
use crate::devices::{devices_under, whole_disks};

/// Recorders that begin or end are looked for this often.
const SEARCH_EVERY_NS: u64 = 1_000_000_000;
/// No recorder has more to tell.
const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The recorders on some disks.
#[derive(Debug)]
pub struct RecordersBeside {
    directories: Vec<PathBuf>,
    disks: Vec<DeviceNumber>,
    found: Vec<FoundRecorder>,
    searched_at: Option<Timestamp>,
}

#[derive(Debug)]
struct FoundRecorder {
    process: u32,
    file: File,
}

impl RecordersBeside {
    /// Those on these disks, at any time from now on.
    #[must_use]
    pub fn on(disks: Vec<DeviceNumber>) -> RecordersBeside {
        RecordersBeside::within(directories(), disks)
    }

    pub(super) fn within(directories: Vec<PathBuf>, disks: Vec<DeviceNumber>) -> RecordersBeside {
        RecordersBeside {
            directories,
            disks,
            found: Vec::new(),
            searched_at: None,
        }
    }

    /// Those on the disks under these targets. Each comes with its path in the file system, if it
    /// has one.
    pub fn under<'a>(
        targets: impl IntoIterator<Item = (&'a Target, Option<&'a Path>)>,
        roots: &Roots,
    ) -> RecordersBeside {
        let disks = whole_disks(&devices_under(targets, roots)).into_iter();
        RecordersBeside::on(disks.map(|(_, number)| number).collect())
    }

    /// An engine that reads from these disks and yields to their recorders.
    pub fn let_pass(self, engine: Box<dyn Engine>, clock: &Clock) -> Box<dyn Engine> {
        if self.disks.is_empty() {
            return engine;
        }
        Box::new(YieldingEngine::new(engine, self, clock.clone()))
    }

    /// What a reader should know before it begins, if somebody records there.
    pub fn note(&mut self) -> Option<String> {
        let processes: Vec<String> = self.processes().iter().map(u32::to_string).collect();
        match processes.as_slice() {
            [] => None,
            [one] => Some(format!(
                "process {one} is recording on this disk: reads wait whenever its data has to wait"
            )),
            several => Some(format!(
                "processes {} are recording on this disk: reads wait whenever their data has to \
                 wait",
                several.join(", ")
            )),
        }
    }

    /// The processes that record on these disks now.
    pub fn processes(&mut self) -> Vec<u32> {
        self.search();
        self.found.iter().map(|found| found.process).collect()
    }

    fn search(&mut self) {
        self.found.clear();
        for directory in &self.directories {
            // Where there is no directory nobody records.
            for file in fs::read_dir(directory).into_iter().flatten().flatten() {
                self.found.extend(recorder(&file.path(), &self.disks));
            }
        }
    }
}

impl RecorderBacklog for RecordersBeside {
    fn part(&mut self, now: Timestamp) -> Option<f64> {
        let is_due = |at: Timestamp| now.since_ns(at) >= SEARCH_EVERY_NS;
        if self.searched_at.is_none_or(is_due) {
            self.searched_at = Some(now);
            self.search();
        }
        let parts = self.found.iter().filter_map(|found| waiting(&found.file));
        parts.max_by(f64::total_cmp)
    }
}

/// The recorder of a file, if it lives and records on one of these disks. A file of one that was
/// killed is removed, as far as this user may.
///
/// The lock alone tells whether it lives. Its process may be hidden from this one, by `hidepid` or
/// by a namespace.
fn recorder(path: &Path, disks: &[DeviceNumber]) -> Option<FoundRecorder> {
    let name = path.file_name()?.to_str()?;
    let numbers = name.strip_prefix(NAME_START)?.strip_suffix(NAME_END)?;
    let process: u32 = numbers.split('-').next()?.parse().ok()?;
    // A name may stand for anything, and a pipe would be waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    (&file)
        .take(TEXT_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        let _ = fs::remove_file(path);
        return None;
    }
    let disk = |line: &str| -> Option<DeviceNumber> {
        let (major, minor) = line.strip_prefix("disk ")?.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let is_beside = text
        .lines()
        .filter_map(disk)
        .any(|disk| disks.contains(&disk));
    is_beside.then_some(FoundRecorder { process, file })
}

/// The part of its buffer that waits.
fn waiting(file: &File) -> Option<f64> {
    let mut line = [0; FIRST_LINE_BYTES];
    file.read_exact_at(&mut line, 0).ok()?;
    let text = std::str::from_utf8(&line).ok()?;
    let (waiting, buffer) = text.trim_end().split_once(' ')?;
    let (waiting, buffer): (u64, u64) = (waiting.parse().ok()?, buffer.parse().ok()?);
    Some(waiting as f64 / buffer.max(1) as f64)
}
