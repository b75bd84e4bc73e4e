//! The thread that serves a control socket. It waits for all clients at once, in `poll`, so none of
//! them holds up another one, and it holds nothing of the recorder's.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};
use sustain_disk::clock::{Clock, Timestamp};
use sustain_document::control::ControlRequest;

use super::answers::{Awaited, Commander};
use super::client::ControlClient;
use super::socket::ControlSocket;

/// How often the recording is looked at, so that there are rates when somebody asks for them.
const LOOK: Duration = Duration::from_millis(200);
/// The same while somebody waits for what takes a while.
const LOOK_WAITING: Duration = Duration::from_millis(10);
/// Connections at the same time.
const CLIENTS_MAX: usize = 64;

/// What ends the server, from another thread.
#[derive(Debug)]
pub(super) struct Ender(OwnedFd);

impl Ender {
    /// Makes one, and what the server waits for.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub(super) fn pair() -> std::io::Result<(Ender, OwnedFd)> {
        let ender = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let awaited = ender.try_clone()?;
        Ok((Ender(ender), awaited))
    }

    /// Ends the server. What it has answered still goes out. Any number but 0 does it.
    pub(super) fn end(&self) {
        let _ = write(&self.0, &[1; 8]);
    }
}

/// Serves a socket.
pub(super) struct ControlServer {
    pub(super) socket: ControlSocket,
    pub(super) end: OwnedFd,
    pub(super) commander: Commander,
}

impl ControlServer {
    /// Serves it until it is ended.
    pub(super) fn run(mut self) {
        let clock = Clock::Real;
        let mut clients: Vec<ControlClient> = Vec::new();
        while !self.is_ended() {
            let has_more = clients.iter().any(ControlClient::has_more);
            let ready = self.wait(&clients, has_more);
            self.commander.look();
            let now = clock.now();
            let mut index = 0;
            clients.retain_mut(|client| {
                let is_ready = ready.get(index).is_none_or(|ready| *ready);
                index += 1;
                let mut answering = |request: &ControlRequest, awaited: &mut Awaited| {
                    self.commander.answer(request, awaited)
                };
                !is_ready || client.step(now, &mut answering)
            });
            self.take_new(&mut clients, clock.now());
        }
        let now = clock.now();
        let mut answering = |request: &ControlRequest, awaited: &mut Awaited| {
            self.commander.answer(request, awaited)
        };
        clients
            .into_iter()
            .for_each(|client| client.close(now, &mut answering));
    }

    fn is_ended(&self) -> bool {
        read(&self.end, &mut [0; 8]).is_ok()
    }

    /// Waits for something to do, and returns which clients have something.
    fn wait(&self, clients: &[ControlClient], has_more: bool) -> Vec<bool> {
        let is_waiting = clients.iter().any(ControlClient::is_waiting);
        let timeout = match has_more {
            true => Duration::ZERO,
            false if is_waiting => LOOK_WAITING,
            false => LOOK,
        };
        let timeout = Timespec::try_from(timeout).ok();
        let mut polled = vec![
            PollFd::new(&self.end, PollFlags::IN),
            PollFd::new(&self.socket, PollFlags::IN),
        ];
        polled.extend(clients.iter().map(|one| match one.is_waiting() {
            // Whatever it does meanwhile, also if it goes, is looked at when it has its answer.
            true => PollFd::new(&self.end, PollFlags::empty()),
            false => PollFd::new(one, one.awaits()),
        }));
        // When it is interrupted, all are looked at, which does not wait either.
        let is_polled = poll(&mut polled, timeout.as_ref()).is_ok();
        let of_clients = polled[2..].iter().zip(clients);
        of_clients
            .map(|(polled, client)| {
                // Who takes no answer is looked at as well: its time may be over.
                let is_stuck = client.awaits() == PollFlags::OUT;
                !is_polled
                    || !polled.revents().is_empty()
                    || is_stuck
                    || client.has_more()
                    || client.is_waiting()
            })
            .collect()
    }

    fn take_new(&self, clients: &mut Vec<ControlClient>, now: Timestamp) {
        while let Some(socket) = self.socket.accept() {
            let client = ControlClient::new(socket);
            if clients.len() < CLIENTS_MAX {
                clients.push(client);
            } else {
                let why = format!(
                    "{CLIENTS_MAX} clients are connected, and no more may: close one of them"
                );
                client.refuse(&why, now);
            }
        }
    }
}
