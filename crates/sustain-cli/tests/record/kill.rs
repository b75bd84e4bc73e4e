//! `kill -9` at random moments: what the last status line said to be durable is there, bit by bit,
//! the next recording goes on behind it, and what older ones left stays as it was.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::MIB;
use crate::check::{Extracted, extract};
use crate::control::Commanded;
use crate::draw::{Draw, seed};
use crate::members::{Made, Members, SMALL, stream, whole};
use crate::support::json_of;

/// Stores at once, because most of their time is spent waiting.
const STORES: u64 = 13;
/// Kills of each, one after the other.
const ROUNDS: u64 = 2;
const STATUS: &str = "status.json";

/// What is promised of a recording: a watermark for each stream.
type Promised = BTreeMap<String, u64>;

/// How one store is recorded to.
struct Plan {
    flags: Vec<String>,
    streams: Vec<String>,
    is_ring: bool,
}

/// A store, its recordings so far, and what they are known to hold.
struct Chain {
    members: Members,
    plan: Plan,
    draw: Draw,
    promised: BTreeMap<u64, Promised>,
    seen: BTreeMap<(u64, String), Extracted>,
}

#[test]
fn what_was_durable_on_loop_devices_outlives_a_kill() {
    kill_many(Made::Loops, "loop_devices_outlives");
}

#[test]
fn what_was_durable_in_files_outlives_a_kill() {
    kill_many(Made::Files, "files_outlives");
}

fn kill_many(made: Made, test: &str) {
    let seed = seed(test);
    std::thread::scope(|scope| {
        for index in 0..STORES {
            scope.spawn(move || {
                let Some(mut chain) = Chain::new(made, Draw::new(seed.wrapping_add(index))) else {
                    return;
                };
                for round in 0..ROUNDS {
                    eprintln!(
                        "store {index}, round {round}: {}",
                        chain.plan.flags.join(" ")
                    );
                    chain.record_and_kill();
                }
                chain.record_in_order();
            });
        }
    });
}

impl Chain {
    fn new(made: Made, mut draw: Draw) -> Option<Chain> {
        let is_ring = draw.once_in(3);
        let count = 1 + draw.below(4);
        // A ring goes round in each recording; else there is room for all of them.
        let room_bytes = if is_ring { 8 * MIB } else { 256 * MIB };
        let sizes = (0..count).map(|_| (room_bytes + draw.below(4 * MIB)) / count + MIB);
        let sizes: Vec<u64> = sizes.map(|size| size / 4096 * 4096).collect();
        let slot = draw.pick(&["64KiB", "128KiB", "256KiB"]);
        let members = Members::store(made, &sizes, slot)?;
        Some(Chain {
            plan: Plan::new(&mut draw, is_ring),
            members,
            draw,
            promised: BTreeMap::new(),
            seen: BTreeMap::new(),
        })
    }

    fn record_and_kill(&mut self) {
        let status = self.members.place.path(STATUS);
        let _ = std::fs::remove_file(&status);
        let flags: Vec<&str> = self.plan.flags.iter().map(String::as_str).collect();
        let flags = [SMALL, &["--status", STATUS, "--time", "60s"], &flags].concat();
        let mut running = self.members.start("record", &flags);
        let while_it_opens = self.draw.once_in(6);
        if !while_it_opens {
            let has_line = || std::fs::metadata(&status).is_ok_and(|file| file.len() > 0);
            assert!(running.becomes(has_line), "{:#?}", running.finish());
        }
        let delay_ms = self.draw.below(if while_it_opens { 1300 } else { 800 });
        running.ends_within(Duration::from_millis(delay_ms));
        running.kill();
        let promised = self.last_line();
        self.check(promised);
    }

    /// The watermarks of the last status line, if there is one. What the kill has left of another
    /// one promises nothing.
    fn last_line(&self) -> Promised {
        let Ok(text) = std::fs::read_to_string(self.members.place.path(STATUS)) else {
            return Promised::new();
        };
        let (lines, _) = text.rsplit_once('\n').unwrap_or_default();
        let lines: Vec<Value> = lines.lines().map(json_of).collect();
        let Some(last) = lines.last() else {
            return Promised::new();
        };
        let settled = |name: &String| whole(&stream(last, name)["settled_bytes"]);
        let names = self.plan.streams.iter();
        names.map(|name| (name.clone(), settled(name))).collect()
    }

    /// Looks at all that is there after a kill.
    fn check(&mut self, promised: Promised) {
        let listed = self.members.list();
        let recordings = listed["recordings"].as_array().unwrap();
        let numbers: Vec<u64> = recordings
            .iter()
            .map(|one| whole(&one["recording"]))
            .collect();
        let last_before = self.promised.keys().last().copied().unwrap_or(0);
        match numbers
            .last()
            .copied()
            .filter(|newest| *newest > last_before)
        {
            Some(newest) => {
                self.promised.insert(newest, promised);
            }
            // It was killed before its start was on the medium.
            None => {
                let none_promised = promised.values().all(|durable| *durable == 0);
                assert!(
                    none_promised,
                    "{promised:?} was durable, and {listed:#} has nothing"
                );
            }
        }
        let newest = self.promised.keys().last().copied();
        self.check_recording(&listed, newest);
        self.check_flaws(&listed);
    }

