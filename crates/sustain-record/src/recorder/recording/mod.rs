//! A recording on real time: the recorder in a thread of its own, its streams in the hands of
//! whoever has the data.
//!
//! ```no_run
//! use sustain_host::Roots;
//! use sustain_record::recorder::{RecordOptions, Recorder};
//! use sustain_record::store::{Mode, Store};
//!
//! let store = Store::open(["/dev/sdb1"], Mode::Record, &Roots::default())?;
//! let mut recorder = Recorder::start(store, ["camera"], RecordOptions::default())?;
//! let mut camera = recorder.writer("camera")?;
//! while let Some(mut filling) = camera.lend() {
//!     let count = filling.spare_mut().len();
//!     filling.spare_mut()[..count].fill(7); // the camera writes here
//!     filling.take(count, &[], camera.now_ns());
//!     camera.commit(filling);
//!     if camera.offered_bytes() > 1_000_000_000 {
//!         break;
//!     }
//! }
//! drop(camera);
//! let recorded = recorder.finish()?;
//! println!("{:?}", recorded.standing.streams);
//! # Ok::<(), sustain_record::error::RecordError>(())
//! ```

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use sustain_disk::buffer::SharedPool;
use sustain_disk::clock::UnixClock;
use sustain_disk::driver::Ending;
use sustain_disk::units::Size;
use sustain_document::record::RecordingEnd;
use sustain_document::setting::{BUFFER, DEPTH, SLOT, STREAM};
use sustain_document::share::ShareResult;
use uuid::Uuid;

use super::board::RecordingBoard;
use super::channel::{ChannelInlet, Exchange};
use super::cuts::StreamCuts;
use super::earlier::Earlier;
use super::engine_setup::{EngineSetup, OpenedEngine};
use super::feed::{RecordSetup, StreamSetup, start_bytes_max, start_room_bytes};
use super::gauge::BufferGauge;
use super::job::{ReadyRecorder, RecorderJob};
use super::member::MemberSetup;
use super::member_file::MemberFile;
use super::options::{
    RecordOptions, append_bytes, check_append_size, check_parity, check_room, longest_append_bytes,
    parity_setup,
};
use super::recorded::Recorded;
use super::scatter::ScatterWindow;
use super::stream_writer::{EDGE_BYTES, StreamWriter};
use super::superblock_writer::SuperblockWriter;
use super::user_marks::line_bytes_max;
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, MARK_BYTES_MAX, SEAL_BYTES, STREAMS_MAX, payload_room};
use crate::store::Store;

/// The same bound as for `sustain measure`.
const DEPTH_MAX: u32 = 4096;
/// Number of small buffers, two for each piece of the caller's memory in flight.
const EDGES: usize = 128;

impl StreamSetup {
    /// A stream of bytes without frames.
    pub fn plain(name: &str) -> StreamSetup {
        StreamSetup {
            name: name.to_owned(),
            framing: "none".to_owned(),
            source: None,
        }
    }
}

impl From<&str> for StreamSetup {
    fn from(name: &str) -> StreamSetup {
        StreamSetup::plain(name)
    }
}

/// A running recording.
///
/// If this is dropped, it goes on until the writers that were taken are dropped too; only
/// [`Recorder::finish`] returns its outcome. A process that exits before that leaves a recording
/// with an open end, without what was not durable yet.
pub struct Recorder {
    board: Arc<RecordingBoard>,
    share: ShareResult,
    /// The writers that nobody has taken yet.
    writers: Vec<StreamWriter>,
    gauge: BufferGauge,
    thread: RecorderThread,
}

/// The recorder's thread, and the outcome that it hands over before it ends. The kernel may hold
/// the thread at its end for as long as a member does not return what it was given.
struct RecorderThread {
    handle: JoinHandle<()>,
    outcome: Receiver<Result<Recorded, RecordError>>,
}

impl RecorderThread {
    /// Waits for the outcome.
    fn finish(self) -> Result<Recorded, RecordError> {
        self.outcome.recv().unwrap_or_else(|_| {
            let panic = self.handle.join().expect_err("it ends with an outcome");
            std::panic::resume_unwind(panic)
        })
    }
}

