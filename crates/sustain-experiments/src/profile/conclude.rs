//! Makes the result document from the visits. Pure.

use sustain_disk::target::Direction;
use sustain_document::profile::SharedLimitKind;
use sustain_document::profile::{OutlierKind, TogetherShape};
use sustain_document::profile::{
    PROFILE_SCHEMA, ProfileHeld, ProfilePlanUsed, ProfilePoint, ProfileResult, ProfileTarget,
    ProfileTogether, ProfileZone, SharedLimit, TogetherPoint, TogetherZone,
};
use sustain_document::system::System;
use sustain_document::vocabulary::ExperimentEnd;
use sustain_document::vocabulary::TargetKind;
use sustain_statistics::median;
use sustain_targets::others_words;

use super::failure::FailedPlace;
use super::fit::{Fit, Flag, fit};
use super::lasting_rate::Lowering;
use super::noise::drift;
use super::outliers::{ShownPlace, outliers};
use super::profile_words;
use super::profiled::{Profiled, ProfiledPosition};
use super::sample::{SampledCurve, in_place_bytes};
use super::together::{Shared, Spot, least_loss, shared};
use super::unseen::{SampledPlaces, closer, longest_unseen};
use crate::figures::time_of_day;
use crate::others::others_unseen;

/// A change between the passes that is smaller than this is not mentioned.
const DRIFT_SAID: f64 = 0.05;

