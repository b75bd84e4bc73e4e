//! Finds the best setting: it measures many settings in short runs, interleaved and repeated, and
//! says which is fastest, which is cheapest, and which differences the noise explains. plan -> grid
//! -> schedule -> points -> judge -> answer -> result.

mod answer;
mod array;
pub(crate) mod axes;
mod conclude;
mod event;
mod mdadm;
pub(crate) mod open;
mod plan;
pub(crate) mod point;
mod range;
mod remark;
mod remark_words;
mod run;
mod run_times;
mod schedule;
pub(crate) mod setting;
#[cfg(test)]
mod tests;
mod too_long;

pub use answer::is_as_good_in_document;
pub use axes::LayoutKind;
pub use event::{MeasuredPoint, MeasuringPoint, SweepEvent, SweepObserver};
pub use mdadm::Mdadm;
pub use open::rehearse_sweep;
pub use plan::{MemberOrders, SweepPlan};
pub use range::{Values, parse_counts, parse_sizes};
pub use run::sweep;
