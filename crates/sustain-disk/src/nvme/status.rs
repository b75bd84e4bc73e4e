//! Explains in plain words the status of an NVMe command that failed. Called for errors of
//! passthrough, for which no driver has made a plain error number. NVM Express Base Specification
//! 2.0, section 3.3.3.2.1, and the NVM Command Set Specification 1.0, section 3.

use std::fmt;

use sustain_document::setting::PATH;

/// The status field of a completion without its phase bit, as the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NvmeStatus(pub u16);

/// The kind of status, which decides what to look at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusAdvice {
    /// The medium or the drive fails.
    Drive,
    /// The command does not fit this drive, or was cut off.
    Command,
    /// It may not be written.
    Protected,
    /// The drive is busy with something else.
    Busy,
    /// The path to the drive fails.
    Way,
}

impl NvmeStatus {
    /// The type of the status: generic, of the command, of the medium, of the path, of the maker.
    fn code_type(self) -> u16 {
        self.0 >> 8 & 0x7
    }

    fn code(self) -> u16 {
        self.0 & 0xff
    }

    fn look_up(self) -> Option<(&'static str, StatusAdvice)> {
        match self.code_type() {
            0 => generic(self.code()),
            1 => of_command(self.code()),
            2 => of_medium(self.code()),
            3 => of_way(self.code()),
            _ => None,
        }
    }

    /// What to do next.
    pub(crate) fn advice(self) -> String {
        let fixed = match self.look_up().map(|(_, kind)| kind) {
            Some(StatusAdvice::Drive) => {
                "Look at the drive's own error counters (nvme smart-log, smartctl -x)"
            }
            Some(StatusAdvice::Command) => {
                return format!(
                    "Look at the kernel log (dmesg); {} leaves the commands to the kernel",
                    PATH.to("direct")
                );
            }
            Some(StatusAdvice::Protected) => {
                "Check the drive's protection and reservations (nvme get-feature)"
            }
            Some(StatusAdvice::Busy) => "Wait until the drive is done, and try again",
            Some(StatusAdvice::Way) => {
                "Check the fabric, the slot and the other paths to the drive"
            }
            None => "The NVMe specification, or the maker's documentation, explains this status",
        };
        fixed.to_owned()
    }
}

impl fmt::Display for NvmeStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, code) = (self.code_type(), self.code());
        match self.look_up() {
            Some((words, _)) => write!(formatter, "{words}")?,
            None if kind == 7 => {
                write!(formatter, "the drive returned a status of its maker's own")?;
            }
            None => write!(formatter, "the drive refused the command")?,
        }
        write!(formatter, " (NVMe status type {kind}, code 0x{code:02x})")
    }
}

fn generic(code: u16) -> Option<(&'static str, StatusAdvice)> {
    Some(match code {
        0x01 => (
            "the drive does not know this command",
            StatusAdvice::Command,
        ),
        0x02 => (
            "a field of the command is not valid for this drive",
            StatusAdvice::Command,
        ),
        0x04 => (
            "the data could not be transferred to or from memory",
            StatusAdvice::Drive,
        ),
        0x05 => (
            "the command was aborted because of a power loss",
            StatusAdvice::Drive,
        ),
        0x06 => ("the drive has an internal error", StatusAdvice::Drive),
        0x07 => (
            "the command was aborted because the host asked for it",
            StatusAdvice::Command,
        ),
        0x08 => (
            "the command was aborted because its queue was deleted",
            StatusAdvice::Command,
        ),
        0x0b => (
            "the drive has no such namespace, or not in this format",
            StatusAdvice::Command,
        ),
        0x0c => (
            "the drive did not expect this command now",
            StatusAdvice::Command,
        ),
        0x13 => (
            "the list of memory pages has an invalid offset",
            StatusAdvice::Command,
        ),
        0x15 => ("the drive denies this operation", StatusAdvice::Protected),
        0x1c => (
            "the last sanitize operation failed, and the drive takes no other command before it is \
             repeated",
            StatusAdvice::Drive,
        ),
        0x1d => ("the drive is being sanitized", StatusAdvice::Busy),
        0x20 => ("the namespace is write protected", StatusAdvice::Protected),
        0x21 => ("the drive interrupted the command", StatusAdvice::Busy),
        0x22 => (
            "the path to the drive failed for a moment",
            StatusAdvice::Way,
        ),
        0x80 => (
            "the blocks lie beyond the end of the namespace",
            StatusAdvice::Command,
        ),
        0x81 => ("the namespace's capacity is used up", StatusAdvice::Drive),
        0x82 => ("the namespace is not ready", StatusAdvice::Busy),
        0x83 => (
            "another host has reserved the namespace",
            StatusAdvice::Protected,
        ),
        0x84 => ("the namespace is being formatted", StatusAdvice::Busy),
        _ => return None,
    })
}

