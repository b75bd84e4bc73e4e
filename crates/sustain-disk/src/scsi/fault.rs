//! What a SCSI or SATA disk, or the driver on the way to it, says of a command that failed. Called
//! for errors of passthrough, for which no driver has made a plain error number. Sense data is
//! parsed as SPC-4, 4.5, describes it; a disk may return anything there.

use std::fmt;

use super::words;

/// The reason why a command of passthrough failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScsiFault {
    /// The disk says why.
    Sense(Sense),
    /// The disk returned a status without a reason.
    Status(u8),
    /// The adapter's driver could not do it.
    Host(HostStatus),
    /// The kernel's SCSI layer could not do it.
    Driver(u16),
    /// The disk moved fewer bytes than it was asked for, and reported no error.
    Short,
    /// The disk has no such blocks, and was not asked: not every disk says so by itself.
    Beyond,
    /// A flush went well, but the disk was reset or lost power after the flush before.
    Reset,
}

/// `host_status` of `struct sg_io_hdr`, scsi/scsi_status.h of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostStatus(pub u16);

impl HostStatus {
    pub(crate) fn is_good(self) -> bool {
        self.0 == 0
    }

    /// Whether the same command may go well the next time: the bus was busy or reset, or the driver
    /// asks for it.
    pub(crate) fn passes(self) -> bool {
        matches!(self.0, 0x02 | 0x08 | 0x0b | 0x0c | 0x0d)
    }
}

/// What a disk says about a command that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sense {
    key: u8,
    code: u8,
    qualifier: u8,
    is_deferred: bool,
    /// The block that failed, if the disk names one.
    block: Option<u64>,
}

/// A descriptor that names the block that failed.
const DESCRIPTOR_INFORMATION: u8 = 0x00;

impl Sense {
    /// Parses sense data in either format; what is cut off counts as 0. `None` if it has neither.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Sense> {
        let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
        let format = at(0) & 0x7f;
        let is_deferred = format & 1 == 1;
        match format {
            0x70 | 0x71 => Some(Sense {
                key: at(2) & 0xf,
                code: at(12),
                qualifier: at(13),
                is_deferred,
                block: (at(0) & 0x80 != 0)
                    .then(|| number(bytes.get(3..7)))
                    .flatten(),
            }),
            0x72 | 0x73 => Some(Sense {
                key: at(1) & 0xf,
                code: at(2),
                qualifier: at(3),
                is_deferred,
                block: information(bytes.get(8..).unwrap_or_default()),
            }),
            _ => None,
        }
    }

    /// Whether it says that the disk was reset, or had lost power (SPC-4, code 29).
    pub(crate) fn tells_of_reset(self) -> bool {
        (self.key, self.code) == (0x6, 0x29)
    }

    pub(crate) fn key(self) -> u8 {
        self.key
    }

    /// Whether it is about a command before the one that returned it.
    pub(crate) fn is_deferred(self) -> bool {
        self.is_deferred
    }

    /// Whether it says that nothing has happened.
    pub(crate) fn is_empty(self) -> bool {
        (self.key, self.code, self.qualifier) == (0, 0, 0)
    }
}

/// The block in the descriptors that follow the header, of which each has its length.
fn information(mut descriptors: &[u8]) -> Option<u64> {
    while let [kind, length, rest @ ..] = descriptors {
        let (content, behind) = rest.split_at_checked(usize::from(*length))?;
        if *kind == DESCRIPTOR_INFORMATION {
            let is_valid = content.first().is_some_and(|flags| flags & 0x80 != 0);
            return number(content.get(2..10)).filter(|_| is_valid);
        }
        descriptors = behind;
    }
    None
}

fn number(bytes: Option<&[u8]>) -> Option<u64> {
    Some(
        bytes?
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    )
}

impl ScsiFault {
    /// What to do next.
    pub(crate) fn advice(self) -> String {
        let kind = match self {
            ScsiFault::Sense(sense) => words::of_sense(sense.key, sense.code, sense.qualifier).1,
            ScsiFault::Status(status) => words::of_status(status).1,
            ScsiFault::Host(host) => words::of_host(host.0).1,
            ScsiFault::Driver(_) | ScsiFault::Short | ScsiFault::Reset => words::ScsiAdvice::Way,
            ScsiFault::Beyond => words::ScsiAdvice::Command,
        };
        kind.words()
    }
}

