//! Measures what the targets give while what was written is read back. A recorder whose data is
//! looked at meanwhile shares its disks with the reader, and a disk that has to do both loses more
//! than the bytes that are read. So after the run, the same load goes on while as many requests
//! read what the run has written; then these read alone. Paced runs confirm both rates. The run
//! calls this, after its own rate has been confirmed.

use sustain_disk::engine::Operation;
use sustain_disk::layout::Layout;
use sustain_disk::meter::Meter;
use sustain_document::measure::{ReadBack, ReadBackRate, ReadBackTarget, Rewritten};
use sustain_load::collect::rate;
use sustain_load::event::{Observer, Phase};
use sustain_load::phase::PhaseOutcome;
use sustain_load::setup::{PhaseSetup, StreamRegion};

use super::active::sustained_total;
use super::measure_run::MeasureRun;
use super::recommendation::recommend;
use crate::error::MeasureError;
use crate::figures::seconds;

impl MeasureRun<'_> {
    /// Reads back what the run has written: while its load goes on, and alone. `None` if something
    /// failed, if the user ended it before the first of both was over, or if the run has written
    /// too little.
    pub(crate) fn read_back(
        &mut self,
        outcome: &PhaseOutcome,
        rewritten: Option<&Rewritten>,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Option<ReadBack>, MeasureError> {
        let Some(written) = self.written(outcome) else {
            return Ok(None);
        };
        self.is_reading_back = true;
        let is_slower = rewritten.is_some_and(|found| found.is_slower);
        let like = PhaseSetup {
            phase: Phase::ReadBack,
            time_ns: Some(self.run_ns(outcome)),
            bytes: None,
            wraps: Some(true),
            until_steady: false,
            extent_bytes: self.prepared.extent_bytes(),
            positions_bytes: match self.plan.load.bytes {
                Some(_) => vec![0; written.len()],
                None => self
                    .prepared
                    .positions_after(&self.prepared.starts(), &[], outcome),
            },
            read_back: written.clone(),
            ..self.confirming(is_slower, threads)
        };
        let Some((both, writing)) = self.rate_of(&like, threads, observer)? else {
            return Ok(None);
        };
        let alone = PhaseSetup {
            phase: Phase::ReadAlone,
            operation: Operation::Read,
            positions_bytes: written.iter().map(|region| region.from_bytes).collect(),
            lap_bytes: written
                .iter()
                .map(StreamRegion::length_bytes)
                .map(Some)
                .collect(),
            regions: written,
            read_back: Vec::new(),
            ..like
        };
        let alone = match self.prepared.stop.reason() {
            Some(_) => None,
            None => self.rate_of(&alone, threads, observer)?,
        };
        if !self.later_failures.is_empty() {
            return Ok(None);
        }
        let (alone, reading_alone) = alone.unzip();
        let session = self.prepared.session;
        let Some(meanwhile) = both.read_back.as_deref() else {
            return Ok(None);
        };
        let alone_of = |target: usize| Some(metered(&alone.as_ref()?.meters[target]));
        let of_targets = both.meters.iter().zip(&meanwhile.meters).enumerate();
        Ok(Some(ReadBack {
            seconds: seconds(self.run_ns(outcome)),
            writing,
            reading_meanwhile: sustained_total(self.plan, session, meanwhile),
            reading_alone,
            targets: of_targets
                .map(|(target, (writing, meanwhile))| ReadBackTarget {
                    name: session.targets[target].target.name.clone(),
                    writing_bytes_per_s: metered(writing),
                    reading_meanwhile_bytes_per_s: metered(meanwhile),
                    reading_alone_bytes_per_s: alone_of(target),
                })
                .collect(),
        }))
    }

    /// One run with full queues, what it sustained, and the rate that paced runs like it confirm.
    fn rate_of(
        &mut self,
        setup: &PhaseSetup,
        threads: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Option<(PhaseOutcome, ReadBackRate)>, MeasureError> {
        let (mut outcome, _) = self.prepared.run_phase(setup, observer)?;
        if setup.operation == Operation::Write {
            self.prepared.flush(&mut outcome, threads, observer)?;
        }
        if self.note_failures(&outcome, None) || self.prepared.stop.reason().is_some() {
            return Ok(None);
        }
        let session = self.prepared.session;
        let sustained = sustained_total(self.plan, session, &outcome);
        // The data was that of a recording already, if that makes a difference.
        let recommendation = match recommend(self.plan, session, &outcome, None) {
            Some(recommended) => self.confirm(recommended, &outcome, setup, observer)?,
            None => None,
        };
        if !self.later_failures.is_empty() {
            return Ok(None);
        }
        let found = ReadBackRate {
            sustained,
            recommendation,
        };
        Ok(Some((outcome, found)))
    }

    /// As long as the run itself was.
    fn run_ns(&self, outcome: &PhaseOutcome) -> u64 {
        let asked_ns = self.plan.load.time_ns.unwrap_or(u64::MAX);
        asked_ns.min(outcome.elapsed_ns)
    }

    /// The regions that the run has written on each target; of a stripe or span, the first entry
    /// counts. `None` if one of them is too small for a record, or if something failed.
    fn written(&self, outcome: &PhaseOutcome) -> Option<Vec<StreamRegion>> {
        let mut series = outcome.collected.targets.iter();
        let has_failed = series.any(|series| !series.failures.is_empty());
        if has_failed || !self.later_failures.is_empty() || self.prepared.stop.reason().is_some() {
            return None;
        }
        let record = self.plan.load.record_bytes;
        let moved: Vec<u64> = outcome.meters.iter().map(Meter::bytes).collect();
        let sizes = self
            .prepared
            .session
            .targets
            .iter()
            .map(|target| target.size_bytes);
        let streams: Vec<(u64, u64)> = match self.plan.load.layout {
            Layout::Independent | Layout::Turns => moved.into_iter().zip(sizes).collect(),
            Layout::Stripe { .. } | Layout::Span => {
                let all = (moved.iter().sum(), sizes.fold(0, u64::saturating_add));
                vec![all; moved.len()]
            }
        };
        // A stream that has gone all the way round has written everything.
        let region = |(start_bytes, (moved, size_bytes)): (u64, (u64, u64))| StreamRegion {
            from_bytes: if moved < size_bytes { start_bytes } else { 0 },
            to_bytes: size_bytes.min(start_bytes.saturating_add(moved / record * record)),
        };
        let starts = self.prepared.starts();
        let regions: Vec<StreamRegion> = starts.into_iter().zip(streams).map(region).collect();
        regions
            .iter()
            .all(|region| region.length_bytes() >= record)
            .then_some(regions)
    }
}

/// The rate of one target over its whole run.
fn metered(meter: &Meter) -> f64 {
    rate(meter.bytes(), meter.last_ns())
}
