//! Rebuilding lost members onto new ones: afterwards the store is whole, and survives as many
//! losses again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sustain_host::Roots;
use sustain_record::error::RecordError;
use sustain_record::format::{BLOCK_BYTES, Pin, Superblock};
use sustain_record::repair::{RecordingBeside, Repair, RepairEvent, Repaired};
use sustain_record::store::{Mode, Onto, Store};
use sustain_targets::Stop;
use tempfile::TempDir;

use super::*;

fn path_of(folder: &TempDir, member: usize) -> String {
    let path = folder.path().join(format!("m{member}"));
    path.to_str().unwrap().to_owned()
}

fn onto(name: &str) -> Onto {
    Onto {
        name: name.to_owned(),
        destroy: Vec::new(),
        same_disk: true,
        accept_loss: true,
        claim: None,
    }
}

fn store_in(folder: &TempDir) -> Store {
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    let mut store = Store::open(&names, Mode::Read, &Roots::default()).unwrap();
    store.recordings().unwrap();
    store
}

/// Rebuilds the first member that is missing in a folder.
fn repaired(folder: &TempDir) -> Repaired {
    let mut store = store_in(folder);
    let missing = store.not_given()[0].index;
    let (roots, stop) = (Roots::default(), Stop::default());
    let name = onto(&path_of(folder, missing));
    let repair = store.repair_onto(&name, None, (&roots, &stop), &mut |_| ());
    match repair.unwrap() {
        Repair::Complete(repaired) => repaired,
        Repair::SoFar => panic!("nothing is recorded meanwhile"),
    }
}

/// Takes members away and rebuilds them, one after the other.
fn lose_and_repair(folder: &TempDir, lost: &[usize]) -> Vec<Repaired> {
    for member in lost {
        std::fs::remove_file(path_of(folder, *member)).unwrap();
    }
    lost.iter().map(|_| repaired(folder)).collect()
}

#[test]
fn a_store_is_whole_when_lost_members_were_rebuilt_and_survives_as_many_losses_again() {
    for members in 2..=5 {
        for parities in 1..=2.min(members - 1) {
            for appends_max in 1..=members - parities {
                let image = recorded(members, parities, appends_max, 45);
                // Of five members some of the choices are enough, others for each width.
                let step = if members == 5 { 8 } else { 1 };
                let all_lost = choices(members, parities).into_iter();
                let all_lost = all_lost.skip(appends_max % step).step_by(step);
                for (number, lost) in all_lost.enumerate() {
                    let case = format!("{members} members, {parities}, {appends_max}, {lost:?}");
                    let folder = written(&image);
                    for repaired in lose_and_repair(&folder, &lost) {
                        assert_eq!(repaired.tally.lost_appends, 0, "{case}");
                        assert_eq!(repaired.tally.unprotected_groups, 0, "{case}");
                    }
                    let rest = opened(&folder, &[]).unwrap();
                    check_whole(&image, &rest);
                    let result = rest.verify();
                    assert!(
                        result.ok && result.bad.is_empty(),
                        "{case}: {:?}",
                        result.bad
                    );
                    let protection = result.recordings[0].protection.unwrap();
                    assert_eq!(usize::from(protection.parities), parities, "{case}");
                    assert_eq!(protection.unprotected_bytes, 0, "{case}");
                    // Of four and more, each choice of members is left out after some repair.
                    let step = if members >= 4 { 4 } else { 1 };
                    let others = choices(members, parities).into_iter();
                    for left_out in others.skip(number % step).step_by(step) {
                        check_whole(&image, &opened(&folder, &left_out).unwrap());
                    }
                }
            }
        }
    }
}

/// Begins to rebuild a member, and interrupts that when so many slots of so many are written.
fn interrupted(folder: &TempDir, name: &str, mut is_enough: impl FnMut(u64, u64) -> bool) {
    let stop = Stop::default();
    let mut store = store_in(folder);
    let mut observer = |event| {
        if let RepairEvent::Written {
            slots_done,
            slots_all,
        } = event
            && is_enough(slots_done, slots_all)
        {
            stop.interrupt();
        }
    };
    let roots = Roots::default();
    let ended = store.repair_onto(&onto(name), None, (&roots, &stop), &mut observer);
    let error = ended.unwrap_err();
    assert!(matches!(error, RecordError::Interrupted(_)), "{error}");
}

