//! Damages what `verify` must miss: what a member has of a recording of which a ring has written
//! over all that another one had, and the end marks of a recording, be it the last one or one that
//! another follows.

use sustain_record::format::Kind;
use sustain_record::opening::Recording;
use sustain_record::reading::readable::readable;
use sustain_record::reading::verify::{Checkable, verify};
use sustain_record::store::{Mode, Store};
use sustain_targets::Stop;

use crate::bench::Bench;
use crate::history::{Append, History};

/// Damages such an append, and those next to it, if there are any.
///
/// # Panics
/// If `verify` does not say so.
pub fn damage_where_another_is_gone(bench: &mut Bench) -> bool {
    let mut store = bench.open(Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let found = readable(
        Checkable::of(&store, &listed),
        &Stop::default(),
        &mut |_| (),
    )
    .expect("the store can be read");
    drop(store);
    let history = bench.history.borrow();
    let targets: Vec<(usize, u64)> = found
        .iter()
        .flat_map(|recording| kept(&history, recording))
        .map(|append| (append.member, append.offset_bytes))
        .collect();
    drop(history);
    if targets.is_empty() {
        return false;
    }
    let first = bench.draw.below(targets.len() as u64) as usize;
    let count = 1 + bench.draw.below(3) as usize;
    for (member, offset_bytes) in targets.iter().skip(first).take(count) {
        let at = offset_bytes + bench.draw.below(100);
        let mut byte = [0];
        bench.machine.read_contents(*member, at, &mut byte);
        bench.machine.write_contents(*member, at, &[!byte[0]]);
    }
    let mut store = bench.open(Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let checked = verify(
        Checkable::of(&store, &listed),
        &mut |_| {},
        &Stop::default(),
    );
    let checked = checked.expect("the store can be checked");
    assert!(!checked.ok, "damage at {:?} is excused", targets[first]);
    true
}

/// Writes over all end marks of a recording that another one follows, and puts them back.
///
/// # Panics
/// If `verify` does not name each of them.
pub fn damage_ends_before_another(bench: &mut Bench) -> bool {
    let mut store = bench.open(Mode::Read);
    let found = store.recordings().expect("the recordings can be listed");
    let history = bench.history.borrow();
    let mut pairs = found.windows(2);
    let hit = pairs.find_map(|pair| {
        let ends = kept_ends(&history, &pair[1], &pair[0])?;
        Some(([pair[1].number, pair[0].number], ends))
    });
    let Some((numbers, ends)) = hit else {
        return false;
    };
    let mut saved = Vec::new();
    for end in &ends {
        let mut bytes = vec![0; end.append_bytes as usize];
        let destroyed = vec![0xA5; bytes.len()];
        bench
            .machine
            .read_contents(end.member, end.offset_bytes, &mut bytes);
        bench
            .machine
            .write_contents(end.member, end.offset_bytes, &destroyed);
        saved.push(bytes);
    }
    let mut store = bench.open(Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let checked = verify(
        Checkable::of(&store, &listed),
        &mut |_| {},
        &Stop::default(),
    );
    let checked = checked.expect("the store can be checked");
    for end in &ends {
        let name = format!("m{}", end.member);
        let is_named = checked.bad.iter().any(|bad| {
            // Where nothing else of it is left on the member, the next recording tells. Numbers are
            // left out before one that members are missing in.
            let of_either = numbers.map(Some).contains(&bad.recording);
            let is_there = bad.offset_bytes == Some(end.offset_bytes);
            of_either && is_there && bad.member.as_ref() == Some(&name)
        });
        assert!(is_named, "{end:?} is not missed: {:?}", checked.bad);
    }
    for (end, bytes) in ends.iter().zip(saved) {
        bench
            .machine
            .write_contents(end.member, end.offset_bytes, &bytes);
    }
    true
}

/// Damages all end marks of the newest recording where the superblocks say that they are durable,
/// in their descriptors or with all of their bytes, and puts them back.
///
/// # Panics
/// If `verify` does not name each of them.
pub fn damage_last_ends(bench: &mut Bench) -> bool {
    let mut store = bench.open(Mode::Read);
    let found = store.recordings().expect("the recordings can be listed");
    let history = bench.history.borrow();
    let Some(ends) = found
        .first()
        .and_then(|newest| last_ends(&history, &store, newest))
    else {
        return false;
    };
    drop(store);
    let is_flipped = bench.draw.chance(500);
    let mut saved = Vec::new();
    for end in &ends {
        let mut bytes = vec![0; end.append_bytes as usize];
        bench
            .machine
            .read_contents(end.member, end.offset_bytes, &mut bytes);
        let mut damaged = vec![0; bytes.len()];
        if is_flipped {
            damaged.copy_from_slice(&bytes);
            damaged[100] ^= 1;
        }
        bench
            .machine
            .write_contents(end.member, end.offset_bytes, &damaged);
        saved.push(bytes);
    }
    let mut store = bench.open(Mode::Read);
    let listed = store.recordings().expect("the recordings can be listed");
    let checked = verify(
        Checkable::of(&store, &listed),
        &mut |_| {},
        &Stop::default(),
    );
    let checked = checked.expect("the store can be checked");
    assert!(!checked.ok, "{ends:?} are not missed");
    for end in &ends {
        let name = format!("m{}", end.member);
        let mut bad = checked.bad.iter();
        let is_named = bad.any(|bad| {
            bad.offset_bytes == Some(end.offset_bytes) && bad.member.as_ref() == Some(&name)
        });
        assert!(is_named, "{end:?} is not missed: {:?}", checked.bad);
    }
    for (end, bytes) in ends.iter().zip(saved) {
        bench
            .machine
            .write_contents(end.member, end.offset_bytes, &bytes);
    }
    true
}

/// All end marks of the newest recording, if each is durable and the superblocks say so.
fn last_ends<'a>(
    history: &'a History,
    store: &Store,
    newest: &Recording,
) -> Option<Vec<&'a Append>> {
    let index = history
        .recordings
        .iter()
        .position(|one| one.id == newest.id)?;
    let ends = history.appends.iter().filter(|append| {
        append.recording == index && append.kind == Kind::End && append.completed_at.is_some()
    });
    let is_reported = |end: &&Append| {
        let mut members = store.members.iter();
        let member = members.find(|member| member.index() == end.member);
        member.is_some_and(|member| {
            let superblock = &member.superblock;
            let is_kept = superblock.has_ended
                || superblock.slots_begun < end.place.slot_serial + superblock.geometry.slot_count;
            is_kept && superblock.end_slot == Some(end.place.slot_serial)
        }) && end.is_promised()
    };
    let ends: Vec<&Append> = ends.collect();
    (!ends.is_empty() && ends.iter().all(is_reported)).then_some(ends)
}

/// All end marks of a recording, if each is durable, nothing can have been written over it, and the
/// next recording began right behind it.
fn kept_ends<'a>(
    history: &'a History,
    recording: &Recording,
    next: &Recording,
) -> Option<Vec<&'a Append>> {
    let index = |id| history.recordings.iter().position(|one| one.id == id);
    let (of_this, of_next) = (index(recording.id)?, index(next.id)?);
    let recorded = &history.recordings[of_this];
    if recorded.result.is_none() || !recorded.failed.is_empty() || of_next != of_this + 1 {
        return None;
    }
    let ends = history.appends.iter().filter(|append| {
        append.recording == of_this && append.kind == Kind::End && append.completed_at.is_some()
    });
    let is_kept = |end: &&Append| {
        let extent = next.per_member.get(end.member).copied().flatten();
        extent.is_some_and(|extent| {
            let is_start = |append: &&Append| {
                append.recording == of_next
                    && append.member == end.member
                    && append.place == extent.first
            };
            let first = history.appends.iter().find(is_start);
            first.is_some_and(|first| first.kind == Kind::Start && first.is_promised())
                && !extent.is_overwritten
                && end.is_promised()
                && end.place.slot_serial >= extent.kept_from_slot
        })
    };
    let ends: Vec<&Append> = ends.collect();
    (!ends.is_empty() && ends.iter().all(is_kept)).then_some(ends)
}

