//! When slots were begun.

/// When a slot got its first append, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recorder) struct SlotTime {
    pub(in crate::recorder) slot_serial: u64,
    pub(in crate::recorder) made_time_ns: i64,
}
