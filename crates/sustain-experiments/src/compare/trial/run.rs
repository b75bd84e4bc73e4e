//! Runs a trial from beginning to end: opens the targets, prewrites files, makes a run of each
//! setting that does not count, then measures pair after pair with a look after each, and
//! concludes.

use sustain_disk::clock::{Timestamp, unix_seconds};
use sustain_disk::target::{DataPath, Direction};
use sustain_disk::units::Rate;
use sustain_document::compare::{
    COMPARE_SCHEMA, CompareAnswer, CompareLimit, ComparePlanUsed, CompareResult, CompareTrial,
    ComparedSide, ComparedTarget, RowVerdict, TrialRun,
};
use sustain_document::compare::{Side, TrialEnd};
use sustain_document::host::Host;
use sustain_document::setting::TIME_PER_RUN;
use sustain_host::Roots;
use sustain_load::error::LoadError;
use sustain_load::observer::of_phase;
use sustain_load::prepared::{PreparedTargets, forget_cached};
use sustain_load::session::Session;
use sustain_load::setup::PhaseSetup;
use sustain_load::watched::run_watched;
use sustain_targets::{Stop, others_words};

use super::super::comparison_words;
use super::super::limit::{self, LimitedFigures};
use super::conclude::{Pair, of_rates, rows};
use super::open::{announcement, open};
use super::plan::TrialPlan;
use super::{LETTERS, PAIRS_MIN, sides};
use crate::error::MeasureError;
use crate::figures::time_of_day;
use crate::sweep::point::{PointOutcome, outcome_of, run_point, setup_of};
use crate::sweep::setting::Setting;
use crate::sweep::{MeasuredPoint, MeasuringPoint, SweepEvent, SweepObserver};

/// Through the page cache, the first runs are given this much for each target.
const FIRST_BUFFERED_BYTES: u64 = 64 << 20;
/// The requests in flight of a run must be transferred within this part of its time.
const WINDOW_SHARE: f64 = 0.5;
/// With real targets the first runs are long enough to tell how many drivers are needed.
const FIRST_NS_MIN: u64 = 1_500_000_000;

/// Measures two settings in turn until their difference is known, or the time is over.
///
/// `stop` ends the work early; the result then rests on the pairs measured until then.
///
/// # Errors
/// [`MeasureError`]; a target that fails in a run that counts is part of the result instead.
pub fn trial(
    plan: &TrialPlan,
    roots: &Roots,
    stop: &Stop,
    observer: &mut SweepObserver<'_>,
) -> Result<CompareResult, MeasureError> {
    plan.check()?;
    let load = plan.opened_as();
    let (mut session, settings) = open(plan, roots, Session::open)?;
    run_watched(&mut session, roots, observer, |begun, observer| {
        let prepared = PreparedTargets {
            plan: &load,
            session: begun.session,
            stop,
            monitor: begun.monitor,
        };
        Trial {
            plan,
            prepared,
            observer,
            orders: SideOrders {
                plan,
                settings: &settings,
                buffered_bytes: FIRST_BUFFERED_BYTES,
            },
            threads: [1; 2],
            engines: ["none"; 2],
            cache_flush_s: None,
        }
        .run(begun.host, roots)
    })
}

/// A trial in progress.
struct Trial<'a, 'b> {
    plan: &'a TrialPlan,
    prepared: PreparedTargets<'a>,
    observer: &'a mut SweepObserver<'b>,
    orders: SideOrders<'a>,
    threads: [u32; 2],
    engines: [&'static str; 2],
    /// The longest flush of a run of which volatile caches had taken a part.
    cache_flush_s: Option<f64>,
}

/// The work of one run of one side.
#[derive(Clone, Copy)]
struct SideOrders<'a> {
    plan: &'a TrialPlan,
    settings: &'a [Setting; 2],
    /// The bytes that each target is given if writing goes through the page cache.
    buffered_bytes: u64,
}

impl SideOrders<'_> {
    /// The setup of a phase of this side, whose targets are numbered as those prepared.
    fn setup(&self, side: usize, session: &Session, time_ns: u64, like: &PhaseSetup) -> PhaseSetup {
        let (setting, typed) = (&self.settings[side], &self.plan.settings[side]);
        let through_memory =
            setting.path == DataPath::Buffered && setting.direction == Direction::Write;
        let each = (self.buffered_bytes / setting.record_bytes).max(1) * setting.record_bytes;
        let like = PhaseSetup {
            data: typed.data,
            may_start_anew: like.may_start_anew && typed.threads.is_none(),
            threads: typed.threads.unwrap_or(like.threads),
            ..like.clone()
        };
        setup_of(
            setting,
            session,
            time_ns,
            through_memory.then_some(each),
            &like,
        )
    }
}

