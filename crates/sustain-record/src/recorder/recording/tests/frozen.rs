//! A member on a file system that is frozen: the kernel keeps what was written to it, and the thread
//! that wrote it.

use sustain_testing::{Requirement, skip};

use super::*;
use crate::store::MountedFileSystem;

#[test]
fn a_frozen_member_keeps_nobody_from_the_outcome() {
    let mounted = match MountedFileSystem::new(96 << 20) {
        Ok(mounted) => mounted,
        Err(why) => return skip(Requirement::Mounts, why),
    };
    let mut place = Place::new(1, 1 << 20);
    place
        .members
        .push(mounted.place().join("m1").display().to_string());
    let file = std::fs::File::create(&place.members[1]).unwrap();
    file.set_len(40 << 20).unwrap();
    let plan = CreatePlan {
        members: place.members.clone(),
        size_bytes: None,
        slot_bytes: 1 << 20,
        prewrite: false,
        destroy: place.members.clone(),
        parities: 0,
        same_disk: false,
        dry_run: false,
    };
    create(&plan, &Roots::default(), &Stop::default(), &mut |_| ()).unwrap();
    let store = Store::open(&place.members, Mode::Record, &Roots::default()).unwrap();
    let options = RecordOptions {
        buffer_bytes: 16 << 20,
        append_size: AppendSize::Exactly(256 << 10),
        patience: Patience {
            slow_after_ns: 100_000_000,
            given_up_after_ns: 300_000_000,
        },
        ..RecordOptions::default()
    };
    let mut recorder = Recorder::start(store, ["main"], options).unwrap();
    let mut main = recorder.writer("main").unwrap();
    fill(&mut main, 4 << 20);
    mounted.freeze().unwrap();
    fill(&mut main, 8 << 20);
    drop(main);
    let (outcome, come) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = outcome.send(recorder.finish());
    });
    let recorded = come.recv_timeout(PATIENCE);
    mounted.thaw();
    let recorded = recorded.expect("it waits for no member").unwrap();
    assert_eq!(recorded.ended, Ending::Source);
    assert_eq!(recorded.standing.members[1].state, MemberState::Failed);
    let stream = &recorded.standing.streams[0];
    assert_eq!(stream.durable_bytes + stream.gap_bytes, 8 << 20);
}
