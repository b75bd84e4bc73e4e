//! Records a stream on a store and reads it back, by the library.
//!
//! `cargo run --example record_and_read_back -- DIRECTORY` makes a small store in the
//! directory, which must have none yet.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use sustain::host::Roots;
use sustain::measure::Stop;
use sustain::record::reading::part::StreamPart;
use sustain::record::reading::scope::Scope;
use sustain::record::reading::stream::{Range, StreamReader};
use sustain::record::store::{CreatePlan, Mode, Store, create};
use sustain::record::{RecordError, RecordOptions, Recorder, StreamSetup};

const BYTES: u64 = 10_000_000;

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
    record(&members)?;
    read_back(&members)?;
    Ok(())
}

/// Fills lent memory, hands it over, and waits until it is on the medium for good.
fn record(members: &[String]) -> Result<(), RecordError> {
    let store = Store::open(members, Mode::Record, &Roots::default())?;
    let streams = vec![StreamSetup::plain("counter")];
    let (recorder, mut writers) = Recorder::start(store, streams, RecordOptions::default())?;
    let mut counter = writers.remove(0);
    while counter.offered_bytes() < BYTES {
        let Some(mut filling) = counter.lend() else {
            break;
        };
        let left = BYTES - counter.offered_bytes();
        let count = filling.room_bytes().min(left as usize);
        let start = counter.offered_bytes();
        for (index, byte) in filling.spare_mut()[..count].iter_mut().enumerate() {
            *byte = (start + index as u64) as u8;
        }
        filling.take(count, &[], counter.now_ns());
        counter.commit(filling);
    }
    let board = recorder.board();
    let standing = board.wait_for(
        |standing| standing.streams[0].settled_bytes >= BYTES,
        Duration::from_secs(30),
    );
    println!("durable: {} bytes", standing.streams[0].durable_bytes);
    drop(counter);
    let recorded = recorder.finish()?;
    println!("recording {} is over", recorded.recording);
    Ok(())
}

/// Reads the newest recording and checks each byte.
fn read_back(members: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let mut store = Store::open(members, Mode::Read, &Roots::default())?;
    let recordings = store.recordings()?;
    let newest = recordings.first().ok_or("nothing is recorded")?;
    let scope = Scope::of_store(&store, newest);
    let mut read_bytes = 0;
    for part in StreamReader::open(&scope, 0, &Range::All)? {
        match part? {
            StreamPart::Data {
                offset_bytes,
                bytes,
                ..
            } => {
                for (index, byte) in bytes.iter().enumerate() {
                    assert_eq!(*byte, (offset_bytes + index as u64) as u8);
                }
                read_bytes += bytes.len();
            }
            lost => println!("lost: {lost:?}"),
        }
    }
    println!("read back: {read_bytes} bytes, each as it was");
    Ok(())
}