#[test]
fn a_repair_that_was_interrupted_is_no_member_and_goes_on() {
    let image = recorded(4, 1, 3, 240);
    let folder = written(&image);
    std::fs::remove_file(path_of(&folder, 1)).unwrap();
    let name = path_of(&folder, 1);
    for after in [0, 1, 3] {
        interrupted(&folder, &name, |slots_done, _| slots_done >= after);
        let rest = opened(&folder, &[]).unwrap();
        let notes = rest.store.notes.join("\n");
        assert!(notes.contains("its repair was interrupted"), "{notes}");
        check_whole(&image, &rest);
        let names: Vec<String> = (0..4).map(|member| path_of(&folder, member)).collect();
        let refused = Store::open(&names, Mode::Record, &Roots::default());
        let words = refused.err().unwrap().to_string();
        assert!(words.contains("repair the store onto it again"), "{words}");
    }
    let repaired = repaired(&folder);
    assert!(
        repaired.tally.kept_bytes >= 3 * u64::from(crate::reading::image::SLOT_BYTES),
        "{repaired:?}"
    );
    for left_out in choices(4, 1) {
        check_whole(&image, &opened(&folder, &left_out).unwrap());
    }
    assert!(opened(&folder, &[]).unwrap().verify().ok);
}

/// A member is lost while another one is being rebuilt, so more are missing than parity replaces,
/// and all is there: what the unfinished one has must not be given up for parity of less.
#[test]
fn what_an_unfinished_member_has_is_not_lost_when_another_one_is_rebuilt_first() {
    for appends_max in [2, 3] {
        let image = recorded(4, 1, appends_max, 120);
        let folder = written(&image);
        let (first, second) = (path_of(&folder, 2), path_of(&folder, 0));
        let repair = |name: &str, beside: Option<RecordingBeside>| {
            let mut store = store_in(&folder);
            let (roots, stop) = (Roots::default(), Stop::default());
            store.repair_onto(&onto(name), beside, (&roots, &stop), &mut |_| ())
        };
        // Beside another recording all is rebuilt, and the member is not complete yet.
        let another = RecordingBeside {
            recording: u32::MAX,
            settled_sequence: 0,
        };
        std::fs::remove_file(&first).unwrap();
        assert_eq!(repair(&first, Some(another)).unwrap(), Repair::SoFar);
        std::fs::remove_file(&second).unwrap();
        let words = repair(&second, None).unwrap_err().to_string();
        assert!(words.contains("complete it first"), "{words}");
        // Who leaves the unfinished one out can begin with the other one all the same.
        let elsewhere = tempfile::tempdir().unwrap();
        let away = elsewhere.path().join("away");
        std::fs::rename(&first, &away).unwrap();
        repair(&second, None).unwrap();
        std::fs::rename(&away, &first).unwrap();
        repair(&first, None).unwrap();
        // What it lacked for want of the first can be computed now.
        let mut store = {
            let there = [1, 2, 3].map(|member| path_of(&folder, member));
            Store::open(&there, Mode::Read, &Roots::default()).unwrap()
        };
        store.recordings().unwrap();
        let (roots, stop) = (Roots::default(), Stop::default());
        let again = store.repair_onto(&onto(&second), None, (&roots, &stop), &mut |_| ());
        again.unwrap();
        check_whole(&image, &opened(&folder, &[]).unwrap());
    }
}