impl Recorder {
    /// Begins a recording on a store that is open for it. A stream may be given by its name alone.
    ///
    /// # Errors
    /// [`RecordError::Usage`] for impossible streams or sizes and for a store that is full,
    /// [`RecordError::Engine`] when the members cannot be driven.
    pub fn start(
        store: Store,
        streams: impl IntoIterator<Item = impl Into<StreamSetup>>,
        options: RecordOptions,
    ) -> Result<Recorder, RecordError> {
        let streams = streams.into_iter().map(Into::into).collect();
        let superblocks = SuperblockWriter {
            open_io: Box::new(Store::io),
            patience: options.patience,
        };
        Recorder::start_on(
            store,
            streams,
            options,
            |store, setup: &EngineSetup| setup.open(store),
            superblocks,
        )
    }

    /// Begins a recording on engines that are opened in the recorder's thread: one for the
    /// recording, one for superblocks.
    pub(super) fn start_on<O>(
        mut store: Store,
        streams: Vec<StreamSetup>,
        options: RecordOptions,
        open_engine: O,
        superblocks: SuperblockWriter,
    ) -> Result<Recorder, RecordError>
    where
        O: FnMut(&Store, &EngineSetup) -> Result<OpenedEngine, RecordError> + Send + 'static,
    {
        check(&store, &streams, &options)?;
        let clock = store.clock().clone();
        let unix_clock = UnixClock::read(&clock);
        let bytes_max = longest_append_bytes(&store, &options);
        let append_bytes = append_bytes(&store, &options) as usize;
        let count = (options.buffer_bytes / append_bytes as u64).max(2) as usize;
        let pool = SharedPool::new(count, append_bytes)?;
        let edges = SharedPool::new(EDGES, EDGE_BYTES)?;
        let exchange = Arc::new(Exchange::new(pool, edges, streams.len()));
        let gauge = exchange.gauge.clone();
        let (messages, received) = crossbeam_channel::unbounded();
        // Memory goes back to the stream that gave it.
        let (returned, given_back): (Vec<_>, Vec<_>) = streams
            .iter()
            .map(|_| crossbeam_channel::unbounded())
            .unzip();
        let inlet = ChannelInlet {
            messages: received,
            returned,
            exchange: Arc::clone(&exchange),
            cuts: StreamCuts::new(streams.len()),
            ending: None,
            is_draining: false,
        };
        let edge_bytes = EDGE_BYTES.min(bytes_max as usize / 4);
        let given_bytes_max = bytes_max as usize - BLOCK_BYTES - edge_bytes;
        let writers =
            streams
                .iter()
                .zip(given_back)
                .enumerate()
                .map(|(index, (stream, returned))| StreamWriter {
                    stream: index as u16,
                    name: stream.name.clone(),
                    next_offset_bytes: 0,
                    before_bytes: 0,
                    gap: None,
                    clock: clock.clone(),
                    unix_clock,
                    messages: messages.clone(),
                    returned,
                    exchange: Arc::clone(&exchange),
                    append_bytes,
                    given_bytes_max: given_bytes_max - SEAL_BYTES,
                    edge_bytes,
                    copied_bytes: 0,
                    ending: Ending::Source,
                });
        let writers = writers.collect();
        let (ready, is_ready) = crossbeam_channel::bounded(1);
        let setup = setup(&mut store, streams, &options, unix_clock)?;
        check_start(&setup, store.slot_bytes)?;
        check_files(&setup)?;
        let job = RecorderJob {
            setup,
            store,
            inlet,
            exchange,
            options,
            superblocks,
        };
        let (ended, outcome) = crossbeam_channel::bounded(1);
        let handle = std::thread::Builder::new()
            .name("sustain-record".to_owned())
            .spawn(move || {
                // Who has dropped the recorder does not want it.
                let _ = ended.send(job.run(Box::new(open_engine), &ready));
            })
            .map_err(RecordError::Thread)?;
        let thread = RecorderThread { handle, outcome };
        await_ready(&is_ready, thread, writers, gauge)
    }

