//! The settings of a recording, and what follows from them for its appends.

use sustain_disk::engine::EngineChoice;
use sustain_disk::units::Size;
use sustain_document::setting::{APPEND_SIZE, PARITY, RING, SLOT};
use sustain_document::share::RecorderShare;

use super::feed::{Durability, Patience};
use super::parity::ParitySetup;
use crate::error::RecordError;
use crate::format::{BLOCK_BYTES, PARITIES_MAX, SLOT_BYTES_MAX};
use crate::store::Store;

/// Three blocks are around the least payload of an append with frame marks.
const APPEND_BYTES_MIN: u32 = 4 * BLOCK_BYTES as u32;

/// How large an append is of a stream that has enough bytes for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AppendSize {
    /// [`AppendSize::USUAL_BYTES`], or a slot where that is less.
    #[default]
    Usual,
    /// What was found best, or a slot where that is less.
    Best {
        /// Bytes of an append.
        bytes: u32,
        /// The name of the document that says so.
        document: String,
    },
    /// So many bytes. A store whose slots are smaller is refused.
    Exactly(u32),
}

impl AppendSize {
    /// Bytes of an append where nothing else is asked for.
    pub const USUAL_BYTES: u32 = 1 << 20;

    /// The bytes of an append in slots that are large enough.
    pub fn wanted_bytes(&self) -> u32 {
        match self {
            AppendSize::Usual => AppendSize::USUAL_BYTES,
            AppendSize::Best { bytes, .. } | AppendSize::Exactly(bytes) => *bytes,
        }
    }
}

/// The settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// Memory between sources and members.
    pub buffer_bytes: u64,
    /// How large appends are.
    pub append_size: AppendSize,
    /// Most appends in flight on one member.
    pub depth: u32,
    /// The bytes in flight on one member are bounded to what it writes in this time.
    pub window_ns: u64,
    /// The engine that drives the members.
    pub engine: EngineChoice,
    /// When data becomes durable.
    pub durability: Durability,
    /// Whether the store's oldest data is overwritten.
    pub ring: bool,
    /// Whether a ring of which pins keep all goes on until one is freed. Meanwhile the buffer fills
    /// up, and sources lose what they do not wait with. If not, the recording ends there.
    pub outlasts_pins: bool,
    /// How long members are waited for.
    pub patience: Patience,
    /// Appends of parity of each group; none for the store's default.
    pub parities: Option<u16>,
    /// How the recorder shares the machine with other programs.
    pub share: RecorderShare,
    /// Frames per second that the streams are declared to have, in their order; none of those for
    /// which nothing is declared, nor of those behind the last one here.
    pub frame_rates: Vec<Option<f64>>,
    /// The program that records, for the start note.
    pub tool: String,
}

