//! Arrays of the kernel's in a sweep, with a program in place of mdadm that writes down how it is
//! called and has a loop device in place of the array. Real arrays are built in the disk lab.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use sustain::disk::target::Direction;
use sustain::document::sweep::SweepResult;
use sustain::document::vocabulary::ExperimentEnd;
use sustain::host::Roots;
use sustain::sweep::{LayoutKind, Mdadm, MemberOrders, SweepEvent, SweepPlan, sweep};
use sustain::{MeasureError, Stop};

use sustain_testing::{Requirement, skip};

use crate::devices::{Disk, Loop, is_root};
use crate::support::Place;
use crate::{MIB, assert_valid};

/// What stands in for mdadm. It has FAIL, STUCK and SWAP beside it where it is to fail to build, to
/// fail to stop, and to put another device in a member's place.
const MDADM: &str = r#"#!/bin/sh
cd PLACE || exit 1
echo "$*" >>log
case $1 in
    --create)
        [ ! -e FAIL ] || { echo "mdadm: no luck today" >&2; exit 1; }
        name=${2##*/}
        mkdir -p "sys/class/block/$name/slaves" "sys/class/block/$name/holders"
        echo ARRAY_NUMBER >"sys/class/block/$name/dev"
        echo 1024 >"sys/class/block/$name/size"
        echo 0 >"sys/class/block/$name/ro"
        ln -s ARRAY "$2"
        shift 8
        for member in "$@"; do
            # It says no to a device that someone has claimed.
            mkfs.ext4 -n -q "$member" </dev/null || { echo "mdadm: $member is busy" >&2; exit 1; }
            mkdir "sys/class/block/$name/slaves/$(basename "$(readlink -f "$member")")"
        done
        ;;
    --stop)
        [ ! -e STUCK ] || { echo "mdadm: it is busy" >&2; exit 1; }
        rm -r "$2" "sys/class/block/${2##*/}"
        [ ! -e SWAP ] || ln -sf "$(cat SWAP)" first
        ;;
esac
"#;

/// Two members, a device that is taken for their array, and the roots under which it is seen.
struct Fake {
    members: [Disk; 2],
    array: Disk,
    place: Place,
}

impl Fake {
    fn new() -> Option<Fake> {
        if !is_root() {
            skip(Requirement::LoopDevices, "arrays need root");
            return None;
        }
        if std::process::Command::new("mkfs.ext4")
            .arg("-V")
            .output()
            .is_err()
        {
            skip(Requirement::Program("mkfs.ext4"), "it is not there");
            return None;
        }
        let members = [Disk::new(8 * MIB)?, Disk::new(8 * MIB)?];
        let fake = Fake {
            members,
            array: Disk::new(16 * MIB)?,
            place: Place::new(),
        };
        fake.make_roots();
        fake.make_program();
        symlink(fake.members[0].name(), fake.place.path("first")).unwrap();
        Some(fake)
    }

