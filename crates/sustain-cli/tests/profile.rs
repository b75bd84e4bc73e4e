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
use crate::support::{Place, assert_about, json_of, number, unwrapped};

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
    let whole = FALLING.split("slow").next().unwrap();
    let promise = "on average; 30.0 MB/s can be promised at every position";
    let falls =
        "the rate falls in 4 zones from 60.0 MB/s at its start to 30.0 MB/s at its end, 50 % less";
    let said = [promise, falls];
    said_of(whole, &said);
    let spotted = [
        "on average, 1 bad spot included; outside the bad spot",
        "30.0 MB/s can be promised at every position there; in the bad spot as little as 5.00 MB/s",
        falls,
        "MB wide: 5.00 MB/s in a zone of 50.0 MB/s at every visit: a bad spot",
    ];
    said_of(FALLING, &spotted);
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
    let said = unwrapped(&help);
    for words in [
        "a third time if it was slow in either",
        "up to six times",
        "slow in every visit, more often than chance explains, is a bad spot",
        "is uncertain",
        "a passing disturbance",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

/// Fails unless a profile of this machine says all this, before its table.
#[track_caller]
fn said_of(toml: &str, words: &[&str]) {
    let place = Place::with_machine(toml);
    let ran = place.run(&["profile", "sim:machine.toml", "--read"]);
    let ran = ran.expect(0);
    let said = unwrapped(&ran.stdout);
    for words in words {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    let answer = ran.stdout.find("promised").unwrap();
    assert!(answer < ran.stdout.find("rate  ").unwrap_or(usize::MAX));
}

#[test]
fn a_limit_that_binds_on_the_outer_zones_only_is_named_with_its_end() {
    let place = Place::with_machine(SHARED);
    let flags = ["--read", "--json", "p.json", "--report", "p.html"];
    let ran = place.run(&[&["profile", "sim:machine.toml"][..], &flags].concat());
    let ran = ran.expect(0);
    let said = unwrapped(&ran.stdout);
    assert!(said.contains("they share a limit of 55.0 MB/s"), "{said}");
    assert!(said.contains("it no longer binds"), "{said}");
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
    assert!(page.contains("Read rate by position"));
    assert!(page.contains("they share a limit of"));
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
    ran.says("p.json is a profile and m.json is a measurement");
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
    assert!(
        result["notes"]
            .to_string()
            .contains("positions are those in the file")
    );
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
    assert!(
        ran.stdout.starts_with("The profile was interrupted; "),
        "{ran:#?}"
    );
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

#[track_caller]
fn refused(place: &Place, arguments: &[&str], words: &str) {
    let ran = place.run(&[&["profile"], arguments].concat());
    ran.expect(2).says(words);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_way_on() {
    let tiny = "[[disk]]\nname = \"tiny\"\ncapacity = \"20MB\"\nread = \"10MB/s\"\n";
    let place = Place::with_machine(tiny);
    let target = "sim:machine.toml";
    refused(&place, &[target], "use a smaller --record-size or --depth");
    refused(&place, &["null:"], "no positions");
    refused(
        &place,
        &[target, "--read", "--destroy", target],
        "destroys nothing",
    );
    let large = Place::with_machine(FALLING);
    refused(
        &large,
        &[target, "--budget", "1s"],
        "too short for 1 curve,",
    );
    place.write("kept", &"x".repeat(1 << 20));
    refused(&place, &["kept", "--write"], "--destroy");
    assert_eq!(place.read("kept").len(), 1 << 20);
}

#[test]
fn a_rehearsal_says_what_would_be_done() {
    let place = Place::with_machine(SHARED);
    let ran = place.run(&["profile", "sim:machine.toml", "--read", "--dry-run"]);
    let ran = ran.expect(0).says("would read hda");
    ran.says("each target alone and all at once");
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
    assert!(
        sustained["why"]
            .as_str()
            .unwrap()
            .contains("position or time")
    );
    let with = place.simulate(0, &[&run[..], &["--profile", "p.json"]].concat());
    for judged in [&with["targets"][0], &with["total"]] {
        let sustained = &judged["sustained"];
        assert_eq!(sustained["reached"], true, "{sustained}");
        let why = sustained["why"].as_str().unwrap();
        assert!(why.contains("removed by the profile"), "{why}");
        assert_about(&sustained["rate_bytes_per_s"], 48.3e6, 2.0);
    }
    assert!(with["notes"].to_string().contains("by p.json"));
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
    let refused = |flags: &[&str], words: &str| {
        let all = [&["measure", "--profile", "p.json"], flags].concat();
        place.run(&all).expect(2).says(words);
    };
    refused(&[target, "--write"], "p.json has no profile of hda (write)");
    place.write("other.toml", &SMALL.replace("hda", "hdb"));
    refused(
        &["sim:other.toml", "--read"],
        "no profile of hdb (read), only of hda (read)",
    );
    place.write("larger.toml", &SMALL.replace("8GB", "9GB"));
    refused(
        &["sim:larger.toml", "--read"],
        "it is a profile of another device, or too short",
    );
    refused(
        &[target, "--read", "--until-steady"],
        "choose one of the two",
    );
    let ran = place.run(&["measure", target, "--profile", "machine.toml"]);
    ran.expect(2).says("machine.toml");
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
    let ran = place.run(&["measure", "sim:machine.toml", "--at", "9GB"]);
    ran.expect(2).says("is beyond its");
    let ran = place.run(&["measure", "null:", "--at", "50%"]);
    ran.expect(2).says("no positions to begin at");
    let both = [
        "measure",
        "sim:machine.toml",
        "--at",
        "50%",
        "--layout",
        "span",
    ];
    place
        .run(&both)
        .expect(2)
        .says("cannot be combined with --layout");
}
