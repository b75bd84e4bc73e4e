//! `sustain` on real Linux drivers, in the guests of the disk lab (docs/lab.md). Skipped, with the
//! reason, where QEMU or a package cannot be had.
//! They take a minute each: `scripts/long guests` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[path = "lab/guest.rs"]
mod guest;
#[path = "lab/losses.rs"]
mod losses;
#[path = "lab/paths.rs"]
mod paths;
#[path = "lab/stacks.rs"]
mod stacks;
mod support;

use serde_json::Value;
use sustain_testing::{Requirement, skip};

use crate::guest::Guest;
use crate::support::{json_of, number};

/// Readings that differ so much are other programs' doing: the throttle's own differ by 1 %.
const NOISE_MAX: f64 = 0.05;
/// What a limit of QEMU's is exact to, and a reading of a second or two.
const EXACT_TO: f64 = 0.06;
/// A busy machine is given longer runs.
const TIMES_PER_RUN: [&str; 2] = ["1600ms", "3s"];

/// A limit of a topology: whose, and how many MB/s.
type Limit<'a> = (&'a [&'a str], f64);

/// Whether this wall is that limit, to the member.
fn is(wall: &Value, (members, limit): &Limit) -> bool {
    let found = number(&wall["limit_bytes_per_s"]) / 1e6;
    let members: Vec<String> = members
        .iter()
        .map(|name| format!("/dev/lab/{name}"))
        .collect();
    wall["members"] == serde_json::json!(members) && (found / limit - 1.0).abs() < EXACT_TO
}

/// Whether all of the limits that must be found are, and no wall that is none of these or those.
fn are_found(result: &Value, must: &[Limit], may: &[Limit]) -> bool {
    let walls = result["walls"].as_array().unwrap();
    let is_known = |wall: &Value| must.iter().chain(may).any(|limit| is(wall, limit));
    let is_found = |limit: &Limit| walls.iter().any(|wall| is(wall, limit));
    walls.iter().all(is_known) && must.iter().all(is_found)
}

/// Diagnoses all disks of a topology, by reading; the result that has these walls, else fails.
fn diagnosed(
    topology: &str,
    disks: &[&str],
    record_size: &str,
    (must, may): (&[Limit], &[Limit]),
) -> Option<Value> {
    let guest = Guest::new(topology)?;
    let names: Vec<String> = disks
        .iter()
        .map(|name| format!("/dev/lab/{name}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut noise_min = f64::INFINITY;
    for time_per_run in TIMES_PER_RUN {
        let flags = ["sustain", "diagnose", "--read", "--json", "json", "--depth"];
        let more = ["4", "--record-size", record_size, "--time-per-run"];
        let command = [&flags[..], &more, &[time_per_run], &names].concat();
        let ran = guest.run(&[], &command)?.expect(0);
        let result = json_of(&guest.place.read("json"));
        if are_found(&result, must, may) {
            return Some(result);
        }
        let (walls, said) = (&result["walls"], &ran.stderr);
        eprintln!("not with runs of {time_per_run}:\n{said}\n{walls:#}");
        noise_min = noise_min.min(number(&result["noise"]));
    }
    assert!(noise_min > NOISE_MAX, "{must:?} were not found");
    skip(
        Requirement::QuietMachine,
        "it is too busy to tell its limits",
    );
    None
}

#[test]
#[ignore = "a minute in a guest"]
fn the_wall_of_the_piix3_is_found_on_its_own_driver() {
    let disks = ["hda", "hdb", "hdc", "hdd"];
    let must: [Limit; 1] = [(&disks, 12.098)];
    // So close to the wall around them that a throttle tells them apart only in long runs.
    let may: [Limit; 2] = [(&disks[..2], 11.226), (&disks[2..], 11.226)];
    let Some(result) = diagnosed("piix3", &disks, "64KiB", (&must, &may)) else {
        return;
    };
    let hop = result["walls"][0]["hop"]["name"].as_str().unwrap();
    assert!(hop.contains("ata_piix"), "{hop}");
}

/// The controller does no Ultra DMA, and QEMU's drives say that they could.
#[test]
#[ignore = "a minute in a guest"]
fn the_disks_of_the_piix3_tell_their_transfer_mode() {
    let Some(guest) = Guest::new("piix3") else {
        return;
    };
    let Some(ran) = guest.run(&[], &["sustain", "devices", "--json", "-"]) else {
        return;
    };
    let devices = json_of(&ran.expect(0).stdout);
    let disks = devices["disks"].as_array().unwrap();
    let own = disks.iter().map(|disk| &disk["path"]["hops"][0]);
    let modes: Vec<&Value> = own.filter(|hop| hop["transfer_mode"].is_string()).collect();
    assert_eq!(modes.len(), 4, "{disks:#?}");
    for hop in modes {
        assert_eq!(hop["transfer_mode"], "multiword DMA 2", "{hop:#}");
        let slow = hop["slow"].as_str().unwrap();
        let words = "runs at multiword DMA 2; the drive can do UDMA/100";
        assert!(slow.starts_with(words), "{slow}");
    }
}

#[test]
#[ignore = "a minute in a guest"]
fn two_channels_and_their_controller_are_found_inside_each_other() {
    let disks = ["hda", "hdb", "hdc", "hdd"];
    let must: [Limit; 3] = [(&disks, 90.0), (&disks[..2], 52.0), (&disks[2..], 52.0)];
    diagnosed("ide-nested", &disks, "256KiB", (&must, &[]));
}

#[test]
#[ignore = "a minute in a guest"]
fn four_disks_at_an_ahci_controller_share_what_their_board_carries() {
    let disks = ["sda", "sdb", "sdc", "sdd"];
    let must: [Limit; 1] = [(&disks, 252.0)];
    diagnosed("ahci-four", &disks, "1MiB", (&must, &[]));
}

#[test]
#[ignore = "a minute in a guest"]
fn a_slow_disk_among_fast_ones_is_no_wall() {
    let disks = ["fast0", "fast1", "fast2", "slow0"];
    let Some(result) = diagnosed("slow-among-fast", &disks, "1MiB", (&[], &[])) else {
        return;
    };
    let alone = result["alone"].as_array().unwrap();
    let rates = alone
        .iter()
        .map(|one| number(&one["rate_bytes_per_s"]) / 1e6);
    for (found, set) in rates.zip([100.0, 100.0, 100.0, 30.0_f64]) {
        assert!((found / set - 1.0).abs() < EXACT_TO, "{found} is not {set}");
    }
}

#[test]
#[ignore = "a minute in a guest"]
fn two_nvme_drives_share_nothing() {
    diagnosed("nvme-two", &["nvme0", "nvme1"], "1MiB", (&[], &[]));
}

#[test]
#[ignore = "a minute in a guest"]
fn a_sweep_shows_what_the_page_cache_and_the_block_layer_cost() {
    let Some(guest) = Guest::new("passthrough") else {
        return;
    };
    let paths = "direct,buffered,passthrough";
    let sweep = format!(
        "sweep() {{ sustain sweep --read --record-size 1MiB --depth 4 --time-per-point 500ms \
            --rounds 2 --path $@; }}
        sweep {paths} /dev/lab/whole --json nvme &&
        sweep {paths} /dev/lab/whole /dev/lab/other --json mixed &&
        sweep passthrough /dev/ng0n1 --json character"
    );
    let Some(ran) = guest.run(&[], &["sh", "-c", &sweep]) else {
        return;
    };
    ran.expect(0);
    let swept = |name: &str| json_of(&guest.place.read(name));
    let paths_of = |result: &Value| -> Vec<String> {
        let mut paths = Vec::new();
        for point in result["points"].as_array().unwrap() {
            assert!(number(&point["rate_bytes_per_s"]) > 0.0, "{point:#}");
            assert!(number(&point["cpu_seconds_per_gb"]) > 0.0, "{point:#}");
            paths.push(point["setting"]["path"].as_str().unwrap().to_owned());
        }
        paths.sort();
        paths
    };
    assert_eq!(
        paths_of(&swept("nvme")),
        ["buffered", "direct", "passthrough"]
    );
    let mixed = swept("mixed");
    assert_eq!(paths_of(&mixed), ["buffered", "direct"]);
    assert_eq!(
        mixed["left_out"][0]["why"],
        "passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/vda is virtio: use --path \
         direct"
    );
    assert_eq!(paths_of(&swept("character")), ["passthrough"]);
}

/// Twice the same bytes, once past the block layer, each read back through it; and what must not
/// be.
#[test]
#[ignore = "a minute in a guest"]
fn past_the_block_layer_the_same_bytes_are_written_under_the_same_guard() {
    let Some(guest) = Guest::new("passthrough") else {
        return;
    };
    let script = "sum() { dd if=$1 bs=1M count=32 2>/dev/null | sha256sum; }
        measure() { sustain measure --depth 1 --seed 7 --bytes 32MiB --no-confirm $@; }
        # As long as anybody has it open, what is cached of it stays cached.
        exec 5</dev/lab/whole
        for path in passthrough direct; do
            dd if=/dev/zero of=/dev/lab/whole bs=1M count=32 conv=fsync 2>/dev/null
            measure /dev/lab/whole --path $path --write --destroy /dev/lab/whole || exit 1
            echo sum $(sum /dev/lab/whole)
        done
        tried() {
            before=$(sum /dev/nvme1n1)
            $@ 2>said
            echo code $?
            sed 's/^/said /' said
            [ \"$before\" = \"$(sum /dev/nvme1n1)\" ] || echo harmed
        }
        pass='--path passthrough'
        write=\"$pass --write --destroy\"
        tried measure /dev/nvme1n1 $pass --write
        tried measure /dev/ng1n1 $pass --write
        tried measure /dev/ng1n1 /dev/nvme1n1 $pass
        tried measure /dev/lab/other $pass
        tried measure /out $pass
        printf 'n\np\n1\n\n\nw\n' | fdisk /dev/nvme1n1 >/dev/null 2>&1
        mke2fs /dev/nvme1n1p1 >/dev/null 2>&1
        mkdir /mnt
        tried measure /dev/nvme1n1p1 $write /dev/nvme1n1p1
        mount /dev/nvme1n1p1 /mnt || exit 1
        tried measure /dev/nvme1n1 $write /dev/nvme1n1
        tried measure /dev/ng1n1 $write /dev/ng1n1
        tried measure /dev/nvme1n1 $pass --read";
    let Some(ran) = guest.run(&[], &["sh", "-c", script]) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = |start: &str| -> Vec<&str> {
        let lines = ran.stdout.lines();
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    let sums = lines("sum ");
    assert_eq!(sums.len(), 2, "{ran:#?}");
    assert_eq!(sums[0], sums[1], "{ran:#?}");
    assert!(!ran.stdout.contains("harmed"), "{ran:#?}");
    let codes = lines("code ");
    assert_eq!(
        codes,
        ["2", "2", "2", "2", "2", "2", "2", "2", "0"],
        "{ran:#?}"
    );
    let said = lines("said ").join("\n");
    for words in [
        "add --destroy /dev/nvme1n1;",
        "add --destroy /dev/ng1n1;",
        "/dev/ng1n1 and /dev/nvme1n1 are the same thing",
        "/dev/lab/other: passthrough needs a whole NVMe, SATA or SCSI disk, and /dev/vda is virtio",
        "/out: passthrough needs a whole NVMe, SATA or SCSI disk, and this is a directory",
        "which commands do not know: name /dev/nvme1n1",
        "refusing to write /dev/nvme1n1: its partition nvme1n1p1 is mounted on /mnt",
        "refusing to write /dev/ng1n1: its partition nvme1n1p1 is mounted on /mnt",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
#[ignore = "two guests one after the other"]
fn a_power_cut_takes_only_what_was_not_flushed_from_a_volatile_cache() {
    let Some(guest) = Guest::new("power-cut") else {
        return;
    };
    // In each disk's first 4 MiB what is flushed, behind it what is not.
    let write = "for disk in a b c; do
            for part in '0 fsync' '8 notrunc'; do
                tr '\\0' x </dev/zero | dd of=/dev/lab/$disk bs=1M count=4 iflag=fullblock \
                    oflag=direct seek=${part% *} conv=${part#* } || exit 1
            done
        done
        touch written
        sleep 100";
    let cut = ["--disks", &guest.path("disks"), "--cut-after", "10s"];
    let Some(ran) = guest.run(&cut, &["sh", "-c", write]) else {
        return;
    };
    ran.expect(0);
    assert!(guest.place.path("written").exists(), "cut too early");
    let read = "for disk in a b c; do
            for skip in 0 8; do
                dd if=/dev/lab/$disk bs=1M count=4 skip=$skip 2>/dev/null | tr -d '\\0' | wc -c
            done
        done";
    let keep = ["--disks", &guest.path("disks")];
    let ran = guest.run(&keep, &["sh", "-c", read]).unwrap().expect(0);
    let kept: Vec<u64> = ran
        .stdout
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    let all = 4 << 20;
    assert_eq!(kept, [all, 0, all, 0, all, all]);
}

#[test]
#[ignore = "two guests one after the other"]
fn what_a_recorder_called_durable_is_there_after_a_power_cut() {
    let Some(guest) = Guest::new("power-cut") else {
        return;
    };
    let members = "/dev/lab/a /dev/lab/b /dev/lab/c";
    let record = format!(
        "sustain create {members} {} &&
        sustain record {members} --buffer 64MiB --status status \
            --from test:30MB/s,frame=100kB..1MB",
        members.replace("/dev", "--destroy /dev")
    );
    let cut = ["--disks", &guest.path("disks"), "--cut-after", "12s"];
    let Some(ran) = guest.run(&cut, &["sh", "-c", &record]) else {
        return;
    };
    ran.expect(0);
    let settled_bytes = last_bytes(&guest.place.read("status"), "settled_bytes");
    assert!(settled_bytes > 0, "cut too early");
    // Holes behind what was durable are no surprise: `verify` names them and ends with 1.
    let look = format!(
        "sustain verify {members} --json verified
        sustain recover {members} &&
        sustain record {members} --buffer 64MiB --from test:30MB/s --bytes 60MB &&
        sustain list {members} --json listed"
    );
    let keep = ["--disks", &guest.path("disks")];
    guest.run(&keep, &["sh", "-c", &look]).unwrap().expect(0);
    let verified = json_of(&guest.place.read("verified"));
    assert_eq!(verified["bad_unlisted"], 0);
    for bad in verified["bad"].as_array().unwrap() {
        assert!(bad["from_byte"].as_u64().unwrap() >= settled_bytes, "{bad}");
    }
    let listed = json_of(&guest.place.read("listed"));
    let streams = |recording: usize| &listed["recordings"][recording]["streams"][0];
    assert!(streams(0)["bytes"].as_u64().unwrap() >= settled_bytes);
    assert_eq!(streams(1)["bytes"], 60_000_000);
    assert_eq!(streams(1)["hole_bytes"], 0);
}

/// How much of its only stream the last whole line of a status file calls so.
fn last_bytes(status: &str, key: &str) -> u64 {
    let whole = &status[..=status.rfind('\n').unwrap()];
    let line = json_of(whole.lines().last().unwrap());
    line["streams"][0][key].as_u64().unwrap()
}

#[test]
#[ignore = "a minute in a guest"]
fn errors_of_every_driver_end_a_run_with_the_place_where_they_struck() {
    let Some(guest) = Guest::new("faults") else {
        return;
    };
    let measure = "measure() { sustain measure /dev/lab/$1 --time 3s $2 $3 --json $1; echo $?; }
        measure badsector --read
        measure dying --write --destroy=/dev/lab/dying
        measure nospace --write --destroy=/dev/lab/nospace
        measure hiccup --read
        sustain create /dev/lab/noflush --destroy /dev/lab/noflush
        echo $?";
    let Some(ran) = guest.run(&[], &["sh", "-c", measure]) else {
        return;
    };
    let ran = ran.expect(0);
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(codes, ["1", "1", "1", "0", "1"], "{ran:#?}");
    for (disk, first) in [("badsector", 512), ("dying", 1), ("nospace", 512)] {
        let result = json_of(&guest.place.read(disk));
        let errors = result["targets"][0]["errors"].as_array().unwrap();
        let offset = |error: &Value| error["offset_bytes"].as_u64().unwrap() >> 20;
        let least = errors.iter().map(offset).min().unwrap();
        assert!(least >= first && least <= 512, "{disk}: {errors:#?}");
    }
}

#[test]
#[ignore = "a minute in a guest"]
fn blocks_larger_than_what_is_written_are_told_by_all_who_write() {
    let Some(guest) = Guest::new("large-blocks") else {
        return;
    };
    let script = "sustain devices
        use() {
            echo using $1 >&2
            sustain create $1 --destroy $1 >/dev/null
            sustain record $1 --from test:20MB/s --time 1s --buffer 64MiB >/dev/null
            echo $?
        }
        use /dev/lab/usual
        use /dev/lab/large
        use /dev/lab/fast
        dd if=/dev/zero of=/dev/lab/usual bs=1M count=4 2>/dev/null
        printf 'o\\nn\\np\\n1\\n63\\n+64M\\nw\\n' | fdisk -u /dev/lab/usual >/dev/null
        use $(readlink -f /dev/lab/usual)1";
    let Some(ran) = guest.run(&[], &["sh", "-c", script]) else {
        return;
    };
    let ran = ran.expect(0);
    let codes: Vec<&str> = ran.stdout.lines().filter(|line| line.len() == 1).collect();
    assert_eq!(codes, ["0", "0", "0", "0"], "{ran:#?}");
    // `devices` names both disks, with the words of the two commands.
    assert_eq!(
        ran.stdout
            .matches("physical blocks of 16384 bytes, more than")
            .count(),
        2
    );
    let used: Vec<&str> = ran.stderr.split("using ").skip(1).collect();
    let told = [
        "",
        "of 16384 bytes, more",
        "of 16384 bytes, more",
        "does not begin at a boundary",
    ];
    for (disk, told) in used.iter().zip(told) {
        let cautions: Vec<&str> = disk
            .lines()
            .filter(|line| line.contains("physical block"))
            .collect();
        let times = if told.is_empty() { 0 } else { 3 };
        assert_eq!(
            cautions.len(),
            times,
            "by create, and first and last by record: {disk}"
        );
        assert!(cautions.iter().all(|line| line.contains(told)), "{disk}");
    }
    assert_eq!(used.len(), told.len(), "{ran:#?}");
}

#[test]
fn a_topology_that_cannot_be_is_refused_with_its_place() {
    let cases = [
        ("wire hda 1MB/s", "line 1: 'wire' is none of"),
        ("\nlimit bus fast", "line 2: 'fast' is no rate"),
        ("limit bus 1MB", "line 1: '1MB' is no rate"),
        ("limit a 1MB/s in b", "line 1: there is no limit 'b'"),
        ("disk A nvme 1GiB", "line 1: 'A' is no name"),
        ("disk a nvme 1GB", "disk a: a size is a multiple of 4KiB"),
        ("disk a floppy 1GiB", "disk a: 'floppy' is none of"),
        ("disk a ide:9 1GiB", "disk a: 'ide:9' is no place"),
        ("disk a nvme 1GiB 5MB/s in", "disk a: there is no limit ''"),
        ("disk a nvme 1GiB on tape", "disk a: 'on tape' is none of"),
        (
            "disk a nvme 1GiB\nfault a read EIO at",
            "line 2: '' is no size",
        ),
        ("disk a nvme 1GiB\nfault b read EIO", "a fault of b"),
        ("# nothing", "has no disk"),
    ];
    for (topology, words) in cases {
        let guest = Guest::of(topology);
        let ran = guest.try_run(&[], &["true"]).expect(125);
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    }
}
