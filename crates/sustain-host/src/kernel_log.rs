//! Reads lines of the kernel log about given devices: errors, timeouts, resets. The measuring
//! program opens the log before a run and polls it once a second. Polling never blocks, never shows
//! what was logged before the log was opened, and says so when lines were lost.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;

use crate::error::HostError;

/// One read returns one record, and fails if that does not fit; the kernel keeps records below this
/// size.
const RECORD_BYTES_MAX: usize = 16 * 1024;
/// A bound on one poll, so that a flood of messages cannot hold up the caller; the rest comes with
/// the next poll.
const RECORDS_PER_POLL_MAX: usize = 10_000;
/// syslog's "warning", under which lost lines are reported.
const LEVEL_WARNING: u8 = 4;

/// One line of the kernel log.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelLogLine {
    /// The time by the kernel log's own clock. It starts at boot, is not corrected by NTP, and may
    /// drift from the monotonic clock by some ten parts per million.
    pub time_s_since_boot: f64,
    /// syslog level: 0 emergency, 3 error, 4 warning, 6 information, 7 debugging.
    pub level: u8,
    /// The line.
    pub text: String,
}

/// The kernel log from a moment on.
#[derive(Debug)]
pub struct KernelLog {
    descriptor: OwnedFd,
    buffer: Vec<u8>,
}

/// A record of /dev/kmsg.
#[derive(Debug, PartialEq)]
struct Record {
    message: KernelLogLine,
    /// The lines of `KEY=value` that say which device the message is about.
    dictionary: String,
}

