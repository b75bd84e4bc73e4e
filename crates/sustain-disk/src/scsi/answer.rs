//! Decides what a disk's answer to a command means: done, to be tried again, or failed. Called for
//! each command of passthrough. What is tried again is what the block layer tries again.

use super::SgHeader;
use super::fault::{HostStatus, ScsiFault, Sense};

const STATUS_GOOD: u8 = 0x00;
const STATUS_CHECK: u8 = 0x02;
const STATUS_BUSY: u8 = 0x08;
const STATUS_QUEUE_FULL: u8 = 0x28;

const KEY_NONE: u8 = 0x0;
const KEY_RECOVERED: u8 = 0x1;
const KEY_UNIT_ATTENTION: u8 = 0x6;
const KEY_ABORTED: u8 = 0xb;

/// What follows from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScsiAnswer {
    /// The command did all that it was to do.
    Done,
    /// It may go well if it is sent again.
    Again(ScsiFault),
    /// It failed.
    Failed(ScsiFault),
}

impl ScsiAnswer {
    /// Reads what the kernel left in a header, and in the memory for what the disk says about it.
    pub(crate) fn of(header: &SgHeader, sense: &[u8]) -> ScsiAnswer {
        let written = usize::from(header.sense_bytes).min(sense.len());
        let found = Sense::parse(&sense[..written]);
        // Before Linux 5.17 the lower half says that there is sense data, which is no fault.
        let driver = header.driver_status & 0x7;
        let is_moved = header.left_bytes == 0;
        judge(header.status, header.host_status, driver, found, is_moved)
    }
}

fn judge(status: u8, host: u16, driver: u16, sense: Option<Sense>, is_moved: bool) -> ScsiAnswer {
    let host = HostStatus(host);
    if let Some(sense) = sense
        && (status == STATUS_CHECK || !sense.is_empty())
    {
        let fault = ScsiFault::Sense(sense);
        return match sense.key() {
            // An error of an earlier command has lost what that one was to write.
            _ if sense.is_deferred() => ScsiAnswer::Failed(fault),
            KEY_NONE | KEY_RECOVERED if is_moved && host.is_good() => ScsiAnswer::Done,
            KEY_UNIT_ATTENTION | KEY_ABORTED => ScsiAnswer::Again(fault),
            _ => ScsiAnswer::Failed(fault),
        };
    }
    if !host.is_good() {
        let fault = ScsiFault::Host(host);
        return if host.passes() {
            ScsiAnswer::Again(fault)
        } else {
            ScsiAnswer::Failed(fault)
        };
    }
    match status {
        STATUS_GOOD if driver != 0 => ScsiAnswer::Failed(ScsiFault::Driver(driver)),
        STATUS_GOOD if is_moved => ScsiAnswer::Done,
        STATUS_GOOD => ScsiAnswer::Failed(ScsiFault::Short),
        STATUS_BUSY | STATUS_QUEUE_FULL => ScsiAnswer::Again(ScsiFault::Status(status)),
        _ => ScsiAnswer::Failed(ScsiFault::Status(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sense(bytes: &[u8]) -> Option<Sense> {
        Sense::parse(bytes)
    }

    const MEDIUM: &[u8] = &[0x72, 0x03, 0x11, 0x04, 0, 0, 0, 0];
    const RECOVERED: &[u8] = &[0x72, 0x01, 0x17, 0x01, 0, 0, 0, 0];
    const RESET: &[u8] = &[0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x29, 0, 0, 0, 0, 0];
    const ABORTED: &[u8] = &[0x70, 0, 0xb, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0];
    const DEFERRED: &[u8] = &[0x73, 0x03, 0x0c, 0x02, 0, 0, 0, 0];

    fn is_failed(answer: ScsiAnswer) -> bool {
        matches!(answer, ScsiAnswer::Failed(_))
    }

    fn is_tried_again(answer: ScsiAnswer) -> bool {
        matches!(answer, ScsiAnswer::Again(_))
    }

    #[test]
    fn good_is_only_what_was_moved_in_full() {
        assert_eq!(judge(0, 0, 0, None, true), ScsiAnswer::Done);
        assert_eq!(
            judge(0, 0, 0, None, false),
            ScsiAnswer::Failed(ScsiFault::Short)
        );
        assert_eq!(judge(2, 0, 0, sense(RECOVERED), true), ScsiAnswer::Done);
        assert!(is_failed(judge(2, 0, 0, sense(RECOVERED), false)));
        assert!(
            is_failed(judge(0, 0, 6, None, true)),
            "the kernel timed it out"
        );
        assert!(
            is_failed(judge(2, 0, 0, None, true)),
            "an error without a word"
        );
    }

    #[test]
    fn what_the_block_layer_tries_again_is_tried_again() {
        for bytes in [RESET, ABORTED] {
            assert!(is_tried_again(judge(2, 0, 0, sense(bytes), false)));
        }
        for status in [STATUS_BUSY, STATUS_QUEUE_FULL] {
            assert!(is_tried_again(judge(status, 0, 0, None, false)));
        }
        // The bus was reset; there is nobody.
        assert!(is_tried_again(judge(0, 8, 0, None, false)));
        assert!(is_failed(judge(0, 1, 0, None, false)));
    }

    #[test]
    fn errors_of_the_medium_are_not_and_those_of_earlier_writes_are_never_good() {
        assert!(is_failed(judge(2, 0, 0, sense(MEDIUM), false)));
        assert!(is_failed(judge(2, 0, 0, sense(DEFERRED), true)));
        assert!(
            is_failed(judge(0x18, 0, 0, None, true)),
            "reserved by another host"
        );
    }
}