    /// Everything of a recording that is durable is there, and is what its source made.
    fn check_recording(&mut self, listed: &Value, number: Option<u64>) {
        let Some(number) = number else { return };
        let Some(names) = names(listed, number) else {
            // A ring has written over it.
            return assert!(self.plan.is_ring, "recording {number} is gone");
        };
        for (name, made_for) in names.iter().zip(&self.plan.streams) {
            // When a ring has written over its start, nobody knows what it was called.
            assert!(
                name == made_for || self.plan.is_ring,
                "{name} was {made_for}"
            );
            let extracted = extract(&self.members, number, name);
            extracted.assert_made_for(made_for);
            let durable = self.promised[&number].get(made_for).copied().unwrap_or(0);
            let kinds: &[&str] = if self.plan.is_ring {
                &["gap", "overwritten"]
            } else {
                &["gap"]
            };
            // Members of other sizes and rates come round at other times: of a recording that
            // others have followed, a ring may write over the end first.
            let has_followers = self.promised.keys().any(|other| *other > number);
            let is_end_owed = !(self.plan.is_ring && has_followers);
            let owed = if is_end_owed {
                durable
            } else {
                durable.min(extracted.end())
            };
            extracted.assert_there_below(owed, kinds);
            let key = (number, name.clone());
            if let Some(before) = self.seen.get(&key) {
                assert!(
                    *before == extracted || self.plan.is_ring,
                    "{key:?} is not as it was"
                );
            }
            self.seen.insert(key, extracted);
        }
    }

    /// `verify` names nothing that was durable.
    fn check_flaws(&self, listed: &Value) {
        let ran = self.members.run("verify", &["--json", "-"]);
        assert!([0, 1].contains(&ran.code), "{ran:#?}");
        let verified = json_of(&ran.stdout);
        // A kill takes nothing that was durable, so there is no fault; a ring's oldest are gone.
        assert!(ran.code == 0 || self.plan.is_ring, "{verified:#}");
        let torn = verified["not_durable"].as_array().unwrap().iter();
        for bad in verified["bad"].as_array().unwrap().iter().chain(torn) {
            // A start or an end that was being written is no stream's.
            if bad["stream"].is_null() {
                continue;
            }
            let number = whole(&bad["recording"]);
            let names = names(listed, number).unwrap();
            let index = names.iter().position(|name| bad["stream"] == name.as_str());
            let name = &self.plan.streams[index.unwrap_or_else(|| panic!("{bad:#}"))];
            let durable = self.promised[&number].get(name).copied().unwrap_or(0);
            assert!(
                whole(&bad["from_byte"]) >= durable,
                "{bad:#} of {durable} durable bytes"
            );
        }
    }

    /// After all kills, a recording to its end.
    fn record_in_order(&mut self) {
        let flags: Vec<&str> = self.plan.flags.iter().map(String::as_str).collect();
        let result = self
            .members
            .record(0, &[&["--time", "300ms"], &flags[..]].concat());
        let number = whole(&result["recording"]);
        assert!(self.promised.keys().all(|earlier| *earlier < number));
        let of = |name: &String| whole(&stream(&result, name)["offered_bytes"]);
        let promised = self
            .plan
            .streams
            .iter()
            .map(|name| (name.clone(), of(name)));
        self.check(promised.collect());
        assert_eq!(self.promised.keys().last(), Some(&number));
        // And what older ones left is as it was.
        let listed = self.members.list();
        let older: Vec<u64> = self.promised.keys().copied().collect();
        for earlier in older.into_iter().filter(|earlier| *earlier < number) {
            self.check_recording(&listed, Some(earlier));
        }
    }
}

/// What a recording's streams are called, in their order; none if it is not there.
fn names(listed: &Value, number: u64) -> Option<Vec<String>> {
    let recordings = listed["recordings"].as_array().unwrap();
    let recording = recordings
        .iter()
        .find(|one| whole(&one["recording"]) == number)?;
    let streams = recording["streams"].as_array().unwrap();
    Some(
        streams
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect(),
    )
}

impl Plan {
    fn new(draw: &mut Draw, is_ring: bool) -> Plan {
        let mut flags = Vec::new();
        let mut streams = Vec::new();
        for index in 0..1 + draw.below(4) {
            let rate = draw.pick(&["500B/s", "50kB/s", "700kB/s", "3MB/s", "12MB/s"]);
            let frames = draw.pick(&["", ",frame=500", ",frame=10kB..200kB"]);
            let framing = if frames.is_empty() { "none" } else { "lines" };
            let name = format!("stream{index}");
            flags.extend(["--from".to_owned(), format!("test:{rate}{frames}")]);
            flags.extend(["--stream".to_owned(), name.clone()]);
            flags.extend(["--frames".to_owned(), framing.to_owned()]);
            streams.push(name);
        }
        let durable = draw.pick(&["each", "20ms", "200ms", "1s"]);
        flags.extend(["--durable".to_owned(), durable.to_owned()]);
        let engine = draw.pick(&["auto", "auto", "threads", "sync"]);
        flags.extend(["--engine".to_owned(), engine.to_owned()]);
        if is_ring {
            flags.push("--ring".to_owned());
        }
        Plan {
            flags,
            streams,
            is_ring,
        }
    }
}

#[test]
fn recovering_tells_from_where_on_a_ring_can_be_read_now() {
    let members = Members::files(&[8 * MIB]);
    let flags = ["--ring", "--from", "test:40MB/s"];
    let mut commanded = Commanded::start_on(members, &flags);
    commanded.becomes(|status| whole(&stream(status, "main")["durable_bytes"]) > 16 * MIB);
    let Commanded { members, running } = commanded;
    running.kill();
    let readable = |document: &Value| {
        let stream = &document["recordings"][0]["streams"][0];
        whole(&stream["readable_from_byte"])
    };
    let before = readable(&members.list());
    assert!(before > 0);
    let recovered = members.run("recover", &["--json", "-"]).expect(0);
    let recovered = recovered.says("the ring has overwritten what was before");
    let told = readable(&json_of(&recovered.stdout));
    // The mark takes the place of the oldest slot, if no append that was torn has taken it.
    assert!(told >= before, "{told} before {before}");
    assert_eq!(told, readable(&members.list()));
}
