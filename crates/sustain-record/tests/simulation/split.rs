//! From one recording to the next without a break, as the recorder's thread does it, and what may
//! go wrong in between.

use sustain_disk::engine::Engine;
use sustain_record::format::BLOCK_BYTES;
use sustain_record::recorder::{HandOver, RecordFeed};
use sustain_record::store::Store;
use uuid::Uuid;

use crate::bench::Bench;
use crate::history::Recorded;
use crate::inlet::TimetableInlet;
use crate::plan::{CutKind, SplitPlan};

/// Between two recordings.
pub enum Passed {
    /// The next one runs on this engine.
    On(Box<dyn Engine>, RecordFeed<TimetableInlet>),
    /// It takes nothing, and is over.
    Unbegun(RecordFeed<TimetableInlet>),
    /// It came to no next one.
    Crashed(CutKind),
}

/// The four copies of a member's superblock.
type Copies = [Vec<u8>; 4];

impl Bench {
    pub fn pass_on(
        &mut self,
        store: &mut Store,
        engine: Option<Box<dyn Engine>>,
        mut feed: RecordFeed<TimetableInlet>,
    ) -> Passed {
        let split = feed.inlet_mut().wished().expect("a split was wished");
        let id = Uuid::from_u128(
            (u128::from(self.draw.number()) << 64) | u128::from(self.draw.number()),
        );
        let ring = feed.setup().ring;
        feed.update_superblocks(store);
        let hand_over = HandOver::of(&feed, store, id, self.clock.now());
        if ring {
            self.history.borrow_mut().began(hand_over.slots_begun());
        }
        let old: Vec<Copies> = (0..self.present).map(|one| self.copies(one)).collect();
        let renewed = store.renew_superblocks_but(
            hand_over.slots_begun(),
            hand_over.renewal(),
            &hand_over.left_out(),
        );
        if let Some(kind) = split.crash {
            self.struck.push("crash between two recordings");
            for (member, old) in old.iter().enumerate() {
                self.take_back(member, old);
            }
            if kind == CutKind::Power {
                self.machine.power_cut(self.draw.number());
            }
            return Passed::Crashed(kind);
        }
        let lost = self.lost(&split, &hand_over, &old, renewed.is_err());
        let mut next = hand_over.begin(feed, lost);
        next.know_superblocks(store);
        let setup = next.setup();
        let previous = setup.members.iter().map(|member| member.previous).collect();
        let (id, number) = (setup.recording_id, setup.recording);
        let facts = next.inlet_mut().facts();
        let mut history = self.history.borrow_mut();
        if let Some(before) = history.recordings.last() {
            assert_joins(before, &facts.borrow());
        }
        history.begin(id, number, ring, facts, previous);
        match engine.filter(|_| next.takes_anything()) {
            Some(engine) => Passed::On(engine, next),
            None => {
                if next.takes_anything() {
                    next.leave_all_out("the engine is not free");
                }
                Passed::Unbegun(next)
            }
        }
    }

    /// The members on which superblocks are not written, in whole or in part.
    fn lost(
        &mut self,
        split: &SplitPlan,
        hand_over: &HandOver,
        old: &[Copies],
        has_failed: bool,
    ) -> Vec<(usize, String)> {
        let words = "its superblock cannot be written".to_owned();
        if has_failed {
            return (0..old.len()).map(|one| (one, words.clone())).collect();
        }
        let left_out = hand_over.left_out();
        let Some(member) = split.lost.filter(|one| !left_out.contains(one)) else {
            return Vec::new();
        };
        self.struck.push("member fails between two recordings");
        self.take_back(member, &old[member]);
        vec![(member, words)]
    }

    fn copies(&self, member: usize) -> Copies {
        let offsets = self.history.borrow().geometries[member].superblock_offsets();
        offsets.map(|offset_bytes| {
            let mut block = vec![0; BLOCK_BYTES];
            self.machine.read_contents(member, offset_bytes, &mut block);
            block
        })
    }

    fn write_copies(&self, member: usize, copies: &Copies) {
        let offsets = self.history.borrow().geometries[member].superblock_offsets();
        for (offset_bytes, block) in offsets.into_iter().zip(copies) {
            self.machine.write_contents(member, offset_bytes, block);
        }
    }

    /// Takes back some of what was written of a superblock: copies A and C are written first, then
    /// B and D. Of two that are written at a time any sectors are new.
    fn take_back(&mut self, member: usize, old: &Copies) {
        let new = self.copies(member);
        let step = self.draw.below(4);
        let mut mixed = new.clone();
        for (copy, block) in mixed.iter_mut().enumerate() {
            let written_at = if copy % 2 == 0 { 0 } else { 2 };
            for (sector, bytes) in block.chunks_mut(512).enumerate() {
                let is_old = match step.cmp(&written_at) {
                    std::cmp::Ordering::Less => true,
                    std::cmp::Ordering::Equal => self.draw.chance(500),
                    std::cmp::Ordering::Greater => false,
                };
                if is_old {
                    let at = sector * 512;
                    bytes.copy_from_slice(&old[copy][at..at + bytes.len()]);
                }
            }
        }
        self.write_copies(member, &mixed);
    }
}

/// Fails unless a recording begins where the one before it ended, in what each source gives.
fn assert_joins(before: &Recorded, next: &[crate::inlet::StreamFacts]) {
    for (before, next) in before.streams.iter().zip(next) {
        assert_eq!(before.name, next.name);
        assert_eq!(
            before.base_bytes + before.offered_bytes,
            next.base_bytes,
            "no byte of {} is between two recordings, and none in both",
            next.name
        );
    }
}
