//! Finds where a wall sits: at the hop that the data of all its members passes and that of no other
//! target. Pure; it knows the topology path of each target, and judges by what each hop can carry.

use sustain_document::chain::TopologyHop;
use sustain_document::devices::HopKind;
use sustain_document::diagnose::TopologyPath;

use super::topology_paths::is_memory_kind;

/// A hop does not explain a wall that is higher than its rate by more than the noise of readings.
const ABOVE_HOP_MAX: f64 = 1.05;
/// A wall below this part of what a hop carries has another cause.
const SHARE_OF_HOP_MIN: f64 = 0.5;

/// Where a wall sits, or why that cannot be said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Explanation {
    /// At this hop.
    Hop {
        hop: TopologyHop,
        /// The wall as a part of what the hop carries, if that is known.
        share_of_hop: Option<f64>,
        cause: HopCause,
    },
    /// No known hop explains it.
    None(NotExplained),
}

/// Why a hop explains a wall.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HopCause {
    /// All members are on this device.
    AllOnIt,
    /// It is the nearest that they share, and no rate is known.
    RateUnknown,
    /// The wall is near to what it carries.
    OfRate {
        limit_bytes_per_s: f64,
        rate_bytes_per_s: f64,
    },
}

/// Why no hop explains a wall.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NotExplained {
    /// The members are not known to share anything.
    NothingShared,
    /// It is higher than the rate that the machine reports of the hop.
    AboveReportedRate { hop: String },
    /// It is far below what the hop carries.
    FarBelow {
        hop: String,
        limit_bytes_per_s: f64,
        rate_bytes_per_s: f64,
    },
    /// Other targets pass the nearest hop that the members share.
    OthersPass { hop: String, others: Vec<String> },
}

/// Explains a wall of `limit_bytes_per_s` that these targets share and no others; `ways` has the
/// topology path of every target of the diagnosis.
pub(super) fn explain(
    members: &[usize],
    limit_bytes_per_s: f64,
    ways: &[TopologyPath],
) -> Explanation {
    let common: Vec<&TopologyHop> = ways[members[0]]
        .hops
        .iter()
        .filter(|hop| members.iter().all(|member| passes(&ways[*member], hop)))
        .collect();
    if common.is_empty() {
        return Explanation::None(NotExplained::NothingShared);
    }
    let outsiders: Vec<&TopologyPath> = (0..ways.len())
        .filter(|target| !members.contains(target))
        .map(|target| &ways[target])
        .collect();
    let own: Vec<&TopologyHop> = common
        .iter()
        .copied()
        .filter(|hop| !outsiders.iter().any(|way| passes(way, hop)))
        .collect();
    let own = without_cleared_memory(own, limit_bytes_per_s);
    let Some(nearest) = own.first() else {
        return shared_with_outsiders(common[0], &outsiders);
    };
    if nearest.kind == HopKind::Device {
        return Explanation::Hop {
            hop: (*nearest).clone(),
            share_of_hop: None,
            cause: HopCause::AllOnIt,
        };
    }
    let carries = |hop: &&&TopologyHop| {
        hop.rate_bytes_per_s
            .is_some_and(|rate| limit_bytes_per_s <= rate * ABOVE_HOP_MAX)
    };
    let by_rate = |one: &&&TopologyHop, other: &&&TopologyHop| {
        let rate = |hop: &TopologyHop| hop.rate_bytes_per_s.unwrap_or(f64::INFINITY);
        rate(one).total_cmp(&rate(other))
    };
    match own.iter().filter(carries).min_by(by_rate) {
        Some(hop) => at_known_rate(hop, limit_bytes_per_s),
        None if own.iter().all(|hop| hop.rate_bytes_per_s.is_none()) => Explanation::Hop {
            hop: (*nearest).clone(),
            share_of_hop: None,
            cause: HopCause::RateUnknown,
        },
        None => Explanation::None(NotExplained::AboveReportedRate {
            hop: nearest.name.clone(),
        }),
    }
}

/// Leaves out the memory if it was measured to carry far more, and other hops are left.
fn without_cleared_memory(mut own: Vec<&TopologyHop>, limit_bytes_per_s: f64) -> Vec<&TopologyHop> {
    let is_cleared = |hop: &TopologyHop| {
        let share = hop.rate_bytes_per_s.map(|rate| limit_bytes_per_s / rate);
        is_memory_kind(hop.kind) && share.is_some_and(|share| share < SHARE_OF_HOP_MIN)
    };
    if own.iter().any(|hop| !is_cleared(hop)) {
        own.retain(|hop| !is_cleared(hop));
    }
    own
}

