//! Appends that the recorder gave up with their member: what of them no flush had confirmed it
//! booked as a gap, or wrote again elsewhere. They may lie there half written, which is no damage.
//! Pure; the account of the check calls it.

use std::collections::VecDeque;
use std::ops::Range;

use super::Discrepancy;
use crate::format::Kind;
use crate::reading::part::Origin;

/// More flaws are not held against what was given up.
const DOUBTFUL_MAX: usize = 1000;
/// Members are read ahead of each other by fewer appends.
const ACCOUNTS_MAX: usize = 1 << 16;

/// What the appends say of stretches of streams, and the flaws that it may explain.
#[derive(Default)]
pub(super) struct GivenUp {
    accounts: VecDeque<Accounted>,
    doubtful: Vec<Doubtful>,
}

/// A stretch that an append says was lost, or has whole.
struct Accounted {
    stream: u16,
    range: Range<u64>,
    sequence: u64,
}

/// A flaw around bytes that are whole, and what of its append nothing else accounts for.
struct Doubtful {
    bad: Discrepancy,
    stream: u16,
    sequence: u64,
    left: Vec<Range<u64>>,
}

impl GivenUp {
    /// An append was found.
    pub(super) fn found(&mut self, origin: &Origin) {
        let descriptor = &origin.descriptor;
        if descriptor.kind != Kind::Data {
            return;
        }
        let base = descriptor.stream_offset_bytes;
        let lost = descriptor
            .gap
            .map(|gap| base.saturating_sub(gap.bytes)..base);
        let whole = (origin.sealed && origin.marks.is_some()).then(|| base..origin.end_bytes());
        for range in [lost, whole].into_iter().flatten() {
            if range.is_empty() {
                continue;
            }
            let accounted = Accounted {
                stream: descriptor.stream,
                range,
                sequence: descriptor.sequence,
            };
            let doubtful = self.doubtful.iter_mut();
            doubtful.for_each(|doubtful| doubtful.take(&accounted));
            if self.accounts.len() >= ACCOUNTS_MAX {
                self.accounts.pop_front();
            }
            self.accounts.push_back(accounted);
        }
    }

    /// A flaw of an append that has these bytes whole, or the account of them; given back if it is
    /// none of these.
    pub(super) fn add(
        &mut self,
        bad: Discrepancy,
        origin: &Origin,
        bytes: Range<u64>,
    ) -> Result<(), Discrepancy> {
        if self.doubtful.len() >= DOUBTFUL_MAX {
            return Err(bad);
        }
        let mut doubtful = Doubtful {
            bad,
            stream: origin.descriptor.stream,
            sequence: origin.descriptor.sequence,
            left: vec![bytes],
        };
        self.accounts
            .iter()
            .for_each(|accounted| doubtful.take(accounted));
        self.doubtful.push(doubtful);
        Ok(())
    }

    /// All has been found: the flaws that are some, and those that the recorder knew of.
    pub(super) fn finish(&mut self) -> (Vec<Discrepancy>, Vec<Discrepancy>) {
        let doubtful = std::mem::take(&mut self.doubtful).into_iter();
        let (given_up, flaws): (Vec<Doubtful>, Vec<Doubtful>) =
            doubtful.partition(|one| one.left.is_empty());
        let given_up = given_up.into_iter().map(|one| Discrepancy {
            why: format!(
                "{}; the recorder gave this append up with its member, and says so of its bytes",
                one.bad.why
            ),
            ..one.bad
        });
        let flaws = flaws.into_iter().map(|one| one.bad);
        (flaws.collect(), given_up.collect())
    }
}

impl Doubtful {
    /// Only what comes later tells that an append was given up.
    fn take(&mut self, accounted: &Accounted) {
        if accounted.stream != self.stream || accounted.sequence <= self.sequence {
            return;
        }
        let without = |left: &Range<u64>| {
            let before = left.start..left.end.min(accounted.range.start);
            let behind = left.start.max(accounted.range.end)..left.end;
            [before, behind]
                .into_iter()
                .filter(|range| !range.is_empty())
        };
        self.left = self.left.iter().flat_map(without).collect();
    }
}
