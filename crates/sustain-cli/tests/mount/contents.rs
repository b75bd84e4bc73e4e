//! What the files of a mount give: the bytes of `extract` at any place and to several readers, the
//! frames, the document, and an error where bytes are lost.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::Signal;
use sustain_testing::{Requirement, skip};

use super::support::json_of;
use super::{MountPlace, noise, unmount};

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();
const SIGBUS: i32 = Signal::BUS.as_raw();
/// Longer than what is kept in memory, with an odd end.
const LENGTH: usize = 21_234_567;

fn read_at(file: &File, offset: usize, length: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset as u64)?;
    Ok(bytes)
}

#[test]
fn files_give_what_extract_gives_at_any_place() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(1, LENGTH);
    mounted.record(&bytes, &["--stream", "cam"]);
    mounted.mount(&[]);
    let path = mounted.path("recording-1/cam");
    assert_eq!(fs::metadata(&path).unwrap().len(), LENGTH as u64);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut ranges = vec![(0, 1), (LENGTH - 1, 1), (0, 4096)];
    for _ in 0..20 {
        let start = random.random_range(0..LENGTH);
        ranges.push((
            start,
            random.random_range(1..=(LENGTH - start).min(1 << 21)),
        ));
    }
    let file = File::open(&path).unwrap();
    for (start, length) in ranges {
        let (from, to) = (start.to_string(), (start + length).to_string());
        let range = ["--from-byte", &from, "--to-byte", &to, "-o", "extracted"];
        let extract = [&["extract", "store"], &range[..]].concat();
        mounted.place.run(&extract).expect(0);
        let extracted = fs::read(mounted.place.path("extracted")).unwrap();
        let read = read_at(&file, start, length).unwrap();
        assert!(read == extracted, "bytes {start} to {}", start + length);
        fs::remove_file(mounted.place.path("extracted")).unwrap();
    }
    assert!(fs::read(&path).unwrap() == bytes);
    let behind = read_at(&file, LENGTH, 1).unwrap_err();
    assert_eq!(behind.kind(), ErrorKind::UnexpectedEof);
    drop(file);
    mounted.unmount();
}

#[test]
fn several_readers_at_once_get_the_right_bytes() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(3, LENGTH);
    mounted.record(&bytes, &["--stream", "cam"]);
    mounted.mount(&[]);
    let path = mounted.path("recording-1/cam");
    std::thread::scope(|scope| {
        for seed in 0..6 {
            let (path, bytes) = (&path, &bytes);
            scope.spawn(move || {
                let file = File::open(path).unwrap();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                if seed % 2 == 0 {
                    assert!(fs::read(path).unwrap() == *bytes);
                }
                for _ in 0..40 {
                    let start = random.random_range(0..LENGTH);
                    let length = random.random_range(1..=(LENGTH - start).min(300_000));
                    let read = read_at(&file, start, length).unwrap();
                    assert!(read == bytes[start..start + length], "{start} and {length}");
                }
            });
        }
    });
    mounted.unmount();
}

