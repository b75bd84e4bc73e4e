//! The settings of a recording, and what follows from them for its appends.

use sustain_disk::engine::EngineChoice;
use sustain_document::share::RecorderShare;

use super::feed::{Durability, Patience};
use crate::store::Store;

/// The settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// Memory between sources and members.
    pub buffer_bytes: u64,
    /// Bytes per append of a stream that has enough of them; at most a slot.
    pub append_bytes: u32,
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
    /// How long members are waited for.
    pub patience: Patience,
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
            append_bytes: 1 << 20,
            depth: 8,
            window_ns: 100_000_000,
            engine: EngineChoice::Auto,
            durability: Durability::default(),
            ring: false,
            patience: Patience::default(),
            share: RecorderShare::default(),
            frame_rates: Vec::new(),
            tool: concat!("sustain ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The most bytes that an append may take. In a ring of two slots each begins with a copy of the
/// start, for which the append must leave space.
pub(super) fn append_bytes_max(store: &Store, ring: bool) -> u32 {
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

/// The bytes of an append of a stream that has enough of them.
pub(super) fn append_bytes(store: &Store, options: &RecordOptions) -> u32 {
    options
        .append_bytes
        .min(append_bytes_max(store, options.ring))
}
