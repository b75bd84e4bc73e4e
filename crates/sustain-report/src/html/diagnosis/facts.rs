//! What the pictures of a diagnosis have in common, taken from its document once: the disks in the
//! order in which they hang, the walls by their places, the subsets with their repeats merged, and
//! which wall holds a disk in a subset. Pure; nothing is drawn here.

use std::collections::{BTreeMap, BTreeSet};

use sustain_bench::diagnose::result::{DiagnoseResult, Measurement, Wall};

use super::super::svg::cut;

/// A loss below this is none, whatever the noise.
const LOSS_MIN: f64 = 0.05;
/// A loss above this is one, however much readings differ.
const LOSS_CERTAIN: f64 = 0.2;
/// The sum of a wall's members reaches its limit if it lacks no more than this.
const REACHED_WITHIN: f64 = 0.05;
/// As many standard deviations of one reading are not taken for a loss.
const NOISE_DEVIATIONS: f64 = 3.0;
/// A longer label is cut in its middle.
const LABEL_CHARACTERS_MAX: usize = 16;
const LABEL_LAST: usize = 11;
/// As many names as a list may have before the rest is only counted.
const NAMES_MAX: usize = 12;
/// There are as many colours of walls; the style sheet has them as `w0` and on.
const WALL_COLOURS: usize = 7;

/// A diagnosis as its pictures need it.
pub(super) struct Facts<'a> {
    pub(super) result: &'a DiagnoseResult,
    /// In the order in which they hang.
    pub(super) disks: Vec<Disk<'a>>,
    /// In the order of the document.
    pub(super) walls: Vec<DrawnWall<'a>>,
    /// In the order of their first measurement.
    pub(super) subsets: Vec<Subset>,
    places: Places<'a>,
}

/// One disk.
pub(super) struct Disk<'a> {
    pub(super) name: &'a str,
    /// Short enough for a picture.
    pub(super) label: String,
    pub(super) alone_bytes_per_s: Option<f64>,
    /// With all targets at work.
    pub(super) together_bytes_per_s: Option<f64>,
    /// The even share of the wall that holds it.
    pub(super) fair_bytes_per_s: Option<f64>,
    pub(super) is_below_fair: bool,
    /// With all targets at work.
    pub(super) standing: Standing,
}

/// How a disk stands in a subset against what it gives alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It gives what it gives alone, or was not at work.
    Free,
    /// This wall holds it below that.
    HeldBy(usize),
    /// It gives less, and no wall of the result tells why.
    Lost,
}

impl Standing {
    /// The class of the style sheet with its colour.
    pub(super) fn class(self) -> String {
        match self {
            Standing::Free => "free".to_owned(),
            Standing::HeldBy(wall) => wall_class(wall),
            Standing::Lost => "lost".to_owned(),
        }
    }
}

/// A wall by the places of its members.
pub(super) struct DrawnWall<'a> {
    pub(super) wall: &'a Wall,
    pub(super) members: BTreeSet<usize>,
}

