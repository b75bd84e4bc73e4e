//! One connection: lines come in, each is answered by a line. Nothing here waits, what is kept is
//! bounded, and a client that sends nonsense hears what is wrong with it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::{SendFlags, send};
use sustain_disk::clock::Timestamp;
use sustain_document::control::{ControlAnswer, ControlRequest, REQUEST_BYTES_MAX};
use sustain_document::reader::write_line;

use super::answers::{Awaited, OVER};

/// A client that has taken nothing of an answer for so long is let go.
const STUCK_NS: u64 = 5_000_000_000;
/// Lines that one client is answered before the others have their turn.
const LINES_PER_TURN: usize = 16;

/// Carries a request out. Returns `None` if it is to be asked again.
pub(super) type Answering<'a> =
    dyn FnMut(&ControlRequest, &mut Awaited) -> Option<ControlAnswer> + 'a;

/// A connection to somebody who commands.
pub(super) struct ControlClient {
    socket: OwnedFd,
    /// What came and is no whole line yet; never more than a request may have.
    input: Vec<u8>,
    /// Answers that are not taken yet: nothing is read before they are.
    output: Vec<u8>,
    /// The rest of a line that is too long is passed over.
    is_skipping: bool,
    /// Nothing more will come.
    is_at_end: bool,
    /// Since when it has taken nothing of an answer.
    stuck_since: Option<Timestamp>,
    /// A request that takes a while: nothing is read before it is answered.
    waiting: Option<(ControlRequest, Awaited)>,
}

impl ControlClient {
    pub(super) fn new(socket: OwnedFd) -> ControlClient {
        ControlClient {
            socket,
            input: Vec::new(),
            output: Vec::new(),
            is_skipping: false,
            is_at_end: false,
            stuck_since: None,
            waiting: None,
        }
    }

