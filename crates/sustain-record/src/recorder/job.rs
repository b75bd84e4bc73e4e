//! The work of the recorder's thread, from opening its engine to the outcome of the recording.

use std::sync::Arc;

use crossbeam_channel::Sender;
use sustain_disk::buffer::Finder;
use sustain_disk::driver::QueueSetup;
use sustain_document::share::ShareResult;

use super::board::RecordingBoard;
use super::channel::{ChannelInlet, Exchange};
use super::engine_setup::{EngineSetup, OpenEngine};
use super::feed::{RecordFeed, RecordSetup};
use super::options::{RecordOptions, append_bytes};
use super::recorded::Recorded;
use super::share;
use super::succession::{Closing, HeldLocks, RecorderRun};
use super::superblock_writer::{SuperblockWriter, begin_superblocks};
use crate::error::RecordError;
use crate::store::Store;

/// Everything that the recorder's thread needs.
pub(super) struct RecorderJob {
    pub(super) store: Store,
    pub(super) setup: RecordSetup,
    pub(super) inlet: ChannelInlet,
    pub(super) exchange: Arc<Exchange>,
    pub(super) options: RecordOptions,
    pub(super) superblocks: SuperblockWriter,
}

/// What the recorder's thread says when it is ready.
pub(super) struct ReadyRecorder {
    pub(super) board: Arc<RecordingBoard>,
    pub(super) share: ShareResult,
}

impl RecorderJob {
    pub(super) fn run(
        mut self,
        mut open_engine: Box<OpenEngine>,
        ready: &Sender<ReadyRecorder>,
    ) -> Result<Recorded, RecordError> {
        let append_bytes = append_bytes(&self.store, &self.options);
        let slots_begun = self.store.slots_begun_at_start(self.options.ring);
        let share = share::take(
            self.options.share,
            !self.store.machines().is_empty(),
            &self.exchange.pool,
        );
        // Memory that is registered with the kernel must be there now; the rest is allocated while
        // bytes come.
        let registered = self.exchange.pool.regions().iter();
        let registered_bytes = registered.map(|region| region.length()).sum();
        self.exchange.pool.find(registered_bytes)?;
        let engine_setup = EngineSetup::new(&self.options, &self.exchange.pool);
        let (engine, why) = open_engine(&self.store, &engine_setup)?;
        let _finder = Finder::start(self.exchange.pool.clone());
        self.exchange.set_waker(engine.waker());
        let name = engine.name();
        let clock = self.store.clock().clone();
        let queues = self.queues(engine_setup.depth);
        let start = clock.now();
        self.setup.start = start;
        let mut feed = RecordFeed::new(self.setup, self.inlet)?;
        feed.declare_frame_rates(&self.options.frame_rates);
        // Bytes may come from now on, and those who wait for the recorder can go on. A disk may
        // take its time for the superblocks, while a source that cannot wait fills the buffer.
        let _ = ready.send(ReadyRecorder {
            board: feed.board(),
            share,
        });
        let preparing = Closing {
            exchange: self.exchange,
            board: feed.board(),
        };
        let silent = begin_superblocks(&mut self.store, &self.superblocks, &slots_begun)?;
        feed.know_superblocks(&self.store);
        for (member, words) in silent {
            feed.leave_out(member, words);
        }
        let engine_words = (name, why);
        let mut run = RecorderRun {
            locks: HeldLocks::of(&self.store),
            store: self.store,
            superblocks: self.superblocks,
            append_bytes,
            queues,
            engine_words,
            engine_setup,
            open_engine,
        };
        run.record(engine, feed, preparing)
    }

    fn queues(&self, depth: u32) -> Vec<QueueSetup> {
        (0..self.store.members.len())
            .map(|member| QueueSetup {
                targets: vec![member],
                depth,
            })
            .collect()
    }
}
