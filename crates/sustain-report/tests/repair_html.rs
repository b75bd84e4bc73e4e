//! The page of repairs as text: complete, harmless, and without a request to anywhere.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod sample;

use sustain_document::repair::{
    MissingMember, REPAIR_SCHEMA, RepairDocument, RepairedAppends, RepairedMember,
};
use sustain_report::ReportError;
use sustain_report::html::repair_html;

const UUID: &str = "5c1df346-9132-4621-bded-45a622941c09";

fn whole() -> RepairDocument {
    RepairDocument {
        schema: REPAIR_SCHEMA.to_owned(),
        store: "860668fe-b9b4-4f1a-97e6-e223da2d20c8".to_owned(),
        member: RepairedMember {
            name: "/dev/sdd".to_owned(),
            number: 2,
            uuid: UUID.to_owned(),
        },
        data: RepairedAppends {
            appends: 12_000,
            bytes: 12_600_000_000,
        },
        parity: RepairedAppends {
            appends: 4000,
            bytes: 4_200_000_000,
        },
        lost: RepairedAppends::default(),
        missing_bytes: Some(0),
        unprotected_groups: 0,
        kept_bytes: 0,
        elapsed_s: 84.0,
        still_missing: Vec::new(),
        copies: None,
        notes: Vec::new(),
    }
}

/// More is gone than parity replaces.
fn lacking() -> RepairDocument {
    RepairDocument {
        lost: RepairedAppends {
            appends: 1,
            bytes: 1_048_576,
        },
        missing_bytes: Some(3_000_000),
        unprotected_groups: 7,
        kept_bytes: 2_097_152,
        still_missing: vec![MissingMember {
            number: 3,
            uuid: UUID.to_owned(),
        }],
        notes: vec!["recording 4 is a ring".to_owned()],
        ..whole()
    }
}

#[test]
fn all_words_of_a_page_are_reviewed() {
    for (name, results) in [
        ("repair_whole", vec![whole()]),
        ("repair_lacking", vec![lacking()]),
        ("repairs", vec![whole(), lacking()]),
    ] {
        let page = repair_html(&results).unwrap().replace('\u{a0}', " ");
        insta::assert_snapshot!(name, sample::words_of(&page));
    }
}

#[test]
fn what_is_lost_is_red_and_what_is_not_protected_amber() {
    let page = |result: RepairDocument| sample::own_markup(&repair_html(&[result]).unwrap());
    assert!(page(whole()).contains("<p class=\"answer\">"));
    assert!(page(lacking()).contains("<p class=\"answer bad\">"));
    let unprotected = RepairDocument {
        unprotected_groups: 1,
        ..whole()
    };
    assert!(page(unprotected).contains("<p class=\"answer open\">"));
}

#[test]
fn text_from_outside_stays_text() {
    let attack = "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>\"'";
    let mut result = lacking();
    result.member.name = attack.to_owned();
    (result.store, result.member.uuid) = (attack.to_owned(), attack.to_owned());
    (result.still_missing[0].uuid, result.notes) = (attack.to_owned(), vec![attack.to_owned()]);
    let page = sample::own_markup(&repair_html(&[result]).unwrap());
    assert!(
        !page.contains("<img") && !page.contains("<script>window"),
        "{page}"
    );
}

#[test]
fn a_page_needs_a_result() {
    assert!(matches!(repair_html(&[]), Err(ReportError::NoResults)));
}
