//! Watches the groups that use the members' disks, and limits them as the controller decides.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sustain_document::hold_back::{HeldGroup, HoldBackResult, LimitEnd};
use sustain_host::{ControlGroups, DeviceNumber, GroupBytes, GroupLimits, Roots};

use crate::allotment::{Claim, allotments};
use crate::controller::{Controller, Observation};
use crate::error::HoldBackError;
use crate::journal::{self, Journal, JournalEntry};
use crate::limiter::{LimitChange, Limiter, Put};
use crate::supervisor::{Supervisor, SupervisorCommand};

/// New groups are looked for this often.
const SEARCH_EVERY_NS: u64 = 1_000_000_000;
/// The weight of the newest second fraction in a group's rate. The kernel accounts in steps of
/// 100 ms, so that one look alone may see nothing, or twice as much.
const NEWEST_WEIGHT: f64 = 0.4;
/// A limit is set anew when it falls by this part, or rises by the next one. Each new limit makes
/// the kernel's accounting begin again, which lets some more through.
const FALL_PART: f64 = 0.03;
const RISE_PART: f64 = 0.08;

/// What is to be held back, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldBackSetup {
    /// The disks of the recording's members, by kernel name and number, whole disks only.
    pub devices: Vec<(String, DeviceNumber)>,
    /// The backlog at which the recorder is content: enough to tell that the disk is short, and far
    /// from a loss.
    pub target_bytes: u64,
}

/// Holds others back as long as it lives.
#[derive(Debug)]
pub struct HoldBack {
    groups: ControlGroups,
    devices: BTreeMap<DeviceNumber, String>,
    controller: Controller,
    /// By group and disk.
    watched: BTreeMap<(PathBuf, DeviceNumber), Watched>,
    journal: Journal,
    supervisor: Supervisor,
    looked_ns: Option<u64>,
    searched_ns: Option<u64>,
    held_ns: u64,
    /// Bytes of all others while a limit was in force.
    others_bytes: f64,
    is_over: bool,
}

/// A group and a disk that it uses.
#[derive(Debug, Default)]
struct Watched {
    first: GroupBytes,
    last: GroupBytes,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    /// What was there before, once a limit was set.
    original: Option<GroupLimits>,
    /// What is set now.
    set: Option<GroupLimits>,
    least: GroupLimits,
    ended: Option<LimitEnd>,
    refused: Option<String>,
}

impl HoldBack {
    /// Puts back what earlier recorders left, and starts to watch. The supervisor is started here;
    /// no limit is set yet.
    ///
    /// # Errors
    /// [`HoldBackError`] if nobody can be held back, or not safely.
    pub fn start(
        setup: &HoldBackSetup,
        supervisor: &SupervisorCommand,
        roots: &Roots,
    ) -> Result<HoldBack, HoldBackError> {
        HoldBack::start_in(&journal::directory()?, setup, supervisor, roots)
    }

    fn start_in(
        directory: &Path,
        setup: &HoldBackSetup,
        supervisor: &SupervisorCommand,
        roots: &Roots,
    ) -> Result<HoldBack, HoldBackError> {
        let groups = usable_groups(setup, roots)?;
        journal::put_back_leftovers(directory, &groups)?;
        let journal = Journal::create(directory)?;
        let supervisor = Supervisor::start(supervisor, journal.path()).inspect_err(|_| {
            // Nothing is in it yet.
            let _ = journal.remove();
        })?;
        Ok(HoldBack {
            groups,
            devices: devices(setup),
            controller: Controller::new(setup.target_bytes),
            watched: BTreeMap::new(),
            journal,
            supervisor,
            looked_ns: None,
            searched_ns: None,
            held_ns: 0,
            others_bytes: 0.0,
            is_over: false,
        })
    }

    /// What would be watched now, and nothing else.
    ///
    /// # Errors
    /// [`HoldBackError`] if nobody can be held back.
    pub fn rehearse(setup: &HoldBackSetup, roots: &Roots) -> Result<HoldBackResult, HoldBackError> {
        let groups = usable_groups(setup, roots)?;
        let devices = devices(setup);
        let mut found = Vec::new();
        for (group, device, _) in users(&groups, &devices)? {
            let watched = Watched::default();
            found.push(watched.result(&group, &devices[&device]));
        }
        Ok(HoldBackResult {
            own_group: Some(name_of(groups.own())),
            groups: found,
            ..HoldBackResult::default()
        })
    }

