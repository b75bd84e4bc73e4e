//! `sustain devices` on the machine that runs the test, whatever that has: its exit code, its
//! document, and what it says of loop devices that the test makes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

mod support;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{Place, json_of, unwrapped};
use sustain_testing::{Requirement, skip};

/// A loop device, taken away with the test.
struct Loop(String);

impl Loop {
    /// `None`, with the reason printed, where there are none to be had.
    fn over(path: &Path) -> Option<Loop> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(path)
            .output();
        match output {
            Ok(output) if output.status.success() => {
                let name = String::from_utf8(output.stdout).unwrap();
                Some(Loop(name.trim().to_owned()))
            }
            Ok(output) => {
                skip(
                    Requirement::LoopDevices,
                    String::from_utf8_lossy(&output.stderr),
                );
                None
            }
            Err(error) => {
                skip(Requirement::LoopDevices, format!("losetup: {error}"));
                None
            }
        }
    }

    fn kernel_name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[track_caller]
fn devices(place: &Place, names: &[&str]) -> Value {
    let arguments = [&["devices", "--json", "-"], names].concat();
    let document = json_of(&place.run(&arguments).expect(0).stdout);
    assert_valid(&document);
    document
}

#[track_caller]
fn assert_valid(document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices.schema.json");
    let schema = json_of(&std::fs::read_to_string(path).unwrap());
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Facts of the device of this name, disk or layer.
fn find<'a>(document: &'a Value, name: &str) -> Option<&'a Value> {
    let disks = document["disks"].as_array().unwrap().iter();
    let layers = document["layers"].as_array().unwrap().iter();
    disks
        .map(|disk| &disk["facts"])
        .chain(layers)
        .find(|facts| facts["device"]["node"]["name"] == name)
}

#[test]
fn this_machine_is_described_whatever_it_has() {
    let place = Place::new();
    let document = devices(&place, &[]);
    let disks = document["disks"].as_array().unwrap();
    let text = place.run(&["devices"]).expect(0).stdout;
    for disk in disks {
        let name = disk["path"]["disk"].as_str().unwrap();
        let hops = disk["path"]["hops"].as_array().unwrap();
        assert_eq!(hops[0]["kind"], "disk", "{name}");
        assert!(["memory", "numa_node"].contains(&hops.last().unwrap()["kind"].as_str().unwrap()));
        if !name.starts_with("loop") {
            assert!(text.contains(&format!("{name}: ")), "no {name} in {text}");
        }
    }
    assert!(
        !disks.is_empty() || text.contains("no disks are found"),
        "{text}"
    );
}

#[test]
fn a_loop_device_and_what_lies_under_it_are_told() {
    let place = Place::new();
    let image = std::fs::File::create(place.path("image")).unwrap();
    image.set_len(8 << 20).unwrap();
    let Some(under) = Loop::over(&place.path("image")) else {
        return;
    };
    let document = devices(&place, &[&under.0]);
    let facts = find(&document, under.kernel_name()).unwrap();
    assert_eq!(facts["kind"], "loop");
    assert_eq!(facts["may_be_written"], true);
    assert_eq!(facts["device"]["node"]["size_bytes"], 8 << 20);
    let Some(over) = Loop::over(Path::new(&under.0)) else {
        return;
    };
    let document = devices(&place, &[over.kernel_name()]);
    let facts = find(&document, under.kernel_name()).unwrap();
    assert_eq!(facts["may_be_written"], false);
    let reason = format!("it backs {}", over.kernel_name());
    assert_eq!(facts["why_not"][0]["reason"], reason.as_str());
    let above = find(&document, over.kernel_name()).unwrap();
    assert_eq!(above["lies_on"][0], under.kernel_name());
    let text = place.run(&["devices", &over.0]).expect(0).stdout;
    let text = text.replace('│', "");
    assert!(unwrapped(&text).contains(&reason), "{text}");
}

#[test]
fn a_file_stands_for_the_disks_on_which_it_lies() {
    let place = Place::new();
    let ran = place.run(&["devices", ".", "--json", "devices.json"]);
    if ran.code == 2 {
        ran.says("it is not on any disk that is visible here");
        skip(Requirement::VisibleDisk, "the build directory is on none");
        return;
    }
    let ran = ran.expect(0);
    assert!(!ran.stdout.is_empty());
    let document = json_of(&place.read("devices.json"));
    assert_valid(&document);
    assert!(!document["disks"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_no_device_is_explained() {
    let place = Place::new();
    for (name, words) in [
        ("/dev/nosuchdisk", "/dev/nosuchdisk: No such file"),
        ("nosuchdisk", "run `sustain devices` without a name"),
        ("../block", "run `sustain devices` without a name"),
        ("", "run `sustain devices` without a name"),
        ("/dev/null", "neither a disk nor a file or directory on one"),
    ] {
        let ran = place.run(&["devices", name]).expect(2).says(words);
        assert_eq!(ran.stdout, "", "{name}");
    }
    place.write("precious", "of great value");
    place
        .run(&["devices", "--json", "precious"])
        .expect(2)
        .says("choose another file");
    assert_eq!(place.read("precious"), "of great value");
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    let help = Place::new().run(&["devices", "--help"]).expect(0).stdout;
    let help = unwrapped(&help);
    assert!(
        help.contains("sustain devices --json devices.json"),
        "{help}"
    );
    assert!(help.contains("Exit codes: 0 done; 2 usage"), "{help}");
}
