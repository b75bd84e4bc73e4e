//! Why a pin is not set, in words that say what to do.

use crate::store::FREE_SLOTS_MIN;
use crate::time_text::time_text;

/// How far the end of a pin may lie ahead.
const AHEAD_MAX_NS: i64 = 86_400_000_000_000;

/// Why a pin cannot be set that leaves the ring so few slots on a member.
pub(super) fn no_room(name: &str, free: u64, until_closed: u64) -> String {
    let needs = match until_closed {
        0 => format!("{FREE_SLOTS_MIN} to go on in"),
        more => format!(
            "{}: {FREE_SLOTS_MIN} to go on in, and {more} for what comes until all that is pinned \
             is durable",
            FREE_SLOTS_MIN + more
        ),
    };
    let left = match free {
        0 => "no slot".to_owned(),
        1 => "only 1 slot".to_owned(),
        more => format!("only {more} slots"),
    };
    format!(
        "the ring would have {left} left on {name}, and it needs {needs}. Pin less, or free a pin \
         (`unpin`)"
    )
}

/// Refuses a stretch that begins in the future, ends before it begins, or ends too far ahead.
pub(super) fn check_times(from_ns: i64, to_ns: i64, now_ns: i64) -> Result<(), String> {
    if from_ns > now_ns {
        return Err(format!(
            "a pin cannot begin in the future, and {} is still to come: ask again then",
            time_text(from_ns)
        ));
    }
    if from_ns >= to_ns {
        return Err(format!(
            "a pin ends after its beginning, and {} is not after {}: give a later end",
            time_text(to_ns),
            time_text(from_ns)
        ));
    }
    if to_ns.saturating_sub(now_ns) > AHEAD_MAX_NS {
        return Err(
            "the end of a pin lies at most a day ahead: a store without a ring keeps all"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_without_room_is_told_what_the_ring_needs_its_slots_for() {
        let told = no_room("a", 0, 9);
        assert!(
            told.contains("it needs 13: 4 to go on in, and 9 for what comes"),
            "{told}"
        );
        assert!(told.contains("would have no slot left on a"), "{told}");
        assert!(no_room("a", 1, 0).contains("would have only 1 slot left on a"));
        assert!(no_room("a", 3, 0).contains("it needs 4 to go on in. Pin less"));
    }
}
