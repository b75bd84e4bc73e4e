//! `sustain profile` as a person runs it: simulated disks whose rates are known, a real file,
//! endings, the page, and what is refused.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[allow(dead_code, reason = "it is made for the tests of recording")]
#[path = "record/running.rs"]
mod running;
mod support;

use std::fs::File;

use rustix::process::Signal;
use serde_json::Value;

use crate::running::Running;
use crate::support::{Place, assert_about, json_of, notes_of, number, sentences};

/// A disk that falls by half, with a bad spot.
const FALLING: &str = "[[disk]]\nname = \"hda\"\ncapacity = \"80GB\"\nread = \"60MB/s\"\n\
                       inner_read = \"30MB/s\"\nzones = 4\n\
                       slow = [{ at = \"30GB\", for = \"1200MB\", to = \"5MB/s\" }]\n";
/// Two that fall together on a channel which is too slow for their outer zones.
const SHARED: &str = "[[disk]]\nname = \"hda\"\ncapacity = \"80GB\"\nread = \"35MB/s\"\n\
                      inner_read = \"20MB/s\"\nthrough = [\"channel\"]\n\
                      [[disk]]\nname = \"hdb\"\ncapacity = \"80GB\"\nread = \"35MB/s\"\n\
                      inner_read = \"20MB/s\"\nthrough = [\"channel\"]\n\
                      [limit.channel]\nrate = \"55MB/s\"\n";

