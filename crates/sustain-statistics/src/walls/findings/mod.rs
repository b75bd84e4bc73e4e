//! Makes the findings from what was measured: the kind and the state of each wall, the confidence
//! in it, and what is left unexplained. Called by `find`, once, at the end.

pub(in crate::walls) mod kind;
mod lateness;
pub(in crate::walls) mod predict;
pub(in crate::walls) mod reconsider;

use crate::walls::evidence::SearchStop;
use crate::walls::model::common;
use crate::walls::search::{FLAG, LOSS_MIN, WallSearch};
use crate::walls::types::{
    AllTogether, Findings, FoundWall, MemberShare, SearchBasis, TooNoisy, WallKind, WallState,
    WeakestEvidence,
};

/// With more noise than this, a limit cannot be told from chance.
pub(super) const NOISE_MAX: f64 = 0.12;

/// The highest confidence in a wall beside which something is left that no wall explains. On
/// generated machines whose limits cross any order, hardly any such wall was right; in a known
/// order, most were. The same holds where readings of the same targets differ by more than their
/// noise.
pub const CONFIDENCE_IN_DOUBT: f64 = 0.5;
/// More limits than this that cross each other are no explanation: they could explain any readings.
/// On generated machines of 13 to 20 targets, most of such walls were wrong.
const CROSSING_WALLS_MAX: usize = 3;
/// The highest confidence in a wall of such an explanation.
const AMONG_MANY_CROSSING: f64 = 0.5;

/// The highest confidence in a wall that looks like one between disks which miss revolutions. On
/// 160 generated machines of such disks, 17 of 137 walls that were said with 90 % and more had
/// wrong members; now 3 of 86 have.
const MAY_BE_LATENESS: f64 = 0.85;

/// Lowers the confidence in a wall that the readings do not bear out.
fn doubt(wall: &mut FoundWall) {
    wall.confidence = wall.confidence.min(CONFIDENCE_IN_DOUBT);
    if wall.state == WallState::Confirmed {
        wall.state = WallState::MembersUncertain;
    }
}