fn of_command(code: u16) -> Option<(&'static str, StatusAdvice)> {
    Some(match code {
        0x80 => (
            "attributes of the command contradict each other",
            StatusAdvice::Command,
        ),
        0x81 => (
            "the protection information is not valid",
            StatusAdvice::Command,
        ),
        0x82 => ("these blocks are read-only", StatusAdvice::Protected),
        0x83 => (
            "the command is larger than the drive takes",
            StatusAdvice::Command,
        ),
        0xb8 => (
            "the blocks extend beyond the end of a zone",
            StatusAdvice::Command,
        ),
        0xb9 => ("the zone is full", StatusAdvice::Command),
        0xba => ("the zone is read-only", StatusAdvice::Protected),
        0xbb => ("the zone is offline", StatusAdvice::Drive),
        0xbc => (
            "a zone can be written only at its write pointer",
            StatusAdvice::Command,
        ),
        _ => return None,
    })
}

fn of_medium(code: u16) -> Option<(&'static str, StatusAdvice)> {
    Some(match code {
        0x80 => ("the medium could not be written", StatusAdvice::Drive),
        0x81 => ("the medium could not be read", StatusAdvice::Drive),
        0x82..=0x84 => (
            "the data does not match its protection information",
            StatusAdvice::Drive,
        ),
        0x86 => ("access to these blocks is denied", StatusAdvice::Protected),
        0x87 => ("these blocks were never written", StatusAdvice::Command),
        _ => return None,
    })
}

fn of_way(code: u16) -> Option<(&'static str, StatusAdvice)> {
    Some(match code {
        0x00 => (
            "the path to the drive has an internal error",
            StatusAdvice::Way,
        ),
        0x01 => (
            "this path has lost the namespace for good",
            StatusAdvice::Way,
        ),
        0x02 => (
            "the namespace cannot be reached by this path",
            StatusAdvice::Way,
        ),
        0x03 => ("this path is changing its state", StatusAdvice::Way),
        0x60 => (
            "the controller has lost its path to the namespace",
            StatusAdvice::Way,
        ),
        0x70 => (
            "the host has lost its path to the controller",
            StatusAdvice::Way,
        ),
        0x71 => ("the host aborted the command", StatusAdvice::Way),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_told_in_words_and_by_their_numbers() {
        let told = [
            (
                0x0281,
                "the medium could not be read (NVMe status type 2, code 0x81)",
            ),
            (
                0x0080,
                "beyond the end of the namespace (NVMe status type 0, code 0x80)",
            ),
            (0x0182, "these blocks are read-only"),
            (0x0370, "lost its path to the controller"),
            (
                0x00f0,
                "the drive refused the command (NVMe status type 0, code 0xf0)",
            ),
            (
                0x0712,
                "a status of its maker's own (NVMe status type 7, code 0x12)",
            ),
        ];
        for (status, words) in told {
            let text = NvmeStatus(status).to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn retry_and_more_bits_do_not_change_what_is_told() {
        assert_eq!(
            NvmeStatus(0x4281).to_string(),
            NvmeStatus(0x0281).to_string()
        );
        assert_eq!(NvmeStatus(0x6281).advice(), NvmeStatus(0x0281).advice());
    }

    #[test]
    fn advice_goes_by_what_failed() {
        assert!(NvmeStatus(0x0280).advice().contains("smart-log"));
        assert!(NvmeStatus(0x0020).advice().contains("protection"));
        assert!(NvmeStatus(0x0084).advice().contains("Wait"));
        assert!(NvmeStatus(0x0360).advice().contains("fabric"));
        assert!(NvmeStatus(0x0002).advice().contains("I/O path direct"));
        assert!(NvmeStatus(0x0712).advice().contains("maker"));
    }
}
