//! Says which revolutions disks miss, and what helps.

use sustain_document::diagnose::Wall;
use sustain_document::revolutions::LostRevolutions;

use crate::format::size;

/// What is known of the revolutions that members of a wall miss; none if they miss none.
pub(crate) fn revolution_words(wall: &Wall) -> Option<String> {
    let Some(lost) = wall.lost_revolutions else {
        let words = "rates fall to a half, a third or less of those alone, as where disks miss \
                     revolutions";
        return wall.missed_revolutions.then(|| words.to_owned());
    };
    let LostRevolutions {
        revolutions_per_minute,
        revolutions_per_record,
        record_bytes,
        record_alone_s,
        record_beside_others_s,
    } = lost;
    let revolution_ms = 60_000.0 / f64::from(revolutions_per_minute);
    let more = match revolutions_per_record {
        1 => "a whole revolution".to_owned(),
        count => format!("{count} whole revolutions"),
    };
    Some(format!(
        "missed revolutions: a record of {} takes {:.1} ms beside others and {:.1} ms alone, which \
         is {more} more ({revolution_ms:.2} ms at {revolutions_per_minute} per minute): served \
         late, the disk waits until the platter has come round. Larger records make that a smaller \
         part, and disks used one after the other miss none",
        size(record_bytes),
        record_beside_others_s * 1e3,
        record_alone_s * 1e3,
    ))
}
