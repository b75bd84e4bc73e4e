//! Members that are not written any more, because a request failed, or because their file was
//! deleted or cut off. The feed calls this.

use sustain_disk::clock::Timestamp;
use sustain_disk::engine::Completion;
use sustain_disk::error::{IoFault, RequestError};

use super::RecordFeed;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{MemberState, MemberWriter};

/// The error that stands for a device that ends early (ENOSPC).
const NO_SPACE: i32 = 28;

impl<I: Inlet> RecordFeed<I> {
    /// Stops writing to a member whose request failed.
    pub(super) fn fail(&mut self, queue: usize, completion: &Completion) {
        let request = &completion.request;
        // A short write means the end of the device.
        let fault = completion.error.unwrap_or(IoFault::Kernel(NO_SPACE));
        let error = RequestError {
            target: self.members[queue].setup.name.clone(),
            operation: request.operation,
            offset_bytes: request.offset_bytes + completion.bytes,
            fault,
        };
        self.fail_with(queue, failure_words(&error), completion.completed_at);
    }

    /// Whether a member has failed because its file was deleted or cut off. Checks the file of a
    /// member that works.
    pub(super) fn is_harmed(&mut self, queue: usize, now: Timestamp) -> bool {
        let has_parity = self.protection.is_some();
        let member = &mut self.members[queue];
        let is_closed = member.state == MemberState::Closed;
        let is_looked_at = is_closed || member.works();
        if let Some(words) = is_looked_at.then(|| member.note_harm(has_parity)).flatten() {
            self.has_changed = true;
            self.note_harmed(queue, now);
            if is_closed {
                self.members[queue].state = MemberState::Failed;
                self.errors[queue] = Some(words);
                self.note_behind();
            } else {
                self.fail_with(queue, words, now);
            }
        }
        self.members[queue].is_harmed
    }

    fn fail_with(&mut self, queue: usize, words: String, now: Timestamp) {
        let member = &mut self.members[queue];
        if !member.works() {
            return;
        }
        member.state = MemberState::Failed;
        member.renewing = None;
        self.errors[queue] = Some(words);
        // Data that no flush has confirmed may be lost with the member. A flush in flight may still
        // confirm its own writes.
        let unflushed = std::mem::take(&mut member.unflushed);
        member.unflushed_since = None;
        self.note_behind();
        self.fail_in_groups(queue, now);
        for one in unflushed {
            self.lose_written(one, now);
        }
        self.end_retries(queue, now);
        self.end_if_none_is_left(now);
    }

    /// Ends the recording if no member is left. A member that is closed has everything, durable,
    /// and its end mark.
    pub(super) fn end_if_none_is_left(&mut self, now: Timestamp) {
        let is_left = |member: &MemberWriter| member.works() || member.state == MemberState::Closed;
        if !self.members.iter().any(is_left) {
            self.end_without_room(now);
        }
    }
}

/// The store is there, so no smaller size helps where what lies under it is full.
fn failure_words(error: &RequestError) -> String {
    if error.fault != IoFault::Kernel(NO_SPACE) {
        return error.to_string();
    }
    let RequestError {
        target,
        operation,
        offset_bytes,
        fault,
    } = error;
    format!(
        "{operation} on {target} at byte {offset_bytes} failed: {fault}. No space is left under \
         this member: free some there before it is recorded to again"
    )
}

#[cfg(test)]
mod tests {
    use sustain_disk::engine::Operation;

    use super::*;

    #[test]
    fn a_member_without_space_is_not_told_to_be_made_smaller() {
        let error = |errno| RequestError {
            target: "a".to_owned(),
            operation: Operation::Write,
            offset_bytes: 4096,
            fault: IoFault::Kernel(errno),
        };
        let told = failure_words(&error(NO_SPACE));
        assert!(
            told.contains("a at byte 4096") && told.contains("free some"),
            "{told}"
        );
        assert!(!told.contains("smaller size"), "{told}");
        assert_eq!(failure_words(&error(5)), error(5).to_string());
    }
}
