//! Makes the document of `sustain scrub --json`.

use sustain_document::repair::{RepairedAppends, RepairedMember};
use sustain_document::scrub::{SCRUB_SCHEMA, ScrubDocument, ScrubbedMemberResult};
use sustain_document::verify::VerifyDocument;

use super::uuid_text;
use crate::scrub::ScrubbedMember;

/// Makes the document of a store in which so many places were bad, of the members on which
/// something was put back, and of the last check.
pub fn scrub_document(
    bad_places: u64,
    scrubbed: &[ScrubbedMember],
    check: VerifyDocument,
) -> ScrubDocument {
    ScrubDocument {
        schema: SCRUB_SCHEMA.to_owned(),
        store: check.store.clone(),
        bad_places,
        members: scrubbed.iter().map(member_result).collect(),
        check,
    }
}

fn member_result(scrubbed: &ScrubbedMember) -> ScrubbedMemberResult {
    ScrubbedMemberResult {
        member: RepairedMember {
            name: scrubbed.name.clone(),
            number: scrubbed.member as u64 + 1,
            uuid: uuid_text(scrubbed.uuid),
        },
        put_back: RepairedAppends {
            appends: scrubbed.appends,
            bytes: scrubbed.bytes,
        },
    }
}
