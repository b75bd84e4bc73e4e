//! Commands to a recording while it runs, over a unix socket: `sustain record --control` and
//! `sustain control`. docs/control.md describes the protocol.
//!
//! One thread serves all clients. It reads the board as every view does, and passes on what is
//! wished: to the intakes a stop and a pause, to the recorder marks, as the appends of one more
//! stream, and pins, by its desk. So whatever a client does or leaves undone, the recorder does not
//! wait for it.

mod answers;
mod client;
mod pins;
mod rates;
mod server;
mod shown;
mod socket;

use std::sync::Arc;
use std::thread::JoinHandle;

use sustain_disk::clock::Clock;
use sustain_document::setting::STREAM;
use sustain_targets::Stop;

use self::answers::Commander;
pub use self::pins::check_pin_request;
use self::rates::RateHistory;
use self::server::{ControlServer, Ender};
use self::shown::ShownState;
use self::socket::ControlSocket;
use super::RecordPlan;
use crate::error::RecordError;
use crate::format::{MARKS_STREAM, STREAMS_MAX};
use crate::recorder::{
    MarkKeeper, PauseSwitch, RecordingBoard, RecordingProgress, SplitSwitch, StreamWriter,
};

/// The socket of a recording that has not begun. Clients may connect already, and are answered when
/// it has.
pub(super) struct ControlAhead {
    socket: ControlSocket,
}

/// What the intakes get of it.
#[derive(Clone, Default)]
pub(super) struct IntakeCommands {
    pub(super) pause: PauseSwitch,
    pub(super) split: SplitSwitch,
    /// Marks can be set as long as one of the intakes has this.
    pub(super) marks: Option<Arc<MarkKeeper>>,
}

/// What is needed to serve commands.
pub(super) struct Commanded<'a> {
    board: Arc<RecordingBoard>,
    clock: &'a Clock,
    slot_bytes: u32,
    stop: &'a Stop,
}

/// The server of a running recording. It ends, and its socket goes, when this is dropped.
pub(super) struct ControlService {
    shown: Arc<ShownState>,
    ender: Ender,
    thread: Option<JoinHandle<()>>,
}

impl<'a> Commanded<'a> {
    /// A recording by its board, its clock, the slots of its store, and the wish to end it.
    pub(super) fn of(
        board: &Arc<RecordingBoard>,
        clock: &'a Clock,
        slot_bytes: u32,
        stop: &'a Stop,
    ) -> Commanded<'a> {
        Commanded {
            board: Arc::clone(board),
            clock,
            slot_bytes,
            stop,
        }
    }
}

impl ControlAhead {
    /// Listens where the plan asks for it, so that what is wrong there is refused before anything
    /// is done. A dry run only looks.
    ///
    /// # Errors
    /// [`RecordError::Usage`], [`RecordError::Silent`].
    pub(super) fn open(plan: &RecordPlan) -> Result<Option<ControlAhead>, RecordError> {
        let Some(path) = &plan.control else {
            return Ok(None);
        };
        check_streams(plan)?;
        if plan.dry_run {
            ControlSocket::check(path)?;
            return Ok(None);
        }
        let socket = ControlSocket::open(path)?;
        Ok(Some(ControlAhead { socket }))
    }

    /// Begins to serve. `marks` is the writer of the marks' stream.
    ///
    /// # Errors
    /// [`RecordError::Thread`].
    pub(super) fn serve(
        self,
        marks: StreamWriter,
        commanded: Commanded<'_>,
    ) -> Result<(ControlService, IntakeCommands), RecordError> {
        let Commanded {
            board,
            clock,
            slot_bytes,
            stop,
        } = commanded;
        let marks = Arc::new(MarkKeeper::new(marks, Arc::clone(&board)));
        let pause = PauseSwitch::default();
        let known = Arc::downgrade(&marks);
        let split = SplitSwitch::with_marks(known.clone());
        let shown = ShownState::new(pause.clone(), known.clone(), clock.clone());
        let shown = Arc::new(shown);
        let (ender, end) = Ender::pair().map_err(RecordError::Thread)?;
        let server = ControlServer {
            socket: self.socket,
            end,
            commander: Commander {
                board,
                shown: Arc::clone(&shown),
                stop: stop.clone(),
                marks: known,
                rates: RateHistory::default(),
                split: split.clone(),
                slot_bytes,
                splitting: None,
            },
        };
        let thread = std::thread::Builder::new()
            .name("sustain-control".to_owned())
            .spawn(move || server.run())
            .map_err(RecordError::Thread)?;
        let service = ControlService {
            shown,
            ender,
            thread: Some(thread),
        };
        let marks = Some(marks);
        let commands = IntakeCommands {
            pause,
            split,
            marks,
        };
        Ok((service, commands))
    }
}

impl ControlService {
    /// Completes a state of the recording that the monitor has seen.
    pub(super) fn complete(&self, standing: RecordingProgress) -> RecordingProgress {
        self.shown.complete_seen(standing)
    }
}

impl Drop for ControlService {
    fn drop(&mut self) {
        self.ender.end();
        if let Some(thread) = self.thread.take() {
            // A panic there has ended the commands, and is no reason to lose the result.
            let _ = thread.join();
        }
    }
}

/// Begins to serve, if commands are asked for. The marks have the last of the writers then.
///
/// # Errors
/// [`RecordError::Thread`].
pub(super) fn serve(
    ahead: Option<ControlAhead>,
    writers: &mut Vec<StreamWriter>,
    commanded: Commanded<'_>,
) -> Result<(Option<ControlService>, IntakeCommands), RecordError> {
    let (Some(ahead), Some(marks)) = (
        ahead,
        writers.pop_if(|writer| writer.name() == MARKS_STREAM),
    ) else {
        return Ok((None, IntakeCommands::default()));
    };
    let (service, commands) = ahead.serve(marks, commanded)?;
    Ok((Some(service), commands))
}

/// Marks take one stream of those that a recording may have.
fn check_streams(plan: &RecordPlan) -> Result<(), RecordError> {
    let usage = |why: String| Err(RecordError::Usage(why));
    if plan
        .sources
        .iter()
        .any(|source| source.stream == MARKS_STREAM)
    {
        return usage(format!(
            "a recording that can be commanded keeps its marks in a stream named {MARKS_STREAM}: \
             give yours another name ({STREAM})"
        ));
    }
    if plan.sources.len() >= STREAMS_MAX {
        return usage(format!(
            "a recording that can be commanded has at most {} streams, because its marks are one \
             more: {} are too many",
            STREAMS_MAX - 1,
            plan.sources.len()
        ));
    }
    Ok(())
}
