//! Makes the document of `sustain scrub --json`.

use sustain_document::repair::{RepairedAppends, RepairedMember};
use sustain_document::scrub::{SCRUB_SCHEMA, ScrubDocument, ScrubbedMember};
use sustain_document::verify::VerifyDocument;

use super::uuid_text;
use crate::repair::Repaired;

/// Makes the document of a store in which so many places were bad, of the members on which
/// something was written, and of the last check.
pub fn scrub_document(
    bad_places: u64,
    repaired: &[Repaired],
    check: VerifyDocument,
) -> ScrubDocument {
    ScrubDocument {
        schema: SCRUB_SCHEMA.to_owned(),
        store: check.store.clone(),
        bad_places,
        members: repaired.iter().map(scrubbed_member).collect(),
        check,
    }
}

fn scrubbed_member(repaired: &Repaired) -> ScrubbedMember {
    ScrubbedMember {
        member: RepairedMember {
            name: repaired.name.clone(),
            number: repaired.member as u64 + 1,
            uuid: uuid_text(repaired.uuid),
        },
        written_bytes: repaired.tally.written_bytes,
        lost: RepairedAppends {
            appends: repaired.tally.lost_appends,
            bytes: repaired.tally.lost_bytes,
        },
    }
}