    /// The process that puts limits back if this one is killed.
    #[must_use]
    pub fn supervisor_process(&self) -> u32 {
        self.supervisor.process()
    }

    /// The recorder's own group. Whoever is in it is not held back.
    #[must_use]
    pub fn own_group(&self) -> String {
        name_of(self.groups.own())
    }

    /// Looks at the groups, and sets their limits by what waits for the members now. To be called
    /// about ten times a second, with the time of a clock that never goes back.
    pub fn step(&mut self, now_ns: u64, backlog_bytes: u64) {
        let elapsed_ns = self.look(now_ns);
        let others_bytes_per_s = self.rate();
        let allowance = self.controller.decide(Observation {
            now_ns,
            backlog_bytes: backlog_bytes as f64,
            others_bytes_per_s,
        });
        if self.watched.values().any(|watched| watched.set.is_some()) {
            self.held_ns += elapsed_ns;
        }
        match allowance {
            Some(allowance) => self.limit(allowance),
            None => self.put_back(),
        }
    }

    /// Puts all limits back, and tells what was done.
    #[must_use]
    pub fn finish(mut self) -> HoldBackResult {
        self.end();
        let watched = self.watched.iter();
        let is_used =
            |watched: &&Watched| watched.first != watched.last || watched.original.is_some();
        let groups = watched.filter(|(_, watched)| is_used(watched));
        let held_s = self.held_ns as f64 / 1e9;
        HoldBackResult {
            refused: None,
            own_group: Some(self.own_group()),
            held_s,
            others_bytes_per_s: (held_s > 0.0).then(|| self.others_bytes / held_s),
            groups: groups
                .map(|((group, device), watched)| watched.result(group, &self.devices[device]))
                .collect(),
        }
    }

    /// Reads what the groups have used since the last time. Returns how long that is.
    fn look(&mut self, now_ns: u64) -> u64 {
        let is_due = |searched_ns| now_ns - searched_ns >= SEARCH_EVERY_NS;
        if self.searched_ns.is_none_or(is_due) {
            self.searched_ns = Some(now_ns);
            self.search();
        }
        let elapsed_ns = self.looked_ns.map_or(0, |looked_ns| now_ns - looked_ns);
        self.looked_ns = Some(now_ns);
        let is_held = self.watched.values().any(|watched| watched.set.is_some());
        let mut used = BTreeMap::new();
        for (group, _) in self.watched.keys() {
            if !used.contains_key(group) {
                // A group that cannot be read has used nothing that is known.
                used.insert(group.clone(), self.groups.used(group).unwrap_or_default());
            }
        }
        for ((group, device), watched) in &mut self.watched {
            let now = used[group].iter().find(|(known, _)| known == device);
            if let Some((_, now)) = now {
                let bytes = watched.look(*now, elapsed_ns as f64 / 1e9);
                if is_held {
                    self.others_bytes += bytes as f64;
                }
            }
        }
        elapsed_ns
    }

    /// Looks for groups that have begun to use a disk.
    fn search(&mut self) {
        for (group, device, bytes) in users(&self.groups, &self.devices).unwrap_or_default() {
            self.watched
                .entry((group, device))
                .or_insert_with(|| Watched {
                    first: bytes,
                    last: bytes,
                    ..Watched::default()
                });
        }
    }

    /// What all others that can be held back use together.
    fn rate(&self) -> f64 {
        let can_be_held = self
            .watched
            .values()
            .filter(|watched| watched.can_be_held());
        can_be_held
            .map(|watched| watched.read_bytes_per_s + watched.write_bytes_per_s)
            .sum()
    }

    /// Divides an allowance among all that can be held.
    fn limit(&mut self, allowance_bytes_per_s: f64) {
        let held: Vec<(PathBuf, DeviceNumber)> = self
            .watched
            .iter()
            .filter(|(_, watched)| watched.can_be_held() && watched.has_claims())
            .map(|(key, _)| key.clone())
            .collect();
        let claims: Vec<Claim> = held
            .iter()
            .flat_map(|key| self.watched[key].claims())
            .collect();
        let given = allotments(&claims, allowance_bytes_per_s);
        for (key, given) in held.into_iter().zip(given.chunks_exact(2)) {
            let limits = GroupLimits {
                read_bytes_per_s: Some(given[0] as u64),
                write_bytes_per_s: Some(given[1] as u64),
            };
            self.tighten(&key, limits);
        }
    }

