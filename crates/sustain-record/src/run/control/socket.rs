//! The socket over which a recording is commanded. It is made before anything is recorded, only its
//! owner may connect to it from the beginning, and it is taken away at the end if it is still ours.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, Stat, fchmod, lstat, unlink};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};
use sustain_document::setting::CONTROL;

use crate::error::RecordError;
use crate::store::write_within_bound;

/// How long the server rests where it can do nothing about a client that waits.
const REST: Duration = Duration::from_millis(100);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// The longest path of a socket that the kernel takes.
const PATH_BYTES_MAX: usize = 107;

/// A socket that listens at a path of its own.
#[derive(Debug)]
pub(super) struct ControlSocket {
    listener: OwnedFd,
    /// Kept for the time when the process has no other one left.
    spare: RefCell<Option<OwnedFd>>,
    path: PathBuf,
    /// Device and inode of the node at the path.
    node: (u64, u64),
}

impl ControlSocket {
    /// Listens at this path. A socket that a recorder has left there, and on which nobody listens,
    /// is replaced; nothing else is.
    ///
    /// # Errors
    /// [`RecordError::Usage`] if it cannot be there; [`RecordError::Silent`] if its file system
    /// takes no writes.
    pub(super) fn open(path: &Path) -> Result<ControlSocket, RecordError> {
        let address = address(path)?;
        let owned = path.to_owned();
        // A frozen file system keeps whoever makes something there.
        write_within_bound(path, move || ControlSocket::make(owned, &address))?
    }

    /// Checks that there may be a socket at this path, and makes none.
    ///
    /// # Errors
    /// [`RecordError::Usage`].
    pub(super) fn check(path: &Path) -> Result<(), RecordError> {
        what_is_left(path, &address(path)?).map(|_| ())
    }

    fn make(path: PathBuf, address: &SocketAddrUnix) -> Result<ControlSocket, RecordError> {
        if let Some(left) = what_is_left(&path, address)?
            && lstat(&path).is_ok_and(|now| node_of(&now) == node_of(&left))
        {
            unlink(&path).map_err(|errno| refused(&path, &cannot_be_made(errno)))?;
        }
        let failed = |errno: Errno| refused(&path, &cannot_be_made(errno));
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let listener = listener.map_err(failed)?;
        // The node gets the mode of the socket, so nobody else can connect in between.
        fchmod(&listener, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        bind(&listener, address).map_err(failed)?;
        let node = lstat(&path).map_err(failed)?;
        listen(&listener, BACKLOG).map_err(failed)?;
        Ok(ControlSocket {
            spare: RefCell::new(listener.try_clone().ok()),
            listener,
            node: node_of(&node),
            path,
        })
    }

    /// The next connection that waits, if its other end may command this recording: root may, and
    /// the user who records.
    pub(super) fn accept(&self) -> Option<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let client = match accept_with(&self.listener, flags) {
                Ok(client) => client,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(Errno::MFILE | Errno::NFILE) if self.let_one_go() => continue,
                Err(_) => return None,
            };
            let own = socket_peercred(&self.listener);
            let peer = socket_peercred(&client);
            if let (Ok(own), Ok(peer)) = (own, peer)
                && (peer.uid.is_root() || peer.uid == own.uid)
            {
                return Some(client);
            }
        }
    }
}

impl ControlSocket {
    /// Lets the next one that waits go, because the process has no descriptor left for it. As long
    /// as one waits, the server has something to do. Returns whether there was one.
    fn let_one_go(&self) -> bool {
        let had_spare = self.spare.take().is_some();
        if !had_spare {
            std::thread::park_timeout(REST);
        }
        let accepted = accept_with(&self.listener, SocketFlags::CLOEXEC);
        let has_let_go = accepted.map(drop).is_ok();
        self.spare.replace(self.listener.try_clone().ok());
        has_let_go
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let (path, node) = (self.path.clone(), self.node);
        // If it cannot be taken away, it is as after a crash: the next recording replaces it.
        let _ = write_within_bound(&self.path, move || {
            if lstat(&path).is_ok_and(|now| node_of(&now) == node) {
                let _ = unlink(&path);
            }
        });
    }
}

fn address(path: &Path) -> Result<SocketAddrUnix, RecordError> {
    let length = path.as_os_str().len();
    if length == 0 {
        return Err(refused(path, "it has no name"));
    }
    if length > PATH_BYTES_MAX {
        let why = format!(
            "its path has {length} bytes, and the kernel takes at most {PATH_BYTES_MAX} for a \
             socket: use a shorter one, as in /run"
        );
        return Err(refused(path, &why));
    }
    SocketAddrUnix::new(path).map_err(|errno| refused(path, &errno.to_string()))
}

