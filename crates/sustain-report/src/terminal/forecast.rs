//! How long a recording goes on until its store is full, and where its members become too slow for
//! its sources, by a profile of them. Pure; the view of a recording calls it.

use sustain_bench::profile::result::{ProfileResult, ProfileTarget, ProfileTogether};
use sustain_record::recorder::{MemberState, Standing};

use crate::format::{percent, rate, size, stretch};

/// What is left is gone through in so many steps.
const STEPS: u32 = 200;
/// A member that gives less than this part of what is offered falls short.
const ENOUGH: f64 = 0.99;

/// What is known of a store's members.
#[derive(Debug, Clone)]
pub struct Forecast {
    members: Vec<ProfileTarget>,
    /// All of them at once, if that was measured.
    together: Option<ProfileTogether>,
}

/// What comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Coming {
    /// Until the store is full.
    pub(super) full_in_s: f64,
    /// Until the members give less than is offered, if they come to that.
    pub(super) short: Option<Short>,
}

/// Where members fall short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Short {
    in_s: f64,
    after_bytes: f64,
    least_bytes_per_s: f64,
    part_left: f64,
}

impl Forecast {
    /// What a profile says of these members when they are written.
    ///
    /// # Errors
    /// Names the members that it does not know.
    pub fn new(profile: &ProfileResult, members: &[String]) -> Result<Forecast, String> {
        let is_written = |one: &&ProfileTarget| one.direction == "write" && !one.zones.is_empty();
        let mut known = Vec::new();
        for name in members {
            let mut targets = profile.targets.iter().filter(is_written);
            let found = targets.find(|one| one.name == *name).ok_or_else(|| {
                format!(
                    "it has nothing of writing {name}: make one with sustain profile {} --write",
                    members.join(" ")
                )
            })?;
            known.push(found.clone());
        }
        let mut together = profile.together.iter();
        let together = together.find(|one| {
            let is_all = one.targets.len() == members.len();
            one.direction == "write" && is_all && !one.zones.is_empty()
        });
        Ok(Forecast {
            members: known,
            together: together.cloned(),
        })
    }

    /// What comes if the sources offer so much; none where members have no end, or none is known.
    pub(super) fn coming(&self, standing: &Standing, in_rate: f64) -> Option<Coming> {
        let active = || {
            let members = standing.members.iter();
            members.filter(|member| member.state == MemberState::Active)
        };
        let mut left = Vec::new();
        for member in active() {
            let known = self.known(&member.name)?;
            let free = member.free_bytes?.min(known.size_bytes) as f64;
            left.push((known, free, 1.0 - free / known.size_bytes.max(1) as f64));
        }
        let free: f64 = left.iter().map(|(_, free, _)| free).sum();
        if in_rate <= 0.0 || free <= 0.0 {
            return None;
        }
        let step_bytes = free / f64::from(STEPS);
        let (mut time_s, mut short): (f64, Option<Short>) = (0.0, None);
        for step in 0..STEPS {
            let done = (f64::from(step) + 0.5) / f64::from(STEPS);
            let alone = left
                .iter()
                .map(|(known, _, from)| zone_rate(known, from + (1.0 - from) * done))
                .sum::<f64>();
            let at_once = left.first().and_then(|(_, _, from)| {
                let together = self.together.as_ref()?;
                let is_all = left.len() == self.members.len();
                let place = from + (1.0 - from) * done;
                is_all.then(|| sum_rate(together, place))
            });
            let given = at_once.unwrap_or(alone);
            if given < ENOUGH * in_rate {
                let found = short.get_or_insert(Short {
                    in_s: time_s,
                    after_bytes: step_bytes * f64::from(step),
                    least_bytes_per_s: given,
                    part_left: 1.0 - f64::from(step) / f64::from(STEPS),
                });
                found.least_bytes_per_s = found.least_bytes_per_s.min(given);
            }
            time_s += step_bytes / given.min(in_rate).max(1.0);
        }
        Some(Coming {
            full_in_s: time_s,
            short,
        })
    }

