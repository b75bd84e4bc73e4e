//! What the recorder takes for itself, with what the disks of its members make of it: for the first
//! line of a recording, for its result, and for a rehearsal.

use std::path::Path;

use sustain_disk::target::DataPath;
use sustain_document::share::{MemberPriority, PriorityEffect, RecorderShare, ShareResult};
use sustain_host::Roots;
use sustain_targets::{devices_under, io_priority_of, io_priority_within};

use super::hold_back::{self, HoldingBack};
use super::{RecordEvent, RecordObserver, RecordPlan, places};
use crate::recorder::{Recorder, rehearse_share};
use crate::share_words::share_line;
use crate::store::Store;

/// What an I/O priority does on each member, if one is taken at all.
pub(super) fn on_members(plan: &RecordPlan, store: &Store, roots: &Roots) -> Vec<MemberPriority> {
    let is_simulated = !store.machines().is_empty();
    if !ShareResult::untouched(plan.options.share, is_simulated).takes() {
        return Vec::new();
    }
    let members = places(store);
    let members = members.map(|(target, path)| io_priority_of(target, path, roots));
    match store.path() {
        DataPath::Passthrough => members.map(past_schedulers).collect(),
        DataPath::Direct | DataPath::Buffered => members.collect(),
    }
}

/// What an I/O priority does for commands that pass no scheduler.
fn past_schedulers(member: MemberPriority) -> MemberPriority {
    MemberPriority {
        effect: PriorityEffect::Ignored,
        is_passthrough: true,
        ..member
    }
}

/// What the recorder has taken, with what is known of the members.
pub(super) fn taken(
    recorder: &Recorder,
    members: Vec<MemberPriority>,
    holding: &HoldingBack,
) -> ShareResult {
    ShareResult {
        members,
        hold_back: holding.rehearsed(),
        ..recorder.share().clone()
    }
}

/// Says what was taken. Of a fair recorder there is nothing to say.
pub(super) fn report(share: &ShareResult, observer: &mut RecordObserver<'_>) {
    if share.asked == RecorderShare::First {
        observer(RecordEvent::Note(share_line(share)));
    }
}

/// What would be taken, with what is known of the members: of the store, or of the directories in
/// which one would be created.
pub(super) fn rehearsed(plan: &RecordPlan, store: Option<&Store>, roots: &Roots) -> ShareResult {
    let is_simulated = store.is_some_and(|store| !store.machines().is_empty());
    let options = &plan.options;
    let taken = rehearse_share(options.share, is_simulated, options.buffer_bytes);
    let members = match store {
        Some(store) => on_members(plan, store, roots),
        None if taken.takes() => {
            let directories = plan.members.iter();
            let effect = |name| io_priority_within(Path::new(name), roots);
            directories.map(effect).collect()
        }
        None => Vec::new(),
    };
    let hold_back = store.and_then(|store| {
        let devices = devices_under(places(store), roots);
        hold_back::rehearsed(plan, &devices, store, roots)
    });
    ShareResult {
        members,
        hold_back,
        ..taken
    }
}
