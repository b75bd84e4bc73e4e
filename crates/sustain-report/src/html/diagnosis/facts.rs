//! Collects what the pictures of a diagnosis have in common: the disks in the order in which they
//! are connected, the members of each wall, the subsets with their repeats merged, and the wall
//! that limits a disk in a subset. All pictures call it; it draws nothing.

use std::collections::{BTreeMap, BTreeSet};

use sustain_document::diagnose::{DiagnoseResult, Measurement, Wall};

use super::super::chart::colour;
use super::super::chart::svg::cut;

/// A smaller loss does not count as a loss, however quiet the readings are.
const LOSS_MIN: f64 = 0.05;
/// A larger loss counts as a loss, however noisy the readings are.
const LOSS_CERTAIN: f64 = 0.2;
/// The sum of a wall's members reaches its limit if it is no further below it than this.
const REACHED_WITHIN: f64 = 0.05;
/// A difference within this many standard deviations of one reading does not count as a loss.
const NOISE_DEVIATIONS: f64 = 3.0;
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
    /// The limit of its rate with all targets active.
    pub(super) standing: SubsetStanding,
}

/// The limit of a disk's rate in a subset, compared with its rate alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubsetStanding {
    /// It reaches its rate alone, or was not active.
    Free,
    /// This wall limits it below its rate alone.
    HeldBy(usize),
    /// It is slower than alone, and no wall of the result explains it.
    Lost,
}

impl SubsetStanding {
    /// The class of the style sheet with its colour.
    pub(super) fn class(self) -> String {
        match self {
            SubsetStanding::Free => "free".to_owned(),
            SubsetStanding::HeldBy(wall) => colour(wall),
            SubsetStanding::Lost => "lost".to_owned(),
        }
    }
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
    pub(super) sum_bytes_per_s: f64,
    pub(super) predicted_bytes_per_s: Option<f64>,
    pub(super) dummy_bytes_per_s: Option<f64>,
    /// The sum of each of its measurements.
    pub(super) readings_bytes_per_s: Vec<f64>,
    /// The reason for its first measurement.
    pub(super) step: String,
    /// Whether it is the measurements of each disk alone, all in one.
    pub(super) is_alone: bool,
}

impl<'a> DiagnosisPicture<'a> {
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
            standing: SubsetStanding::Free,
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
        let Some(rates) = self.together().map(|all| all.rates_bytes_per_s.clone()) else {
            return;
        };
        let standings = self.standings(&rates);
        for (place, disk) in self.disks.iter_mut().enumerate() {
            disk.together_bytes_per_s = rates[place];
            disk.standing = standings[place];
            let SubsetStanding::HeldBy(wall) = disk.standing else {
                continue;
            };
            let mut shares = self.walls[wall].wall.shares.iter();
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

    /// The limit of each disk at these rates. A disk is limited by the smallest of its walls whose
    /// members together reach the wall's limit.
    pub(super) fn standings(&self, rates: &[Option<f64>]) -> Vec<SubsetStanding> {
        let noise = NOISE_DEVIATIONS * self.result.noise;
        let reaches = |wall: &DrawnWall<'_>| {
            let members = wall.members.iter().filter_map(|member| rates[*member]);
            let (count, sum) = members.fold((0, 0.0), |(count, sum), one| (count + 1, sum + one));
            let limit = wall.wall.limit_bytes_per_s;
            let least = wall.wall.at_full_load_bytes_per_s.unwrap_or(limit);
            count > 1 && sum >= least.min(limit) * (1.0 - noise.max(REACHED_WITHIN))
        };
        let walls = self.walls.iter().enumerate();
        let mut reached: Vec<usize> = walls
            .filter(|(_, wall)| reaches(wall))
            .map(|(index, _)| index)
            .collect();
        reached.sort_by_key(|wall| self.walls[*wall].members.len());
        let standing = |(place, disk): (usize, &PictureDisk<'_>)| {
            let slower = rates[place].zip(disk.alone_bytes_per_s);
            if slower.is_none_or(|(own, alone)| {
                own >= alone * (1.0 - noise.clamp(LOSS_MIN, LOSS_CERTAIN))
            }) {
                return SubsetStanding::Free;
            }
            let mut holding = reached.iter();
            let own = holding.find(|wall| self.walls[**wall].members.contains(&place));
            own.map_or(SubsetStanding::Lost, |wall| SubsetStanding::HeldBy(*wall))
        };
        self.disks.iter().enumerate().map(standing).collect()
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

/// A part of a whole; none if the whole is zero.
pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The distance of a measured sum from the predicted one: `+1.2 %`; empty where the prediction is
/// zero.
pub(super) fn off_by(measured: f64, foretold: f64) -> String {
    ratio(measured, foretold).map_or_else(String::new, |part| {
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
        sum_bytes_per_s,
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
