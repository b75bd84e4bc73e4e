//! The probe workload that sends datagrams over the loopback interface at a modest fixed pace and
//! counts how many are lost. Each datagram carries the number of its stretch, so that a late one
//! still counts for the stretch in which it was sent.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use sustain_disk::clock::Clock;

use super::board::{ObservedPhase, Pen, ProbeBoard, ProbeLog};
use super::pace::ProbePace;

/// Bytes of a datagram.
pub(super) const DATAGRAM_BYTES: usize = 1024;
/// So many are sent at once, as for a frame of a camera.
const AT_ONCE: u64 = 5;
const PERIOD_NS: u64 = 1_000_000;
/// Datagrams in a second.
pub(super) const OFFERED_PER_S: f64 = (AT_ONCE * 1_000_000_000 / PERIOD_NS) as f64;
/// If nothing arrives for this long after the end, nothing more will come.
const PATIENCE: Duration = Duration::from_millis(100);

/// Counts of the sender.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sent {
    pub(super) sent: u64,
    /// Datagrams that the kernel did not take.
    pub(super) refused: u64,
}

/// Counts of the receiver.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Received(pub(super) u64);

/// A receiver and a sender that reaches it.
pub(super) fn sockets() -> Result<(UdpSocket, UdpSocket), Error> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(receiver.local_addr()?)?;
    // The sender must never wait: it drops instead, and counts that.
    sender.set_nonblocking(true)?;
    let mut hello = [0; DATAGRAM_BYTES];
    sender.send(&hello)?;
    receiver.recv(&mut hello)?;
    Ok((receiver, sender))
}

/// Sends until the board is closed.
pub(super) fn send(socket: &UdpSocket, clock: &Clock, board: &ProbeBoard, log: ProbeLog<Sent>) {
    let mut pen = Pen::new(log, board.clone());
    let mut datagram = [0; DATAGRAM_BYTES];
    let mut pace = ProbePace::from(clock.now(), PERIOD_NS);
    while !board.is_over() {
        clock.wait_until(pace.due());
        let stretch = pen.look();
        datagram[..4].copy_from_slice(&stretch.number().to_le_bytes());
        let (mut sent, mut refused) = (0, 0);
        for _ in 0..AT_ONCE {
            match socket.send(&datagram) {
                Ok(_) => sent += 1,
                Err(_) => refused += 1,
            }
        }
        pen.enter(stretch, |seen| {
            seen.sent += sent;
            seen.refused += refused;
        });
        pace.go_on(clock.now());
    }
}

/// Receives until the board is closed and nothing more comes.
pub(super) fn receive(socket: &UdpSocket, board: &ProbeBoard, log: ProbeLog<Received>) {
    let mut pen = Pen::new(log, board.clone());
    let mut datagram = [0; DATAGRAM_BYTES];
    loop {
        pen.look();
        match socket.recv(&mut datagram) {
            Ok(length) if length >= 4 => {
                let [a, b, c, d, ..] = datagram;
                let stretch = ObservedPhase::from_number(u32::from_le_bytes([a, b, c, d]));
                pen.enter(stretch, |seen| seen.0 += 1);
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) if board.is_over() => return,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return pen.fail(format!("receiving failed: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_counts_in_the_stretch_that_it_was_sent_in() {
        let Ok((receiver, sender)) = sockets() else {
            return;
        };
        let board = ProbeBoard::default();
        let (first, second) = (board.begin(false), board.begin(true));
        for (stretch, count) in [(first, 3u64), (second, 4)] {
            let mut datagram = [0; DATAGRAM_BYTES];
            datagram[..4].copy_from_slice(&stretch.number().to_le_bytes());
            (0..count).for_each(|_| assert!(sender.send(&datagram).is_ok()));
        }
        let log = ProbeLog::new();
        // All were sent before the end, and are received after it.
        board.close();
        receive(&receiver, &board, log.clone());
        let entries = log.take();
        let received = |stretch| entries.pages[&stretch].seen.0;
        assert_eq!((received(first), received(second)), (3, 4));
        assert_eq!(entries.failed, None);
    }
}
