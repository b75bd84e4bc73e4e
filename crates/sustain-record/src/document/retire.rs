//! Makes the document of `sustain retire --json`.

use sustain_document::repair::RepairedAppends;
use sustain_document::retire::{RETIRE_SCHEMA, RetireDocument, RetiredMember};

use super::uuid_text;
use crate::retire::Retired;
use crate::store::Store;

/// Makes the document of a member that was retired, which took so long.
pub fn retire_document(
    store: &Store,
    retired: &Retired,
    elapsed_s: f64,
    notes: &[String],
) -> RetireDocument {
    let tally = &retired.tally;
    RetireDocument {
        schema: RETIRE_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        member: RetiredMember {
            name: retired.name.clone(),
            number: retired.member as u64 + 1,
            uuid: uuid_text(retired.uuid),
        },
        recording: retired.recording,
        data: RepairedAppends {
            appends: tally.data_appends,
            bytes: tally.data_bytes,
        },
        parity: RepairedAppends {
            appends: tally.parity_appends,
            bytes: tally.parity_bytes,
        },
        written_bytes: tally.written_bytes,
        lost_appends: tally.lost_appends,
        lost_bytes: tally.lost_bytes,
        elapsed_s,
        notes: notes.to_vec(),
    }
}
