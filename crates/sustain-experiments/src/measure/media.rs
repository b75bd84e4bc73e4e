//! What of a run is on the media and what was only taken into volatile caches, by the flush that
//! follows it: every threshold of that stands here. The recommendation bounds its rate by it,
//! and a
//! paced run is judged by it, because a recorder has to make its bytes durable, too.

use sustain_document::measure::{MeasureResult, TargetResult};
use sustain_document::verdicts::IntoCache;
use sustain_document::vocabulary::LayoutKind;
use sustain_statistics::judge::steady::WINDOW_S_MIN;

/// A flush that takes less than this part of the run before it, or less than so long, found no
/// cache
/// worth counting.
const FLUSH_PART_MIN: f64 = 0.02;
const FLUSH_S_MIN: f64 = 0.5;
/// From this part on, what a paced run was taken at is the rate of a cache.
const FLUSH_PART_CACHE: f64 = 0.1;

/// What one target took, and how long its flush then was.
#[derive(Debug, Clone, Copy)]
pub(super) struct MediaPart {
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) flush_s: f64,
}

impl MediaPart {
    fn of(target: &TargetResult) -> MediaPart {
        MediaPart {
            bytes: target.bytes,
            seconds: target.seconds,
            flush_s: target.flush_seconds.unwrap_or(0.0),
        }
    }

    /// Several as one whose end is that of the last, as in a stripe.
    fn joined(parts: &[MediaPart]) -> MediaPart {
        let most = |of: fn(&MediaPart) -> f64| parts.iter().map(of).fold(0.0, f64::max);
        MediaPart {
            bytes: parts.iter().map(|part| part.bytes).sum(),
            seconds: most(|part| part.seconds),
            flush_s: most(|part| part.flush_s),
        }
    }

    /// The rate at which the bytes reached the medium, the flush included.
    pub(super) fn flushed_bytes_per_s(&self) -> f64 {
        self.bytes as f64 / (self.seconds + self.flush_s).max(1e-9)
    }

    /// The bytes that were only in the cache when the run ended: those that the flush wrote.
    fn cached_bytes(&self) -> f64 {
        self.flushed_bytes_per_s() * self.flush_s
    }

    fn share(&self) -> f64 {
        self.flush_s / self.seconds.max(1e-9)
    }

    /// Whether the flush was so long that it says something about a cache.
    pub(super) fn has_long_flush(&self) -> bool {
        self.share() >= FLUSH_PART_MIN && self.flush_s >= FLUSH_S_MIN
    }

    /// Whether the rate of a paced run was that of a cache: the flush took a good part of the
    /// run,
    /// or wrote more than the buffer could have held. In less than ten seconds the first says
    /// little.
    fn is_of_cache(&self, buffer_bytes: u64) -> bool {
        let is_good_part = self.share() >= FLUSH_PART_CACHE && self.seconds >= WINDOW_S_MIN;
        let is_too_much = self.cached_bytes() > buffer_bytes as f64;
        self.has_long_flush() && (is_good_part || is_too_much)
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
    /// One target's cache did, and whether the others would have taken over is not known.
    CachedOnOne {
        /// Its number.
        target: usize,
        flush_s: f64,
    },
}

/// The answer for a paced run.
pub(super) fn on_media(
    is_independent: bool,
    buffer_bytes: u64,
    targets: &[TargetResult],
) -> OnMedia {
    let parts = apart(is_independent, targets.iter().map(MediaPart::of).collect());
    let is_cached = |part: &MediaPart| part.is_of_cache(buffer_bytes);
    let mut cached = parts.iter().enumerate().filter(|(_, part)| is_cached(part));
    let is_on_all = cached.clone().count() == parts.len();
    match cached.next() {
        None => OnMedia::Held,
        Some(_) if is_on_all => OnMedia::Cached,
        Some((target, part)) => OnMedia::CachedOnOne {
            target,
            flush_s: part.flush_s,
        },
    }
}

/// What the caches had taken of a paced run when it ended, if the flush after it was long
/// enough to
/// be told.
pub(super) fn into_cache(result: &MeasureResult) -> Option<IntoCache> {
    result.plan.rate_bytes_per_s?;
    let is_independent = result.plan.layout == LayoutKind::Independent;
    let parts = result.targets.iter().map(MediaPart::of).collect();
    let parts = apart(is_independent, parts);
    let cached_bytes: f64 = parts.iter().map(MediaPart::cached_bytes).sum();
    let flush_s = parts.iter().map(|part| part.flush_s).fold(0.0, f64::max);
    let is_told = parts.iter().any(MediaPart::has_long_flush);
    is_told.then(|| IntoCache {
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
    };

    #[test]
    fn what_the_flush_wrote_was_in_the_cache() {
        assert_eq!(SECOND.flushed_bytes_per_s(), 1e8);
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
    fn the_members_of_a_stripe_end_with_the_last_of_them() {
        let parts = apart(false, vec![SECOND; 2]);
        assert_eq!(parts.len(), 1);
        assert_eq!(parts[0].flushed_bytes_per_s(), 2e8);
    }
}
