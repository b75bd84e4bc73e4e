//! The pins of members that are not there, as those that are tell of them.

use crate::error::RecordError;
use crate::format::{AppendPlace, BLOCK_BYTES, Geometry, Pin};
use crate::rebuilt::{FoundGroups, KnownPin};
use crate::store::pin_tables::{ended_somewhere, is_same, set_somewhere};
use crate::store::{FREE_SLOTS_MIN, Missing, Store};

impl Store {
    /// The table of pins of a member that is not there, as far as they are set.
    ///
    /// # Errors
    /// [`RecordError::Engine`].
    pub(in crate::store) fn pins_of_missing(
        &self,
        missing: Missing,
        geometry: Geometry,
        found: &FoundGroups,
    ) -> Result<Vec<Pin>, RecordError> {
        let known = self.known_pins()?.into_iter();
        // Any member of a ring has some slots that no pin keeps.
        let slots_max = geometry.slot_count.saturating_sub(FREE_SLOTS_MIN).max(1);
        let on_member = known.map(|pin| {
            let pin = KnownPin {
                slots_max: pin.slots_max.min(slots_max),
                ..pin
            };
            found.pin_on(missing.index, geometry.slot_count, &pin)
        });
        Ok(on_member.collect())
    }

    fn known_pins(&self) -> Result<Vec<KnownPin>, RecordError> {
        let superblocks = self.superblocks();
        let ended = ended_somewhere(&superblocks);
        let set = set_somewhere(&superblocks).into_iter();
        let set = set.filter(|pin| self.unknown_on(&superblocks, pin).is_some());
        let known = set.map(|pin| {
            let ended = ended.iter().filter(|ended| is_same(ended, &pin));
            let ended = ended.min_by_key(|ended| ended.end_sequence).copied();
            let pin = ended.unwrap_or(pin);
            Ok(KnownPin {
                from_sequence: self.begin_sequence(&pin)?,
                slots_max: self.slots_max(&pin),
                pin,
            })
        });
        known.collect()
    }

    /// The most slots that a pin keeps on a member that is there.
    fn slots_max(&self, pin: &Pin) -> u64 {
        let members = self.members.iter().zip(&self.tails);
        let kept = members
            .filter(|(member, _)| member.is_there())
            .flat_map(|(member, tail)| {
                let superblock = &member.superblock;
                let own = superblock.pins.iter().filter(|own| is_same(own, pin));
                own.map(|own| superblock.course().kept_slots(own, tail.next_slot_serial))
            });
        kept.max().unwrap_or(0)
    }

    /// The largest sequence at which what a pin keeps begins on a member that is there, or, if all
    /// of them were repaired there, the smallest: their slots do not begin with what they had. 0 if
    /// none can be read.
    fn begin_sequence(&self, pin: &Pin) -> Result<u64, RecordError> {
        let mut io = self.io()?;
        let (mut known, mut repaired) = (None, None);
        for (position, member) in self.members.iter().enumerate() {
            let mut own = member.superblock.pins.iter();
            let own = own.find(|own| is_same(own, pin));
            let Some(own) = own.filter(|_| member.is_there()) else {
                continue;
            };
            let identity = member.identity();
            let place = AppendPlace {
                slot_serial: own.from_slot,
                slot_offset_bytes: 0,
            };
            let offset_bytes = identity.geometry.offset_of(place);
            let block = io.read(position, offset_bytes, BLOCK_BYTES);
            let head = block.ok().and_then(|block| identity.head_at(place, &block));
            // A member that was added since has nothing of it.
            let is_behind =
                |sequence: &u64| pin.end_slot.is_some() && *sequence >= pin.end_sequence;
            let sequence = head.map(|head| head.sequence());
            let Some(sequence) = sequence.filter(|sequence| !is_behind(sequence)) else {
                continue;
            };
            match own.from_slot < member.superblock.repaired_slots {
                true => repaired = Some(repaired.map_or(sequence, |one: u64| one.min(sequence))),
                false => known = known.max(Some(sequence)),
            }
        }
        io.check_engine()?;
        Ok(known.or(repaired).unwrap_or(0))
    }
}
