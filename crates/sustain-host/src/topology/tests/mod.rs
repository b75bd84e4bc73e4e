//! The topology of made-up hosts, laid out in sysfs as the kernel does: one file of trees, one of
//! ways, one of facts.

mod facts;
mod trees;
mod ways;

use sustain_document::devices::{DiskPath, Hop};

use super::{path_of, paths_under};
use crate::block_device::device_named;
use crate::fake_host::FakeHost;

/// The way of a disk or partition.
fn path(host: &FakeHost, name: &str) -> DiskPath {
    let device = device_named(host.roots(), name).unwrap();
    path_of(host.roots(), &device).unwrap()
}

/// The names of its hops, the disk left out.
fn names(path: &DiskPath) -> Vec<&str> {
    path.hops[1..].iter().map(|hop| hop.name.as_str()).collect()
}

#[track_caller]
fn hop<'a>(path: &'a DiskPath, name: &str) -> &'a Hop {
    let found = path.hops.iter().find(|hop| hop.name == name);
    found.unwrap_or_else(|| panic!("no {name:?} in {:#?}", names(path)))
}

/// The rate in MB/s, rounded, with its formula.
#[track_caller]
fn rate<'a>(path: &'a DiskPath, name: &str) -> (u64, &'a str) {
    let hop = hop(path, name);
    let megabytes_per_s = hop.rate_bytes_per_s.unwrap() / 1e6;
    (
        megabytes_per_s.round() as u64,
        hop.formula.as_deref().unwrap(),
    )
}

/// What is said of a link that runs below what it could.
#[track_caller]
fn slow<'a>(path: &'a DiskPath, name: &str) -> Option<(u64, &'a str)> {
    let hop = hop(path, name);
    let megabytes_per_s = hop.possible_rate_bytes_per_s? / 1e6;
    Some((megabytes_per_s.round() as u64, hop.slow.as_deref()?))
}
