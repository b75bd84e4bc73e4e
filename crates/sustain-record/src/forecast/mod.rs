//! Forecasts, from a profile of the members, when a store will be full and where its members become
//! too slow for the sources. The views of a recording ask it while the recording goes on; it has no
//! side effects.
//!
//! The slots of a store lie at known places of its members, and the profile has the rate of each
//! place. The forecast fills the members as the recorder does: each in proportion to its free
//! space, as far as it is fast enough, and otherwise as fast as it is. With parity a group has one
//! append on each of its members, so those that are faster than most give no more than others do.

mod curve;
mod space;

use sustain_disk::target::TargetKind;
use sustain_disk::units::Size;
use sustain_document::profile::{ProfileResult, ProfileTarget, ProfileTogether};
use sustain_document::setting::WRITE;
use sustain_document::vocabulary::Direction;

use self::curve::Curve;
pub use self::space::SpaceUse;
use crate::recorder::{MemberStanding, MemberState, RecordingProgress};

/// The number of steps in which the free space is filled.
const STEPS: u32 = 200;
/// Members fall short if they deliver less than this part of the rate that is offered.
const ENOUGH: f64 = 0.99;

/// The known rates of a store's members.
#[derive(Debug, Clone)]
pub struct Forecast {
    members: Vec<Known>,
    /// The rates of all members at once, if they were measured, by the part of each, 0 to 1.
    together: Option<Curve>,
    /// The record size of the profile, which goes on to the last whole record.
    record_bytes: u64,
}

/// A member that is to be recorded on.
#[derive(Debug, Clone, Copy)]
pub struct ForecastMember<'a> {
    /// Its name as typed.
    pub name: &'a str,
    /// Its capacity; none where nothing is there yet.
    pub capacity_bytes: Option<u64>,
}

/// The known rates of a member.
#[derive(Debug, Clone)]
struct Known {
    /// Its name in the store.
    name: String,
    size_bytes: u64,
    zones: Curve,
    /// The zones with their bad spots.
    places: Curve,
}

/// The forecast at one moment of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coming {
    /// The time until the store is full.
    pub full_in_s: f64,
    /// The place from which on the members are slower than the sources, if there is one.
    pub short: Option<Shortfall>,
}

/// The place where members fall short, and their lowest rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shortfall {
    /// The time until it is reached.
    pub in_s: f64,
    /// Data of the sources that is recorded before.
    pub after_bytes: f64,
    /// The lowest rate at which all members together take data from there on.
    pub least_bytes_per_s: f64,
    /// The part of the free space that is left there, 0 to 1.
    pub part_left: f64,
}

/// The part of a member that was not profiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unprofiled {
    /// The member.
    pub member: String,
    /// Where its profile ends.
    pub profiled_bytes: u64,
    /// Where its last slot ends.
    pub slots_end_bytes: u64,
}

/// A member while it is filled.
struct Left<'a> {
    known: &'a Known,
    at_byte: f64,
    bytes: f64,
}

