//! Records a stream on a store and reads it back, by the library.
//!
//! `cargo run --example record_and_read_back -- DIRECTORY` makes a small store in the
//! directory, which must have none yet.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use sustain::record::{Mode, Range, Scope, StreamPart, StreamReader};
use sustain::{CreatePlan, RecordError, RecordOptions, Recorder, Roots, Stop, Store, create};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("name a directory")?;
    let plan = CreatePlan::new([&directory]).with_size_bytes(64 << 20);
    create(&plan, &Roots::default(), &Stop::default(), &mut |_| ())?;
    record(&directory)?;
    read_back(&directory)
}

/// Fills lent memory with sevens and hands it over, until ten appends are full.
fn record(directory: &str) -> Result<(), RecordError> {
    let store = Store::open([directory], Mode::Record, &Roots::default())?;
    let mut recorder = Recorder::start(store, ["camera"], RecordOptions::default())?;
    let mut camera = recorder.writer("camera")?;
    for _ in 0..10 {
        let Some(mut filling) = camera.lend() else {
            break; // The store is full, or all members have failed.
        };
        let count = filling.spare_mut().len();
        filling.spare_mut().fill(7);
        filling.take(count, &[], camera.now_ns());
        camera.commit(filling);
    }
    drop(camera);
    let recorded = recorder.finish()?;
    let stream = &recorded.standing.streams[0];
    println!("durable: {} bytes", stream.durable_bytes);
    Ok(())
}

/// Reads the newest recording and checks each byte.
fn read_back(directory: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut store = Store::open([directory], Mode::Read, &Roots::default())?;
    let recordings = store.recordings()?;
    let newest = recordings.first().ok_or("nothing is recorded")?;
    let scope = Scope::of_store(&store, newest);
    let mut read_bytes = 0;
    for part in StreamReader::open(&scope, 0, &Range::All)? {
        match part? {
            StreamPart::Data { bytes, .. } => {
                assert!(bytes.iter().all(|byte| *byte == 7));
                read_bytes += bytes.len();
            }
            lost => println!("lost: {lost:?}"),
        }
    }
    println!("read back: {read_bytes} bytes, each as it was");
    Ok(())
}