/// Another command renews the superblocks while a member is rebuilt: that is not complete, and the
/// next call completes it.
#[test]
fn a_store_that_is_changed_meanwhile_is_looked_at_again() {
    let image = recorded(4, 1, 3, 120);
    let folder = written(&image);
    let name = path_of(&folder, 1);
    std::fs::remove_file(&name).unwrap();
    let mut store = store_in(&folder);
    let (roots, stop) = (Roots::default(), Stop::default());
    let mut has_changed = false;
    let mut change = |event| {
        if has_changed || !matches!(event, RepairEvent::Written { .. }) {
            return;
        }
        has_changed = true;
        for member in [0, 2, 3] {
            let mut both = File::options();
            both.read(true).write(true);
            let file = both.open(path_of(&folder, member)).unwrap();
            let mut block = [0; BLOCK_BYTES];
            file.read_exact_at(&mut block, 0).unwrap();
            let mut superblock = Superblock::decode(&block).unwrap();
            superblock.generation += 1;
            file.write_all_at(&superblock.encode(0), 0).unwrap();
        }
    };
    let repair = store.repair_onto(&onto(&name), None, (&roots, &stop), &mut change);
    assert_eq!(repair.unwrap(), Repair::SoFar);
    let rest = opened(&folder, &[]).unwrap();
    let notes = rest.store.notes.join("\n");
    assert!(notes.contains("its repair was interrupted"), "{notes}");
    repaired(&folder);
    for left_out in choices(4, 1) {
        check_whole(&image, &opened(&folder, &left_out).unwrap());
    }
}

#[test]
fn what_is_lost_beyond_parity_is_counted_and_named_and_the_rest_is_rebuilt() {
    let image = recorded(4, 1, 2, 60);
    let folder = written(&image);
    let lost = [0, 2];
    let known = lost_with(&image, 0, &lost);
    let repaired = lose_and_repair(&folder, &lost);
    assert!(repaired.iter().all(|one| one.tally.lost_appends > 0));
    let rest = opened(&folder, &[]).unwrap();
    let (bytes, holes) = joined(&parts(&rest.scope(), 0, &Range::All));
    assert_eq!(holes, known);
    assert!(are_right(&bytes, 0, &image.offered[0], &holes));
    let result = rest.verify();
    assert!(!result.ok);
    let of_stream = result.bad.iter().filter(|bad| bad.stream == Some(0));
    let named = of_stream.map(|bad| bad.to_byte.unwrap() - bad.from_byte.unwrap());
    let known = known.iter().map(|lost| lost.end - lost.start);
    assert_eq!(named.sum::<u64>(), known.sum::<u64>(), "{:?}", result.bad);
}

#[test]
fn a_ring_that_has_come_round_is_rebuilt_as_far_as_it_can_be_read() {
    let image = ring();
    for lost in 0..4 {
        let folder = written(&image);
        std::fs::remove_file(path_of(&folder, lost)).unwrap();
        let without = opened(&folder, &[]).unwrap();
        let from = without.recordings[0].streams[0].readable_from_bytes;
        drop(without);
        repaired(&folder);
        let rest = opened(&folder, &[]).unwrap();
        let offered = &image.offered[0];
        let all = Range::Bytes(from..offered.len() as u64);
        let (bytes, holes) = joined(&parts(&rest.scope(), 0, &all));
        let early = from + 8 * 40_000;
        assert!(
            holes.iter().all(|hole| hole.end <= early),
            "{lost}: {holes:?}"
        );
        assert!(are_right(&bytes, from, offered, &holes), "{lost}");
        let result = rest.verify();
        let is_known = |bad: &&Discrepancy| bad.to_byte.is_some_and(|to| to <= early);
        let others: Vec<&Discrepancy> = result.bad.iter().filter(|bad| !is_known(bad)).collect();
        assert!(others.is_empty(), "{lost}: {others:?}");
    }
}

