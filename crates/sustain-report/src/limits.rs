//! Explains what limited the rate of a recording. The chart and the table of its limits call this
//! module, so that both say the same.

use sustain_document::record::LimitedBy;
use sustain_record::verdicts::LimitCause;

/// Explains such a limit.
pub(crate) fn meaning(cause: LimitCause<'_>) -> &'static str {
    match cause {
        LimitCause::Loss => {
            "bytes were lost: the buffer had no memory for them, or no member had free space"
        }
        LimitCause::By(LimitedBy::Source) => "the members took everything that the sources offered",
        LimitCause::By(LimitedBy::Members) => "data was waiting, and all members were busy",
        LimitCause::By(LimitedBy::Pins) => {
            "data was waiting, and pins kept all of the ring, so that nothing was left to overwrite"
        }
        LimitCause::By(LimitedBy::Member(_)) => {
            "data was waiting, and this member was much slower than the others"
        }
    }
}