/// The outcome of all pairs.
struct TrialOutcome {
    pairs: Vec<Pair>,
    ended: TrialEnd,
    failed: Option<String>,
    elapsed_s: f64,
}

const SIDES: [Side; 2] = [Side::A, Side::B];

impl Trial<'_, '_> {
    fn run(mut self, host: Host, roots: &Roots) -> Result<CompareResult, MeasureError> {
        let session = self.prepared.session;
        let started_unix_s = unix_seconds();
        self.prewrite()?;
        self.note(announcement(self.plan));
        let start = session.clock.now();
        self.first_runs()?;
        let tried = self.pairs(start)?;
        let (plan, engines) = (self.plan, self.engines);
        let system = self.prepared.monitor.finish(start);
        let others = others_words(&system.others).into_iter();
        let targets = sides::compared_targets(plan, session, roots);
        let of_sides = sides::notes(plan, &targets);
        let notes = others.chain(of_sides).chain(self.notes(&tried)).collect();
        let started = (!session.clock.is_virtual()).then(|| time_of_day(started_unix_s));
        let kernel = host.description.as_ref().map(|found| found.kernel.clone());
        let side = |number: usize| ComparedSide {
            label: plan.settings[number].words.clone(),
            words: words(session.direction, &targets[number]),
            started: started.clone(),
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: kernel.clone(),
            engine: engines[number].to_owned(),
            seconds: tried.pairs.len() as f64 * plan.time_per_run_ns as f64 / 1e9,
            targets: targets[number].clone(),
        };
        let rows = rows(&tried.pairs);
        let [a, b] = &plan.settings;
        Ok(CompareResult {
            schema: COMPARE_SCHEMA.to_owned(),
            plan: ComparePlanUsed {
                sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
                arguments: plan.arguments.clone(),
                fail_if_slower: plan.fail_if_slower,
            },
            a: side(0),
            b: side(1),
            answer: CompareAnswer {
                row: 0,
                verdict: rows
                    .first()
                    .map_or(RowVerdict::NotJudged, |row| row.verdict),
                slower_targets: Vec::new(),
                faster_targets: Vec::new(),
            },
            rows,
            limit: plan.fail_if_slower.map(|most| of_limit(most, &tried.pairs)),
            notes,
            trial: Some(CompareTrial {
                host,
                targets: plan.load.targets.clone(),
                is_same_setting: a.is_same(b),
                time_per_run_s: plan.time_per_run_ns as f64 / 1e9,
                time_s: plan.time_ns as f64 / 1e9,
                elapsed_s: tried.elapsed_s,
                alike: plan.alike,
                runs: in_time(&tried.pairs),
                ended: tried.ended,
                failed: tried.failed,
                size_bytes: plan.load.size_bytes,
                seed: plan.load.seed,
                simulated: session.clock.is_virtual(),
                system,
            }),
        })
    }

    fn note(&mut self, note: String) {
        (self.observer)(SweepEvent::Note(note));
    }

    fn notes(&self, tried: &TrialOutcome) -> Vec<String> {
        let [a, b] = &self.plan.settings;
        let mut notes = Vec::new();
        if a.is_same(b) {
            notes.push(comparison_words::SAME_SETTING.to_owned());
        }
        notes.extend(self.cache_flush_s.map(comparison_words::into_caches));
        if tried.ended == TrialEnd::Time {
            notes.push(comparison_words::time_was_over());
        }
        notes
    }

    fn prewrite(&mut self) -> Result<(), MeasureError> {
        let mut report = of_phase(self.observer, SweepEvent::Preparing);
        Ok(self.prepared.prewrite(&mut report)?)
    }