#[test]
fn frames_are_files_and_the_document_is_that_of_list() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let lines: String = (0..2500).map(|line| format!("line {line}\n")).collect();
    // A text may end without a newline.
    mounted.record(
        lines.trim_end().as_bytes(),
        &["--stream", "log", "--frames", "lines"],
    );
    mounted.mount(&[]);
    let expected = ["log", "log.frames", "recording.json"];
    assert_eq!(mounted.names("recording-1"), expected);
    let groups = ["000000000", "000001000", "000002000"];
    assert_eq!(mounted.names("recording-1/log.frames"), groups);
    let last = mounted.names("recording-1/log.frames/000002000");
    assert_eq!(last.len(), 500);
    assert_eq!(last[499], "log-000002499.txt");
    for number in [2499, 0, 1, 2, 999, 1000, 1500] {
        let name = format!(
            "recording-1/log.frames/{:09}/log-{number:09}.txt",
            number / 1000 * 1000
        );
        let end = if number == 2499 { "" } else { "\n" };
        let line = format!("line {number}{end}");
        assert_eq!(
            fs::metadata(mounted.path(&name)).unwrap().len(),
            line.len() as u64
        );
        assert_eq!(fs::read_to_string(mounted.path(&name)).unwrap(), line);
    }
    for absent in ["000002000/log-000002500.txt", "000003000", "000000000/x"] {
        let absent = fs::metadata(mounted.path("recording-1/log.frames").join(absent));
        assert_eq!(absent.unwrap_err().kind(), ErrorKind::NotFound);
    }
    let document = fs::read_to_string(mounted.path("recording-1/recording.json")).unwrap();
    // The process in the background has the whole paths of the members.
    let store = mounted.place.path("store").display().to_string();
    let listed = mounted.place.run(&["list", &store, "--json", "-"]);
    let listed = listed.expect(0);
    let (document, listed) = (json_of(&document), json_of(&listed.stdout));
    assert_eq!(document, listed);
    mounted.unmount();
}

#[test]
fn a_frame_that_the_end_of_a_recording_cuts_is_no_file() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let flags = ["--stream", "log", "--frames", "lines", "--bytes", "12"];
    mounted.record(b"aaaa\nbbbb\ncccc\n", &flags);
    mounted.mount(&[]);
    let group = "recording-1/log.frames/000000000";
    let whole = ["log-000000000.txt", "log-000000001.txt"];
    assert_eq!(mounted.names(group), whole);
    for name in whole {
        fs::read(mounted.path(&format!("{group}/{name}"))).unwrap();
    }
    let cut = fs::metadata(mounted.path(&format!("{group}/log-000000002.txt")));
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::NotFound);
    mounted.unmount();
}

#[test]
fn a_million_frames_are_a_thousand_directories() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let lines: Vec<u8> = (0..1_000_000_u32)
        .flat_map(|line| [b'a' + (line % 26) as u8, b'\n'])
        .collect();
    mounted.record(&lines, &["--stream", "log", "--frames", "lines"]);
    mounted.mount(&[]);
    let groups = mounted.names("recording-1/log.frames");
    assert_eq!(groups.len(), 1000);
    assert_eq!(
        mounted.names("recording-1/log.frames/000999000").len(),
        1000
    );
    let last = mounted.path("recording-1/log.frames/000999000/log-000999999.txt");
    let letter = char::from(b'a' + (999_999 % 26) as u8);
    assert_eq!(fs::read_to_string(last).unwrap(), format!("{letter}\n"));
    mounted.unmount();
}

/// Changes a byte of a recorded stream on its medium.
fn damage(mounted: &MountPlace, bytes: &[u8], at: usize) {
    let path = mounted.place.path("store/sustain.store");
    let store = fs::read(&path).unwrap();
    let wanted = &bytes[at..at + 32];
    let place = store.windows(32).position(|window| window == wanted);
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[!bytes[at]], place.unwrap() as u64)
        .unwrap();
}

