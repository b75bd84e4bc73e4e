//! Settings that have targets of their own: two ways to one disk, such as a directory on a
//! partition and the partition beside it. Says which targets are whose, refuses ways that lead to
//! different disks, and notes what differs besides the way.

use sustain_disk::target::TargetKind;
use sustain_disk::units::Size;
use sustain_document::compare::{ComparedTarget, PlaceOnDisk};
use sustain_host::Roots;
use sustain_load::session::Session;
use sustain_targets::{Bottom, bottoms, place_on_disk};

use super::super::comparison_words;
use super::plan::TrialPlan;
use crate::error::MeasureError;

/// The targets of a side by number, in the order in which it names them; all of them if the sides
/// have none of their own.
pub(super) fn targets_of(plan: &TrialPlan, side: usize, session: &Session) -> Vec<usize> {
    let all = 0..session.targets.len();
    if !plan.has_own_targets() {
        return all.collect();
    }
    let mut targets = Vec::new();
    for name in &plan.settings[side].targets {
        let named = session.named.iter().enumerate();
        let so_named = named.filter(|(_, place)| plan.load.targets[**place] == *name);
        targets.extend(so_named.map(|(target, _)| target));
    }
    targets
}

/// Makes both sides alike in all but the way: they must lead to the same disks, and each target is
/// used up to the size of the smallest. Adds what the user must know to the session's notes.
pub(super) fn make_alike(
    plan: &TrialPlan,
    session: &mut Session,
    roots: &Roots,
) -> Result<(), MeasureError> {
    if !plan.has_own_targets() {
        return Ok(());
    }
    let found = [0, 1].map(|side| {
        let targets = targets_of(plan, side, session).into_iter();
        let targets = targets.map(|index| &session.targets[index]);
        bottoms(targets.map(|one| (&one.target, one.path.as_deref())), roots)
    });
    check_same_disks(&found)?;
    let sizes = session.targets.iter().map(|target| target.size_bytes);
    let least = sizes.min().unwrap_or(0);
    if session.targets.iter().any(|one| one.size_bytes != least) {
        session
            .notes
            .push(comparison_words::used_alike(Size(least)));
    }
    for target in &mut session.targets {
        target.size_bytes = least;
    }
    Ok(())
}

fn check_same_disks([a, b]: &[Vec<Bottom>; 2]) -> Result<(), MeasureError> {
    let is_unknown = [a, b]
        .into_iter()
        .flatten()
        .any(|one| *one == Bottom::Unknown);
    if a == b && !is_unknown {
        return Ok(());
    }
    let words = |found: &[Bottom]| {
        let words: Vec<String> = found.iter().map(Bottom::words).collect();
        words.join(", ")
    };
    let are_named = [a, b]
        .into_iter()
        .flatten()
        .any(|one| matches!(one, Bottom::Name(_)));
    let by_name = if are_named {
        ". Simulated disks and null: are told apart by their names alone"
    } else {
        ""
    };
    Err(MeasureError::Usage(format!(
        "A is on {} and B is on {}, and two ways can be compared only to the same disk{by_name}. \
         To compare different disks, measure each with `sustain measure`, save the results, and \
         compare these: `sustain compare A.json B.json`",
        words(a),
        words(b)
    )))
}

/// The targets of both sides for the result, with their places if these may differ.
pub(super) fn compared_targets(
    plan: &TrialPlan,
    session: &Session,
    roots: &Roots,
) -> [Vec<ComparedTarget>; 2] {
    [0, 1].map(|side| {
        let targets = targets_of(plan, side, session).into_iter();
        let compared = targets.map(|index| {
            let one = &session.targets[index];
            let place = || place_on_disk(&one.target, one.path.as_deref(), roots);
            ComparedTarget {
                name: one.target.name.clone(),
                kind: one.target.kind,
                place: plan.has_own_targets().then(place).flatten(),
            }
        });
        compared.collect()
    })
}