fn passes(way: &TopologyPath, hop: &TopologyHop) -> bool {
    way.hops.iter().any(|own| own.id == hop.id)
}

fn at_known_rate(hop: &TopologyHop, limit_bytes_per_s: f64) -> Explanation {
    let rate = hop.rate_bytes_per_s.unwrap_or(f64::INFINITY);
    let share = limit_bytes_per_s / rate;
    if share < SHARE_OF_HOP_MIN {
        return Explanation::None(NotExplained::FarBelow {
            hop: hop.name.clone(),
            limit_bytes_per_s,
            rate_bytes_per_s: rate,
        });
    }
    Explanation::Hop {
        hop: hop.clone(),
        share_of_hop: Some(share),
        cause: HopCause::OfRate {
            limit_bytes_per_s,
            rate_bytes_per_s: rate,
        },
    }
}

fn shared_with_outsiders(nearest: &TopologyHop, outsiders: &[&TopologyPath]) -> Explanation {
    let others = outsiders.iter().filter(|way| passes(way, nearest));
    Explanation::None(NotExplained::OthersPass {
        hop: nearest.name.clone(),
        others: others.map(|way| way.target.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::diagnosis_words;
    use super::*;

    /// Hops as (name, rate in MB/s; 0 for unknown).
    fn way(target: &str, hops: &[(&str, f64)]) -> TopologyPath {
        let hop = |(name, rate): &(&str, f64)| TopologyHop {
            id: (*name).to_owned(),
            name: (*name).to_owned(),
            kind: HopKind::Port,
            rate_bytes_per_s: (*rate > 0.0).then_some(*rate * 1e6),
            formula: None,
        };
        TopologyPath {
            target: target.to_owned(),
            hops: hops.iter().map(hop).collect(),
        }
    }

    /// Two ports with two disks each, on one controller behind one link.
    fn board() -> Vec<TopologyPath> {
        ["port0", "port0", "port1", "port1"]
            .iter()
            .zip(["sda", "sdb", "sdc", "sdd"])
            .map(|(port, disk)| {
                let hops = [(disk, 0.0), (*port, 300.0), ("link", 500.0), ("node", 0.0)];
                way(disk, &hops)
            })
            .collect()
    }

    fn words(members: &[usize], limit: f64, ways: &[TopologyPath]) -> String {
        match explain(members, limit * 1e6, ways) {
            Explanation::Hop { hop, cause, .. } => diagnosis_words::hop(&hop.name, &cause),
            Explanation::None(why) => format!("none: {}", diagnosis_words::not_explained(&why)),
        }
    }

    #[test]
    fn a_wall_sits_at_what_its_members_share_and_nobody_else_passes() {
        let ways = board();
        assert_eq!(
            words(&[0, 1], 252.0, &ways),
            "port0: 252 MB/s of the 300 MB/s that it can carry, 84 %"
        );
        assert_eq!(
            words(&[0, 1, 2, 3], 450.0, &ways),
            "link: 450 MB/s of the 500 MB/s that it can carry, 90 %"
        );
    }

    #[test]
    fn what_no_hop_explains_is_said() {
        let ways = board();
        assert!(words(&[0, 2], 150.0, &ways).contains("and sdb, sdd pass through it too"));
        assert!(words(&[0, 1, 2, 3], 120.0, &ways).starts_with("none: link: 120 MB/s of the"));
        assert!(words(&[0, 1], 400.0, &ways).contains("higher than the reported rate of port0"));
        let strangers = [way("a", &[("a", 0.0)]), way("b", &[("b", 0.0)])];
        assert!(words(&[0, 1], 100.0, &strangers).starts_with("none: nothing is known"));
    }

    #[test]
    fn a_disk_that_they_lie_on_explains_it_whatever_its_port_carries() {
        let mut ways = [
            way("a1", &[("vda", 0.0), ("port", 600.0)]),
            way("a2", &[("vda", 0.0), ("port", 600.0)]),
            way("b", &[("vdb", 0.0), ("other port", 600.0)]),
        ];
        ways.iter_mut()
            .for_each(|way| way.hops[0].kind = HopKind::Device);
        assert_eq!(words(&[0, 1], 120.0, &ways), "vda: all of them are on it");
    }

    #[test]
    fn a_hop_of_unknown_rate_explains_only_if_none_is_known() {
        let ways = [
            way("a1", &[("disk a", 0.0), ("host", 0.0)]),
            way("a2", &[("disk a", 0.0), ("host", 0.0)]),
            way("b", &[("disk b", 0.0), ("host", 0.0)]),
        ];
        let text = words(&[0, 1], 100.0, &ways);
        assert_eq!(text, "disk a, whose rate is not known");
    }
}
