//! The library face of `sustain`: what disks sustain, measured and judged, and streams recorded on
//! disks that lose nothing. Re-exports only.
//!
//! The main jobs and their plans are here; each has a module of the same name with all that belongs
//! to it. A plan is made by `new` and changed in its public fields, or with
//! `MeasurePlan { buffer_bytes, ..MeasurePlan::new(targets) }`.
//!
//! ```
//! use std::time::Duration;
//! use sustain::{MeasurePlan, Roots, Stop};
//!
//! # let target = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/../../machines/demo.toml:sda");
//! # /*
//! let target = "/data";
//! # */
//! let plan = MeasurePlan::new([target]).with_time(Duration::from_secs(10));
//! let result = sustain::measure(&plan, &Roots::default(), &Stop::default(), &mut |_event| {})?;
//! println!("{} B/s", result.total.sustained.rate_bytes_per_s);
//! # Ok::<(), sustain::MeasureError>(())
//! ```
//!
//! A recording, where each stream is written by whoever has its data:
//!
//! ```no_run
//! use sustain::record::Mode;
//! use sustain::{RecordOptions, Recorder, Roots, Store};
//!
//! let store = Store::open(["/dev/sdb1"], Mode::Record, &Roots::default())?;
//! let mut recorder = Recorder::start(store, ["camera"], RecordOptions::default())?;
//! let mut camera = recorder.writer("camera")?;
//! if let Some(mut filling) = camera.lend() {
//!     let count = filling.spare_mut().len();
//!     filling.spare_mut().fill(7); // the camera writes here
//!     filling.take(count, &[], camera.now_ns());
//!     camera.commit(filling);
//! }
//! drop(camera);
//! println!("{:?}", recorder.finish()?.standing.streams);
//! # Ok::<(), sustain::RecordError>(())
//! ```

/// What targets sustain: plan, run, events.
pub mod measure {
    pub use sustain_experiments::effect::EffectPlan;
    pub use sustain_experiments::error::MeasureError;
    pub use sustain_experiments::measure::plan::{KnownProfile, MeasurePlan};
    pub use sustain_experiments::measure::run::{measure, rehearse};
    pub use sustain_experiments::sweep;
    pub use sustain_load::error::LoadError;
    pub use sustain_load::event::{Event, Live, LiveTarget, Observer, Phase};
    pub use sustain_load::plan::{At, LoadPlan, SIZE_BYTES_DEFAULT, parse_at};
}

pub use measure::{LoadPlan, MeasureError, MeasurePlan, measure};
pub use sustain_experiments::compare::{ComparePlan, TrialPlan, compare, trial};
pub use sustain_experiments::diagnose::{DiagnosePlan, diagnose};
pub use sustain_experiments::effect::EffectPlan;
pub use sustain_experiments::profile::{ProfilePlan, profile};
pub use sustain_experiments::sweep::{SweepPlan, sweep};
/// The other experiments, each a module with its plan, its events and its run.
pub use sustain_experiments::{compare, diagnose, effect, memory_copy, profile, sweep};

/// Recording: stores, recorders, readers, the format.
pub mod record {
    pub use sustain_record::best_size::{APPEND_BYTES_LEAST, best_append_bytes};
    pub use sustain_record::error::RecordError;
    pub use sustain_record::format::{GapReason, MarkKind, PayloadMark};
    pub use sustain_record::reading::frames::{FrameReader, Framed};
    pub use sustain_record::reading::part::StreamPart;
    pub use sustain_record::reading::scope::Scope;
    pub use sustain_record::reading::stream::{Range, StreamReader};
    pub use sustain_record::recorder::*;
    pub use sustain_record::run::{
        RecordEvent, RecordObserver, RecordPlan, SourcePlan, SupervisorCommand, check_pin_request,
        put_back_limits, record,
    };
    pub use sustain_record::store::{CreateEvent, CreatePlan, Created, Mode, Store, create};
    pub use sustain_record::{
        document, forecast, format, opening, reading, repair, retire, scrub, source, store,
    };
}

pub use record::{
    CreatePlan, RecordError, RecordOptions, RecordPlan, Recorder, Store, StreamSetup, create,
    record,
};

/// Ends a job from another thread, and keeps what was done.
pub use sustain_load::Stop;

/// The buffer that a recorder has if nobody says how large it is to be.
pub use sustain_load::usual_buffer_bytes;

/// Where the facts about the host are read; tests put other directories there.
pub use sustain_host::Roots;

/// What can be concluded from rates alone: steady or not, different or not, limits that are shared.
/// Pure functions.
pub use sustain_statistics as statistics;

/// The result documents: what every command writes with `--json`, as types.
pub use sustain_document as document;

/// What the host says: guard facts, system samples, kernel log.
pub use sustain_host as host;

/// Driving disks: engines, layouts, meters, simulated machines, units.
pub use sustain_disk as disk;

/// Mounting a store: recordings as directories, streams and frames as files.
#[cfg(feature = "mount")]
pub use sustain_mount as mount;

/// Drawing results: terminal, JSON, HTML.
#[cfg(feature = "report")]
pub use sustain_report as report;