impl KernelLog {
    /// Opens the log after its last line.
    ///
    /// # Errors
    /// `HostError::KernelLog` if this user or container may not read it.
    pub fn open() -> Result<KernelLog, HostError> {
        let failed = |errno: Errno| HostError::KernelLog {
            error: errno.into(),
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open("/dev/kmsg", flags, Mode::empty()).map_err(failed)?;
        rustix::fs::seek(&descriptor, SeekFrom::End(0)).map_err(failed)?;
        Ok(KernelLog {
            descriptor,
            buffer: vec![0; RECORD_BYTES_MAX],
        })
    }

    /// The lines since the last poll that mention one of these names as a whole word. Give a device
    /// all its names: `log_names`.
    pub fn poll(&mut self, names: &[String]) -> Vec<KernelLogLine> {
        let descriptor = &self.descriptor;
        drain(
            |buffer| rustix::io::read(descriptor, buffer),
            &mut self.buffer,
            names,
        )
    }
}

fn drain(
    mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>,
    buffer: &mut [u8],
    names: &[String],
) -> Vec<KernelLogLine> {
    let mut messages: Vec<KernelLogLine> = Vec::new();
    let mut lost = false;
    let mut time_s_last = 0.0;
    for _ in 0..RECORDS_PER_POLL_MAX {
        let count = match read(buffer) {
            Ok(count) => count,
            // The kernel overwrote what was not yet read; the next read goes on after the gap.
            Err(Errno::PIPE) => {
                lost = true;
                continue;
            }
            Err(Errno::INTR) => continue,
            // AGAIN means that there is nothing more for now. Any other error will not go away
            // within this poll.
            Err(_) => break,
        };
        let Some(record) = parse_record(&buffer[..count]) else {
            continue;
        };
        time_s_last = record.message.time_s_since_boot;
        if std::mem::take(&mut lost) {
            messages.push(lines_lost(time_s_last));
        }
        if names.iter().any(|name| record.mentions(name)) {
            messages.push(record.message);
        }
    }
    if lost {
        messages.push(lines_lost(time_s_last));
    }
    messages
}

fn lines_lost(time_s_since_boot: f64) -> KernelLogLine {
    let text = "kernel log lines before this one were lost: they came faster than they were read";
    KernelLogLine {
        time_s_since_boot,
        level: LEVEL_WARNING,
        text: text.to_owned(),
    }
}

impl Record {
    fn mentions(&self, name: &str) -> bool {
        has_word(&self.message.text, name) || has_word(&self.dictionary, name)
    }
}

/// `6,1234,5678901,-;text`, then lines ` KEY=value` (Documentation/ABI/testing/dev-kmsg): facility
/// and level, sequence, microseconds, flags, and fields that later kernels may add.
fn parse_record(record: &[u8]) -> Option<Record> {
    let record = String::from_utf8_lossy(record);
    let (prefix, rest) = record.split_once(';')?;
    let (text, dictionary) = rest.split_once('\n').unwrap_or((rest, ""));
    let mut fields = prefix.split(',');
    let facility_and_level: u32 = fields.next()?.parse().ok()?;
    let time_us: u64 = fields.nth(1)?.parse().ok()?;
    let level = u8::try_from(facility_and_level & 7).ok()?;
    let message = KernelLogLine {
        time_s_since_boot: time_us as f64 / 1e6,
        level,
        text: unescaped(text),
    };
    Some(Record {
        message,
        dictionary: dictionary.to_owned(),
    })
}

/// The text as it was logged: the kernel writes a backslash, and every byte that is not printable
/// ASCII, as `\xNN`. Control characters become spaces, so that a line stays one.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let digits = behind.get(..2);
        rest = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(if byte.is_ascii_control() { b' ' } else { byte });
                &behind[2..]
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                behind
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// Whether the name stands in the text with no letter or digit beside it: `sda` is in `[sda]` and
/// `dev sda,`, not in `sda1`; `ata2` is in `ata2.00:`, not in `ata20`.
fn has_word(text: &str, name: &str) -> bool {
    let part_of_word = |c: char| c.is_ascii_alphanumeric();
    !name.is_empty()
        && text.match_indices(name).any(|(start, _)| {
            !text[..start].ends_with(part_of_word)
                && !text[start + name.len()..].starts_with(part_of_word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Polls a log that gives these answers and then has nothing more.
    fn poll(answers: &[Result<&str, Errno>], watched: &[&str]) -> Vec<KernelLogLine> {
        let mut answers = answers.iter();
        let read = |buffer: &mut [u8]| match answers.next() {
            Some(Ok(record)) => {
                buffer[..record.len()].copy_from_slice(record.as_bytes());
                Ok(record.len())
            }
            Some(Err(errno)) => Err(*errno),
            None => Err(Errno::AGAIN),
        };
        drain(read, &mut [0; 1024], &names(watched))
    }

    #[test]
    fn a_record_is_taken_apart() {
        let record = "3,1234,5678901,-;I/O error, dev sda, sector 8; twice\n SUBSYSTEM=block\n \
                      DEVICE=b8:0\n";
        let record = parse_record(record.as_bytes()).unwrap();
        assert_eq!(record.message.level, 3);
        assert!((record.message.time_s_since_boot - 5.678_901).abs() < 1e-9);
        assert_eq!(record.message.text, "I/O error, dev sda, sector 8; twice");
        assert_eq!(record.dictionary, " SUBSYSTEM=block\n DEVICE=b8:0\n");
    }

    #[test]
    fn escaped_bytes_are_shown_as_they_were_logged() {
        assert_eq!(unescaped("nvme0: gone\\x0a"), "nvme0: gone");
        assert_eq!(unescaped("a\\x09b\\x5cc"), "a b\\c");
        assert_eq!(unescaped("25 \\xc2\\xb0C"), "25 \u{b0}C");
        assert_eq!(unescaped("0\\x, \\xz1 and \\x"), "0\\x, \\xz1 and \\x");
    }

    #[test]
    fn facility_and_added_fields_do_not_disturb() {
        let record = parse_record(b"30,7,42,-,caller=T17;from user space\n").unwrap();
        assert_eq!(record.message.level, 6);
        assert_eq!(record.message.text, "from user space");
    }

    #[test]
    fn what_is_no_record_is_left_out() {
        for bytes in [
            &b""[..],
            b"no semicolon",
            b"x,1,2,-;text",
            b"6,1;text",
            b"\xff,;",
        ] {
            assert_eq!(parse_record(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn whole_words_only() {
        for (text, name) in [
            ("sd 1:0:0:0: [sda] tag#3 FAILED", "sda"),
            ("I/O error, dev sda, sector 2048", "sda"),
            ("EXT4-fs (sda1): error count", "sda1"),
            ("ata2.00: exception Emask 0x0", "ata2"),
            ("ata2: hard resetting link", "ata2"),
            ("nvme nvme0: I/O 5 QID 3 timeout, aborting", "nvme0"),
            ("sd 1:0:0:0: Device offlined", "1:0:0:0"),
            ("md/raid:md0: Disk failure", "md0"),
            ("usb 2-1: reset SuperSpeed USB device", "usb 2-1"),
            ("sda", "sda"),
        ] {
            assert!(has_word(text, name), "{name} in {text}");
        }
        for (text, name) in [
            ("I/O error, dev sda1, sector 2048", "sda"),
            ("I/O error, dev sdaa", "sda"),
            ("ata20: hard resetting link", "ata2"),
            ("nvme0n1: p1", "nvme0"),
            ("sd 11:0:0:0: Device offlined", "1:0:0:0"),
            ("anything", ""),
        ] {
            assert!(!has_word(text, name), "{name} in {text}");
        }
    }

    #[test]
    fn only_lines_about_the_devices_are_kept() {
        let found = poll(
            &[
                Ok("6,1,1000000,-;eth0: link up\n"),
                Ok("3,2,2000000,-;I/O error, dev loop3, sector 0\n"),
                Ok("6,3,2500000,-;Synchronizing cache\n SUBSYSTEM=scsi\n DEVICE=+scsi:1:0:0:0\n"),
                Ok("3,4,3000000,-;I/O error, dev loop30, sector 0\n"),
            ],
            &["loop3", "1:0:0:0"],
        );
        let texts: Vec<&str> = found.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(
            texts,
            ["I/O error, dev loop3, sector 0", "Synchronizing cache"]
        );
    }

    #[test]
    fn lost_lines_are_said_once_at_their_place() {
        let found = poll(
            &[
                Ok("6,1,1000000,-;loop3: one\n"),
                Err(Errno::PIPE),
                Err(Errno::INTR),
                Ok("6,9,2000000,-;other\n"),
                Ok("6,10,3000000,-;loop3: two\n"),
            ],
            &["loop3"],
        );
        let times: Vec<f64> = found
            .iter()
            .map(|message| message.time_s_since_boot)
            .collect();
        assert_eq!(times, [1.0, 2.0, 3.0]);
        assert!(found[1].text.contains("lost"), "{}", found[1].text);
        let at_the_end = poll(&[Err(Errno::PIPE)], &["loop3"]);
        assert_eq!(at_the_end.len(), 1);
    }

    #[test]
    fn a_dead_log_ends_the_poll() {
        assert_eq!(
            poll(&[Err(Errno::IO), Ok("6,1,1,-;loop3\n")], &["loop3"]),
            []
        );
    }
}
