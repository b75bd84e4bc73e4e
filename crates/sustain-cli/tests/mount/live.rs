//! A mount while its store is recorded to: what is durable appears, and grows.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::fs::{FlockOperation, flock, inotify};

use super::{MountPlace, noise, wait_for};
use crate::support::Place;

/// What a recorder is given soon appears soon.
const SOON: &[&str] = &["--durable", "100ms"];
const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

#[test]
fn a_recording_that_begins_later_appears_and_grows() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.mount(&[]);
    assert!(mounted.names("").is_empty());
    let record = ["record", "store", "--from", "-", "--stream", "log"];
    let mut recorder = mounted.place.command(&[&record, SOON].concat());
    let mut recorder = recorder.stdin(Stdio::piped()).spawn().unwrap();
    let mut source = recorder.stdin.take().unwrap();
    let bytes = noise(6, 3_000_000);
    let path = mounted.path("recording-1/log");
    let mut given = 0;
    for part in [10, 100_000, 1_000_000, bytes.len()] {
        source.write_all(&bytes[given..part]).unwrap();
        given = part;
        // Nothing more comes, and still all of it appears.
        wait_for("what was recorded", || {
            let read = fs::read(&path).unwrap_or_default();
            assert!(bytes.starts_with(&read), "{} bytes", read.len());
            (read.len() == part).then_some(())
        });
    }
    drop(source);
    assert!(recorder.wait().unwrap().success());
    wait_for("the end", || {
        let document = fs::read_to_string(mounted.path("recording-1/recording.json")).ok()?;
        document.contains("\"ended\": \"source\"").then_some(())
    });
    assert!(fs::read(&path).unwrap() == bytes);
    mounted.record(b"second", &["--stream", "cam"]);
    let second = mounted.path("recording-2/cam");
    let second = wait_for("the next recording", || fs::read(&second).ok());
    assert_eq!(second, b"second");
    mounted.unmount();
}

#[test]
fn what_a_ring_overwrites_is_an_error_and_never_other_bytes() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(7, 40_000_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    for flags in [&[][..], &["--holes", "zeros"]] {
        mounted.mount(flags);
        let path = mounted.path("recording-1/cam");
        let before = fs::metadata(&path).unwrap().len();
        assert_eq!(before, bytes.len() as u64);
        let ring = noise(8, 30_000_000);
        mounted.record(&ring, &["--stream", "cam", "--ring"]);
        let file = File::open(&path);
        // The mount may not know yet that the ring has come by.
        let (mut right, mut lost) = (0, 0);
        if let Ok(file) = file {
            let mut page = [0; 4096];
            for start in (0..bytes.len() - 4096).step_by(4096 * 16) {
                match file.read_exact_at(&mut page, start as u64) {
                    Ok(()) => {
                        let is_right = page == bytes[start..start + 4096];
                        assert!(is_right, "byte {start}");
                        right += 1;
                    }
                    Err(error) => {
                        let errno = error.raw_os_error();
                        assert_eq!(errno, Some(EIO));
                        lost += 1;
                    }
                }
            }
        }
        assert!(
            lost > 0 && (right > 0 || !flags.is_empty()),
            "{right}, {lost}"
        );
        mounted.unmount();
    }
}