#[test]
fn what_cannot_be_a_new_member_is_refused_and_nothing_is_written() {
    let image = recorded(3, 1, 2, 20);
    let folder = written(&image);
    let other = tempfile::tempdir().unwrap();
    let new = other.path().join("new").to_str().unwrap().to_owned();
    let refused = |onto: &Onto| {
        let mut store = store_in(&folder);
        let (roots, stop) = (Roots::default(), Stop::default());
        let ended = store.repair_onto(onto, None, (&roots, &stop), &mut |_| ());
        ended.unwrap_err().to_string()
    };
    let words = refused(&onto(&new));
    assert!(
        words.contains("no member of the store is missing"),
        "{words}"
    );
    std::fs::remove_file(path_of(&folder, 2)).unwrap();
    let before = noise(7, 100_000);
    std::fs::write(&new, &before).unwrap();
    let words = refused(&onto(&new));
    assert!(words.contains("permission to destroy"), "{words}");
    let words = refused(&onto(&path_of(&folder, 1)));
    assert!(words.contains("is a member of the store"), "{words}");
    let apart = Onto {
        same_disk: false,
        ..onto(&path_of(&folder, 7))
    };
    let words = refused(&apart);
    assert!(words.contains("on one disk"), "{words}");
    assert!(!Path::new(&path_of(&folder, 7)).exists());
    assert!(std::fs::read(&new).unwrap() == before);
}

/// The same onto a member that is there.
fn repaired_in_place(folder: &TempDir, member: usize) -> Repaired {
    let others = (0..).map(|other| path_of(folder, other));
    let others = others.take_while(|name| Path::new(name).exists());
    let others = others.enumerate().filter(|(other, _)| *other != member);
    let others: Vec<String> = others.map(|(_, name)| name).collect();
    let mut store = Store::open(&others, Mode::Read, &Roots::default()).unwrap();
    store.recordings().unwrap();
    let (roots, stop) = (Roots::default(), Stop::default());
    let name = onto(&path_of(folder, member));
    let repair = store.repair_onto(&name, None, (&roots, &stop), &mut |_| ());
    match repair.unwrap() {
        Repair::Complete(repaired) => repaired,
        Repair::SoFar => panic!("nothing is recorded meanwhile"),
    }
}

#[test]
fn of_a_ring_whose_next_recording_was_broken_off_as_much_parity_is_made_again() {
    let tallies = |image: &Image| {
        let tally = |lost: usize| {
            let folder = written(image);
            lose_and_repair(&folder, &[lost])[0].tally
        };
        (0..4).map(tally).collect::<Vec<_>>()
    };
    let mut image = ring();
    let before = tallies(&image);
    assert!(before.iter().all(|tally| tally.parity_appends > 0));
    // Where it was to begin, each member still has what lay there a lap before.
    image.say_begun_in_vain();
    assert_eq!(tallies(&image), before);
}

/// A recording in which the last member is missing, and a longer one, in which its ring comes round
/// over all that it had. Returns the bytes of the former, too.
fn ring_that_has_come_round_where_a_member_was_missing() -> (Image, Vec<u8>) {
    let mut image = Image::new_unequal(&[40, 40, 12], &["none"], true);
    image.protect(1, 1);
    image.end();
    image.absent = vec![2];
    image.begin_again();
    for round in 0..16 {
        image.data(round % 2, 0, &noise(round as u64, 53_000), &[]);
    }
    image.end();
    let offered = image.offered[0].clone();
    image.absent.clear();
    image.begin_again();
    for round in 0..60 {
        image.data(2, 0, &noise(round, 53_000), &[]);
    }
    image.end();
    image.say_ended();
    (image, offered)
}

#[test]
fn parity_is_made_again_where_only_a_member_that_was_missing_has_come_round_since() {
    let (image, offered) = ring_that_has_come_round_where_a_member_was_missing();
    assert!(image.slots_begun(2) > 12 && image.slots_begun(0) < 40);
    for lost in 0..2 {
        let folder = written(&image);
        let tally = lose_and_repair(&folder, &[lost])[0].tally;
        assert_eq!((tally.lost_appends, tally.unprotected_groups), (0, 0));
        for left_out in 0..3 {
            let rest = opened(&folder, &[left_out]).unwrap();
            let mut recordings = rest.recordings.iter();
            let second = recordings.find(|recording| recording.number == 2);
            let scope = Scope::of_store(&rest.store, second.unwrap());
            let (bytes, holes) = joined(&parts(&scope, 0, &Range::All));
            assert_eq!(holes, [], "{lost} was lost, and {left_out} is now");
            assert!(bytes == offered, "{lost} was lost, and {left_out} is now");
        }
    }
}