    /// The board, which shows watermarks and gaps while the recording runs. Callers may wait for
    /// them there.
    pub fn board(&self) -> Arc<RecordingBoard> {
        Arc::clone(&self.board)
    }

    /// How much of the buffer is in use.
    pub fn gauge(&self) -> BufferGauge {
        self.gauge.clone()
    }

    /// What the recorder's thread has taken for itself, without a word on what the members make of
    /// it.
    pub fn share(&self) -> &ShareResult {
        &self.share
    }

    /// Takes the writer of the stream of this name, which may go to any thread.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if the recording has no such stream, or its writer has been taken.
    pub fn writer(&mut self, name: &str) -> Result<StreamWriter, RecordError> {
        let mut writers = self.writers.iter();
        if let Some(index) = writers.position(|writer| writer.name() == name) {
            return Ok(self.writers.remove(index));
        }
        let streams = self.board.read().streams;
        let names: Vec<&str> = streams.iter().map(|one| one.name.as_str()).collect();
        Err(RecordError::Usage(if names.contains(&name) {
            format!("the writer of stream {name:?} has been taken already: each stream has one")
        } else {
            let names = names.join(", ");
            format!("the recording has no stream {name:?}: its streams are {names}")
        }))
    }

    /// Takes the writers that are left, in the order of the streams.
    pub fn writers(&mut self) -> Vec<StreamWriter> {
        std::mem::take(&mut self.writers)
    }

    /// Waits for the end: all writers must be finished or dropped, or the store be full. Streams
    /// whose writers nobody has taken end here.
    ///
    /// # Errors
    /// [`RecordError::Engine`] if the members could not be driven to the end. Members that failed
    /// are in the result instead.
    ///
    /// # Panics
    /// If the recorder's thread has panicked.
    pub fn finish(self) -> Result<Recorded, RecordError> {
        drop(self.writers);
        self.thread.finish()
    }
}

/// Waits until the recorder's thread has opened its engine. If it could not, the writers are
/// dropped.
fn await_ready(
    is_ready: &Receiver<ReadyRecorder>,
    thread: RecorderThread,
    writers: Vec<StreamWriter>,
    gauge: BufferGauge,
) -> Result<Recorder, RecordError> {
    match is_ready.recv() {
        Ok(ReadyRecorder { board, share }) => Ok(Recorder {
            board,
            share,
            writers,
            gauge,
            thread,
        }),
        // The thread ended before it was ready, so it has an error to report.
        Err(_) => {
            drop(writers);
            thread
                .finish()
                .map(|_| unreachable!("ready before its end"))
        }
    }
}

fn check(
    store: &Store,
    streams: &[StreamSetup],
    options: &RecordOptions,
) -> Result<(), RecordError> {
    check_parity(store, options)?;
    check_append_size(store, options)?;
    check_room(store, options)?;
    let usage = |why: String| Err(RecordError::Usage(why));
    if streams.is_empty() || streams.len() > STREAMS_MAX {
        return usage(format!(
            "a recording has 1 to {STREAMS_MAX} streams, not {}",
            streams.len()
        ));
    }
    for (index, stream) in streams.iter().enumerate() {
        let is_twice = streams[..index].iter().any(|one| one.name == stream.name);
        if stream.name.is_empty() {
            return usage(format!("a stream has no name: use {}", STREAM.to("NAME")));
        }
        if is_twice {
            return usage(format!(
                "two streams are called {:?}: give each a name of its own by {}",
                stream.name,
                STREAM.to("NAME")
            ));
        }
    }
    check_marks_fit(store, streams, options)?;
    // Each stream fills one append, and one more is on its way. Marks bring their own memory.
    let filling = streams.iter().filter(|stream| !stream.is_marks());
    let appends = filling.count() as u64 + 1;
    let least = appends * u64::from(append_bytes(store, options));
    if options.buffer_bytes < least {
        let (least, append) = (Size(least), Size(append_bytes(store, options).into()));
        let what = format!(
            "at least {least} for these streams: an append of {append} for each, and one on its way"
        );
        return usage(BUFFER.must_be(what));
    }
    if !(1..=DEPTH_MAX).contains(&options.depth) {
        return usage(DEPTH.must_be(format_args!("from 1 to {DEPTH_MAX}")));
    }
    Ok(())
}

