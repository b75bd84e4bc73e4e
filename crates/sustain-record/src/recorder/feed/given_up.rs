//! What becomes of appends that are given up: accounts of gaps, which wait for a member that takes
//! them.
//!
//! Bytes that were lost before an append, for a reason of their own, keep it when the append is
//! lost later.

use sustain_disk::clock::Timestamp;

use super::RecordFeed;
use crate::format::{Gap, GapReason, append_bytes_for};
use crate::recorder::filled::Filled;
use crate::recorder::inlet::Inlet;
use crate::recorder::member::{ACCOUNTS_PER_STREAM, MemberWriter, Unflushed};

/// An append that is lost as a whole.
struct LostAppend {
    stream: u16,
    /// What was lost just before it.
    gap: Option<Gap>,
    end_bytes: u64,
    payload_bytes: u32,
    frames_begun: u64,
    /// The number of the first frame behind it, if it was handed out.
    end_frame: Option<u64>,
    first_time_ns: i64,
    last_time_ns: i64,
    begun_at: Timestamp,
    accepted_at: Timestamp,
}

impl LostAppend {
    fn of(filled: &Filled) -> LostAppend {
        LostAppend {
            stream: filled.stream,
            gap: filled.gap,
            end_bytes: filled.end_bytes(),
            payload_bytes: filled.payload_bytes,
            frames_begun: filled.frames_begun,
            end_frame: filled.first_frame.map(|first| first + filled.frames_begun),
            first_time_ns: filled.first_time_ns,
            last_time_ns: filled.last_time_ns,
            begun_at: filled.begun_at,
            accepted_at: filled.accepted_at,
        }
    }

    fn of_written(one: &Unflushed) -> LostAppend {
        LostAppend {
            stream: one.stream,
            gap: one.gap,
            end_bytes: one.end_bytes,
            payload_bytes: one.payload_bytes,
            frames_begun: one.frames_begun,
            end_frame: Some(one.end_frame),
            first_time_ns: one.first_time_ns,
            last_time_ns: one.last_time_ns,
            begun_at: one.begun_at,
            accepted_at: one.begun_at,
        }
    }

    fn start_bytes(&self) -> u64 {
        let gap_bytes = self.gap.map_or(0, |gap| gap.bytes);
        self.end_bytes - u64::from(self.payload_bytes) - gap_bytes
    }

    /// The accounts of all that is lost with it, in order: of what was lost before it, and of its
    /// payload, for this reason.
    fn accounts(&self, reason: GapReason) -> Vec<Filled> {
        let payload = Gap {
            bytes: u64::from(self.payload_bytes),
            frames: self.frames_begun,
            reason,
            first_time_ns: self.first_time_ns,
            last_time_ns: self.last_time_ns,
        };
        let before = self.gap.map(|gap| {
            let end_frame = self.end_frame.map(|end| end - self.frames_begun);
            self.account_of(gap, self.end_bytes - payload.bytes, end_frame)
        });
        let of_payload =
            (payload.bytes > 0).then(|| self.account_of(payload, self.end_bytes, self.end_frame));
        before.into_iter().chain(of_payload).collect()
    }

    /// The account of a gap that ends at this byte, and before this frame.
    fn account_of(&self, gap: Gap, end_bytes: u64, end_frame: Option<u64>) -> Filled {
        Filled {
            stream: self.stream,
            stream_offset_bytes: end_bytes,
            memory: None,
            payload_bytes: 0,
            checksums: Vec::new(),
            marks: Vec::new(),
            frames_begun: 0,
            first_frame: end_frame,
            frame_times_ns: None,
            gap: Some(gap),
            first_time_ns: gap.last_time_ns,
            last_time_ns: gap.last_time_ns,
            begun_at: self.begun_at,
            accepted_at: self.accepted_at,
        }
    }
}

impl<I: Inlet> RecordFeed<I> {
    /// Turns an append that no member takes into a gap.
    pub(super) fn give_up(&mut self, mut filled: Filled) {
        self.give_back_lent(&mut filled);
        if !self.has_other(filled.stream, filled.start_bytes()) {
            let reason = match self.is_out_of_room && self.members.iter().any(MemberWriter::works) {
                true => GapReason::NoRoom,
                false => GapReason::NotWritten,
            };
            self.lose(&LostAppend::of(&filled), reason);
        }
    }

