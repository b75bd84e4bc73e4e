//! Machine files: what is accepted, with which defaults, and what each mistake is told.

use super::*;

fn parse(text: &str) -> Result<MachineFile, MachineFileError> {
    MachineFile::parse(text, Path::new("demo.toml"))
}

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

const ALL_KEYS: &str = r#"
[[disk]]
name = "hda"
capacity = "8.4GB"
read = "11.226MB/s"            # outermost zone
write = "9.723MB/s"
through = ["channel0", "pci"]  # nearest first
inner_read = "6MB/s"
inner_write = "5MB/s"
zones = 12
request = "80us"
rpm = 5400
cache = "32MB"
cache_rate = "80MB/s"
volatile_cache = true
segment = "256KiB"
noise = "2%"
stall = { every = "5s", for = "120ms" }
error = { at = "1GB", kind = "eio", once = false }
slow = [{ at = "2GB", for = "10MB", to = "5MB/s" }, { at = "1GB", for = "1MB", to = "1MB/s" }]
[limit.channel0]
rate = "12.1MB/s"
share = "max-min"
[limit.pci]
rate = "90MB/s"
"#;

#[test]
fn all_keys() {
    let file = parse(ALL_KEYS).unwrap();
    let mut disk = DiskDescription::new("hda", 8_400_000_000, 11_226_000.0, 9_723_000.0);
    disk.inner_read_bytes_per_s = 6e6;
    disk.inner_write_bytes_per_s = 5e6;
    disk.zones = 12;
    disk.through = vec![0, 1];
    disk.request_ns = 80_000;
    disk.rpm = Some(5400);
    disk.cache = Some(CacheDescription {
        capacity_bytes: 32_000_000,
        rate_bytes_per_s: Some(80e6),
        volatile: true,
    });
    disk.segment_bytes = Some(256 << 10);
    disk.noise_fraction = 0.02;
    disk.stall = Some(StallDescription {
        every_ns: 5_000_000_000,
        for_ns: 120_000_000,
    });
    disk.fault = Some(FaultDescription {
        at_bytes: 1_000_000_000,
        kind: FaultKind::InputOutput,
        once: false,
    });
    let slow = |at_bytes, for_bytes, to_bytes_per_s| SlowDescription {
        at_bytes,
        for_bytes,
        to_bytes_per_s,
    };
    disk.slow = vec![
        slow(1_000_000_000, 1_000_000, 1e6),
        slow(2_000_000_000, 10_000_000, 5e6),
    ];
    assert_eq!(file.disks, [disk]);
    assert_eq!(file.limits[0].rates, LimitRates::Together(12.1e6));
    assert_eq!(file.limits[1].name, "pci");
    assert_eq!(file.warnings, Vec::<String>::new());
}

#[test]
fn name_capacity_and_one_rate_are_enough() {
    for rate in ["read", "write"] {
        let file = parse(&format!(
            "[[disk]]\nname='a'\ncapacity='1GB'\n{rate}='5MB/s'\n"
        ))
        .unwrap();
        assert_eq!(
            file.disks,
            [DiskDescription::new("a", 1_000_000_000, 5e6, 5e6)]
        );
        assert!(file.warnings.is_empty());
    }
}

#[test]
fn one_inner_rate_takes_the_other_along() {
    let file = parse(
        "[[disk]]\nname='a'\ncapacity='1GB'\nread='100MB/s'\nwrite='80MB/s'\ninner_read='50MB/s'",
    )
    .unwrap();
    assert_eq!(
        file.disks[0].inner_write_bytes_per_s.to_bits(),
        40e6f64.to_bits()
    );
    assert_eq!(file.disks[0].zones, 16);
}

#[test]
fn an_inner_rate_above_the_outer_one_is_allowed() {
    let text = "[[disk]]\nname='a'\ncapacity='1GB'\nread='10MB/s'\ninner_read='50MB/s'\nzones=2";
    assert!(parse(text).is_ok());
}

