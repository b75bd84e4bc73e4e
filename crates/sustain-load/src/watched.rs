//! Runs the work of an experiment on open targets while the monitor watches the system and the
//! displays draw beside the work. Every command that drives disks runs in here.

use std::path::Path;

use sustain_disk::target::TargetKind;
use sustain_document::host::{Host, TargetFileSystem};
use sustain_host::{Roots, file_system_of};
use sustain_targets::{Counted, Growing, Monitor, counted, devices_under, fit_free_space};

use crate::observer::{RunObserver, beside};
use crate::open_target::OpenTarget;
use crate::session::Session;

/// What a run has at its disposal when its work begins.
pub struct WatchedRun<'a> {
    /// The open targets.
    pub session: &'a mut Session,
    /// The monitor of the system, which has begun to watch.
    pub monitor: &'a mut Monitor,
    /// The machine as it is now.
    pub host: Host,
}

/// Lets a run do its work on open targets while observers draw it. First they are given the notes
/// for the user. Files that were created for the run are kept if it has a result.
///
/// # Errors
/// The error of the work.
pub fn run_watched<E: RunObserver, T, F>(
    session: &mut Session,
    roots: &Roots,
    observer: &mut (dyn FnMut(E) + Send),
    work: impl FnOnce(WatchedRun<'_>, &mut (dyn FnMut(E) + Send)) -> Result<T, F>,
) -> Result<T, F> {
    let clock = session.clock.clone();
    let result = beside(&clock, observer, |observer| {
        let host = host(session, roots);
        let mut monitor = Monitor::start(roots, &clock, &host.devices, once(session, roots));
        let unreadable = monitor.unreadable().map(str::to_owned);
        for note in session.notes.iter().cloned().chain(unreadable) {
            observer(E::note(note));
        }
        let begun = WatchedRun {
            session,
            monitor: &mut monitor,
            host,
        };
        work(begun, observer)
    });
    if result.is_ok() {
        session.created.keep();
    }
    result
}

/// The devices whose counters see each request to the targets exactly once.
fn once(session: &Session, roots: &Roots) -> Counted {
    let places = session.targets.iter();
    let places = places.map(|target| (&target.target, target.path.as_deref()));
    counted(places, roots)
}

/// The machine, with the disks under the targets.
fn host(session: &Session, roots: &Roots) -> Host {
    let places = session.targets.iter();
    let places = places.map(|target| (&target.target, target.path.as_deref()));
    let devices = devices_under(places, roots);
    let file_systems = file_systems(session, roots);
    let description = if session.clock.is_virtual() {
        None
    } else {
        sustain_host::describe_host(roots).ok()
    };
    Host {
        description,
        devices,
        file_systems,
    }
}

/// The file systems of the files among the targets, and the sizes that the files may reach there.
fn file_systems(session: &Session, roots: &Roots) -> Vec<TargetFileSystem> {
    let is_file = |target: &&OpenTarget| {
        matches!(
            target.target.kind,
            TargetKind::File | TargetKind::ScratchFile
        )
    };
    let files = session.targets.iter().filter(is_file);
    let files = files.filter_map(|file| Some((file, file.path.as_deref()?)));
    let files: Vec<(&OpenTarget, &Path)> = files.collect();
    let growing = files.iter().map(|(file, path)| Growing {
        target: &file.target,
        path,
        wanted_bytes: u64::MAX,
        unit_bytes: 1,
    });
    let growing: Vec<Growing<'_>> = growing.collect();
    // If a file system does not report its free space, that space is unknown, and the target is
    // measured nevertheless.
    let rooms = fit_free_space(&growing).unwrap_or_else(|_| vec![None; files.len()]);
    let found = files.iter().zip(rooms).filter_map(|((file, path), room)| {
        Some(TargetFileSystem {
            target: file.target.name.clone(),
            file_system: file_system_of(roots, path).ok()?,
            room_bytes: room.map(|fitted| fitted.size_bytes),
        })
    });
    found.collect()
}