    /// Makes a run of each side that does not count: caches fill, disks wake up, and the run shows
    /// how many drivers each side needs and how much is transferred in a run.
    fn first_runs(&mut self) -> Result<(), MeasureError> {
        let session = self.prepared.session;
        let targets = self.orders.settings.each_ref().map(|one| one.order.len());
        let most = targets.into_iter().max().unwrap_or(1);
        let mut time_ns = self.plan.time_per_run_ns;
        if !session.clock.is_virtual() && most > 1 {
            time_ns = time_ns.max(FIRST_NS_MIN);
        }
        let mut fastest = 0.0_f64;
        for (side, letter) in LETTERS.into_iter().enumerate() {
            let (outcome, threads) = self.first_run(side, time_ns)?;
            if self.prepared.stop.reason().is_some() {
                return Ok(());
            }
            let rate = outcome.rate_bytes_per_s;
            self.threads[side] = threads;
            let time_s = self.plan.time_per_run_ns as f64 / 1e9;
            if self.orders.settings[side].window_bytes() as f64 > rate * time_s * WINDOW_SHARE {
                return Err(MeasureError::Usage(format!(
                    "{letter} ({}) has more bytes in flight than are transferred in half a run at \
                     {}: use a longer {TIME_PER_RUN}, or smaller records and depths",
                    self.plan.settings[side].words,
                    Rate(rate)
                )));
            }
            fastest = fastest.max(rate);
        }
        // Memory takes more than the disks do: neither side is given more than the disks take in a
        // run.
        let all_bytes = fastest * self.plan.time_per_run_ns as f64 / 1e9;
        self.orders.buffered_bytes = (all_bytes / most as f64) as u64;
        Ok(())
    }

    fn first_run(
        &mut self,
        side: usize,
        time_ns: u64,
    ) -> Result<(PointOutcome, u32), MeasureError> {
        self.make_ready(side)?;
        let (orders, session) = (self.orders, self.prepared.session);
        let mut report = of_phase(self.observer, SweepEvent::Preparing);
        let change = |like: PhaseSetup| orders.setup(side, session, time_ns, &like);
        let (mut phase, threads, _) = self.prepared.run_with_threads(change, &mut report)?;
        let setup = change(self.prepared.setup(threads));
        if self.prepared.stop.reason().is_none() {
            self.prepared.flush_after(&setup, &mut phase, &mut report)?;
        }
        let outcome = outcome_of(&orders.settings[side], &setup, session, &phase);
        let series = phase.collected.targets.iter().zip(&setup.targets);
        let mut failures = series.filter_map(|(series, target)| {
            let name = &session.targets[*target].target.name;
            Some(series.failures.first()?.on(name))
        });
        match failures.next() {
            // A target that still fails will fail again in a run that counts.
            Some(failure) if outcome.rate_bytes_per_s <= 0.0 => {
                Err(LoadError::Prewrite(failure).into())
            }
            _ => Ok((outcome, threads)),
        }
    }

    /// Neither side may find in memory what was read or written before, nor may direct I/O have to
    /// pay for evicting it.
    fn make_ready(&self, side: usize) -> Result<(), MeasureError> {
        let session = self.prepared.session;
        let is_buffered = |setting: &Setting| setting.path == DataPath::Buffered;
        if self.orders.settings.iter().any(is_buffered) {
            forget_cached(session);
            session.switch_path(self.orders.settings[side].path)?;
        }
        session.machines.begin_run();
        Ok(())
    }

    /// Measures pair after pair, with a look after each.
    fn pairs(&mut self, start: Timestamp) -> Result<TrialOutcome, MeasureError> {
        let clock = &self.prepared.session.clock;
        let mut tried = TrialOutcome {
            pairs: Vec::new(),
            ended: TrialEnd::Interrupted,
            failed: None,
            elapsed_s: 0.0,
        };
        let first = clock.now();
        while self.prepared.stop.reason().is_none() {
            let used_ns = clock.now().since_ns(start);
            let left_ns = self.plan.time_ns.saturating_sub(used_ns);
            if left_ns < 2 * self.plan.time_per_run_ns {
                tried.ended = TrialEnd::Time;
                break;
            }
            let Some(pair) = self.pair(&tried, first, left_ns)? else {
                break;
            };
            tried.elapsed_s = clock.now().since_ns(first) as f64 / 1e9;
            match pair {
                Ok(pair) => tried.pairs.push(pair),
                Err(why) => {
                    (tried.ended, tried.failed) = (TrialEnd::Failed, Some(why));
                    break;
                }
            }
            if let Some(ended) = self.look(&tried.pairs) {
                tried.ended = ended;
                break;
            }
        }
        Ok(tried)
    }