/// What a recorder has left at the path when it was killed: a socket on which nobody listens;
/// nothing if there is nothing.
fn what_is_left(path: &Path, address: &SocketAddrUnix) -> Result<Option<Stat>, RecordError> {
    let found = match lstat(path) {
        Ok(found) => found,
        Err(Errno::NOENT) => return check_directory(path).map(|()| None),
        Err(errno) => return Err(refused(path, &cannot_be_made(errno))),
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
        let why = "there is something else at this path, which is not touched: use another path";
        return Err(refused(path, why));
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let asking = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let asking = asking.map_err(|errno| refused(path, &errno.to_string()))?;
    match connect(&asking, address) {
        Err(Errno::CONNREFUSED) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Ok(()) | Err(Errno::AGAIN) => Err(refused(
            path,
            "a program listens there already, such as another recording: use another path",
        )),
        // A socket of messages is not one of ours.
        Err(Errno::PROTOTYPE) => Err(refused(
            path,
            "there is a socket of another kind, which is not touched: use another path",
        )),
        Err(errno) => Err(refused(path, &cannot_be_made(errno))),
    }
}

/// Whether the directory of a new socket is there.
fn check_directory(path: &Path) -> Result<(), RecordError> {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
            let why = format!("{} is not a directory: make it first", directory.display());
            Err(refused(path, &why))
        }
        _ => Ok(()),
    }
}

fn cannot_be_made(errno: Errno) -> String {
    match errno {
        Errno::ACCESS | Errno::PERM => {
            "permission denied: use a place where you may make files, such as $XDG_RUNTIME_DIR"
                .to_owned()
        }
        Errno::ROFS => "its file system is read-only: use another place, as in /run".to_owned(),
        Errno::ADDRINUSE => "another program has made it just now: use another path".to_owned(),
        other => format!("{other}: use another place, as in /run"),
    }
}

fn refused(path: &Path, why: &str) -> RecordError {
    RecordError::Usage(format!(
        "{} cannot be at {}: {why}",
        CONTROL.the(),
        path.display()
    ))
}

fn node_of(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    use super::*;

    #[track_caller]
    fn why_not(path: &Path) -> String {
        assert!(ControlSocket::check(path).is_err());
        ControlSocket::open(path).unwrap_err().to_string()
    }

    #[test]
    fn a_socket_is_its_owners_alone_and_goes_at_the_end() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        ControlSocket::check(&path).unwrap();
        assert!(!path.exists(), "a check makes nothing");
        let socket = ControlSocket::open(&path).unwrap();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(socket.accept().is_none());
        let _client = UnixStream::connect(&path).unwrap();
        assert!(socket.accept().is_some(), "who records may command");
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn whoever_waits_while_there_is_no_descriptor_is_let_go() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let socket = ControlSocket::open(&path).unwrap();
        let clients = [(); 2].map(|()| UnixStream::connect(&path).unwrap());
        for mut client in clients {
            assert!(socket.let_one_go());
            assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "it need not wait");
        }
        assert!(!socket.let_one_go(), "nobody waits any more");
        let _client = UnixStream::connect(&path).unwrap();
        assert!(socket.accept().is_some());
    }

    #[test]
    fn what_a_crash_left_is_replaced_and_what_listens_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let first = ControlSocket::open(&path).unwrap();
        let why = why_not(&path);
        assert!(why.contains("listens there already"), "{why}");
        UnixStream::connect(&path).unwrap();
        drop(first);
    }

    #[test]
    fn whatever_else_is_there_is_refused_and_left() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        std::fs::write(&file, "precious").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path().join("nothing"), &link).unwrap();
        let messages = place.path().join("messages");
        let _messages = UnixDatagram::bind(&messages).unwrap();
        for path in [&file, &link, &messages, &place.path().to_owned()] {
            let why = why_not(path);
            assert!(why.contains("not touched: use another path"), "{why}");
            assert!(path.symlink_metadata().is_ok());
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn a_path_that_cannot_be_says_why() {
        let place = tempfile::tempdir().unwrap();
        let long = place.path().join("x".repeat(100));
        let why = why_not(&long);
        assert!(why.contains("at most 107"), "{why}");
        let why = why_not(&place.path().join("none/socket"));
        assert!(why.contains("none is not a directory"), "{why}");
        assert!(why_not(Path::new("")).contains("no name"));
    }

    #[test]
    fn a_node_that_is_not_ours_any_more_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("socket");
        let socket = ControlSocket::open(&path).unwrap();
        std::fs::rename(&path, place.path().join("moved")).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists(), "it is somebody else's");
    }
}