impl Profiled<'_> {
    /// The document for the visits so far.
    pub(super) fn result(&self, is_interrupted: bool, system: System) -> ProfileResult {
        let fits: Vec<Fit> = (0..self.curves.len())
            .map(|curve| fit(&self.places(curve).1))
            .collect();
        // Only what lasts is promised.
        let lasting: Vec<Fit> = (0..self.curves.len())
            .map(|curve| self.lowering(curve, &fits[curve]).of_fit(&fits[curve]))
            .collect();
        let alone = |curve: &usize| self.curves[*curve].is_alone();
        let all = || 0..self.curves.len();
        ProfileResult {
            schema: PROFILE_SCHEMA.to_owned(),
            plan: self.plan_used(),
            host: self.host.clone(),
            targets: all()
                .filter(alone)
                .map(|curve| self.target(curve, &fits[curve], &lasting[curve]))
                .collect(),
            together: all()
                .filter(|curve| !alone(curve))
                .map(|curve| self.together(curve, &fits, &lasting))
                .collect(),
            notes: others_words(&system.others)
                .into_iter()
                .chain(others_unseen(&self.host))
                .chain(self.notes(is_interrupted))
                .collect(),
            ended: if is_interrupted {
                ExperimentEnd::Interrupted
            } else {
                ExperimentEnd::Done
            },
            system,
        }
    }

    fn plan_used(&self) -> ProfilePlanUsed {
        let plan = self.plan;
        ProfilePlanUsed {
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: plan.arguments.clone(),
            started: (!self.is_simulated).then(|| time_of_day(self.started_unix_s)),
            targets: plan.load.targets.clone(),
            target_names: self.facts.iter().map(|facts| facts.name.clone()).collect(),
            record_size_bytes: plan.load.record_bytes,
            depth: plan.load.depth,
            engine: plan.load.engine,
            engine_used: self.engine_used.clone(),
            path: plan.load.path,
            budget_s: plan.budget_ns as f64 / 1e9,
            elapsed_s: self.elapsed_s,
            sample_s: self.sample_ns as f64 / 1e9,
            threads: self.threads,
            size_bytes: plan.load.size_bytes,
            seed: plan.load.seed,
            simulated: self.is_simulated,
        }
    }

    fn lowering(&self, number: usize, fit: &Fit) -> Lowering {
        let runs = self.held.iter().filter(|run| run.curve == number);
        Lowering::of(runs, fit.noise)
    }

    /// The runs without a break of a curve.
    fn held(&self, number: usize, fit: &Fit) -> Vec<ProfileHeld> {
        let runs = self.held.iter().filter(|run| run.curve == number);
        let shown = runs.map(|run| ProfileHeld {
            from: run.from,
            elapsed_s: run.elapsed_s,
            promised_rate_bytes_per_s: run.promised,
            held_rate_bytes_per_s: run.held,
            is_short: run.is_short(fit.noise),
        });
        shown.collect()
    }

    /// The longest stretch that no sample of a curve has touched; `None` if there was no sample.
    fn unseen_bytes(&self, number: usize) -> Option<u64> {
        let curve = &self.curves[number];
        let size_bytes = self.facts[curve.members[0]].size_bytes;
        let visited = |one: &&ProfiledPosition| !one.readings[number].is_empty();
        self.positions.iter().find(visited)?;
        let seen = self.positions.iter().filter(visited).map(|one| {
            let start = curve.offset_bytes(0, one.position, size_bytes);
            start + in_place_bytes(curve, 0)..start + curve.sample_bytes[0]
        });
        Some(longest_unseen(seen, size_bytes))
    }

    /// How the samples of a target lie, for the advice on how to look closer.
    fn sampled(&self, number: usize, unseen_bytes: u64) -> SampledPlaces {
        let curve = &self.curves[number];
        SampledPlaces {
            size_bytes: self.facts[curve.members[0]].size_bytes,
            sample_bytes: curve.sample_bytes[0],
            visit_ns: self.visit_ns,
            samples_ns: self.curves.iter().map(|one| one.expected_ns).sum(),
            curves: self.curves.len(),
            unseen_bytes,
        }
    }

    /// `fit` is that of the samples; `lasting` has the rates that last.
    fn target(&self, number: usize, fit: &Fit, lasting: &Fit) -> ProfileTarget {
        let curve = &self.curves[number];
        let facts = &self.facts[curve.members[0]];
        let bytes = |part: f64| (part * facts.size_bytes as f64).round() as u64;
        let unseen_bytes = self.unseen_bytes(number);
        let zones = lasting.zones.iter().map(|zone| ProfileZone {
            from_byte: bytes(zone.from),
            to_byte: bytes(zone.to),
            rate_bytes_per_s: zone.rate,
            points: zone.places,
        });
        let points = self.points(number, fit);
        let failures = self.failures.iter();
        let errors = failures
            .filter(|one| one.target == curve.members[0] && one.direction == curve.direction)
            .map(FailedPlace::words);
        let mut target = ProfileTarget {
            name: facts.name.clone(),
            kind: facts.kind,
            size_bytes: facts.size_bytes,
            direction: curve.direction,
            shape: fit.shape,
            verdict: Vec::new(),
            mean_rate_bytes_per_s: lasting.mean_rate(),
            outer_rate_bytes_per_s: lasting.outer_rate(),
            inner_rate_bytes_per_s: lasting.slowest_zone().map(|zone| zone.rate),
            fall: lasting.fall(),
            noise: fit.noise.max(fit.value_noise),
            resolution: fit.resolution,
            zones: zones.collect(),
            outliers: outliers(&points, fit, lasting, facts.size_bytes),
            points: points.into_iter().map(|shown| shown.point).collect(),
            errors: errors.collect(),
            unseen_bytes_max: unseen_bytes,
            closer: unseen_bytes.and_then(|bytes| closer(self.plan, &self.sampled(number, bytes))),
            held: self.held(number, fit),
        };
        target.verdict = profile_words::of_target(&target, fit.shape, fit.can_distinguish_spots);
        target
    }

    /// Everything that was visited, including what failed.
    fn points(&self, number: usize, fit: &Fit) -> Vec<ShownPlace> {
        let curve = &self.curves[number];
        let size_bytes = self.facts[curve.members[0]].size_bytes;
        let mut places = 0..fit.flags.len();
        let mut points = Vec::new();
        for one in &self.positions {
            let rates: Vec<f64> = one.readings[number].iter().map(|rates| rates[0]).collect();
            let place = if rates.is_empty() {
                None
            } else {
                places.next()
            };
            let mut flag = place.and_then(|place| fit.flags[place]).map(Flag::kind);
            if one.failed[number] {
                flag = Some(OutlierKind::Error);
            } else if rates.is_empty() {
                continue;
            }
            let point = ProfilePoint {
                offset_bytes: curve.offset_bytes(0, one.position, size_bytes),
                bytes: curve.sample_bytes[0],
                rates_bytes_per_s: rates,
                rate_bytes_per_s: place.and_then(|place| fit.values[place]),
                flag,
            };
            points.push(ShownPlace { point, place });
        }
        points
    }

    /// The limit is looked for in the rates that last; the points are as measured.
    fn together(&self, number: usize, fits: &[Fit], lasting: &[Fit]) -> ProfileTogether {
        let curve = &self.curves[number];
        let alone: Vec<usize> = curve
            .members
            .iter()
            .filter_map(|target| {
                let is_of = |other: &SampledCurve| {
                    other.members == [*target] && other.direction == curve.direction
                };
                self.curves.iter().position(is_of)
            })
            .collect();
        let points = self.together_points(number, &alone, fits);
        let points: Vec<TogetherPoint> = points.into_iter().map(|(point, _)| point).collect();
        let lowering = self.lowering(number, &fits[number]);
        let spots: Vec<Spot> = self
            .together_points(number, &alone, lasting)
            .iter()
            .filter_map(|(point, best_alone)| {
                let sums = point.sums_bytes_per_s.iter();
                Some(Spot {
                    best_alone: *best_alone,
                    position: point.position,
                    sums: sums.map(|sum| lowering.lowered(*sum)).collect(),
                    alone: point.alone_bytes_per_s?,
                })
            })
            .collect();
        // The noise of one target is independent of that of the others.
        let squares = alone.iter().map(|one| fits[*one].value_noise.powi(2));
        let squares = squares.sum::<f64>();
        let alone_noise = squares.sqrt() / alone.len().max(1) as f64;
        let found = shared(&spots, alone_noise);
        let fit = &lasting[number];
        let held = self.held(number, &fits[number]);
        let name = |target: &usize| self.facts[*target].name.clone();
        let zones = fit.zones.iter().map(|zone| TogetherZone {
            from: zone.from,
            to: zone.to,
            rate_bytes_per_s: zone.rate,
        });
        let best_alone = alone.iter().filter_map(|one| lasting[*one].outer_rate());
        ProfileTogether {
            direction: curve.direction,
            targets: curve.members.iter().map(name).collect(),
            shape: match &found {
                None => TogetherShape::Unknown,
                Some(None) => TogetherShape::Free,
                Some(Some(limit)) => match limit.kind {
                    SharedLimitKind::Limit => TogetherShape::Limit,
                    SharedLimitKind::Collapse => TogetherShape::Collapse,
                },
            },
            verdict: profile_words::of_together(
                &found,
                fit,
                &spots,
                best_alone.fold(0.0, f64::max),
                least_loss(alone_noise),
                alone.iter().any(|one| !fits[*one].bad_spots.is_empty())
                    || !fits[number].bad_spots.is_empty(),
                &held,
            ),
            held,
            mean_rate_bytes_per_s: fit.mean_rate(),
            outer_rate_bytes_per_s: fit.outer_rate(),
            inner_rate_bytes_per_s: fit.slowest_zone().map(|zone| zone.rate),
            noise: fit.noise,
            shared_limit: found.as_ref().and_then(Option::as_ref).map(limit),
            zones: zones.collect(),
            points,
        }
    }

    /// What was measured of all at once, and the rate of the fastest of them alone there.
    fn together_points(
        &self,
        number: usize,
        alone: &[usize],
        fits: &[Fit],
    ) -> Vec<(TogetherPoint, f64)> {
        let mut values: Vec<_> = alone.iter().map(|one| fits[*one].values.iter()).collect();
        let mut points = Vec::new();
        for one in &self.positions {
            // The fit of each curve has an entry for every position that the curve visited.
            let of_each: Vec<Option<f64>> = alone
                .iter()
                .zip(&mut values)
                .map(|(curve, values)| {
                    let is_visited = !one.readings[*curve].is_empty();
                    is_visited
                        .then(|| values.next().copied().flatten())
                        .flatten()
                })
                .collect();
            let visits = &one.readings[number];
            if visits.is_empty() {
                continue;
            }
            let middle = |member: usize| {
                let rates = visits.iter().map(|rates| rates[member]);
                median(&rates.collect::<Vec<f64>>())
            };
            let best_alone = of_each.iter().flatten().copied().fold(0.0, f64::max);
            let point = TogetherPoint {
                position: self.part(number, one.position).0,
                sums_bytes_per_s: visits.iter().map(|rates| rates.iter().sum()).collect(),
                rates_bytes_per_s: (0..alone.len()).map(middle).collect(),
                alone_bytes_per_s: of_each.into_iter().sum(),
            };
            points.push((point, best_alone));
        }
        points
    }

    fn notes(&self, is_interrupted: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let visits_twice =
            |one: &ProfiledPosition| one.readings.iter().any(|visits| visits.len() >= 2);
        let twice = self
            .positions
            .iter()
            .filter(|one| visits_twice(one))
            .count();
        if twice == 0 && !self.positions.is_empty() {
            notes.push(profile_words::OF_ONE_VISIT.to_owned());
        } else if self.is_cut_short && !is_interrupted && twice < self.positions.len() {
            notes.push(profile_words::of_cut_short(twice, self.positions.len()));
        }
        notes.extend(self.note_on_trials(is_interrupted));
        for (number, curve) in self.curves.iter().enumerate() {
            let facts = &self.facts[curve.members[0]];
            let visits: Vec<Vec<f64>> = self
                .places(number)
                .1
                .into_iter()
                .map(|one| one.visits)
                .collect();
            if let Some(drift) = drift(&visits).filter(|_| curve.is_alone())
                && (drift - 1.0).abs() > DRIFT_SAID
            {
                notes.push(profile_words::of_drift(&facts.name, drift, curve.direction));
            }
        }
        for facts in &self.facts {
            if matches!(facts.kind, TargetKind::File | TargetKind::ScratchFile) {
                notes.push(profile_words::of_file(&facts.name));
            }
        }
        let writes = self
            .curves
            .iter()
            .any(|curve| curve.direction == Direction::Write);
        if writes {
            notes.push(profile_words::OF_WRITTEN.to_owned());
        }
        notes
    }
}