    /// A store made in a directory has a member of a longer name.
    fn known(&self, member: &str) -> Option<&ProfileTarget> {
        let mut known = self.members.iter();
        known.find(|one| {
            let rest = member.strip_prefix(one.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

impl Short {
    /// The warning.
    pub(super) fn words(&self, in_rate: f64) -> String {
        let when = if self.after_bytes <= 0.0 {
            "now".to_owned()
        } else {
            format!(
                "after {} more, in {}",
                size(self.after_bytes as u64),
                stretch(self.in_s)
            )
        };
        format!(
            "warning: by the profile the members give less than the {} that is offered {when}, on \
             {} of the room that is left: down to {}. The buffer fills then; offer less, add a \
             member, or end before",
            rate(in_rate),
            percent(self.part_left),
            rate(self.least_bytes_per_s)
        )
    }
}

fn zone_rate(known: &ProfileTarget, place: f64) -> f64 {
    let byte = place * known.size_bytes as f64;
    let mut zones = known.zones.iter();
    let zone = zones.find(|zone| byte < zone.to_byte as f64);
    let zone = zone.or(known.zones.last());
    zone.map_or(0.0, |zone| zone.rate_bytes_per_s)
}

fn sum_rate(together: &ProfileTogether, place: f64) -> f64 {
    let mut zones = together.zones.iter();
    let zone = zones.find(|zone| place < zone.to);
    let zone = zone.or(together.zones.last());
    zone.map_or(0.0, |zone| zone.rate_bytes_per_s)
}

#[cfg(test)]
mod tests {
    use sustain_bench::profile::result::ProfileZone;
    use sustain_record::recorder::{LimitedBy, MemberStanding};

    use super::*;

    const GB: u64 = 1_000_000_000;

    /// The first half gives 60 MB/s, the second 30 MB/s.
    fn member(name: &str) -> ProfileTarget {
        let zone = |from_byte, to_byte, rate_bytes_per_s| ProfileZone {
            from_byte,
            to_byte,
            rate_bytes_per_s,
            points: 10,
        };
        ProfileTarget {
            name: name.to_owned(),
            kind: "block device".to_owned(),
            size_bytes: 60 * GB,
            direction: "write".to_owned(),
            shape: "zones".to_owned(),
            verdict: Vec::new(),
            mean_rate_bytes_per_s: Some(40e6),
            outer_rate_bytes_per_s: Some(60e6),
            inner_rate_bytes_per_s: Some(30e6),
            fall: Some(0.5),
            noise: 0.01,
            resolution: 0.01,
            zones: vec![zone(0, 30 * GB, 60e6), zone(30 * GB, 60 * GB, 30e6)],
            outliers: Vec::new(),
            points: Vec::new(),
            errors: Vec::new(),
        }
    }

    fn standing(free_bytes: Option<u64>) -> Standing {
        Standing {
            time_s: 1.0,
            streams: Vec::new(),
            members: vec![MemberStanding {
                name: "/dev/sdb".to_owned(),
                bytes: 0,
                state: MemberState::Active,
                rate_bytes_per_s: 0.0,
                free_bytes,
                error: None,
            }],
            buffer_fill: 0.0,
            longest_write_ns: 0,
            limited_by: LimitedBy::Source,
            flushes: 0,
            is_over: false,
        }
    }

    fn forecast() -> Forecast {
        Forecast {
            members: vec![member("/dev/sdb")],
            together: None,
        }
    }

    #[test]
    fn a_slow_source_fills_the_store_at_its_own_rate() {
        let coming = forecast().coming(&standing(Some(60 * GB)), 20e6).unwrap();
        assert!((coming.full_in_s - 3000.0).abs() < 1.0, "{coming:?}");
        assert_eq!(coming.short, None);
    }

    #[test]
    fn a_source_that_is_faster_than_the_inner_zones_is_warned_of() {
        let coming = forecast().coming(&standing(Some(60 * GB)), 50e6).unwrap();
        // Half at 50 MB/s, half at 30 MB/s.
        assert!((coming.full_in_s - 1600.0).abs() < 1.0, "{coming:?}");
        let short = coming.short.unwrap();
        assert!((short.in_s - 600.0).abs() < 1.0, "{short:?}");
        let words = short.words(50e6);
        assert!(words.contains("after 30 GB more, in 10 min"), "{words}");
        assert!(words.contains("down to 30.0 MB/s"), "{words}");
        // What is left lies in the inner zone.
        let coming = forecast().coming(&standing(Some(15 * GB)), 50e6).unwrap();
        assert!((coming.full_in_s - 500.0).abs() < 1.0, "{coming:?}");
        assert!(coming.short.unwrap().words(50e6).contains("offered now"));
    }

    #[test]
    fn a_ring_has_no_end_to_forecast() {
        assert_eq!(forecast().coming(&standing(None), 50e6), None);
    }
}
