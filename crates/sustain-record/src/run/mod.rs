//! One recording from its sources to its result, for `sustain record`. It opens the store and the
//! sources, runs the recorder and an intake for each source, and monitors the machine meanwhile. It
//! never prints; it sends events to an observer.

mod conclude;
mod control;
mod follow;
mod frames;
mod hold_back;
mod host;
mod left_free;
mod need;
mod note_words;
mod open;
mod samples;
mod share;
mod sources;

pub use control::check_pin_request;
use control::{Commanded, ControlAhead};
use follow::{FollowedRun, not_before};
use hold_back::HoldingBack;
use need::NeedPublisher;
use open::{OpenedRun, open};
use samples::Samples;
pub use sustain_hold_back::{SupervisorCommand, supervise as put_back_limits};

use std::path::{Path, PathBuf};

use sustain_disk::clock::process_cpu_ns;
use sustain_disk::target::{DataPath, Target};
use sustain_document::record::RecordResult;
use sustain_host::Roots;
use sustain_targets::{Monitor, Stop, counted, devices_under};

use crate::error::RecordError;
use crate::recorder::{
    Durability, OnFull, RecordOptions, Recorder, RecordingProgress, StreamSetup,
};
use crate::source::SourceSpec;
use crate::source::framing::Framing;
use crate::store::{OpenMember, Store};

/// The idle machine is monitored for this long before and after the recording, if it is at all.
const IDLE_NS: u64 = 1_000_000_000;

/// One source and its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePlan {
    /// The source as typed.
    pub typed: String,
    /// The source that the text means.
    pub source: SourceSpec,
    /// The stream's name.
    pub stream: String,
    /// How its frames are told apart.
    pub framing: Framing,
}

impl SourcePlan {
    /// A source of bytes without frames, such as a pipe, a file or a device.
    pub fn path(path: impl Into<PathBuf>, stream: &str) -> SourcePlan {
        let path = path.into();
        SourcePlan {
            typed: path.display().to_string(),
            source: SourceSpec::Path(path),
            stream: stream.to_owned(),
            framing: Framing::None,
        }
    }
}

/// The request to record.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// The store's members, or a directory in which a store is created.
    pub members: Vec<String>,
    /// The sources, at least one.
    pub sources: Vec<SourcePlan>,
    /// Whether each frame begins at a block boundary of the member that it lies on.
    pub align_frames: bool,
    /// What to do when no memory is free.
    pub on_full: OnFull,
    /// The recording ends after this time.
    pub time_ns: Option<u64>,
    /// Each stream ends after so many bytes.
    pub bytes: Option<u64>,
    /// How the recorder works.
    pub options: RecordOptions,
    /// Whether to go on although members are missing, as many as parity replaces.
    pub degraded: bool,
    /// The I/O path to the members.
    pub path: DataPath,
    /// Size of a store that is created in a directory.
    pub size_bytes: Option<u64>,
    /// Whether other programs are held back while the disks are short, and by which program their
    /// limits are put back if this one is killed.
    pub hold_back: Option<SupervisorCommand>,
    /// The path of a socket over which the recording can be commanded while it runs. It gets a
    /// stream more then, with the marks that users set.
    pub control: Option<PathBuf>,
    /// Whether to say only what would be done.
    pub dry_run: bool,
    /// Whether the idle machine is monitored for a second before the first byte and a second after
    /// the last, for the result. Without it the recording begins and ends at once.
    pub watches_idle: bool,
    /// The arguments as typed, for the result.
    pub arguments: Vec<String>,
}

impl RecordPlan {
    /// A plan to record these sources on the store of these members, with the defaults of the
    /// command line.
    pub fn new(
        members: impl IntoIterator<Item = impl Into<String>>,
        sources: impl IntoIterator<Item = SourcePlan>,
    ) -> RecordPlan {
        RecordPlan {
            members: members.into_iter().map(Into::into).collect(),
            sources: sources.into_iter().collect(),
            ..RecordPlan::default()
        }
    }
}

/// How the recorder works: with sources that lose what finds no memory, it need not end where pins
/// keep all of a ring.
fn options(plan: &RecordPlan) -> RecordOptions {
    RecordOptions {
        outlasts_pins: plan.on_full == OnFull::Drop,
        ..plan.options.clone()
    }
}

/// Events during a recording.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordEvent {
    /// A note for the user.
    Note(String),
    /// A store is being created: bytes written so far, and bytes in all.
    Preparing(u64, u64),
    /// The state of the recording, after each flush and a few times a second.
    Standing(Box<RecordingProgress>),
}

/// The function that receives the events.
pub type RecordObserver<'a> = dyn FnMut(RecordEvent) + 'a;

