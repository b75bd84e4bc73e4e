//! The English of a sweep's remarks, from data only. The conclusion writes them into the document's
//! notes.

use sustain_disk::units::Size;
use sustain_document::setting::{BUDGET, SIZE, TIME_PER_POINT};

use super::remark::SweepRemark;
use crate::measure::media::longer_s;

/// A remark for the notes of a document.
pub(super) fn remark(remark: &SweepRemark) -> String {
    match remark {
        SweepRemark::BudgetSpent { not_measured, all } => format!(
            "{not_measured} of the {all} settings that could be measured were not: within this \
             {BUDGET} only those near the best are measured closely"
        ),
        SweepRemark::RoundsLeftOut {
            left_out,
            rounds,
            run_s,
            point_s,
        } => format!(
            "{left_out} of {rounds} rounds were left out, because the {BUDGET} was over: a run \
             took {run_s:.1} s, its flush included, of which {point_s:.1} s are its \
             {TIME_PER_POINT}"
        ),
        SweepRemark::Drifted { direction, share } => format!(
            "the {direction} rates changed by up to {:.1} % from round to round, whatever the \
             setting; this drift has been removed",
            share * 100.0
        ),
        SweepRemark::ToolLimited { settings } => format!(
            "in {settings} settings this program had no CPU time left: the disks may reach more \
             there"
        ),
        SweepRemark::ReadFromMemory => format!(
            "buffered reading went over the same bytes again, which then came from memory: use a \
             larger {SIZE}"
        ),
        SweepRemark::IntoCaches { settings, flush_s } => format!(
            "in {settings} {} volatile caches had taken part of what was written when a point \
             ended: these are ranked by the rate at which their bytes reached the disks, the \
             flush of up to {flush_s:.1} s included. Which of them is faster once the caches are \
             full is not decided: longer points show it ({TIME_PER_POINT} of {:.0} s)",
            if *settings == 1 {
                "setting"
            } else {
                "settings"
            },
            longer_s(*flush_s)
        ),
        SweepRemark::ArraySimulated => "an array (md-raid0) of simulated disks is simulated as a \
                                        stripe in which each chunk of a record is one request, as \
                                        the md driver passes it on; nothing else of md is simulated"
            .to_owned(),
        SweepRemark::ArraysBuilt {
            built,
            setup_s,
            runs,
            measuring_s,
        } => format!(
            "arrays (md-raid0) were built {built} times for {runs} measurements; building took \
             {:.2} s each time, {:.0} % of their {measuring_s:.1} s of measuring; the depth \
             applies to every member of an array, as it does to those of a stripe",
            setup_s / f64::from(*built),
            100.0 * setup_s / measuring_s.max(1e-9)
        ),
        SweepRemark::LargerCacheNotSeen { bytes } => format!(
            "each measurement wrote up to {written}, so a cache of more than {written} that \
             ignores flushes would go unnoticed (use a longer {TIME_PER_POINT})",
            written = Size(*bytes)
        ),
    }
}
