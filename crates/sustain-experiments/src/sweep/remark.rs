//! What a reader of a sweep must know besides its figures, as data. The conclusion decides it, and
//! `remark_words.rs` has the English.

use sustain_disk::target::Direction;

/// What a reader of a sweep must know.
pub(super) enum SweepRemark {
    /// The budget ended before these settings were measured.
    BudgetSpent { not_measured: usize, all: usize },
    /// The budget had no time for so many rounds: a run took so long, all in all.
    RoundsLeftOut {
        left_out: u32,
        rounds: u32,
        run_s: f64,
        point_s: f64,
    },
    /// All rates changed from round to round; the change has been removed.
    Drifted { direction: Direction, share: f64 },
    /// In so many settings a driver had no CPU time left.
    ToolLimited { settings: usize },
    /// Buffered reading went over the same bytes again.
    ReadFromMemory,
    /// Of what so many settings wrote, volatile caches had taken a part; the longest flush.
    IntoCaches { settings: usize, flush_s: f64 },
    /// What an array of simulated disks stands for.
    ArraySimulated,
    /// What building the arrays took.
    ArraysBuilt {
        built: u32,
        setup_s: f64,
        runs: usize,
        measuring_s: f64,
    },
    /// A cache larger than what a point wrote would not show.
    LargerCacheNotSeen { bytes: u64 },
}
