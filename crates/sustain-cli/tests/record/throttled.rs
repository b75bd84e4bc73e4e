//! Loop devices that the kernel holds back (control groups, version 1): slow members, and members
//! that do not answer at all. Skipped, with the reason, where that cannot be had.

use rustix::process::Signal;

use crate::MIB;
use crate::check::{assert_accounts, assert_reads_back};
use crate::members::{Made, Members, SMALL, stream, whole};
use crate::running::Running;
use crate::support::json_of;
use crate::throttles::Throttles;

#[test]
fn one_slow_member_among_four_holds_nobody_up_for_ever() {
    let Some(members) = Members::store(Made::Loops, &[64 * MIB; 4], "256KiB") else {
        return;
    };
    let Some(throttle) = Throttles::writes(&members.names[2], 500_000) else {
        return;
    };
    let source = ["--from", "test:12MB/s", "--time", "2s", "--json", "json"];
    let command = members.command("record", &[SMALL, &source].concat());
    Running::start(&mut throttle.around(&command))
        .finish()
        .expect(0);
    let result = json_of(&members.place.read("json"));
    assert_eq!(result["ended"], "time");
    assert_accounts(&result);
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_slow_member_makes_a_source_that_cannot_wait_lose_and_all_is_counted() {
    let Some(members) = Members::store(Made::Loops, &[64 * MIB], "256KiB") else {
        return;
    };
    let Some(throttle) = Throttles::writes(&members.names[0], 2_000_000) else {
        return;
    };
    let source = [
        "--from",
        "test:20MB/s,frame=10kB..50kB",
        "--frames",
        "lines",
    ];
    let how = ["--on-full", "drop", "--time", "1s", "--json", "json"];
    let command = members.command("record", &[SMALL, &source, &how].concat());
    Running::start(&mut throttle.around(&command))
        .finish()
        .expect(1);
    let result = json_of(&members.place.read("json"));
    assert_accounts(&result);
    let told = stream(&result, "main");
    assert!(whole(&told["gap_bytes"]) > 0, "{told:#}");
    assert_reads_back(&members, &result, "main");
    members.verify(0);
}

#[test]
fn a_member_that_does_not_answer_is_left_by_a_second_signal() {
    let Some(members) = Members::store(Made::Loops, &[64 * MIB], "256KiB") else {
        return;
    };
    let Some(throttle) = Throttles::writes(&members.names[0], 100_000) else {
        return;
    };
    let source = ["--from", "test:50MB/s", "--status", "status"];
    let command = members.command("record", &[SMALL, &source].concat());
    let mut running = Running::start(&mut throttle.around(&command));
    let status = members.place.path("status");
    let is_full = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let last = lines.lines().last().map(json_of);
        last.is_some_and(|line| line["buffer_fill"].as_f64().unwrap() > 0.9)
    };
    assert!(running.becomes(is_full));
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    running.finish().expect(130);
}
