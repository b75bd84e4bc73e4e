//! Makes the result document from the findings: names for numbers, words for kinds, where each wall
//! sits, and what to do. Pure; the run calls it once at the end.

use sustain_document::diagnose::SearchEnd;
use sustain_document::diagnose::{
    Advice, Alone, DIAGNOSE_SCHEMA, DiagnosePlanUsed, DiagnoseResult, Drift, Dropped, Fall,
    LimitLeft, Measurement, NoWall, Order, Prediction, Share, Together, UnexplainedLoss, Wall,
    Weakest,
};
use sustain_document::vocabulary::LayoutKind;
use sustain_statistics::walls::{self, Model, SumLimit, WallKind, WallState};
use sustain_targets::others_words;

use super::basis::{explained, is_doubted, rates_alone};
use super::chain::chain;
use super::diagnosed::Diagnosed;
use super::diagnosis_words;
use super::explain::Explanation;
use super::fall;
use super::member_limits;
use super::paused_rates::paused_rates;
use super::remarks;
use super::revolutions::lost_revolutions;
use super::suggestion::{KnownWall, SuggestedLayout, Suggestion};
use super::sums::sums;
use crate::figures::time_of_day;
use crate::others::others_unseen;

/// A share below this part of the fair one counts as clearly below it.
const BELOW_FAIR: f64 = 0.9;

/// The document of a diagnosis.
pub(super) fn conclude(diagnosed: Diagnosed<'_>) -> DiagnoseResult {
    let findings = &diagnosed.findings;
    let mut walls: Vec<Wall> = findings
        .walls
        .iter()
        .map(|wall| diagnosed.wall(wall))
        .collect();
    walls.sort_by_key(|wall| std::cmp::Reverse(wall.members.len()));
    let alone = diagnosed.alone();
    let mut measurements = diagnosed.measurements();
    let record_bytes = diagnosed.plan.load.record_bytes;
    for wall in &mut walls {
        wall.lost_revolutions = lost_revolutions(wall, &alone, &measurements, record_bytes);
    }
    member_limits::decide(&mut measurements, &alone, &walls, findings.noise);
    DiagnoseResult {
        schema: DIAGNOSE_SCHEMA.to_owned(),
        plan: diagnosed.plan_used(),
        order: diagnosed.order(),
        alone,
        together: findings.together.as_ref().map(|together| Together {
            rate_bytes_per_s: together.sum_bytes_per_s,
            share_of_sum: together.sum_bytes_per_s / together.sum_alone_bytes_per_s,
        }),
        no_wall: diagnosed.no_wall(),
        unexplained: findings.unexplained.as_ref().map(|loss| UnexplainedLoss {
            members: diagnosed.names_unless_all(&loss.members),
            expected_bytes_per_s: loss.expected_bytes_per_s,
            measured_bytes_per_s: loss.measured_bytes_per_s,
        }),
        chain: chain(&diagnosed.ways.ways, &measurements, &walls),
        walls,
        runs: Some(diagnosed.runs as u64),
        measurements,
        memory_copy: diagnosed.memory_copy.clone(),
        pauses: paused_rates(&diagnosed),
        advice: diagnosed.advice(),
        drift: Drift {
            anchors: findings.drift.anchors,
            largest_change: findings.drift.largest,
            significant: findings.drift.significant,
            alone_repeated: findings.drift.alone_repeated,
        },
        noise: findings.noise,
        dropped: diagnosed.dropped(),
        notes: diagnosed.notes(),
        ended: diagnosed.ended(),
        host: diagnosed.host,
        system: diagnosed.system,
    }
}

