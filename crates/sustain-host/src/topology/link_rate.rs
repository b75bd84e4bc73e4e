//! The rate that a link carries in one direction after its line encoding, with its formula. Called
//! by each family of hops; docs/devices.md has the same formulas with their references. Headers of
//! packets and frames are not subtracted, except on USB 2, whose specification has the exact number
//! of packets. A speed that is not in the standard has no rate.

/// A rate and how it is computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkRate {
    /// Bytes per second in one direction.
    pub(super) bytes_per_s: f64,
    /// The same as a sum that a person can check: `8 GT/s x 4 x 128/130 / 8`.
    pub(super) formula: String,
}

impl LinkRate {
    fn encoded(speed_mega: u32, unit: &str, lanes: u32, (payload, coded): (u32, u32)) -> LinkRate {
        let speed = giga(speed_mega);
        let times = if lanes == 1 {
            String::new()
        } else {
            format!(" x {lanes}")
        };
        let bits_per_s = f64::from(speed_mega) * 1e6 * f64::from(lanes);
        LinkRate {
            bytes_per_s: bits_per_s * f64::from(payload) / f64::from(coded) / 8.0,
            formula: format!("{speed} {unit}{times} x {payload}/{coded} / 8"),
        }
    }
}

/// `2.5` of 2500, `8` of 8000.
pub(super) fn giga(mega: u32) -> String {
    let text = format!("{}.{:03}", mega / 1000, mega % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reads the number in front of `8.0 GT/s PCIe` or `6.0 Gbps` as thousandths: 8000, 6000.
pub(super) fn parse_giga(text: &str) -> Option<u32> {
    let number: f64 = text.split_whitespace().next()?.parse().ok()?;
    (number > 0.0 && number < 1000.0).then(|| (number * 1000.0).round() as u32)
}

/// PCI Express: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, flits at 64 GT/s, of whose 256 bytes
/// 14 are check bytes.
pub(super) fn pcie(megatransfers_per_s: u32, lanes: u32) -> Option<LinkRate> {
    let encoding = match megatransfers_per_s {
        2500 | 5000 => (8, 10),
        8000 | 16_000 | 32_000 => (128, 130),
        64_000 => (242, 256),
        _ => return None,
    };
    (1..=32)
        .contains(&lanes)
        .then(|| LinkRate::encoded(megatransfers_per_s, "GT/s", lanes, encoding))
}

/// The generation of a speed of PCI Express, as people call it.
pub(super) fn pcie_generation(megatransfers_per_s: u32) -> Option<&'static str> {
    Some(match megatransfers_per_s {
        2500 => "1.0",
        5000 => "2.0",
        8000 => "3.0",
        16_000 => "4.0",
        32_000 => "5.0",
        64_000 => "6.0",
        _ => return None,
    })
}

/// Serial ATA: 8b/10b at each of its three speeds.
pub(super) fn sata(megabits_per_s: u32) -> Option<LinkRate> {
    matches!(megabits_per_s, 1500 | 3000 | 6000)
        .then(|| LinkRate::encoded(megabits_per_s, "Gbit/s", 1, (8, 10)))
}

/// Parallel ATA: two bytes each cycle of the transfer mode. Both disks of a cable share it.
pub(super) fn per_cycle(cycle_ns: u32) -> LinkRate {
    LinkRate {
        bytes_per_s: 2.0 / (f64::from(cycle_ns) * 1e-9),
        formula: format!("2 B / {cycle_ns} ns"),
    }
}

/// Serial Attached SCSI, a port of some phys at one speed: 8b/10b up to 12 Gbit/s; at 22.5 Gbit/s
/// 128b/150b, error correction included.
pub(super) fn sas(megabits_per_s: u32, phys: u32) -> Option<LinkRate> {
    let encoding = match megabits_per_s {
        1500 | 3000 | 6000 | 12_000 => (8, 10),
        22_500 => (128, 150),
        _ => return None,
    };
    (phys > 0).then(|| LinkRate::encoded(megabits_per_s, "Gbit/s", phys, encoding))
}

/// USB: SuperSpeed 5 Gbit/s with 8b/10b, 10 Gbit/s with 128b/132b, each over one or two lanes. Of
/// USB 2 the bulk packets that fit: 13 of 512 bytes in 125 us, 19 of 64 bytes in 1 ms.
pub(super) fn usb(megabits_per_s: u32, lanes: u32) -> Option<LinkRate> {
    let packets = |count: u32, bytes: u32, time: &str, seconds: f64| LinkRate {
        bytes_per_s: f64::from(count * bytes) / seconds,
        formula: format!("{count} x {bytes} B / {time}"),
    };
    Some(match (megabits_per_s, lanes) {
        (12, _) => packets(19, 64, "1 ms", 1e-3),
        (480, _) => packets(13, 512, "125 us", 125e-6),
        (5000, 1) => LinkRate::encoded(5000, "Gbit/s", 1, (8, 10)),
        // Twice the lanes of the first generation, not the second generation.
        (10_000, 2) => LinkRate::encoded(5000, "Gbit/s", 2, (8, 10)),
        (10_000, _) => LinkRate::encoded(10_000, "Gbit/s", 1, (128, 132)),
        (20_000, _) => LinkRate::encoded(10_000, "Gbit/s", 2, (128, 132)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_rate(rate: Option<LinkRate>, megabytes_per_s: f64, formula: &str) {
        let rate = rate.unwrap();
        assert_eq!(rate.formula, formula);
        let found = rate.bytes_per_s / 1e6;
        assert!(
            (found - megabytes_per_s).abs() < 0.01,
            "{found} MB/s is not {megabytes_per_s} for {formula}"
        );
        assert!((evaluate(formula) - rate.bytes_per_s).abs() < 1.0);
    }

    /// Works a formula out as a person would: left to right, units and all.
    fn evaluate(formula: &str) -> f64 {
        let mut value = 1.0;
        let mut divides = false;
        for word in formula.split(' ') {
            let factor = match word {
                "x" => continue,
                "/" => {
                    divides = true;
                    continue;
                }
                "B" => 1.0,
                // A unit after a divisor belongs to it.
                "us" => 1e6,
                "ms" => 1e3,
                "ns" => 1e9,
                "GT/s" | "Gbit/s" => 1e9,
                fraction if fraction.contains('/') => {
                    let (above, below) = fraction.split_once('/').unwrap();
                    above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
                }
                number => number.parse().unwrap(),
            };
            value = if std::mem::take(&mut divides) {
                value / factor
            } else {
                value * factor
            };
        }
        value
    }

    #[test]
    fn each_generation_of_pcie_has_its_published_rate() {
        assert_rate(pcie(2500, 1), 250.0, "2.5 GT/s x 8/10 / 8");
        assert_rate(pcie(5000, 16), 8000.0, "5 GT/s x 16 x 8/10 / 8");
        assert_rate(pcie(8000, 4), 3938.46, "8 GT/s x 4 x 128/130 / 8");
        assert_rate(pcie(16_000, 4), 7876.92, "16 GT/s x 4 x 128/130 / 8");
        assert_rate(pcie(32_000, 2), 7876.92, "32 GT/s x 2 x 128/130 / 8");
        assert_rate(pcie(64_000, 1), 7562.5, "64 GT/s x 242/256 / 8");
        assert_eq!(pcie(4000, 1), None);
        assert_eq!(pcie(8000, 0), None);
        assert_eq!(pcie(8000, 255), None, "the register's word for not known");
    }

    #[test]
    fn sata_sas_and_parallel_ata_have_their_published_rates() {
        assert_rate(sata(1500), 150.0, "1.5 Gbit/s x 8/10 / 8");
        assert_rate(sata(6000), 600.0, "6 Gbit/s x 8/10 / 8");
        assert_eq!(sata(12_000), None);
        assert_rate(sas(12_000, 1), 1200.0, "12 Gbit/s x 8/10 / 8");
        assert_rate(sas(12_000, 4), 4800.0, "12 Gbit/s x 4 x 8/10 / 8");
        assert_rate(sas(22_500, 1), 2400.0, "22.5 Gbit/s x 128/150 / 8");
        assert_eq!(sas(6000, 0), None);
        assert_rate(Some(per_cycle(60)), 33.33, "2 B / 60 ns");
    }

    #[test]
    fn usb_has_its_published_rates() {
        assert_rate(usb(12, 1), 1.216, "19 x 64 B / 1 ms");
        assert_rate(usb(480, 1), 53.248, "13 x 512 B / 125 us");
        assert_rate(usb(5000, 1), 500.0, "5 Gbit/s x 8/10 / 8");
        assert_rate(usb(10_000, 1), 1212.12, "10 Gbit/s x 128/132 / 8");
        assert_rate(usb(10_000, 2), 1000.0, "5 Gbit/s x 2 x 8/10 / 8");
        assert_rate(usb(20_000, 2), 2424.24, "10 Gbit/s x 2 x 128/132 / 8");
        assert_eq!(usb(1, 1), None);
    }

    #[test]
    fn speeds_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_giga("2.5 GT/s PCIe"), Some(2500));
        assert_eq!(parse_giga("16 GT/s"), Some(16_000));
        assert_eq!(parse_giga("22.5 Gbit"), Some(22_500));
        for text in ["Unknown", "<unknown>", "", "-1", "nan", "inf", "1e30"] {
            assert_eq!(parse_giga(text), None, "{text}");
        }
        assert_eq!(giga(2500), "2.5");
        assert_eq!(giga(22_500), "22.5");
        assert_eq!(giga(64_000), "64");
    }
}
