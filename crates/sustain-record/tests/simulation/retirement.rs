//! Retires members, those that are there and those that are lost, and checks that all that was
//! there before is there without them.

use std::collections::{BTreeMap, BTreeSet};

use sustain_record::error::RecordError;
use sustain_record::opening::Recording;
use sustain_record::reading::readable::readable;
use sustain_record::reading::verify::{Checkable, verify};
use sustain_record::repair::Repair;
use sustain_record::store::{Mode, Store};
use sustain_targets::Stop;
use uuid::Uuid;

use crate::bench::Bench;
use crate::draw::Draw;
use crate::protection::{begins, check_what_is_owed, lacking, read_back, view_of};
use crate::spans::Spans;

/// The streams of all recordings, as far as they can be read.
type ReadStreams = BTreeMap<(usize, usize), Spans>;

/// Retires one member or two, takes as many away as parity replaces, and reads the rest. Puts all
/// back. Returns what was met.
pub fn check_retirement(bench: &mut Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let parities = parities.max().unwrap_or(0);
    let failed = lacking(&bench.history.borrow());
    if !bench.plan.retires || bench.plan.has_pins() || failed.len() > usize::from(parities > 0) {
        return Vec::new();
    }
    let mut draw = Draw::new(bench.plan.seed ^ 0x4E71_0000_0000_0000);
    let before = contents(bench);
    let state = Before {
        parities,
        begins: begins(bench),
        readable: read_all(bench, &BTreeSet::new()),
        was_whole: is_whole(bench, &BTreeSet::new()) && failed.is_empty(),
    };
    let mut met = Vec::new();
    let mut retired = BTreeSet::new();
    for _ in 0..1 + draw.below(2) {
        let member = match failed.first() {
            Some(failed) if retired.is_empty() => *failed,
            _ => draw.below(bench.disks.len() as u64) as usize,
        };
        if retired.contains(&member) {
            continue;
        }
        // A second one is lost only if the first could be computed without it.
        let is_lost = parities > 0 && draw.chance(400);
        let mut gone = retired.clone();
        gone.extend(is_lost.then_some(member));
        let told = retire(bench, &gone, member, &mut draw);
        met.push(told);
        if told == "a member was retired" {
            retired.insert(member);
            met.extend(is_lost.then_some("a lost member was retired"));
        }
    }
    if !retired.is_empty() {
        met.extend(check_retired(bench, &retired, &state, &mut draw));
    }
    for (member, bytes) in before {
        bench.machine.write_contents(member, 0, &bytes);
    }
    met
}

/// What there was before any member was retired.
struct Before {
    parities: usize,
    begins: BTreeMap<Uuid, u64>,
    readable: ReadStreams,
    /// Whether `verify` found no fault, and no member had failed.
    was_whole: bool,
}

/// Checks that all that was there is there without the members that were retired.
fn check_retired(
    bench: &Bench,
    retired: &BTreeSet<usize>,
    state: &Before,
    draw: &mut Draw,
) -> Vec<&'static str> {
    let mut met = Vec::new();
    met.extend((retired.len() > 1).then_some("two members were retired"));
    let readable_after = read_all(bench, retired);
    for (stream, before) in &state.readable {
        let lost = before.first_outside(&readable_after[stream]);
        assert_eq!(
            lost, None,
            "{stream:?} was there, and is not without {retired:?}"
        );
    }
    if state.was_whole {
        assert!(is_whole(bench, retired), "faults without {retired:?}");
    }
    let mut gone = retired.clone();
    while gone.len() < (retired.len() + state.parities).min(bench.disks.len() - 1) {
        gone.insert(draw.below(bench.disks.len() as u64) as usize);
    }
    check_what_is_owed(bench, &gone, &state.begins);
    if state.parities > 0 && state.was_whole {
        let is_protected = rebuild_another(bench, retired, draw);
        if is_protected {
            check_what_is_owed(bench, &gone, &state.begins);
            met.push("a member was rebuilt after others were retired");
        }
    }
    met
}

