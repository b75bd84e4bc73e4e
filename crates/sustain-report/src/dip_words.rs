//! Dips of the rate in words, for the terminal and the page.

use sustain_document::dips::{Dip, DipCause};
use sustain_document::measure::MeasureResult;

use crate::format::{memory, rate, stretch};

/// When it was, how deep, and what went on at the same time.
pub(crate) fn dip_words(dip: &Dip, result: &MeasureResult) -> String {
    format!(
        "dip at {:.0} s for {}: {} instead of {}; {}",
        dip.start_s,
        stretch(dip.end_s - dip.start_s),
        rate(dip.rate_bytes_per_s),
        rate(dip.usual_bytes_per_s),
        meanwhile_words(dip, result)
    )
}

/// What went on at the same time.
pub(crate) fn meanwhile_words(dip: &Dip, result: &MeasureResult) -> String {
    if result.plan.simulated {
        return "a simulated machine does not show why".to_owned();
    }
    if dip.causes.is_empty() {
        return "nothing else was seen then: no kernel message, no I/O of others, no flush, no \
                busy CPU"
            .to_owned();
    }
    let causes: Vec<String> = dip.causes.iter().map(cause).collect();
    format!("at the same time {}", causes.join("; "))
}

fn cause(cause: &DipCause) -> String {
    match cause {
        DipCause::KernelMessage { text } => format!("the kernel logged \"{text}\""),
        DipCause::Others {
            device,
            rate_bytes_per_s,
        } => format!(
            "other programs moved {} on {device}",
            rate(*rate_bytes_per_s)
        ),
        DipCause::CpuBusy { busy_percent } => format!("the CPUs were {busy_percent:.0} % busy"),
        DipCause::CpuStolen { stolen_percent } => {
            format!("the hypervisor gave {stolen_percent:.0} % of the CPUs to other machines")
        }
        DipCause::CpuThrottled { throttled_s } => format!(
            "the control group of this program was held back from the CPUs for {throttled_s:.1} s"
        ),
        DipCause::Flushes {
            device,
            flushes,
            flush_s,
        } => {
            let often = match flushes {
                1 => "once".to_owned(),
                more => format!("{more} times"),
            };
            format!("{device} flushed its cache {often}, which took {flush_s:.1} s")
        }
        DipCause::Hot { device, celsius } => {
            format!("{device} was at {celsius:.0} °C, where many drives slow themselves down")
        }
        DipCause::Writeback { bytes } => format!(
            "up to {} of the page cache were on their way to a disk",
            memory(*bytes)
        ),
    }
}
