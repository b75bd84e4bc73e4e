//! Checks the result of a recording against what its sources offered and its members took.

use std::collections::BTreeSet;

use sustain_disk::driver::Ending;
use sustain_record::format::BLOCK_BYTES;
use sustain_record::recorder::{MemberState, RecordingProgress, StreamStanding};

use crate::bench::Bench;
use crate::history::{Append, Recorded};
use crate::inlet::StreamFacts;
use crate::plan::{MemberPlan, RecordingPlan};

/// Checks the result of a recording.
pub fn check_result(bench: &Bench, number: usize) {
    let history = bench.history.borrow();
    let Some(recorded) = history.recordings.last() else {
        return;
    };
    let Some((standing, ending)) = &recorded.result else {
        return;
    };
    let current = history.recordings.len() - 1;
    let of_it = |append: &&Append| append.recording == current;
    let given: BTreeSet<usize> = history
        .appends
        .iter()
        .filter(of_it)
        .map(|append| append.member)
        .collect();
    let has_room = is_durable_at_end(bench, recorded, standing, *ending);
    for stream in &recorded.streams {
        let shown = standing
            .streams
            .iter()
            .find(|shown| shown.name == stream.name)
            .expect("each stream stands in the result");
        check_total(recorded, stream, shown, *ending);
        if has_room {
            assert_eq!(
                (shown.settled_bytes, shown.durable_bytes),
                (shown.offered_bytes, shown.recorded_bytes),
                "all is durable at the end: {ending:?}, {standing:?}"
            );
        }
    }
    // A member that lacks what it had before is left alone: it gets not even a start.
    let members = standing.members.iter().enumerate();
    let mut takes_any = members
        .filter(|(index, member)| member.state != MemberState::Failed && given.contains(index));
    let all_failed = takes_any.next().is_none();
    let plan = &bench.plan.recordings[number];
    // Or only some are left.
    let lacks_any = !recorded.failed.is_empty() || given.len() < standing.members.len();
    check_ending(bench, recorded, plan, (*ending, all_failed, lacks_any));
}

/// Checks a stream's account at the end of a recording.
fn check_total(recorded: &Recorded, stream: &StreamFacts, shown: &StreamStanding, ending: Ending) {
    assert_eq!(shown.offered_bytes, stream.offered_bytes, "offered");
    assert_eq!(
        shown.offered_bytes,
        shown.recorded_bytes + shown.gap_bytes,
        "offered is recorded and lost"
    );
    let dropped: u64 = stream.drops.iter().map(|drop| drop.end - drop.start).sum();
    assert!(shown.gap_bytes >= dropped);
    if recorded.failed.is_empty() && ending != Ending::Full && !pins_keep_all(recorded) {
        assert_eq!(shown.gap_bytes, dropped, "only the sources lose anything");
        assert_eq!(
            shown.frames,
            stream.frames_in(0..stream.offered_bytes.max(stream.begun_before)),
            "frames"
        );
    }
}

/// Whether some member could hold everything that had to be written at the end. If not, only the
/// result can say it.
fn is_durable_at_end(
    bench: &Bench,
    recorded: &Recorded,
    standing: &RecordingProgress,
    ending: Ending,
) -> bool {
    let history = bench.history.borrow();
    let current = history.recordings.len() - 1;
    let appends = history
        .appends
        .iter()
        .filter(|append| append.recording == current);
    let has_begun = appends.clone().next().is_some();
    // Of small slots no more than half is kept for accounts.
    let kept_bytes = recorded.streams.len() as u32 * 16384 + 12288;
    let is_kept = kept_bytes <= bench.plan.slot_bytes / 2;
    let was_full = ending == Ending::Full || pins_keep_all(recorded);
    let had_room = !was_full || (is_kept && recorded.failed.is_empty() && has_begun);
    // There is no space either if the other members were full before,
    let has_survivor = appends
        .clone()
        .any(|append| !recorded.failed.contains(&append.member));
    // or if a failed member left more gaps than the others can hold. What is left alone holds none.
    let given: BTreeSet<usize> = appends.map(|append| append.member).collect();
    let mut members = standing.members.iter().enumerate();
    let is_out_of_room = !recorded.failed.is_empty()
        && members.all(|(index, member)| {
            let free_bytes = member.free_bytes.unwrap_or(u64::MAX);
            member.state == MemberState::Failed
                || free_bytes < 4 * BLOCK_BYTES as u64
                || !given.contains(&index)
        });
    had_room && has_survivor && !is_out_of_room
}

/// Checks why a recording ended against what could have ended it.
fn check_ending(
    bench: &Bench,
    recorded: &Recorded,
    plan: &RecordingPlan,
    (ending, all_failed, lacks_any): (Ending, bool, bool),
) {
    match ending {
        Ending::Error => assert!(all_failed, "one member is enough to go on"),
        Ending::Full => {
            // A ring of two slots cannot hold appends of one, and one with parity ends where starts
            // and parity take all of both.
            let is_tight = |member: &MemberPlan| member.slots == 2;
            let half_bytes = bench.plan.slot_bytes as usize / 2;
            let members = &bench.plan.members[..bench.present];
            let never_fits = members.iter().any(is_tight)
                && plan.append_bytes > half_bytes
                && (lacks_any || plan.absent > 0)
                || plan.parities > 0 && members.iter().all(is_tight);
            // Pins may keep all that is left of one.
            let has_pins = bench.plan.has_pins();
            assert!(!plan.ring || never_fits || has_pins, "a ring is never full");
        }
        other => {
            let expected = match recorded.is_cut {
                true => Ending::Source,
                false => plan.ending,
            };
            assert_eq!(other, expected, "it ends as its sources do");
            assert!(
                recorded.given_up_bytes == 0 || pins_keep_all(recorded),
                "only what a failed member had is lost"
            );
        }
    }
}

/// Whether pins have left nothing to write to, so that what came last is lost.
fn pins_keep_all(recorded: &Recorded) -> bool {
    let standing = recorded.result.as_ref().map(|(standing, _)| standing);
    let pins = standing.and_then(|standing| standing.pins.as_ref());
    pins.is_some_and(|pins| pins.leave_nothing)
}
