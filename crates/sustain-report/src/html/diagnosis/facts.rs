//! Collects what the pictures of a diagnosis have in common: the disks in the order in which they
//! are connected, the members of each wall, the subsets with their repeats merged, and what
//! the document says limits each disk. All pictures call it; it draws nothing.

use std::collections::{BTreeMap, BTreeSet};

use sustain_document::diagnose::{DiagnoseResult, Measurement, MemberLimit, Wall};

use super::super::chart::colour;
use super::super::chart::svg::cut;

/// A longer label is cut in its middle.
const LABEL_CHARACTERS_MAX: usize = 16;
/// The characters that are kept at the end of a label that is cut.
const LABEL_LAST: usize = 11;
/// A longer list of names is cut, and the rest is counted.
const NAMES_MAX: usize = 12;

/// The data of a diagnosis that its pictures need.
pub(super) struct DiagnosisPicture<'a> {
    pub(super) result: &'a DiagnoseResult,
    /// The disks in the order in which they are connected.
    pub(super) disks: Vec<PictureDisk<'a>>,
    /// The walls in the order of the document.
    pub(super) walls: Vec<DrawnWall<'a>>,
    /// The subsets in the order of their first measurement.
    pub(super) subsets: Vec<Subset>,
    places: PositionByName<'a>,
}

/// One disk.
pub(super) struct PictureDisk<'a> {
    pub(super) name: &'a str,
    /// The name, short enough for a picture.
    pub(super) label: String,
    pub(super) alone_bytes_per_s: Option<f64>,
    /// The rate with all targets active.
    pub(super) together_bytes_per_s: Option<f64>,
    /// The even share of the wall that limits it.
    pub(super) fair_bytes_per_s: Option<f64>,
    pub(super) is_below_fair: bool,
    /// The limit of its rate with all targets active; `None` if that is not known.
    pub(super) limit: Option<MemberLimit>,
}

/// A wall with the places of its members in the list of disks.
pub(super) struct DrawnWall<'a> {
    pub(super) wall: &'a Wall,
    pub(super) members: BTreeSet<usize>,
}

/// The measurements of the same disks, merged to one.
pub(super) struct Subset {
    /// The rate of each disk, in the order of the disks; `None` where it was not active.
    pub(super) rates_bytes_per_s: Vec<Option<f64>>,
    /// The limit of each disk, in the same order; `None` where it is not known.
    pub(super) limits: Vec<Option<MemberLimit>>,
    pub(super) sum_bytes_per_s: f64,
    pub(super) predicted_bytes_per_s: Option<f64>,
    /// Whether its sum is the predicted one; `None` if that is not known.
    pub(super) is_as_predicted: Option<bool>,
    pub(super) dummy_bytes_per_s: Option<f64>,
    /// The sum of each of its measurements.
    pub(super) readings_bytes_per_s: Vec<f64>,
    /// The reason for its first measurement.
    pub(super) step: String,
    /// Whether it is the measurements of each disk alone, all in one.
    pub(super) is_alone: bool,
}

impl<'a> DiagnosisPicture<'a> {
    /// The classes of the style sheet with the colour of a limit. The grey of a rate alone claims
    /// nothing where the limit is not known.
    pub(super) fn class(&self, limit: Option<MemberLimit>) -> String {
        match limit {
            Some(MemberLimit::Nothing) => "free".to_owned(),
            Some(MemberLimit::Wall { wall }) => self.ink(wall),
            Some(MemberLimit::Unknown) => "lost".to_owned(),
            None => "alone".to_owned(),
        }
    }

    /// The classes with the colour of a wall. One that is not certain is hatched or dashed.
    pub(super) fn ink(&self, wall: usize) -> String {
        let is_likely = self.is_likely(wall);
        let unsure = if is_likely { "" } else { " unsure" };
        format!("{}{unsure}", colour(wall))
    }

