//! Images of a store with parity, as a recorder of format version 3 has written it: they must be
//! readable for ever, whole and without any one member.
//!
//! `SUSTAIN_WRITE_GOLDEN=1 cargo test -p sustain-record --test stores golden` writes them where
//! there are none. An image has the blocks that are not zeros, each behind its offset.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sustain_host::Roots;
use sustain_record::format::BLOCK_BYTES;
use sustain_record::reading::readable::readable;
use sustain_record::reading::verify::{Checkable, verify};
use sustain_record::store::{Mode, Store};
use sustain_targets::Stop;

use super::recorder::{Place, assert_parts, fill};

const MEMBERS: usize = 3;
const MEMBER_BYTES: u64 = 4 << 20;
const STREAM_BYTES: u64 = 300_001;

fn image(index: usize) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/version-3");
    directory.join(format!("member-{index}.image"))
}

fn write_images() {
    let place = Place::with_parity(&[MEMBER_BYTES; MEMBERS], 1);
    let (recorder, mut writers) = place.record(&["main"]);
    let mut writer = writers.pop().unwrap();
    fill(&mut writer, STREAM_BYTES);
    drop(writer);
    recorder.finish().unwrap();
    for (index, name) in place.members.iter().enumerate() {
        let bytes = std::fs::read(name).unwrap();
        let blocks = bytes.chunks_exact(BLOCK_BYTES).zip(0_u64..);
        let written = blocks.filter(|(block, _)| block.iter().any(|byte| *byte != 0));
        let image_bytes = written.flat_map(|(block, number)| {
            let offset_bytes = (number * BLOCK_BYTES as u64).to_le_bytes();
            offset_bytes.into_iter().chain(block.iter().copied())
        });
        std::fs::write(image(index), image_bytes.collect::<Vec<u8>>()).unwrap();
    }
}

#[test]
fn a_golden_store_with_parity_is_read_whole_and_without_any_member() {
    let may_write = std::env::var_os("SUSTAIN_WRITE_GOLDEN").is_some_and(|value| value == "1");
    if may_write && !image(0).exists() {
        write_images();
    }
    let mut place = Place::new(&[MEMBER_BYTES; MEMBERS]);
    for (index, name) in place.members.iter().enumerate() {
        let bytes = std::fs::read(image(index)).unwrap();
        let file = std::fs::File::options().write(true).open(name).unwrap();
        file.set_len(0).unwrap();
        file.set_len(MEMBER_BYTES).unwrap();
        for block in bytes.chunks_exact(8 + BLOCK_BYTES) {
            let (offset_bytes, block) = block.split_first_chunk().unwrap();
            file.write_all_at(block, u64::from_le_bytes(*offset_bytes))
                .unwrap();
        }
    }
    let mut store = Store::open(&place.members, Mode::Read, &Roots::default()).unwrap();
    let listed = store.recordings().unwrap();
    let checkable = Checkable::of(&store, &listed);
    let found = readable(checkable, &Stop::default(), &mut |_| ()).unwrap();
    let checkable = Checkable::of(&store, &found);
    let checked = verify(checkable, &mut |_| {}, &Stop::default()).unwrap();
    assert!(checked.ok, "{:?}", checked.bad);
    let protection = checked.recordings[0].protection.unwrap();
    assert_eq!((protection.parities, protection.unprotected_bytes), (1, 0));
    assert_parts("main", &place.read("main"), STREAM_BYTES, &[]);
    let all = place.members.clone();
    for gone in 0..MEMBERS {
        place.members = all.clone();
        place.members.remove(gone);
        assert_parts("main", &place.read("main"), STREAM_BYTES, &[]);
    }
}
