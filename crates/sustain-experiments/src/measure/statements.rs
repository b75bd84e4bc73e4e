//! What a measurement tells besides its figures, as data: who measures decides it, and
//! `measurement_words.rs` has the English.

use sustain_document::verdicts::{BacklogNotSeen, RhythmNotSeen};
use sustain_load::event::Phase;

/// What a reader must know besides the figures.
pub(super) enum MeasureRemark {
    /// The targets were not active for the same time, so there are three rates.
    RatesDiffer(DifferingRates),
    /// A driver had no CPU time left.
    ToolLimited,
    /// Submitting native AIO took this long.
    SubmitBlocked { blocked_ns: u64 },
    /// The engine keeps one request in flight, although more were asked for.
    OneAtATime,
    /// Data was read through the page cache.
    BufferedRead,
    /// Data was written through the page cache.
    BufferedWrite(BufferedWriting),
    /// A target is no disk.
    NotADisk,
    /// Probe workloads ran beside the load.
    Watched,
    /// The flush after the run took long, so that part of the rate was that of a cache.
    LongFlush(LongFlush),
    /// Whether the rate held could not be decided; the reason in the document's words.
    RateUndecided { why: String },
    /// The verdict rests on a profile.
    EvenedByProfile { profile: String },
    /// New data could not be generated fast enough to tell whether the targets take it more
    /// slowly.
    MadeTooSlowly { rate_bytes_per_s: f64 },
    /// A rate is recommended, and whether the targets take new data more slowly was not tried.
    NewBytesNotTried {
        /// Whether it was not because the run was too short for that.
        is_too_short: bool,
    },
    /// The figures of all together are those of the targets that did not fail.
    OfRemaining(RemainingTargets),
    /// A target's file system is in memory.
    InMemory { target: String, kind: String },
    /// A long stall was seen too seldom.
    RhythmNotSeen(RhythmNotSeen),
    /// What was written fits into memory.
    BacklogNotSeen(BacklogNotSeen),
}

/// The three rates of targets that were not active for the same time.
pub(super) struct DifferingRates {
    /// Whether they count from the time at which a target failed.
    pub(super) are_remaining: bool,
    pub(super) active_bytes_per_s: f64,
    pub(super) sum_bytes_per_s: f64,
    pub(super) wall_clock_bytes_per_s: f64,
}

/// Writing through the page cache.
pub(super) struct BufferedWriting {
    /// Whether data was flushed before it was overwritten.
    pub(super) is_flushed_each_lap: bool,
    pub(super) dirty_bytes: u64,
    pub(super) writeback_bytes: u64,
    /// Whether foreign I/O could not be seen.
    pub(super) are_others_unseen: bool,
}

/// A flush after the run that took long.
pub(super) struct LongFlush {
    /// The target, if there are several.
    pub(super) target: Option<String>,
    pub(super) flush_s: f64,
    /// The target's rate with the flush counted.
    pub(super) flushed_bytes_per_s: f64,
}

/// The targets whose figures the total is, after some have failed.
pub(super) struct RemainingTargets {
    /// How many are left.
    pub(super) left: usize,
    /// The target that failed last.
    pub(super) failed: String,
    /// When it failed.
    pub(super) failed_s: f64,
}

/// Why a run is no proof that a rate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UndecidedReason {
    /// Data was rewritten in the page cache, and may never have reached the disk.
    RewrittenInCache,
    /// The end of the device was reached before the time was over.
    EndOfDevice,
    /// The rate held until a target, of this number, was full after so many seconds, and no
    /// longer.
    TargetFull { target: usize, full_s: u64 },
    /// A part of the rate went into volatile caches, whose flush then took so long.
    Cached { flush_ns: u64 },
    /// A part of the rate went into the cache of this target, whose flush then took so long.
    CachedOnOne { target: usize, flush_ns: u64 },
}

/// A paced run that did not hold.
pub(super) struct FailedAttempt {
    pub(super) rate_bytes_per_s: f64,
    pub(super) backlog_bytes: u64,
    /// Whether its backlog stayed within the buffer, but still grew at the end.
    pub(super) still_grew: bool,
    pub(super) buffer_bytes: u64,
    /// The rate that is tried next.
    pub(super) next_bytes_per_s: f64,
}