    /// What follows the number of a wall where it is told that it is not certain.
    pub(super) fn doubt(&self, wall: usize) -> &'static str {
        match self.is_likely(wall) {
            true => "",
            false => ", not certain",
        }
    }

    fn is_likely(&self, wall: usize) -> bool {
        self.walls
            .get(wall)
            .is_none_or(|drawn| drawn.wall.is_likely())
    }

    pub(super) fn new(result: &'a DiagnoseResult) -> DiagnosisPicture<'a> {
        let mut names: Vec<&str> = result.order.names.iter().map(String::as_str).collect();
        for alone in &result.alone {
            if !names.contains(&alone.target.as_str()) {
                names.push(&alone.target);
            }
        }
        let places = PositionByName::new(&names);
        let labels = labels(&names);
        let disks = names.iter().zip(labels).map(|(name, label)| PictureDisk {
            name,
            label,
            alone_bytes_per_s: None,
            together_bytes_per_s: None,
            fair_bytes_per_s: None,
            is_below_fair: false,
            limit: None,
        });
        let walls = result.walls.iter().map(|wall| DrawnWall {
            wall,
            members: places.all(&wall.members),
        });
        let mut facts = DiagnosisPicture {
            result,
            disks: disks.collect(),
            walls: walls.collect(),
            subsets: subsets(result, &places, names.len()),
            places,
        };
        facts.know_disks();
        facts
    }

    fn know_disks(&mut self) {
        for alone in &self.result.alone {
            if let Some(place) = self.places.of(&alone.target) {
                self.disks[place].alone_bytes_per_s = alone.rate_bytes_per_s;
            }
        }
        let together = self.together();
        let told = together.map(|all| (all.rates_bytes_per_s.clone(), all.limits.clone()));
        let Some((rates, limits)) = told else {
            return;
        };
        for (place, disk) in self.disks.iter_mut().enumerate() {
            disk.together_bytes_per_s = rates[place];
            disk.limit = limits[place];
            let Some(wall) = wall_of(disk.limit).and_then(|wall| self.walls.get(wall)) else {
                continue;
            };
            let mut shares = wall.wall.shares.iter();
            if let Some(share) = shares.find(|share| share.target == disk.name) {
                disk.fair_bytes_per_s = Some(share.fair_bytes_per_s);
                disk.is_below_fair = share.below_fair;
            }
        }
    }

    /// The subset of all targets that did not fail.
    fn together(&self) -> Option<&Subset> {
        self.result.together.as_ref()?;
        let dropped = &self.result.dropped;
        let is_dropped = |disk: &PictureDisk<'_>| dropped.iter().any(|one| one.target == disk.name);
        let whole = |subset: &&Subset| {
            let disks = self.disks.iter().zip(&subset.rates_bytes_per_s);
            let mut missing = disks.filter(|(_, rate)| rate.is_none());
            !subset.is_alone
                && subset.dummy_bytes_per_s.is_none()
                && missing.all(|(disk, _)| is_dropped(disk))
        };
        self.subsets.iter().find(whole)
    }

    /// The highest rate that any disk reached.
    pub(super) fn most_bytes_per_s(&self) -> f64 {
        let rates = self.disks.iter().flat_map(|disk| {
            let rates = [
                disk.alone_bytes_per_s,
                disk.together_bytes_per_s,
                disk.fair_bytes_per_s,
            ];
            rates.into_iter().flatten()
        });
        rates.fold(1.0, f64::max)
    }

    /// The sum of the rates alone.
    pub(super) fn alone_bytes_per_s(&self) -> f64 {
        let rates = self.disks.iter().filter_map(|disk| disk.alone_bytes_per_s);
        rates.sum()
    }

    /// The name of a target in pictures.
    pub(super) fn label(&self, target: &str) -> String {
        self.places
            .of(target)
            .map_or_else(|| label(target), |place| self.disks[place].label.clone())
    }

    /// The labels of targets with commas; of many only the first, and the number of the others.
    pub(super) fn list(&self, targets: &[String]) -> String {
        let shown = if targets.len() > NAMES_MAX {
            NAMES_MAX - 1
        } else {
            targets.len()
        };
        let labels = targets[..shown].iter();
        let labels: Vec<String> = labels.map(|target| self.label(target)).collect();
        match targets.len() - shown {
            0 => labels.join(", "),
            more => format!("{} and {more} more", labels.join(", ")),
        }
    }
}

/// The wall that limits a disk, if one does.
pub(super) fn wall_of(limit: Option<MemberLimit>) -> Option<usize> {
    match limit {
        Some(MemberLimit::Wall { wall }) => Some(wall),
        _ => None,
    }
}

/// A part of a whole; none if the whole is zero.
pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The distance of a measured sum from the predicted one: `+1.2 %`; empty where the prediction is
/// zero.
pub(super) fn off_by(measured: f64, predicted: f64) -> String {
    ratio(measured, predicted).map_or_else(String::new, |part| {
        let permille = ((part - 1.0) * 1000.0).round();
        if permille == 0.0 {
            "0 %".to_owned()
        } else {
            format!("{:+.1} %", permille / 10.0)
        }
    })
}

/// A name short enough for a picture. It keeps its end, where disks of one make differ.
fn label(name: &str) -> String {
    cut(name, LABEL_CHARACTERS_MAX, LABEL_LAST)
}

