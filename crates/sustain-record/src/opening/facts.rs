//! Collects what is known of a member so far, and names the ranges to read for the rest. Each range
//! is asked for once: what could not be read counts as empty.

use std::collections::{BTreeSet, HashMap};

use sustain_disk::error::IoFault;

use super::Asked;
use super::search::{NOTHING, SlotContent, TailSearch};
use crate::format::{AppendPlace, BLOCK_BYTES, Descriptor, SlotCourse, verify_payload};
use crate::walk::{AppendIdentity, Head};

/// More than any start or end mark needs. Longer notes are not believed.
const NOTE_BYTES_MAX: u32 = 4 << 20;

/// A range of a member that must be read before the question can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Offset from the start of the member; a multiple of a block, as is the length of all but
    /// payloads.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: usize,
    what: EvidenceKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EvidenceKind {
    /// The block with which an append may begin.
    Head,
    /// The next part of a slot that is searched.
    Slot { serial: u64 },
    /// The payload of this append.
    Payload { descriptor: Box<Descriptor> },
}

#[derive(Debug)]
pub(super) struct MemberEvidence {
    identity: AppendIdentity,
    course: SlotCourse,
    /// The number of the first recording that may have anything on it.
    first_recording: u32,
    /// The append that begins at an offset of the member, if one does.
    heads: HashMap<u64, Option<Head>>,
    searches: HashMap<u64, TailSearch>,
    /// Serials that are there in slots that were searched block by block, by the number of the
    /// slot. A search for another serial would read all of it again and find nothing.
    serials_of_slots: HashMap<u64, BTreeSet<u64>>,
    /// Payloads without damage.
    payloads: HashMap<AppendPlace, Option<Vec<u8>>>,
    unreadable_blocks: u64,
    learned_bytes: u64,
}

impl MemberEvidence {
    pub(super) fn new(identity: AppendIdentity, course: SlotCourse) -> MemberEvidence {
        MemberEvidence {
            identity,
            course,
            first_recording: 0,
            heads: HashMap::new(),
            searches: HashMap::new(),
            serials_of_slots: HashMap::new(),
            payloads: HashMap::new(),
            unreadable_blocks: 0,
            learned_bytes: 0,
        }
    }

    /// The same of a member that no recording before this one has anything on.
    pub(super) fn beginning_with(mut self, first_recording: u32) -> MemberEvidence {
        self.first_recording = first_recording;
        self
    }

    /// The number of the first recording that may have anything on it; 0 for all.
    pub(super) fn first_recording(&self) -> u32 {
        self.first_recording
    }

    /// Bytes that were asked for and answered.
    pub(super) fn learned_bytes(&self) -> u64 {
        self.learned_bytes
    }

    pub(super) fn member_bytes(&self) -> u64 {
        self.identity.geometry.member_bytes
    }

    /// The order in which its slots are written.
    pub(super) fn course(&self) -> &SlotCourse {
        &self.course
    }

    pub(super) fn slot_count(&self) -> u64 {
        self.identity.geometry.slot_count
    }

    pub(super) fn start_repeat_slots(&self) -> u64 {
        self.identity.geometry.start_repeat_slots()
    }

    fn slot_of(&self, slot_serial: u64) -> u64 {
        slot_serial % self.slot_count()
    }

    pub(super) fn slot_bytes(&self) -> u32 {
        self.identity.geometry.slot_bytes
    }

    /// The append that begins at a place.
    pub(super) fn head(&self, place: AppendPlace) -> Asked<Option<&Head>> {
        if place.slot_serial == u64::MAX || place.slot_offset_bytes >= self.slot_bytes() {
            return Ok(None);
        }
        let head = self.head_at_offset(place)?;
        Ok(head.filter(|head| head.place() == place))
    }

    /// The descriptor at a place.
    pub(super) fn descriptor(&self, place: AppendPlace) -> Asked<Option<&Descriptor>> {
        Ok(self.head(place)?.and_then(Head::descriptor))
    }

    /// The append that begins the slot of this serial. It may be of an earlier lap, or a later one.
    pub(super) fn slot_start(&self, slot_serial: u64) -> Asked<Option<&Head>> {
        if slot_serial == u64::MAX {
            return Ok(None);
        }
        self.head_at_offset(slot_start(slot_serial))
    }

