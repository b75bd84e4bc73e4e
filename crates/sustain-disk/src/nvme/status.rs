//! Explains in plain words the status of an NVMe command that failed. Called for errors of
//! passthrough, for which no driver has made a plain error number. NVM Express Base Specification
//! 2.0, section 3.3.3.2.1, and the NVM Command Set Specification 1.0, section 3.

use std::fmt;

/// The status field of a completion without its phase bit, as the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u16);

/// The kind of status, which decides what to look at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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

impl Status {
    /// The type of the status: generic, of the command, of the medium, of the path, of the maker.
    fn code_type(self) -> u16 {
        self.0 >> 8 & 0x7
    }

    fn code(self) -> u16 {
        self.0 & 0xff
    }

    fn look_up(self) -> Option<(&'static str, Kind)> {
        match self.code_type() {
            0 => generic(self.code()),
            1 => of_command(self.code()),
            2 => of_medium(self.code()),
            3 => of_way(self.code()),
            _ => None,
        }
    }

    /// What to do next.
    pub(crate) fn advice(self) -> &'static str {
        match self.look_up().map(|(_, kind)| kind) {
            Some(Kind::Drive) => {
                "Look at the drive's own error counters (nvme smart-log, smartctl -x)"
            }
            Some(Kind::Command) => {
                "Look at the kernel log (dmesg); --path direct leaves the commands to the kernel"
            }
            Some(Kind::Protected) => {
                "Check the drive's protection and reservations (nvme get-feature)"
            }
            Some(Kind::Busy) => "Wait until the drive is done, and try again",
            Some(Kind::Way) => "Check the fabric, the slot and the other paths to the drive",
            None => "The NVMe specification, or the maker's documentation, explains this status",
        }
    }
}

impl fmt::Display for Status {
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

fn generic(code: u16) -> Option<(&'static str, Kind)> {
    Some(match code {
        0x01 => ("the drive does not know this command", Kind::Command),
        0x02 => (
            "a field of the command is not valid for this drive",
            Kind::Command,
        ),
        0x04 => (
            "the data could not be transferred to or from memory",
            Kind::Drive,
        ),
        0x05 => (
            "the command was aborted because of a power loss",
            Kind::Drive,
        ),
        0x06 => ("the drive has an internal error", Kind::Drive),
        0x07 => (
            "the command was aborted because the host asked for it",
            Kind::Command,
        ),
        0x08 => (
            "the command was aborted because its queue was deleted",
            Kind::Command,
        ),
        0x0b => (
            "the drive has no such namespace, or not in this format",
            Kind::Command,
        ),
        0x0c => ("the drive did not expect this command now", Kind::Command),
        0x13 => (
            "the list of memory pages has an invalid offset",
            Kind::Command,
        ),
        0x15 => ("the drive denies this operation", Kind::Protected),
        0x1c => (
            "the last sanitize operation failed, and the drive takes no other command before it is \
             repeated",
            Kind::Drive,
        ),
        0x1d => ("the drive is being sanitized", Kind::Busy),
        0x20 => ("the namespace is write protected", Kind::Protected),
        0x21 => ("the drive interrupted the command", Kind::Busy),
        0x22 => ("the path to the drive failed for a moment", Kind::Way),
        0x80 => (
            "the blocks lie beyond the end of the namespace",
            Kind::Command,
        ),
        0x81 => ("the namespace's capacity is used up", Kind::Drive),
        0x82 => ("the namespace is not ready", Kind::Busy),
        0x83 => ("another host has reserved the namespace", Kind::Protected),
        0x84 => ("the namespace is being formatted", Kind::Busy),
        _ => return None,
    })
}

fn of_command(code: u16) -> Option<(&'static str, Kind)> {
    Some(match code {
        0x80 => (
            "attributes of the command contradict each other",
            Kind::Command,
        ),
        0x81 => ("the protection information is not valid", Kind::Command),
        0x82 => ("these blocks are read-only", Kind::Protected),
        0x83 => ("the command is larger than the drive takes", Kind::Command),
        0xb8 => ("the blocks extend beyond the end of a zone", Kind::Command),
        0xb9 => ("the zone is full", Kind::Command),
        0xba => ("the zone is read-only", Kind::Protected),
        0xbb => ("the zone is offline", Kind::Drive),
        0xbc => (
            "a zone can be written only at its write pointer",
            Kind::Command,
        ),
        _ => return None,
    })
}

fn of_medium(code: u16) -> Option<(&'static str, Kind)> {
    Some(match code {
        0x80 => ("the medium could not be written", Kind::Drive),
        0x81 => ("the medium could not be read", Kind::Drive),
        0x82..=0x84 => (
            "the data does not match its protection information",
            Kind::Drive,
        ),
        0x86 => ("access to these blocks is denied", Kind::Protected),
        0x87 => ("these blocks were never written", Kind::Command),
        _ => return None,
    })
}

fn of_way(code: u16) -> Option<(&'static str, Kind)> {
    Some(match code {
        0x00 => ("the path to the drive has an internal error", Kind::Way),
        0x01 => ("this path has lost the namespace for good", Kind::Way),
        0x02 => ("the namespace cannot be reached by this path", Kind::Way),
        0x03 => ("this path is changing its state", Kind::Way),
        0x60 => (
            "the controller has lost its path to the namespace",
            Kind::Way,
        ),
        0x70 => ("the host has lost its path to the controller", Kind::Way),
        0x71 => ("the host aborted the command", Kind::Way),
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
            let text = Status(status).to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn retry_and_more_bits_do_not_change_what_is_told() {
        assert_eq!(Status(0x4281).to_string(), Status(0x0281).to_string());
        assert_eq!(Status(0x6281).advice(), Status(0x0281).advice());
    }

    #[test]
    fn advice_goes_by_what_failed() {
        assert!(Status(0x0280).advice().contains("smart-log"));
        assert!(Status(0x0020).advice().contains("protection"));
        assert!(Status(0x0084).advice().contains("Wait"));
        assert!(Status(0x0360).advice().contains("fabric"));
        assert!(Status(0x0002).advice().contains("--path direct"));
        assert!(Status(0x0712).advice().contains("maker"));
    }
}
