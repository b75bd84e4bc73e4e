//! Makes the result document from the visits. Pure.

use sustain_disk::target::Direction;
use sustain_session::{System, others_words};

use super::failure::Failure;
use super::fit::{Fit, Flag, fit};
use super::noise::{drift, median};
use super::outliers::{Shown, outliers};
use super::profiled::{Position, Profiled};
use super::result::{
    PROFILE_SCHEMA, ProfilePlanUsed, ProfilePoint, ProfileResult, ProfileTarget, ProfileTogether,
    ProfileZone, SharedLimit, TogetherPoint, TogetherZone,
};
use super::sample::Curve;
use super::together::{Shared, Spot, least_loss, shared};
use super::words;
use crate::conclude::{engine_name, time_of_day};
use crate::plan::direction_name;
use crate::remarks::others_untold;

/// A change between the passes that is smaller than this is not mentioned.
const DRIFT_SAID: f64 = 0.05;

impl Profiled<'_> {
    /// The document for the visits so far.
    pub(super) fn result(&self, is_interrupted: bool, system: System) -> ProfileResult {
        let fits: Vec<Fit> = (0..self.curves.len())
            .map(|curve| fit(&self.places(curve).1))
            .collect();
        let alone = |curve: &usize| self.curves[*curve].is_alone();
        let all = || 0..self.curves.len();
        ProfileResult {
            schema: PROFILE_SCHEMA.to_owned(),
            plan: self.plan_used(),
            host: self.host.clone(),
            targets: all()
                .filter(alone)
                .map(|curve| self.target(curve, &fits[curve]))
                .collect(),
            together: all()
                .filter(|curve| !alone(curve))
                .map(|curve| self.together(curve, &fits))
                .collect(),
            notes: others_words(&system.others)
                .into_iter()
                .chain(others_untold(&self.host))
                .chain(self.notes(is_interrupted))
                .collect(),
            ended: if is_interrupted {
                "interrupted"
            } else {
                "done"
            }
            .to_owned(),
            system,
        }
    }

    fn plan_used(&self) -> ProfilePlanUsed {
        let plan = self.plan;
        ProfilePlanUsed {
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: plan.arguments.clone(),
            started: (!self.is_simulated).then(|| time_of_day(self.started_unix_s)),
            targets: plan.targets.clone(),
            target_names: self.facts.iter().map(|facts| facts.name.clone()).collect(),
            record_size_bytes: plan.record_bytes,
            depth: plan.depth,
            engine: engine_name(plan.engine).to_owned(),
            engine_used: self.engine_used.clone(),
            path: plan.path.name().to_owned(),
            budget_s: plan.budget_ns as f64 / 1e9,
            elapsed_s: self.elapsed_s,
            sample_s: self.sample_ns as f64 / 1e9,
            threads: self.threads,
            size_bytes: plan.size_bytes,
            seed: plan.seed,
            simulated: self.is_simulated,
        }
    }

    fn target(&self, number: usize, fit: &Fit) -> ProfileTarget {
        let curve = &self.curves[number];
        let facts = &self.facts[curve.members[0]];
        let bytes = |part: f64| (part * facts.size_bytes as f64).round() as u64;
        let zones = fit.zones.iter().map(|zone| ProfileZone {
            from_byte: bytes(zone.from),
            to_byte: bytes(zone.to),
            rate_bytes_per_s: zone.rate,
            points: zone.places,
        });
        let points = self.points(number, fit);
        let failures = self.failures.iter();
        let errors = failures
            .filter(|one| one.target == curve.members[0] && one.direction == curve.direction)
            .map(Failure::words);
        let mut target = ProfileTarget {
            name: facts.name.clone(),
            kind: facts.kind.clone(),
            size_bytes: facts.size_bytes,
            direction: direction_name(curve.direction).to_owned(),
            shape: fit.shape.name().to_owned(),
            verdict: Vec::new(),
            mean_rate_bytes_per_s: fit.mean_rate(),
            outer_rate_bytes_per_s: fit.outer_rate(),
            inner_rate_bytes_per_s: fit.slowest_zone().map(|zone| zone.rate),
            fall: fit.fall(),
            noise: fit.noise.max(fit.value_noise),
            resolution: fit.resolution,
            zones: zones.collect(),
            outliers: outliers(&points, fit, facts.size_bytes),
            points: points.into_iter().map(|shown| shown.point).collect(),
            errors: errors.collect(),
        };
        target.verdict = words::of_target(&target, fit.shape, fit.can_tell_spots);
        target
    }

    /// Everything that was visited, including what failed.
    fn points(&self, number: usize, fit: &Fit) -> Vec<Shown> {
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
            let mut flag = place.and_then(|place| fit.flags[place]).map(Flag::name);
            if one.failed[number] {
                flag = Some("error");
            } else if rates.is_empty() {
                continue;
            }
            let point = ProfilePoint {
                offset_bytes: curve.offset_bytes(0, one.position, size_bytes),
                bytes: curve.sample_bytes[0],
                rates_bytes_per_s: rates,
                rate_bytes_per_s: place.and_then(|place| fit.values[place]),
                flag: flag.map(str::to_owned),
            };
            points.push(Shown { point, place });
        }
        points
    }

    fn together(&self, number: usize, fits: &[Fit]) -> ProfileTogether {
        let curve = &self.curves[number];
        let alone: Vec<usize> = curve
            .members
            .iter()
            .filter_map(|target| {
                let is_of = |other: &Curve| {
                    other.members == [*target] && other.direction == curve.direction
                };
                self.curves.iter().position(is_of)
            })
            .collect();
        let points = self.together_points(number, &alone, fits);
        let spots: Vec<Spot> = points
            .iter()
            .filter_map(|point| {
                Some(Spot {
                    position: point.position,
                    sums: point.sums_bytes_per_s.clone(),
                    alone: point.alone_bytes_per_s?,
                })
            })
            .collect();
        // The noise of one target is independent of that of the others.
        let squares = alone.iter().map(|one| fits[*one].value_noise.powi(2));
        let squares = squares.sum::<f64>();
        let alone_noise = squares.sqrt() / alone.len().max(1) as f64;
        let found = shared(&spots, alone_noise);
        let fit = &fits[number];
        let name = |target: &usize| self.facts[*target].name.clone();
        let zones = fit.zones.iter().map(|zone| TogetherZone {
            from: zone.from,
            to: zone.to,
            rate_bytes_per_s: zone.rate,
        });
        let best_alone = alone.iter().filter_map(|one| fits[*one].outer_rate());
        ProfileTogether {
            direction: direction_name(curve.direction).to_owned(),
            targets: curve.members.iter().map(name).collect(),
            shape: match &found {
                None => "unknown",
                Some(None) => "free",
                Some(Some(limit)) => limit.kind.name(),
            }
            .to_owned(),
            verdict: words::of_together(
                &found,
                fit,
                &spots,
                best_alone.fold(0.0, f64::max),
                least_loss(alone_noise),
            ),
            mean_rate_bytes_per_s: fit.mean_rate(),
            outer_rate_bytes_per_s: fit.outer_rate(),
            inner_rate_bytes_per_s: fit.slowest_zone().map(|zone| zone.rate),
            noise: fit.noise,
            shared_limit: found.as_ref().and_then(Option::as_ref).map(limit),
            zones: zones.collect(),
            points,
        }
    }

    fn together_points(&self, number: usize, alone: &[usize], fits: &[Fit]) -> Vec<TogetherPoint> {
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
                median(rates.collect())
            };
            points.push(TogetherPoint {
                position: self.part(number, one.position).0,
                sums_bytes_per_s: visits.iter().map(|rates| rates.iter().sum()).collect(),
                rates_bytes_per_s: (0..alone.len()).map(middle).collect(),
                alone_bytes_per_s: of_each.into_iter().sum(),
            });
        }
        points
    }

    fn notes(&self, is_interrupted: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let visits_twice = |one: &Position| one.readings.iter().any(|visits| visits.len() >= 2);
        let twice = self
            .positions
            .iter()
            .filter(|one| visits_twice(one))
            .count();
        if twice == 0 && !self.positions.is_empty() {
            notes.push(
                "every position was visited only once: a slow one may have been a passing \
                 disturbance"
                    .to_owned(),
            );
        } else if self.is_cut_short && !is_interrupted && twice < self.positions.len() {
            notes.push(format!(
                "the time was over when {twice} of {} positions had been visited twice: a longer \
                 --budget gives all of them their second visit",
                self.positions.len()
            ));
        }
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
                notes.push(words::of_drift(&facts.name, drift));
            }
        }
        for facts in &self.facts {
            if facts.kind.contains("file") {
                notes.push(format!(
                    "{}: positions are those in the file; the file system decides where they are \
                     on the disk",
                    facts.name
                ));
            }
        }
        let writes = self
            .curves
            .iter()
            .any(|curve| curve.direction == Direction::Write);
        if writes {
            notes.push(
                "the time of a written sample includes moving to its position and flushing it to \
                 the disk"
                    .to_owned(),
            );
        }
        notes
    }
}

fn limit(shared: &Shared) -> SharedLimit {
    SharedLimit {
        kind: shared.kind.name().to_owned(),
        rate_bytes_per_s: shared.rate,
        binds_until: shared.until,
        loss: shared.loss,
    }
}
