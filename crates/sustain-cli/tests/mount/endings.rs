//! How a mount ends: by Ctrl-C, from outside, while files are open, and by a kill.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::support::unwrapped;
use super::{MountPlace, noise, wait_for};

/// A mount in the foreground, once it says that it is there.
fn in_foreground(mounted: &MountPlace) -> (Child, BufReader<impl Read>) {
    let mut command = mounted
        .place
        .command(&["mount", "store", "view", "--foreground"]);
    let mut serving = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(serving.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("mounted at") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    (serving, said)
}

fn signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).unwrap();
}

#[test]
fn a_signal_unmounts_in_order() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    for sent in [Signal::INT, Signal::TERM] {
        let (mut serving, _said) = in_foreground(&mounted);
        assert_eq!(mounted.names(""), ["recording-1"]);
        signal(&serving, sent);
        assert_eq!(serving.wait().unwrap().code(), Some(0));
        assert!(mounted.names("").is_empty());
    }
}

#[test]
fn open_files_stay_readable_until_they_are_closed() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(9, 3_000_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    let (mut serving, mut said) = in_foreground(&mounted);
    let mut file = File::open(mounted.path("recording-1/cam")).unwrap();
    signal(&serving, Signal::INT);
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(
        line.contains("are open: it is unmounted for everybody else"),
        "{line}"
    );
    assert!(mounted.names("").is_empty());
    let mut read = Vec::new();
    file.read_to_end(&mut read).unwrap();
    assert!(read == bytes);
    drop(file);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
}

#[test]
fn an_unmount_from_outside_ends_it() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    let (mut serving, _said) = in_foreground(&mounted);
    mounted.unmount();
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    assert!(mounted.names("").is_empty());
}

#[test]
fn one_that_was_unmounted_from_outside_leaves_the_next_mount_alone() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    let (mut serving, _said) = in_foreground(&mounted);
    // It learns of its end when another is mounted there already.
    signal(&serving, Signal::STOP);
    mounted.unmount();
    mounted.mount(&[]);
    signal(&serving, Signal::CONT);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    assert_eq!(mounted.names(""), ["recording-1"]);
    mounted.unmount();
}

#[test]
fn a_signal_takes_away_nothing_that_was_mounted_there_since() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    let (mut serving, _said) = in_foreground(&mounted);
    // It goes on for whoever has a file of it open.
    let file = File::open(mounted.path("recording-1/main")).unwrap();
    let detached = Command::new("fusermount3")
        .args(["-u", "-z"])
        .arg(mounted.path(""))
        .status();
    assert!(detached.unwrap().success());
    mounted.mount(&[]);
    signal(&serving, Signal::INT);
    drop(file);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    assert_eq!(mounted.names(""), ["recording-1"]);
    mounted.unmount();
}

#[test]
fn the_mount_of_a_killed_program_is_told_with_the_command_that_removes_it() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    let (mut serving, _said) = in_foreground(&mounted);
    serving.kill().unwrap();
    serving.wait().unwrap();
    let refused = mounted.place.run(&["mount", "store", "view"]).expect(2);
    assert!(
        unwrapped(&refused.stderr).contains("was killed")
            && refused.stderr.contains("`fusermount3 -u"),
        "{refused:?}"
    );
    mounted.unmount();
    mounted.mount(&[]);
    assert_eq!(mounted.names(""), ["recording-1"]);
    mounted.unmount();
}

#[test]
fn a_reader_of_a_killed_program_gets_an_error_and_is_not_held() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(14, 3_000_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    let (mut serving, _said) = in_foreground(&mounted);
    let file = File::open(mounted.path("recording-1/cam")).unwrap();
    let (sender, reads) = std::sync::mpsc::channel();
    let error = std::thread::scope(|scope| {
        let (file, bytes) = (&file, &bytes);
        let reading = scope.spawn(move || {
            let mut read = vec![0; 300_000];
            for start in (0..).step_by(100_000).map(|start| start % 2_700_000) {
                if let Err(error) = file.read_exact_at(&mut read, start as u64) {
                    return error;
                }
                assert!(read == bytes[start..start + read.len()], "{start}");
                let _ = sender.send(());
            }
            unreachable!("it goes on until the program is gone");
        });
        // It is in the middle of it.
        reads.iter().take(5).for_each(drop);
        serving.kill().unwrap();
        serving.wait().unwrap();
        reading.join().unwrap()
    });
    let gone = [Errno::NOTCONN, Errno::CONNABORTED].map(|errno| Some(errno.raw_os_error()));
    assert!(gone.contains(&error.raw_os_error()), "{error}");
    drop(file);
    mounted.unmount();
}

#[test]
fn another_store_in_the_place_of_the_mounted_one_is_never_shown() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(&noise(16, 300_000), &["--stream", "cam"]);
    let (mut serving, mut said) = in_foreground(&mounted);
    let cam = mounted.path("recording-1/cam");
    let open = File::open(&cam).unwrap();
    let create = ["create", "store", "--size", "64MiB", "--slot", "1MiB"];
    let destroy = ["--destroy", "store"];
    mounted
        .place
        .run(&[&create, &destroy[..]].concat())
        .expect(0);
    let other = noise(17, 400_000);
    mounted.record(&other, &["--stream", "cam"]);
    let stale = Some(Errno::STALE.raw_os_error());
    let mut read = [0; 4096];
    wait_for("the news", || {
        let found = fs::read(&cam);
        assert!(found.as_ref().is_ok_and(|found| *found != other) || found.is_err());
        (found.err()?.raw_os_error() == stale).then_some(())
    });
    assert_eq!(
        open.read_at(&mut read, 0).unwrap_err().raw_os_error(),
        stale
    );
    let listed = fs::read_dir(mounted.path("")).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    assert_eq!(listed.unwrap_err().raw_os_error(), stale);
    drop(open);
    mounted.unmount();
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let mut told = String::new();
    said.read_to_string(&mut told).unwrap();
    let told = unwrapped(&told);
    assert_eq!(
        told.matches("another store was created").count(),
        1,
        "{told}"
    );
    mounted.mount(&[]);
    assert!(fs::read(&cam).unwrap() == other);
    mounted.unmount();
}

#[test]
fn in_the_background_it_leaves_nothing_in_the_way() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &[]);
    let said = mounted
        .place
        .run(&["mount", "store", "view"])
        .expect(0)
        .stderr;
    let process = said.split("process ").nth(1).unwrap();
    let process = process.split(';').next().unwrap();
    let of = format!("/proc/{process}");
    assert_eq!(fs::read_link(format!("{of}/cwd")).unwrap().as_os_str(), "/");
    for stream in 0..3 {
        let link = fs::read_link(format!("{of}/fd/{stream}")).unwrap();
        assert_eq!(link.as_os_str(), "/dev/null");
    }
    mounted.unmount();
    wait_for("its end", || {
        let status = fs::read_to_string(format!("{of}/status")).ok();
        let is_there = status.is_some_and(|status| !status.contains("State:\tZ"));
        (!is_there).then_some(())
    });
    let mut again = Command::new("fusermount3");
    let again = again.arg("-u").arg(mounted.path("")).output().unwrap();
    assert!(!again.status.success(), "nothing is mounted any more");
}