impl Diagnosed<'_> {
    fn plan_used(&self) -> DiagnosePlanUsed {
        let plan = self.plan;
        let simulated = self.session.clock.is_virtual();
        let (engine_used, engine_why) = self.engine.clone().unwrap_or_else(|| {
            let asked = plan.load.engine.name().to_owned();
            (asked, "nothing was measured".to_owned())
        });
        DiagnosePlanUsed {
            sustain_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: plan.arguments.clone(),
            started: (!simulated).then(|| time_of_day(self.started_unix_s)),
            targets: plan.load.targets.clone(),
            direction: self.session.direction,
            time_per_run_s: plan.time_per_run_ns as f64 / 1e9,
            engine_used,
            engine_why,
            threads: self.threads,
            record_size_bytes: plan.load.record_bytes,
            depth: plan.load.depth,
            path: plan.load.path,
            size_bytes: plan.load.size_bytes,
            seed: plan.load.seed,
            simulated,
        }
    }

    fn order(&self) -> Order {
        let typed: Vec<usize> = (0..self.targets).collect();
        let order = self.ways.order.as_ref().unwrap_or(&typed);
        let ways = order.iter().map(|target| self.ways.ways[*target].clone());
        Order {
            known: self.ways.order.is_some(),
            names: self.names(order),
            ways: ways.collect(),
        }
    }

    fn alone(&self) -> Vec<Alone> {
        let rates = self.findings.alone.iter().enumerate();
        let alone = |(target, rate): (usize, &Option<f64>)| Alone {
            target: self.name(target),
            rate_bytes_per_s: *rate,
        };
        rates.map(alone).collect()
    }

    /// All limits at once, for rates that are shared evenly.
    fn model(&self) -> Model {
        let limits = self.findings.walls.iter().map(|wall| SumLimit {
            members: wall.members.clone(),
            limit_bytes_per_s: wall
                .at_full_load_bytes_per_s
                .unwrap_or(wall.limit_bytes_per_s),
        });
        Model {
            alone_bytes_per_s: rates_alone(&self.findings),
            walls: limits.collect(),
        }
    }

    fn wall(&self, wall: &walls::FoundWall) -> Wall {
        let (mut explained_by, mut not_explained) = (None, None);
        let (mut hop, mut share_of_hop) = (None, None);
        if wall.kind == WallKind::Tool {
            explained_by = Some(diagnosis_words::OF_THE_TOOL.to_owned());
        } else {
            match explained(wall, &self.findings.dropped, &self.ways) {
                Explanation::Hop {
                    hop: found,
                    share_of_hop: share,
                    cause,
                } => {
                    explained_by = Some(diagnosis_words::hop(&found.name, &cause));
                    hop = Some(found);
                    share_of_hop = share;
                }
                Explanation::None(why) => {
                    not_explained = Some(diagnosis_words::not_explained(&why));
                }
            }
        }
        let doubted = is_doubted(wall, &self.findings);
        let state = match wall.state {
            WallState::Confirmed if doubted => WallState::MembersUncertain,
            state => state,
        };
        let shares = self.shares(wall);
        let repeats: Vec<bool> = wall
            .shares
            .iter()
            .filter_map(|share| share.repeats)
            .collect();
        Wall {
            members: self.names(&wall.members),
            limit_bytes_per_s: wall.limit_bytes_per_s,
            deviation_bytes_per_s: wall.deviation_bytes_per_s,
            kind: wall.kind,
            explained_by,
            not_explained,
            hop,
            share_of_hop,
            confidence: if doubted {
                wall.confidence.min(walls::CONFIDENCE_IN_DOUBT)
            } else {
                wall.confidence
            },
            state,
            headroom: wall.headroom,
            weakest: Some(Weakest {
                target: wall.weakest.member.map(|target| self.name(target)),
                members: self.names(&wall.weakest.subset),
                margin_sd: wall.weakest.margin,
            }),
            prediction: wall.prediction.as_ref().map(|prediction| Prediction {
                members: self.names(&prediction.members),
                predicted_bytes_per_s: prediction.predicted_bytes_per_s,
                measured_bytes_per_s: prediction.measured_bytes_per_s,
            }),
            at_full_load_bytes_per_s: wall.at_full_load_bytes_per_s,
            fall: self.fall(wall),
            lost_revolutions: None,
            missed_revolutions: wall.missed_revolutions
                && (doubted || wall.kind == WallKind::Collapse || !are_fair(&shares)),
            shares,
            shares_repeat: (!repeats.is_empty()).then(|| repeats.iter().all(|repeats| *repeats)),
        }
    }

    fn fall(&self, wall: &walls::FoundWall) -> Option<Fall> {
        let is_collapse = wall.kind == WallKind::Collapse;
        let found = fall::largest(&wall.members, &sums(&self.findings));
        found.filter(|_| is_collapse).map(|fall| Fall {
            members: self.names(&fall.members),
            rate_bytes_per_s: fall.sum,
            fewer: self.names(&fall.fewer),
            fewer_bytes_per_s: fall.fewer_sum,
        })
    }

    fn shares(&self, wall: &walls::FoundWall) -> Vec<Share> {
        let fair = self.model().predict_rates(&wall.members);
        let fair_of = |target: usize| {
            let position = wall.members.iter().position(|member| *member == target);
            position.map_or(0.0, |position| fair[position])
        };
        let shares = wall.shares.iter();
        let share = |share: &walls::MemberShare| {
            let fair_bytes_per_s = fair_of(share.member);
            Share {
                target: self.name(share.member),
                rate_bytes_per_s: share.rate_bytes_per_s,
                fair_bytes_per_s,
                below_fair: share.rate_bytes_per_s < fair_bytes_per_s * BELOW_FAIR,
            }
        };
        shares.map(share).collect()
    }

    fn no_wall(&self) -> Option<NoWall> {
        let findings = &self.findings;
        let says_something = findings.complete && findings.too_noisy.is_none();
        let together = findings.together.as_ref()?;
        let is_none = findings.walls.is_empty() && says_something;
        is_none.then_some(NoWall {
            largest_hidden_loss_bytes_per_s: findings.resolution * together.sum_alone_bytes_per_s,
            none_below_share: 1.0 - findings.resolution,
        })
    }

    fn measurements(&self) -> Vec<Measurement> {
        let findings = &self.findings;
        let counts = findings.measurements.iter().filter(|measurement| {
            let mut members = measurement.members.iter();
            !measurement.failed && members.all(|member| !findings.dropped.contains(member))
        });
        counts
            .map(|measurement| self.measurement(measurement))
            .collect()
    }

    fn measurement(&self, measurement: &walls::MeasuredSubset) -> Measurement {
        let members = measurement.members.len();
        let (rates, dummy) = measurement.rates_bytes_per_s.split_at(members);
        Measurement {
            members: self.names(&measurement.members),
            rates_bytes_per_s: rates.to_vec(),
            sum_bytes_per_s: measurement.sum_bytes_per_s,
            predicted_bytes_per_s: measurement.predicted_bytes_per_s,
            step: diagnosis_words::step(measurement.step).to_owned(),
            dummy_bytes_per_s: dummy.first().copied(),
            limited_by: Vec::new(),
            is_as_predicted: None,
        }
    }

    fn advice(&self) -> Vec<Advice> {
        let advice = self.advice.iter();
        let left = |limit: &KnownWall| LimitLeft {
            place: limit.place.clone(),
            members: self.names(&limit.members),
            limit_bytes_per_s: limit.limit_bytes_per_s,
        };
        let named = |(suggestion, measured): &(Suggestion, Option<f64>)| {
            let (layout, chunk_bytes) = match suggestion.layout {
                SuggestedLayout::Independent => (LayoutKind::Independent, None),
                SuggestedLayout::Stripe { chunk_bytes } => (LayoutKind::Stripe, Some(chunk_bytes)),
                SuggestedLayout::Span => (LayoutKind::Span, None),
            };
            Advice {
                layout,
                chunk_bytes,
                order: self.names(&suggestion.order),
                leave_out: self.names(&suggestion.leave_out),
                move_elsewhere: self.names(&suggestion.move_elsewhere),
                moved_from: suggestion.moved_from.as_ref().map(diagnosis_words::place),
                then_limited_by: suggestion.then_limited_by.iter().map(left).collect(),
                expected_bytes_per_s: suggestion.expected_bytes_per_s,
                is_at_most: suggestion.is_at_most,
                is_at_least: suggestion.is_at_least,
                measured_bytes_per_s: *measured,
                why: diagnosis_words::advice(&suggestion.why),
            }
        };
        advice.map(named).collect()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = others_words(&self.system.others).into_iter().collect();
        notes.extend(others_unseen(&self.host));
        notes.extend(remarks::remarks(self).iter().map(diagnosis_words::remark));
        notes
    }

    fn dropped(&self) -> Vec<Dropped> {
        let dropped = self.findings.dropped.iter();
        let told = |target: &usize| {
            let failure = self.failures.iter().find(|(failed, _)| failed == target);
            Dropped {
                target: self.name(*target),
                message: failure.map_or_else(String::new, |(_, message)| message.clone()),
            }
        };
        dropped.map(told).collect()
    }

    fn ended(&self) -> SearchEnd {
        if self.is_interrupted {
            SearchEnd::Interrupted
        } else if self.findings.too_noisy.is_some() {
            SearchEnd::TooNoisy
        } else {
            SearchEnd::Done
        }
    }
}

/// Whether each target gets an even share, within a few percent. If so, shares that are whole
/// fractions of the rates alone mean nothing: two equal disks at half their sum have them as well.
fn are_fair(shares: &[Share]) -> bool {
    const NEAR: f64 = 0.05;
    shares.iter().all(|share| {
        let (rate, fair) = (share.rate_bytes_per_s, share.fair_bytes_per_s);
        (rate - fair).abs() <= NEAR * fair
    })
}