    /// Whether it has asked for something that takes a while.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// What is waited for.
    pub(super) fn awaits(&self) -> PollFlags {
        match self.output.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::OUT,
        }
    }

    /// Whether it has sent a line that it has not been answered yet, for want of its turn.
    pub(super) fn has_more(&self) -> bool {
        self.output.is_empty() && !self.is_waiting() && self.input.contains(&b'\n')
    }

    /// Whether what it has asked for waits for its turn, and it has gone meanwhile: then nobody
    /// wants it any more.
    fn has_given_up(&self) -> bool {
        let waits_for_turn = matches!(self.waiting, Some((_, None)));
        let mut polled = [PollFd::new(&self.socket, PollFlags::empty())];
        let gone = PollFlags::HUP | PollFlags::ERR;
        waits_for_turn
            && poll(&mut polled, Some(&Timespec::default())).is_ok()
            && polled[0].revents().intersects(gone)
    }

    /// Does what can be done without waiting. Returns whether the connection goes on.
    pub(super) fn step(&mut self, now: Timestamp, answering: &mut Answering<'_>) -> bool {
        if self.has_given_up() {
            return false;
        }
        for _ in 0..LINES_PER_TURN {
            if !self.send(now) {
                return false;
            }
            if !self.output.is_empty() {
                return true;
            }
            if self.waiting.is_none() {
                if let Some(line) = self.next_line() {
                    self.take_request(&line);
                } else if self.is_at_end {
                    return false;
                } else if !self.receive() {
                    return true;
                }
            }
            if let Some((request, mut awaited)) = self.waiting.take() {
                let Some(answer) = answering(&request, &mut awaited) else {
                    self.waiting = Some((request, awaited));
                    return true;
                };
                self.push(&answer);
            }
        }
        true
    }

    /// Sends without waiting what is left of the answers, before the connection is closed. What it
    /// still waits for is answered now or never.
    pub(super) fn close(mut self, now: Timestamp, answering: &mut Answering<'_>) {
        if let Some((request, mut awaited)) = self.waiting.take() {
            let answer = answering(&request, &mut awaited);
            self.push(&answer.unwrap_or_else(|| ControlAnswer::refused(OVER)));
        }
        self.send(now);
    }

    /// Refuses to serve it.
    pub(super) fn refuse(mut self, why: &str, now: Timestamp) {
        self.push(&ControlAnswer::refused(why));
        self.close(now, &mut |_, _| None);
    }

    fn take_request(&mut self, line: &[u8]) {
        match request_of(line) {
            Ok(request) => self.waiting = Some((request, None)),
            Err(why) => self.push(&ControlAnswer::refused(format!(
                "this is not a request ({why}): send one JSON object in each line, such as \
                 {{\"command\":\"status\"}}; the commands are status, rate, pause, resume, split, \
                 stop, mark, pin and unpin"
            ))),
        }
    }

    fn push(&mut self, answer: &ControlAnswer) {
        let line = write_line(answer).unwrap_or_else(|error| format!("{error}\n"));
        self.output.extend_from_slice(line.as_bytes());
    }

    /// Takes the next whole line that has something in it. The last one may lack its end.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let end = self.input.iter().position(|byte| *byte == b'\n');
            let line: Vec<u8> = match end {
                Some(end) => self.input.drain(..=end).collect(),
                None if self.is_at_end && !self.input.is_empty() => std::mem::take(&mut self.input),
                None => return None,
            };
            let is_rest = std::mem::take(&mut self.is_skipping);
            if !is_rest && !line.trim_ascii().is_empty() {
                return Some(line);
            }
        }
    }

    /// Reads what has come. Returns whether there was anything, if only the end.
    fn receive(&mut self) -> bool {
        if self.input.len() == REQUEST_BYTES_MAX {
            self.input.clear();
            if !std::mem::replace(&mut self.is_skipping, true) {
                self.push(&ControlAnswer::refused(format!(
                    "this line has {REQUEST_BYTES_MAX} bytes or more, which no request has, and \
                     was not read: a mark has at most 1000 bytes of text"
                )));
                return true;
            }
        }
        let kept = self.input.len();
        self.input.resize(REQUEST_BYTES_MAX, 0);
        let came = read(&self.socket, &mut self.input[kept..]);
        self.input.truncate(kept + came.unwrap_or(0));
        match came {
            Ok(0) => self.is_at_end = true,
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return false,
            Err(_) => {
                // It has gone, and nobody is left to be answered.
                self.input.clear();
                self.is_at_end = true;
            }
        }
        true
    }

    /// Returns whether the client still takes its answers.
    fn send(&mut self, now: Timestamp) -> bool {
        while !self.output.is_empty() {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            match send(&self.socket, &self.output, flags) {
                Ok(count) => {
                    self.output.drain(..count);
                    self.stuck_since = None;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let since = *self.stuck_since.get_or_insert(now);
                    return now.since_ns(since) < STUCK_NS;
                }
                Err(_) => return false,
            }
        }
        true
    }
}

