//! The channel between the threads of the sources and the thread of the recorder. Filled appends go
//! one way, free memory comes back the other way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, TryRecvError};
use sustain_disk::buffer::{Buffer, SharedPool, StableBytes};
use sustain_disk::clock::Timestamp;
use sustain_disk::driver::Ending;
use sustain_disk::engine::Waker;

use super::cuts::StreamCuts;
use super::filled::PayloadMemory;
use super::gauge::BufferGauge;
use super::inlet::{Inlet, Offered, Polled};
use super::message::RecorderMessage;
use crate::format::GapReason;

/// What a source itself says that it has offered so far, in all recordings of this run.
#[derive(Debug, Default)]
pub(super) struct OfferedSoFar {
    bytes: AtomicU64,
    lost_bytes: AtomicU64,
    without_memory_bytes: AtomicU64,
    /// With what it has not handed over yet.
    taken_bytes: AtomicU64,
    /// How often it was cut, and where the last time.
    cut: Mutex<(u32, u64)>,
}

impl OfferedSoFar {
    /// Notes that the source has come to `offset_bytes`.
    pub(super) fn set_offered(&self, offset_bytes: u64) {
        // Nothing is ordered by this value; it is only shown.
        self.bytes.store(offset_bytes, Ordering::Relaxed);
    }

    /// Notes that the source has come to `offset_bytes` with what it has not handed over yet.
    pub(super) fn set_taken(&self, offset_bytes: u64) {
        self.taken_bytes.store(offset_bytes, Ordering::Relaxed);
    }

    /// How far the source has come, as far as it has shown, in the recording behind so many cuts: 0
    /// if it has not been cut as often yet.
    pub(super) fn taken_bytes_behind(&self, cuts: u32) -> u64 {
        let (own_cuts, cut_at_bytes) = *self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        if own_cuts < cuts {
            return 0;
        }
        let offered_bytes = self.bytes.load(Ordering::Relaxed);
        let taken_bytes = self.taken_bytes.load(Ordering::Relaxed).max(offered_bytes);
        taken_bytes.saturating_sub(cut_at_bytes)
    }

    /// Notes that the source is cut at `offset_bytes`. Returns what it has offered by then.
    pub(super) fn cut_at(&self, offset_bytes: u64) -> Offered {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        *cut = (cut.0 + 1, offset_bytes);
        self.offered()
    }

    fn offered(&self) -> Offered {
        Offered {
            bytes: self.bytes.load(Ordering::Relaxed),
            lost_bytes: self.lost_bytes.load(Ordering::Relaxed),
            without_memory_bytes: self.without_memory_bytes.load(Ordering::Relaxed),
        }
    }

