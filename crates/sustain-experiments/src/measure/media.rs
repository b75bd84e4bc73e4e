//! What of a run is on the media and what was only taken into volatile caches, by the flush that
//! follows it: every threshold of that stands here. The recommendation bounds its rate by it, and a
//! paced run is judged by it, because a recorder has to make its bytes durable, too. The short runs
//! of a sweep, a trial or a diagnosis are compared by it.

use sustain_disk::meter::Meter;
use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::verdicts::IntoCache;
use sustain_document::vocabulary::{Ending, LayoutKind};
use sustain_load::collect::TargetSeries;
use sustain_load::phase::PhaseOutcome;
use sustain_statistics::judge::steady::WINDOW_S_MIN;

use crate::figures::seconds;

/// A flush that takes less than this part of the run before it, or less than so long, found no
/// cache worth counting.
const FLUSH_PART_MIN: f64 = 0.02;
const FLUSH_S_MIN: f64 = 0.5;
/// After a short run, of which many are compared, less counts already.
const SHORT_FLUSH_S_MIN: f64 = 0.02;
/// From this part on, what a paced run was taken at is the rate of a cache.
const FLUSH_PART_CACHE: f64 = 0.1;

/// A run may have ended in a pause, so that the flush waited for its end; and what came in during a
/// pause may have been in the cache, and takes a disk no longer than the pause did. So up to two
/// pauses of the longest kind explain a flush; one does so easily.
const PAUSES_POSSIBLE: f64 = 1.0;
const PAUSES_AT_MOST: f64 = 2.0;

/// What came in at more than so many times the rate of the medium may have filled a cache.
const FILLS: f64 = 1.01;

/// What one target took, and how long its flush then was.
#[derive(Debug, Clone, Copy)]
pub(super) struct MediaPart {
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) flush_s: f64,
    /// The longest pause of the run, as far as a flush may be one too.
    pub(super) pause_s: f64,
    /// What it took in the second half of the run; without end if that is not known.
    pub(super) late_bytes_per_s: f64,
}

impl MediaPart {
    /// The part of a paced run whose source was to go on for `asked_s`: the last completion comes
    /// a little before its end.
    fn of(target: &TargetResult, asked_s: Option<f64>) -> MediaPart {
        let asked_s = asked_s.filter(|_| target.ended == Ending::Time);
        MediaPart {
            bytes: target.bytes,
            seconds: target.seconds.max(asked_s.unwrap_or(0.0)),
            flush_s: target.flush_seconds.unwrap_or(0.0),
            pause_s: target.worst_stall_ns.unwrap_or(0) as f64 / 1e9,
            late_bytes_per_s: late_bytes_per_s(target),
        }
    }

    /// Several as one whose end is that of the last, as in a stripe.
    fn joined(parts: &[MediaPart]) -> MediaPart {
        let most = |of: fn(&MediaPart) -> f64| parts.iter().map(of).fold(0.0, f64::max);
        MediaPart {
            bytes: parts.iter().map(|part| part.bytes).sum(),
            seconds: most(|part| part.seconds),
            flush_s: most(|part| part.flush_s),
            pause_s: most(|part| part.pause_s),
            late_bytes_per_s: parts.iter().map(|part| part.late_bytes_per_s).sum(),
        }
    }

    /// The rate at which the bytes reached the medium, the flush included.
    pub(super) fn flushed_bytes_per_s(&self) -> f64 {
        self.bytes as f64 / (self.seconds + self.flush_s).max(1e-9)
    }

    /// The bytes that a medium writes in this part of the flush, at the rate of run and flush
    /// together.
    fn bytes_in(&self, writing_s: f64) -> f64 {
        self.bytes as f64 * writing_s / (self.seconds + writing_s).max(1e-9)
    }

    /// The bytes that were only in the cache when the run ended: those that the flush wrote, while
    /// it did not pause.
    fn cached_bytes(&self) -> f64 {
        self.bytes_in(self.writing_s(PAUSES_POSSIBLE))
    }

    /// The part of the flush that so many pauses do not explain.
    fn writing_s(&self, pauses: f64) -> f64 {
        (self.flush_s - pauses * self.pause_s).max(0.0)
    }

    /// Whether a flush of this length says something about a cache.
    fn is_long(&self, writing_s: f64) -> bool {
        writing_s >= FLUSH_S_MIN && writing_s >= FLUSH_PART_MIN * self.seconds
    }

