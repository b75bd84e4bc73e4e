//! Gives memory of its own to the recorder, as a camera with a circular buffer does: each picture
//! is written from where it is, without a copy, and its memory comes back to be filled again. Then
//! iterates over the pictures as frames.
//!
//! `cargo run --example give_own_memory -- DIRECTORY` makes a small store in the
//! directory, which must have none yet.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use sustain::disk::buffer::AlignedBytes;
use sustain::record::{FrameReader, Framed, Mode, PayloadMark, Range, Scope, StreamReader};
use sustain::{CreatePlan, RecordOptions, Recorder, Roots, Stop, Store, create};

const PICTURE_BYTES: usize = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    let plan = CreatePlan::new([&directory]).with_size_bytes(64 << 20);
    create(&plan, &Roots::default(), &Stop::default(), &mut |_| ())?;
    record(&directory)?;
    read_back(&directory)
}

fn record(directory: &str) -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::open([directory], Mode::Record, &Roots::default())?;
    let mut recorder = Recorder::start(store, ["camera"], RecordOptions::default())?;
    let mut camera = recorder.writer("camera")?.giver::<AlignedBytes>();
    for number in 0..20 {
        let mut picture = match camera.returned() {
            Some(written) => written,
            None => AlignedBytes::new(PICTURE_BYTES)?,
        };
        picture.fill(number);
        let now_ns = camera.now_ns();
        // A picture is one frame: it begins with its first byte and ends with its last.
        let frame = [
            PayloadMark::begin(0, now_ns),
            PayloadMark::end(PICTURE_BYTES as u64),
        ];
        camera.give(picture, &frame, now_ns)?;
    }
    println!("copied: {} bytes of all", camera.copied_bytes());
    drop(camera);
    recorder.finish()?;
    Ok(())
}

fn read_back(directory: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut store = Store::open([directory], Mode::Read, &Roots::default())?;
    let recordings = store.recordings()?;
    let newest = recordings.first().ok_or("nothing is recorded")?;
    let scope = Scope::of_store(&store, newest);
    let mut pictures = 0;
    for framed in FrameReader::new(StreamReader::open(&scope, 0, &Range::All)?) {
        if let Framed::Frame(frame) = framed? {
            let is_picture = |byte: &u8| u64::from(*byte) == frame.number;
            assert!(frame.whole && frame.bytes.iter().all(is_picture));
            pictures += 1;
        }
    }
    println!("read back: {pictures} pictures, each as it was");
    Ok(())
}
