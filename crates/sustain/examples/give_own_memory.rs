//! Gives memory of its own to the recorder, as a camera with a circular buffer does: each picture
//! is written from where it is, without a copy, and its memory comes back to be filled again. Then
//! iterates over the pictures as frames.
//!
//! `cargo run --example give_own_memory -- DIRECTORY` makes a small store in the
//! directory, which must have none yet.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::any::Any;

use sustain::disk::buffer::AlignedBytes;
use sustain::host::Roots;
use sustain::measure::Stop;
use sustain::record::format::{MarkKind, PayloadMark};
use sustain::record::reading::frames::{FrameReader, Framed};
use sustain::record::reading::scope::Scope;
use sustain::record::reading::stream::{Range, StreamReader};
use sustain::record::store::{CreatePlan, Mode, Store, create};
use sustain::record::{RecordOptions, Recorder, StreamSetup, StreamWriter};

const PICTURES: u8 = 20;
const PICTURE_BYTES: usize = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    let members = vec![directory];
    let plan = CreatePlan {
        members: members.clone(),
        size_bytes: Some(64 << 20),
        slot_bytes: CreatePlan::SLOT_BYTES_DEFAULT,
        prewrite: true,
        destroy: Vec::new(),
        dry_run: false,
    };
    create(&plan, &Roots::default(), &Stop::default(), &mut |_| ())?;

    let store = Store::open(&members, Mode::Record, &Roots::default())?;
    let streams = vec![StreamSetup::plain("camera")];
    let (recorder, mut writers) = Recorder::start(store, streams, RecordOptions::default())?;
    let mut camera = writers.remove(0);
    for number in 0..PICTURES {
        let mut picture = free_picture(&camera)?;
        picture.fill(number);
        give(&mut camera, picture)?;
    }
    println!("copied: {} bytes of all", camera.copied_bytes());
    drop(camera);
    recorder.finish()?;

    let mut store = Store::open(&members, Mode::Read, &Roots::default())?;
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

/// Memory that has come back from the recorder, or new memory while there is none.
fn free_picture(camera: &StreamWriter) -> Result<AlignedBytes, Box<dyn std::error::Error>> {
    if let Some(owner) = camera.returned() {
        let owner: Box<dyn Any> = owner;
        if let Ok(picture) = owner.downcast::<AlignedBytes>() {
            return Ok(*picture);
        }
    }
    Ok(AlignedBytes::new(PICTURE_BYTES)?)
}

/// A picture is one frame: it begins with its first byte and ends with its last.
fn give(camera: &mut StreamWriter, picture: AlignedBytes) -> Result<(), String> {
    let now_ns = camera.now_ns();
    let marks = [
        PayloadMark {
            offset_bytes: 0,
            kind: MarkKind::Begin,
            time_ns: Some(now_ns),
        },
        PayloadMark {
            offset_bytes: PICTURE_BYTES as u64,
            kind: MarkKind::End,
            time_ns: None,
        },
    ];
    let given = camera.give(Box::new(picture), &marks, now_ns);
    given.map_err(|refused| refused.why)
}
