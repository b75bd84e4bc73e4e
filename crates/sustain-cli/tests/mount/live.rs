//! A mount while its store is recorded to: what is durable appears, and grows.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::{MountPlace, noise, wait_for};

#[test]
fn a_recording_that_begins_later_appears_and_grows() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.mount(&[]);
    assert!(mounted.names("").is_empty());
    let record = ["record", "store", "--from", "-", "--stream", "log"];
    let mut recorder = mounted.place.command(&record);
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
        let file = fs::File::open(&path);
        // The mount may not know yet that the ring has come by.
        let (mut right, mut lost) = (0, 0);
        if let Ok(file) = file {
            use std::os::unix::fs::FileExt;
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
                        assert_eq!(errno, Some(rustix::io::Errno::IO.raw_os_error()));
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
