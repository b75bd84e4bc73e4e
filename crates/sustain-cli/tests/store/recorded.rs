//! Stores with recordings whose every byte is known: made with the command, filled with the
//! library's recorder.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sustain::host::Roots;
use sustain::record::format::{GapReason, MarkKind, PayloadMark};
use sustain::record::source::framing::{Framer, Framing};
use sustain::record::store::{Mode, Store};
use sustain::record::{
    AppendSize, RecordOptions, Recorder, RecordingProgress, StreamSetup, StreamWriter,
};

use crate::support::{Place, json_of, said};

pub const SLOT_BYTES: u64 = 64 << 10;
/// Slots begin here.
pub const FIRST_SLOT: u64 = 128 << 10;
/// When the first byte of every recording here arrives, in nanoseconds since 1970.
pub const ARRIVAL_NS: i64 = 1_700_000_000_000_000_000;
/// More than any of these tests should wait for a disk.
pub const AT_MOST: Duration = Duration::from_secs(60);

/// What a source offers.
pub enum Offered<'a> {
    Bytes(&'a [u8]),
    /// So many bytes are lost before they reach a member.
    Lost(u64),
}

/// A stream and all that its source offers.
pub struct Stream<'a> {
    pub name: &'a str,
    pub framing: &'a str,
    pub offered: Vec<Offered<'a>>,
}

impl<'a> Stream<'a> {
    pub fn plain(name: &'a str, bytes: &'a [u8]) -> Stream<'a> {
        Stream::framed(name, "none", bytes)
    }

    pub fn framed(name: &'a str, framing: &'a str, bytes: &'a [u8]) -> Stream<'a> {
        Stream {
            name,
            framing,
            offered: vec![Offered::Bytes(bytes)],
        }
    }
}

/// How a recording ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    InOrder,
    /// As a kill leaves it: all is durable, and there is no end mark.
    Crash,
}

/// Bytes that differ everywhere.
pub fn content(count: usize) -> Vec<u8> {
    (0..count)
        .map(|at| ((at * 2_654_435_761) >> 7) as u8)
        .collect()
}

/// Makes a store of these new files, of this size each.
#[track_caller]
pub fn create(place: &Place, members: &[&str], size: &str) {
    let flags = ["--size", size, "--slot", "64KiB", "--no-prewrite"];
    place
        .run(&[&["create"], members, &flags].concat())
        .expect(0);
}