impl Default for RecordOptions {
    fn default() -> RecordOptions {
        RecordOptions {
            buffer_bytes: 512 << 20,
            append_size: AppendSize::Usual,
            depth: 8,
            window_ns: 100_000_000,
            engine: EngineChoice::Auto,
            durability: Durability::default(),
            ring: false,
            outlasts_pins: false,
            patience: Patience::default(),
            parities: None,
            share: RecorderShare::default(),
            frame_rates: Vec::new(),
            tool: concat!("sustain ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The most bytes that an append may take. In a ring of two slots each begins with a copy of the
/// start, for which the append must leave space.
pub(crate) fn append_bytes_max(store: &Store, ring: bool) -> u32 {
    let slot_counts = store
        .members
        .iter()
        .map(|member| member.superblock.geometry.slot_count);
    if ring && slot_counts.min() == Some(2) {
        store.slot_bytes / 2
    } else {
        store.slot_bytes
    }
}

/// The bytes of an append of a stream that has enough of them. With parity it is shorter than asked
/// for by what parity needs beside its sum, so that those are as long.
pub(crate) fn append_bytes(store: &Store, options: &RecordOptions) -> u32 {
    let wanted_bytes = options.append_size.wanted_bytes();
    let most_bytes = wanted_bytes.min(append_bytes_max(store, options.ring));
    most_bytes - around_parity_bytes(store, options)
}

/// The most bytes that an append may take, also one of memory of the caller's.
pub(crate) fn longest_append_bytes(store: &Store, options: &RecordOptions) -> u32 {
    match parities(store, options) {
        0 => append_bytes_max(store, options.ring),
        // No append is longer than the parity that protects it.
        _ => append_bytes(store, options),
    }
}

fn around_parity_bytes(store: &Store, options: &RecordOptions) -> u32 {
    match parities(store, options) {
        0 => 0,
        _ => ParitySetup::AROUND_BYTES,
    }
}

/// Appends of parity of each group.
pub(crate) fn parities(store: &Store, options: &RecordOptions) -> u16 {
    options.parities.unwrap_or_else(|| store.parities())
}

/// What protects a recording.
pub(crate) fn parity_setup(store: &Store, options: &RecordOptions) -> Option<ParitySetup> {
    let parities = usize::from(parities(store, options));
    (parities > 0).then(|| ParitySetup {
        parities,
        append_bytes: append_bytes(store, options),
    })
}

/// Refuses parity that the members are too few for.
pub(crate) fn check_parity(store: &Store, options: &RecordOptions) -> Result<(), RecordError> {
    let members = store.members.len() + store.missing.len();
    let parities = parities(store, options);
    if usize::from(parities) > PARITIES_MAX {
        return Err(RecordError::Usage(
            PARITY.must_be(format_args!("from 0 to {PARITIES_MAX}")),
        ));
    }
    if parities > 0 && usize::from(parities) >= members {
        return Err(RecordError::Usage(format!(
            "{} needs at least {} members, because each append of a group lies on another one, and \
             the store has {members}: use {}, or a store with more members",
            PARITY.of(parities),
            parities + 1,
            PARITY.of(members - 1),
        )));
    }
    Ok(())
}

/// Refuses a store on which a recording could not begin, or could not protect anything.
pub(crate) fn check_room(store: &Store, options: &RecordOptions) -> Result<(), RecordError> {
    store.require_room(options.ring)?;
    let Some(parity) = parity_setup(store, options).filter(|_| !options.ring) else {
        return Ok(());
    };
    store.require_room_for_groups(parity.parities, |geometry| {
        parity.kept_slots(geometry.slot_bytes, geometry.slot_count)
    })
}

/// Refuses a size of appends that is none, or that the slots of the store do not have.
pub(crate) fn check_append_size(store: &Store, options: &RecordOptions) -> Result<(), RecordError> {
    let wanted_bytes = options.append_size.wanted_bytes();
    let least_bytes = APPEND_BYTES_MIN + around_parity_bytes(store, options);
    let is_size = wanted_bytes.is_multiple_of(BLOCK_BYTES as u32)
        && (least_bytes..=SLOT_BYTES_MAX).contains(&wanted_bytes);
    if !is_size {
        let (least, most) = (Size(least_bytes.into()), Size(SLOT_BYTES_MAX.into()));
        return Err(RecordError::Usage(APPEND_SIZE.must_be(format_args!(
            "from {least} to {most}, and a multiple of {BLOCK_BYTES} bytes"
        ))));
    }
    let most = append_bytes_max(store, options.ring);
    if !matches!(options.append_size, AppendSize::Exactly(_)) || wanted_bytes <= most {
        return Ok(());
    }
    let (most, slot) = (Size(most.into()), Size(store.slot_bytes.into()));
    let needed = Size(wanted_bytes.next_power_of_two().into());
    let asked = APPEND_SIZE.of(Size(wanted_bytes.into()));
    Err(RecordError::Usage(if wanted_bytes > store.slot_bytes {
        format!(
            "{asked} is more than a slot of this store, which has {slot}: use at most {}, or \
             create the store anew with `sustain create {} {needed}`, which destroys what is on it",
            APPEND_SIZE.of(most),
            SLOT.flag()
        )
    } else {
        format!(
            "{asked} is more than half a slot of {slot}, and in {} a member of two slots has a \
             start in each: use at most {}, or a store with larger members",
            RING.the(),
            APPEND_SIZE.of(most)
        )
    }))
}
