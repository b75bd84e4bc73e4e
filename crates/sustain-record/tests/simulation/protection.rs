//! Checks that what is called protected comes back although as many members are gone as there are
//! parities, those that failed included.

use std::collections::{BTreeMap, BTreeSet};

use sustain_record::format::Kind;
use sustain_record::opening::Recording;
use sustain_record::reading::parts::Parts;
use sustain_record::reading::readable::readable;
use sustain_record::reading::scope::Scope;
use sustain_record::reading::verify::{Checkable, Discrepancy, verify};
use sustain_record::repair::Repair;
use sustain_record::store::{Mode, Store};
use sustain_targets::Stop;
use uuid::Uuid;

use crate::bench::Bench;
use crate::check::{Given, ReadBack, View, is_accounted};
use crate::draw::Draw;
use crate::history::{Append, History, Recorded};
use crate::interrupted_repair::check_interrupted_repair;
use crate::pins::check_pins_below;
use crate::plan::RecordingPlan;
use crate::retirement::check_retirement;
use crate::spans::Spans;

/// Checks what parity promises of a store that nothing but the recorder has touched. Returns what
/// was met.
pub fn check_parity(bench: &mut Bench) -> Vec<&'static str> {
    let mut met = check_beside_failed(bench);
    met.extend(check_repair_of_another(bench));
    met.extend(check_protection(bench));
    met.extend(check_restoring(bench));
    met.extend(check_repair(bench));
    met.extend(check_interrupted_repair(bench));
    met.extend(check_retirement(bench));
    met
}

/// Reads the store with the members that have failed, which are there again. Returns what was met.
fn check_beside_failed(bench: &Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let failed = lacking(&bench.history.borrow());
    if failed.is_empty() || failed.len() > parities.max().unwrap_or(0) {
        return Vec::new();
    }
    let durable = |recorded: &Recorded| recorded.shown.clone();
    check_owed_below(durable, bench, &BTreeSet::new(), &BTreeMap::new());
    let history = bench.history.borrow();
    let mut recordings = history.recordings.iter();
    let was_slow = recordings.any(|one| one.failed.is_empty() && !one.lacking().is_empty());
    let slow = was_slow.then_some("members that were slow lack what was computed");
    slow.into_iter()
        .chain(["members that failed are there again"])
        .collect()
}

/// Repairs a member that lacks nothing, onto itself, while others lack something, and reads the store
/// with those. Puts back what was there. Returns what was met.
fn check_repair_of_another(bench: &mut Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let failed = lacking(&bench.history.borrow());
    let others = (0..bench.disks.len()).filter(|member| !failed.contains(member));
    let others: Vec<usize> = others.collect();
    if failed.is_empty() || failed.len() > parities.max().unwrap_or(0) || others.is_empty() {
        return Vec::new();
    }
    let mut draw = Draw::new(bench.plan.seed ^ 0x0748_0000_0000_0000);
    let member = draw.pick(&others);
    let mut before = vec![0; bench.plan.members[member].capacity_bytes as usize];
    bench.machine.read_contents(member, 0, &mut before);
    let mut store = bench.open_without_all(&[member].into(), Mode::Read);
    store.recordings().expect("the recordings can be listed");
    let stop = Stop::default();
    let repaired = store.repair_onto_simulated(&bench.disks[member], &stop, &mut |_| ());
    repaired.expect("it can be repaired");
    let durable = |recorded: &Recorded| recorded.shown.clone();
    check_owed_below(durable, bench, &BTreeSet::new(), &BTreeMap::new());
    bench.machine.write_contents(member, 0, &before);
    vec!["a member that lacks nothing is repaired beside one that does"]
}

/// Takes away as many members as parity replaces, and reads the rest. Returns what was met.
fn check_protection(bench: &mut Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let parities = parities.max().unwrap_or(0);
    let mut gone = lacking(&bench.history.borrow());
    if parities == 0 || gone.len() > parities {
        return Vec::new();
    }
    let mut met = vec!["members are gone that parity replaces"];
    met.extend(
        (!gone.is_empty()).then_some("a member that failed is gone, and parity replaces it"),
    );
    while gone.len() < parities {
        gone.insert(bench.draw.below(bench.disks.len() as u64) as usize);
    }
    check_what_is_owed(bench, &gone, &BTreeMap::new());
    met
}