/// What differs between the sides besides the way, or what of that is not known.
pub(super) fn notes(plan: &TrialPlan, [a, b]: &[Vec<ComparedTarget>; 2]) -> Vec<String> {
    if !plan.has_own_targets() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    let is_named =
        |one: &ComparedTarget| matches!(one.kind, TargetKind::Null | TargetKind::Simulated);
    if a.iter().chain(b).any(is_named) {
        notes.push(comparison_words::ONE_DISK_BY_NAME.to_owned());
    }
    let differ = |one: &ComparedTarget, other: &ComparedTarget| {
        one.name != other.name && !is_named(one) && !overlap(&one.place, &other.place)
    };
    let apart = a.iter().zip(b).filter(|(one, other)| differ(one, other));
    notes.extend(apart.map(|(one, other)| comparison_words::other_offsets(one, other)));
    notes
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
    use super::super::plan::TrialSetting;
    use super::*;

    fn disks(names: &[&str]) -> Vec<Bottom> {
        let names = names.iter().map(|name| Bottom::Disk((*name).to_owned()));
        names.collect()
    }

    fn refusal(a: Vec<Bottom>, b: Vec<Bottom>) -> String {
        check_same_disks(&[a, b]).unwrap_err().to_string()
    }

    #[test]
    fn ways_to_different_disks_are_refused_with_the_names_of_both() {
        assert!(check_same_disks(&[disks(&["sdb"]), disks(&["sdb"])]).is_ok());
        assert!(check_same_disks(&[disks(&["sdb", "sdc"]), disks(&["sdb", "sdc"])]).is_ok());
        let why = refusal(disks(&["sda"]), disks(&["sdb"]));
        assert!(why.contains("A is on sda and B is on sdb"), "{why}");
        assert!(why.contains("`sustain compare A.json B.json`"), "{why}");
        let why = refusal(disks(&["sda", "sdb"]), disks(&["sdb"]));
        assert!(why.contains("A is on sda, sdb and B is on sdb"), "{why}");
    }

    #[test]
    fn what_is_not_known_to_be_one_disk_is_refused() {
        let file_system = || vec![Bottom::FileSystem(0, 50)];
        assert!(check_same_disks(&[file_system(), file_system()]).is_ok());
        let why = refusal(file_system(), disks(&["sdb"]));
        assert!(why.contains("whose disks are not known"), "{why}");
        let why = refusal(vec![Bottom::Unknown], vec![Bottom::Unknown]);
        assert!(why.contains("a disk that is not known"), "{why}");
        let named = |name: &str| vec![Bottom::Name(name.to_owned())];
        assert!(check_same_disks(&[named("null:"), named("null:")]).is_ok());
        let why = refusal(named("sda"), named("sdb"));
        assert!(why.contains("by their names alone"), "{why}");
    }

    fn compared(name: &str, disk: &str, bytes: std::ops::Range<u64>) -> Vec<ComparedTarget> {
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
        let plan = TrialPlan::new(
            [""; 0],
            ["/mnt/sdb1", "/dev/sdb2"].map(|name| TrialSetting {
                targets: vec![name.to_owned()],
                ..TrialSetting::default()
            }),
        );
        let of = |a, b| notes(&plan, &[a, b]);
        let first = || compared("/mnt/sdb1", "sdb", 1 << 20..1 << 30);
        let found = of(first(), compared("/dev/sdb2", "sdb", 1 << 30..2 << 30));
        assert_eq!(found.len(), 1, "{found:?}");
        for words in [
            "/mnt/sdb1 is at 1.05 MB to 1.07 GB of sdb",
            "/dev/sdb2 is at 1.07 GB to 2.15 GB of sdb",
        ] {
            assert!(found[0].contains(words), "{found:?}");
        }
        assert!(of(first(), compared("/dev/sdb", "sdb", 0..2 << 30)).is_empty());
        // A volume's own bytes do not say where they are on the disk.
        assert_eq!(
            of(first(), compared("/dev/dm-0", "dm-0", 0..2 << 30)).len(),
            1
        );
    }
}
