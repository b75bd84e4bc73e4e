//! The versioned result document of a matrix: the rates of combinations of targets, read and
//! written, and the diagnosis of each direction.
//!
//! `sustain diagnose --matrix` fills it, the reports draw it as a table, and `sustain report` reads
//! it back. All rates are bytes per second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnose::{DiagnoseResult, SearchEnd};
use crate::vocabulary::Direction;

/// The `schema` of a [`MatrixResult`] as this version writes it.
pub const MATRIX_SCHEMA: &str = "sustain.matrix/1";

/// What combinations of targets reach, in one direction or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixResult {
    /// Always `sustain.matrix/1`; a reader refuses what it does not know.
    pub schema: String,
    /// Version of the tool that made the run.
    pub sustain_version: String,
    /// The targets, as typed; of simulated machines their disks.
    pub targets: Vec<String>,
    /// The directions that were asked for, in the order in which they were measured.
    pub directions: Vec<Direction>,
    /// The combinations that were asked for, in their order.
    pub combinations: Vec<Combination>,
    /// The diagnosis of each direction, with every reading: in the order of `directions`, as far as
    /// it came.
    pub diagnoses: Vec<DiagnoseResult>,
    /// Whether all was measured, or the user ended it.
    pub ended: SearchEnd,
}

/// Targets that were active together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Combination {
    /// The targets.
    pub members: Vec<String>,
    /// What they reached while they were read; null if that was not measured, or one failed.
    pub read: Option<CombinationRate>,
    /// What they reached while they were written; null as of `read`.
    pub write: Option<CombinationRate>,
}

/// The rate of targets that were active together: the mean of all readings of just these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CombinationRate {
    /// Their sum.
    pub sum_bytes_per_s: f64,
    /// The rate of each, in the order of `members`.
    pub rates_bytes_per_s: Vec<f64>,
    /// The number of readings.
    pub readings: usize,
}

impl Combination {
    /// What they reached in one direction.
    #[must_use]
    pub fn rate(&self, direction: Direction) -> Option<&CombinationRate> {
        match direction {
            Direction::Read => self.read.as_ref(),
            _ => self.write.as_ref(),
        }
    }
}