/// Appends of which the bytes are nowhere else, durable, and followed by others on their member.
fn kept<'a>(history: &'a History, recording: &Recording) -> Vec<&'a Append> {
    let index = history
        .recordings
        .iter()
        .position(|recorded| recorded.id == recording.id);
    let recorded = index.map(|index| &history.recordings[index]);
    let is_sound = recorded.is_some_and(|one| one.result.is_some() && one.failed.is_empty());
    if !is_sound || !recording.is_gone_from_a_member || recording.readable_from_sequence.is_some() {
        return Vec::new();
    }
    let of_recording = |append: &&Append| Some(append.recording) == index && append.is_promised();
    let appends: Vec<&Append> = history.appends.iter().filter(of_recording).collect();
    let is_kept = |append: &&&Append| {
        let extent = recording.per_member.get(append.member).copied().flatten();
        let is_copied = appends.iter().any(|other| {
            other.sequence != append.sequence
                && other.stream == append.stream
                && other.payload.start < append.payload.end
                && append.payload.start < other.payload.end
        });
        let is_followed = appends.iter().any(|other| {
            other.member == append.member
                && other.sequence > append.sequence
                && other.kind == Kind::End
        });
        append.kind == Kind::Data
            && !append.payload.is_empty()
            && extent.is_some_and(|extent| append.place.slot_serial >= extent.kept_from_slot)
            && is_followed
            && !is_copied
    };
    appends.iter().filter(is_kept).copied().collect()
}