    /// Makes sure that the starts of all these slots are known, reading them together.
    pub(super) fn know_slot_starts(&self, serials: impl Iterator<Item = u64>) -> Asked<()> {
        let mut needs: Vec<Need> = Vec::new();
        for serial in serials {
            for need in self.slot_start(serial).err().into_iter().flatten() {
                // In a small ring several serials lie in one slot.
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        if needs.is_empty() { Ok(()) } else { Err(needs) }
    }

    /// Everything in the slot of this serial, block by block.
    pub(super) fn search(&self, slot_serial: u64) -> Asked<&SlotContent> {
        let found = self.searches.get(&slot_serial);
        if let Some(content) = found.and_then(|search| search.content(self.slot_bytes())) {
            return Ok(content);
        }
        let known = self.serials_of_slots.get(&self.slot_of(slot_serial));
        if known.is_some_and(|serials| !serials.contains(&slot_serial)) {
            return Ok(&NOTHING);
        }
        let fresh = TailSearch::new(slot_serial);
        let (position_bytes, length_bytes) = found.unwrap_or(&fresh).next(self.slot_bytes());
        Err(vec![Need {
            offset_bytes: self.identity.geometry.offset_of(slot_start(slot_serial))
                + u64::from(position_bytes),
            length_bytes: length_bytes as usize,
            what: EvidenceKind::Slot {
                serial: slot_serial,
            },
        }])
    }

    /// The payload of an append; `None` if any of it is damaged.
    pub(super) fn payload(&self, descriptor: &Descriptor) -> Asked<Option<&[u8]>> {
        if descriptor.payload_bytes > NOTE_BYTES_MAX {
            return Ok(None);
        }
        if let Some(payload) = self.payloads.get(&descriptor.place) {
            return Ok(payload.as_deref());
        }
        Err(vec![Need {
            offset_bytes: self.identity.geometry.offset_of(descriptor.place) + BLOCK_BYTES as u64,
            length_bytes: descriptor.payload_bytes as usize,
            what: EvidenceKind::Payload {
                descriptor: Box::new(descriptor.clone()),
            },
        }])
    }

    /// Blocks that could not be read.
    pub(super) fn unreadable_blocks(&self) -> u64 {
        self.unreadable_blocks
    }

    /// Bytes that were read to search slots.
    pub(super) fn searched_bytes(&self) -> u64 {
        self.searches.values().map(TailSearch::read_bytes).sum()
    }

    pub(super) fn learn(&mut self, need: &Need, bytes: Result<&[u8], IoFault>) {
        self.learned_bytes += need.length_bytes as u64;
        match &need.what {
            EvidenceKind::Head => {
                self.unreadable_blocks += u64::from(bytes.is_err());
                let head = bytes.ok().and_then(|bytes| self.identity.head(bytes));
                let lies_here = |head: &Head| {
                    self.identity.geometry.offset_of(head.place()) == need.offset_bytes
                };
                let head = head.filter(lies_here);
                self.heads.insert(need.offset_bytes, head);
            }
            EvidenceKind::Slot { serial } => {
                let search = self
                    .searches
                    .entry(*serial)
                    .or_insert_with(|| TailSearch::new(*serial));
                self.unreadable_blocks += search.learn(&self.identity, need.length_bytes, bytes);
                let geometry = &self.identity.geometry;
                if let Some(serials) = search.all_serials(geometry.slot_bytes) {
                    let slot = *serial % geometry.slot_count;
                    self.serials_of_slots.insert(slot, serials.clone());
                }
            }
            EvidenceKind::Payload { descriptor } => {
                self.unreadable_blocks += u64::from(bytes.is_err());
                let payload = bytes.ok().filter(|bytes| {
                    bytes.len() == descriptor.payload_bytes as usize
                        && verify_payload(descriptor, bytes).is_empty()
                });
                let payload = payload.map(<[u8]>::to_vec);
                self.payloads.insert(descriptor.place, payload);
            }
        }
    }

    fn head_at_offset(&self, place: AppendPlace) -> Asked<Option<&Head>> {
        let offset_bytes = self.identity.geometry.offset_of(place);
        match self.heads.get(&offset_bytes) {
            Some(head) => Ok(head.as_ref()),
            None => Err(vec![Need {
                offset_bytes,
                length_bytes: BLOCK_BYTES,
                what: EvidenceKind::Head,
            }]),
        }
    }
}

pub(super) fn slot_start(slot_serial: u64) -> AppendPlace {
    AppendPlace {
        slot_serial,
        slot_offset_bytes: 0,
    }
}