    /// Notes that so many more bytes are lost.
    pub(super) fn add_lost(&self, bytes: u64, reason: GapReason) {
        self.lost_bytes.fetch_add(bytes, Ordering::Relaxed);
        // A pause says nothing of the members.
        if reason != GapReason::Paused {
            self.without_memory_bytes
                .fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// What sources and recorder share.
pub(super) struct Exchange {
    /// Memory for appends.
    pub(super) pool: SharedPool,
    /// How much of it is in use.
    pub(super) gauge: BufferGauge,
    /// Small buffers for what surrounds memory of the caller.
    edges: SharedPool,
    /// Held by the thread that takes edges.
    edges_turn: Mutex<()>,
    /// One per stream. It includes what waits in the channel, which the recorder has not seen yet.
    pub(super) offered: Vec<OfferedSoFar>,
    /// Whether the recorder takes nothing more.
    pub(super) is_closed: AtomicBool,
    /// Whether the recorder may be asleep.
    is_idle: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Exchange {
    pub(super) fn new(pool: SharedPool, edges: SharedPool, streams: usize) -> Exchange {
        Exchange {
            gauge: BufferGauge::new(pool.clone()),
            pool,
            edges,
            edges_turn: Mutex::new(()),
            offered: (0..streams).map(|_| OfferedSoFar::default()).collect(),
            is_closed: AtomicBool::new(false),
            is_idle: AtomicBool::new(false),
            waker: Mutex::new(None),
        }
    }

    /// Sets the waker of the recorder's engine, once the engine is open. Messages from before are
    /// found when it first looks.
    pub(super) fn set_waker(&self, waker: Waker) {
        let mut place = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(waker);
    }

    /// Takes nothing more, and wakes those who wait for memory.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.pool.close();
        self.edges.close();
    }

    /// Takes two edges, once both are free; `None` when the recorder takes nothing more. One thread
    /// at a time takes them, because several that held one edge each would wait for each other for
    /// ever.
    pub(super) fn take_edges(&self) -> Option<(Buffer, Buffer)> {
        let _turn = self.edges_turn.lock().ok()?;
        let first = self.edges.take()?;
        let Some(second) = self.edges.take() else {
            self.edges.give(first);
            return None;
        };
        Some((first, second))
    }

    /// Takes edges back.
    pub(super) fn give_edges(&self, edges: [Buffer; 2]) {
        edges.into_iter().for_each(|edge| self.edges.give(edge));
    }

    /// Wakes the recorder if it may be asleep. A system call for each append would be waste.
    pub(super) fn wake(&self) {
        // This fence pairs with the one in `receive`: either the message is seen there, or the flag
        // here.
        fence(Ordering::SeqCst);
        if self.is_idle.swap(false, Ordering::AcqRel) {
            let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
            waker.iter().for_each(Waker::wake);
        }
    }
}

/// The recorder's end of the channel.
pub(super) struct ChannelInlet {
    pub(super) messages: Receiver<RecorderMessage>,
    /// Returns memory of the caller, one channel per stream.
    pub(super) returned: Vec<Sender<Box<dyn StableBytes>>>,
    pub(super) exchange: Arc<Exchange>,
    /// Which streams have ended, and where they are cut.
    pub(super) cuts: StreamCuts,
    /// Why the ended streams ended.
    pub(super) ending: Option<Ending>,
    /// Whether the recorder only waits for the sources to end.
    pub(super) is_draining: bool,
}

impl ChannelInlet {
    fn receive(&mut self) -> Result<RecorderMessage, TryRecvError> {
        if let Some(message) = self.cuts.take_due() {
            return Ok(message);
        }
        if self.is_draining {
            return self.messages.recv().map_err(|_| TryRecvError::Disconnected);
        }
        self.messages.try_recv().or_else(|_| {
            // The flag is set before the last look, so that a later message wakes the recorder.
            self.exchange.is_idle.store(true, Ordering::Release);
            fence(Ordering::SeqCst);
            self.messages.try_recv()
        })
    }

    /// Takes no more appends. From now on polling waits for the sources to end, so that everything
    /// they have offered is accounted for.
    pub(super) fn drain(&mut self) {
        self.close();
        self.is_draining = true;
    }

    fn stream_ended(&mut self, stream: usize, ending: Ending) {
        self.cuts.ended(stream);
        // An error of one source or the user's stop says more than that other sources ended.
        if self.ending.is_none_or(|earlier| earlier == Ending::Source) {
            self.ending = Some(ending);
        }
    }
}

impl Inlet for ChannelInlet {
    fn poll(&mut self, _now: Timestamp) -> Polled {
        loop {
            if self.cuts.is_whole() {
                return Polled::Cut;
            }
            let message = match self.receive() {
                Ok(message) => self.cuts.sort(message),
                Err(TryRecvError::Empty) if self.cuts.is_open() => return Polled::Nothing(None),
                Err(_) => return Polled::Ended(self.ending.unwrap_or(Ending::Source)),
            };
            match message {
                Some(RecorderMessage::Append(filled)) => return Polled::Append(filled),
                Some(RecorderMessage::Cut { stream, offered }) => {
                    self.cuts.cut(usize::from(stream), offered);
                }
                Some(RecorderMessage::Ended { stream, ending }) => {
                    self.stream_ended(usize::from(stream), ending);
                }
                None => {}
            }
        }
    }

    fn give_back(&mut self, stream: u16, memory: PayloadMemory) {
        match memory {
            PayloadMemory::Lent(buffer) => self.exchange.pool.give(buffer),
            // The recorder keeps its own buffers, and a copy was made for one append alone.
            PayloadMemory::Own(_) | PayloadMemory::Copied(_) => {}
            PayloadMemory::Given { head, body, tail } => {
                self.exchange.give_edges([head, tail]);
                if let Ok(owner) = body.into_foreign() {
                    // If the caller does not want its memory back, it has dropped the other end.
                    let _ = self.returned[usize::from(stream)].send(owner);
                }
            }
        }
    }

    fn close(&mut self) {
        self.exchange.close();
    }

    fn begin_next(&mut self) {
        self.exchange.gauge.keep_for_good();
        let offered = &self.exchange.offered;
        self.cuts.begin_next(|stream| offered[stream].offered());
    }

    fn offered(&self, stream: usize) -> Offered {
        let offered = self.exchange.offered[stream].offered();
        self.cuts.in_recording(stream, offered)
    }

    fn taken_bytes(&self, stream: usize) -> u64 {
        let offered = &self.exchange.offered[stream];
        let mut taken = offered.offered();
        taken.bytes = taken.bytes.max(offered.taken_bytes.load(Ordering::Relaxed));
        self.cuts.in_recording(stream, taken).bytes
    }

    fn is_cutting(&self) -> bool {
        self.cuts.is_cutting()
    }

    fn buffer_fill(&self) -> f64 {
        self.exchange.gauge.fill()
    }

    fn set_kept(&mut self, buffers: usize) {
        self.exchange.gauge.set_kept(buffers);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn writers_that_all_need_two_edges_get_them_one_after_the_other() {
        const EDGES: usize = 4;
        const WRITERS: usize = 32;
        let pool = SharedPool::new(2, 4096).unwrap();
        let edges = SharedPool::new(EDGES, 4096).unwrap();
        let exchange = Arc::new(Exchange::new(pool, edges, 1));
        let (done, is_done) = crossbeam_channel::unbounded();
        for _ in 0..WRITERS {
            let (exchange, done) = (Arc::clone(&exchange), done.clone());
            std::thread::spawn(move || {
                for _ in 0..200 {
                    let (head, tail) = exchange.take_edges().unwrap();
                    std::thread::yield_now();
                    exchange.give_edges([head, tail]);
                }
                done.send(()).unwrap();
            });
        }
        for _ in 0..WRITERS {
            is_done.recv_timeout(Duration::from_secs(120)).unwrap();
        }
        assert_eq!(exchange.edges.free(), EDGES);
        exchange.close();
        assert!(exchange.take_edges().is_none());
    }
}