/// A ring of which the last of three members has nothing of the end: it has failed before, or was
/// missing in a further recording. So what came then has one parity of two. Returns the bytes of the
/// first recording, too.
fn ring_with_too_few_members_at_its_end(in_further_recording: bool) -> (Image, Vec<u8>) {
    let mut image = Image::new_unequal(&[20, 20, 12], &["none"], true);
    image.protect(2, 1);
    for round in 0..60 {
        image.data(round % 3, 0, &noise(round as u64, 53_000), &[]);
    }
    let offered = image.offered[0].clone();
    if in_further_recording {
        image.end();
        image.absent = vec![2];
        image.begin_again();
    } else {
        image.absent = vec![2];
        for member in &mut image.members {
            member.superblock.behind.insert(2);
        }
    }
    for round in 0..28 {
        image.data(round % 2, 0, &noise(round as u64, 53_000), &[]);
    }
    let offered = match in_further_recording {
        true => offered,
        false => image.offered[0].clone(),
    };
    image.end();
    image.say_ended();
    (image, offered)
}

#[test]
fn what_a_member_of_a_ring_had_before_it_failed_or_was_missing_is_put_back() {
    for in_further_recording in [false, true] {
        let (image, offered) = ring_with_too_few_members_at_its_end(in_further_recording);
        assert!(image.slots_begun(0) > 20 && image.slots_begun(2) > 12);
        let folder = written(&image);
        let first_of = |rest: &Rest| {
            let mut recordings = rest.recordings.iter();
            recordings.find(|one| one.number == 1).unwrap().clone()
        };
        let from = first_of(&opened(&folder, &[2]).unwrap()).streams[0].readable_from_bytes;
        assert!(from > 0);
        let tally = lose_and_repair(&folder, &[2])[0].tally;
        // There is no room for all parity, and it says so.
        let is_protected = tally.unprotected_groups == 0;
        assert_eq!((tally.lost_appends, is_protected), (0, false));
        for left_out in [&[][..], &[0], &[1], &[2]] {
            let rest = opened(&folder, left_out).unwrap();
            let scope = Scope::of_store(&rest.store, &first_of(&rest));
            let all = Range::Bytes(from..offered.len() as u64);
            let (bytes, holes) = joined(&parts(&scope, 0, &all));
            assert_eq!(holes, [], "without {left_out:?}");
            assert!(bytes == offered[from as usize..], "without {left_out:?}");
        }
    }
}

/// Puts appends of this length on two members of three, and their parity on the other one.
fn put_group(image: &mut Image, parity_on: usize, payload_bytes: usize) {
    image.parity_first = parity_on;
    for member in (0..3).filter(|member| *member != parity_on) {
        let payload = noise(image.sequence, payload_bytes);
        image.data(member, 0, &payload, &[]);
    }
}

/// A ring that has gone on behind a pin and has repeated its starts. The last of three members had
/// nothing but parity in the slots of the pin, and has data by now. Returns what of so many groups
/// the pin keeps, too.
fn ring_with_a_pin_over_parity(payload_bytes: usize, groups: usize) -> (Image, Vec<u8>) {
    let put = |image: &mut Image, count: usize, parity_on: usize| {
        (0..count).for_each(|_| put_group(image, parity_on, payload_bytes));
    };
    let mut image = Image::new_unequal(&[20, 20, 20], &["none"], true);
    image.protect(1, 2);
    put(&mut image, groups, 2);
    let (to_time_ns, pinned) = (image.time_ns, image.offered[0].clone());
    put(&mut image, 1, 2);
    let (told_sequence, end_sequence) = (image.sequence - 2, image.sequence + 1);
    for member in 0..3 {
        let end_slot = image.slots_begun(member);
        let pin = Pin::open(1, 0, (STARTED_NS, to_time_ns)).closed_at(end_slot, end_sequence);
        let superblock = &mut image.members[member].superblock;
        superblock.pins_numbered = 1;
        superblock.pins = vec![Pin {
            told_sequence,
            ..pin
        }];
    }
    put(&mut image, 60, 2);
    (0..3).for_each(|member| image.start(member));
    put(&mut image, 20, 2);
    put(&mut image, 4, 1);
    image.end();
    image.say_ended();
    (image, pinned)
}