/// The names without the directory that all of them have.
fn labels(names: &[&str]) -> Vec<String> {
    let directory = |name: &str| name.rfind('/').map_or(0, |slash| slash + 1);
    let common = names.first().map_or("", |name| &name[..directory(name)]);
    let is_common = names
        .iter()
        .all(|name| name.starts_with(common) && name.len() > common.len());
    let skipped = if is_common { common.len() } else { 0 };
    let labels = names.iter().map(|name| label(&name[skipped..]));
    labels.collect()
}

/// The places of names in the list of disks.
struct PositionByName<'a> {
    places: BTreeMap<&'a str, usize>,
}

impl<'a> PositionByName<'a> {
    fn new(names: &[&'a str]) -> PositionByName<'a> {
        let places = names.iter().enumerate();
        PositionByName {
            places: places.map(|(place, name)| (*name, place)).collect(),
        }
    }

    fn of(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    fn all(&self, names: &[String]) -> BTreeSet<usize> {
        names.iter().filter_map(|name| self.of(name)).collect()
    }
}

/// The measurements, with those of the same disks merged, and those of all single disks merged.
fn subsets(result: &DiagnoseResult, places: &PositionByName<'_>, disks: usize) -> Vec<Subset> {
    let mut keys: Vec<(BTreeSet<usize>, bool)> = Vec::new();
    let mut groups: Vec<Vec<&Measurement>> = Vec::new();
    for measurement in &result.measurements {
        let mut members = places.all(&measurement.members);
        let with_dummy = measurement.dummy_bytes_per_s.is_some();
        if members.len() == 1 && !with_dummy {
            members.clear();
        }
        let key = (members, with_dummy);
        match keys.iter().position(|known| *known == key) {
            Some(index) => groups[index].push(measurement),
            None => {
                keys.push(key);
                groups.push(vec![measurement]);
            }
        }
    }
    let groups = keys.iter().zip(&groups);
    groups
        .map(|((members, with_dummy), group)| {
            merged(group, places, disks, members.is_empty() && !with_dummy)
        })
        .collect()
}

fn merged(
    group: &[&Measurement],
    places: &PositionByName<'_>,
    disks: usize,
    is_alone: bool,
) -> Subset {
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); disks];
    let mut limits = vec![None; disks];
    for measurement in group {
        let rates = measurement
            .members
            .iter()
            .zip(&measurement.rates_bytes_per_s);
        for (member, rate) in rates {
            if let Some(place) = places.of(member) {
                all[place].push(*rate);
            }
        }
        let told = measurement.members.iter().zip(&measurement.limited_by);
        for (member, limit) in told {
            if let Some(place) = places.of(member) {
                limits[place] = Some(*limit);
            }
        }
    }
    let rates_bytes_per_s: Vec<_> = all.iter().map(|rates| mean(rates)).collect();
    let sums: Vec<f64> = group.iter().map(|one| one.sum_bytes_per_s).collect();
    let dummies: Vec<f64> = group
        .iter()
        .filter_map(|one| one.dummy_bytes_per_s)
        .collect();
    let sum_bytes_per_s = if is_alone {
        rates_bytes_per_s.iter().flatten().sum()
    } else {
        mean(&sums).unwrap_or(0.0)
    };
    Subset {
        rates_bytes_per_s,
        limits,
        sum_bytes_per_s,
        is_as_predicted: group.last().and_then(|last| last.is_as_predicted),
        predicted_bytes_per_s: group
            .last()
            .and_then(|last| last.predicted_bytes_per_s)
            .filter(|_| !is_alone),
        dummy_bytes_per_s: mean(&dummies),
        readings_bytes_per_s: sums,
        step: group
            .first()
            .map_or_else(String::new, |first| first.step.clone()),
        is_alone,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_leave_out_what_all_names_share_and_what_hides_their_ends() {
        assert_eq!(labels(&["/dev/sda", "/dev/sdb"]), ["sda", "sdb"]);
        assert_eq!(labels(&["/dev/sda", "/srv/sdb"]), ["/dev/sda", "/srv/sdb"]);
        assert_eq!(labels(&["/dev/"]), ["/dev/"]);
        assert_eq!(label("ata-EXAMPLE_DISK-WCC7K00001"), "ata-…-WCC7K00001");
    }

    #[test]
    fn what_is_hardly_off_has_no_sign() {
        assert_eq!(off_by(99.98, 100.0), "0 %");
        assert_eq!(off_by(98.8, 100.0), "-1.2 %");
        assert_eq!(off_by(1.0, 0.0), "");
    }
}