    /// Makes a run of each side. The result is none if interrupted, or the reason if a run failed.
    fn pair(
        &mut self,
        tried: &TrialOutcome,
        first: Timestamp,
        left_ns: u64,
    ) -> Result<Option<Result<Pair, String>>, MeasureError> {
        let mut runs = [None, None];
        let done = tried.pairs.len();
        for (turn, side) in order_of(done).into_iter().enumerate() {
            let measuring = MeasuringPoint {
                number: 2 * done + turn + 1,
                of: None,
                remaining_s: left_ns as f64 / 1e9 - turn as f64 * self.time_per_run_s(),
                setting: format!("{} ({})", LETTERS[side], self.plan.settings[side].words),
            };
            let at_s = self.prepared.session.clock.now().since_ns(first) as f64 / 1e9;
            let Some(outcome) = self.measure(side, &measuring)? else {
                return Ok(None);
            };
            self.engines[side] = outcome.engine;
            let flushes = [self.cache_flush_s, outcome.cache_flush_s]
                .into_iter()
                .flatten();
            self.cache_flush_s = flushes.reduce(f64::max);
            let failed = outcome.failed.clone().or_else(|| {
                let is_empty = outcome.rate_bytes_per_s <= 0.0;
                is_empty.then(|| "no request completed in its time".to_owned())
            });
            (self.observer)(SweepEvent::Measured(MeasuredPoint {
                measuring,
                rate_bytes_per_s: outcome.rate_bytes_per_s,
                failed: failed.clone(),
            }));
            if let Some(why) = failed {
                return Ok(Some(Err(format!("a run of {}: {why}", LETTERS[side]))));
            }
            runs[side] = Some(TrialRun {
                side: SIDES[side],
                at_s,
                rate_bytes_per_s: outcome.rate_bytes_per_s,
                cpu_seconds_per_gb: outcome.cpu_seconds_per_gb,
                latency_p99_9_ns: outcome.tail.p99_9_ns(),
                latency_max_ns: outcome.tail.max_ns(),
            });
        }
        let [Some(a), Some(b)] = runs else {
            return Ok(None);
        };
        Ok(Some(Ok([a, b])))
    }

    fn time_per_run_s(&self) -> f64 {
        self.plan.time_per_run_ns as f64 / 1e9
    }

    /// Makes a run of one side; none if it did not run to its end.
    fn measure(
        &mut self,
        side: usize,
        measuring: &MeasuringPoint,
    ) -> Result<Option<PointOutcome>, MeasureError> {
        self.make_ready(side)?;
        let session = self.prepared.session;
        let like = self.prepared.setup(self.threads[side]);
        let time_ns = self.plan.time_per_run_ns;
        let setup = self.orders.setup(side, session, time_ns, &like);
        let moment = |live| SweepEvent::Live(measuring.clone(), live);
        let mut report = of_phase(self.observer, moment);
        let phase = run_point(&mut self.prepared, &setup, &mut report)?;
        if self.prepared.stop.reason().is_some() {
            return Ok(None);
        }
        let setting = &self.orders.settings[side];
        Ok(Some(outcome_of(setting, &setup, session, &phase)))
    }

    /// Looks at the pairs so far: a difference shows, or there is none that matters.
    fn look(&mut self, pairs: &[Pair]) -> Option<TrialEnd> {
        let standing = of_rates(pairs)?;
        if let Some(ends) = standing.interval() {
            self.note(comparison_words::after_pairs(
                pairs.len(),
                standing.mean.exp(),
                ends,
            ));
        }
        match (standing.is_shown(), standing.is_within(self.plan.alike)) {
            _ if pairs.len() < PAIRS_MIN => None,
            (true, _) => Some(TrialEnd::Shown),
            (false, true) => Some(TrialEnd::Alike),
            (false, false) => None,
        }
    }
}

/// The order AB BA BA AB and so on, after Thue and Morse: a drift that is even, or that bends
/// evenly, affects both sides alike.
fn order_of(pair: usize) -> [usize; 2] {
    if pair.count_ones().is_multiple_of(2) {
        [0, 1]
    } else {
        [1, 0]
    }
}

/// Names the direction and the targets.
fn words(direction: Direction, targets: &[ComparedTarget]) -> String {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    format!("{} {}", direction.name(), names.join(", "))
}

fn of_limit(slower_by_max: f64, pairs: &[Pair]) -> CompareLimit {
    let watched = LimitedFigures {
        name: "together",
        interval: of_rates(pairs).and_then(|standing| standing.interval()),
        how: "too few pairs of runs",
    };
    limit::judge(slower_by_max, &[watched], Vec::new())
}

fn in_time(pairs: &[Pair]) -> Vec<TrialRun> {
    let mut runs: Vec<TrialRun> = pairs.iter().flatten().cloned().collect();
    runs.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    runs
}