/// Where the slots of the pin have no room for all of it, the ring does not go over the rest either.
#[test]
fn parity_that_a_pin_keeps_is_made_again_in_its_slots_although_only_later_ones_are_known() {
    for (payload_bytes, groups, has_room) in [(53_000, 18, true), (40_000, 37, false)] {
        let (image, pinned) = ring_with_a_pin_over_parity(payload_bytes, groups);
        let folder = written(&image);
        let tally = lose_and_repair(&folder, &[2])[0].tally;
        let is_protected = tally.unprotected_groups == 0;
        assert_eq!((tally.lost_appends, is_protected), (0, has_room));
        for left_out in [&[][..], &[0], &[1], &[2]] {
            let mut rest = opened(&folder, left_out).unwrap();
            let kept = rest.store.pinned(1).unwrap();
            let scope = Scope::of_store(&rest.store, &kept[0]);
            let all = Range::Bytes(0..pinned.len() as u64);
            let (bytes, holes) = joined(&parts(&scope, 0, &all));
            assert_eq!(holes, [], "without {left_out:?}");
            assert!(bytes == pinned, "without {left_out:?}");
        }
    }
}

/// Two recordings in a ring, of which the last member has nothing but parity. The second one has
/// written over all starts of the first one that others had. Returns the bytes of the first one, too.
fn ring_that_has_come_round_over_starts() -> (Image, Vec<u8>) {
    let mut image = Image::new_unequal(&[20, 40], &["none"], true);
    image.protect(1, 1);
    for round in 0..48 {
        image.data(0, 0, &noise(round, 53_000), &[]);
    }
    image.end();
    let offered = image.offered[0].clone();
    image.begin_again();
    for round in 0..56 {
        image.data(0, 0, &noise(round, 53_000), &[]);
    }
    image.end();
    image.say_ended();
    (image, offered)
}

#[test]
fn parity_is_made_again_of_a_recording_of_which_no_start_is_left() {
    let (image, offered) = ring_that_has_come_round_over_starts();
    assert!(image.slots_begun(0) > 20 && image.slots_begun(1) < 40);
    let folder = written(&image);
    let first_from = |left_out: &[usize]| {
        let rest = opened(&folder, left_out).unwrap();
        let first = rest.recordings.iter().find(|one| one.number == 1).unwrap();
        let from = first.streams[0].readable_from_bytes;
        let all = Range::Bytes(from..offered.len() as u64);
        let scope = Scope::of_store(&rest.store, first);
        let (bytes, holes) = joined(&parts(&scope, 0, &all));
        assert_eq!(holes, [], "without {left_out:?}");
        assert!(bytes == offered[from as usize..], "without {left_out:?}");
        from
    };
    let from = first_from(&[1]);
    assert!(from > 0 && from < offered.len() as u64);
    let tally = lose_and_repair(&folder, &[1])[0].tally;
    assert_eq!((tally.lost_appends, tally.unprotected_groups), (0, 0));
    for left_out in [&[][..], &[0], &[1]] {
        assert_eq!(first_from(left_out), from, "without {left_out:?}");
    }
}

/// Two recordings, of which the last member has nothing but parity. Four appends fill a slot.
fn with_parity_on_the_last(rounds: usize) -> Image {
    let mut image = protected(3, 1, 2, false);
    for recording in 0..2 {
        for round in 0..rounds >> recording {
            image.parity_first = 2;
            image.data(round % 2, 0, &noise(round as u64, 53_000), &[]);
        }
        image.parity_first = 2;
        image.end();
        image.say_ended();
        if recording == 0 {
            image.follows_end = Some(true);
            image.begin_again();
        }
    }
    image
}

