//! Explains what limited the rate of a recording. The chart and the table of its limits call this
//! module, so that both say the same.

use sustain_record::verdicts::LOSS;

/// Explains such a limit.
pub(crate) fn meaning(by: &str) -> &'static str {
    match by {
        "source" => "the members took everything that the sources offered",
        LOSS => "bytes were lost: the buffer had no memory for them, or no member had free space",
        "members" => "data was waiting, and all members were busy",
        _ => "data was waiting, and this member was much slower than the others",
    }
}