    /// The machine's own, but with a driver for arrays and with room for their devices.
    fn make_roots(&self) {
        let real = Roots::default();
        let link_all = |from: &Path, to: &Path, but: &str| {
            std::fs::create_dir_all(to).unwrap();
            for entry in std::fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                if entry.file_name() != but {
                    symlink(entry.path(), to.join(entry.file_name())).unwrap();
                }
            }
        };
        let path = |name: &str| self.place.path(name);
        std::fs::create_dir(path("dev")).unwrap();
        std::fs::create_dir(path("proc")).unwrap();
        for name in [
            "self", "swaps", "cpuinfo", "meminfo", "stat", "loadavg", "version",
        ] {
            symlink(real.proc.join(name), path("proc").join(name)).unwrap();
        }
        self.place.write("proc/mdstat", "Personalities : [raid0]\n");
        link_all(&real.sys, &path("sys"), "class");
        link_all(&real.sys.join("class"), &path("sys/class"), "block");
        link_all(&real.sys.join("class/block"), &path("sys/class/block"), "");
    }

    fn make_program(&self) {
        let number = format!("/sys/block/{}/dev", self.array.device.kernel_name());
        let script = MDADM
            .replace("PLACE", self.place.path("").to_str().unwrap())
            .replace(
                "ARRAY_NUMBER",
                std::fs::read_to_string(number).unwrap().trim(),
            )
            .replace("ARRAY", self.array.name());
        self.place.write("mdadm", &script);
        let may_run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.place.path("mdadm"), may_run).unwrap();
    }

    fn roots(&self) -> Roots {
        Roots {
            sys: self.place.path("sys"),
            proc: self.place.path("proc"),
        }
    }

    fn text(&self, name: &str) -> String {
        self.place.path(name).to_str().unwrap().to_owned()
    }

    /// Both members read by themselves and as an array, a tenth of a second at a time.
    fn plan(&self) -> SweepPlan {
        let targets = vec![self.text("first"), self.members[1].name().to_owned()];
        let mut plan = SweepPlan {
            directions: vec![Direction::Read],
            layouts: vec![LayoutKind::Independent, LayoutKind::MdRaid0],
            chunks_bytes: vec![64 << 10],
            record_sizes_bytes: vec![64 << 10],
            depths: vec![2],
            time_per_point_ns: 100_000_000,
            rounds: 2,
            mdadm: Mdadm {
                program: self.place.path("mdadm"),
                devices: self.place.path("dev"),
            },
            ..SweepPlan::new(&targets)
        };
        plan.load.destroy = targets;
        plan
    }

    fn sweep(&self, plan: &SweepPlan) -> Result<SweepResult, MeasureError> {
        let stop = Stop::default();
        sweep(plan, &self.roots(), &stop, &mut |_| {}, &mut |_| {})
    }

    /// How the program was called, its own directory left out.
    fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.place.path("log")).unwrap_or_default();
        let log = log.replace(&self.text(""), "");
        log.lines().map(str::to_owned).collect()
    }

    /// What the program was called for, in the order of time.
    fn calls(&self) -> Vec<String> {
        let first = |line: &String| line.split(' ').next().unwrap().to_owned();
        self.log().iter().map(first).collect()
    }

    /// Nobody holds a member any more, and no array is there.
    fn assert_free(&self) {
        for member in &self.members {
            let path = Path::new(member.name());
            assert!(Loop::over(path, &[]).is_some());
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
            assert!(crate::devices::becomes(|| {
                rustix::fs::open(path, flags, rustix::fs::Mode::empty()).is_ok()
            }));
        }
        assert_eq!(
            std::fs::read_dir(self.place.path("dev")).unwrap().count(),
            0
        );
    }
}

fn is_array(point: &sustain::document::sweep::SweepPoint) -> bool {
    point.setting.layout == LayoutKind::MdRaid0
}

#[test]
fn an_array_is_built_once_a_round_for_all_its_points_then_stopped_and_wiped() {
    let Some(fake) = Fake::new() else { return };
    let orders = MemberOrders::Listed(vec![
        format!("{},{}", fake.text("first"), fake.members[1].name()),
        format!("{},{}", fake.members[1].name(), fake.text("first")),
    ]);
    let plan = SweepPlan {
        layouts: vec![
            LayoutKind::Independent,
            LayoutKind::Stripe,
            LayoutKind::MdRaid0,
        ],
        chunks_bytes: vec![64 << 10, 128 << 10],
        orders,
        depths: vec![1, 2, 4],
        ..fake.plan()
    };
    let result = fake.sweep(&plan).unwrap();
    assert_valid(&serde_json::to_value(&result).unwrap());
    assert_eq!(
        result.points.iter().filter(|point| is_array(point)).count(),
        12
    );
    for point in &result.points {
        // On a busy machine no request may complete in the short time of a point.
        let why = point.failed.as_deref();
        if why != Some("no request completed in its time") {
            assert_eq!((point.repeats, why), (2, None), "{point:#?}");
        }
    }
    let one = ["--create", "--stop", "--zero-superblock"];
    // The way back may begin on the array with which the way there has ended.
    let built = fake.calls().len() / one.len();
    assert!((7..=8).contains(&built), "{:#?}", fake.log());
    assert_eq!(fake.calls(), one.repeat(built));
    let second = fake.members[1].name();
    for (chunk, order) in [
        ("64K", format!("first {second}")),
        ("64K", format!("{second} first")),
        ("128K", format!("first {second}")),
        ("128K", format!("{second} first")),
    ] {
        let create = format!(
            "--create dev/md80 --run --level=0 --metadata=1.0 --name=sustain --chunk={chunk} \
             --raid-devices=2 {order}"
        );
        let calls = fake.log().into_iter().filter(|line| *line == create);
        assert!(
            (1..=2).contains(&calls.count()),
            "{create} in {:#?}",
            fake.log()
        );
    }
    let notes = result.notes.join("\n");
    let words = format!("were built {built} times");
    assert!(notes.contains(&words), "{notes}");
    fake.assert_free();
}