#[test]
fn damaged_bytes_are_an_error_or_zeros_and_never_other_bytes() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let (length, at) = (4_000_000, 2_000_000);
    let bytes = noise(4, length);
    mounted.record(&bytes, &["--stream", "cam"]);
    damage(&mounted, &bytes, at);
    mounted.mount(&[]);
    let file = File::open(mounted.path("recording-1/cam")).unwrap();
    let error = read_at(&file, at, 1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(EIO));
    assert!(fs::read(mounted.path("recording-1/cam")).is_err());
    // All but the 64 KiB of the checksum is there, page by page.
    let whole = |start: usize| {
        read_at(&file, start, 4096).is_ok_and(|read| read == bytes[start..start + 4096])
    };
    let lost = (0..length - 4096)
        .step_by(4096)
        .filter(|start| !whole(*start));
    let lost: Vec<usize> = lost.collect();
    assert!((16..=18).contains(&lost.len()), "{lost:?}");
    assert!(
        lost.iter().all(|start| start.abs_diff(at) <= 2 * 65536),
        "{lost:?}"
    );
    drop(file);
    mounted.unmount();
    mounted.mount(&["--holes", "zeros"]);
    let read = fs::read(mounted.path("recording-1/cam")).unwrap();
    assert_eq!(read.len(), length);
    let is_zero_or_right = |at: usize| read[at] == bytes[at] || read[at] == 0;
    assert!((0..length).all(is_zero_or_right));
    let wrong = (0..length).filter(|at| read[*at] != bytes[*at]).count();
    assert!((60_000..=65_536).contains(&wrong), "{wrong}");
    assert_eq!(read[at], 0);
    mounted.unmount();
}

#[test]
fn a_read_over_lost_bytes_returns_what_lies_before_them_and_fails_there() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let at = 2_000_000;
    let bytes = noise(10, 4_000_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    damage(&mounted, &bytes, at);
    mounted.mount(&[]);
    let file = File::open(mounted.path("recording-1/cam")).unwrap();
    let mut read = vec![0; 1_000_000];
    let start = at - 500_000;
    let count = file.read_at(&mut read, start as u64).unwrap();
    // The checksum that fails covers 64 KiB.
    assert!((500_000 - 65_536..=500_000).contains(&count), "{count}");
    assert!(read[..count] == bytes[start..start + count]);
    let error = file.read_at(&mut read, (start + count) as u64).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(EIO));
    drop(file);
    mounted.unmount();
}

/// Maps a file, by Python, and writes what is in the map to standard output, from this byte on.
fn mapped(path: &Path, access: &str, from: usize) -> Option<Output> {
    let script = "import mmap, sys\n\
        file = open(sys.argv[1], 'rb')\n\
        view = mmap.mmap(file.fileno(), 0, access=getattr(mmap, sys.argv[2]))\n\
        sys.stdout.buffer.write(view[int(sys.argv[3]):])\n";
    let mut python = Command::new("python3");
    let python = python.args(["-c", script]).arg(path);
    match python.args([access, &from.to_string()]).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(Requirement::Program("python3"), error);
            None
        }
    }
}

#[test]
fn a_map_of_a_file_has_its_bytes_and_none_for_those_that_are_lost() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let (length, at) = (LENGTH / 2, 5_000_000);
    let bytes = noise(11, length);
    mounted.record(&bytes, &["--stream", "cam"]);
    damage(&mounted, &bytes, at);
    mounted.mount(&[]);
    let path = mounted.path("recording-1/cam");
    // Shared with others who map it, and the reader's own.
    for access in ["ACCESS_READ", "ACCESS_COPY"] {
        let Some(whole) = mapped(&path, access, at + 100_000) else {
            break;
        };
        assert!(whole.status.success(), "{}", describe(&whole));
        assert!(whole.stdout == bytes[at + 100_000..]);
        let Some(lost) = mapped(&path, access, 0) else {
            break;
        };
        assert_eq!(lost.status.signal(), Some(SIGBUS), "{}", describe(&lost));
    }
    mounted.unmount();
}

fn describe(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    format!("{}, {} bytes: {said}", output.status, output.stdout.len())
}

