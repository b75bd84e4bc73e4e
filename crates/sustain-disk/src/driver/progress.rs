//! What a driver reports of its work while it runs.

use sustain_document::vocabulary::Ending;

use crate::engine::Operation;
use crate::error::{IoFault, RequestError};
use crate::meter::MeterInterval;

/// A request that failed: when, and the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// Time from the start.
    pub at_ns: u64,
    /// Index of the target.
    pub target: usize,
    /// The operation that was tried.
    pub operation: Operation,
    /// Its offset.
    pub offset_bytes: u64,
    /// The reason.
    pub fault: IoFault,
}

impl FailedRequest {
    /// The error of this request on the target of this name.
    pub fn on(&self, target: &str) -> RequestError {
        RequestError {
            target: target.to_owned(),
            operation: self.operation,
            offset_bytes: self.offset_bytes,
            fault: self.fault,
        }
    }
}

/// What completed at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Time from the start.
    pub at_ns: u64,
    /// The operation; a flush has no bytes.
    pub operation: Operation,
    /// The bytes of all requests of this operation that were seen complete together.
    pub bytes: u64,
}

/// The report that a driver sends about ten times a second.
#[derive(Debug, Clone, Default)]
pub struct DriverProgress {
    /// Time from the start.
    pub at_ns: u64,
    /// One entry per target of this driver.
    pub targets: Vec<TargetProgress>,
    /// Completions on all targets since the last report.
    pub arrivals: Vec<Arrival>,
    /// Requests that failed since the last report.
    pub failures: Vec<FailedRequest>,
}

/// One target in a [`DriverProgress`].
#[derive(Debug, Clone, Default)]
pub struct TargetProgress {
    /// Index of the target.
    pub target: usize,
    /// Bytes completed so far.
    pub bytes: u64,
    /// Requests in flight now.
    pub in_flight: u32,
    /// Intervals closed since the last report.
    pub intervals: Vec<MeterInterval>,
    /// Why it ended, if it has.
    pub ending: Option<Ending>,
}
