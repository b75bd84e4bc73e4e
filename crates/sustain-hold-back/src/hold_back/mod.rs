//! Watches the groups that use the members' disks, and limits them as the controller decides.

mod groups;
mod watched;

use std::collections::BTreeMap;
use std::path::PathBuf;

use sustain_document::hold_back::{HoldBackResult, LimitEnd};
use sustain_host::{ControlGroups, DeviceNumber, GroupBytes, GroupLimits, Roots};

use self::groups::{devices, name_of, usable_groups, users};
use self::watched::{Watched, is_worth_setting, tighter};
use crate::allotment::{Claim, allotments};
use crate::controller::{Controller, Observation};
use crate::error::HoldBackError;
use crate::journal::{self, DiskClaims, Journal, JournalEntry};
use crate::limiter::{LimitChange, Limiter, Put};
use crate::supervisor::{Supervisor, SupervisorCommand};

/// New groups are looked for this often.
const SEARCH_EVERY_NS: u64 = 1_000_000_000;

/// What is to be held back, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldBackSetup {
    /// The disks of the recording's members, by kernel name and number, whole disks only.
    pub devices: Vec<(String, DeviceNumber)>,
    /// The backlog at which the recorder is content: enough to tell that the disk is short, and far
    /// from a loss.
    pub target_bytes: u64,
    /// Where what is set is written down: a directory that only this user may write to, and that
    /// the next boot empties.
    pub directory: PathBuf,
}

/// A group, and a disk that it uses.
type WatchedKey = (PathBuf, DeviceNumber);

/// What groups have used of each disk.
type UsedByGroups = BTreeMap<PathBuf, Vec<(DeviceNumber, GroupBytes)>>;