#[test]
fn what_lies_on_a_missing_member_is_lost_and_nothing_else_is() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let place = &mounted.place;
    for member in ["a", "b"] {
        fs::create_dir(place.path(member)).unwrap();
    }
    let size = ["--size", "64MiB", "--slot", "1MiB"];
    place
        .run(&[&["create", "a", "b"], &size[..]].concat())
        .expect(0);
    // So slow a source that a member that does not answer at first gets data all the same.
    let length = LENGTH.to_string();
    let record = [
        "record",
        "a",
        "b",
        "--from",
        "test:100MB/s",
        "--bytes",
        &length,
    ];
    place
        .run(&[&record[..], &["--stream", "cam"]].concat())
        .expect(0);
    place.run(&["extract", "a", "b", "-o", "whole"]).expect(0);
    let bytes = fs::read(place.path("whole")).unwrap();
    assert_eq!(bytes.len(), LENGTH);
    for holes in ["eio", "zeros"] {
        let mount = ["mount", "a", "view", "--holes", holes];
        place.run(&mount).expect(0);
        let file = File::open(mounted.path("recording-1/cam")).unwrap();
        assert_eq!(file.metadata().unwrap().len(), LENGTH as u64);
        let (mut right, mut lost) = (0, 0);
        for start in (0..LENGTH - 4096).step_by(4096 * 8) {
            match read_at(&file, start, 4096) {
                Ok(read) if read == bytes[start..start + 4096] => right += 1,
                Ok(read) => {
                    let is_right_or_zero =
                        |at: usize| read[at] == bytes[start + at] || read[at] == 0;
                    assert!(
                        holes == "zeros" && (0..4096).all(is_right_or_zero),
                        "{start}"
                    );
                    lost += 1;
                }
                Err(error) => {
                    assert_eq!((holes, error.raw_os_error()), ("eio", Some(EIO)));
                    lost += 1;
                }
            }
        }
        assert!(right > 0 && lost > 0, "{holes}: {right}, {lost}");
        drop(file);
        mounted.unmount();
    }
}

#[test]
fn two_mounts_of_one_store_do_not_need_each_other() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(13, LENGTH / 2);
    mounted.record(&bytes, &["--stream", "cam"]);
    mounted.mount(&[]);
    let place = &mounted.place;
    let second = place.path("second");
    fs::create_dir(&second).unwrap();
    place.run(&["mount", "store", "second"]).expect(0);
    let mut one = File::open(mounted.path("recording-1/cam")).unwrap();
    let mut other = File::open(second.join("recording-1/cam")).unwrap();
    let (mut left, mut right) = (vec![0; bytes.len()], Vec::new());
    let (begin, rest) = left.split_at_mut(bytes.len() / 2);
    one.read_exact(begin).unwrap();
    other.read_to_end(&mut right).unwrap();
    drop(other);
    unmount(&second);
    one.read_exact(rest).unwrap();
    assert!(left == bytes && right == bytes);
    drop(one);
    mounted.unmount();
}

#[test]
fn a_split_stream_is_its_pieces() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    let bytes = noise(5, 3_500_000);
    mounted.record(&bytes, &["--stream", "cam"]);
    mounted.mount(&["--split", "1MB"]);
    let names = mounted.names("recording-1/cam");
    assert_eq!(
        names,
        ["cam-000000", "cam-000001", "cam-000002", "cam-000003"]
    );
    let paths = names
        .iter()
        .map(|name| mounted.path("recording-1/cam").join(name));
    let joined: Vec<u8> = paths
        .clone()
        .flat_map(|path| fs::read(path).unwrap())
        .collect();
    assert!(joined == bytes);
    let sizes: Vec<u64> = paths
        .map(|path| fs::metadata(path).unwrap().size())
        .collect();
    assert_eq!(sizes, [1_000_000, 1_000_000, 1_000_000, 500_000]);
    mounted.unmount();
}

#[test]
fn nothing_can_be_written() {
    let Some(mounted) = MountPlace::new() else {
        return;
    };
    mounted.record(b"bytes", &["--stream", "cam"]);
    mounted.mount(&[]);
    let cam = mounted.path("recording-1/cam");
    for refused in [
        File::options().append(true).open(&cam).map(|_| ()),
        fs::remove_file(&cam),
        fs::write(mounted.path("new"), ""),
        fs::create_dir(mounted.path("recording-1/new")),
    ] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
    }
    mounted.unmount();
}
