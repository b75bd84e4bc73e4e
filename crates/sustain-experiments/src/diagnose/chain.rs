//! The chain: every link between the disks and the memory, with what it carried, and whether a
//! limit is there. Pure; the conclusion of a diagnosis calls it.

use sustain_document::chain::{ChainLink, ChainVerdict, TopologyHop};
use sustain_document::devices::HopKind;
use sustain_document::diagnose::{Measurement, TopologyPath, Wall};

/// A link that carried less than this part of what it can is cleared.
const CLEARED_PART: f64 = 0.9;
/// Targets that reach less together than this part of the best of them alone collapse.
const COLLAPSED_PART: f64 = 0.95;

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
        None if !hop.rate_bytes_per_s.is_some_and(is_cleared) => ChainVerdict::Open,
        None if is_collapsing(&targets, measurements) => ChainVerdict::Suspect,
        None => ChainVerdict::Cleared,
    };
    ChainLink {
        hop: hop.clone(),
        targets,
        carried_bytes_per_s,
        verdict,
        wall,
    }
}

/// Whether some of these targets reach less together, with no other beside them, than one of them
/// alone.
fn is_collapsing(targets: &[String], measurements: &[Measurement]) -> bool {
    let alone = |member: &String| {
        let of_member = measurements
            .iter()
            .filter(|one| one.members == [member.clone()]);
        of_member
            .map(|one| one.rates_bytes_per_s[0])
            .fold(0.0, f64::max)
    };
    let mut readings = measurements.iter().filter(|one| one.members.len() > 1);
    readings.any(|reading| {
        let best = reading.members.iter().map(alone).fold(0.0, f64::max);
        let members = reading.rates_bytes_per_s.iter().take(reading.members.len());
        reading
            .members
            .iter()
            .all(|member| targets.contains(member))
            && members.sum::<f64>() < best * COLLAPSED_PART
    })
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
    fn a_link_whose_targets_reach_less_together_than_one_alone_is_not_cleared() {
        let channel = |name: &str| hop(name, Some(40.0));
        let bus = hop("bus", Some(90.0));
        let ways = [
            way("a", &[channel("one"), bus.clone()]),
            way("b", &[channel("one"), bus.clone()]),
            way("c", &[channel("two"), bus]),
        ];
        let readings = [
            measured(&[("a", 35.0)]),
            measured(&[("b", 35.0)]),
            measured(&[("c", 35.0)]),
            measured(&[("a", 7.5), ("b", 7.5)]),
            measured(&[("a", 35.0), ("c", 35.0)]),
        ];
        let verdicts: Vec<(String, ChainVerdict)> = chain(&ways, &readings, &[])
            .into_iter()
            .map(|link| (link.hop.id, link.verdict))
            .collect();
        let expected = [
            ("two", ChainVerdict::Cleared),
            ("one", ChainVerdict::Suspect),
            ("bus", ChainVerdict::Suspect),
        ];
        assert_eq!(
            verdicts,
            expected.map(|(id, verdict)| (id.to_owned(), verdict))
        );
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