/// Records until the sources end, the plan's bounds are reached, the store is full, or `stop` ends
/// it. A dry run has no result, only notes that say what would be done.
///
/// # Errors
/// [`RecordError`] if the recording cannot begin, or the members cannot be driven any more. Lost
/// bytes and failed members are in the result instead.
pub fn record(
    plan: &RecordPlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut RecordObserver<'_>,
) -> Result<Option<RecordResult>, RecordError> {
    let cpu_before_ns = process_cpu_ns();
    let control = ControlAhead::open(plan)?;
    let Some(opened) = open(plan, roots, stop, observer)? else {
        return Ok(None);
    };
    let OpenedRun {
        store,
        sources,
        mut notes,
    } = opened;
    let targets = || store.members.iter().map(target_of);
    let clock = store.clock().clone();
    let devices = devices_under(targets(), roots);
    let once = counted(targets(), roots);
    let host = host::host(&store, &devices, roots);
    let mut monitor = Monitor::start(roots, &clock, &devices, once);
    if let Some(why) = monitor.unreadable() {
        notes.push(note_words::kernel_log_unreadable(why));
    }
    // A source that cannot wait may lose what it sends before it is read, and its pipe is soon
    // full.
    let is_urgent = || sources.iter().any(sources::ReadySource::is_sending);
    let idle_ns = if plan.watches_idle { IDLE_NS } else { 0 };
    monitor.idle_while(idle_ns, &mut |_| stop.reason().is_none() && !is_urgent());
    let on_members = share::on_members(plan, &store, roots);
    let mut holding = HoldingBack::prepare(plan, &store, &devices, roots);
    let (usual_bytes, slot_bytes) = (need::usual_bytes(plan, &store), store.slot_bytes);
    let marks = control.iter().map(|_| StreamSetup::marks());
    let streams = plan.sources.iter().map(stream_of).chain(marks);
    let mut recorder = Recorder::start(store, streams, options(plan))?;
    let mut writers = recorder.writers();
    let (board, start) = (recorder.board(), clock.now());
    let commanded = Commanded::of(&board, &clock, slot_bytes, stop);
    let (service, commands) = control::serve(control, &mut writers, commanded)?;
    let mut share = share::taken(&recorder, on_members, &holding);
    holding.watch(recorder.gauge(), share.takes());
    let need = NeedPublisher::start(plan, &devices, usual_bytes, &recorder);
    let intake_start = sources::IntakeStart {
        start,
        stop,
        commands,
        comes_first: share.takes(),
    };
    let intakes = sources::start(plan, sources, writers, intake_start)?;
    share::report(&share, observer);
    let mut samples = Samples::default();
    let followed = FollowedRun {
        board: &board,
        clock: &clock,
        service: service.as_ref(),
    };
    let reported_s = followed.follow(&intakes, &mut monitor, &mut samples, observer);
    let ended: Vec<_> = intakes.into_iter().map(sources::Running::end).collect();
    let recorded = recorder.finish()?;
    drop(need);
    share.hold_back = holding.finish();
    let taken = sources::passed_on(ended);
    let last = followed.complete(not_before(board.read(), reported_s));
    drop(service);
    observer(RecordEvent::Standing(Box::new(last.clone())));
    samples.take(&last, true);
    monitor.idle(idle_ns, stop, &mut |_| ());
    let seen = conclude::RunObservations {
        samples: samples.kept,
        host,
        share,
        system: conclude::since(monitor.finish(recorded.begun_at), &recorded),
        notes,
        cpu_ns: process_cpu_ns() - conclude::cpu_before_ns(&recorded, cpu_before_ns),
    };
    Ok(Some(conclude::result(plan, &recorded, &taken, seen)))
}

/// The target of a member, and the path by which it was given.
fn target_of(member: &OpenMember) -> (&Target, Option<&Path>) {
    (&member.target, Some(Path::new(&member.name)))
}

/// The members and their paths.
fn places(store: &Store) -> impl Iterator<Item = (&Target, Option<&Path>)> {
    let members = store.members.iter();
    members.map(|member| (&member.target, Some(Path::new(&member.name))))
}

fn stream_of(plan: &SourcePlan) -> StreamSetup {
    StreamSetup {
        name: plan.stream.clone(),
        framing: plan.framing.name().to_owned(),
        source: matches!(plan.source, SourceSpec::Synthetic(_)).then(|| plan.typed.clone()),
    }
}

impl Default for RecordPlan {
    fn default() -> RecordPlan {
        RecordPlan {
            members: Vec::new(),
            sources: Vec::new(),
            align_frames: false,
            on_full: OnFull::Block,
            time_ns: None,
            bytes: None,
            options: RecordOptions {
                durability: Durability::default(),
                ..RecordOptions::default()
            },
            degraded: false,
            path: DataPath::Direct,
            size_bytes: None,
            hold_back: None,
            control: None,
            dry_run: false,
            watches_idle: false,
            arguments: Vec::new(),
        }
    }
}
