//! Several ways to one disk, measured in turn: such as a directory on one of its partitions, and
//! another partition. Refuses ways that lead to different disks, makes the rest alike, and notes
//! what differs besides the way. `compare` and `sweep` use it.

use sustain_disk::target::TargetKind;
use sustain_disk::units::{DisplayPosition, Size};
use sustain_document::compare::{ComparedTarget, PlaceOnDisk};
use sustain_host::Roots;
use sustain_load::session::Session;
use sustain_targets::{Bottom, bottoms, place_on_disk};

use crate::error::MeasureError;

/// Ways to simulated disks or to `null:`.
const ONE_DISK_BY_NAME: &str = "the targets count as one disk because they have the same names: \
     nothing else tells simulated disks and null: apart";

/// One of several ways.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// How messages call it.
    pub(crate) name: String,
    /// Its targets, by number.
    pub(crate) targets: Vec<usize>,
}

/// The targets, by number, that were named at this place of the plan.
pub(crate) fn named_at(place: usize, session: &Session) -> Vec<usize> {
    let named = session.named.iter().enumerate();
    let so_named = named.filter(|(_, at)| **at == place);
    so_named.map(|(target, _)| target).collect()
}

/// Makes ways alike in all else: they must lead to the same disks, and each target is used up to
/// the size of the smallest. Adds what the user must know to the session's notes.
///
/// # Errors
/// [`MeasureError::Usage`] if they lead to different disks, or if that is not known.
pub(crate) fn make_alike(
    ways: &[Way],
    session: &mut Session,
    roots: &Roots,
) -> Result<(), MeasureError> {
    let under = |way: &Way| {
        let targets = way.targets.iter().map(|index| &session.targets[*index]);
        bottoms(targets.map(|one| (&one.target, one.path.as_deref())), roots)
    };
    let found: Vec<(&str, Vec<Bottom>)> = ways
        .iter()
        .map(|way| (way.name.as_str(), under(way)))
        .collect();
    check_same_disks(&found)?;
    let sizes = session.targets.iter().map(|target| target.size_bytes);
    let least = sizes.min().unwrap_or(0);
    if session.targets.iter().any(|one| one.size_bytes != least) {
        session.notes.push(format!(
            "only the first {} of each target are used, which is as much as the smallest has",
            Size(least)
        ));
    }
    for target in &mut session.targets {
        target.size_bytes = least;
    }
    Ok(())
}

fn check_same_disks(found: &[(&str, Vec<Bottom>)]) -> Result<(), MeasureError> {
    let Some((first, others)) = found.split_first() else {
        return Ok(());
    };
    let is_unknown = |bottoms: &[Bottom]| bottoms.contains(&Bottom::Unknown);
    let mut others = others.iter();
    let Some(other) = others.find(|other| other.1 != first.1 || is_unknown(&other.1)) else {
        return Ok(());
    };
    let words = |(name, found): &(&str, Vec<Bottom>)| {
        let words: Vec<String> = found.iter().map(Bottom::words).collect();
        format!("{name} is on {}", words.join(", "))
    };
    let mut all = first.1.iter().chain(&other.1);
    let by_name = if all.any(|one| matches!(one, Bottom::Name(_))) {
        ". Simulated disks and null: are told apart by their names alone"
    } else {
        ""
    };
    Err(MeasureError::Usage(format!(
        "{} and {}, and ways can be compared only to the same disk{by_name}. To compare different \
         disks, measure each with `sustain measure`, save the results, and compare these: \
         `sustain compare A.json B.json`",
        words(first),
        words(other)
    )))
}

/// A target for the result, with its place.
pub(crate) fn compared_target(session: &Session, target: usize, roots: &Roots) -> ComparedTarget {
    let one = &session.targets[target];
    ComparedTarget {
        name: one.target.name.clone(),
        kind: one.target.kind,
        place: place_on_disk(&one.target, one.path.as_deref(), roots),
    }
}

/// What differs between the targets of ways besides the way, or what of that is not known. `who`
/// are the ways in a sentence: "A and B".
pub(crate) fn notes(who: &str, ways: &[Vec<ComparedTarget>]) -> Vec<String> {
    let mut notes = Vec::new();
    let is_named =
        |one: &ComparedTarget| matches!(one.kind, TargetKind::Null | TargetKind::Simulated);
    if ways.iter().flatten().any(is_named) {
        notes.push(ONE_DISK_BY_NAME.to_owned());
        return notes;
    }
    let Some((first, others)) = ways.split_first() else {
        return notes;
    };
    for (index, one) in first.iter().enumerate() {
        let others = others.iter().filter_map(|way| way.get(index));
        let others: Vec<&ComparedTarget> = others.collect();
        let is_apart =
            |other: &&ComparedTarget| one.name != other.name && !overlap(&one.place, &other.place);
        if others.iter().any(is_apart) {
            notes.push(other_offsets(who, &[&[one], &others[..]].concat()));
        }
    }
    notes
}