impl fmt::Display for ScsiFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ScsiFault::Sense(sense) => sense.fmt(formatter),
            ScsiFault::Status(status) => {
                let what = words::of_status(status).0;
                write!(formatter, "{what} (SCSI status 0x{status:02x})")
            }
            ScsiFault::Host(host) => {
                let what = words::of_host(host.0).0;
                write!(formatter, "{what} (SCSI host status 0x{:02x})", host.0)
            }
            ScsiFault::Driver(status) => write!(
                formatter,
                "the kernel could not complete the command (SCSI driver status 0x{status:02x})"
            ),
            ScsiFault::Short => {
                write!(
                    formatter,
                    "the disk moved fewer bytes than it was asked for"
                )
            }
            ScsiFault::Beyond => write!(formatter, "the blocks lie beyond the end of the disk"),
            ScsiFault::Reset => write!(
                formatter,
                "the disk was reset, or lost power: what was only in its cache may be lost"
            ),
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sense {
            key,
            code,
            qualifier,
            ..
        } = *self;
        if self.is_deferred {
            write!(formatter, "of an earlier command, ")?;
        }
        write!(formatter, "{}", words::of_sense(key, code, qualifier).0)?;
        if let Some(block) = self.block {
            write!(formatter, " at block {block}")?;
        }
        write!(
            formatter,
            " (SCSI sense key {key:x}, code {code:02x}/{qualifier:02x})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> String {
        ScsiFault::Sense(Sense::parse(bytes).unwrap()).to_string()
    }

    fn advice(bytes: &[u8]) -> String {
        ScsiFault::Sense(Sense::parse(bytes).unwrap()).advice()
    }

    /// libata, for a sector that a SATA disk could not read: descriptors of the block and of the
    /// ATA registers.
    const ATA_MEDIUM: &[u8] = &[
        0x72, 0x03, 0x11, 0x04, 0, 0, 0, 0x1a, 0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x08,
        0x09, 0x0c, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0,
    ];
    /// A SAS disk in the fixed format, with a block of 32 bits.
    const FIXED_MEDIUM: &[u8] = &[
        0xf0, 0, 0x03, 0x01, 0x02, 0x03, 0x04, 10, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0,
    ];
    const PROTECTED: &[u8] = &[
        0x70, 0, 0x07, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x27, 0, 0, 0, 0, 0,
    ];
    const SPUN_DOWN: &[u8] = &[
        0x70, 0, 0x02, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x04, 0x02, 0, 0, 0, 0,
    ];
    const ABORTED: &[u8] = &[
        0x70, 0, 0x0b, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x47, 0x03, 0, 0, 0, 0,
    ];
    const BEYOND: &[u8] = &[0x72, 0x05, 0x21, 0, 0, 0, 0, 0];
    const DEFERRED: &[u8] = &[
        0x71, 0, 0x03, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x0c, 0x02, 0, 0, 0, 0,
    ];

    #[test]
    fn recorded_sense_is_told_in_words_with_the_block() {
        for (bytes, words) in [
            (
                ATA_MEDIUM,
                "the medium could not be read at block 1048584 (SCSI sense key 3, code 11/04)",
            ),
            (
                FIXED_MEDIUM,
                "the medium could not be read at block 16909060 (SCSI sense key 3, code 11/00)",
            ),
            (
                PROTECTED,
                "the disk is write protected (SCSI sense key 7, code 27/00)",
            ),
            (
                SPUN_DOWN,
                "the disk is not ready: it is stopped and must be started",
            ),
            (ABORTED, "data was damaged between the disk and its adapter"),
            (BEYOND, "the blocks lie beyond the end of the disk"),
            (
                DEFERRED,
                "of an earlier command, the medium could not be written",
            ),
        ] {
            let text = told(bytes);
            assert!(text.starts_with(words), "{text}");
        }
    }

    #[test]
    fn advice_goes_by_what_failed() {
        assert!(advice(ATA_MEDIUM).contains("smartctl"));
        assert!(advice(PROTECTED).contains("protection"));
        assert!(advice(SPUN_DOWN).contains("ready"));
        assert!(advice(ABORTED).contains("cable"));
        assert!(advice(BEYOND).contains("I/O path direct"));
        assert!(ScsiFault::Host(HostStatus(1)).advice().contains("cable"));
        assert!(ScsiFault::Status(0x18).advice().contains("protection"));
        assert!(ScsiFault::Short.advice().contains("dmesg"));
    }

    #[test]
    fn what_is_no_sense_data_is_none_and_what_is_cut_off_is_no_block() {
        assert_eq!(Sense::parse(&[]), None);
        assert_eq!(Sense::parse(&[0; 252]), None);
        assert_eq!(Sense::parse(&[0x7f, 3, 0x11]), None);
        let cut = Sense::parse(&FIXED_MEDIUM[..5]).unwrap();
        assert_eq!((cut.key, cut.code, cut.block), (3, 0, None));
        for length in 0..ATA_MEDIUM.len() {
            let parsed = Sense::parse(&ATA_MEDIUM[..length]);
            let block = parsed.and_then(|sense| sense.block);
            assert_eq!(block.is_some(), length >= 20, "{length} bytes");
        }
        // A descriptor may have no length, or claim more than there is.
        let mut endless = ATA_MEDIUM.to_vec();
        endless[8..10].copy_from_slice(&[2, 0]);
        assert!(Sense::parse(&endless).is_some());
        endless[9] = 255;
        assert_eq!(Sense::parse(&endless).unwrap().block, None);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut state = 7_u64;
        for _ in 0..20_000 {
            let mut bytes = [0; 40];
            for byte in &mut bytes {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = (state >> 33) as u8;
            }
            bytes[0] = 0x70 | bytes[0] & 0x83;
            let length = usize::from(bytes[39]) % 40;
            if let Some(sense) = Sense::parse(&bytes[..length]) {
                assert!(!ScsiFault::Sense(sense).to_string().is_empty());
                assert!(!ScsiFault::Sense(sense).advice().is_empty());
            }
        }
    }

    #[test]
    fn drivers_and_statuses_are_told_too() {
        assert_eq!(
            ScsiFault::Host(HostStatus(3)).to_string(),
            "the disk did not answer in time (SCSI host status 0x03)"
        );
        let reserved = ScsiFault::Status(0x18).to_string();
        assert!(reserved.contains("another host has reserved"), "{reserved}");
    }
}
