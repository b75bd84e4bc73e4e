//! The transfer mode in which a drive and its channel of ATA talk: PIO, in which the processor
//! moves each word, multiword DMA, or Ultra DMA. What is in use is libata's (`xfer_mode`); the best
//! of a drive and what it says of the cable are words of its IDENTIFY DEVICE (ATA/ATAPI-6, 8.12).
//! What the channel can do, the kernel reports nowhere. Called by the links of ATA.

use super::link_rate::{LinkRate, per_cycle};

/// A transfer mode, slower ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AtaMode {
    /// Programmed input and output.
    Pio(usize),
    /// Multiword DMA.
    MultiwordDma(usize),
    /// Ultra DMA.
    UltraDma(usize),
}

/// Cycle times of the modes from 0 on, in nanoseconds; each moves two bytes.
const PIO_CYCLES_NS: [u32; 7] = [600, 383, 240, 180, 120, 100, 80];
const MULTIWORD_DMA_CYCLES_NS: [u32; 5] = [480, 150, 120, 100, 80];
const ULTRA_DMA_CYCLES_NS: [u32; 7] = [120, 80, 60, 45, 30, 20, 15];
/// What people call the modes of Ultra DMA.
const ULTRA_DMA_NAMES: [&str; 7] = ["16", "25", "33", "44", "66", "100", "133"];

/// The fastest mode of Ultra DMA for which a cable of 40 wires will do.
const WIRES_40_MODE_MAX: usize = 2;

const MULTIWORD_DMA_WORD: usize = 63;
const PIO_WORD: usize = 64;
const ULTRA_DMA_WORD: usize = 88;
const CABLE_WORD: usize = 93;

impl AtaMode {
    /// Of the kernel's name: `XFER_UDMA_5`.
    pub(super) fn parse(text: &str) -> Option<AtaMode> {
        let text = text.strip_prefix("XFER_")?;
        let number = |prefix| text.strip_prefix(prefix)?.parse().ok();
        if let Some(mode) = number("UDMA_") {
            return Some(AtaMode::UltraDma(mode));
        }
        if let Some(mode) = number("MW_DMA_") {
            return Some(AtaMode::MultiwordDma(mode));
        }
        // The kernel's name for PIO without flow control.
        let slow = (text == "PIO_SLOW").then_some(0);
        number("PIO_").or(slow).map(AtaMode::Pio)
    }

    /// The most that it moves, as long as a burst lasts; `None` of a mode that is in no standard.
    pub(super) fn rate(self) -> Option<LinkRate> {
        let cycle_ns = match self {
            AtaMode::Pio(mode) => PIO_CYCLES_NS.get(mode),
            AtaMode::MultiwordDma(mode) => MULTIWORD_DMA_CYCLES_NS.get(mode),
            AtaMode::UltraDma(mode) => ULTRA_DMA_CYCLES_NS.get(mode),
        };
        cycle_ns.copied().map(per_cycle)
    }

    /// What people call it: `UDMA/100`, `PIO 4`.
    pub(super) fn name(self) -> String {
        match self {
            AtaMode::Pio(mode) => format!("PIO {mode}"),
            AtaMode::MultiwordDma(mode) => format!("multiword DMA {mode}"),
            AtaMode::UltraDma(mode) => match ULTRA_DMA_NAMES.get(mode) {
                Some(name) => format!("UDMA/{name}"),
                None => format!("UDMA mode {mode}"),
            },
        }
    }
}

/// What a drive says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtaDrive {
    /// The best mode that it can do.
    pub(super) best: AtaMode,
    /// Whether it sees a cable of 40 wires.
    pub(super) has_40_wires: bool,
}

impl AtaDrive {
    /// Of its identity, which are 256 words in hexadecimal digits.
    pub(super) fn parse(identity: &str) -> Option<AtaDrive> {
        let words: Vec<u16> = identity
            .split_whitespace()
            .map_while(|word| u16::from_str_radix(word, 16).ok())
            .collect();
        let word = |place: usize| {
            let word = words.get(place).copied().unwrap_or(0);
            // All ones, as no ones, mean that the drive does not have the word.
            if word == u16::MAX { 0 } else { word }
        };
        let highest = |word: u16, modes: usize| (0..modes).rev().find(|mode| word >> mode & 1 == 1);
        let ultra = highest(word(ULTRA_DMA_WORD), ULTRA_DMA_CYCLES_NS.len());
        let multiword = highest(word(MULTIWORD_DMA_WORD), 3);
        // Bits 0 and 1 are PIO 3 and 4.
        let pio = highest(word(PIO_WORD), 2).map(|bit| bit + 3);
        let best = ultra
            .map(AtaMode::UltraDma)
            .or(multiword.map(AtaMode::MultiwordDma))
            .or(pio.map(AtaMode::Pio))?;
        // Bits 15 and 14 are 01 if the word is valid; bit 13 is set where 80 wires are seen.
        let has_40_wires = word(CABLE_WORD) >> 13 == 0b010;
        Some(AtaDrive { best, has_40_wires })
    }
}