#[test]
fn unknown_keys_name_line_and_choice() {
    let text = "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\n\n[[disk]]\nraed='5MB/s'\n";
    assert_eq!(
        message(text),
        "demo.toml:7: unknown key \"raed\" in [[disk]]; expected one of name, capacity, read, \
         write, through, inner_read, inner_write, zones, request, rpm, cache, cache_rate, \
         volatile_cache, segment, noise, stall, error, flush_error, slow"
    );
    let disk = "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\n";
    for (line, key, rest) in [
        (5, "dsik", "[dsik]\n"),
        (6, "rat", "[limit.x]\nrat='1MB/s'\n"),
        (5, "of", "stall={every='5s', of='1s'}\n"),
        (5, "twice", "error={at='5kB', twice=true}\n"),
    ] {
        let message = message(&format!("{disk}{rest}"));
        let start = format!("demo.toml:{line}: unknown key {key:?} in ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains("expected one of"), "{message}");
    }
}

#[test]
fn wrong_values_name_line_and_what_was_expected() {
    let disk = "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\n";
    for (added, line, words) in [
        ("write='5M/s'", 5, "write MB (1000000 bytes) or MiB"),
        ("write='5MB'", 5, "200MB/s"),
        ("write=5", 5, "text in quotes"),
        ("write='0.5B/s'", 5, "between 1 B/s and 10 TB/s"),
        (
            "through=['pci']",
            5,
            "\"pci\" that does not exist; limits here: none",
        ),
        ("through='pci'", 5, "list of names"),
        ("zones=0", 5, "between 1 and 65536"),
        ("zones=-3", 5, "whole number"),
        ("zones='3'", 5, "whole number"),
        ("zones=1\ninner_read='1MB/s'", 5, "2 or more"),
        ("rpm=0", 5, "between 1 and 100000"),
        ("noise='50%'", 5, "up to 30%"),
        ("cache='0'", 5, "leave it out"),
        ("segment='0'", 5, "leave it out"),
        ("volatile_cache='yes'", 5, "true or false"),
        ("stall='5s'", 5, "must be a table"),
        ("stall={every='5s'}", 5, "for is missing"),
        ("stall={every='1s', for='1s'}", 5, "shorter than its every"),
        ("error={at='1GB'}", 5, "beyond the disk's capacity"),
        (
            "error={at='1kB', kind='epipe'}",
            5,
            "expected one of eio, enospc",
        ),
        ("read='5MB/s'", 5, "not valid TOML"),
        ("[limit.x]\nshare='max-min'", 5, "either rate"),
        ("[limit.x]\nrate='1MB/s'\nread='1MB/s'", 5, "either rate"),
        ("[limit.x]\nread='1MB/s'", 5, "both read and write"),
        (
            "[limit.x]\nrate='1MB/s'\nshare='fair'",
            7,
            "expected one of max-min, depth, priority",
        ),
        ("[limit]\nx='1MB/s'", 6, "[limit.x] must be a table"),
        (
            "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'",
            6,
            "second disk named",
        ),
        (
            "[[disk]]\nname='b'\nread='5MB/s'",
            5,
            "capacity is missing in [[disk]]",
        ),
        ("[[disk]]\nname='b'\ncapacity='1GB'", 5, "needs a rate"),
        (
            "[[disk]]\nname='b'\ncapacity='0'\nread='5MB/s'",
            7,
            "between 1 B and 8 EiB",
        ),
    ] {
        let message = message(&format!("{disk}{added}\n"));
        assert!(
            message.starts_with(&format!("demo.toml:{line}: ")),
            "{added}: {message}"
        );
        assert!(message.contains(words), "{added}: {message}");
    }
    assert!(message("").contains("add a [[disk]]"));
    assert!(message("[disk]\nname='a'").contains("two brackets"));
}

#[test]
fn a_limit_says_how_it_is_shared() {
    let file = parse(
        "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\nthrough=['x','y','z','w']\n\
         [limit.x]\nrate='1MB/s'\nshare='depth'\n[limit.y]\nrate='1MB/s'\nshare='priority'\n\
         [limit.z]\nrate='1MB/s'\nshare='max-min'\n[limit.w]\nrate='1MB/s'\n",
    )
    .unwrap();
    assert_eq!(file.warnings, Vec::<String>::new());
    let shared = |name| {
        file.limits
            .iter()
            .find(|limit| limit.name == name)
            .unwrap()
            .share
    };
    assert_eq!(shared("x"), SharingRule::Depth);
    assert_eq!(shared("y"), SharingRule::Priority);
    assert_eq!(shared("z"), SharingRule::MaxMin);
    assert_eq!(shared("w"), SharingRule::MaxMin);
}

#[test]
fn a_limit_says_what_a_request_costs_there() {
    let text = |key: &str| {
        format!(
            "[[disk]]\nname = \"a\"\ncapacity = \"1GB\"\nread = \"1MB/s\"\nthrough = [\"p\"]\n\
             [limit.p]\nrate = \"1MB/s\"\n{key}"
        )
    };
    let request_ns = |key: &str| parse(&text(key)).unwrap().limits[0].request_ns;
    assert_eq!(request_ns(""), 0);
    assert_eq!(request_ns("request = \"368us\"\n"), 368_000);
    assert!(message(&text("request = \"fast\"\n")).contains("request"));
}

#[test]
fn a_segment_is_a_part_of_the_cache() {
    let disk = "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\nrpm=7200\ncache='1MB'\n";
    assert_eq!(
        message(&format!("{disk}segment='2MB'\n")),
        "demo.toml:7: a segment of 2 MB is larger than the cache of 1 MB, of which it is a part; \
         make segment smaller or cache larger"
    );
    assert!(parse(&format!("{disk}segment='1MB'\n")).is_ok());
}

#[test]
fn what_is_without_effect_is_said() {
    let file = parse(
        "[[disk]]\nname='a'\ncapacity='1GB'\nread='5MB/s'\nzones=4\ncache_rate='5MB/s'\n\
         segment='1MB'\n[limit.x]\nrate='1MB/s'\n",
    )
    .unwrap();
    let warnings = file.warnings.join("\n");
    for words in [
        "zones has no effect",
        "no effect without cache",
        "segment has no effect without rpm",
        "limit \"x\" is on no disk's way",
    ] {
        assert!(warnings.contains(words), "{words} in {warnings}");
    }
}

#[test]
fn targets() {
    let target = |text| parse_target(text).ok();
    let path = PathBuf::from("m/demo.toml");
    assert_eq!(target("sim:m/demo.toml"), Some((path.clone(), None)));
    assert_eq!(target("sim:m/demo.toml:hda"), Some((path, Some("hda"))));
    assert_eq!(
        target("sim:a:b.toml:c:0"),
        Some((PathBuf::from("a:b.toml"), Some("c:0")))
    );
    for bad in [
        "m/demo.toml",
        "sim:",
        "sim:.toml",
        "sim:demo",
        "sim:demo:hda",
        "sim:d.toml:",
    ] {
        assert!(target(bad).is_none(), "{bad}");
    }
}

#[test]
fn disks_are_selected_by_name() {
    let file = parse(ALL_KEYS).unwrap();
    assert_eq!(file.select(None).unwrap(), [0]);
    assert_eq!(file.select(Some("hda")).unwrap(), [0]);
    let message = file.select(Some("hdb")).unwrap_err().to_string();
    assert_eq!(message, "demo.toml has no disk \"hdb\"; its disks are hda");
}

#[test]
fn a_missing_file_is_named() {
    let error = MachineFile::read(Path::new("/nonexistent/m.toml")).unwrap_err();
    assert!(error.to_string().contains("/nonexistent/m.toml"));
}

#[test]
fn the_machines_of_the_repository_are_accepted() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            MachineFile::read(&path).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

#[test]
fn slow_stretches_lie_within_the_disk_and_beside_each_other() {
    let disk = |slow: &str| {
        let text = "[[disk]]\nname = \"a\"\ncapacity = \"1GB\"\nread = \"9MB/s\"\n";
        message(&format!("{text}slow = [{slow}]\n"))
    };
    let beyond = disk("{ at = \"999MB\", for = \"2MB\", to = \"1MB/s\" }");
    assert!(beyond.contains("end within the capacity"), "{beyond}");
    let over = "{ at = \"1MB\", for = \"2MB\", to = \"1MB/s\" }, \
                { at = \"2MB\", for = \"2MB\", to = \"1MB/s\" }";
    assert!(disk(over).contains("overlaps another"), "{}", disk(over));
    let without = disk("{ at = \"1MB\", for = \"2MB\" }");
    assert!(without.contains("to is missing"), "{without}");
}
