//! `sustain control` where what listens is no recorder, or is another user's.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;

use sustain_testing::{Requirement, skip};

use crate::MIB;
use crate::control::{Commanded, SOCKET};
use crate::devices::is_root;
use crate::support::{Place, ran};

const NOBODY: u32 = 65534;

/// Asks what does this with the first connection.
fn ask_of(serve: impl FnOnce(UnixStream) + Send) -> crate::support::Ran {
    let place = Place::new();
    let listener = UnixListener::bind(place.path(SOCKET)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || serve(listener.accept().unwrap().0));
        place.run(&["control", SOCKET, "status"])
    })
}

#[test]
fn an_answer_that_is_none_of_a_recorder_is_told() {
    for answer in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\xFF\xFE\n",
        b"{}\n",
        b"null\n",
        b"{\"schema\":\"sustain.control/1\",\"ok\":false}\n",
        b"{\"schema\":\"sustain.control/1\",\"ok\":true}\n",
        b"{\"schema\":\"sustain.control/9\",\"ok\":true}\n",
        b"without an end",
    ] {
        let ran = ask_of(|mut socket| socket.write_all(answer).unwrap());
        ran.expect(1)
            .says("socket: what listens there is no recorder, or a newer one");
    }
}

#[test]
fn whoever_closes_at_once_or_never_ends_or_is_silent_is_told() {
    ask_of(drop).expect(1).says("socket: it gave no answer");
    let endless = ask_of(|mut socket| while socket.write_all(&[b'x'; 4096]).is_ok() {});
    endless.expect(1).says("its line has no end");
    // Both are waited for as long as anybody is: at once.
    let silent = |mut socket: UnixStream| {
        let _ = socket.read_to_end(&mut Vec::new());
    };
    let slow = |mut socket: UnixStream| {
        // It sends a byte now and then, as long as somebody waits for it.
        let (_own, other) = UnixStream::pair().unwrap();
        other
            .set_read_timeout(Some(std::time::Duration::from_millis(100)))
            .unwrap();
        while socket.write_all(b" ").is_ok() {
            let _ = (&other).read(&mut [0]);
        }
    };
    std::thread::scope(|scope| {
        for ran in [scope.spawn(|| ask_of(silent)), scope.spawn(|| ask_of(slow))] {
            let ran = ran.join().unwrap();
            ran.expect(1).says("socket: no answer for 10 s");
        }
    });
}

#[test]
fn a_path_that_is_no_socket_of_a_recorder_is_refused() {
    let place = Place::new();
    let long = "x".repeat(108);
    let ran = place.run(&["control", &long, "status"]);
    ran.expect(2)
        .says("this path has 108 bytes, and the kernel takes at most 107");
    let _messages = UnixDatagram::bind(place.path(SOCKET)).unwrap();
    let ran = place.run(&["control", SOCKET, "status"]);
    ran.expect(2).says("a socket of another kind");
}

#[test]
fn another_user_is_refused_although_the_socket_lets_him_in() {
    let name = env!("CARGO_BIN_EXE_sustain");
    let as_nobody = || {
        let mut command = Command::new(name);
        command.uid(NOBODY).gid(NOBODY);
        command
    };
    let may_run = || as_nobody().arg("--version").output();
    if !is_root() || !may_run().is_ok_and(|output| output.status.success()) {
        skip(Requirement::AnotherUser, "he could not run the command");
        return;
    }
    let commanded = Commanded::start(&[32 * MIB], &["--from", "test:1MB/s"]);
    let place = &commanded.members.place;
    for (path, mode) in [(".", 0o755), (SOCKET, 0o666)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(path), permissions).unwrap();
    }
    let mut command = as_nobody();
    command
        .current_dir(place.path("."))
        .args(["control", SOCKET, "stop"]);
    ran(command.output().unwrap())
        .expect(1)
        .says("only root and the user who records may");
    // Who records is served as before.
    assert_eq!(commanded.status()["paused"], false);
    commanded.stop(0);
}
