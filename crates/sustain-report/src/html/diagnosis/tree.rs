//! Builds the tree of the disks: the topology paths of all disks are merged hop by hop from the
//! host's end, and neighbouring hops that the same disks pass become one branch.
//! [`super::machine`] draws it.

use sustain_document::chain::TopologyHop;
use sustain_document::diagnose::TopologyPath;

/// Hops that the same disks pass, and the branches below them.
pub(super) struct Branch<'a> {
    /// The hops, farthest from the disks first; those of a leaf are passed by no other disk.
    pub(super) hops: Vec<&'a TopologyHop>,
    pub(super) below: Vec<Branch<'a>>,
    /// The place of the disk in the list of disks, if this is a leaf.
    pub(super) disk: Option<usize>,
}

/// The hops of a disk that are not yet part of the tree, farthest first.
struct Rest<'a> {
    disk: usize,
    hops: Vec<&'a TopologyHop>,
}

/// The tree of these topology paths, one per disk in the order in which the disks are connected.
/// Disks without a path are leaves of the root.
pub(super) fn tree(ways: &[TopologyPath], disks: usize) -> Branch<'_> {
    let rests = (0..disks).map(|disk| Rest {
        disk,
        hops: ways
            .get(disk)
            .map_or_else(Vec::new, |way| way.hops.iter().rev().collect()),
    });
    branch(rests.collect())
}

/// Takes the next hops that all of these have in common, then splits them.
fn branch(mut rests: Vec<Rest<'_>>) -> Branch<'_> {
    if let [only] = rests.as_mut_slice() {
        return Branch {
            hops: std::mem::take(&mut only.hops),
            below: Vec::new(),
            disk: Some(only.disk),
        };
    }
    let common = common(&rests);
    let hops = rests
        .first()
        .map_or_else(Vec::new, |first| first.hops[..common].to_vec());
    let mut groups: Vec<Vec<Rest<'_>>> = Vec::new();
    for mut rest in rests {
        rest.hops.drain(..common);
        let same = |group: &&mut Vec<Rest<'_>>| match (group[0].hops.first(), rest.hops.first()) {
            (Some(one), Some(other)) => one.id == other.id,
            // A disk that has no hop left is a leaf of this branch.
            _ => false,
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(rest),
            None => groups.push(vec![rest]),
        }
    }
    Branch {
        hops,
        below: groups.into_iter().map(branch).collect(),
        disk: None,
    }
}

/// The number of next hops that all of these have in common.
fn common(rests: &[Rest<'_>]) -> usize {
    let Some((first, others)) = rests.split_first() else {
        return 0;
    };
    let shared = first.hops.iter().enumerate().take_while(|(index, hop)| {
        let same = |rest: &Rest<'_>| rest.hops.get(*index).is_some_and(|own| own.id == hop.id);
        others.iter().all(same)
    });
    shared.count()
}

#[cfg(test)]
mod tests {
    use sustain_document::devices::HopKind;

    use super::*;

    fn way(hops: &[&str]) -> TopologyPath {
        let hop = |id: &&str| TopologyHop {
            id: (*id).to_owned(),
            name: (*id).to_owned(),
            kind: HopKind::Port,
            rate_bytes_per_s: None,
            formula: None,
        };
        TopologyPath {
            target: String::new(),
            hops: hops.iter().map(hop).collect(),
        }
    }

    /// `hop+hop(what hangs on it)`, a leaf as its number and its own hops.
    fn words(branch: &Branch<'_>) -> String {
        let hops: Vec<&str> = branch.hops.iter().map(|hop| hop.id.as_str()).collect();
        let below: Vec<String> = branch.below.iter().map(words).collect();
        match branch.disk {
            Some(disk) => format!("{disk}:{}", hops.join("+")),
            None => format!("{}({})", hops.join("+"), below.join(" ")),
        }
    }

    #[test]
    fn ways_are_merged_from_the_host_and_runs_of_hops_taken_together() {
        let ways = [
            way(&["sda", "port0", "link", "node"]),
            way(&["sdb", "port0", "link", "node"]),
            way(&["sdc", "plug", "port1", "link", "node"]),
        ];
        assert_eq!(
            words(&tree(&ways, 3)),
            "node+link(port0(0:sda 1:sdb) 2:port1+plug+sdc)"
        );
    }

    #[test]
    fn disks_without_a_common_way_hang_side_by_side() {
        let ways = [
            way(&["a", "x"]),
            way(&["b", "y"]),
            way(&["c", "y"]),
            way(&[]),
        ];
        assert_eq!(words(&tree(&ways, 5)), "(0:x+a y(1:b 2:c) 3: 4:)");
        assert_eq!(words(&tree(&[], 2)), "(0: 1:)");
        assert_eq!(words(&tree(&[], 1)), "0:");
    }

    #[test]
    fn two_targets_on_one_disk_hang_on_it() {
        let ways = [way(&["sda", "port"]), way(&["sda", "port"])];
        assert_eq!(words(&tree(&ways, 2)), "port+sda(0: 1:)");
    }
}