impl Profiled<'_> {
    /// Where the rates were not tried, though others were, and why.
    fn untried(&self) -> Vec<String> {
        let mut whose: Vec<String> = Vec::new();
        for (number, why) in &self.untried {
            let curve = &self.curves[*number];
            let name = curve
                .is_alone()
                .then(|| &*self.facts[curve.members[0]].name);
            let words = profile_words::of_untried(curve.direction, name, *why);
            if !whose.contains(&words) {
                whose.push(words);
            }
        }
        whose
    }

    /// How long the rates were tried, and what that would not have shown.
    fn note_on_trials(&self, is_interrupted: bool) -> Option<String> {
        let shortest = self.held.iter().map(|run| run.elapsed_s).reduce(f64::min);
        match shortest {
            Some(shortest_s) => {
                let untried = profile_words::of_all_untried(
                    &self.untried(),
                    self.untried.len(),
                    self.untried.len() + self.held.len(),
                );
                Some(profile_words::of_trials(shortest_s, &untried))
            }
            None if is_interrupted || self.positions.is_empty() => None,
            None => Some(profile_words::of_no_trial()),
        }
    }
}

fn limit(shared: &Shared) -> SharedLimit {
    SharedLimit {
        kind: shared.kind,
        rate_bytes_per_s: shared.rate,
        binds_until: shared.until,
        loss: shared.loss,
    }
}
