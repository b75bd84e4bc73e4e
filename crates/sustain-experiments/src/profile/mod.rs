//! Measures the rate of a target at each of its positions: samples are spread over it, with more of
//! them where the rate changes, and everything is visited twice. The results are zones, positions
//! that do not belong to their zone, and the limit that several targets share. plan -> curves ->
//! schedule -> samples -> fit -> verdict -> result.

pub(crate) mod chance;
mod clean;
mod conclude;
mod event;
mod failure;
mod fit;
mod hold;
mod lasting_rate;
mod noise;
mod open;
mod outliers;
mod partition;
mod plan;
mod profile_words;
mod profiled;
mod rate_change;
mod repeats;
mod run;
mod sample;
mod schedule;
mod shape;
mod spots;
mod together;
mod unseen;
mod visits;
mod zone;
mod zone_cutter;

pub use event::{ProfileEvent, ProfileObserver, Sampled, Sampling};
pub use open::rehearse_profile;
pub use plan::ProfilePlan;
pub use run::profile;
