//! Compares what was found with what can be known, and adds up over many machines.

use super::oracle::{self, Visible};
use super::{Bench, Machine};
use sustain_statistics::walls::{Findings, SearchBasis, find};

/// Least headroom of a wall that must be found.
pub fn required(noise: f64) -> f64 {
    (4.0 * noise).max(0.04)
}

/// Sums over machines.
#[derive(Clone, Debug, Default)]
pub struct Score {
    pub machines: usize,
    pub exact: usize,
    pub required: usize,
    pub hit: usize,
    pub reported: usize,
    pub right: usize,
    pub capacity_errors: Vec<f64>,
    pub readings_per_disk: f64,
    pub readings_per_n_log_n: f64,
    pub worst_n_log_n: f64,
    pub disks: usize,
}

impl Score {
    pub fn recall(&self) -> f64 {
        self.hit as f64 / self.required.max(1) as f64
    }

    pub fn precision(&self) -> f64 {
        if self.reported == 0 {
            1.0
        } else {
            self.right as f64 / self.reported as f64
        }
    }

    /// The error that this part of the capacities stays within.
    pub fn capacity_error(&self, part: f64) -> f64 {
        let mut errors = self.capacity_errors.clone();
        errors.sort_by(f64::total_cmp);
        let place = (part * errors.len() as f64) as usize;
        errors
            .get(place.min(errors.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    }

    pub fn add(&mut self, other: &Self) {
        self.machines += other.machines;
        self.exact += other.exact;
        self.required += other.required;
        self.hit += other.hit;
        self.reported += other.reported;
        self.right += other.right;
        self.capacity_errors.extend(&other.capacity_errors);
        self.readings_per_disk += other.readings_per_disk;
        self.readings_per_n_log_n += other.readings_per_n_log_n;
        self.worst_n_log_n = self.worst_n_log_n.max(other.worst_n_log_n);
        self.disks += other.disks;
    }
}

/// Diagnoses one machine.
pub fn diagnose(bench: &mut Bench<'_>, order_known: bool, prior: f64) -> Findings {
    let setting = SearchBasis {
        targets: bench.machine.rates.len(),
        order: order_known.then(|| bench.machine.order.clone()),
        noise: prior,
        dummy: bench.dummy > 0.0,
    };
    find(&setting, bench)
}

/// One machine's part.
pub fn judge(machine: &Machine, findings: &Findings, noise: f64) -> Score {
    let visible = oracle::visible(machine);
    let same = |one: &Visible| {
        findings
            .walls
            .iter()
            .find(|wall| wall.members == one.wall.members)
    };
    let count = machine.rates.len() as f64;
    let mut score = Score {
        machines: 1,
        disks: machine.rates.len(),
        reported: findings.walls.len(),
        readings_per_disk: findings.measurements.len() as f64 / count,
        readings_per_n_log_n: findings.measurements.len() as f64 / (count * count.log2()),
        ..Score::default()
    };
    score.worst_n_log_n = score.readings_per_n_log_n;
    for one in &visible {
        if one.headroom > required(noise) {
            score.required += 1;
            score.hit += usize::from(same(one).is_some());
        }
        if let Some(wall) = same(one) {
            score.right += 1;
            let limit = one.wall.limit_bytes_per_s;
            score
                .capacity_errors
                .push((wall.limit_bytes_per_s / limit - 1.0).abs());
        }
    }
    score.exact = usize::from(score.hit == score.required && score.right == score.reported);
    score
}