impl AsFd for ControlClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn request_of(line: &[u8]) -> Result<ControlRequest, String> {
    // An array would be taken for an object without its keys.
    match line.trim_ascii_start().first() {
        Some(b'{') => serde_json::from_slice(line).map_err(|error| error.to_string()),
        _ => Err("it is not an object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    use rustix::net::{RecvFlags, recv};

    use super::*;

    /// A client and its other end.
    fn connected() -> (ControlClient, UnixStream) {
        let (own, other) = UnixStream::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        (ControlClient::new(own.into()), other)
    }

    fn done(request: &ControlRequest, _awaited: &mut Awaited) -> Option<ControlAnswer> {
        Some(match request {
            ControlRequest::Mark { text } => ControlAnswer::refused(text),
            _ => ControlAnswer::done(),
        })
    }

    /// Steps until nothing can be done without waiting.
    fn settle(client: &mut ControlClient) -> bool {
        let mut is_open = client.step(Timestamp(0), &mut done);
        while is_open && client.has_more() {
            is_open = client.step(Timestamp(0), &mut done);
        }
        is_open
    }

    fn answers(other: &UnixStream, count: usize) -> Vec<ControlAnswer> {
        let lines = BufReader::new(other).lines().take(count);
        lines
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect()
    }

    #[test]
    fn lines_are_answered_in_order_however_they_are_cut() {
        let (mut client, mut other) = connected();
        other.write_all(b"{\"command\":\"sta").unwrap();
        assert!(settle(&mut client));
        other
            .write_all(b"tus\"}\r\n\n  \n{\"command\":\"mark\",\"text\":\"2\"}\n{\"command\":")
            .unwrap();
        assert!(settle(&mut client));
        other.write_all(b"\"mark\",\"text\":\"3\"}").unwrap();
        other.shutdown(Shutdown::Write).unwrap();
        assert!(!settle(&mut client), "it is closed when all is answered");
        let answers = answers(&other, 3);
        assert!(answers[0].ok);
        assert_eq!(answers[1].error.as_deref(), Some("2"));
        assert_eq!(answers[2].error.as_deref(), Some("3"));
    }

    #[test]
    fn what_waits_for_its_turn_goes_with_a_client_that_goes() {
        let split = b"{\"command\":\"split\"}\n";
        for is_its_turn in [false, true] {
            let (mut client, mut other) = connected();
            let mut asked = 0;
            let mut never = |_: &ControlRequest, awaited: &mut Awaited| {
                asked += 1;
                *awaited = is_its_turn.then_some(1);
                None
            };
            other.write_all(split).unwrap();
            assert!(client.step(Timestamp(0), &mut never));
            other.shutdown(Shutdown::Write).unwrap();
            assert!(client.step(Timestamp(0), &mut never), "it still listens");
            drop(other);
            // What is carried out already goes on, and ends without anybody to be answered.
            assert_eq!(client.step(Timestamp(0), &mut never), is_its_turn);
            assert_eq!(asked, if is_its_turn { 3 } else { 2 });
        }
    }

    #[test]
    fn garbage_is_answered_and_the_connection_goes_on() {
        let (mut client, mut other) = connected();
        other
            .write_all(b"\xFF\xFE\0\nstatus\n{}\n[\"status\"]\n[\"pin\",\"-1s\"]\n")
            .unwrap();
        // Which of the two was meant cannot be known.
        for doubled in ["\"from\":\"-1s\",\"from\":\"-9s\"", "\"command\":\"stop\""] {
            writeln!(other, "{{\"command\":\"pin\",{doubled}}}").unwrap();
        }
        other.write_all(b"{\"command\":\"status\"}\n").unwrap();
        assert!(settle(&mut client));
        let answers = answers(&other, 8);
        for refused in &answers[..7] {
            let why = refused.error.as_deref().unwrap();
            assert!(why.contains("this is not a request"), "{why}");
        }
        assert!(answers[7].ok);
    }

    #[test]
    fn a_line_of_a_megabyte_is_refused_once_and_never_kept() {
        let (mut client, other) = connected();
        let sender = other.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut sender = sender;
                sender.write_all(&vec![b'x'; 1 << 20]).unwrap();
                sender.write_all(b"\n{\"command\":\"status\"}\n").unwrap();
            });
            let mut come = Vec::new();
            while come.iter().filter(|byte| **byte == b'\n').count() < 2 {
                assert!(settle(&mut client));
                assert!(client.input.len() <= REQUEST_BYTES_MAX);
                let mut some = [0; 4096];
                // Only this look must not wait: the sender's writes have to.
                if let Ok((count, _)) = recv(&other, &mut some[..], RecvFlags::DONTWAIT) {
                    come.extend_from_slice(&some[..count]);
                }
            }
            let lines: Vec<ControlAnswer> = come
                .split(|byte| *byte == b'\n')
                .take(2)
                .map(|line| serde_json::from_slice(line).unwrap())
                .collect();
            let why = lines[0].error.as_deref().unwrap();
            assert!(why.contains("65536 bytes or more"), "{why}");
            assert!(lines[1].ok);
        });
    }

    #[test]
    fn a_client_that_never_reads_is_let_go_and_keeps_little() {
        let (mut client, mut other) = connected();
        other.set_nonblocking(true).unwrap();
        let line = b"{\"command\":\"status\"}\n";
        let mut taken = 0;
        // It sends until nothing is taken of it any more: its answers fill its socket first.
        loop {
            let has_sent = other.write_all(line).is_ok();
            assert!(settle(&mut client));
            assert!(client.input.len() <= REQUEST_BYTES_MAX);
            taken += 1;
            assert!(taken < 1 << 20);
            if !has_sent && !client.output.is_empty() {
                break;
            }
        }
        assert!(client.output.len() < 1 << 10, "one answer waits");
        assert!(client.step(Timestamp(STUCK_NS - 1), &mut done));
        assert!(!client.step(Timestamp(STUCK_NS), &mut done));
    }
}