/// Loses a member that stayed, and rebuilds it on an empty disk. Returns whether all parity has a
/// place there.
fn rebuild_another(bench: &Bench, retired: &BTreeSet<usize>, draw: &mut Draw) -> bool {
    let staying: Vec<usize> = (0..bench.disks.len())
        .filter(|member| !retired.contains(member))
        .collect();
    let lost = draw.pick(&staying);
    let capacity_bytes = bench.plan.members[lost].capacity_bytes as usize;
    bench
        .machine
        .write_contents(lost, 0, &vec![0; capacity_bytes]);
    let mut gone = retired.clone();
    gone.insert(lost);
    let mut store = bench.open_without_all(&gone, Mode::Read);
    store.recordings().expect("the recordings can be listed");
    let repaired = store.repair_onto_simulated(&bench.disks[lost], &Stop::default(), &mut |_| ());
    let Ok(Repair::Complete(repaired)) = repaired else {
        panic!("it can be rebuilt: {repaired:?}");
    };
    repaired.tally.unprotected_groups == 0
}

/// Retires a member, and interrupts that now and then. Returns what came of it.
fn retire(bench: &Bench, gone: &BTreeSet<usize>, member: usize, draw: &mut Draw) -> &'static str {
    let stops_after = draw.chance(400).then(|| draw.below(200));
    if let Some(calls) = stops_after {
        let interrupted = attempt(bench, gone, member, (Some(calls), false));
        if interrupted.is_ok() {
            return "a member was retired";
        }
        if matches!(interrupted, Err(RecordError::Interrupted(_))) && draw.chance(500) {
            bench.machine.power_cut(draw.number());
        }
    }
    let told = match attempt_behind_repairs(bench, gone, member) {
        Err(RecordError::Usage(why)) if is_of_loss(&why) => {
            // Something of it was never protected. That is not tried further here.
            let is_lost = gone.contains(&member);
            assert!(
                is_lost || !is_whole(bench, gone),
                "{member} is there: {why}"
            );
            return "what a lost member had is not protected";
        }
        other => other,
    };
    match told {
        Ok(()) => "a member was retired",
        Err(RecordError::Usage(why)) if why.contains("free") => "no room for what a member has",
        Err(RecordError::Usage(why)) if why.contains("would stay") => "too few members would stay",
        Err(RecordError::Usage(why)) if why.contains("gone round") => "a ring has gone round",
        Err(RecordError::Usage(why)) if lacks_what_crash_took(bench, &why).is_some() => {
            "a member lacks what a crash took"
        }
        Err(error) => panic!("member {member} cannot be retired: {error}"),
    }
}

/// Retires a member. Where another one lacks what a crash took, that is repaired first, as the
/// refusal says, unless it is one more than parity replaces.
fn attempt_behind_repairs(
    bench: &Bench,
    gone: &BTreeSet<usize>,
    member: usize,
) -> Result<(), RecordError> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let parities = parities.max().unwrap_or(0);
    let mut told = attempt(bench, gone, member, (None, false));
    for _ in 0..bench.disks.len() {
        let Err(RecordError::Usage(why)) = &told else {
            break;
        };
        let lacking = lacks_what_crash_took(bench, why);
        let Some(lacking) = lacking.filter(|_| gone.len() < parities) else {
            break;
        };
        repair(bench, gone, lacking);
        told = attempt(bench, gone, member, (None, false));
    }
    told
}

/// Repairs a member that is there onto itself.
fn repair(bench: &Bench, gone: &BTreeSet<usize>, member: usize) {
    let mut left_out = gone.clone();
    left_out.insert(member);
    let mut store = bench.open_without_all(&left_out, Mode::Read);
    store.recordings().expect("the recordings can be listed");
    let repaired = store.repair_onto_simulated(&bench.disks[member], &Stop::default(), &mut |_| ());
    assert!(
        matches!(repaired, Ok(Repair::Complete(_))),
        "member {member} can be repaired: {repaired:?}"
    );
}

