//! All English of a measurement: its verdicts and remarks as clauses, from data only. The conclusion
//! writes them into the document's notes, and the answer of a report has the same words.

use sustain_disk::units::{Duration, Size};
use sustain_document::verdicts::{BacklogNotSeen, RhythmNotSeen};

use super::backlog::EffectBacklog;

const GIB: u64 = 1 << 30;

/// That a long stall was seen too seldom, and the time that would show how often such stalls come.
#[must_use]
pub fn rhythm_not_seen(rhythm: &RhythmNotSeen) -> String {
    format!(
        "a stall of {} was seen {} in {:.0} s, which is too short to show how often such stalls \
         come: --time {:.0}m",
        Duration(rhythm.stall_ns),
        if rhythm.seen == 1 { "once" } else { "twice" },
        rhythm.seconds,
        whole_minutes(rhythm.proposed_time_s)
    )
}

/// That the data written through the page cache fits into memory, and which flags would show more.
#[must_use]
pub fn backlog_not_seen(backlog: &BacklogNotSeen) -> String {
    let written = Size(backlog.written_bytes);
    let what = match backlog.targets {
        1 if backlog.is_one_file => format!("the file of {written} fits"),
        1 => format!("the {written} written fit"),
        several => format!("the {written} written to {several} targets fit"),
    };
    let advice = match &backlog.proposed {
        Some(proposed) => {
            let time = proposed.time_s;
            let time = time.map(|time_s| format!(" --time {:.0}m", whole_minutes(time_s)));
            format!(
                "use --size {}GiB{} to see the disk behind a full cache",
                proposed.size_bytes / GIB,
                time.unwrap_or_default()
            )
        }
        None => "there is not enough space here for one; --path direct shows what the disk itself \
                 takes"
            .to_owned(),
    };
    format!(
        "{what} into the memory of {:.0} GiB, so no backlog larger than memory built up: {advice}",
        in_gib(backlog.memory_bytes)
    )
}

/// That the effect of a backlog larger than memory was not measured.
pub(super) fn effect_not_seen(backlog: &EffectBacklog) -> String {
    let advice = match backlog.larger_fits {
        true => "use a larger --size and --time to see it",
        false => "there is not enough space for more here, so these targets cannot show it",
    };
    format!(
        "the effect of a backlog larger than memory: the {} written with buffered I/O fit into the \
         memory of {:.0} GiB; {advice}",
        Size(backlog.written_bytes),
        in_gib(backlog.memory_bytes)
    )
}

fn whole_minutes(seconds: f64) -> f64 {
    (seconds / 60.0).ceil()
}

fn in_gib(bytes: u64) -> f64 {
    bytes as f64 / GIB as f64
}
