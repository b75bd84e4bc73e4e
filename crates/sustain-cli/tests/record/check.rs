//! What is read back, against what is known of it: streams of `test:` sources are a function of
//! their name and the position.

use std::ops::Range;

use serde_json::Value;
use sustain::record::source::synthetic::{Content, seed_of};

use crate::members::{Members, whole};
use crate::support::json_of;

/// What `extract` gave of a stream.
#[derive(Debug, PartialEq, Eq)]
pub struct Extracted {
    /// With zeros in the place of lost ones.
    pub bytes: Vec<u8>,
    /// The offset of the first in the stream.
    pub from_byte: u64,
    pub lost: Vec<Lost>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    pub kind: String,
    pub range: Range<u64>,
}

impl Extracted {
    pub fn end(&self) -> u64 {
        self.from_byte + self.bytes.len() as u64
    }

    pub fn lost_bytes(&self, kind: &str) -> u64 {
        let of_kind = self.lost.iter().filter(|lost| lost.kind == kind);
        of_kind.map(|lost| lost.range.end - lost.range.start).sum()
    }

    /// Fails unless every byte that is not said to be lost is as the stream's source made it.
    #[track_caller]
    pub fn assert_made_for(&self, stream: &str) {
        let content = Content::new(seed_of(stream));
        let mut position = self.from_byte;
        for lost in &self.lost {
            self.assert_range(&content, stream, position..lost.range.start);
            position = lost.range.end;
        }
        self.assert_range(&content, stream, position..self.end());
    }

    #[track_caller]
    fn assert_range(&self, content: &Content, stream: &str, range: Range<u64>) {
        assert!(range.start <= range.end, "{range:?} in {:?}", self.lost);
        let at = |offset: u64| usize::try_from(offset - self.from_byte).unwrap();
        let bytes = &self.bytes[at(range.start)..at(range.end)];
        let wrong = content.check(range.start, bytes);
        assert_eq!(wrong, None, "a wrong byte of {stream} in {range:?}");
    }

    /// Fails if there is a loss of another kind than these below the watermark.
    #[track_caller]
    pub fn assert_there_below(&self, watermark: u64, kinds: &[&str]) {
        let end = self.end();
        assert!(
            end >= watermark,
            "it ends at {end}, {watermark} were durable"
        );
        for lost in self.lost.iter().filter(|lost| lost.range.start < watermark) {
            let is_known = kinds.contains(&lost.kind.as_str());
            assert!(is_known, "{lost:?} below the watermark {watermark}");
        }
    }
}

/// All of a stream, zeros in the place of lost bytes.
#[track_caller]
pub fn extract(members: &Members, recording: u64, stream: &str) -> Extracted {
    try_extract(members, recording, stream).unwrap_or_else(|ran| panic!("{ran:#?}"))
}

/// The same, if there is anything of it.
#[track_caller]
pub fn try_extract(
    members: &Members,
    recording: u64,
    stream: &str,
) -> Result<Extracted, crate::support::Ran> {
    let (file, json) = ("extracted.bin", "extracted.json");
    let number = recording.to_string();
    let which = ["--recording", &number, "--stream", stream];
    let how = ["--holes", "fill", "-o", file, "--json", json];
    let ran = members.run("extract", &[which.as_slice(), &how].concat());
    if ran.code != 0 {
        assert!([1, 2].contains(&ran.code), "{ran:#?}");
        let _ = std::fs::remove_file(members.place.path(file));
        let _ = std::fs::remove_file(members.place.path(json));
        return Err(ran);
    }
    let document = json_of(&members.place.read(json));
    let bytes = std::fs::read(members.place.path(file)).unwrap();
    std::fs::remove_file(members.place.path(file)).unwrap();
    std::fs::remove_file(members.place.path(json)).unwrap();
    assert_eq!(whole(&document["lost_unlisted"]), 0);
    let lost = document["lost"].as_array().unwrap().iter().map(lost_of);
    Ok(Extracted {
        bytes,
        from_byte: document["from_byte"].as_u64().unwrap_or(0),
        lost: lost.collect(),
    })
}

fn lost_of(value: &Value) -> Lost {
    Lost {
        kind: value["kind"].as_str().unwrap().to_owned(),
        range: whole(&value["from_byte"])..whole(&value["to_byte"]),
    }
}

/// Fails unless the account of each stream of a result adds up.
#[track_caller]
pub fn assert_accounts(result: &Value) {
    for stream in result["streams"].as_array().unwrap() {
        let of = |name: &str| whole(&stream[name]);
        let sum = of("recorded_bytes") + of("gap_bytes");
        assert_eq!(of("offered_bytes"), sum, "{stream:#}");
    }
}

/// Fails unless a stream reads back as the result has it.
#[track_caller]
pub fn assert_reads_back(members: &Members, result: &Value, stream: &str) -> Extracted {
    let extracted = extract(members, whole(&result["recording"]), stream);
    extracted.assert_made_for(stream);
    let told = crate::members::stream(result, stream);
    assert!(extracted.end() >= whole(&told["settled_bytes"]), "{told:#}");
    // What a source still offered when its store was full and closed, only the result names.
    let named_bytes = whole(&told["offered_bytes"]) - extracted.end();
    assert!(named_bytes == 0 || result["ended"] == "full", "{told:#}");
    let gap_bytes = extracted.lost_bytes("gap") + named_bytes;
    let lost = &extracted.lost;
    assert_eq!(gap_bytes, whole(&told["gap_bytes"]), "{lost:?} of {told:#}");
    assert_eq!(extracted.lost_bytes("hole"), 0, "{:?}", extracted.lost);
    extracted
}
