//! Tells what an open descriptor is, and whether it can be recorded as a stream of bytes. A
//! descriptor that keeps the boundaries of messages, ends at an empty message or gives no bytes
//! cannot.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{FileType, OFlags, Stat, fcntl_getfl};
use rustix::io::Errno;
use rustix::net::sockopt::{socket_acceptconn, socket_type};
use rustix::net::{SocketType, getpeername};
use sustain_document::setting::FRAMES;

/// Returns why this descriptor cannot be recorded and what to do instead, or `None` if it can.
pub(super) fn refusal(file: BorrowedFd<'_>, found: &Stat) -> Option<String> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Some(
            "it is a directory: name a file in it, or pipe an archive of it (tar c \
             DIR | sustain record ...)"
                .to_owned(),
        ),
        FileType::Socket => socket_refusal(file),
        FileType::Unknown | FileType::Symlink => Some(format!(
            "{} does not deliver a stream of bytes: give a file, a pipe, a connected stream socket \
             or a character device",
            kernel_name(file)
        )),
        FileType::RegularFile
        | FileType::BlockDevice
        | FileType::CharacterDevice
        | FileType::Fifo => None,
    }
    .or_else(|| access_refusal(file))
}

/// Refuses sockets of messages: a message would be cut where it does not fit into the rest of an
/// append, and an empty one would be taken for the end.
fn socket_refusal(file: BorrowedFd<'_>) -> Option<String> {
    match socket_type(file) {
        Ok(SocketType::STREAM) => {}
        Ok(kind) => {
            let kind = match kind {
                SocketType::DGRAM => "a datagram socket",
                SocketType::SEQPACKET => "a socket of packets (SOCK_SEQPACKET)",
                _ => "a socket of messages",
            };
            return Some(format!(
                "it is {kind}, whose messages have boundaries that a stream of bytes does not \
                 keep: let a program receive them and write each one to a pipe, with its length \
                 in front ({}) or a line each ({})",
                FRAMES.to("length-prefixed"),
                FRAMES.to("lines")
            ));
        }
        Err(errno) => {
            return Some(format!(
                "cannot find out what kind of socket it is: {errno}"
            ));
        }
    }
    if socket_acceptconn(file).unwrap_or(false) {
        return Some(
            "it is a listening socket: accept a connection (socat, systemd with Accept=yes) \
             and give that as the source"
                .to_owned(),
        );
    }
    matches!(getpeername(file), Err(Errno::NOTCONN)).then(|| {
        "it is a socket that is not connected: connect it first, or give a pipe".to_owned()
    })
}

/// Refuses what was opened for writing only, or only as a path: nothing can be read from it.
fn access_refusal(file: BorrowedFd<'_>) -> Option<String> {
    let flags = fcntl_getfl(file).ok()?;
    let is_closed_to_reading =
        flags.contains(OFlags::PATH) || flags & OFlags::RWMODE == OFlags::WRONLY;
    is_closed_to_reading
        .then(|| "it is not open for reading: check the redirection (< and not >)".to_owned())
}

/// The kernel's name for something that is on no file system, such as `anon_inode:[eventfd]`.
fn kernel_name(file: BorrowedFd<'_>) -> String {
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    std::fs::read_link(link).map_or_else(
        |_| "it".to_owned(),
        |name| format!("it is {}, which", name.display()),
    )
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    use rustix::event::{EventfdFlags, epoll, eventfd};
    use rustix::fs::{Mode, fstat, open};
    use rustix::net::{AddressFamily, SocketFlags, socket, socketpair};

    use super::*;

    fn refused(file: impl Into<OwnedFd>) -> Option<String> {
        let file = file.into();
        refusal(file.as_fd(), &fstat(&file).unwrap())
    }

    fn opened(path: &str, flags: OFlags) -> OwnedFd {
        open(path, flags, Mode::empty()).unwrap()
    }

    #[test]
    fn what_keeps_the_boundaries_of_messages_is_no_stream_of_bytes() {
        let (datagram, _other) = UnixDatagram::pair().unwrap();
        let why = refused(datagram).unwrap();
        assert!(why.contains("datagram") && why.contains("framing"), "{why}");
        let flags = SocketFlags::empty();
        let packets = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let why = refused(packets.unwrap().0).unwrap();
        assert!(why.contains("SOCK_SEQPACKET"), "{why}");
        let why = refused(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
        assert!(why.contains("datagram"), "{why}");
    }

    #[test]
    fn sockets_without_another_end_and_things_without_bytes_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let unconnected = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let counter = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        for (file, word) in [
            (OwnedFd::from(listener), "listening socket"),
            (unconnected, "not connected"),
            (counter, "eventfd"),
            (poller, "eventpoll"),
            (opened("/", OFlags::RDONLY), "directory"),
            (opened("/dev/null", OFlags::WRONLY), "not open for reading"),
            (opened("/dev/null", OFlags::PATH), "not open for reading"),
        ] {
            let why = refused(file).unwrap_or_default();
            assert!(why.contains(word), "{word}: {why}");
        }
    }

    #[test]
    fn streams_of_bytes_are_taken() {
        let (stream, _other) = UnixStream::pair().unwrap();
        assert_eq!(refused(stream), None);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(refused(stream), None);
        assert_eq!(refused(rustix::pipe::pipe().unwrap().0), None);
        for path in ["/dev/null", "/dev/zero", "/dev/full", "/proc/self/exe"] {
            assert_eq!(refused(opened(path, OFlags::RDONLY)), None, "{path}");
        }
    }
}