/// Fails unless the document has the published form.
#[track_caller]
fn assert_valid(document: &Value) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../../docs/profile.schema.json");
    let schema = json_of(&std::fs::read_to_string(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(document);
    let errors: Vec<String> = errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn profile(toml: &str, flags: &[&str], code: i32) -> Value {
    let place = Place::with_machine(toml);
    let words = ["profile", "sim:machine.toml", "--json", "-"];
    let result = json_of(&place.run(&[&words, flags].concat()).expect(code).stdout);
    assert_valid(&result);
    result
}

#[test]
fn the_zones_and_the_bad_spot_of_a_disk_are_found() {
    let result = profile(FALLING, &["--read"], 0);
    assert_eq!(result["schema"], "sustain.profile/1");
    let found = &result["targets"][0];
    assert_eq!(
        (&found["name"], &found["shape"]),
        (&"hda".into(), &"zones".into())
    );
    assert_eq!(found["zones"].as_array().unwrap().len(), 4);
    assert_about(&found["outer_rate_bytes_per_s"], 60e6, 1.0);
    assert_about(&found["inner_rate_bytes_per_s"], 30e6, 1.0);
    let outliers = found["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 1);
    assert_eq!(outliers[0]["kind"], "bad_spot");
    assert!((29e9..31.3e9).contains(&number(&outliers[0]["from_byte"])));
    assert!(result["together"].as_array().unwrap().is_empty());
}

#[test]
fn the_answer_comes_first_and_the_table_after_it() {
    let said = |machine: &str| {
        let place = Place::with_machine(machine);
        place
            .run(&["profile", "sim:machine.toml", "--read"])
            .expect(0)
            .stdout
    };
    let without_bad_spot = FALLING.split("slow").next().unwrap();
    insta::assert_snapshot!(said(without_bad_spot), @"
    hda, read: reading all of it reaches 42.1 MB/s on average; every position reaches at least
      30.0 MB/s; slow places shorter than 1.19 GB could lie between the samples
      the rate falls in 4 zones from 60.0 MB/s at its start to 30.0 MB/s at its end, 50 % less
      to look closer, use --budget 8m, which leaves at most about 656 MB between the samples
    These figures are of a simulated machine, not of real disks.

    hda, read
           from          to       width        rate
            0 B     20.2 GB     20.2 GB   60.0 MB/s  ████████████████████████████████████████
        20.2 GB     40.2 GB     20.0 GB   50.0 MB/s  █████████████████████████████████
        40.2 GB     59.8 GB     19.7 GB   40.0 MB/s  ███████████████████████████
        59.8 GB     80.0 GB     20.2 GB   30.0 MB/s  ████████████████████

    note: the rates were tried in runs of 8.0 s without a break; a cache, or a burst allowance (such as
      the credits of a cloud disk), that lasts longer goes unnoticed: to see it, run `sustain measure`
      for as long as a recording takes
    ");
    insta::assert_snapshot!(said(FALLING), @"
    hda, read: reading all of it reaches 38.8 MB/s on average, 1 bad spot included; outside the bad spot
      the rate is 42.0 MB/s on average, and every position reaches at least 30.0 MB/s; in the bad spot
      it falls to 5.00 MB/s on average over 29.4 MB; slow places shorter than 1.19 GB could lie between
      the samples
      the rate falls in 4 zones from 60.0 MB/s at its start to 30.0 MB/s at its end, 50 % less
      at 30.0 GB, about 909 MB wide: 5.00 MB/s in a zone of 50.0 MB/s at every visit: a bad spot, where
        sectors are read again or were moved elsewhere
      to look closer, use --budget 8m, which leaves at most about 711 MB between the samples
    These figures are of a simulated machine, not of real disks.

    hda, read
           from          to       width        rate
            0 B     20.0 GB     20.0 GB   60.0 MB/s  ████████████████████████████████████████
        20.0 GB     40.0 GB     20.0 GB   50.0 MB/s  █████████████████████████████████
        40.0 GB     60.0 GB     20.0 GB   40.0 MB/s  ███████████████████████████
        60.0 GB     80.0 GB     20.0 GB   30.0 MB/s  ████████████████████

    note: the rates were tried in runs of 5.8 s without a break; a cache, or a burst allowance (such as
      the credits of a cloud disk), that lasts longer goes unnoticed: to see it, run `sustain measure`
      for as long as a recording takes
    ");
}

#[test]
fn what_is_flat_has_one_zone_in_its_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let machine = std::fs::read_to_string(path.join("../../machines/fasttrak.toml")).unwrap();
    let result = profile(&machine, &[], 0);
    for target in result["targets"].as_array().unwrap() {
        assert_eq!(target["shape"], "flat", "{}", target["name"]);
        let zones = target["zones"].as_array().unwrap();
        assert_eq!(zones.len(), 1, "{}: {zones:?}", target["name"]);
        let mean = number(&target["mean_rate_bytes_per_s"]);
        assert_about(&zones[0]["rate_bytes_per_s"], mean, 1e-6);
    }
}

#[test]
fn the_help_says_how_often_a_place_is_visited_and_what_it_is_called_then() {
    let help = Place::new().run(&["profile", "--help"]).expect(0).stdout;
    insta::assert_snapshot!(help.split("\n\n").find(|one| one.starts_with("Each place")).unwrap(), @"
    Each place is visited twice, and a third time if it was slow in either visit. If it was slow every
    time and this may still be chance, it is visited again, up to six times. A place that was slow in
    every visit, more often than chance explains, is a bad spot. One that was slow in most visits, or in
    all of them but perhaps by chance, is uncertain. Anything else was a passing disturbance. At the
    end, longer runs without a break show whether the rates last; if they do not, the answer is lowered
    to what was held. A slow place that fits between two samples is not seen: the answer says how wide
    it could be, and which --budget looks closer. Ctrl-C ends the measurement early; the result then
    covers what was measured. `sustain measure --profile FILE` and `sustain record --profile FILE` use
    the file that --json wrote. Exit codes: 0 done; 1 requests failed; 2 usage error or refused target;
    130 interrupted, with the result of what was done.
    ");
}

#[test]
fn a_limit_that_binds_on_the_outer_zones_only_is_named_with_its_end() {
    let place = Place::with_machine(SHARED);
    let flags = ["--read", "--json", "p.json", "--report", "p.html"];
    let ran = place.run(&[&["profile", "sim:machine.toml"][..], &flags].concat());
    let ran = ran.expect(0);
    insta::assert_snapshot!(ran.stdout, @"
    read: all targets at once reach 50.4 MB/s on average; every position reaches at least 40.0 MB/s
      they share a limit of 55.0 MB/s: together they do not get beyond it, while their rates alone add
        up to 63.2 MB/s
      it holds them on the first 48 % of their capacity; after that each target is as fast as alone (a
        loss below 1.0 % would not show), and the sum is 55.0 MB/s or less
    hda, read: reading all of it reaches 26.7 MB/s on average; every position reaches at least
      20.0 MB/s; slow places shorter than 3.32 GB could lie between the samples
    hdb, read: reading all of it reaches 26.7 MB/s on average; every position reaches at least
      20.0 MB/s; slow places shorter than 3.32 GB could lie between the samples
    each target: the rate falls in 9 zones from 35.0 MB/s at its start to 20.0 MB/s at its end, 43 %
      less
      to look closer, use --budget 32m, which leaves at most about 1.05 GB between the samples
    These figures are of a simulated machine, not of real disks.

    hda, read
           from          to       width        rate
            0 B     6.67 GB     6.67 GB   35.0 MB/s  ████████████████████████████████████████
        6.67 GB     16.7 GB     10.0 GB   33.0 MB/s  ██████████████████████████████████████
        16.7 GB     37.5 GB     20.8 GB   31.1 MB/s  ████████████████████████████████████
        37.5 GB     55.0 GB     17.5 GB   25.0 MB/s  █████████████████████████████
        55.0 GB     60.8 GB     5.83 GB   23.9 MB/s  ███████████████████████████
        60.8 GB     65.8 GB     5.00 GB   23.0 MB/s  ██████████████████████████
        65.8 GB     70.8 GB     5.00 GB   22.0 MB/s  █████████████████████████
        70.8 GB     75.4 GB     4.58 GB   21.0 MB/s  ████████████████████████
        75.4 GB     80.0 GB     4.59 GB   20.0 MB/s  ███████████████████████

    hdb, read
           from          to       width        rate
            0 B     6.67 GB     6.67 GB   35.0 MB/s  ████████████████████████████████████████
        6.67 GB     16.7 GB     10.0 GB   33.0 MB/s  ██████████████████████████████████████
        16.7 GB     37.5 GB     20.8 GB   31.1 MB/s  ████████████████████████████████████
        37.5 GB     55.0 GB     17.5 GB   25.0 MB/s  █████████████████████████████
        55.0 GB     60.8 GB     5.83 GB   23.9 MB/s  ███████████████████████████
        60.8 GB     65.8 GB     5.00 GB   23.0 MB/s  ██████████████████████████
        65.8 GB     70.8 GB     5.00 GB   22.0 MB/s  █████████████████████████
        70.8 GB     75.4 GB     4.58 GB   21.0 MB/s  ████████████████████████
        75.4 GB     80.0 GB     4.59 GB   20.0 MB/s  ███████████████████████

    all at once, read
           from          to       width        rate
          0.0 %      55.2 %      55.2 %   55.0 MB/s  ████████████████████████████████████████
         55.2 %      68.7 %      13.5 %   50.0 MB/s  ████████████████████████████████████
         68.7 %      76.0 %       7.3 %   47.9 MB/s  ███████████████████████████████████
         76.0 %      82.3 %       6.2 %   45.9 MB/s  █████████████████████████████████
         82.3 %      88.5 %       6.2 %   44.0 MB/s  ████████████████████████████████
         88.5 %      94.3 %       5.7 %   42.0 MB/s  ███████████████████████████████
         94.3 %     100.0 %       5.7 %   40.0 MB/s  █████████████████████████████

    note: the rates were tried in runs of 3.3 s without a break; 1 of 6 rates was not tried in such a
      run and comes from short samples alone (read all at once: there was no time, which a longer
      --budget gives); a cache, or a burst allowance (such as the credits of a cloud disk), that lasts
      longer goes unnoticed: to see it, run `sustain measure` for as long as a recording takes
    ");
    let result = json_of(&place.read("p.json"));
    assert_valid(&result);
    let limit = &result["together"][0]["shared_limit"];
    assert_about(&limit["rate_bytes_per_s"], 55e6, 2.0);
    assert!((0.35..0.55).contains(&number(&limit["binds_until"])));
    // The page, and the same from what was saved.
    let again = ["report", "p.json", "-o", "again.html"];
    place.run(&again).expect(0);
    let page = place.read("p.html");
    assert_eq!(page, place.read("again.html"));
}

#[test]
fn profiles_and_measurements_are_not_drawn_on_one_page() {
    let place = Place::with_machine(FALLING);
    let target = "sim:machine.toml";
    place
        .run(&["profile", target, "--budget", "10s", "--json", "p.json"])
        .expect(0);
    place
        .run(&["measure", target, "--time", "1s", "--json", "m.json"])
        .expect(0);
    let ran = place
        .run(&["report", "p.json", "m.json", "-o", "x.html"])
        .expect(2);
    insta::assert_snapshot!(sentences(&ran.stderr), @"sustain: p.json is a profile and m.json is a measurement: make a report for each kind");
}

#[test]
fn a_failed_place_is_an_exit_code_and_the_rest_is_told() {
    let keys = "error = { at = \"0\", kind = \"eio\" }\n";
    let result = profile(&(FALLING.to_owned() + keys), &["--read"], 1);
    let found = &result["targets"][0];
    assert_eq!(found["outliers"][0]["kind"], "error");
    assert_eq!(found["zones"].as_array().unwrap().len(), 4);
}

#[test]
fn a_real_file_is_read_by_default_and_left_as_it_is() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..64_u32 << 20).map(|index| index as u8).collect();
    std::fs::write(place.path("data"), &bytes).unwrap();
    let flags = ["--budget", "3s", "--record-size", "256KiB", "--json", "-"];
    let ran = place
        .run(&[&["profile", "data"][..], &flags].concat())
        .expect(0);
    let result = json_of(&ran.stdout);
    assert_valid(&result);
    assert_eq!(result["targets"][0]["direction"], "read");
    assert!(number(&result["targets"][0]["mean_rate_bytes_per_s"]) > 0.0);
    let notes = notes_of(&result);
    let of_positions = notes
        .lines()
        .find(|note| note.starts_with("data: positions"));
    insta::assert_snapshot!(of_positions.unwrap(), @"data: positions are those in the file; the file system decides where they are on the disk");
    assert!(std::fs::read(place.path("data")).unwrap() == bytes);
}

#[test]
fn ctrl_c_concludes_from_what_there_is() {
    let place = Place::new();
    std::fs::create_dir(place.path("a")).unwrap();
    let flags = [
        "profile",
        "a",
        "--size",
        "32MiB",
        "--record-size",
        "64KiB",
        "--json",
        "json",
    ];
    let mut command = place.command(&flags);
    command.stderr(File::create(place.path("said")).unwrap());
    let mut running = Running::start(&mut command);
    assert!(running.becomes(|| place.read("said").contains("first pass")));
    running.signal(Signal::INT);
    let ran = running.finish().expect(130);
    let (first, _) = ran.stdout.split_once("; ").unwrap();
    insta::assert_snapshot!(first, @"The profile was interrupted");
    let result = json_of(&place.read("json"));
    assert_valid(&result);
    assert_eq!(result["ended"], "interrupted");
    assert!(
        !result["targets"][0]["points"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    assert_eq!(std::fs::read_dir(place.path("a")).unwrap().count(), 0);
}

/// What is said to whoever asks for a profile that is refused.
#[track_caller]
fn refused(place: &Place, arguments: &[&str]) -> String {
    let ran = place.run(&[&["profile"], arguments].concat());
    sentences(&ran.expect(2).stderr)
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_on() {
    let tiny = "[[disk]]\nname = \"tiny\"\ncapacity = \"20MB\"\nread = \"10MB/s\"\n";
    let place = Place::with_machine(tiny);
    let target = "sim:machine.toml";
    insta::assert_snapshot!(refused(&place, &[target]), @"sustain: tiny has 19 MiB, and a profile needs at least 8 samples of 12 MiB: use a smaller --record-size or --depth");
    insta::assert_snapshot!(refused(&place, &["null:"]), @"sustain: null: has no positions: name a block device, a file or a directory");
    let destroying = [target, "--read", "--destroy", target];
    insta::assert_snapshot!(refused(&place, &destroying), @"sustain: --read destroys nothing: leave out --destroy");
    let large = Place::with_machine(FALLING);
    insta::assert_snapshot!(refused(&large, &[target, "--budget", "1s"]), @"sustain: --budget 1 s is too short: one curve is measured twice at 8 positions: use 2 s or more");
    place.write("kept", &"x".repeat(1 << 20));
    insta::assert_snapshot!(refused(&place, &["kept", "--write"]), @"
    sustain: refusing to write kept: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy kept; to leave it as it is, use --read
    ");
    assert_eq!(place.read("kept").len(), 1 << 20);
}

#[test]
fn a_rehearsal_says_what_would_be_done() {
    let place = Place::with_machine(SHARED);
    let ran = place.run(&["profile", "sim:machine.toml", "--read", "--dry-run"]);
    insta::assert_snapshot!(ran.expect(0).stderr, @"
    would read hda (simulated): samples of about 167 ms at positions across its first 80.0 GB
    would read hdb (simulated): samples of about 167 ms at positions across its first 80.0 GB
    would measure each target alone and all at once, in at most 2 min
    ");
}

/// A disk of which a run of two minutes sees more than half.
const SMALL: &str = "[[disk]]\nname = \"hda\"\ncapacity = \"8GB\"\nread = \"60MB/s\"\n\
                     inner_read = \"30MB/s\"\nnoise = \"0.5%\"\n";

#[test]
fn with_its_profile_a_falling_disk_is_steady() {
    let place = Place::with_machine(SMALL);
    let target = "sim:machine.toml";
    let flags = ["--read", "--json", "p.json"];
    place
        .run(&[&["profile", target][..], &flags].concat())
        .expect(0);
    let run = ["--read", "--time", "120s", "--no-confirm"];
    let without = place.simulate(0, &run);
    let sustained = &without["targets"][0]["sustained"];
    assert_eq!(sustained["reached"], false);
    insta::assert_snapshot!(sustained["why"].as_str().unwrap(), @"range 23.0 % of the mean in the last 60 s (20 % allowed); falling 21.8 % over the last 60 s (10 % allowed), and one pass cannot tell whether position or time is the cause");
    let with = place.simulate(0, &[&run[..], &["--profile", "p.json"]].concat());
    for judged in [&with["targets"][0], &with["total"]] {
        let sustained = &judged["sustained"];
        assert_eq!(sustained["reached"], true, "{sustained}");
        assert_eq!(sustained["why"], with["total"]["sustained"]["why"]);
        assert_about(&sustained["rate_bytes_per_s"], 48.3e6, 2.0);
    }
    insta::assert_snapshot!(with["total"]["sustained"]["why"].as_str().unwrap(), @"range 0.4 % of the mean (20 % allowed), rising 0.0 % (10 % allowed), over the last 120 s, with the position effect removed by the profile");
    insta::assert_snapshot!(notes_of(&with), @"whether the rates are steady was judged with the position effect removed, by p.json: a sustained rate is the mean over all positions that the run covered");
}

#[test]
fn a_bad_spot_is_in_the_mean_that_measuring_with_a_profile_says() {
    // A minute's way: the first 6 GB at 160 MB/s, and 400 MB of them at 16 MB/s.
    let spotted = "[[disk]]\nname = \"hda\"\ncapacity = \"20GB\"\nread = \"160MB/s\"\n\
                   slow = [{ at = \"3GB\", for = \"400MB\", to = \"16MB/s\" }]\n";
    let place = Place::with_machine(spotted);
    let flags = ["profile", "sim:machine.toml", "--read", "--json", "p.json"];
    place.run(&flags).expect(0);
    let run = ["--read", "--time", "60s", "--no-confirm", "--profile"];
    let with = place.simulate(0, &[&run[..], &["p.json"]].concat());
    let target = &with["targets"][0];
    // All bytes of the run over all its time.
    let truth = number(&target["bytes"]) / 60.0;
    assert!((80e6..125e6).contains(&truth), "{truth}");
    for judged in [target, &with["total"]] {
        assert_about(&judged["sustained"]["rate_bytes_per_s"], truth, 4.0);
    }
    // The whole disk: 19.6 GB at 160 MB/s, the rest at 16 MB/s.
    let profile = json_of(&place.read("p.json"));
    let mean = &profile["targets"][0]["mean_rate_bytes_per_s"];
    assert_about(mean, 20e9 / (19.6e9 / 160e6 + 0.4e9 / 16e6), 3.0);
}

#[test]
fn a_profile_of_another_device_size_or_direction_is_refused_by_name() {
    let place = Place::with_machine(SMALL);
    let target = "sim:machine.toml";
    let flags = ["--read", "--budget", "20s", "--json", "p.json"];
    place
        .run(&[&["profile", target][..], &flags].concat())
        .expect(0);
    let refused = |flags: &[&str]| {
        let all = [&["measure", "--profile", "p.json"], flags].concat();
        sentences(&place.run(&all).expect(2).stderr)
    };
    insta::assert_snapshot!(refused(&[target, "--write"]), @"sustain: p.json has no profile of hda (write), only of hda (read): make one with `sustain profile sim:machine.toml --write --json new-profile.json`");
    place.write("other.toml", &SMALL.replace("hda", "hdb"));
    insta::assert_snapshot!(refused(&["sim:other.toml", "--read"]), @"sustain: p.json has no profile of hdb (read), only of hda (read): make one with `sustain profile sim:other.toml --read --json new-profile.json`");
    place.write("larger.toml", &SMALL.replace("8GB", "9GB"));
    insta::assert_snapshot!(refused(&["sim:larger.toml", "--read"]), @"sustain: p.json covers 8.00 GB of hda, and 9.00 GB are used now: it is a profile of another device, or too short: make one with `sustain profile sim:larger.toml --read --json new-profile.json`");
    insta::assert_snapshot!(refused(&[target, "--read", "--until-steady"]), @"sustain: --until-steady judges during the run, --profile after it: choose one of the two");
    let ran = place.run(&["measure", target, "--profile", "machine.toml"]);
    insta::assert_snapshot!(sentences(&ran.expect(2).stderr), @"sustain: machine.toml: this is not JSON (expected value at line 1 column 3): give a complete document that sustain wrote as JSON");
}

#[test]
fn the_profile_that_is_missing_is_made_by_the_command_that_is_said() {
    let place = Place::new();
    place.write("a machine.toml", SMALL);
    place.write("other.toml", &SMALL.replace("hda", "hdb"));
    let budget = ["--budget", "20s", "--json", "p.json"];
    let profile = ["profile", "sim:other.toml", "--read"];
    place.run(&[&profile[..], &budget].concat()).expect(0);
    let size = 2_000_000_000_u64.to_string();
    let measure = ["measure", "sim:a machine.toml", "--write", "--size", &size];
    let with = |profile| place.run(&[&measure[..], &["--profile", profile]].concat());
    let refused = with("p.json").expect(2);
    let said = refused.stderr.split('`').nth(1).unwrap();
    assert_eq!(
        said,
        "sustain profile 'sim:a machine.toml' --write --size 2000000000 --json new-profile.json"
    );
    let words = shlex::split(said).unwrap();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    place.run(&words).expect(0);
    with("new-profile.json").expect(0);
}

#[test]
fn a_run_begins_where_it_is_told() {
    let place = Place::with_machine(SMALL);
    let flags = ["--read", "--time", "2s", "--no-confirm"];
    let at = |start: &str, rate: f64| {
        let result = place.simulate(0, &[&flags[..], &["--at", start]].concat());
        assert_about(&result["targets"][0]["rate_bytes_per_s"], rate, 4.0);
    };
    at("0%", 60e6);
    at("4GB", 44e6);
    at("95%", 30e6);
    let end = place.simulate(0, &["--read", "--at", "99%", "--no-confirm"]);
    assert_eq!(end["targets"][0]["ended"], "end_of_device");
    let refused = |flags: &[&str]| {
        let ran = place.run(&[&["measure"], flags].concat());
        sentences(&ran.expect(2).stderr)
    };
    let target = "sim:machine.toml";
    insta::assert_snapshot!(refused(&[target, "--at", "9GB"]), @"sustain: hda: --at 9 GB is beyond its end at 8.00 GB");
    let at_end = &["--size", "2GB", "--at", "4GB"];
    let told = refused(&[&[target], &at_end[..]].concat());
    let uses = "--at 4 GB is beyond the end of what this run uses of it, 2.00 GB by --size";
    assert!(told.contains(uses), "{told}");
    let told = refused(&[".", "--bytes", "2MiB", "--at", "3MiB"]);
    let uses = "--at 3 MiB is beyond the end of what this run uses of it, 2.10 MB by --bytes";
    assert!(told.contains(uses), "{told}");
    insta::assert_snapshot!(refused(&["null:", "--at", "50%"]), @"sustain: null:: it has no positions to begin at: leave out --at");
    insta::assert_snapshot!(refused(&[target, "--at", "50%", "--layout", "span"]), @"sustain: --at applies to each target by itself and cannot be combined with --layout stripe or span");
}
