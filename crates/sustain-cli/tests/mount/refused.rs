//! What cannot be mounted, or not there.

use std::fs;

use super::support::Place;

#[test]
fn a_directory_that_cannot_be_mounted_at_is_refused_with_what_to_do() {
    let place = Place::new();
    for directory in ["store", "store/within", "full", "full/within", "empty"] {
        fs::create_dir(place.path(directory)).unwrap();
    }
    place.write("file", "");
    place.run(&["create", "store", "--size", "64MiB"]).expect(0);
    let all: [&[&str]; 10] = [
        &["store", "full"],
        &["store", "file"],
        &["store", "none"],
        &["store", "store"],
        &["store", "store/within"],
        &["store", "/proc"],
        &["full", "empty"],
        &["none", "empty"],
        &["sim:none.toml", "empty"],
        &["store", "empty", "--split", "0"],
    ];
    let all: Vec<Vec<&str>> = all
        .iter()
        .map(|arguments| [arguments, &["--foreground"][..]].concat())
        .collect();
    let all: Vec<&[&str]> = all.iter().map(Vec::as_slice).collect();
    insta::assert_snapshot!(place.refusals(&["mount"], &all));
}

#[test]
fn the_command_in_the_background_has_the_same_words_and_exit_code() {
    let place = Place::new();
    let refused = place.run(&["mount", "none", "nowhere"]).expect(2);
    assert!(
        refused.stderr.contains("nowhere does not exist"),
        "{refused:?}"
    );
    assert_eq!(refused.stdout, "");
}
