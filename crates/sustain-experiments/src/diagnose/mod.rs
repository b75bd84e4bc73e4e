//! Finds why N disks are not N times as fast as one: it measures subsets of the targets, has the
//! shared limits inferred from them, finds where these limits sit, and advises. plan -> probe ->
//! walls -> explain, advice -> result.

mod advice;
mod basis;
mod chain;
mod combinations;
mod conclude;
mod diagnosed;
mod diagnosis_words;
mod elsewhere;
mod event;
mod explain;
mod fall;
mod matrix;
mod member_limits;
mod paused_rates;
mod pauses;
mod plan;
mod probe;
mod reason;
mod remarks;
mod repeats;
mod revolutions;
mod run;
mod segments;
mod suggestion;
mod sums;
mod topology_paths;
mod tried;

pub use combinations::Combinations;
pub use event::{DiagnoseEvent, DiagnoseObserver, Measured, Measuring};
pub use matrix::{diagnose_matrix, rehearse_matrix};
pub use plan::DiagnosePlan;
pub use run::{diagnose, rehearse_diagnosis};
