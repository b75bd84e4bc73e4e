//! Runs one seed from beginning to end.

use std::collections::BTreeSet;

use crate::bench::Bench;
use crate::check::{Given, check};
use crate::damage::{damage_ends_before_another, damage_last_ends, damage_where_another_is_gone};
use crate::engine::Fate;
use crate::history::Append;
use crate::outcome::check_result;
use crate::plan::{CutKind, Plan};
use crate::protection::check_parity;

/// Runs a plan. Returns what it met.
///
/// # Panics
/// If the promise is not kept.
pub fn run(plan: &Plan, is_reported: bool) -> BTreeSet<&'static str> {
    let mut bench = Bench::new(plan);
    bench.is_reported = is_reported;
    let mut met = BTreeSet::new();
    let mut is_untouched = true;
    let mut told = 0;
    if plan.members.iter().any(|member| member.bad_byte.is_some()) {
        met.insert("byte that cannot be read or written");
    }
    met.extend(plan.recordings.iter().any(|one| one.ring).then_some("ring"));
    for (number, recording) in plan.recordings.iter().enumerate() {
        let fate = bench.record(number);
        met.insert(match fate {
            Fate::Cut(CutKind::Power) => "power cut",
            Fate::Cut(CutKind::Kill) => "killed",
            Fate::Running => "came to an end",
            Fate::Torn => "crashed while superblocks were renewed",
            Fate::Stuck => "hangs",
        });
        if is_reported {
            tell(&bench, number, fate, &mut told);
        }
        if fate == Fate::Running {
            check_result(&bench, number);
        }
        // A user who repairs a failed disk turns the machine off and on.
        if bench.history.borrow().has_failed_members() && bench.draw.chance(700) {
            bench.cut_power();
        }
        if matches!(fate, Fate::Cut(_)) && bench.draw.chance(300) {
            bench.recover();
        }
        is_untouched &= recording.stale.is_none();
        if recording.is_checked && !needs_parity(&bench) {
            let given = Given {
                missing: None,
                is_untouched,
            };
            check(&mut bench, given);
        }
    }
    if plan.afterwards.power_cut {
        bench.cut_power();
    }
    if plan.afterwards.flips > 0 {
        bench.flip_bits(plan.afterwards.flips);
        is_untouched = false;
    }
    let missing = plan.afterwards.missing;
    met.extend(missing.map(|_| "missing member"));
    is_untouched &= missing.is_none();
    let has_bad_byte = plan.members.iter().any(|member| member.bad_byte.is_some());
    if is_untouched && !has_bad_byte {
        met.extend(check_parity(&mut bench));
    }
    if !needs_parity(&bench) {
        let given = Given {
            missing,
            is_untouched,
        };
        check(&mut bench, given);
        // What pins keep has checks of its own.
        if is_untouched && !plan.has_pins() {
            met.extend(damage(&mut bench));
        }
    }
    met.extend(bench.struck.iter().copied());
    met.extend(bench.history.borrow().pins_met.borrow().iter().copied());
    met
}

/// Damages what is there in ways that must be noticed. Returns those that were possible.
fn damage(bench: &mut Bench) -> Vec<&'static str> {
    let mut met = Vec::new();
    if damage_ends_before_another(bench) {
        met.push("end marks lost before another recording");
    }
    if damage_last_ends(bench) {
        met.push("the last end marks lost");
    }
    if damage_where_another_is_gone(bench) {
        met.push("damage in a recording that is gone from another member");
    }
    met
}

/// Whether a member has failed of which only its groups have the rest.
fn needs_parity(bench: &Bench) -> bool {
    let mut plans = bench.plan.recordings.iter();
    let history = bench.history.borrow();
    let mut recordings = history.recordings.iter();
    plans.any(|plan| plan.parities > 0) && recordings.any(|one| !one.lacking().is_empty())
}

/// Prints the state for someone who repeats a seed: the recordings that a plan has made, of which
/// there are several where it is split.
fn tell(bench: &Bench, number: usize, fate: Fate, told: &mut usize) {
    eprintln!("recording {number} of the plan: {fate:?}");
    let history = bench.history.borrow();
    for (index, recorded) in history.recordings.iter().enumerate().skip(*told) {
        eprintln!(
            "it is number {}, failed {:?}, shown {:?}, protected {:?}",
            recorded.number, recorded.failed, recorded.shown, recorded.protected
        );
        let appends = history.appends.iter();
        appends
            .filter(|append| append.recording == index)
            .for_each(tell_append);
    }
    *told = history.recordings.len();
}

fn tell_append(append: &Append) {
    eprintln!(
        "  {} on {} at {}+{}: {:?} {:?} {:?} gap {:?}, completed {:?}, durable {:?}, group {}{}",
        append.sequence,
        append.member,
        append.place.slot_serial,
        append.place.slot_offset_bytes,
        append.kind,
        append.stream,
        append.payload,
        append.gap,
        append.completed_at,
        append.durable_at,
        append.group,
        match (append.is_gone, append.is_passed) {
            (true, _) => ", gone",
            (false, true) => ", passed",
            (false, false) => "",
        },
    );
}
