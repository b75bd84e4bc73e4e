//! SAS ports and expanders, as the kernel's SAS transport shows them. Called by the walk. A port is
//! one phy or several that work as one: `port-0:0` of the host, `port-0:0:3` of an expander; each
//! phy reports what it runs at.

use std::collections::BTreeMap;
use std::path::Path;

use sustain_document::devices::{Hop, HopKind};

use super::hop::{marked_if_slow, with_rate, without_rate};
use super::link_rate::{self, LinkRate, giga, parse_giga};
use super::sysfs_path::{SysfsPath, name_of};
use crate::roots::{attribute, names_in};

/// Ports and expanders, the disk's own port first.
pub(super) fn hops(way: &SysfsPath) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut below: Option<&Path> = None;
    for directory in &way.directories {
        let name = name_of(directory);
        if name.starts_with("port-") {
            hops.push(port(way, directory, below));
        } else if name.starts_with("expander-") {
            hops.push(expander(way, directory));
        }
        below = Some(directory);
    }
    hops
}

fn port(way: &SysfsPath, directory: &Path, below: Option<&Path>) -> Hop {
    let address = name_of(directory).replace("port-", "");
    let phys = phys_in(directory);
    let speeds = speeds_of(directory, &phys, "negotiated_linkrate");
    let lanes = match speeds.len() {
        0 | 1 => String::new(),
        count => format!(" of {count} phys"),
    };
    let name = format!("SAS port {address}{lanes}");
    let hop = with_rate(
        without_rate(way.id_of(directory), HopKind::Port, name),
        sum_of(&speeds),
    );
    let fastest = |directory: &Path, phys: &[String]| {
        let speeds = speeds_of(directory, phys, "maximum_linkrate_hw");
        speeds.into_iter().max()
    };
    // The kernel does not report what a drive can do, only what an expander can.
    let far = below
        .filter(|below| name_of(below).starts_with("expander-"))
        .and_then(|below| fastest(below, &phys_in(below)));
    let can = fastest(directory, &phys).zip(far);
    let can = can.map(|(near, far)| vec![near.min(far); speeds.len()]);
    let Some(can) = can else {
        return hop;
    };
    marked_if_slow(hop, &words(&speeds), &words(&can), sum_of(&can).as_ref())
}

/// The number of phys at each speed, the fastest first.
fn groups(speeds: &[u32]) -> Vec<(u32, u32)> {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for speed in speeds {
        *counts.entry(*speed).or_default() += 1;
    }
    counts.into_iter().rev().collect()
}

/// The rate that phys of these speeds carry together.
fn sum_of(speeds: &[u32]) -> Option<LinkRate> {
    let rates: Option<Vec<LinkRate>> = groups(speeds)
        .into_iter()
        .map(|(speed, count)| link_rate::sas(speed, count))
        .collect();
    let rates = rates.filter(|rates| !rates.is_empty())?;
    let formulas: Vec<&str> = rates.iter().map(|rate| rate.formula.as_str()).collect();
    Some(LinkRate {
        bytes_per_s: rates.iter().map(|rate| rate.bytes_per_s).sum(),
        formula: formulas.join(" + "),
    })
}

fn words(speeds: &[u32]) -> String {
    let words = |(speed, count)| format!("{} Gbit/s x{count}", giga(speed));
    let groups: Vec<String> = groups(speeds).into_iter().map(words).collect();
    groups.join(" + ")
}

fn expander(way: &SysfsPath, directory: &Path) -> Hop {
    let name = name_of(directory);
    let class = directory.join("sas_expander").join(&name);
    let mut words = name.replace("expander-", "SAS expander ");
    for fact in ["vendor_id", "product_id"] {
        if let Some(fact) = attribute(&class.join(fact)) {
            words.push(' ');
            words.push_str(&fact);
        }
    }
    without_rate(way.id_of(directory), HopKind::Expander, words)
}

fn phys_in(directory: &Path) -> Vec<String> {
    let mut names = names_in(directory).unwrap_or_default();
    names.retain(|name| name.starts_with("phy-"));
    names
}

/// The speeds that the phys report; a phy that does not run reports none.
fn speeds_of(directory: &Path, phys: &[String], what: &str) -> Vec<u32> {
    let speed = |phy: &String| {
        let class = directory.join(phy).join("sas_phy").join(phy);
        parse_giga(&attribute(&class.join(what))?)
    };
    phys.iter().filter_map(speed).collect()
}
