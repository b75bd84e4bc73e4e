//! One prediction by the walls found, and what came.

/// A prediction that is off by this part, and by this many deviations, has failed.
const OFF: f64 = 0.02;
const OFF_SCORE: f64 = 4.0;

/// A subset by position that was predicted, then measured.
pub(in crate::walls) struct PredictionTrial {
    pub(in crate::walls) set: Vec<usize>,
    /// The members of the wall that it was made for.
    pub(in crate::walls) of: Vec<usize>,
    pub(in crate::walls) least: f64,
    pub(in crate::walls) most: f64,
    pub(in crate::walls) measured: f64,
    pub(in crate::walls) deviation: f64,
}

impl PredictionTrial {
    /// Of all that the walls allow, what is nearest to what came.
    pub(in crate::walls) fn nearest(&self) -> f64 {
        self.measured.clamp(self.least, self.most)
    }

    /// How far it came from what the walls allow.
    pub(in crate::walls) fn off(&self) -> f64 {
        (self.measured - self.nearest()).abs()
    }

    pub(in crate::walls) fn is_missed(&self) -> bool {
        self.off() > (OFF_SCORE * self.deviation).max(OFF * self.most)
    }
}