#[test]
fn whichever_slots_are_damaged_marks_go_back_where_those_that_are_left_name_them() {
    // Of 14 the end mark of the first recording has a slot of its own.
    for rounds in [8, 14, 16] {
        let image = with_parity_on_the_last(rounds);
        let geometry = image.members[2].superblock.geometry;
        let slots = image.slots_begun(2);
        for damaged in 1_u64..1 << slots {
            let folder = written(&image);
            let file = File::options().write(true).open(path_of(&folder, 2));
            let file = file.unwrap();
            for slot in (0..slots).filter(|slot| damaged >> slot & 1 == 1) {
                let noise = noise(slot, geometry.slot_bytes as usize);
                let at = geometry.first_slot_offset_bytes + slot * u64::from(geometry.slot_bytes);
                file.write_all_at(&noise, at).unwrap();
            }
            let case = format!("{rounds} rounds, {damaged:b} of {slots} slots");
            let repaired = repaired_in_place(&folder, 2);
            assert_eq!(repaired.tally.unprotected_groups, 0, "{case}");
            let result = opened(&folder, &[]).unwrap().verify();
            let bad = &result.bad;
            assert!(result.ok && bad.is_empty(), "{case}: {bad:?}");
        }
    }
}

/// The member that fails in [`ring_on_a_member_that_was_cut_off`], and has more slots than the
/// others.
const CUT_OFF: usize = 1;

/// A ring over four members. One of them fails after it has come round, and the others go on until
/// all groups are overwritten in which it had anything. Of so many slots of that one from here on,
/// which are of the lap before its last one, nothing is left.
fn ring_on_a_member_that_was_cut_off(gone: std::ops::Range<u64>) -> Image {
    let mut image = Image::new_unequal(&[12, 60, 14, 13], &["none", "lines"], true);
    image.protect(1, 2);
    image.say_begun();
    let mut rounds = (0..).map(|round| (round, round % 40 == 39));
    while image.slots_begun(CUT_OFF) <= 68 {
        let (round, is_repeated) = rounds.next().unwrap();
        if is_repeated {
            (0..4).for_each(|member| image.start(member));
        }
        put(
            &mut image,
            round,
            if round % 4 == 0 {
                round / 4 % 4
            } else {
                CUT_OFF
            },
        );
    }
    image.close_groups();
    image.absent = vec![CUT_OFF as u16];
    let left = image.members[CUT_OFF].clone();
    for (round, is_repeated) in rounds.take(700) {
        let member = [0, 2, 3][round % 3];
        if is_repeated {
            image.absent.clear();
            [0, 2, 3].into_iter().for_each(|member| image.start(member));
            image.absent = vec![CUT_OFF as u16];
        }
        put(&mut image, round, member);
    }
    image.end();
    image.say_ended();
    let cut_off = &mut image.members[CUT_OFF];
    *cut_off = left;
    let geometry = cut_off.superblock.geometry;
    for slot in gone {
        let at = geometry.first_slot_offset_bytes + slot * u64::from(geometry.slot_bytes);
        cut_off.bytes[at as usize..][..geometry.slot_bytes as usize].fill(0);
    }
    image
}

#[test]
fn the_newest_lap_of_a_ring_stays_where_many_slots_behind_it_are_gone() {
    for gone in [20..60, 30..50, 12..40] {
        let image = ring_on_a_member_that_was_cut_off(gone.clone());
        let folder = written(&image);
        let read = || {
            let rest = opened(&folder, &[]).unwrap();
            let from_start = |stream: u16| {
                let all = Range::Bytes(0..image.offered[usize::from(stream)].len() as u64);
                joined(&parts(&rest.scope(), stream, &all))
            };
            let extent = format!("{:?}", rest.recordings[0].per_member[CUT_OFF]);
            ([from_start(0), from_start(1)], extent)
        };
        let (before, extent) = read();
        repaired_in_place(&folder, CUT_OFF);
        let (after, extent_after) = read();
        for (stream, (bytes, lost)) in after.iter().enumerate() {
            let offered = &image.offered[stream];
            assert!(are_right(bytes, 0, offered, lost), "{gone:?}, {stream}");
            assert_eq!(
                *lost, before[stream].1,
                "{gone:?}, {stream}: {extent}, {extent_after}"
            );
        }
    }
}