    /// Sets limits of a group, no looser than those it had, if they differ enough from what is set.
    fn tighten(&mut self, key: &(PathBuf, DeviceNumber), limits: GroupLimits) {
        let (group, device) = key;
        let Some(watched) = self.watched.get_mut(key) else {
            return;
        };
        let original = match watched.original {
            Some(original) => original,
            None => match self.groups.limits(group, *device) {
                Ok(Some(original)) => original,
                Ok(None) => return watched.end(LimitEnd::Removed),
                Err(error) => {
                    watched.refused = Some(error.to_string());
                    return watched.end(LimitEnd::Refused);
                }
            },
        };
        let limits = tighter(original, limits);
        let now = watched.set.unwrap_or(original);
        if watched.set.is_some() && !is_worth_setting(now, limits) {
            return;
        }
        watched.original = Some(original);
        let entry = JournalEntry {
            group: group.clone(),
            device: *device,
            original: original.into(),
            set: [now.into(), limits.into()],
        };
        if let Err(error) = self.journal.put(entry) {
            // What could not be put back after a crash is not set.
            watched.refused = Some(format!("{}: {error}", self.journal.path().display()));
            return watched.end(LimitEnd::Refused);
        }
        let put = Limiter::new(&self.groups).put(&LimitChange {
            group,
            device: *device,
            limits,
            original,
            expected: &[now],
        });
        match put {
            Put::Set => {
                watched.set = Some(limits);
                watched.least = tighter(watched.least, limits);
            }
            Put::Refused(why) => {
                watched.refused = Some(why);
                watched.end(LimitEnd::Refused);
            }
            Put::TakenOver => watched.end(LimitEnd::TakenOver),
            Put::Removed => watched.end(LimitEnd::Removed),
        }
        if watched.ended.is_some() {
            // It stays there if the journal cannot be written; whoever reads it finds a limit that
            // is not what was set.
            let _ = self.journal.forget(group, *device);
        }
    }

    /// Puts back every limit that is set.
    fn put_back(&mut self) {
        for ((group, device), watched) in &mut self.watched {
            let (Some(set), Some(original)) = (watched.set.take(), watched.original) else {
                continue;
            };
            let put = Limiter::new(&self.groups).put(&LimitChange {
                group,
                device: *device,
                limits: original,
                original,
                expected: &[set],
            });
            match put {
                Put::Set => {}
                Put::Refused(why) => {
                    watched.refused = Some(why);
                    watched.end(LimitEnd::Refused);
                    // The supervisor tries again.
                    continue;
                }
                Put::TakenOver => watched.end(LimitEnd::TakenOver),
                Put::Removed => watched.end(LimitEnd::Removed),
            }
            let _ = self.journal.forget(group, *device);
        }
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.put_back();
        let is_left = |watched: &Watched| watched.ended == Some(LimitEnd::Refused);
        if !self.watched.values().any(is_left) {
            let _ = self.journal.remove();
        }
    }
}

impl Drop for HoldBack {
    fn drop(&mut self) {
        self.end();
    }
}

impl Watched {
    fn can_be_held(&self) -> bool {
        self.ended.is_none()
    }

    /// Takes in what was used by now. Returns what was used since the last time.
    fn look(&mut self, now: GroupBytes, elapsed_s: f64) -> u64 {
        let read_bytes = now.read_bytes.saturating_sub(self.last.read_bytes);
        let write_bytes = now.write_bytes.saturating_sub(self.last.write_bytes);
        self.last = now;
        if elapsed_s > 0.0 {
            let newer = |rate: &mut f64, bytes: u64| {
                *rate += NEWEST_WEIGHT * (bytes as f64 / elapsed_s - *rate);
                if *rate < 1.0 {
                    *rate = 0.0;
                }
            };
            newer(&mut self.read_bytes_per_s, read_bytes);
            newer(&mut self.write_bytes_per_s, write_bytes);
        }
        read_bytes + write_bytes
    }