    /// Gives up data on a member that failed before it was flushed, because it may be lost.
    pub(super) fn lose_written(&mut self, one: Unflushed, now: Timestamp) {
        if !one.is_sole || self.has_other(one.stream, one.start_bytes) {
            self.part_lost(one.sequence, now);
        } else if let Some(one) = self.keep_uncertain(one, now) {
            self.lose_uncertain(one);
        }
    }

    /// Gives up data of which it is known now that nothing covers it.
    pub(super) fn lose_uncertain(&mut self, one: Unflushed) {
        if !self.has_other(one.stream, one.start_bytes) {
            self.lose(&LostAppend::of_written(&one), GapReason::NotWritten);
        }
    }

    fn lose(&mut self, lost: &LostAppend, reason: GapReason) {
        let stream = usize::from(lost.stream);
        let start_bytes = lost.start_bytes();
        let mut accounts = lost.accounts(reason);
        if start_bytes >= self.ledgers[stream].next_offset_bytes() {
            accounts.into_iter().for_each(|one| self.account_later(one));
            return;
        }
        let ledger = &mut self.ledgers[stream];
        ledger.lose(start_bytes, u64::from(lost.payload_bytes));
        if let Some(protection) = &mut self.protection {
            protection.forget(lost.stream, start_bytes);
            protection.ledgers[stream].lose(start_bytes, u64::from(lost.payload_bytes));
        }
        if let Some(meter) = &mut self.frame_meters[stream] {
            meter.lose(start_bytes);
        }
        if let [before, of_payload] = &mut accounts[..] {
            if has_same_reason(before, of_payload) || !self.has_room_for_accounts() {
                join(before, of_payload);
                accounts.truncate(1);
            } else {
                let frames = before.gap.map_or(0, |gap| gap.frames);
                let at_bytes = of_payload.start_bytes();
                self.ledgers[stream].divide(start_bytes, at_bytes, frames);
                if let Some(protection) = &mut self.protection {
                    protection.ledgers[stream].divide(start_bytes, at_bytes, frames);
                }
            }
        }
        self.accounts.extend(accounts);
    }

    /// Lets the account of something that was never handed out wait for a member, with the one
    /// before it if both can be one.
    fn account_later(&mut self, account: Filled) {
        let has_room = self.has_room_for_accounts();
        let next_offset_bytes = self.ledgers[usize::from(account.stream)].next_offset_bytes();
        let is_before = |last: &&mut Filled| {
            last.stream == account.stream
                && last.end_bytes() == account.start_bytes()
                && last.start_bytes() >= next_offset_bytes
        };
        match self.accounts.iter_mut().rev().find(is_before) {
            Some(last) if has_same_reason(last, &account) || !has_room => join(last, &account),
            _ => self.accounts.push_back(account),
        }
    }

    /// Whether members have space for one more account beside those that wait and those that may
    /// still come. Where there is none, two reasons in one account are better than none.
    fn has_room_for_accounts(&self) -> bool {
        let bytes = append_bytes_for(0, 0);
        let takes = |member: &&MemberWriter| member.works() && member.start.is_some();
        let members = self.members.iter().filter(takes);
        let fit = members
            .map(|member| member.accounts_that_fit(bytes))
            .fold(0, u64::saturating_add);
        let may_come = ACCOUNTS_PER_STREAM * self.ledgers.len();
        fit > (self.accounts.len() + may_come) as u64
    }
}

fn has_same_reason(one: &Filled, other: &Filled) -> bool {
    let reason = |account: &Filled| account.gap.map(|gap| gap.reason);
    reason(one) == reason(other)
}

/// Joins two gaps that follow each other to one. Of two reasons it has that for which data is given
/// up.
fn join(last: &mut Filled, next: &Filled) {
    let (Some(one), Some(other)) = (last.gap.as_mut(), next.gap) else {
        return;
    };
    if one.reason != other.reason {
        one.reason = match [one.reason, other.reason].contains(&GapReason::NotWritten) {
            true => GapReason::NotWritten,
            false => GapReason::NoRoom,
        };
    }
    one.bytes += other.bytes;
    one.frames += other.frames;
    one.last_time_ns = other.last_time_ns;
    last.stream_offset_bytes = next.stream_offset_bytes;
    last.last_time_ns = next.last_time_ns;
    last.first_frame = next.first_frame;
}
