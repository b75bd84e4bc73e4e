//! Makes the document of `sustain repair --json`.

use sustain_document::repair::{
    MissingMember, REPAIR_SCHEMA, RepairCopies, RepairDocument, RepairedAppends, RepairedMember,
};

use sustain_document::retire::RetireDocument;

use super::uuid_text;
use crate::repair::Repaired;
use crate::store::Store;

/// Makes the document of a member that was rebuilt, which took so long, after which so many bytes
/// are missing in the store.
pub fn repair_document(
    store: &Store,
    repaired: &Repaired,
    (elapsed_s, missing_bytes): (f64, Option<u64>),
    notes: &[String],
) -> RepairDocument {
    let tally = &repaired.tally;
    let still_missing = repaired.still_missing.iter();
    RepairDocument {
        schema: REPAIR_SCHEMA.to_owned(),
        store: uuid_text(store.id),
        member: RepairedMember {
            name: repaired.name.clone(),
            number: repaired.member as u64 + 1,
            uuid: uuid_text(repaired.uuid),
        },
        data: RepairedAppends {
            appends: tally.data_appends,
            bytes: tally.data_bytes,
        },
        parity: RepairedAppends {
            appends: tally.parity_appends,
            bytes: tally.parity_bytes,
        },
        lost: RepairedAppends {
            appends: tally.lost_appends,
            bytes: tally.lost_bytes,
        },
        missing_bytes,
        unprotected_groups: tally.unprotected_groups,
        kept_bytes: tally.kept_bytes,
        elapsed_s,
        still_missing: still_missing
            .map(|missing| MissingMember {
                number: missing.index as u64 + 1,
                uuid: uuid_text(missing.member),
            })
            .collect(),
        copies: None,
        notes: notes.to_vec(),
    }
}

/// Makes the same of a member that was lost, and of which the others have copies now: none took its
/// place.
pub fn spread_document(retired: &RetireDocument) -> RepairDocument {
    let number = retired.member.number;
    RepairDocument {
        schema: REPAIR_SCHEMA.to_owned(),
        store: retired.store.clone(),
        member: RepairedMember {
            name: format!("member {number}"),
            number,
            uuid: retired.member.uuid.clone(),
        },
        data: retired.data,
        parity: retired.parity,
        lost: RepairedAppends {
            appends: retired.lost_appends,
            bytes: retired.lost_bytes,
        },
        missing_bytes: None,
        unprotected_groups: 0,
        kept_bytes: 0,
        elapsed_s: retired.elapsed_s,
        still_missing: Vec::new(),
        copies: Some(RepairCopies {
            recording: retired.recording,
            written_bytes: retired.written_bytes,
        }),
        notes: retired.notes.clone(),
    }
}