impl WallSearch<'_> {
    pub(in crate::walls) fn findings(
        self,
        basis: &SearchBasis,
        end: Result<(), SearchStop>,
    ) -> Findings {
        let noise = self.evidence.noise();
        let too_noisy = (noise > NOISE_MAX).then_some(TooNoisy {
            noise,
            noise_max: NOISE_MAX,
        });
        let mut alone = vec![None; basis.targets];
        for position in 0..self.evidence.count() {
            if self.evidence.alone_readings(position) > 0 {
                alone[self.evidence.target(position)] = Some(self.evidence.alone(position));
            }
        }
        let together = self.together(basis.targets);
        // Readings that contradict each other this much prove nothing, whatever was inferred from
        // them before the noise was known.
        let found = match too_noisy {
            Some(_) => 0,
            None => self.known.model.walls.len(),
        };
        let mut walls: Vec<FoundWall> = (0..found).map(|index| self.wall(index)).collect();
        let scatter = self.evidence.scatter().filter(|_| !walls.is_empty());
        if scatter.is_some() {
            walls.iter_mut().for_each(doubt);
        }
        walls.sort_by_key(|wall| (std::cmp::Reverse(wall.members.len()), wall.members[0]));
        let unexplained = (end.is_ok() && too_noisy.is_none())
            .then(|| self.unexplained().or_else(|| self.refuted()))
            .flatten();
        if let Some(unexplained) = &unexplained {
            walls
                .iter_mut()
                .filter(|wall| common(&wall.members, &unexplained.members) > 0)
                .for_each(doubt);
        }
        let is_answered = too_noisy.is_some() || together.is_some() || self.evidence.count() < 2;
        Findings {
            resolution: self.resolution(),
            alone,
            together,
            walls,
            drift: self.anchor.drift.clone(),
            noise,
            scatter,
            too_noisy,
            complete: end.is_ok() && unexplained.is_none() && is_answered,
            unexplained,
            order_known: self.order_known,
            measurements: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn together(&self, targets: usize) -> Option<AllTogether> {
        let all: Vec<usize> = (0..self.evidence.count()).collect();
        let mean = self.evidence.mean(&all)?;
        let mut rates = vec![0.0; targets];
        for (&position, &rate) in all.iter().zip(&mean.rates) {
            rates[self.evidence.target(position)] = rate;
        }
        Some(AllTogether {
            sum_bytes_per_s: mean.sum(),
            sum_alone_bytes_per_s: all.iter().map(|&one| self.evidence.alone(one)).sum(),
            rates_bytes_per_s: rates,
            readings: mean.readings,
        })
    }

    /// The largest part of the sum that could be lost unseen.
    fn resolution(&self) -> f64 {
        let all: Vec<usize> = (0..self.evidence.count()).collect();
        let total = self.known.total(&all, &self.evidence);
        let sum = self.known.predict(&all);
        total.map_or(1.0, |(_, deviation)| (FLAG * deviation / sum).max(LOSS_MIN))
    }

    fn wall(&self, index: usize) -> FoundWall {
        let known = &self.known.model.walls[index];
        let found = &self.found[index];
        let limit = known.limit_bytes_per_s;
        let headroom = self.known.predict_without(&known.members, index) / limit - 1.0;
        let margin = found.margin.min(found.core_score);
        let kind = if self.is_tool(&known.members) {
            WallKind::Tool
        } else if found.falls {
            WallKind::Collapse
        } else {
            WallKind::Limit
        };
        let state = if self.known.model.crosses(index) {
            WallState::Crossing
        } else if kind == WallKind::Collapse {
            WallState::CapacityIsLowerBound
        } else if margin < 3.0 || self.failed(index) || !self.order_known {
            WallState::MembersUncertain
        } else {
            WallState::Confirmed
        };
        FoundWall {
            members: self.evidence.targets(&known.members),
            limit_bytes_per_s: found.peak.unwrap_or(limit),
            deviation_bytes_per_s: self.known.deviations[index],
            kind,
            state,
            confidence: (1.0 - (-margin.powi(2) / 2.0).exp()).min(self.confidence_max(index, kind)),
            headroom,
            weakest: WeakestEvidence {
                member: found.weakest,
                margin,
                subset: self.evidence.targets(&found.subset),
            },
            at_full_load_bytes_per_s: (kind == WallKind::Collapse).then_some(limit),
            missed_revolutions: self.misses_revolutions(&known.members, &found.core),
            prediction: self.prediction(index),
            shares: self.shares(&known.members),
        }
    }

    /// The highest confidence in such a wall, whatever its margins. It is how often walls of its
    /// place and kind were right on generated machines, some of whose readings were disturbed.
    fn confidence_max(&self, index: usize, kind: WallKind) -> f64 {
        let walls = &self.known.model.walls;
        let members = &walls[index].members;
        let is_nested = walls.iter().enumerate().any(|(other, wall)| {
            let shared = common(&wall.members, members);
            other != index && (shared == members.len() || shared == wall.members.len())
        });
        let crossing = (0..walls.len()).filter(|wall| self.known.model.crosses(*wall));
        let by_order = if crossing.count() > CROSSING_WALLS_MAX {
            [AMONG_MANY_CROSSING; 2]
        } else if self.known.model.crosses(index) {
            [0.95, 0.65]
        } else if is_nested {
            [0.97, 0.85]
        } else if kind == WallKind::Collapse {
            [0.95, 0.9]
        } else {
            [0.99, 0.97]
        };
        let may_be_lateness = match kind {
            WallKind::Collapse => self.falls_only_with_all(members),
            WallKind::Limit => self.holds_back_by_turns(members),
            WallKind::Tool => false,
        };
        let most = if may_be_lateness {
            MAY_BE_LATENESS
        } else {
            1.0
        };
        by_order[usize::from(!self.order_known)].min(most)
    }

    /// The rate of each member in the runs of all members.
    fn shares(&self, members: &[usize]) -> Vec<MemberShare> {
        let runs = self.evidence.readings_of(members);
        let Some(mean) = self.evidence.mean(members) else {
            return Vec::new();
        };
        let noise = self.evidence.noise();
        let mut shares: Vec<MemberShare> = Vec::new();
        for (place, &member) in members.iter().enumerate() {
            let rate = mean.rates[place];
            let near = |other: f64| (other - rate).abs() <= (3.5 * noise * rate).max(0.02 * rate);
            let repeats = (runs.len() > 1).then(|| runs.iter().all(|run| near(run.rates[place])));
            shares.push(MemberShare {
                member: self.evidence.target(member),
                rate_bytes_per_s: rate,
                repeats,
            });
        }
        shares.sort_by_key(|share| share.member);
        shares
    }
}
