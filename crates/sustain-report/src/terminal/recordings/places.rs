//! Where recordings lie on the members of their store.

use sustain_document::list::{ListDocument, ListedPlace};

use crate::terminal::without_controls;
use crate::terminal::wrapped::wrapped;

/// Where each recording begins and ends on each member, a line for each.
#[must_use]
pub fn places_text(document: &ListDocument, width: usize) -> String {
    let recordings = document.recordings.iter();
    let lines = recordings.flat_map(|recording| {
        let places = recording.places.iter();
        places.map(|place| format!("recording {} {}", recording.recording, words(place)))
    });
    lines.map(|line| wrapped(&line, width)).collect()
}

fn words(place: &ListedPlace) -> String {
    let name = without_controls(&place.member);
    let (from, to) = (place.from_device_byte, place.to_device_byte);
    let bytes = if to <= from {
        format!("from byte {from} to the last slot, then from the first slot to byte {to}")
    } else {
        format!("bytes {from} to {to}")
    };
    let overwritten = if place.overwritten {
        "; the ring has overwritten what came before"
    } else {
        ""
    };
    format!("on {name}: {bytes}{overwritten}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(from_device_byte: u64, to_device_byte: u64, overwritten: bool) -> ListedPlace {
        ListedPlace {
            member: "/dev/sdb\u{1b}".to_owned(),
            index: 0,
            from_device_byte,
            to_device_byte,
            overwritten,
        }
    }

    #[test]
    fn a_ring_that_has_come_round_is_said_to_go_on_in_the_first_slot() {
        insta::assert_snapshot!(words(&place(8 << 20, 9 << 20, false)), @"on /dev/sdb�: bytes 8388608 to 9437184");
        insta::assert_snapshot!(words(&place(16 << 20, 9 << 20, true)), @"on /dev/sdb�: from byte 16777216 to the last slot, then from the first slot to byte 9437184; the ring has overwritten what came before");
    }
}