/// Records streams on the store of these members.
pub fn record(place: &Place, members: &[&str], streams: &[Stream<'_>], end: End) {
    record_with(place, members, streams, end, false);
}

/// Records these bytes as the only stream, to its end.
pub fn record_main(place: &Place, members: &[&str], bytes: &[u8]) {
    record(
        place,
        members,
        &[Stream::plain("main", bytes)],
        End::InOrder,
    );
}

/// Records streams in a ring, on the store of these members.
pub fn record_ring(place: &Place, members: &[&str], streams: &[Stream<'_>], end: End) {
    record_with(place, members, streams, end, true);
}

fn record_with(place: &Place, members: &[&str], streams: &[Stream<'_>], end: End, ring: bool) {
    let paths: Vec<String> = members
        .iter()
        .map(|member| place.path(member).to_str().unwrap().to_owned())
        .collect();
    let store = Store::open(&paths, Mode::Record, &Roots::default()).unwrap();
    let setups = streams.iter().map(|stream| StreamSetup {
        name: stream.name.to_owned(),
        framing: stream.framing.to_owned(),
        source: None,
    });
    let options = RecordOptions {
        buffer_bytes: 8 << 20,
        append_size: AppendSize::Exactly(SLOT_BYTES as u32),
        ring,
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(store, setups, options).unwrap();
    let mut writers = recorder.writers();
    for (writer, stream) in writers.iter_mut().zip(streams) {
        offer(writer, stream);
    }
    if end == End::InOrder {
        drop(writers);
        recorder.finish().unwrap();
        return;
    }
    let offered: Vec<u64> = writers.iter().map(StreamWriter::offered_bytes).collect();
    let durable = |standing: &RecordingProgress| {
        let mut streams = standing.streams.iter().zip(&offered);
        streams.all(|(stream, offered)| stream.settled_bytes >= *offered)
    };
    let standing = recorder.board().wait_for(durable, AT_MOST);
    assert!(durable(&standing), "{standing:?}");
    let files: Vec<_> = paths.iter().map(|path| file_of(Path::new(path))).collect();
    let crashed: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    drop(writers);
    recorder.finish().unwrap();
    for (file, bytes) in files.iter().zip(crashed) {
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
    }
}

/// The member's file: the path, or the one in the directory.
pub fn file_of(path: &Path) -> std::path::PathBuf {
    if path.is_dir() {
        path.join("sustain.store")
    } else {
        path.to_owned()
    }
}

fn offer(writer: &mut StreamWriter, stream: &Stream<'_>) {
    offer_from(writer, stream, ARRIVAL_NS, 1_000_000);
}

/// Offers what a source has, from this moment on, with so long between its frames.
pub fn offer_from(writer: &mut StreamWriter, stream: &Stream<'_>, from_ns: i64, step_ns: i64) {
    let mut framer = Framer::new(stream.framing.parse::<Framing>().unwrap());
    let mut arrival_ns = from_ns;
    for offered in &stream.offered {
        match offered {
            Offered::Lost(bytes) => writer.skip(*bytes, 0, GapReason::BufferFull),
            Offered::Bytes(bytes) => {
                let mut found = Vec::new();
                framer.push(bytes, &mut found).unwrap();
                let marks: Vec<PayloadMark> = found
                    .iter()
                    .map(|mark| PayloadMark {
                        offset_bytes: mark.offset as u64,
                        kind: mark.kind,
                        time_ns: (mark.kind != MarkKind::End).then(|| {
                            arrival_ns += step_ns;
                            arrival_ns - step_ns
                        }),
                    })
                    .collect();
                put(writer, bytes, &marks, from_ns);
            }
        }
    }
}

fn put(writer: &mut StreamWriter, bytes: &[u8], marks: &[PayloadMark], from_ns: i64) {
    let (mut at, mut entered, mut time_ns) = (0, 0, from_ns);
    while at < bytes.len() {
        let mut filling = writer.lend().expect("there is room for it");
        // Room for the marks stays.
        let room = filling.spare_mut().len() - 4096;
        let count = room.min(bytes.len() - at);
        filling.spare_mut()[..count].copy_from_slice(&bytes[at..at + count]);
        let here: Vec<PayloadMark> = marks[entered..]
            .iter()
            .take_while(|mark| mark.offset_bytes <= (at + count) as u64)
            .map(|mark| PayloadMark {
                offset_bytes: mark.offset_bytes - at as u64,
                ..*mark
            })
            .collect();
        time_ns = here
            .iter()
            .filter_map(|mark| mark.time_ns)
            .fold(time_ns, i64::max);
        let (taken, marked) = filling.take(count, &here, time_ns);
        writer.commit(filling);
        at += taken;
        entered += marked;
    }
}

/// Writes zeros over a block of a file.
pub fn damage(place: &Place, name: &str, at: u64) {
    let file = std::fs::File::options()
        .write(true)
        .open(place.path(name))
        .unwrap();
    file.write_all_at(&[0; 4096], at).unwrap();
}

/// Where the payload of the append in a slot begins, in a store of slots of 64 KiB.
pub fn payload_of_slot(slot: u64) -> u64 {
    FIRST_SLOT + slot * SLOT_BYTES + 4096
}

/// What `extract` puts on standard output, with its exit code and words.
pub fn extract(place: &Place, arguments: &[&str]) -> (i32, Vec<u8>, String) {
    let output = place
        .command(&[&["extract"], arguments].concat())
        .output()
        .unwrap();
    let (words, _) = said(output.stderr);
    (output.status.code().unwrap_or(-1), output.stdout, words)
}

/// The JSON that a command writes, in its published form.
#[track_caller]
pub fn document(place: &Place, code: i32, arguments: &[&str]) -> Value {
    let ran = place
        .run(&[arguments, &["--json", "-"]].concat())
        .expect(code);
    let document = json_of(&ran.stdout);
    assert_published(&document, arguments[0]);
    document
}

/// Fails unless the document has the form that is published for the command.
#[track_caller]
pub fn assert_published(document: &Value, command: &str) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let schema = std::fs::read_to_string(docs.join(format!("{command}.schema.json"))).unwrap();
    let validator = jsonschema::validator_for(&json_of(&schema)).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?} in {document:#}");
}
