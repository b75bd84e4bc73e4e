//! Makes the document of `sustain unpin --json`.

use sustain_document::list::ListedPin;
use sustain_document::unpin::{UNPIN_SCHEMA, UnpinDocument};

use super::uuid_text;
use crate::store::Store;

/// Makes the document of a store of which a pin was freed, with the space that nothing keeps any
/// more.
pub fn unpin_document(store: &Store, pin: ListedPin, freed_bytes: u64) -> UnpinDocument {
    UnpinDocument {
        schema: UNPIN_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        pin,
        freed_bytes,
        notes: store.notes.clone(),
    }
}