    /// The same of a short run, with its flush.
    fn of_short_run(&self) -> Option<FlushedRun> {
        let writing_s = self.writing_s(PAUSES_POSSIBLE);
        let is_long = writing_s >= SHORT_FLUSH_S_MIN && writing_s >= FLUSH_PART_MIN * self.seconds;
        is_long.then(|| FlushedRun {
            rate_bytes_per_s: self.flushed_bytes_per_s(),
            flush_s: self.flush_s,
        })
    }

    /// Whether the flush was so long that it says something about a cache.
    pub(super) fn has_long_flush(&self) -> bool {
        self.is_long(self.writing_s(PAUSES_POSSIBLE))
    }

    /// Whether the cache may still have been filling when the run ended: the medium is known to
    /// write no less than the rate with the flush counted, and lately more than that came in.
    fn may_be_filling(&self) -> bool {
        self.late_bytes_per_s > FILLS * self.flushed_bytes_per_s()
    }

    /// Whether the rate of a paced run was that of a cache: what no pause explains of the flush
    /// took a good part of the run, or wrote more than the buffer could have held. In less than
    /// ten seconds the first says little.
    fn is_of_cache(&self, buffer_bytes: u64) -> bool {
        let writing_s = self.writing_s(PAUSES_AT_MOST);
        let is_good_part =
            writing_s >= FLUSH_PART_CACHE * self.seconds && self.seconds >= WINDOW_S_MIN;
        let is_too_much = self.bytes_in(writing_s) > buffer_bytes as f64;
        self.is_long(writing_s) && (is_good_part || is_too_much)
    }
}

/// A short run of which volatile caches had taken a part when it ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlushedRun {
    /// The rate at which its bytes reached the medium, the flush included.
    pub(crate) rate_bytes_per_s: f64,
    /// How long that flush was.
    pub(crate) flush_s: f64,
}

/// A cache that takes so long to flush after a run takes so little of one of this length.
const FLUSHES_IN_LONGER: f64 = 10.0;

/// A length of runs in which a cache that took this long to flush is full most of the time.
pub(crate) fn longer_s(flush_s: f64) -> f64 {
    (FLUSHES_IN_LONGER * flush_s).ceil()
}

/// The parts of a short run that have a flush of their own, as for [`apart`]; nothing for those of
/// which the flush found next to nothing in a cache.
pub(crate) fn flushed_runs(
    is_independent: bool,
    outcome: &PhaseOutcome,
) -> Vec<Option<FlushedRun>> {
    let parts = outcome.collected.targets.iter().zip(&outcome.meters);
    let part = |(series, meter): (&TargetSeries, &Meter)| {
        let stalls = meter.stalls().stalls().into_iter();
        MediaPart {
            bytes: meter.bytes(),
            seconds: seconds(meter.last_ns()),
            flush_s: series.flush_ns.map_or(0.0, seconds),
            pause_s: seconds(stalls.map(|stall| stall.duration_ns).max().unwrap_or(0)),
            late_bytes_per_s: f64::INFINITY,
        }
    };
    let parts = apart(is_independent, parts.map(part).collect());
    parts.iter().map(MediaPart::of_short_run).collect()
}

/// The rate of the second half of a run, without its last interval, which may not be a whole one.
fn late_bytes_per_s(target: &TargetResult) -> f64 {
    let intervals = target
        .intervals
        .split_last()
        .map_or(&[][..], |(_, whole)| whole);
    let late = &intervals[intervals.len() / 2..];
    match late {
        [first, .., last] => {
            let bytes: u64 = late.iter().map(|interval| interval.bytes).sum();
            bytes as f64 / (last.end_s - first.start_s).max(1e-9)
        }
        _ => f64::INFINITY,
    }
}

/// The parts of which each has a flush of its own: the targets, or all of them together where a
/// record lies on several.
pub(super) fn apart(is_independent: bool, parts: Vec<MediaPart>) -> Vec<MediaPart> {
    match is_independent {
        true => parts,
        false => vec![MediaPart::joined(&parts)],
    }
}

/// Whether a paced run held its rate on the media, too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OnMedia {
    /// As far as the flush shows.
    Held,
    /// No: at the end the caches held more than the buffer could, or a good part of the run.
    Cached,
    /// Something was in the caches at the end, which may have been filling or not.
    Open {
        /// How long the longest flush was.
        flush_s: f64,
    },
    /// One target's cache took something, and whether the others would have taken over is not
    /// known.
    OpenOnOne {
        /// Its number.
        target: usize,
        /// How long its flush was.
        flush_s: f64,
    },
}

