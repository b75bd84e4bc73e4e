//! Reads one recording for what is lost of it, for `recover`, where the sums that its appends keep
//! do not tell. It counts what `verify` counts.

use super::{Checkable, VerifyBasis, VerifyResult, check_recording};
use crate::error::RecordError;
use crate::member_io::{GIVEN_UP_AFTER_NS, READS_ARE_GIVEN};
use crate::opening::Recording;
use crate::reading::scope::Scope;

/// How many bytes of each stream of a recording `verify` calls damaged or missing, and no work of a
/// crash. `observer` is told the bytes of each stretch that was read.
///
/// # Errors
/// If the members cannot be driven; [`RecordError::Silent`] if one never answers.
pub(crate) fn lost_by_reading(
    store: Checkable<'_>,
    recording: &Recording,
    observer: &mut dyn FnMut(u64),
) -> Result<Vec<u64>, RecordError> {
    let mut scope = Scope::of(recording, store.members, store.machines, store.clock);
    // Whoever will write does not wait without end.
    scope.patience_ns = Some(READS_ARE_GIVEN * GIVEN_UP_AFTER_NS);
    let mut result = VerifyResult::begun(Vec::new());
    let mut reported_bytes = 0;
    let mut report = |read_bytes: u64, _bad: u64| {
        observer(read_bytes - reported_bytes);
        reported_bytes = read_bytes;
        true
    };
    let basis = VerifyBasis::of(&store);
    check_recording(recording, &scope, basis, &mut result, &mut report)?;
    let streams = result.recordings.iter().flat_map(|one| &one.streams);
    Ok(streams
        .map(|stream| stream.hole_bytes.saturating_sub(stream.not_durable_bytes))
        .collect())
}