impl Forecast {
    /// The forecast from a profile of these members that was written. `is_same` tells whether two
    /// names mean the same thing.
    ///
    /// # Errors
    /// The error names a member that the profile does not have, or has with another size.
    pub fn new(
        profile: &ProfileResult,
        members: &[ForecastMember<'_>],
        is_same: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Forecast, String> {
        let is_written =
            |one: &&ProfileTarget| one.direction == Direction::Write && !one.zones.is_empty();
        let (mut known, mut found_names) = (Vec::new(), Vec::new());
        for member in members {
            let targets = || profile.targets.iter().filter(is_written);
            let by_name = targets().find(|one| one.name == member.name);
            let found = by_name.or_else(|| targets().find(|one| is_same(&one.name, member.name)));
            let found = found.ok_or_else(|| lacks(member.name, members))?;
            check_size(profile, found, member)?;
            found_names.push(found.name.as_str());
            known.push(Known::of(member.name, found));
        }
        let is_all = |one: &&ProfileTogether| {
            one.direction == Direction::Write
                && !one.zones.is_empty()
                && one.targets.len() == members.len()
                && found_names
                    .iter()
                    .all(|name| one.targets.iter().any(|target| target == name))
        };
        let together = profile.together.iter().find(is_all).map(|one| {
            let zones = one.zones.iter();
            Curve::new(zones.map(|zone| (zone.to, zone.rate_bytes_per_s)))
        });
        Ok(Forecast {
            members: known,
            together,
            record_bytes: profile.plan.record_size_bytes,
        })
    }

    /// The members whose slots go on behind what was profiled. There the forecast assumes the rate
    /// of the last zone.
    #[must_use]
    pub fn unprofiled(&self, standing: &RecordingProgress) -> Vec<Unprofiled> {
        let beyond = standing.members.iter().filter_map(|member| {
            let known = self.known(&member.name)?;
            let is_beyond = member.slots_end_bytes > known.size_bytes + self.record_bytes;
            is_beyond.then(|| Unprofiled {
                member: member.name.clone(),
                profiled_bytes: known.size_bytes,
                slots_end_bytes: member.slots_end_bytes,
            })
        });
        beyond.collect()
    }

    /// The forecast if the sources offer this rate and each byte takes this much space; none where
    /// the members are a ring, or where their free space is not known.
    #[must_use]
    pub fn coming(
        &self,
        standing: &RecordingProgress,
        in_rate: f64,
        space_per_byte: f64,
    ) -> Option<Coming> {
        let mut left = self.left(standing)?;
        let parities = standing.parities_now();
        let all_bytes: f64 = left.iter().map(|one| one.bytes).sum();
        if in_rate <= 0.0 || all_bytes <= 0.0 {
            return None;
        }
        let step_bytes = all_bytes / f64::from(STEPS);
        let mut coming = Coming {
            full_in_s: 0.0,
            short: None,
        };
        let mut done_bytes = 0.0;
        // The end of a member ends a step, too.
        for _ in 0..STEPS as usize + left.len() {
            let left_bytes = all_bytes - done_bytes;
            let rates = capped(self.rates(&left, step_bytes.min(left_bytes)), parities);
            let given: f64 = rates.iter().sum();
            if left_bytes < 1.0 || given <= 0.0 {
                break;
            }
            let takes_bytes_per_s = given / space_per_byte;
            if takes_bytes_per_s < ENOUGH * in_rate {
                let found = coming.short.get_or_insert(Shortfall {
                    in_s: coming.full_in_s,
                    after_bytes: done_bytes / space_per_byte,
                    least_bytes_per_s: takes_bytes_per_s,
                    part_left: left_bytes / all_bytes,
                });
                found.least_bytes_per_s = found.least_bytes_per_s.min(takes_bytes_per_s);
            }
            let taken = given.min(in_rate * space_per_byte);
            let passed_s = fill(&mut left, &rates, taken, step_bytes / taken);
            done_bytes += taken * passed_s;
            coming.full_in_s += passed_s;
        }
        Some(coming)
    }

    /// The free space of the members that still take data, as far as it is of use.
    fn left(&self, standing: &RecordingProgress) -> Option<Vec<Left<'_>>> {
        let members = standing.members.iter();
        let active = members.filter(|member| member.state == MemberState::Active);
        let left = active.map(|member: &MemberStanding| {
            let free_bytes = member.free_bytes?;
            Some(Left {
                known: self.known(&member.name)?,
                at_byte: member.slots_end_bytes.saturating_sub(free_bytes) as f64,
                bytes: free_bytes as f64,
            })
        });
        let mut left = left.collect::<Option<Vec<Left<'_>>>>()?;
        let free_bytes = left.iter().map(|one| one.bytes).collect();
        let usable_bytes = capped(free_bytes, standing.parities_now());
        for (one, bytes) in left.iter_mut().zip(usable_bytes) {
            one.bytes = bytes;
        }
        Some(left)
    }

    /// The rate of each member for the next so many bytes of all members.
    fn rates(&self, left: &[Left<'_>], bytes: f64) -> Vec<f64> {
        let left_bytes: f64 = left.iter().map(|one| one.bytes).sum();
        let part = if left_bytes > 0.0 {
            bytes / left_bytes
        } else {
            0.0
        };
        let at_once = self.at_once(left);
        let rates = left.iter().map(|one| match one.bytes {
            0.0 => 0.0,
            bytes => {
                let places = &one.known.places;
                at_once * places.mean_rate(one.at_byte, one.at_byte + part * bytes)
            }
        });
        rates.collect()
    }

    /// The rate of all members at once, as a part of the sum of their rates alone.
    fn at_once(&self, left: &[Left<'_>]) -> f64 {
        let is_all = left.len() == self.members.len() && left.iter().all(|one| one.bytes > 0.0);
        let Some(together) = self.together.as_ref().filter(|_| is_all) else {
            return 1.0;
        };
        let parts = left
            .iter()
            .map(|one| one.at_byte / one.known.size_bytes.max(1) as f64);
        let place = parts.sum::<f64>() / left.len() as f64;
        let alone = left
            .iter()
            .map(|one| one.known.zones.rate_at(place * one.known.size_bytes as f64));
        together.rate_at(place) / alone.sum::<f64>()
    }

    /// The rates of a member. The member of a store in a directory has a longer name than the
    /// directory that was profiled.
    fn known(&self, member: &str) -> Option<&Known> {
        let mut known = self.members.iter();
        known.find(|one| {
            let rest = member.strip_prefix(one.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// What members give where a group has one append on each of some of them, so many of which are
/// parity: none gives more than the one that only so many others are above.
fn capped(of_members: Vec<f64>, parities: usize) -> Vec<f64> {
    let mut most_first = of_members.clone();
    most_first.sort_by(|one, other| other.total_cmp(one));
    let most = most_first.get(parities).copied().unwrap_or(0.0);
    of_members.into_iter().map(|one| one.min(most)).collect()
}

fn lacks(name: &str, members: &[ForecastMember<'_>]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name).collect();
    format!(
        "it has no writing profile of {name}: make a profile of all members {}",
        way_to_profile(&names.join(" "))
    )
}

/// The advice to make a profile, which writes all over its targets.
fn way_to_profile(names: &str) -> String {
    format!(
        "before creating a store on them, which it would destroy: sustain profile {names} {}",
        WRITE.flag()
    )
}

/// Checks that a profile of a whole device is of a device of the same size.
fn check_size(
    profile: &ProfileResult,
    found: &ProfileTarget,
    member: &ForecastMember<'_>,
) -> Result<(), String> {
    let is_device = found.kind == TargetKind::BlockDevice;
    let is_whole = is_device && profile.plan.size_bytes.is_none();
    let Some(capacity_bytes) = member.capacity_bytes.filter(|_| is_whole) else {
        return Ok(());
    };
    if capacity_bytes.abs_diff(found.size_bytes) < profile.plan.record_size_bytes {
        return Ok(());
    }
    Err(format!(
        "it covers {} of {}, which has {} now, so it is of another device: make a profile {}",
        Size(found.size_bytes),
        member.name,
        Size(capacity_bytes),
        way_to_profile(member.name)
    ))
}

impl Known {
    fn of(name: &str, found: &ProfileTarget) -> Known {
        let zones = found.zones.iter();
        let zones = Curve::new(zones.map(|zone| (zone.to_byte as f64, zone.rate_bytes_per_s)));
        let lasting = found.bad_spots().filter_map(|spot| {
            let rate = spot.mean_rate_bytes_per_s?;
            Some((spot.from_byte as f64, spot.to_byte as f64, rate))
        });
        Known {
            name: name.to_owned(),
            size_bytes: found.size_bytes,
            places: zones.with_spots(lasting),
            zones,
        }
    }
}

/// Fills members for at most this time, or until the first of them is full, and returns the time.
/// Each takes data in proportion to its free space, so that they become full together; data that is
/// too much for one goes to the others.
fn fill(left: &mut [Left<'_>], rates: &[f64], taken: f64, at_most_s: f64) -> f64 {
    let left_bytes: f64 = left.iter().map(|one| one.bytes).sum();
    let given: f64 = rates.iter().sum();
    let even: Vec<f64> = left
        .iter()
        .zip(rates)
        .map(|(one, rate)| rate.min(taken * one.bytes / left_bytes))
        .collect();
    let even_sum: f64 = even.iter().sum();
    let (rest, spare) = (taken - even_sum, given - even_sum);
    // If nothing is spare, each member is as fast as it can be.
    let part = if spare > 0.0 { rest / spare } else { 0.0 };
    let shares: Vec<f64> = even
        .iter()
        .zip(rates)
        .map(|(even, rate)| even + part * (rate - even))
        .collect();
    let until_full = left.iter().zip(&shares).filter(|(_, share)| **share > 0.0);
    let passed_s = until_full
        .map(|(one, share)| one.bytes / share)
        .fold(at_most_s, f64::min);
    for (one, share) in left.iter_mut().zip(&shares) {
        let bytes = (share * passed_s).min(one.bytes);
        one.at_byte += bytes;
        one.bytes -= bytes;
        if one.bytes < 1.0 {
            one.bytes = 0.0;
        }
    }
    passed_s
}

#[cfg(test)]
mod tests;
