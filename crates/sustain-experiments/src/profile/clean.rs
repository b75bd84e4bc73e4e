//! Finds where a run without a break meets no bad spot. Pure; the run calls it.

use super::fit::Fit;
use super::visits::VisitedPlace;
use super::zone::FittedZone;

/// A run that ends where a bad spot begins is kept off it by this part of the target, for rounding.
const ROUNDING: f64 = 1e-9;

/// What a run goes over on one of its targets, in parts of that target.
pub(super) struct MemberStretch {
    /// How much it goes over at most.
    pub(super) length: f64,
    /// The stretches that may be bad, as beginning and end.
    pub(super) avoided: Vec<(f64, f64)>,
}

impl MemberStretch {
    fn touches(&self, from: f64) -> bool {
        let mut avoided = self.avoided.iter();
        avoided.any(|(begins, ends)| is_within(*begins, *ends, from, self.length))
    }
}

/// How far the bad spots of a target may reach: up to the next samples that do not show them.
pub(super) fn reaches(fit: &Fit, places: &[VisitedPlace]) -> Vec<(f64, f64)> {
    let spots = fit.bad_spots.iter();
    let reach = |spot: &super::spots::BadSpot| {
        let before = spot.places.start.checked_sub(1);
        let begins = before.map_or(0.0, |before| places[before].to);
        let ends = places.get(spot.places.end).map_or(1.0, |place| place.from);
        (begins, ends)
    };
    spots.map(reach).collect()
}

/// Where a run begins that meets no bad spot of any member: in the middle of its zone, or as near
/// to it as the bad spots and the end of the target allow. `None` if there is no such place.
pub(super) fn clean_start(zone: &FittedZone, members: &[MemberStretch]) -> Option<f64> {
    let lengths = members.iter().map(|member| member.length);
    let longest = lengths.fold(0.0, f64::max);
    let (first, last) = beginnings(zone, longest);
    let middle = centred_start(zone, longest);
    let beside = members.iter().flat_map(|member| {
        let ends = |(begins, ends): &(f64, f64)| [begins - member.length - ROUNDING, *ends];
        member.avoided.iter().flat_map(ends)
    });
    let beside = beside.filter(|from| (first..=last).contains(from));
    let clean = [middle].into_iter().chain(beside);
    let clean = clean.filter(|from| !members.iter().any(|member| member.touches(*from)));
    clean.min_by(|one, other| (one - middle).abs().total_cmp(&(other - middle).abs()))
}

/// Where a run over this part of a target begins if it is to be in the middle of its zone, or as
/// near to that as the end of the target allows.
pub(super) fn centred_start(zone: &FittedZone, length: f64) -> f64 {
    let (first, last) = beginnings(zone, length);
    (f64::midpoint(zone.from, zone.to) - length / 2.0).clamp(first, last)
}

/// The first and the last place where a run may begin that is to lie in its zone.
fn beginnings(zone: &FittedZone, length: f64) -> (f64, f64) {
    let most = (1.0 - length).max(0.0);
    let first = zone.from.min(most);
    (first, (zone.to - length).clamp(first, most))
}

/// Whether a run over a part `length` of a target from `from` on, which goes on at the start behind
/// the end, touches the stretch.
pub(super) fn is_within(stretch_from: f64, stretch_to: f64, from: f64, length: f64) -> bool {
    [0.0, 1.0].into_iter().any(|round| {
        let (begins, ends) = (stretch_from + round, stretch_to + round);
        begins < from + length && ends > from
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZONE: FittedZone = FittedZone {
        from: 0.2,
        to: 0.6,
        rate: 1e8,
        places: 9,
    };

    fn member(length: f64, avoided: &[(f64, f64)]) -> MemberStretch {
        MemberStretch {
            length,
            avoided: avoided.to_vec(),
        }
    }

    fn start(members: &[MemberStretch]) -> f64 {
        clean_start(&ZONE, members).unwrap_or(f64::NAN)
    }

    #[test]
    fn a_run_touches_what_it_goes_over_also_behind_the_end() {
        assert!(is_within(0.1, 0.2, 0.0, 0.15));
        assert!(is_within(0.1, 0.2, 0.15, 0.01));
        assert!(!is_within(0.1, 0.2, 0.2, 0.3));
        assert!(!is_within(0.1, 0.2, 0.0, 0.1));
        assert!(is_within(0.1, 0.2, 0.9, 0.25));
        assert!(!is_within(0.1, 0.2, 0.9, 0.15));
    }

    #[test]
    fn a_run_lies_in_the_middle_of_its_zone_or_just_beside_a_bad_spot() {
        let is = |found: f64, wanted: f64| (found - wanted).abs() < 1e-6;
        assert!(is(start(&[member(0.1, &[])]), 0.35));
        assert!(is(start(&[member(0.1, &[(0.42, 0.5)])]), 0.32));
        assert!(is(start(&[member(0.1, &[(0.3, 0.41)])]), 0.41));
        // Each target has bad spots of its own, and goes over another part of itself.
        let both = [member(0.1, &[(0.3, 0.41)]), member(0.05, &[(0.45, 0.47)])];
        assert!(is(start(&both), 0.47));
    }

    #[test]
    fn where_bad_spots_leave_no_room_there_is_no_such_place() {
        let dense = [(0.2, 0.25), (0.3, 0.35), (0.4, 0.45), (0.5, 0.55)];
        assert!(start(&[member(0.06, &dense)]).is_nan());
        assert!((start(&[member(0.04, &dense)]) - 0.36).abs() < 0.02);
        assert!(start(&[member(3.0, &[(0.9, 0.91)])]).is_nan());
        assert!(start(&[member(3.0, &[])]).abs() < 1e-9);
    }

    #[test]
    fn a_zone_at_the_end_has_its_run_before_the_end() {
        let zone = FittedZone {
            from: 0.95,
            to: 1.0,
            ..ZONE
        };
        let found = clean_start(&zone, &[member(0.1, &[])]).unwrap();
        assert!((found - 0.9).abs() < 1e-9);
    }
}
