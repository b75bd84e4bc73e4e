//! The chain: every link between the disks and the memory, with what it carried, and whether a
//! limit is there. Pure; the conclusion of a diagnosis calls it.

use sustain_document::chain::{ChainLink, ChainVerdict, TopologyHop};
use sustain_document::devices::HopKind;
use sustain_document::diagnose::{Measurement, TopologyPath, Wall};

/// A link that carried less than this part of what it can is cleared.
const CLEARED_PART: f64 = 0.9;

/// The links that the data of these targets passes, those of the fewest targets first: these are
/// nearest to the disks.
pub(super) fn chain(
    ways: &[TopologyPath],
    measurements: &[Measurement],
    walls: &[Wall],
) -> Vec<ChainLink> {
    let mut hops: Vec<&TopologyHop> = Vec::new();
    for hop in ways.iter().flat_map(|way| &way.hops) {
        let is_known = hops.iter().any(|known| known.id == hop.id);
        if hop.kind != HopKind::Device && !is_known {
            hops.push(hop);
        }
    }
    let mut links: Vec<ChainLink> = hops
        .into_iter()
        .map(|hop| link(hop, ways, measurements, walls))
        .filter(|link| link.carried_bytes_per_s > 0.0)
        .collect();
    links.sort_by_key(|link| link.targets.len());
    links
}

fn link(
    hop: &TopologyHop,
    ways: &[TopologyPath],
    measurements: &[Measurement],
    walls: &[Wall],
) -> ChainLink {
    let passes = |way: &&TopologyPath| way.hops.iter().any(|own| own.id == hop.id);
    let targets = ways.iter().filter(passes);
    let targets: Vec<String> = targets.map(|way| way.target.clone()).collect();
    let carried = |reading: &Measurement| -> f64 {
        let rates = reading.members.iter().zip(&reading.rates_bytes_per_s);
        let through = rates.filter(|(member, _)| targets.contains(member));
        through.map(|(_, rate)| rate).sum()
    };
    let carried_bytes_per_s = measurements.iter().map(carried).fold(0.0, f64::max);
    let is_here = |wall: &Wall| wall.hop.as_ref().is_some_and(|at| at.id == hop.id);
    let wall = walls.iter().position(is_here);
    let is_cleared = |can: f64| carried_bytes_per_s < CLEARED_PART * can;
    let verdict = match wall {
        Some(_) => ChainVerdict::Guilty,
        None if hop.rate_bytes_per_s.is_some_and(is_cleared) => ChainVerdict::Cleared,
        None => ChainVerdict::Open,
    };
    ChainLink {
        hop: hop.clone(),
        targets,
        carried_bytes_per_s,
        verdict,
        wall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(id: &str, rate_bytes_per_s: Option<f64>) -> TopologyHop {
        TopologyHop {
            id: id.to_owned(),
            name: id.to_owned(),
            kind: HopKind::Port,
            rate_bytes_per_s,
            formula: None,
        }
    }

    fn way(target: &str, hops: &[TopologyHop]) -> TopologyPath {
        TopologyPath {
            target: target.to_owned(),
            hops: hops.to_vec(),
        }
    }

    fn measured(rates: &[(&str, f64)]) -> Measurement {
        Measurement {
            members: rates.iter().map(|(name, _)| (*name).to_owned()).collect(),
            rates_bytes_per_s: rates.iter().map(|(_, rate)| *rate).collect(),
            sum_bytes_per_s: 0.0,
            predicted_bytes_per_s: None,
            step: String::new(),
            dummy_bytes_per_s: None,
            limited_by: Vec::new(),
            is_as_predicted: None,
        }
    }

    #[test]
    fn a_link_is_cleared_by_what_it_carried_of_what_it_can() {
        let bus = hop("bus", Some(1000.0));
        let ways = [
            way(
                "a",
                &[hop("near", Some(100.0)), hop("bare", None), bus.clone()],
            ),
            way("b", &[hop("wide", Some(400.0)), bus]),
            way("unread", &[hop("idle", Some(1.0))]),
        ];
        let readings = [
            measured(&[("a", 95.0)]),
            measured(&[("a", 90.0), ("b", 90.0)]),
        ];
        let links = chain(&ways, &readings, &[]);
        let links = links.iter();
        let links: Vec<(&str, f64, ChainVerdict)> = links
            .map(|link| (link.hop.id.as_str(), link.carried_bytes_per_s, link.verdict))
            .collect();
        let expected = [
            ("near", 95.0, ChainVerdict::Open),
            ("bare", 95.0, ChainVerdict::Open),
            ("wide", 90.0, ChainVerdict::Cleared),
            ("bus", 180.0, ChainVerdict::Cleared),
        ];
        assert_eq!(links, expected);
    }
}
