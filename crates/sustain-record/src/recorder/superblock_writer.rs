//! Writes the superblocks before the first recording of a run and behind its last one.

use super::channel::ChannelInlet;
use super::feed::{Patience, RecordFeed};
use super::member::MemberState;
use crate::error::RecordError;
use crate::member_io::{MemberIo, StepsPatience};
use crate::store::{Renewal, Store};

/// Opens the I/O over which superblocks are written.
pub(super) type OpenIo = dyn Fn(&Store) -> Result<MemberIo, RecordError> + Send;

/// How superblocks are written, and how long members are waited for meanwhile.
pub(super) struct SuperblockWriter {
    pub(super) open_io: Box<OpenIo>,
    pub(super) patience: Patience,
}

/// Writes superblocks, and returns the members that did not answer. A simulated member always
/// answers, in its own time.
fn renew_superblocks(
    store: &mut Store,
    open_io: &OpenIo,
    patience: StepsPatience,
    slots_begun: &[u64],
    renewal: Renewal<'_>,
) -> Result<Vec<(usize, String)>, RecordError> {
    if store.machines().is_empty() {
        let io = open_io(store)?;
        return store.renew_superblocks_within(io, (slots_begun, renewal), patience);
    }
    store.renew_superblocks(slots_begun, renewal)?;
    Ok(Vec::new())
}

/// Makes the superblocks say, before the first write, that there will be one. Returns the members
/// on which they do not say so, with the reason: what is written there might not be found after a
/// crash.
pub(super) fn begin_superblocks(
    store: &mut Store,
    writer: &SuperblockWriter,
    slots_begun: &[u64],
) -> Result<Vec<(usize, String)>, RecordError> {
    let patience = StepsPatience {
        for_others_ns: writer.patience.slow_after_ns,
        for_first_ns: writer.patience.given_up_after_ns,
    };
    let begins = Renewal::Begins;
    let mut silent = renew_superblocks(store, &*writer.open_io, patience, slots_begun, begins)?;
    for (member, words) in &mut silent {
        words.push_str(&format!(
            " before anything was recorded on it. {}",
            what_to_do(&store.members[*member].name)
        ));
    }
    if silent.len() == store.members.len() {
        let all: Vec<String> = silent.into_iter().map(|(_, words)| words).collect();
        return Err(RecordError::Silent(all.join("; ")));
    }
    Ok(silent)
}

/// Writes the hint for the next opening, on the members that work: of one that has failed, nothing
/// more is asked. A member on which it cannot be written has failed, and the result says so: the
/// recording is whole.
pub(super) fn close_superblocks(
    store: &mut Store,
    writer: &SuperblockWriter,
    feed: &RecordFeed<ChannelInlet>,
) {
    let failed = feed.failed_members().into_iter();
    let left_out: Vec<usize> = failed.map(|(member, _)| member).collect();
    if left_out.len() == store.members.len() {
        return;
    }
    let patience = StepsPatience {
        for_others_ns: writer.patience.given_up_after_ns,
        for_first_ns: writer.patience.given_up_after_ns,
    };
    let slots_begun = feed.slots_begun();
    let have_end = feed.have_end();
    let ended = Renewal::Ended(&have_end);
    for (member, words) in write_all(store, writer, (&slots_begun, ended), &left_out, patience) {
        let error = format!(
            "{words} after the whole recording was durable on it. {}",
            what_to_do(&store.members[member].name)
        );
        feed.board().write(|standing| {
            standing.members[member].state = MemberState::Failed;
            standing.members[member].error = Some(error);
        });
    }
}

/// Writes superblocks to all members but those that are left out. Returns the members to which they
/// could not be written, with the reasons: all of them if the members cannot be driven at all.
pub(super) fn write_all(
    store: &mut Store,
    writer: &SuperblockWriter,
    (slots_begun, renewal): (&[u64], Renewal<'_>),
    left_out: &[usize],
    patience: StepsPatience,
) -> Vec<(usize, String)> {
    let written = match store.machines().is_empty() {
        true => (writer.open_io)(store)
            .and_then(|io| store.go_on_within(io, (slots_begun, renewal), left_out, patience)),
        // A simulated member always answers, in its own time.
        false => store
            .renew_superblocks_but(slots_begun, renewal, left_out)
            .map(|()| Vec::new()),
    };
    let members = 0..store.members.len();
    written.unwrap_or_else(|error| {
        let words = error.to_string();
        members.map(|member| (member, words.clone())).collect()
    })
}

pub(super) fn what_to_do(name: &str) -> String {
    format!(
        "Check the kernel log (dmesg) and the cable. Until the request returns, the kernel keeps \
         {name} locked"
    )
}