/// Targets on one disk that do not lie at the same bytes of it.
fn other_offsets(who: &str, targets: &[&ComparedTarget]) -> String {
    let disk = |target: &&ComparedTarget| Some(target.place.as_ref()?.disk.clone());
    let first = targets.first().and_then(disk);
    let are_known = first.is_some() && targets.iter().all(|target| disk(target) == first);
    let are = if are_known { "are" } else { "may be" };
    let place = |target: &&ComparedTarget| match &target.place {
        Some(place) => format!(
            "{} is at {} to {} of {}",
            target.name,
            DisplayPosition(place.from_bytes),
            DisplayPosition(place.to_bytes),
            place.disk
        ),
        None => format!("where {} is on its disk is not known", target.name),
    };
    let places: Vec<String> = targets.iter().map(place).collect();
    format!(
        "{who} {are} at different offsets of the disk: {}. Most rotating disks are faster at low \
         offsets, so there a part of a difference in rate may be that of the places",
        places.join("; ")
    )
}

fn overlap(one: &Option<PlaceOnDisk>, other: &Option<PlaceOnDisk>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.disk == other.disk
                && one.from_bytes < other.to_bytes
                && other.from_bytes < one.to_bytes
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disks(names: &[&str]) -> Vec<Bottom> {
        let names = names.iter().map(|name| Bottom::Disk((*name).to_owned()));
        names.collect()
    }

    fn checked(a: Vec<Bottom>, b: Vec<Bottom>) -> Result<(), String> {
        check_same_disks(&[("A", a), ("B", b)]).map_err(|error| error.to_string())
    }

    #[test]
    fn ways_to_different_disks_are_refused_with_the_names_of_both() {
        assert_eq!(checked(disks(&["sdb"]), disks(&["sdb"])), Ok(()));
        let both = || disks(&["sdb", "sdc"]);
        assert_eq!(checked(both(), both()), Ok(()));
        let why = checked(disks(&["sda"]), disks(&["sdb"])).unwrap_err();
        assert!(why.contains("A is on sda and B is on sdb"), "{why}");
        assert!(why.contains("`sustain compare A.json B.json`"), "{why}");
        let why = checked(both(), disks(&["sdb"])).unwrap_err();
        assert!(why.contains("A is on sdb, sdc and B is on sdb"), "{why}");
    }

    #[test]
    fn what_is_not_known_to_be_one_disk_is_refused() {
        let file_system = || vec![Bottom::FileSystem(0, 50)];
        assert_eq!(checked(file_system(), file_system()), Ok(()));
        let why = checked(file_system(), disks(&["sdb"])).unwrap_err();
        assert!(why.contains("whose disks are not known"), "{why}");
        let why = checked(vec![Bottom::Unknown], vec![Bottom::Unknown]).unwrap_err();
        assert!(why.contains("a disk that is not known"), "{why}");
        let named = |name: &str| vec![Bottom::Name(name.to_owned())];
        assert_eq!(checked(named("null:"), named("null:")), Ok(()));
        let why = checked(named("sda"), named("sdb")).unwrap_err();
        assert!(why.contains("by their names alone"), "{why}");
    }

    fn at(name: &str, disk: &str, bytes: std::ops::Range<u64>) -> Vec<ComparedTarget> {
        vec![ComparedTarget {
            name: name.to_owned(),
            kind: TargetKind::BlockDevice,
            place: Some(PlaceOnDisk {
                disk: disk.to_owned(),
                from_bytes: bytes.start,
                to_bytes: bytes.end,
            }),
        }]
    }

    #[test]
    fn other_offsets_are_noted_unless_the_places_overlap() {
        let of = |other| {
            let first = at("/mnt/sdb1", "sdb", 1 << 20..1 << 30);
            notes("A and B", &[first, other])
        };
        let found = of(at("/dev/sdb2", "sdb", 1 << 30..2 << 30));
        assert_eq!(found.len(), 1, "{found:?}");
        for words in [
            "A and B are at different offsets",
            "/mnt/sdb1 is at 1.05 MB to 1.07 GB of sdb",
            "/dev/sdb2 is at 1.07 GB to 2.15 GB of sdb",
        ] {
            assert!(found[0].contains(words), "{found:?}");
        }
        assert!(of(at("/dev/sdb", "sdb", 0..2 << 30)).is_empty());
        // A volume's own bytes do not say where they are on the disk.
        let found = of(at("/dev/dm-0", "dm-0", 0..2 << 30));
        assert!(found[0].contains("A and B may be at"), "{found:?}");
    }
}
