//! The rate of a member by place, as zones in their order, and the mean rate of a range of places.
//! The forecast calls it; it has no side effects.

/// The least rate of a zone, which keeps a forecast finite.
const RATE_MIN: f64 = 1.0;

/// The rate of each place. Places behind the last zone have its rate, without its slow spots.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    zones: Vec<Zone>,
    /// The rate behind the last zone.
    behind: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Zone {
    /// The place where it ends.
    to: f64,
    rate: f64,
}

impl Curve {
    /// A curve of at least one zone, given as (end, rate in bytes per second) in order of place.
    pub(super) fn new(zones: impl Iterator<Item = (f64, f64)>) -> Curve {
        let zones = zones.map(|(to, rate)| Zone {
            to,
            rate: rate.max(RATE_MIN),
        });
        let zones: Vec<Zone> = zones.collect();
        Curve {
            behind: zones.last().map_or(RATE_MIN, |zone| zone.rate),
            zones,
        }
    }

    /// This curve with spots (from, to, rate) that are slower than their zone.
    pub(super) fn with_spots(&self, spots: impl Iterator<Item = (f64, f64, f64)>) -> Curve {
        let spots: Vec<(f64, f64, f64)> = spots.filter(|(from, to, _)| from < to).collect();
        let mut edges: Vec<f64> = self.zones.iter().map(|zone| zone.to).collect();
        edges.extend(spots.iter().flat_map(|(from, to, _)| [*from, *to]));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let mut from = 0.0;
        let zones = edges.into_iter().filter(|edge| *edge > 0.0).map(|to| {
            let middle = (from + to) / 2.0;
            from = to;
            let spot = spots
                .iter()
                .find(|(from, to, _)| *from <= middle && middle < *to);
            let rate = spot.map_or_else(|| self.rate_at(middle), |(_, _, rate)| *rate);
            (to, rate)
        });
        Curve {
            behind: self.behind,
            ..Curve::new(zones)
        }
    }

    /// The rate at this place.
    pub(super) fn rate_at(&self, place: f64) -> f64 {
        let zone = self.zones.iter().find(|zone| place < zone.to);
        zone.map_or(self.behind, |zone| zone.rate)
    }

    /// The mean rate over this range: all its bytes over all its time.
    pub(super) fn mean_rate(&self, from: f64, to: f64) -> f64 {
        if to <= from {
            return self.rate_at(from);
        }
        let (mut at, mut time) = (from, 0.0);
        for zone in self.zones.iter().filter(|zone| zone.to > from) {
            let end = zone.to.min(to);
            time += (end - at).max(0.0) / zone.rate;
            at = at.max(end);
        }
        time += (to - at).max(0.0) / self.behind;
        (to - from) / time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        Curve::new([(100.0, 50.0), (200.0, 25.0)].into_iter())
    }

    #[test]
    fn a_stretch_gives_all_its_bytes_over_all_its_time() {
        let curve = curve();
        assert_eq!(curve.mean_rate(0.0, 100.0), 50.0);
        // 1 s and 2 s for 50 each.
        assert_eq!(curve.mean_rate(50.0, 150.0), 100.0 / 3.0);
        // What lies behind is as the last zone.
        assert_eq!(curve.mean_rate(150.0, 400.0), 25.0);
        assert_eq!(curve.mean_rate(300.0, 400.0), 25.0);
        assert_eq!((curve.rate_at(99.0), curve.rate_at(100.0)), (50.0, 25.0));
    }

    #[test]
    fn spots_are_cut_out_of_their_zones() {
        let spotted = curve().with_spots([(90.0, 110.0, 10.0), (0.0, 10.0, 5.0)].into_iter());
        let expected = [
            (10.0, 5.0),
            (90.0, 50.0),
            (100.0, 10.0),
            (110.0, 10.0),
            (200.0, 25.0),
        ];
        assert_eq!(spotted, Curve::new(expected.into_iter()));
        assert_eq!(curve().with_spots(std::iter::empty()), curve());
        // A spot at the end says nothing of what lies behind it.
        let spotted = curve().with_spots([(190.0, 200.0, 1.0)].into_iter());
        assert_eq!(
            (spotted.rate_at(195.0), spotted.rate_at(200.0)),
            (1.0, 25.0)
        );
        assert_eq!(spotted.mean_rate(200.0, 300.0), 25.0);
    }
}
