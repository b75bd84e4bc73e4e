//! The table of combinations, read and written.

use serde_json::Value;

use super::MIB;
use super::simulated::names;
use crate::support::{Place, json_of};

/// A source of 1998 has the rates of these combinations: docs/published.md.
const PUBLISHED: &str = "hda,hdb,hda+hdb,hda+hdc,hda+hdb+hdc+hdd,hde,hde+hdg,hdc+hde+hdg";
const MACHINE: &str = include_str!("../../../../machines/beowulf-quantum.toml");

#[test]
fn the_table_of_a_source_comes_out_of_one_command() {
    let place = Place::with_machine(MACHINE);
    let words = ["diagnose", "sim:machine.toml", "--matrix", PUBLISHED];
    let flags = ["--read", "--write", "--json", "table.json"];
    let flags = [&words[..], &flags, &["--report", "run.html"]].concat();
    let ran = place.run(&flags).expect(0);
    insta::assert_snapshot!(ran.stdout.split("\n\n").next().unwrap(), @"
    targets               read      write
    hda              11.2 MB/s  9.72 MB/s
    hdb              11.2 MB/s  9.72 MB/s
    hda hdb          11.2 MB/s  9.72 MB/s
    hda hdc          12.1 MB/s  10.8 MB/s
    hda hdb hdc hdd  12.1 MB/s  10.8 MB/s
    hde              11.3 MB/s  11.3 MB/s
    hde hdg          22.5 MB/s  22.5 MB/s
    hdc hde hdg      32.9 MB/s  30.5 MB/s
    ");
    for saved in ["saved.html", "-"] {
        let again = place.run(&["report", "table.json", "-o", saved]).expect(0);
        let page = place.read("run.html");
        assert!(place.read("saved.html") == page && (saved != "-" || again.stdout == page));
    }
    let again = place.run(&["report", "table.json"]).expect(0);
    assert_eq!(again.stdout, ran.stdout);
}

#[test]
fn all_combinations_have_the_rates_that_the_walls_predict() {
    let place = Place::with_machine(MACHINE);
    let words = ["diagnose", "sim:machine.toml", "--matrix", "all"];
    let ran = place
        .run(&[&words[..], &["--read", "--json", "-"]].concat())
        .expect(0);
    let result = json_of(&ran.stdout);
    let combinations = result["combinations"].as_array().unwrap();
    assert_eq!(combinations.len(), 63);
    let measurements = result["diagnoses"][0]["measurements"].as_array().unwrap();
    for one in combinations {
        assert_eq!(one["write"], Value::Null);
        let members = names(&one["members"]);
        let mut of_these = measurements.iter().filter(|reading| {
            let mut found = names(&reading["members"]);
            found.sort();
            found == members && reading["dummy_bytes_per_s"].is_null()
        });
        let predicted = of_these.next().unwrap()["predicted_bytes_per_s"].as_f64();
        let reached = one["read"]["sum_bytes_per_s"].as_f64().unwrap();
        let off = (reached / predicted.unwrap() - 1.0).abs();
        assert!(off < 0.02, "{members:?}: {reached} for {predicted:?}");
    }
}

#[test]
fn files_are_read_and_written_where_both_are_asked_for() {
    let place = Place::new();
    for name in ["a", "b"] {
        std::fs::write(place.path(name), vec![7; 8 * MIB as usize]).unwrap();
    }
    let words = ["diagnose", "a", "b", "--read", "--write", "--matrix", "all"];
    let short = ["--time-per-run", "100ms", "--json", "table.json"];
    let refused = place.refusal(&[&words[..], &short].concat());
    assert!(
        refused.contains("To destroy what is on it, add --destroy a"),
        "{refused}"
    );
    assert!(place.read("a").bytes().all(|byte| byte == 7));
    let destroy = ["--destroy", "a", "--destroy", "b"];
    // Readings of a busy machine may differ too much for walls, and the table is there all the same.
    place.run(&[&words[..], &short, &destroy].concat());
    let result = json_of(&place.read("table.json"));
    for one in result["combinations"].as_array().unwrap() {
        for direction in ["read", "write"] {
            let rate = one[direction]["sum_bytes_per_s"].as_f64().unwrap();
            assert!(rate > 0.0, "{one}");
        }
    }
}

#[test]
fn what_makes_no_table_is_explained() {
    let place = Place::with_machine(MACHINE);
    let refusals = place.refusals(
        &["diagnose", "sim:machine.toml"],
        &[
            &["--read", "--write"],
            &["--matrix", "hda+hdz"],
            &["--matrix", "hda+hda"],
            &["--matrix", "hda,hdb,hda"],
            &["--matrix", ""],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain diagnose sim:machine.toml --read --write
    sustain: a diagnosis is of one direction: give --read or --write, or add --matrix all for a table of both

    $ sustain diagnose sim:machine.toml --matrix hda+hdz
    sustain: 'hdz' is none of the targets (hda, hdb, hdc, hdd, hde, hdg): give --matrix all, or combinations such as hda,hdb,hda+hdb

    $ sustain diagnose sim:machine.toml --matrix hda+hda
    sustain: hda stands twice in hda+hda

    $ sustain diagnose sim:machine.toml --matrix 'hda,hdb,hda'
    sustain: hda is listed twice

    $ sustain diagnose sim:machine.toml --matrix ''
    sustain: '' is none of the targets (hda, hdb, hdc, hdd, hde, hdg): give --matrix all, or combinations such as hda,hdb,hda+hdb
    ");
    let disks = (0..20).map(|number| {
        format!("[[disk]]\nname = \"d{number}\"\ncapacity = \"1GB\"\nwrite = \"9MB/s\"\n\n")
    });
    place.write("twenty.toml", &disks.collect::<String>());
    let all = ["diagnose", "sim:twenty.toml", "--matrix", "all"];
    let refused = place.refusal(&all);
    insta::assert_snapshot!(refused, @"sustain: 20 targets have 1048575 combinations, which would take 36 days in each direction, and 1024 are the most: leave targets out, or list the combinations that you want: --matrix a,b,a+b");
    assert_eq!(place.refusal(&[&all[..], &["--dry-run"]].concat()), refused);
}

#[test]
fn a_rehearsal_counts_the_combinations() {
    let place = Place::with_machine(MACHINE);
    let words = [
        "diagnose",
        "sim:machine.toml",
        "--matrix",
        "all",
        "--dry-run",
    ];
    insta::assert_snapshot!(place.run(&words).expect(0).told(), @"
    would write hda (simulated): up to 8010 MiB from its start, over and over
    would write hdb (simulated): up to 8010 MiB from its start, over and over
    would write hdc (simulated): up to 8010 MiB from its start, over and over
    would write hdd (simulated): up to 8010 MiB from its start, over and over
    would write hde (simulated): up to 8010 MiB from its start, over and over
    would write hdg (simulated): up to 8010 MiB from its start, over and over
    would measure each of the 6 targets alone and all together (21 s), then the subsets that the results call for: about 24 readings in all (72 s) if one limit is shared, 36 (108 s) if several are
    would measure those of the 63 combinations asked for that are still missing then (3 min for all of them)
    ");
}