/// The backlog of a load beside which other programs were watched, where it fits into memory.
pub(super) struct EffectBacklog {
    pub(super) written_bytes: u64,
    pub(super) memory_bytes: u64,
    /// Whether a larger one has room on the targets.
    pub(super) larger_fits: bool,
}

/// The part of a target that a run goes over.
pub(super) struct Extent {
    pub(super) from_bytes: u64,
    /// Its length; `None` if it has no end.
    pub(super) length_bytes: Option<u64>,
    pub(super) passes: Passes,
}

/// How often a run goes over its part of a target.
pub(super) enum Passes {
    Repeated,
    OnceAndAgain,
    Once,
}

/// The runs with full queues that read back: one that writes as well, and one that does not.
pub(super) const READ_BACK_RUNS: u32 = 2;

/// The parts of a measurement, in order, with their times as far as these are known before.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ForeseenParts {
    /// Bytes of files that are written once before, at the rate that the disks have.
    pub(super) prewritten_bytes: u64,
    /// The idle time before the run, and the same after it.
    pub(super) idle_s: f64,
    /// The run; `None` if its bytes decide its length.
    pub(super) run_s: Option<f64>,
    /// Whether it may end before that, once it is steady.
    pub(super) may_end_early: bool,
    /// Whether caches are flushed after the run, for as long as the disks take.
    pub(super) is_flushed: bool,
    /// Other bytes in turn.
    pub(super) in_turn_s: f64,
    /// The length of a confirming run; `None` if there is none.
    pub(super) confirming_s: Option<f64>,
    /// The most confirming runs.
    pub(super) confirming_runs_max: u32,
    /// Whether two more runs as long as the first read back what it has written: one that writes
    /// meanwhile, and one that does not. Confirming runs follow each.
    pub(super) is_read_back: bool,
}

/// How many confirming runs are over or under way since the last run with full queues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ConfirmedSoFar {
    /// The confirming runs.
    pub(super) runs: u32,
    /// The runs with full queues that read back.
    pub(super) read_back: u32,
}

impl ForeseenParts {
    /// The least and the most time that is to come after a phase, flushing and prewriting apart;
    /// `None` if that is not known.
    pub(super) fn after(&self, phase: Phase, so_far: ConfirmedSoFar) -> Option<[f64; 2]> {
        let runs = |count: u32| self.confirming_s.unwrap_or(0.0) * f64::from(count);
        let confirming_once = [runs(1), runs(self.confirming_runs_max)];
        // Each run that reads back, with the confirming runs that follow it.
        let read_back_s = match (self.is_read_back, self.run_s) {
            (false, _) => 0.0,
            (true, Some(run_s)) => run_s,
            (true, None) => return None,
        };
        let rounds = match self.is_read_back {
            true => f64::from(READ_BACK_RUNS.saturating_sub(so_far.read_back)),
            false => 0.0,
        };
        let still_read_back = confirming_once.map(|time_s| rounds * (read_back_s + time_s));
        let add = |one: [f64; 2], other: [f64; 2]| [one[0] + other[0], one[1] + other[1]];
        let confirming = add(confirming_once, still_read_back);
        let plus = |more: f64| confirming.map(|time_s| time_s + more);
        let from_turns = plus(self.in_turn_s);
        let from_after = from_turns.map(|time_s| time_s + self.idle_s);
        let from_run = self.run_s.map(|run_s| {
            let least_s = if self.may_end_early { 0.0 } else { run_s };
            [from_after[0] + least_s, from_after[1] + run_s]
        });
        let most_s = runs(self.confirming_runs_max.saturating_sub(so_far.runs));
        let after_confirming = add([0.0, most_s], still_read_back);
        match phase {
            // The runs that read back and those that confirm are flushed as well.
            Phase::Flush if so_far.runs > 0 => Some(after_confirming),
            Phase::Flush if so_far.read_back > 0 => Some(confirming),
            Phase::Prewrite => from_run.map(|ends| ends.map(|time_s| time_s + self.idle_s)),
            Phase::Before => from_run,
            Phase::Measure | Phase::Flush => Some(from_after),
            Phase::After => Some(from_turns),
            Phase::Rewrite | Phase::ReadBack | Phase::ReadAlone => Some(confirming),
            Phase::Confirm => Some(after_confirming),
            Phase::Subset => None,
        }
    }
}