/// Why a mode is slower than what the drive can do, in words; `None` if it is not.
pub(super) fn why_slow(mode: AtaMode, drive: AtaDrive) -> Option<String> {
    if mode >= drive.best {
        return None;
    }
    let least = AtaMode::UltraDma(WIRES_40_MODE_MAX);
    let rest = match (drive.has_40_wires && drive.best > least, mode) {
        (true, mode) if mode <= least => {
            format!(
                ", but sees a cable of 40 wires, which carries {} at most: use one of 80 wires",
                least.name()
            )
        }
        (_, AtaMode::Pio(_)) => {
            "; in PIO the processor moves each word: look in the kernel log for why DMA is not used"
                .to_owned()
        }
        _ => "; what the channel can do is not reported, the kernel log may say it".to_owned(),
    };
    let (runs, can) = (mode.name(), drive.best.name());
    Some(format!("runs at {runs}; the drive can do {can}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An identity with these words, all others 0.
    fn identity(words: &[(usize, u16)]) -> String {
        let mut all = [0; 256];
        for (place, word) in words {
            all[*place] = *word;
        }
        let digits = all.map(|word: u16| format!("{word:04x}"));
        digits.join(" ")
    }

    #[test]
    fn modes_are_read_as_the_kernel_writes_them_and_have_their_published_rates() {
        for (text, name, rate) in [
            ("XFER_UDMA_5", "UDMA/100", 100.0),
            ("XFER_UDMA_2", "UDMA/33", 33.3),
            ("XFER_MW_DMA_2", "multiword DMA 2", 16.7),
            ("XFER_PIO_4", "PIO 4", 16.7),
            ("XFER_PIO_SLOW", "PIO 0", 3.3),
        ] {
            let mode = AtaMode::parse(text).unwrap();
            assert_eq!(mode.name(), name);
            let found = mode.rate().unwrap().bytes_per_s / 1e6;
            assert!((found - rate).abs() < 0.05, "{text}: {found}");
        }
        assert_eq!(AtaMode::parse("XFER_UDMA_7").unwrap().rate(), None);
        for text in ["", "XFER_", "UDMA_5", "XFER_UDMA_", "unknown"] {
            assert_eq!(AtaMode::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_drive_says_its_best_mode_and_its_cable() {
        let drive = |words: &[(usize, u16)]| AtaDrive::parse(&identity(words));
        let ultra = drive(&[(63, 0x0007), (64, 3), (88, 0x203f), (93, 0x600b)]).unwrap();
        assert_eq!(ultra.best, AtaMode::UltraDma(5));
        assert!(!ultra.has_40_wires);
        let cable = drive(&[(88, 0x003f), (93, 0x400b)]).unwrap();
        assert!(cable.has_40_wires);
        let old = drive(&[(63, 0x0403), (64, 3)]).unwrap();
        assert_eq!(old.best, AtaMode::MultiwordDma(1));
        assert_eq!(drive(&[(64, 3)]).unwrap().best, AtaMode::Pio(4));
        assert_eq!(drive(&[(88, u16::MAX)]), None);
        assert_eq!(AtaDrive::parse("no words"), None);
    }

    #[test]
    fn a_mode_below_the_drives_best_says_what_to_look_at() {
        let drive = |has_40_wires| AtaDrive {
            best: AtaMode::UltraDma(5),
            has_40_wires,
        };
        let told = |mode, has_40_wires| why_slow(mode, drive(has_40_wires));
        assert_eq!(told(AtaMode::UltraDma(5), true), None);
        assert_eq!(told(AtaMode::UltraDma(6), false), None);
        let told = |mode, has_40_wires| told(mode, has_40_wires).unwrap();
        assert_eq!(
            told(AtaMode::UltraDma(2), true),
            "runs at UDMA/33; the drive can do UDMA/100, but sees a cable of 40 wires, which \
             carries UDMA/33 at most: use one of 80 wires"
        );
        assert!(told(AtaMode::UltraDma(4), true).contains("what the channel can do"));
        assert!(told(AtaMode::UltraDma(2), false).contains("what the channel can do"));
        assert!(told(AtaMode::Pio(4), false).contains("the processor moves each word"));
    }
}