/// A stream of which each eight bytes say where they are.
fn counted(from: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (word, place) in (from / 8..).zip(bytes.chunks_exact_mut(8)) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[test]
fn a_reader_beside_a_ring_gets_the_right_bytes_or_an_error() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.mount(&[]);
    let record = [
        "record", "store", "--from", "-", "--stream", "cam", "--ring",
    ];
    let mut recorder = mounted.place.command(&record);
    let mut recorder = recorder.stdin(Stdio::piped()).spawn().unwrap();
    let mut source = recorder.stdin.take().unwrap();
    let path = mounted.path("recording-1/cam");
    let piece_bytes = 4 << 20;
    let (mut right, mut lost) = (0, 0);
    // Twice the store's size, so that what is read is overwritten meanwhile.
    for piece in 0..32 {
        let start = piece * piece_bytes as u64;
        source.write_all(&counted(start, piece_bytes)).unwrap();
        if piece == 0 {
            // However slow the machine is, something is read before the ring has gone round.
            wait_for("the first bytes", || {
                let read = File::open(&path).ok()?.read_at(&mut [0; 4096], 0).ok()?;
                (read > 0).then_some(())
            });
        }
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let mut read = vec![0; 1 << 16];
        let end = file.metadata().unwrap().len();
        for offset in (0..end).step_by(7 << 20) {
            match file.read_at(&mut read, offset) {
                Ok(count) => {
                    let expected = counted(offset, read.len());
                    assert!(read[..count] == expected[..count], "byte {offset}");
                    right += 1;
                }
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(EIO));
                    lost += 1;
                }
            }
        }
    }
    drop(source);
    assert!(recorder.wait().unwrap().success());
    // The store has no room for the beginning any more. What was read of it, and somewhat behind
    // that, the kernel may have kept.
    wait_for("what was overwritten", || {
        let file = File::open(&path).ok()?;
        let mut lost_now = None;
        for offset in (0..32 << 20).step_by(1 << 20) {
            let mut read = [0; 4096];
            match file.read_at(&mut read, offset) {
                Ok(count) => assert!(read[..count] == counted(offset, count), "byte {offset}"),
                Err(error) => {
                    assert_eq!(error.raw_os_error(), Some(EIO));
                    lost_now = Some(());
                }
            }
        }
        lost_now
    });
    assert!(right > 0, "{right}, {lost}");
    mounted.unmount();
}

#[test]
fn tail_follows_a_stream_while_it_is_recorded() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.mount(&[]);
    let record = ["record", "store", "--from", "-", "--stream", "log"];
    let mut recorder = mounted.place.command(&[&record, SOON].concat());
    let mut recorder = recorder.stdin(Stdio::piped()).spawn().unwrap();
    let mut source = recorder.stdin.take().unwrap();
    source.write_all(b"first\n").unwrap();
    let path = mounted.path("recording-1/log");
    wait_for("the stream", || File::open(&path).ok());
    let mut tail = Command::new("tail");
    let tail = tail.args(["-c", "+1", "-f"]).arg(&path);
    let mut tail = tail.stdout(Stdio::piped()).spawn().unwrap();
    let mut told = tail.stdout.take().unwrap();
    let mut expect = |expected: &[u8]| {
        let mut read = vec![0; expected.len()];
        told.read_exact(&mut read).unwrap();
        assert!(read == expected, "{} bytes", expected.len());
    };
    expect(b"first\n");
    for length in [1, 70_000, 2_000_000] {
        let bytes = noise(length as u64, length);
        source.write_all(&bytes).unwrap();
        expect(&bytes);
    }
    drop(source);
    assert!(recorder.wait().unwrap().success());
    tail.kill().unwrap();
    tail.wait().unwrap();
    mounted.unmount();
}

#[test]
fn frames_can_be_followed_one_by_one_while_they_are_recorded() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.mount(&[]);
    let lines = ["--stream", "log", "--frames", "lines"];
    let record = [&["record", "store", "--from", "-"], &lines[..], SOON].concat();
    let mut recorder = mounted.place.command(&record);
    let mut recorder = recorder.stdin(Stdio::piped()).spawn().unwrap();
    let mut source = recorder.stdin.take().unwrap();
    let (mut given, mut read) = (0, 0);
    for lines in [2, 1, 3, 1] {
        for number in given..given + lines {
            writeln!(source, "line {number}").unwrap();
        }
        given += lines;
        // A frame appears once the next one has begun. The newest one is read first, and then each
        // that comes behind it.
        while read < given - 1 {
            let name = format!("recording-1/log.frames/000000000/log-{read:09}.txt");
            let text = wait_for("the next frame", || {
                match fs::read_to_string(mounted.path(&name)) {
                    Ok(text) => Some(text),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => panic!("{name}: {error}"),
                }
            });
            assert_eq!(text, format!("line {read}\n"));
            read += 1;
        }
    }
    drop(source);
    assert!(recorder.wait().unwrap().success());
    mounted.unmount();
}

/// Tells, as a recorder does, that this process records on all disks, and that nothing waits.
fn tell_of_a_recorder(runtime: &Path) -> File {
    fs::create_dir(runtime.join("sustain")).unwrap();
    let process = std::process::id();
    let path = runtime.join(format!("sustain/recording-{process}-0.need"));
    let mut text = format!("{:>20} {:>20}\n", 0, 1);
    for disk in fs::read_dir("/sys/class/block").unwrap() {
        let number = fs::read_to_string(disk.unwrap().path().join("dev")).unwrap();
        text.push_str(&format!("disk {number}"));
    }
    let file = File::create(&path).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file.write_all_at(text.as_bytes(), 0).unwrap();
    file
}