/// Checks that a mark, which has the names of all streams, fits into an append.
fn check_marks_fit(
    store: &Store,
    streams: &[StreamSetup],
    options: &RecordOptions,
) -> Result<(), RecordError> {
    if !streams.iter().any(StreamSetup::is_marks) {
        return Ok(());
    }
    let names = streams.iter().filter(|stream| !stream.is_marks());
    let most = line_bytes_max(names.map(|stream| stream.name.as_str()));
    // Beside the line there are the two marks of its frame.
    let room = payload_room(append_bytes(store, options) as usize) - 2 * MARK_BYTES_MAX;
    if most <= room {
        return Ok(());
    }
    Err(RecordError::Usage(format!(
        "a mark of a user has the names of all streams, which may take {most} bytes here, and only \
         {room} fit into an append: use shorter names ({STREAM})"
    )))
}

/// Checks that the start's note about the streams fits into a start.
fn check_start(setup: &RecordSetup, slot_bytes: u32) -> Result<(), RecordError> {
    let (bytes, most) = (start_bytes_max(setup), start_room_bytes(slot_bytes));
    if bytes <= most {
        return Ok(());
    }
    Err(RecordError::Usage(format!(
        "the descriptions of these streams take {bytes} bytes and must not take more than \
         {most} on this store: use shorter names ({STREAM}), or a store with larger slots ({SLOT} \
         of `sustain create`)"
    )))
}

/// What was deleted or cut off since it was opened would take every byte and keep none.
fn check_files(setup: &RecordSetup) -> Result<(), RecordError> {
    let is_harmed = |member: &&MemberSetup| {
        let harm = member.file.as_ref().and_then(MemberFile::harm);
        harm.is_some()
    };
    let Some(member) = setup.members.iter().find(is_harmed) else {
        return Ok(());
    };
    let why = "it was deleted or cut off since it was opened, and nothing was recorded: name the \
               members of a store that is there";
    Err(RecordError::member(&member.name, why))
}

fn setup(
    store: &mut Store,
    streams: Vec<StreamSetup>,
    options: &RecordOptions,
    unix_clock: UnixClock,
) -> Result<RecordSetup, RecordError> {
    let earlier = if options.ring {
        Earlier::of_store(store)?
    } else {
        Vec::new()
    };
    let parity = parity_setup(store, options);
    if parity.is_some() {
        store.note_parity();
    }
    Ok(RecordSetup {
        store: store.id,
        members: MemberSetup::of_store(store),
        streams,
        recording: store.next_recording(),
        recording_id: Uuid::new_v4(),
        first_sequence: store.first_sequence(),
        ring: options.ring,
        outlasts_pins: options.outlasts_pins,
        absent: store.absent(),
        earlier,
        durability: options.durability,
        parity,
        window: ScatterWindow {
            depth: options.depth,
            time_ns: options.window_ns,
        },
        patience: options.patience,
        unix_clock,
        start: store.clock().now(),
        tool: options.tool.clone(),
    })
}

/// Why a recording ended, in the result and in the end mark. `is_cut` says that another one follows
/// it.
pub(crate) fn recording_end(ending: Ending, is_cut: bool) -> RecordingEnd {
    match ending {
        Ending::Source if is_cut => RecordingEnd::Split,
        Ending::Source => RecordingEnd::Source,
        Ending::Time => RecordingEnd::Time,
        Ending::Bytes => RecordingEnd::Bytes,
        Ending::Full | Ending::EndOfDevice => RecordingEnd::Full,
        Ending::Interrupted => RecordingEnd::Signal,
        // A recording does not end because it is steady.
        Ending::Error | Ending::Steady => RecordingEnd::Error,
    }
}

#[cfg(test)]
mod tests;