    /// Whether it uses its disk, or has a limit that says how much it may.
    fn has_claims(&self) -> bool {
        self.set.is_some() || self.read_bytes_per_s + self.write_bytes_per_s > 0.0
    }

    fn claims(&self) -> [Claim; 2] {
        let limit = |of: fn(GroupLimits) -> Option<u64>| {
            let limit = self.set.and_then(of)?;
            Some(limit as f64)
        };
        [
            Claim {
                used_bytes_per_s: self.read_bytes_per_s,
                limit_bytes_per_s: limit(|limits| limits.read_bytes_per_s),
            },
            Claim {
                used_bytes_per_s: self.write_bytes_per_s,
                limit_bytes_per_s: limit(|limits| limits.write_bytes_per_s),
            },
        ]
    }

    fn end(&mut self, ended: LimitEnd) {
        self.ended = Some(ended);
        self.set = None;
    }

    fn result(&self, group: &Path, device: &str) -> HeldGroup {
        let was_limited = self.least != GroupLimits::default();
        let ended = self.ended.unwrap_or(if was_limited {
            LimitEnd::Restored
        } else {
            LimitEnd::NotNeeded
        });
        HeldGroup {
            name: name_of(group),
            device: device.to_owned(),
            // A group that was removed and made again begins at nothing.
            read_bytes: self.last.read_bytes.saturating_sub(self.first.read_bytes),
            write_bytes: self.last.write_bytes.saturating_sub(self.first.write_bytes),
            least_read_bytes_per_s: self.least.read_bytes_per_s,
            least_write_bytes_per_s: self.least.write_bytes_per_s,
            ended,
            refused: self.refused.clone(),
        }
    }
}

fn usable_groups(setup: &HoldBackSetup, roots: &Roots) -> Result<ControlGroups, HoldBackError> {
    if setup.devices.is_empty() {
        return Err(HoldBackError::NoDisk);
    }
    let groups = ControlGroups::find(roots)?.ok_or(HoldBackError::NoControlGroups)?;
    if groups.beside()?.is_empty() {
        return Err(HoldBackError::NobodyBeside {
            own: Path::new("/").join(groups.own()),
        });
    }
    Ok(groups)
}

fn devices(setup: &HoldBackSetup) -> BTreeMap<DeviceNumber, String> {
    let devices = setup.devices.iter();
    devices
        .map(|(name, number)| (*number, name.clone()))
        .collect()
}

/// The groups that have used one of these disks, with what they have used of it.
fn users(
    groups: &ControlGroups,
    devices: &BTreeMap<DeviceNumber, String>,
) -> Result<Vec<(PathBuf, DeviceNumber, GroupBytes)>, HoldBackError> {
    let mut found = Vec::new();
    for group in groups.beside()? {
        for (device, bytes) in groups.used(&group)? {
            if devices.contains_key(&device) && bytes != GroupBytes::default() {
                found.push((group.clone(), device, bytes));
            }
        }
    }
    Ok(found)
}

/// A group's name as users know it, from the root.
fn name_of(group: &Path) -> String {
    Path::new("/").join(group).display().to_string()
}

/// The lower of two limits, each of reads and of writes.
fn tighter(one: GroupLimits, other: GroupLimits) -> GroupLimits {
    let lower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
    GroupLimits {
        read_bytes_per_s: lower(one.read_bytes_per_s, other.read_bytes_per_s),
        write_bytes_per_s: lower(one.write_bytes_per_s, other.write_bytes_per_s),
    }
}

/// Whether a limit differs enough from the one that is set.
fn is_worth_setting(now: GroupLimits, next: GroupLimits) -> bool {
    let differs = |now: Option<u64>, next: Option<u64>| match (now, next) {
        (Some(now), Some(next)) => {
            let (now, next) = (now as f64, next as f64);
            next < now * (1.0 - FALL_PART) || next > now * (1.0 + RISE_PART)
        }
        (now, next) => now != next,
    };
    differs(now.read_bytes_per_s, next.read_bytes_per_s)
        || differs(now.write_bytes_per_s, next.write_bytes_per_s)
}

#[cfg(test)]
mod tests;
