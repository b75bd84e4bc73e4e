//! The English of what SCSI and SATA disks answer: SPC-4, 4.5.6 and annex F (sense keys and codes),
//! SAM-5, 5.3 (statuses), and scsi/scsi_status.h of Linux (statuses of the host).

use sustain_document::setting::PATH;

/// The kind of fault, which decides what to look at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScsiAdvice {
    /// The medium or the disk fails.
    Disk,
    /// The command does not fit this disk.
    Command,
    /// It may not be written or read.
    Protected,
    /// The disk is busy with something else, or stopped.
    Busy,
    /// No space is left.
    Space,
    /// The way to the disk fails.
    Way,
}

impl ScsiAdvice {
    pub(super) fn words(self) -> String {
        let fixed = match self {
            ScsiAdvice::Disk => "Look at the disk's own error counters (smartctl -x)",
            ScsiAdvice::Command => {
                return format!(
                    "Look at the kernel log (dmesg); {} leaves the commands to the kernel",
                    PATH.to("direct")
                );
            }
            ScsiAdvice::Protected => {
                "Check the disk's write protection, lock and reservations (hdparm -I, sg_persist)"
            }
            ScsiAdvice::Busy => "Wait until the disk is ready, and try again",
            ScsiAdvice::Space => "Free some space on what the disk is taken from",
            ScsiAdvice::Way => {
                "Look at the kernel log (dmesg), the disk's own error counters (smartctl -x), its \
                 cable and its power"
            }
        };
        fixed.to_owned()
    }
}

type Words = (&'static str, ScsiAdvice);

pub(super) fn of_sense(key: u8, code: u8, qualifier: u8) -> Words {
    match key {
        0x1 => ("the disk recovered from an error", ScsiAdvice::Disk),
        0x2 => not_ready(code, qualifier),
        0x3 => of_medium(code),
        0x4 => ("the disk has an internal error", ScsiAdvice::Disk),
        0x5 => refused(code),
        0x6 => attention(code),
        0x7 => protected(code, qualifier),
        0x8 => ("these blocks were never written", ScsiAdvice::Command),
        0xb => aborted(code),
        0xd => ("the disk's space is used up", ScsiAdvice::Space),
        0xe => ("the data does not match the medium", ScsiAdvice::Disk),
        _ => ("the disk could not do it", ScsiAdvice::Way),
    }
}

fn not_ready(code: u8, qualifier: u8) -> Words {
    let words = match (code, qualifier) {
        (0x04, 0x01) => "the disk is not ready: it is just starting",
        (0x04, 0x02) => "the disk is not ready: it is stopped and must be started",
        (0x04, 0x04) => "the disk is not ready: it is being formatted",
        (0x04, 0x1b) => "the disk is not ready: it is being sanitized",
        (0x04, 0x09) => "the disk is not ready: it tests itself",
        (0x3a, _) => return ("there is no medium in the disk", ScsiAdvice::Way),
        _ => "the disk is not ready",
    };
    (words, ScsiAdvice::Busy)
}

fn of_medium(code: u8) -> Words {
    let words = match code {
        0x03 | 0x0c => "the medium could not be written",
        0x10 => "the data does not match its protection information",
        0x11..=0x14 => "the medium could not be read",
        0x31 => "the medium is not formatted",
        0x32 => "the disk has no spare blocks left",
        _ => "the medium fails",
    };
    (words, ScsiAdvice::Disk)
}

fn refused(code: u8) -> Words {
    let words = match code {
        0x20 => "the disk does not know this command",
        0x21 => "the blocks lie beyond the end of the disk",
        0x24 | 0x26 => "a field of the command is not valid for this disk",
        0x2c => "the disk did not expect this command now",
        _ => "the disk refused the command",
    };
    (words, ScsiAdvice::Command)
}

fn attention(code: u8) -> Words {
    let words = match code {
        0x28 => "the medium may have been changed",
        0x29 => "the disk was reset, or its power failed",
        0x2a => "the disk's settings or its size were changed",
        _ => "something about the disk has changed",
    };
    (words, ScsiAdvice::Way)
}

fn protected(code: u8, qualifier: u8) -> Words {
    match (code, qualifier) {
        (0x27, 0x07) => ("the disk's space is used up", ScsiAdvice::Space),
        (0x27, _) => ("the disk is write protected", ScsiAdvice::Protected),
        (0x74, _) => ("the disk is locked", ScsiAdvice::Protected),
        _ => (
            "the disk denies access to these blocks",
            ScsiAdvice::Protected,
        ),
    }
}

fn aborted(code: u8) -> Words {
    match code {
        0x47 | 0x4b => (
            "data was damaged between the disk and its adapter",
            ScsiAdvice::Way,
        ),
        0x10 => (
            "the data does not match its protection information",
            ScsiAdvice::Disk,
        ),
        _ => ("the disk aborted the command", ScsiAdvice::Way),
    }
}

pub(super) fn of_status(status: u8) -> Words {
    match status {
        0x02 => (
            "the disk refused the command and did not say why",
            ScsiAdvice::Way,
        ),
        0x08 => ("the disk is busy", ScsiAdvice::Busy),
        0x18 => ("another host has reserved the disk", ScsiAdvice::Protected),
        0x28 => ("the disk's queue is full", ScsiAdvice::Busy),
        0x40 => ("the command was aborted by another host", ScsiAdvice::Way),
        _ => ("the disk refused the command", ScsiAdvice::Way),
    }
}

pub(super) fn of_host(status: u16) -> Words {
    let words = match status {
        0x01 | 0x04 => "there is no disk at this place any more",
        0x02 => "the bus to the disk stayed busy",
        0x03 => "the disk did not answer in time",
        0x05 => "the command was aborted by the kernel",
        0x06 => "data was damaged between the disk and its adapter",
        0x08 => "the bus to the disk was reset",
        0x0e | 0x0f => "the connection to the disk is lost",
        _ => "the adapter could not do it",
    };
    (words, ScsiAdvice::Way)
}
