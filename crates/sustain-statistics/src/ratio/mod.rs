//! How much two runs differ, and what noise explains of it: the ratio of two series by batch means
//! ([`batches`]), the interval of such a ratio ([`effect`]), and the ratio of many pairs of runs
//! that is looked at after each pair ([`sequence`]). `compare` calls it.

pub mod batches;
pub mod effect;
pub mod sequence;
