//! Interrupts the rebuilding of members, loses others in the middle of it, and goes on.

use std::collections::{BTreeMap, BTreeSet};

use sustain_record::error::RecordError;
use sustain_record::repair::RepairEvent;
use sustain_record::store::Mode;
use sustain_targets::Stop;

use crate::bench::Bench;
use crate::draw::Draw;
use crate::protection::{begins, check_what_is_owed, lacking};

/// Loses a member, interrupts its repair, loses others until as many are gone as parity replaces,
/// reads what is there, and rebuilds them all. Returns what was met.
pub fn check_interrupted_repair(bench: &mut Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let parities = parities.max().unwrap_or(0);
    let failed = lacking(&bench.history.borrow());
    if parities == 0 || failed.len() > parities {
        return Vec::new();
    }
    // So that what is tried afterwards stays what it was.
    let mut draw = Draw::new(bench.plan.seed ^ 0x1E7A_0000_0000_0000);
    let begins = begins(bench);
    let mut before = BTreeMap::new();
    for member in &failed {
        lose(bench, *member, &mut before);
    }
    let first = match failed.first() {
        Some(first) => *first,
        None => draw.below(bench.disks.len() as u64) as usize,
    };
    lose(bench, first, &mut before);
    let lost: BTreeSet<usize> = before.keys().copied().collect();
    let slots = draw.below(bench.plan.members[first].slots + 1);
    let was_interrupted = repair(bench, &lost, first, Some(slots)).is_err();
    let mut met = vec!["repair was to be interrupted"];
    met.extend(was_interrupted.then_some("repair was interrupted"));
    if was_interrupted && bench.plan.afterwards.power_cut && draw.chance(500) {
        // Nothing but what is being rebuilt can be lost by another one.
        bench.machine.power_cut(draw.number());
        met.push("power cut in the middle of repair");
    }
    // One that is not complete is left out by itself, so it counts among those that are gone.
    while before.len() < parities {
        let second = draw.below(bench.disks.len() as u64) as usize;
        if !before.contains_key(&second) {
            lose(bench, second, &mut before);
            met.push("another member is lost before the first is rebuilt");
        }
    }
    let mut left: BTreeSet<usize> = before.keys().copied().collect();
    let mut gone = left.clone();
    if draw.chance(300) {
        lose(bench, first, &mut before);
        met.push("what was being rebuilt is lost");
    } else {
        gone.remove(&first);
        left.retain(|member| *member != first || was_interrupted);
    }
    check_what_is_owed(bench, &gone, &begins);
    for member in left.clone() {
        repair(bench, &left, member, None).expect("it can be rebuilt");
        left.remove(&member);
    }
    check_what_is_owed(bench, &BTreeSet::new(), &begins);
    for (member, bytes) in before {
        bench.machine.write_contents(member, 0, &bytes);
    }
    met
}

/// Leaves an empty disk in the place of a member, and notes what it had.
fn lose(bench: &Bench, member: usize, before: &mut BTreeMap<usize, Vec<u8>>) {
    let mut bytes = vec![0; bench.plan.members[member].capacity_bytes as usize];
    bench.machine.read_contents(member, 0, &mut bytes);
    let nothing = vec![0; bytes.len()];
    before.entry(member).or_insert(bytes);
    bench.machine.write_contents(member, 0, &nothing);
}

/// Rebuilds a member without these, and stops after so many slots.
fn repair(
    bench: &Bench,
    without: &BTreeSet<usize>,
    member: usize,
    slots: Option<u64>,
) -> Result<(), RecordError> {
    let mut store = bench.open_without_all(without, Mode::Read);
    store.recordings().expect("the recordings can be listed");
    let stop = Stop::default();
    let mut observer = |event| {
        if let RepairEvent::Written { slots_done, .. } = event
            && slots.is_some_and(|slots| slots_done >= slots)
        {
            stop.interrupt();
        }
    };
    let repaired = store.repair_onto_simulated(&bench.disks[member], &stop, &mut observer);
    match repaired {
        Err(RecordError::Interrupted(_)) if slots.is_some() => repaired.map(|_| ()),
        other => {
            other.expect("it can be rebuilt");
            Ok(())
        }
    }
}
