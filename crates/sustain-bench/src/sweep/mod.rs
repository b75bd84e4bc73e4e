//! Which setting is best: measures many settings in short runs, interleaved and repeated, and says
//! which is fastest, which is cheapest, and what the noise explains.
//! plan -> grid -> schedule -> points -> judge -> answer -> result.

mod answer;
mod array;
mod axes;
mod conclude;
mod event;
mod judge;
mod mdadm;
mod noise;
mod open;
mod plan;
mod point;
mod range;
pub mod result;
mod run;
mod schedule;
mod setting;
mod student;
#[cfg(test)]
mod tests;

pub use axes::LayoutKind;
pub use event::{MeasuredPoint, MeasuringPoint, SweepEvent, SweepObserver};
pub use mdadm::Mdadm;
pub use open::rehearse_sweep;
pub use plan::{Orders, SweepPlan};
pub use range::{Values, parse_counts, parse_sizes};
pub use run::sweep;