/// Holds others back as long as it lives.
#[derive(Debug)]
pub struct HoldBack {
    groups: ControlGroups,
    devices: BTreeMap<DeviceNumber, String>,
    controller: Controller,
    watched: BTreeMap<WatchedKey, Watched>,
    /// The groups of other recorders.
    recorders: Vec<PathBuf>,
    journal: Journal,
    supervisor: Supervisor,
    _claims: DiskClaims,
    roots: Roots,
    looked_ns: Option<u64>,
    searched_ns: Option<u64>,
    held_ns: u64,
    /// Bytes of all others while a limit was in force.
    others_bytes: f64,
    is_over: bool,
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
        let groups = usable_groups(setup, roots)?;
        let claims = DiskClaims::take(&setup.directory, devices(setup).into_keys())?;
        journal::put_back_leftovers(&setup.directory, &groups)?;
        let journal = Journal::create(&setup.directory)?;
        let supervisor = Supervisor::start(supervisor, journal.path()).inspect_err(|_| {
            // Nothing is in it yet.
            let _ = journal.remove();
        })?;
        Ok(HoldBack {
            groups,
            devices: devices(setup),
            controller: Controller::new(setup.target_bytes),
            watched: BTreeMap::new(),
            recorders: Vec::new(),
            journal,
            supervisor,
            _claims: claims,
            roots: roots.clone(),
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

    /// Spares the groups that these processes are in, which are recorders as this one is.
    pub fn spare(&mut self, processes: &[u32]) {
        let groups = processes.iter();
        let groups = groups.filter_map(|process| self.groups.group_of(*process, &self.roots));
        self.recorders = groups.collect();
        self.spare_found();
    }

    /// Spares those groups with recorders that use the disks.
    fn spare_found(&mut self) {
        let found: Vec<_> = self.watched.keys().cloned().collect();
        for key in found {
            let holds_one = self.recorders.iter().any(|of| of.starts_with(&key.0));
            if holds_one && self.watched[&key].can_be_held() {
                self.put_back_one(&key);
                // A limit that could not be put back stays written down, and is tried again.
                if let Some(watched) = self.watched.get_mut(&key)
                    && watched.set.is_none()
                {
                    watched.end(LimitEnd::Spared);
                }
            }
        }
    }

    /// Looks at the groups, and sets their limits by what waits for the members now. To be called
    /// about ten times a second, with the time of a clock that never goes back.
    pub fn step(&mut self, now_ns: u64, backlog_bytes: u64) {
        let elapsed_ns = self.look(now_ns);
        // Of those that have just begun to use a disk, too, before they get a limit.
        self.spare_found();
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
        let mut used = UsedByGroups::new();
        for (group, _) in self.watched.keys() {
            if !used.contains_key(group) {
                // A group that cannot be read has used nothing that is known.
                used.insert(group.clone(), self.groups.used(group).unwrap_or_default());
            }
        }
        self.begin_again_with_remade(&used);
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

    /// Begins again with groups that were removed and made again under the same name. A service
    /// that is restarted between two searches loses its limit with its group.
    fn begin_again_with_remade(&mut self, used: &UsedByGroups) {
        let is_remade = |(key, watched): &(&WatchedKey, &Watched)| {
            let (group, device) = key;
            let used = used[group].iter().find(|(known, _)| known == device);
            watched.can_be_held() && self.is_remade(key, watched, used.map(|(_, bytes)| *bytes))
        };
        let remade = self.watched.iter().filter(is_remade);
        let remade: Vec<WatchedKey> = remade.map(|(key, _)| key.clone()).collect();
        for key in remade {
            self.forget(&key, LimitEnd::Removed);
            let node = self.groups.node(&key.0);
            if let Some(watched) = self.watched.get_mut(&key) {
                watched.begin_again(node, GroupBytes::default());
            }
        }
    }

    /// Whether the group that has this name now is not the one that is watched. The kernel's number
    /// of a group tells, or else that it has used less than before. Where an account was only set
    /// back, the limit is still the one that was set.
    fn is_remade(&self, key: &WatchedKey, watched: &Watched, used: Option<GroupBytes>) -> bool {
        let (group, device) = key;
        let Some(node) = self.groups.node(group) else {
            return false;
        };
        if watched.node.is_some_and(|known| known != node) {
            return true;
        }
        let has_foreign_limits = || {
            let limits = self.groups.limits(group, *device);
            limits.is_ok_and(|now| now.is_some_and(|now| !watched.may_have_set(now)))
        };
        used.is_some_and(|used| watched.is_less_than_before(used)) && has_foreign_limits()
    }

    /// Looks for groups that have begun to use a disk, and for limited ones that are gone.
    fn search(&mut self) {
        let limited = self.watched.iter().filter(|(_, one)| one.set.is_some());
        let is_gone = |key: &WatchedKey| matches!(self.groups.limits(&key.0, key.1), Ok(None));
        let gone: Vec<_> = limited
            .map(|(key, _)| key.clone())
            .filter(is_gone)
            .collect();
        for key in gone {
            self.forget(&key, LimitEnd::Removed);
        }
        for (group, device, bytes) in users(&self.groups, &self.devices).unwrap_or_default() {
            let node = self.groups.node(&group);
            let fresh = Watched {
                first: bytes,
                last: bytes,
                node,
                ..Watched::default()
            };
            let watched = self.watched.entry((group, device)).or_insert_with(|| fresh);
            // One of the same name was made again.
            if watched.ended == Some(LimitEnd::Removed) {
                watched.begin_again(node, bytes);
            }
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
        let held: Vec<WatchedKey> = self
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
    fn tighten(&mut self, key: &WatchedKey, limits: GroupLimits) {
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
                    return;
                }
            },
        };
        let limits = tighter(original, limits);
        let now = watched.set.unwrap_or(original);
        if limits == now || (watched.set.is_some() && !is_worth_setting(now, limits)) {
            return;
        }
        let entry = JournalEntry {
            group: group.clone(),
            device: *device,
            original: original.into(),
            set: [now.into(), limits.into()],
        };
        if let Err(error) = self.journal.put(entry) {
            // What could not be put back after a crash is not set.
            watched.refused = Some(format!("{}: {error}", self.journal.path().display()));
            return;
        }
        let expected = [now, watched.set_before.unwrap_or(now)];
        let put = Limiter::new(&self.groups).put(&LimitChange {
            group,
            device: *device,
            limits,
            original,
            expected: &expected,
        });
        // Also after a refusal, because one direction may have it.
        watched.original = Some(original);
        watched.set_before = Some(now);
        watched.set = Some(limits);
        match put {
            Put::Set => watched.least = tighter(watched.least, limits),
            Put::Refused(why) => {
                watched.refused = Some(why);
                self.put_back_one(key);
            }
            Put::TakenOver => self.forget(key, LimitEnd::TakenOver),
            Put::Removed => self.forget(key, LimitEnd::Removed),
        }
    }

    /// Leaves a limit that is nobody's any more, or not this recorder's.
    fn forget(&mut self, key: &WatchedKey, ended: LimitEnd) {
        if let Some(watched) = self.watched.get_mut(key) {
            watched.end(ended);
        }
        // If the journal cannot be written it stays there, and whoever reads it finds a limit that
        // is not what was set.
        let _ = self.journal.forget(&key.0, key.1);
    }

    /// Puts back every limit that is set.
    fn put_back(&mut self) {
        let keys: Vec<_> = self.watched.keys().cloned().collect();
        for key in keys {
            self.put_back_one(&key);
        }
    }

    /// Puts back the limits of one. If that is refused it is tried again, last by the supervisor.
    fn put_back_one(&mut self, key: &WatchedKey) {
        let Some(watched) = self.watched.get_mut(key) else {
            return;
        };
        let (Some(set), Some(original)) = (watched.set, watched.original) else {
            return;
        };
        let put = Limiter::new(&self.groups).put(&LimitChange {
            group: &key.0,
            device: key.1,
            limits: original,
            original,
            expected: &[set, watched.set_before.unwrap_or(set)],
        });
        match put {
            Put::Set => {
                watched.set = None;
                watched.set_before = None;
                let _ = self.journal.forget(&key.0, key.1);
            }
            Put::Refused(why) => watched.refused = Some(why),
            Put::TakenOver => self.forget(key, LimitEnd::TakenOver),
            Put::Removed => self.forget(key, LimitEnd::Removed),
        }
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.put_back();
        let is_left = |watched: &Watched| watched.set.is_some();
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

#[cfg(test)]
mod tests;