#[test]
fn a_reader_of_a_mount_asks_what_a_recorder_on_its_disks_needs() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(15, 20_000_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    let runtime = mounted.place.path("runtime");
    fs::create_dir(&runtime).unwrap();
    let _told = tell_of_a_recorder(&runtime);
    let mut mount = mounted.place.command(&["mount", "store", "view"]);
    let mount = mount.env("XDG_RUNTIME_DIR", &runtime).output().unwrap();
    assert!(mount.status.success(), "{mount:?}");
    let path = mounted.path("recording-1/cam");
    let file = File::open(&path).unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC);
    let watch = File::from(watch.unwrap());
    let accesses = inotify::WatchFlags::ACCESS;
    let told = runtime.join("sustain");
    inotify::add_watch(&watch, &told, accesses).unwrap();
    let looks = || {
        let mut events = [0; 4096];
        (&watch).read(&mut events).unwrap_or(0)
    };
    // Opening the file may have looked at the store, which asks as well. Reading does not.
    looks();
    let mut read = vec![0; bytes.len()];
    file.read_exact_at(&mut read, 0).unwrap();
    assert!(read == bytes);
    assert!(looks() > 0, "it has been read past the recorder");
    drop(file);
    mounted.unmount();
}

/// Begins to record on three members with parity, and gives a recording of so many bytes.
fn recorder_with_parity(place: &Place, bytes: &[u8]) -> (Child, ChildStdin) {
    let members = ["a", "b", "c"];
    let parity = ["--parity", "1", "--same-disk"];
    let size = ["--size", "64MiB", "--slot", "1MiB"];
    place
        .run(&[&["create"], &members[..], &parity, &size].concat())
        .expect(0);
    let record = ["record", "a", "b", "c", "--from", "-", "--stream", "log"];
    let mut recorder = place.command(&[&record, SOON].concat());
    let mut recorder = recorder.stdin(Stdio::piped()).spawn().unwrap();
    let mut source = recorder.stdin.take().unwrap();
    source.write_all(bytes).unwrap();
    // Until then the store may have no recording.
    wait_for("the recording", || {
        let listed = place.run(&["list", "a", "b", "c"]).stdout;
        listed.contains(" log ").then_some(())
    });
    (recorder, source)
}

#[test]
fn a_mount_without_a_member_follows_what_is_recorded_on_it() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(10, 30_000_000);
    let (mut recorder, mut source) = recorder_with_parity(&mounted.place, &bytes[..4_000_000]);
    mounted.mount_members(&["a", "c"], &[]);
    let path = mounted.path("recording-1/log");
    for (given, next) in [(4_000_000, 12_000_000), (12_000_000, bytes.len())] {
        wait_for("what was recorded", || {
            // As long as a group is open, what comes last cannot be computed.
            let read = fs::read(&path).ok()?;
            assert!(bytes.starts_with(&read), "{} bytes", read.len());
            (read.len() == given).then_some(())
        });
        source.write_all(&bytes[given..next]).unwrap();
    }
    drop(source);
    assert!(recorder.wait().unwrap().success());
    wait_for("the end", || {
        let read = fs::read(&path).ok()?;
        (read == bytes).then_some(())
    });
    mounted.unmount();
}

/// The mount has the file open, and it is no member any more.
#[test]
fn a_mount_goes_on_without_a_member_that_is_cut_off_and_protected() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(9, 30_000_000);
    let place = &mounted.place;
    let (mut recorder, mut source) = recorder_with_parity(place, &bytes[..10_000_000]);
    mounted.mount_members(&["a", "b", "c"], &[]);
    let path = mounted.path("recording-1/log");
    let shown = |count: usize| {
        wait_for("what was recorded", || {
            let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            (length >= count as u64).then_some(())
        });
    };
    shown(1_000_000);
    let file = File::options().write(true).open(place.path("b")).unwrap();
    file.set_len(0).unwrap();
    source.write_all(&bytes[10_000_000..]).unwrap();
    drop(source);
    // It tells of the member that failed.
    assert_eq!(recorder.wait().unwrap().code(), Some(1));
    shown(bytes.len());
    assert!(fs::read(&path).unwrap() == bytes);
    mounted.unmount();
}