/// The member that lacks something by this refusal, if that is what a crash took: a crash has ended
/// the last recording that gave it anything, and `recover` was not run since. Readers compute that
/// as long as nothing comes behind the end of the member, be it that nothing was recorded since, or
/// that it was full.
fn lacks_what_crash_took(bench: &Bench, why: &str) -> Option<usize> {
    let is_named = |member: &usize| why.starts_with(&format!("m{member} does not have all"));
    let lacking = (0..bench.disks.len()).find(is_named)?;
    let (_, found) = opened(bench, &BTreeSet::new());
    let gave_any = found.iter().filter(|one| one.per_member[lacking].is_some());
    let last = gave_any.max_by_key(|recording| recording.number)?;
    (last.open_end && last.copies_of.is_none()).then_some(lacking)
}

/// Retires a member, and stops after so many slots.
fn attempt(
    bench: &Bench,
    gone: &BTreeSet<usize>,
    member: usize,
    (calls, accept_loss): (Option<u64>, bool),
) -> Result<(), RecordError> {
    let mut read = bench.open_without_all(gone, Mode::Read);
    let recordings = read.recordings().expect("the recordings can be listed");
    let mut store = bench.open_to_retire(gone, member);
    let stop = Stop::default();
    let mut left = calls;
    let mut observer = |_, _| match left {
        Some(0) => stop.interrupt(),
        Some(calls) => left = Some(calls - 1),
        None => {}
    };
    store
        .retire(
            (&read, &recordings),
            (member, accept_loss),
            &stop,
            &mut observer,
        )
        .map(|_| ())
}

/// Whether a refusal is about what nobody would read any more.
fn is_of_loss(why: &str) -> bool {
    ["once it is retired", "once the member is retired"]
        .iter()
        .any(|words| why.contains(words))
}

fn contents(bench: &Bench) -> Vec<(usize, Vec<u8>)> {
    let members = bench.plan.members.iter().enumerate();
    let contents = members.map(|(member, plan)| {
        let mut bytes = vec![0; plan.capacity_bytes as usize];
        bench.machine.read_contents(member, 0, &mut bytes);
        (member, bytes)
    });
    contents.collect()
}

/// Opens the store without some members, and returns its recordings.
fn opened(bench: &Bench, gone: &BTreeSet<usize>) -> (Store, Vec<Recording>) {
    let mut store = bench.open_without_all(gone, Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let checkable = Checkable::of(&store, &listed);
    let found = readable(checkable, &Stop::default(), &mut |_| ()).expect("it can be read");
    (store, found)
}

/// Everything that can be read without some members. What is read is compared with what was
/// recorded.
fn read_all(bench: &Bench, gone: &BTreeSet<usize>) -> ReadStreams {
    let (store, found) = opened(bench, gone);
    let history = bench.history.borrow();
    let mut all = ReadStreams::new();
    for (index, recorded) in history.recordings.iter().enumerate() {
        let view = view_of(&history, index, recorded);
        let recording = found.iter().find(|one| one.id == recorded.id);
        let streams = read_back(&view, &store, recording).into_iter().enumerate();
        all.extend(streams.map(|(stream, read)| ((index, stream), read.data)));
    }
    all
}

/// Whether `verify` finds no fault without some members.
fn is_whole(bench: &Bench, gone: &BTreeSet<usize>) -> bool {
    let (store, found) = opened(bench, gone);
    let checkable = Checkable::of(&store, &found);
    let checked = verify(checkable, &mut |_| {}, &Stop::default()).expect("it can be checked");
    if bench.is_reported && !checked.ok {
        eprintln!("without {gone:?}: {:?}", checked.bad);
    }
    checked.ok
}
