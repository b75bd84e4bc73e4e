//! The library face of `sustain`: what disks sustain, measured and judged. Re-exports only.
//!
//! ```no_run
//! use sustain::measure::{MeasurePlan, Stop, measure};
//! use sustain::host::Roots;
//!
//! let mut plan = MeasurePlan::new(vec![".".to_owned()]);
//! plan.load.time_ns = Some(10_000_000_000);
//! let result = measure(&plan, &Roots::default(), &Stop::default(), &mut |_event| {})?;
//! println!("{} B/s", result.total.sustained.rate_bytes_per_s);
//! # Ok::<(), sustain::measure::MeasureError>(())
//! ```

/// Measuring: plan, run, events, result; and diagnosing, which measures subsets.
pub mod measure {
    pub use sustain_experiments::compare;
    pub use sustain_experiments::diagnose;
    pub use sustain_experiments::effect::{self, EffectPlan};
    pub use sustain_experiments::error::MeasureError;
    pub use sustain_experiments::measure::plan::{KnownProfile, MeasurePlan};
    pub use sustain_experiments::measure::run::{measure, rehearse};
    pub use sustain_experiments::{profile, sweep};
    pub use sustain_load::Stop;
    pub use sustain_load::error::LoadError;
    pub use sustain_load::event::{Event, Live, LiveTarget, Observer, Phase};
    pub use sustain_load::plan::{At, LoadPlan, SIZE_BYTES_DEFAULT, parse_at};
}

/// What can be concluded from rates alone: steady or not, different or not, limits that are shared.
/// Pure functions.
pub use sustain_statistics as statistics;

/// Recording: stores, recorders, readers, the format.
pub mod record {
    pub use sustain_load::Stop;
    pub use sustain_record::error::RecordError;
    pub use sustain_record::recorder::*;
    pub use sustain_record::run::{RecordEvent, RecordObserver, RecordPlan, SourcePlan, record};
    pub use sustain_record::{document, forecast, format, opening, reading, source, store};
}

/// The result documents: what every command writes with `--json`, as types.
pub use sustain_document as document;

/// What the host says: guard facts, system samples, kernel log.
pub use sustain_host as host;

/// Driving disks: engines, layouts, meters, simulated machines, units.
pub use sustain_disk as disk;

/// Drawing results: terminal, JSON, HTML.
#[cfg(feature = "report")]
pub use sustain_report as report;