/// Measurements of the same disks, as one.
pub(super) struct Subset {
    /// By the disk's place; `None` where it was not at work.
    pub(super) rates_bytes_per_s: Vec<Option<f64>>,
    pub(super) sum_bytes_per_s: f64,
    pub(super) predicted_bytes_per_s: Option<f64>,
    pub(super) dummy_bytes_per_s: Option<f64>,
    /// The sums of its measurements.
    pub(super) readings_bytes_per_s: Vec<f64>,
    /// Why it was measured first.
    pub(super) step: String,
    /// Each disk by itself, all in one.
    pub(super) is_alone: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn new(result: &'a DiagnoseResult) -> Facts<'a> {
        let mut names: Vec<&str> = result.order.names.iter().map(String::as_str).collect();
        for alone in &result.alone {
            if !names.contains(&alone.target.as_str()) {
                names.push(&alone.target);
            }
        }
        let places = Places::new(&names);
        let labels = labels(&names);
        let disks = names.iter().zip(labels).map(|(name, label)| Disk {
            name,
            label,
            alone_bytes_per_s: None,
            together_bytes_per_s: None,
            fair_bytes_per_s: None,
            is_below_fair: false,
            standing: Standing::Free,
        });
        let walls = result.walls.iter().map(|wall| DrawnWall {
            wall,
            members: places.all(&wall.members),
        });
        let mut facts = Facts {
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
            let Standing::HeldBy(wall) = disk.standing else {
                continue;
            };
            let mut shares = self.walls[wall].wall.shares.iter();
            if let Some(share) = shares.find(|share| share.target == disk.name) {
                disk.fair_bytes_per_s = Some(share.fair_bytes_per_s);
                disk.is_below_fair = share.below_fair;
            }
        }
    }

    /// All targets that did not fail, at once.
    fn together(&self) -> Option<&Subset> {
        self.result.together.as_ref()?;
        let dropped = &self.result.dropped;
        let is_dropped = |disk: &Disk<'_>| dropped.iter().any(|one| one.target == disk.name);
        let whole = |subset: &&Subset| {
            let disks = self.disks.iter().zip(&subset.rates_bytes_per_s);
            let mut missing = disks.filter(|(_, rate)| rate.is_none());
            !subset.is_alone
                && subset.dummy_bytes_per_s.is_none()
                && missing.all(|(disk, _)| is_dropped(disk))
        };
        self.subsets.iter().find(whole)
    }

    /// How each disk stands while these are at work. What holds a disk is the smallest of its walls
    /// whose limit its members reach.
    pub(super) fn standings(&self, rates: &[Option<f64>]) -> Vec<Standing> {
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
        let standing = |(place, disk): (usize, &Disk<'_>)| {
            let slower = rates[place].zip(disk.alone_bytes_per_s);
            if slower.is_none_or(|(own, alone)| {
                own >= alone * (1.0 - noise.clamp(LOSS_MIN, LOSS_CERTAIN))
            }) {
                return Standing::Free;
            }
            let mut holding = reached.iter();
            let own = holding.find(|wall| self.walls[**wall].members.contains(&place));
            own.map_or(Standing::Lost, |wall| Standing::HeldBy(*wall))
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

    /// A target as pictures call it.
    pub(super) fn label(&self, target: &str) -> String {
        self.places
            .of(target)
            .map_or_else(|| label(target), |place| self.disks[place].label.clone())
    }

    /// Targets by their labels, with commas; of many only some, and how many more.
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

/// The class of the style sheet with the colour of this wall.
pub(super) fn wall_class(wall: usize) -> String {
    format!("w{}", wall % WALL_COLOURS)
}

/// A part of a whole; none of nothing.
pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// How far a measured sum is from the one foretold: `+1.2 %`; empty where nothing was foretold.
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

/// Disks of one make differ at the end of their names.
fn label(name: &str) -> String {
    cut(name, LABEL_CHARACTERS_MAX, LABEL_LAST)
}

/// Names without the directory that all of them have.
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

/// From names to places.
struct Places<'a> {
    places: BTreeMap<&'a str, usize>,
}

impl<'a> Places<'a> {
    fn new(names: &[&'a str]) -> Places<'a> {
        let places = names.iter().enumerate();
        Places {
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

/// The measurements, those of the same disks as one, and those of single disks as one.
fn subsets(result: &DiagnoseResult, places: &Places<'_>, disks: usize) -> Vec<Subset> {
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

fn merged(group: &[&Measurement], places: &Places<'_>, disks: usize, is_alone: bool) -> Subset {
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

    #[test]
    fn walls_have_the_colours_of_the_charts() {
        let style = include_str!("../page.css");
        for wall in 0..WALL_COLOURS {
            let colour = super::super::super::chart::colour(wall);
            let rule = format!(".{} {{ --wall: {colour}; }}", wall_class(wall));
            assert!(style.contains(&rule), "{rule}");
        }
        assert_eq!(wall_class(WALL_COLOURS), "w0");
    }
}
