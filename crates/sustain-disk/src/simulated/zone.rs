//! The zones of a simulated disk: how fast its medium is at an offset. The disk uses it for direct
//! transfers, and its cache for draining.

use super::fluid::{FlowRate, flow_rate};
use super::machine_file::DiskDescription;

/// The direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MediumDirection {
    Read,
    Write,
}

/// Zones of equal capacity, outermost first, and stretches that are slower than their zone.
pub(super) struct Zones {
    capacity_bytes: u64,
    read: Vec<FlowRate>,
    write: Vec<FlowRate>,
    /// The slow stretches, in order of position, without overlap.
    slow: Vec<Slow>,
}

/// A stretch that is slower than its zone.
struct Slow {
    from_byte: u64,
    to_byte: u64,
    rate: FlowRate,
}

impl Zones {
    /// `factor` is the run's noise on every rate.
    pub(super) fn new(disk: &DiskDescription, factor: f64) -> Self {
        let rates = |outer: f64, inner: f64| {
            let last = f64::from(disk.zones.max(2) - 1);
            let rate = |zone| outer + (inner - outer) * f64::from(zone) / last;
            (0..disk.zones)
                .map(|zone| flow_rate(factor * rate(zone)))
                .collect()
        };
        Self {
            capacity_bytes: disk.capacity_bytes,
            read: rates(disk.read_bytes_per_s, disk.inner_read_bytes_per_s),
            write: rates(disk.write_bytes_per_s, disk.inner_write_bytes_per_s),
            slow: disk
                .slow
                .iter()
                .map(|slow| Slow {
                    from_byte: slow.at_bytes,
                    to_byte: slow.at_bytes + slow.for_bytes,
                    rate: flow_rate(factor * slow.to_bytes_per_s),
                })
                .collect(),
        }
    }

    /// The part of the range that has the rate of its first byte, and that rate. The range must
    /// begin within the capacity.
    pub(super) fn piece(
        &self,
        direction: MediumDirection,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> (u64, FlowRate) {
        let (piece_bytes, rate) = self.zone_piece(direction, offset_bytes, length_bytes);
        let mut ahead = self.slow.iter();
        match ahead.find(|slow| offset_bytes < slow.to_byte) {
            Some(slow) if offset_bytes >= slow.from_byte => {
                let left_bytes = slow.to_byte - offset_bytes;
                (piece_bytes.min(left_bytes), rate.min(slow.rate))
            }
            Some(slow) => (piece_bytes.min(slow.from_byte - offset_bytes), rate),
            None => (piece_bytes, rate),
        }
    }

    fn zone_piece(
        &self,
        direction: MediumDirection,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> (u64, FlowRate) {
        let rates = match direction {
            MediumDirection::Read => &self.read,
            MediumDirection::Write => &self.write,
        };
        if let [rate] = rates[..] {
            return (length_bytes, rate);
        }
        let capacity = u128::from(self.capacity_bytes);
        let zones = rates.len() as u128;
        let zone = u128::from(offset_bytes) * zones / capacity;
        // The first byte of the next zone is the first one for which the division gives zone + 1.
        let end = ((zone + 1) * capacity).div_ceil(zones);
        let piece = (end - u128::from(offset_bytes)).min(u128::from(length_bytes));
        let piece_bytes = u64::try_from(piece).expect("at most the length, which is 64-bit");
        let zone = usize::try_from(zone).expect("below the number of zones");
        (piece_bytes, rates[zone])
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine_file::SlowDescription;
    use super::*;

    #[test]
    fn rates_fall_by_the_formula_and_ranges_are_split() {
        let mut disk = DiskDescription::new("d", 1000, 120.0, 60.0);
        disk.inner_read_bytes_per_s = 60.0;
        disk.inner_write_bytes_per_s = 30.0;
        disk.zones = 4;
        let zones = Zones::new(&disk, 1.0);
        assert_eq!(
            zones.piece(MediumDirection::Read, 0, 100),
            (100, flow_rate(120.0))
        );
        assert_eq!(
            zones.piece(MediumDirection::Read, 200, 100),
            (50, flow_rate(120.0))
        );
        assert_eq!(
            zones.piece(MediumDirection::Read, 250, 100),
            (100, flow_rate(100.0))
        );
        assert_eq!(
            zones.piece(MediumDirection::Write, 500, 500),
            (250, flow_rate(40.0))
        );
        assert_eq!(
            zones.piece(MediumDirection::Write, 999, 1),
            (1, flow_rate(30.0))
        );
    }

    #[test]
    fn a_slow_stretch_is_a_piece_of_its_own() {
        let mut disk = DiskDescription::new("d", 1000, 120.0, 120.0);
        disk.slow = vec![SlowDescription {
            at_bytes: 300,
            for_bytes: 100,
            to_bytes_per_s: 20.0,
        }];
        let zones = Zones::new(&disk, 0.5);
        let piece = |offset, length| zones.piece(MediumDirection::Read, offset, length);
        assert_eq!(piece(0, 1000), (300, flow_rate(60.0)));
        assert_eq!(piece(300, 700), (100, flow_rate(10.0)));
        assert_eq!(piece(350, 10), (10, flow_rate(10.0)));
        assert_eq!(piece(400, 600), (600, flow_rate(60.0)));
    }

    #[test]
    fn every_byte_of_an_odd_capacity_has_one_zone() {
        let mut disk = DiskDescription::new("d", 1009, 70.0, 70.0);
        disk.inner_read_bytes_per_s = 10.0;
        disk.zones = 7;
        let zones = Zones::new(&disk, 1.0);
        let mut offset_bytes = 0;
        let mut pieces = Vec::new();
        while offset_bytes < 1009 {
            let piece = zones.piece(MediumDirection::Read, offset_bytes, 1009 - offset_bytes);
            offset_bytes += piece.0;
            pieces.push(piece);
        }
        assert_eq!(offset_bytes, 1009);
        assert_eq!(pieces.len(), 7);
        assert_eq!(pieces.last().unwrap().1, flow_rate(10.0));
        assert!(pieces.iter().all(|piece| piece.0 == 144 || piece.0 == 145));
    }
}