/// The answer for a paced run whose source was to go on for `asked_s`.
pub(super) fn on_media(
    is_independent: bool,
    buffer_bytes: u64,
    asked_s: Option<f64>,
    targets: &[TargetResult],
) -> OnMedia {
    let parts = targets.iter().map(|target| MediaPart::of(target, asked_s));
    let parts = apart(is_independent, parts.collect());
    if parts.iter().all(|part| part.is_of_cache(buffer_bytes)) {
        return OnMedia::Cached;
    }
    let is_open = |part: &MediaPart| part.has_long_flush() && part.may_be_filling();
    let mut open = parts.iter().enumerate().filter(|(_, part)| is_open(part));
    let is_on_all = open.clone().count() == parts.len();
    let flush_s = parts.iter().map(|part| part.flush_s).fold(0.0, f64::max);
    match open.next() {
        None => OnMedia::Held,
        Some(_) if is_on_all => OnMedia::Open { flush_s },
        Some((target, part)) => OnMedia::OpenOnOne {
            target,
            flush_s: part.flush_s,
        },
    }
}

/// What the caches had taken of a paced run when it ended, if the flush after it was long enough
/// to be told.
pub(super) fn into_cache(result: &MeasureResult) -> Option<IntoCache> {
    result.plan.rate_bytes_per_s?;
    let is_independent = result.plan.layout == LayoutKind::Independent;
    let asked_s = result.plan.time_s;
    let parts = result.targets.iter();
    let parts = parts.map(|target| MediaPart::of(target, asked_s));
    let parts = apart(is_independent, parts.collect());
    let cached_bytes: f64 = parts.iter().map(MediaPart::cached_bytes).sum();
    let flush_s = parts.iter().map(|part| part.flush_s).fold(0.0, f64::max);
    let is_reported = parts.iter().any(MediaPart::has_long_flush);
    is_reported.then(|| IntoCache {
        bytes: cached_bytes as u64,
        flush_s,
        flushed_bytes_per_s: parts.iter().map(MediaPart::flushed_bytes_per_s).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: MediaPart = MediaPart {
        bytes: 250_000_000,
        seconds: 1.0,
        flush_s: 1.5,
        pause_s: 0.0,
        late_bytes_per_s: 2.5e8,
    };

    #[test]
    fn what_the_flush_wrote_was_in_the_cache() {
        assert_eq!(SECOND.flushed_bytes_per_s(), 1e8);
        assert!(SECOND.may_be_filling());
        let full = MediaPart {
            late_bytes_per_s: 1e8,
            ..SECOND
        };
        assert!(!full.may_be_filling());
        assert_eq!(SECOND.cached_bytes(), 1.5e8);
    }

    #[test]
    fn a_long_flush_is_that_of_a_cache_if_the_run_was_long_or_the_buffer_too_small() {
        assert!(SECOND.has_long_flush());
        assert!(!SECOND.is_of_cache(200_000_000) && SECOND.is_of_cache(100_000_000));
        let long = MediaPart {
            seconds: 10.0,
            ..SECOND
        };
        assert!(long.is_of_cache(200_000_000));
        let quick = MediaPart {
            flush_s: 0.3,
            ..long
        };
        assert!(!quick.has_long_flush() && !quick.is_of_cache(0));
    }

    #[test]
    fn a_pause_in_the_flush_wrote_nothing() {
        let paused = MediaPart {
            pause_s: 1.5,
            seconds: 15.0,
            ..SECOND
        };
        assert!(!paused.has_long_flush() && !paused.is_of_cache(0));
        assert_eq!(paused.cached_bytes(), 0.0);
        // A second pause may be in it, but that is not certain.
        let again = MediaPart {
            flush_s: 3.1,
            ..paused
        };
        assert!(again.has_long_flush() && !again.is_of_cache(0));
        let filled = MediaPart {
            flush_s: 4.6,
            ..paused
        };
        assert!(filled.is_of_cache(1 << 30));
    }

    #[test]
    fn the_members_of_a_stripe_end_with_the_last_of_them() {
        let parts = apart(false, vec![SECOND; 2]);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].flushed_bytes_per_s(), 2e8);
    }
}