/// Rebuilds as many members as parity replaces on empty disks, takes as many away again, reads the
/// rest, and puts all back. Returns what was met.
fn check_repair(bench: &mut Bench) -> Vec<&'static str> {
    let parities = bench.plan.recordings.iter().map(|plan| plan.parities);
    let parities = parities.max().unwrap_or(0);
    let mut lost = lacking(&bench.history.borrow());
    if parities == 0 || lost.len() > parities {
        return Vec::new();
    }
    while lost.len() < parities {
        lost.insert(bench.draw.below(bench.disks.len() as u64) as usize);
    }
    let begins = begins(bench);
    let mut before = Vec::new();
    for member in &lost {
        let capacity_bytes = bench.plan.members[*member].capacity_bytes as usize;
        let mut bytes = vec![0; capacity_bytes];
        bench.machine.read_contents(*member, 0, &mut bytes);
        leave_little(bench, *member, bytes.clone());
        before.push((*member, bytes));
    }
    let mut met = vec!["lost members are rebuilt"];
    let mut left = lost.clone();
    let mut is_protected = true;
    for member in &lost {
        let mut store = bench.open_without_all(&left, Mode::Read);
        store.recordings().expect("the recordings can be listed");
        let repaired =
            store.repair_onto_simulated(&bench.disks[*member], &Stop::default(), &mut |_| ());
        let Ok(Repair::Complete(repaired)) = repaired else {
            panic!("it can be rebuilt: {repaired:?}");
        };
        is_protected &= repaired.tally.unprotected_groups == 0;
        left.remove(member);
    }
    // What was on them is there again, whatever was on them only.
    check_what_is_owed(bench, &BTreeSet::new(), &begins);
    // Of a ring, what was overwritten in part could not be computed any more.
    // Where parity had no place, `repair` has said so, and `verify` does.
    if is_protected && !bench.plan.recordings.iter().any(|plan| plan.ring) {
        check_faultless(bench, &lost);
    }
    if is_protected {
        let mut gone = BTreeSet::new();
        while gone.len() < parities {
            gone.insert(bench.draw.below(bench.disks.len() as u64) as usize);
        }
        check_what_is_owed(bench, &gone, &begins);
        met.push("members are gone after others were rebuilt");
        met.extend(check_newly_protected(bench, (&lost, &gone), &begins));
    }
    for (member, bytes) in before {
        bench.machine.write_contents(member, 0, &bytes);
    }
    met
}

/// Checks that all that is durable is protected after members were rebuilt, also what was not while it
/// was recorded, and that it can be read while some are gone. Returns whether that could be checked.
fn check_newly_protected(
    bench: &Bench,
    (rebuilt, gone): (&BTreeSet<usize>, &BTreeSet<usize>),
    begins: &BTreeMap<Uuid, u64>,
) -> Option<&'static str> {
    let is_as_wanted = |plan: &RecordingPlan| plan.parities == gone.len() && !plan.ring;
    // What was on those alone is protected by nothing, and may be left of them.
    let is_alone = |history: &History, append: &Append| {
        let of_group = history.appends.iter().filter(|one| {
            let is_durable = one.kind == Kind::Parity && one.durable_at.is_some();
            is_durable && (one.recording, one.group) == (append.recording, append.group)
        });
        append.kind == Kind::Data
            && rebuilt.contains(&append.member)
            && of_group.count() < gone.len()
    };
    // What a power cut took of a group on others is made again only where one of them is rebuilt.
    let is_lost_elsewhere = |history: &History, append: &Append| {
        let mut others = history.appends.iter().filter(|one| {
            one.kind == Kind::Data
                && one.durable_at.is_some()
                && (one.recording, one.group) == (append.recording, append.group)
        });
        append.durable_at.is_none()
            && !rebuilt.contains(&append.member)
            && (append.kind == Kind::Parity || others.next().is_some())
    };
    let is_any_alone = {
        let history = bench.history.borrow();
        let mut appends = history.appends.iter();
        appends.any(|append| is_alone(&history, append) || is_lost_elsewhere(&history, append))
    };
    if is_any_alone || !bench.plan.recordings.iter().all(is_as_wanted) {
        return None;
    }
    let durable = |recorded: &Recorded| recorded.shown.clone();
    check_owed_below(durable, bench, gone, begins);
    Some("all is protected after members were rebuilt")
}

