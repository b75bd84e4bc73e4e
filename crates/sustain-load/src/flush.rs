//! Flushes the targets after a run of direct I/O. The flush is outside the run's time and changes
//! no rate. It puts on the medium what a device still has in a volatile cache, and it shows when a
//! device cannot keep what it said it had taken. The run calls it.

use sustain_disk::data::DataKind;
use sustain_disk::driver::{Ending, FailedRequest};
use sustain_disk::engine::Operation;
use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::target::{DataPath, TargetKind};

use crate::collect::TargetSeries;
use crate::event::{Event, Live, Observer, Phase};
use crate::phase::PhaseOutcome;
use crate::prepared::PreparedTargets;
use crate::setup::PhaseSetup;

/// No record is written, but the driver asks for the memory of one nevertheless.
const RECORD_BYTES: u64 = 4096;

impl PreparedTargets<'_> {
    /// Flushes every target that a run of all targets has written, by the run's own engine, and
    /// adds the result. A buffered run has already done so itself; a target that has failed is
    /// left alone.
    ///
    /// # Errors
    /// As for [`PreparedTargets::flush_after`].
    pub fn flush(
        &mut self,
        outcome: &mut PhaseOutcome,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        let ran = self.setup(threads);
        self.flush_after(&ran, outcome, observer)
    }

    /// The same for a phase of some targets, whose setup this was.
    ///
    /// # Errors
    /// [`Error`] if the engine cannot be opened again or breaks; a flush that fails is a failure of
    /// the target in `outcome`.
    pub fn flush_after(
        &mut self,
        ran: &PhaseSetup,
        outcome: &mut PhaseOutcome,
        observer: &mut Observer<'_>,
    ) -> Result<(), Error> {
        let places = self.unflushed(ran, outcome);
        if places.is_empty() {
            return Ok(());
        }
        let setup = flushing(ran, &places);
        let mut report = |event: Event| {
            if let Event::Live(live) = event {
                observer(Event::Live(Live {
                    then_s: None,
                    done: None,
                    targets: Vec::new(),
                    ..live
                }));
            }
        };
        let (flushed, _) = self.run_phase(&setup, &mut report)?;
        let parts = flushed.collected.targets.iter().zip(&flushed.meters);
        for ((series, meter), place) in parts.zip(places) {
            let written = &mut outcome.collected.targets[place];
            // A flush that failed may have taken long as well, and it made nothing safe.
            written.flush_ns = series.failures.is_empty().then(|| meter.last_ns());
            add_failures(written, place, outcome.elapsed_ns, series);
        }
        Ok(())
    }

    /// The places, in the phase's order, of the targets whose last writes are not flushed yet.
    fn unflushed(&self, ran: &PhaseSetup, outcome: &PhaseOutcome) -> Vec<usize> {
        if ran.operation != Operation::Write || ran.path == DataPath::Buffered {
            return Vec::new();
        }
        let parts = outcome.collected.targets.iter().zip(&outcome.meters);
        let parts = parts.zip(&ran.targets).enumerate();
        parts
            .filter(|(_, ((series, meter), target))| {
                // /dev/null keeps nothing, and refuses a flush.
                let keeps = self.session.targets[**target].target.kind != TargetKind::Null;
                keeps && meter.bytes() > 0 && series.failures.is_empty()
            })
            .map(|(place, _)| place)
            .collect()
    }
}

/// The setup of a phase that flushes the targets at these places of another one, and does nothing
/// else.
fn flushing(ran: &PhaseSetup, places: &[usize]) -> PhaseSetup {
    PhaseSetup {
        phase: Phase::Flush,
        positions_bytes: vec![0; places.len()],
        lap_bytes: vec![None; places.len()],
        targets: places.iter().map(|place| ran.targets[*place]).collect(),
        record_bytes: RECORD_BYTES,
        depth: 1,
        layout: Layout::Independent,
        flush_at_end: true,
        time_ns: None,
        bytes: Some(0),
        rate_bytes_per_s: None,
        data: DataKind::Zero,
        extent_bytes: None,
        regions: Vec::new(),
        read_back: Vec::new(),
        wraps: Some(false),
        until_steady: false,
        may_start_anew: false,
        dummy: None,
        ..ran.clone()
    }
}

/// Adds failures of the flush to those of the run, whose end was `after_ns` after its start.
fn add_failures(written: &mut TargetSeries, target: usize, after_ns: u64, flushed: &TargetSeries) {
    let failures = flushed.failures.iter().map(|failure| FailedRequest {
        at_ns: after_ns + failure.at_ns,
        target,
        ..failure.clone()
    });
    written.failures.extend(failures);
    if !flushed.failures.is_empty() {
        written.ending = Some(Ending::Error);
    }
}

#[cfg(test)]
mod tests {
    use sustain_disk::error::IoFault;

    use super::*;

    #[test]
    fn a_flush_that_fails_is_a_failure_of_its_target_after_the_run() {
        let failure = FailedRequest {
            at_ns: 5,
            target: 0,
            operation: Operation::Flush,
            offset_bytes: 0,
            fault: IoFault::Kernel(5),
        };
        let mut written = TargetSeries::default();
        written.ending = Some(Ending::Time);
        add_failures(&mut written, 3, 1000, &TargetSeries::default());
        assert_eq!(written.ending, Some(Ending::Time));
        let mut flushed = TargetSeries::default();
        flushed.failures.push(failure.clone());
        add_failures(&mut written, 3, 1000, &flushed);
        assert_eq!(written.ending, Some(Ending::Error));
        let expected = FailedRequest {
            at_ns: 1005,
            target: 3,
            ..failure
        };
        assert_eq!(written.failures, [expected]);
    }
}
