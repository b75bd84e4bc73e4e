//! Endings on real targets: Ctrl-C concludes from what there is, and a device that dies is left
//! out.

use std::fs::File;

use rustix::process::Signal;

use crate::MIB;
use crate::devices::Disk;
use crate::running::Running;
use crate::simulated::names;
use crate::support::{Place, json_of};

/// Starts a diagnosis whose words go to the file `said`.
fn start(place: &Place, arguments: &[&str]) -> Running {
    let mut command = place.command(&[&["diagnose", "--json", "json"], arguments].concat());
    command.stderr(File::create(place.path("said")).unwrap());
    Running::start(&mut command)
}

/// Lines of subsets that are done.
fn subsets_done(said: &str) -> usize {
    let of_subsets = |line: &&str| line.ends_with(')') && !line.ends_with(" free)");
    said.lines().filter(of_subsets).count()
}

#[test]
fn an_interrupted_diagnosis_says_what_is_known_by_then() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let flags = ["a", "b", "c", "--size", "8MiB", "--time-per-run", "300ms"];
    let mut running = start(&place, &flags);
    // Each is measured twice at first.
    assert!(running.becomes(|| subsets_done(&place.read("said")) >= 5));
    running.signal(Signal::INT);
    running.finish().expect(130);
    let result = json_of(&place.read("json"));
    assert_eq!(result["ended"], "interrupted");
    assert!(result["measurements"].as_array().unwrap().len() >= 2);
    assert!(result["alone"][0]["rate_bytes_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(result["walls"].as_array().unwrap().len(), 0);
    for name in ["a", "b", "c"] {
        let left = std::fs::read_dir(place.path(name)).unwrap().count();
        assert_eq!(left, 0, "a scratch file goes with the run");
    }
}

#[test]
fn a_device_that_dies_in_the_middle_is_dropped_and_the_rest_is_concluded() {
    let disks: Option<Vec<Disk>> = (0..3).map(|_| Disk::new(16 * MIB)).collect();
    let Some(disks) = disks else { return };
    let devices: Vec<&str> = disks.iter().map(Disk::name).collect();
    let place = &disks[0].place;
    let flags = ["--read", "--time-per-run", "300ms"];
    let mut running = start(place, &[&devices[..], &flags].concat());
    // Each is measured twice at first; the last one's turn is still to come.
    assert!(running.becomes(|| subsets_done(&place.read("said")) >= 2));
    // Its backing file is cut away under it.
    let image = File::options().write(true).open(&disks[2].image).unwrap();
    image.set_len(0).unwrap();
    let ran = running.finish();
    let said = place.read("said");
    assert_eq!(ran.code, 1, "{said}");
    let result = json_of(&place.read("json"));
    assert_eq!(names_of_dropped(&result), [devices[2]], "{said}");
    let together = result["together"]["rate_bytes_per_s"].as_f64();
    assert!(together.unwrap() > 0.0, "of the two others");
    for measurement in result["measurements"].as_array().unwrap() {
        assert!(!names(&measurement["members"]).contains(&devices[2].to_owned()));
    }
}

fn names_of_dropped(result: &serde_json::Value) -> Vec<&str> {
    let dropped = result["dropped"].as_array().unwrap().iter();
    dropped
        .map(|dropped| dropped["target"].as_str().unwrap())
        .collect()
}
