//! The English of what other programs did on the disks of a run. Functions of data only.

use sustain_disk::units::Rate;

use super::deeds::{DeedsKind, OthersDeeds};

/// What it means for a measurement, and what to do.
pub(super) fn of_measurement(found: &OthersDeeds<'_>) -> String {
    format!(
        "{}: these are the figures of shared disks, which may be faster alone; find the programs \
         (`pidstat -d 1` shows them) and run again without them",
        deeds(found)
    )
}

/// What they did, where, when, and beside which load of the run.
pub(super) fn deeds(found: &OthersDeeds<'_>) -> String {
    // The rates are of reading and writing together.
    let (verb, parts) = match found.kind {
        DeedsKind::Reading => ("read", ""),
        DeedsKind::Writing => ("wrote", ""),
        DeedsKind::MostlyReading => ("moved", ", mostly reading,"),
        DeedsKind::MostlyWriting => ("moved", ", mostly writing,"),
        DeedsKind::Both => ("moved", ", reading and writing,"),
    };
    let places = found.places.iter();
    let places = places.map(|(device, rate)| format!("{} on {device}", Rate(*rate)));
    let (from_s, to_s) = (found.from_s, found.to_s);
    let when = match found.is_one_stretch {
        true => format!("from {from_s:.0} s to {to_s:.0} s"),
        false => format!("at times between {from_s:.0} s and {to_s:.0} s"),
    };
    format!(
        "other programs {verb} {}{parts} {when}, beside the {} of this run itself",
        places.collect::<Vec<_>>().join(", "),
        Rate(found.own_bytes_per_s),
    )
}
