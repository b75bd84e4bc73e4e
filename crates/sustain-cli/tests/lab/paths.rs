//! Recording by each I/O path to a disk, in a guest.

use crate::guest::Guest;
use crate::support::{json_of, number};

/// The same stream by each path, killed in the middle and whole: what was durable comes back.
#[test]
#[ignore = "a minute in a guest"]
fn a_stream_is_recorded_past_the_block_layer_and_comes_back() {
    let Some(guest) = Guest::new("nvme-passthrough") else {
        return;
    };
    let script = "store=/dev/lab/whole
        sum() { sustain extract $store --recording $1 2>/dev/null | sha256sum; }
        record() { sustain record $store --from test:200MB/s --buffer 64MiB --path $@; }
        sustain create $store --destroy $store --slot 4MiB 2>/dev/null || exit 1
        for path in direct buffered passthrough; do
            record $path --bytes 100MB --json $path || exit 1
        done
        for number in 1 2 3; do echo sum $(sum $number); done
        record passthrough --status status --durable 100ms &
        sleep 2; kill -9 $!; wait
        echo durable $(tail -n 2 status | grep -o 'durable_bytes\":[0-9]*' | head -n 1)
        sustain extract $store --recording 4 2>/dev/null | wc -c | sed 's/^/kept /'
        sustain verify $store || exit 1
        tried() { sustain record $@ --from test:1MB/s --bytes 1MB 2>said; echo code $?; sed 's/^/said /' said; }
        mkdir directory
        tried directory --path passthrough
        [ -e directory/sustain.store ] && echo made
        tried $store --path passthrough --engine libaio
        sustain create /dev/lab/other --destroy /dev/lab/other 2>/dev/null || exit 1
        tried /dev/lab/other --path passthrough";
    let Some(ran) = guest.run(&[], &["sh", "-c", script]) else {
        return;
    };
    let ran = ran.expect(0);
    let lines = |start: &str| -> Vec<&str> {
        let lines = ran.stdout.lines();
        lines.filter_map(|line| line.strip_prefix(start)).collect()
    };
    let sums = lines("sum ");
    assert!(
        sums.len() == 3 && sums.iter().all(|sum| *sum == sums[0]),
        "{ran:#?}"
    );
    for path in ["direct", "buffered", "passthrough"] {
        let result = json_of(&guest.place.read(path));
        assert_eq!(result["plan"]["path"], path);
        assert!(
            number(&result["total"]["cpu_seconds_per_gb"]) > 0.0,
            "{result:#}"
        );
        let engine = result["engine"].as_str().unwrap();
        assert_eq!(
            engine.contains("NVMe commands"),
            path == "passthrough",
            "{engine}"
        );
    }
    let durable: u64 = lines("durable durable_bytes\":")[0].parse().unwrap();
    let kept: u64 = lines("kept ")[0].parse().unwrap();
    assert!(kept >= durable && durable > 0, "{ran:#?}");
    assert_eq!(lines("code "), ["2", "2", "2"], "{ran:#?}");
    assert!(!ran.stdout.contains("made"), "{ran:#?}");
    let said = lines("said ").join("\n");
    for words in [
        "passthrough needs an NVMe namespace, and directory is a directory",
        "passthrough works only with io_uring, not with libaio",
        "/dev/lab/other: passthrough needs an NVMe namespace; /dev/vda is virtio",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}