/// Checks that `verify` finds no fault after members were rebuilt, if nothing was left that parity did
/// not protect.
fn check_faultless(bench: &Bench, rebuilt: &BTreeSet<usize>) {
    let history = bench.history.borrow();
    let is_whole = |recorded: &Recorded| {
        let is_protected = recorded.protected == recorded.shown;
        recorded.result.is_some() && is_accounted(recorded) && is_protected
    };
    let is_protected = |append: &Append| {
        append.kind != Kind::Data
            || append.group > 0 && append.gap.is_none()
            || !rebuilt.contains(&append.member)
    };
    if !history.recordings.iter().all(is_whole) || !history.appends.iter().all(is_protected) {
        return;
    }
    let mut store = bench.open_without_all(&BTreeSet::new(), Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let checkable = Checkable::of(&store, &listed);
    let found = readable(checkable, &Stop::default(), &mut |_| ()).expect("it can be read");
    let checkable = Checkable::of(&store, &found);
    let checked = verify(checkable, &mut |_| {}, &Stop::default()).expect("it can be checked");
    // Where the power failed while a superblock told of members that were behind, a copy is torn.
    let is_torn_copy =
        |bad: &Discrepancy| bad.recording.is_none() && bad.why.contains("copy of the superblock");
    let is_torn = history
        .recordings
        .iter()
        .any(|one| !one.lacking().is_empty());
    assert!(
        checked.ok || is_torn && checked.bad.iter().all(is_torn_copy),
        "a repaired store has faults: {:?}",
        checked.bad
    );
}

/// Leaves an empty disk in the place of a member, or what has been damaged of it.
fn leave_little(bench: &mut Bench, member: usize, mut bytes: Vec<u8>) {
    let geometry = bench.history.borrow().geometries[member];
    let slots = geometry.first_slot_offset_bytes..geometry.slots_end_bytes();
    match bench.draw.chance(500) {
        true => bytes.fill(0),
        false => {
            for _ in 0..1 + bench.draw.below(8) {
                let start = slots.start + bench.draw.below(slots.end - slots.start);
                let length = bench.draw.magnitude(1.0, (slots.end - start) as f64) as u64;
                let end = (start + length).min(slots.end) as usize;
                let stretch = &mut bytes[start as usize..end];
                stretch.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
    bench.machine.write_contents(member, 0, &bytes);
}

/// Where recordings begin in a ring, by sequence, before anything of the store is lost.
pub fn begins(bench: &Bench) -> BTreeMap<Uuid, u64> {
    let mut store = bench.open_without_all(&BTreeSet::new(), Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let begins = listed
        .iter()
        .filter_map(|one| Some((one.id, one.readable_from_sequence?)));
    begins.collect()
}

/// Reads a store without some members, and checks that all that was protected comes back, from where
/// recordings begin in a ring.
pub fn check_what_is_owed(bench: &Bench, gone: &BTreeSet<usize>, begins: &BTreeMap<Uuid, u64>) {
    check_owed_below(|recorded| recorded.protected.clone(), bench, gone, begins);
}

/// The same of all below these watermarks of the streams of a recording.
fn check_owed_below(
    watermarks: impl Fn(&Recorded) -> Vec<u64>,
    bench: &Bench,
    gone: &BTreeSet<usize>,
    begins: &BTreeMap<Uuid, u64>,
) {
    let mut store = bench.open_without_all(gone, Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let found = readable(
        Checkable::of(&store, &listed),
        &Stop::default(),
        &mut |_| (),
    )
    .expect("the store can be read");
    let history = bench.history.borrow();
    let on_ring = whole_groups(&history);
    for (index, recorded) in history.recordings.iter().enumerate() {
        let view = view_of(&history, index, recorded);
        let watermarks = watermarks(recorded);
        let recording = found.iter().find(|one| one.id == recorded.id);
        let streams = read_back(&view, &store, recording);
        // What was on a member that is gone can be read from its oldest whole group on.
        let firsts = gone.iter().map(|member| {
            let appends = history.appends.iter();
            let own = appends.filter(|one| one.recording == index && one.member == *member);
            let is_overwritten = own.clone().any(Append::is_off_ring);
            let mut whole = own.filter(|one| on_ring.contains(&(index, one.group)));
            let first = whole.next().map_or(u64::MAX, |first| first.sequence);
            if is_overwritten { first } else { 0 }
        });
        let computed_from = firsts.max().unwrap_or(0);
        let readable_from = recording.and_then(|one| one.readable_from_sequence);
        let began = begins.get(&recorded.id).copied();
        let from_sequence = computed_from.max(readable_from.max(began).unwrap_or(0));
        for (stream, read) in streams.iter().enumerate() {
            let is_owed = |append: &&Append| {
                append.recording == index
                    && append.kind == Kind::Data
                    && usize::from(append.stream) == stream
                    && append.payload.end <= watermarks[stream]
                    && append.sequence >= from_sequence
                    && on_ring.contains(&(index, append.group))
                    && !is_second(&history, append, (&on_ring, from_sequence))
                    && !was_left_to_another(&history, append)
            };
            let owed = history.appends.iter().filter(is_owed);
            check_owed(&view, owed, read, gone);
        }
    }
    // What a pin keeps that came beside a member that had failed gets no parity by its repair.
    let of_pins = |recorded: &Recorded| {
        let mut failed = recorded.failed.iter();
        match !gone.is_empty() && failed.any(|member| !gone.contains(member)) {
            true => vec![0; recorded.streams.len()],
            false => watermarks(recorded),
        }
    };
    check_pins_below(&history, &mut store, &of_pins);
}

/// Whether an append has again what another one had, because the member of that failed, and a ring has
/// overwritten that, its group, or something that came behind it. What was protected by that one may
/// not be by this, and a reader begins behind it.
fn is_second(
    history: &History,
    append: &Append,
    (on_ring, from_sequence): (&BTreeSet<(usize, u64)>, u64),
) -> bool {
    let mut appends = history.appends.iter();
    appends.any(|first| {
        (first.recording, first.stream, first.kind)
            == (append.recording, append.stream, append.kind)
            && first.sequence < append.sequence
            && first.payload.start < append.payload.end
            && append.payload.start < first.payload.end
            && (first.sequence < from_sequence
                || !on_ring.contains(&(first.recording, first.group)))
    })
}

/// Whether an append never became durable, nor can it be computed of its group, and another one had
/// its bytes once more, because its member failed. A ring has overwritten that one, which alone made
/// them durable.
fn was_left_to_another(history: &History, append: &Append) -> bool {
    let of_group = |kind: Kind, is_durable: bool| {
        let appends = history.appends.iter();
        let of_group = appends.filter(move |one| {
            (one.recording, one.group, one.kind) == (append.recording, append.group, kind)
                && one.durable_at.is_some() == is_durable
        });
        of_group.count()
    };
    let is_second = |second: &Append| {
        (second.recording, second.stream, second.kind)
            == (append.recording, append.stream, append.kind)
            && second.sequence > append.sequence
            && second.payload.start < append.payload.end
            && append.payload.start < second.payload.end
            && second.durable_at.is_some()
            && second.is_off_ring()
    };
    append.durable_at.is_none()
        && of_group(Kind::Data, false) > of_group(Kind::Parity, true)
        && history.appends.iter().any(is_second)
}

/// The most groups that are damaged. Opening finds its way past a few lost descriptors, not past any
/// number of them.
const DAMAGED_GROUPS_MAX: u64 = 3;

/// Damages as many appends of a few groups as parity replaces, reads everything, and puts them back.
/// Returns what was met.
fn check_restoring(bench: &mut Bench) -> Vec<&'static str> {
    let targets = {
        let history = bench.history.borrow();
        if !lacking(&history).is_empty() {
            return Vec::new();
        }
        protected_groups(&history)
    };
    if targets.is_empty() {
        return Vec::new();
    }
    let mut before = Vec::new();
    let mut damaged = BTreeSet::new();
    for _ in 0..1 + bench.draw.below(DAMAGED_GROUPS_MAX) {
        damaged.insert(bench.draw.below(targets.len() as u64) as usize);
    }
    for group in damaged {
        let (parts, parities) = &targets[group];
        for _ in 0..*parities {
            let part = bench.draw.below(parts.len() as u64) as usize;
            let (member, offset_bytes, length_bytes) = parts[part];
            let start = bench.draw.below(length_bytes);
            let length = bench.draw.magnitude(1.0, length_bytes as f64) as u64;
            let mut bytes = vec![0; length.min(length_bytes - start) as usize];
            let at = offset_bytes + start;
            bench.machine.read_contents(member, at, &mut bytes);
            before.push((member, at, bytes.clone()));
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
            bench.machine.write_contents(member, at, &bytes);
        }
    }
    check_what_is_owed(bench, &BTreeSet::new(), &BTreeMap::new());
    // Where stretches overlap, the first one has what was there.
    for (member, at, bytes) in before.into_iter().rev() {
        bench.machine.write_contents(member, at, &bytes);
    }
    vec!["damaged appends come back by parity"]
}

/// The appends of a group: member, offset and length of each, and how many of them are parity.
type GroupTarget = (Vec<(usize, u64, u64)>, usize);

/// The groups that are protected.
/// Of a recording that a crash has ended nothing tells what came last on a member.
fn protected_groups(history: &History) -> Vec<GroupTarget> {
    let on_ring = whole_groups(history);
    let has_ended = |recording: usize| {
        let of_recording = || {
            let appends = history.appends.iter();
            appends.filter(move |one| one.recording == recording)
        };
        let ended = of_recording().filter(|one| one.kind == Kind::End && one.durable_at.is_some());
        let ended: BTreeSet<usize> = ended.map(|one| one.member).collect();
        of_recording().all(|one| ended.contains(&one.member))
    };
    let mut groups: BTreeMap<(usize, u64), Vec<&Append>> = BTreeMap::new();
    let in_groups = history.appends.iter().filter(|append| append.group > 0);
    for append in in_groups {
        let of_group = groups.entry((append.recording, append.group)).or_default();
        of_group.push(append);
    }
    let is_protected = |((recording, group), appends): &(&(usize, u64), &Vec<&Append>)| {
        let protected = &history.recordings[*recording].protected;
        on_ring.contains(&(*recording, *group))
            && has_ended(*recording)
            && appends.iter().all(|append| {
                append.kind != Kind::Data
                    || append.payload.end <= protected[usize::from(append.stream)]
            })
    };
    let protected = groups.iter().filter(is_protected);
    let protected = protected.map(|(_, appends)| {
        let parities = appends.iter().filter(|append| append.kind == Kind::Parity);
        let parts = appends.iter();
        let parts = parts.map(|one| (one.member, one.offset_bytes, one.append_bytes));
        (parts.collect(), parities.count())
    });
    protected.collect()
}

/// A recording of a store of which some may be gone, so that nothing is expected of it as a whole.
pub fn view_of<'a>(history: &'a History, index: usize, recorded: &'a Recorded) -> View<'a> {
    View {
        history,
        index,
        recorded,
        given: Given {
            missing: None,
            is_untouched: false,
        },
    }
}

/// Reads all streams of a recording.
pub fn read_back(view: &View, store: &Store, recording: Option<&Recording>) -> Vec<ReadBack> {
    let count = view.recorded.streams.len();
    let mut streams: Vec<ReadBack> = (0..count).map(|_| ReadBack::default()).collect();
    let Some(recording) = recording.filter(|one| one.streams.len() == count) else {
        return streams;
    };
    let scope = Scope::of(recording, &store.members, store.machines(), store.clock());
    let parts = Parts::open(&scope, &scope.all(0..count as u16)).expect("it can be read");
    for item in parts {
        let (stream, part) = item.expect("it can be read");
        view.take(stream, &part, &mut streams[usize::from(stream)]);
    }
    streams
}

/// Checks that these appends of a stream came back.
fn check_owed<'a>(
    view: &View,
    owed: impl Iterator<Item = &'a Append>,
    read: &ReadBack,
    gone: &BTreeSet<usize>,
) {
    let mut spans = Spans::default();
    for append in owed {
        let mut payload = Spans::default();
        payload.add(append.payload.clone());
        // Where its member failed and nothing protected it yet, a gap tells of it.
        if view.recorded.lacking().contains(&append.member) {
            let later = view.history.appends.iter();
            let gaps = later.filter(|one| {
                one.recording == append.recording
                    && one.stream == append.stream
                    && one.sequence > append.sequence
            });
            let gaps = gaps.filter_map(|one| one.gap.clone());
            gaps.for_each(|(gap, _)| payload.remove(gap));
        }
        spans.add_all(&payload);
    }
    // Beside members that are gone a ring may begin later: what cannot be computed any more has
    // been overwritten on some member.
    let mut there = read.data.clone();
    if view.recorded.ring {
        there.add_all(&read.overwritten);
    }
    if let Some(lost) = spans.first_outside(&there) {
        panic!(
            "recording {}: {lost:?} was protected, and without {gone:?} it does not come back \
             (hole {}, gap {}, overwritten {}, end {})",
            view.index,
            read.holes.has(lost.start),
            read.gaps.has(lost.start),
            read.overwritten.has(lost.start),
            read.end_bytes
        );
    }
}

/// The members that may lack something of any recording.
pub fn lacking(history: &History) -> BTreeSet<usize> {
    let recordings = history.recordings.iter();
    recordings.flat_map(Recorded::lacking).collect()
}

/// The groups of which a ring has overwritten nothing.
fn whole_groups(history: &History) -> BTreeSet<(usize, u64)> {
    let mut groups: BTreeMap<(usize, u64), bool> = BTreeMap::new();
    for append in history.appends.iter().filter(|append| append.group > 0) {
        let group = groups
            .entry((append.recording, append.group))
            .or_insert(true);
        *group &= !append.is_off_ring();
    }
    let whole = groups.into_iter().filter(|(_, is_whole)| *is_whole);
    whole.map(|(group, _)| group).collect()
}
