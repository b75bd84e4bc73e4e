//! All that a diagnosis has found when it ends: the document and its remarks are made of it.

use std::collections::BTreeMap;

use sustain_document::effect::MemoryCopy;
use sustain_document::host::Host;
use sustain_document::system::System;
use sustain_load::session::Session;
use sustain_statistics::walls::Findings;

use super::plan::DiagnosePlan;
use super::suggestion::Suggestion;
use super::topology_paths::TopologyPaths;

/// Everything that a diagnosis has found.
pub(super) struct Diagnosed<'a> {
    pub(super) plan: &'a DiagnosePlan,
    pub(super) session: &'a Session,
    /// The number of targets, without the dummy.
    pub(super) targets: usize,
    pub(super) ways: TopologyPaths,
    pub(super) findings: Findings,
    pub(super) advice: Vec<(Suggestion, Option<f64>)>,
    pub(super) failures: Vec<(usize, String)>,
    /// Its name, and why it was used.
    pub(super) engine: Option<(String, String)>,
    pub(super) threads: u32,
    pub(super) driver_cpu_share_max: f64,
    /// The longest flush after a run, of each target of which a volatile cache had taken a part.
    pub(super) cache_flushes_s: BTreeMap<usize, f64>,
    /// For each subset, the parts of its readings that are left with pauses included.
    pub(super) parts_with_pauses: BTreeMap<Vec<usize>, Vec<f64>>,
    /// The number of runs, those for repeats and for advice included.
    pub(super) runs: usize,
    /// How fast memory is copied here.
    pub(super) memory_copy: Option<MemoryCopy>,
    pub(super) host: Host,
    pub(super) system: System,
    pub(super) started_unix_s: i64,
    pub(super) is_interrupted: bool,
}

impl Diagnosed<'_> {
    pub(super) fn name(&self, target: usize) -> String {
        self.session.targets[target].target.name.clone()
    }

    pub(super) fn names(&self, targets: &[usize]) -> Vec<String> {
        targets.iter().map(|target| self.name(*target)).collect()
    }

    pub(super) fn names_unless_all(&self, targets: &[usize]) -> Vec<String> {
        let alive = self.targets - self.findings.dropped.len();
        if targets.len() == alive {
            return Vec::new();
        }
        self.names(targets)
    }
}