#[test]
fn an_array_is_written_and_its_members_by_themselves_too() {
    let Some(fake) = Fake::new() else { return };
    let before = [fake.members[0].bytes(), fake.array.bytes()];
    let plan = SweepPlan {
        directions: vec![Direction::Write],
        ..fake.plan()
    };
    let result = fake.sweep(&plan).unwrap();
    assert_eq!(result.measurements.len(), 4);
    assert!(fake.members[0].bytes() != before[0]);
    assert!(fake.array.bytes() != before[1]);
    fake.assert_free();
}

#[test]
fn an_array_that_cannot_be_built_costs_its_points_alone() {
    let Some(fake) = Fake::new() else { return };
    fake.place.write("FAIL", "");
    let result = fake.sweep(&fake.plan()).unwrap();
    for point in &result.points {
        if is_array(point) {
            let why = point.failed.as_deref().unwrap();
            assert_eq!(why, "mdadm --create: no luck today");
        } else {
            assert_eq!(point.repeats, 2, "{point:#?}");
        }
    }
    // Nothing stands, but something may have been written.
    assert_eq!(fake.calls(), ["--create", "--zero-superblock"]);
    fake.assert_free();
}

#[test]
fn an_array_goes_with_a_sweep_that_is_interrupted() {
    let Some(fake) = Fake::new() else { return };
    let plan = SweepPlan {
        layouts: vec![LayoutKind::MdRaid0],
        chunks_bytes: vec![64 << 10, 128 << 10],
        time_per_point_ns: 2_000_000_000,
        ..fake.plan()
    };
    let stop = Stop::default();
    let mut was_held = false;
    let mut observer = |event| {
        if let SweepEvent::Live(..) = event {
            was_held |= stop.is_held();
            stop.interrupt();
        }
    };
    let result = sweep(&plan, &fake.roots(), &stop, &mut observer, &mut |_| {}).unwrap();
    assert_eq!(result.ended, ExperimentEnd::Interrupted);
    assert!(was_held && !stop.is_held());
    assert_eq!(fake.calls(), ["--create", "--stop", "--zero-superblock"]);
    fake.assert_free();
}

#[test]
fn an_array_that_cannot_be_stopped_ends_the_sweep_with_the_way_on() {
    let Some(fake) = Fake::new() else { return };
    fake.place.write("STUCK", "");
    let error = fake.sweep(&fake.plan()).unwrap_err();
    assert!(matches!(error, MeasureError::Array(_)) && !error.is_usage());
    let text = error.to_string();
    for words in ["it is busy", "mdadm --stop ", "--zero-superblock "] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let calls = fake.calls();
    assert!(calls[1..].iter().all(|call| call == "--stop"), "{calls:?}");
}

#[test]
fn a_member_that_has_become_another_device_is_not_touched() {
    let Some(fake) = Fake::new() else { return };
    let Some(other) = Disk::new(8 * MIB) else {
        return;
    };
    let before = other.bytes();
    fake.place.write("SWAP", other.name());
    let plan = SweepPlan {
        directions: vec![Direction::Write],
        ..fake.plan()
    };
    let error = fake.sweep(&plan).unwrap_err().to_string();
    assert!(
        error.contains("another device than when the sweep began"),
        "{error}"
    );
    assert!(other.bytes() == before);
}

#[test]
fn what_arrays_need_is_asked_for_before_anything_is_opened() {
    let Some(fake) = Fake::new() else { return };
    let why = |plan: SweepPlan| {
        let error = fake.sweep(&plan).unwrap_err();
        assert!(error.is_usage(), "{error}");
        error.to_string()
    };
    let program = PathBuf::from("/nowhere/mdadm");
    let missing = SweepPlan {
        mdadm: Mdadm {
            program,
            ..Mdadm::default()
        },
        ..fake.plan()
    };
    assert!(why(missing).contains("install mdadm"));
    let mut kept = fake.plan();
    kept.load.destroy.truncate(1);
    let way_on = format!("add the permission to destroy {}", fake.members[1].name());
    assert!(why(kept).contains(&way_on));
    let mut directory = fake.plan();
    directory.load.targets[1] = fake.text("dev");
    assert!(why(directory).contains("is not one: name disks"));
    let odd = SweepPlan {
        chunks_bytes: vec![96 << 10],
        ..fake.plan()
    };
    assert!(why(odd).contains("power of two"));
    std::fs::remove_file(fake.place.path("proc/mdstat")).unwrap();
    assert!(why(fake.plan()).contains("modprobe raid0"));
    assert_eq!(fake.log(), [""; 0]);
    fake.assert_free();
}
