//! Makes the hops of a disk's path: with or without a rate, and marked if a link runs below what
//! both its ends can do.

use sustain_document::devices::{Hop, HopKind};

use super::link_rate::LinkRate;

/// A hop that limits nothing by itself, or a link about which nothing is known.
pub(super) fn without_rate(id: String, kind: HopKind, name: String) -> Hop {
    Hop {
        id,
        kind,
        name,
        rate_bytes_per_s: None,
        formula: None,
        possible_rate_bytes_per_s: None,
        slow: None,
        transfer_mode: None,
    }
}

/// The same hop as a link of this rate.
pub(super) fn with_rate(hop: Hop, rate: Option<LinkRate>) -> Hop {
    let (rate_bytes_per_s, formula) = rate.map(|rate| (rate.bytes_per_s, rate.formula)).unzip();
    Hop {
        rate_bytes_per_s,
        formula,
        ..hop
    }
}

/// The same hop, marked if both ends can do more than it runs at. `runs` and `can` name the two
/// speeds.
pub(super) fn marked_if_slow(hop: Hop, runs: &str, can: &str, possible: Option<&LinkRate>) -> Hop {
    let slower = possible.filter(|possible| {
        hop.rate_bytes_per_s
            .is_some_and(|rate| rate < possible.bytes_per_s)
    });
    Hop {
        possible_rate_bytes_per_s: slower.map(|possible| possible.bytes_per_s),
        slow: slower.map(|_| format!("runs at {runs}; both ends can do {can}")),
        ..hop
    }
}
