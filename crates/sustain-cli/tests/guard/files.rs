//! Files and what is neither file nor device: nothing of the user's is written or made by mistake.

use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use sustain_testing::{Requirement, skip};

use crate::devices::{Loop, Mount, is_root, make_file_system, make_image, tool};
use crate::support::{Place, json_of, ran};
use crate::{MIB, destroy, measure, path_text};

const NOBODY: &str = "65534";

/// The command, to be run in the place by a user who owns nothing there but may look.
pub fn as_nobody(place: &Place) -> Option<Command> {
    if !is_root() {
        return None;
    }
    let everyone = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path("."), everyone).unwrap();
    let command = || {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
            .arg(env!("CARGO_BIN_EXE_sustain"))
            .current_dir(place.path("."));
        command
    };
    // The build directory may be closed to others.
    let works = command().arg("--version").output();
    works
        .is_ok_and(|output| output.status.success())
        .then(command)
}

fn precious(place: &Place) -> Vec<u8> {
    let image = place.path("precious");
    make_image(&image, MIB);
    std::fs::read(image).unwrap()
}

#[test]
fn a_users_file_is_read_and_never_written_without_its_name() {
    let place = Place::new();
    let before = precious(&place);
    symlink("precious", place.path("link")).unwrap();
    let refusals = place.refusals(
        &["measure"],
        &[
            &["precious", "--write"],
            &["link", "--write"],
            &["link", "--write", "--destroy", "precious"],
            &["precious", "nothing", "--write"],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain measure precious --write
    sustain: refusing to write precious: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy precious; to leave it as it is, use --read

    $ sustain measure link --write
    sustain: refusing to write link: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy link; to leave it as it is, use --read

    $ sustain measure link --write --destroy precious
    sustain: --destroy precious names none of the targets; write it exactly as the target is written

    $ sustain measure precious nothing --write
    sustain: refusing to write precious: it exists (data of a kind not recognised) and would be overwritten.
    To destroy what is on it, add --destroy precious; to leave it as it is, use --read nothing: it does not exist; --new-file creates it
    ");
    for name in ["precious", "link"] {
        measure(&place, &[name, "--dry-run"])
            .expect(0)
            .says(&format!("would read {name}"));
    }
    let ran = measure(&place, &["precious", "--bytes", "1MiB"]).expect(0);
    assert_eq!(json_of(&ran.stdout)["plan"]["direction"], "read");
    assert!(std::fs::read(place.path("precious")).unwrap() == before);
    assert_eq!(place.names(), ["link", "precious"]);
}

#[test]
fn a_file_that_is_named_is_written_through_its_link() {
    let place = Place::new();
    let before = precious(&place);
    symlink("precious", place.path("link")).unwrap();
    let bounds = ["--size", "1MiB", "--bytes", "1MiB", "--no-prewrite"];
    measure(&place, &[&destroy("link")[..], &bounds].concat())
        .expect(0)
        .says("is destroyed");
    let after = std::fs::read(place.path("precious")).unwrap();
    assert_eq!(after.len(), before.len());
    assert!(after != before);
    assert!(place.path("link").is_symlink());
}

#[test]
fn the_same_file_under_two_names_is_refused() {
    let place = Place::new();
    let before = precious(&place);
    symlink("precious", place.path("link")).unwrap();
    std::fs::hard_link(place.path("precious"), place.path("hard")).unwrap();
    let others = ["link", "hard", "./precious"];
    let read = others.map(|other| ["precious", other, "--read"]);
    let read = place.refusals(&["measure"], &read.each_ref().map(|typed| &typed[..]));
    insta::assert_snapshot!(read, @"
    $ sustain measure precious link --read
    sustain: precious and link are the same thing: leave one out

    $ sustain measure precious hard --read
    sustain: precious and hard are the same thing: leave one out

    $ sustain measure precious ./precious --read
    sustain: precious and ./precious are the same thing: leave one out
    ");
    for other in others {
        let typed = ["measure", "precious", other];
        let named = ["--write", "--destroy", "precious", "--destroy", other];
        let refused = place.refusal(&[&typed[..], &named].concat());
        assert_eq!(refused, place.refusal(&[&typed[..], &["--read"]].concat()));
    }
    assert!(std::fs::read(place.path("precious")).unwrap() == before);
}

#[test]
fn a_new_file_under_two_names_is_refused_and_not_left_behind() {
    let place = Place::new();
    let flags = ["new", "./new", "--size", "1MiB", "--bytes", "1MiB"];
    let named = [&flags[..], &["--write", "--destroy", "./new"]].concat();
    insta::assert_snapshot!(place.refusals(&["measure"], &[&flags, &named]), @"
    $ sustain measure new ./new --size 1MiB --bytes 1MiB
    sustain: new and ./new are the same thing: leave one out

    $ sustain measure new ./new --size 1MiB --bytes 1MiB --write --destroy ./new
    sustain: new and ./new are the same thing: leave one out
    ");
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn a_directory_under_two_names_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    symlink("data", place.path("link")).unwrap();
    let flags = ["--size", "1MiB", "--bytes", "1MiB"];
    let twice = [&["data", "./data/"][..], &flags].concat();
    let linked = [&["data", "link"][..], &flags].concat();
    insta::assert_snapshot!(place.refusals(&["measure"], &[&twice, &linked]), @"
    $ sustain measure data ./data/ --size 1MiB --bytes 1MiB
    sustain: data and ./data/ are the same thing: leave one out

    $ sustain measure data link --size 1MiB --bytes 1MiB
    sustain: data and link are the same thing: leave one out
    ");
}

#[test]
fn what_is_no_disk_is_refused_by_its_kind() {
    let place = Place::new();
    tool(&["mkfifo", path_text(&place.path("fifo"))]);
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    let names = ["fifo", "socket", "/dev/zero", "/dev/null"];
    let refusals = place.refusals(&["measure"], &names.each_ref().map(std::slice::from_ref));
    insta::assert_snapshot!(refusals, @"
    $ sustain measure fifo
    sustain: fifo: it is a FIFO (named pipe); name a block device, a file or a directory

    $ sustain measure socket
    sustain: socket: it is a socket; name a block device, a file or a directory

    $ sustain measure /dev/zero
    sustain: /dev/zero: it is a character device; name a block device, a file or a directory

    $ sustain measure /dev/null
    sustain: /dev/null: it is a character device; name a block device, a file or a directory
    ");
    for name in names {
        let refused = place.refusal(&["measure", name]);
        for flags in [&[name, "--read"][..], &destroy(name)] {
            assert_eq!(place.refusal(&[&["measure"], flags].concat()), refused);
        }
    }
}

#[test]
fn what_the_kernel_makes_up_is_no_disk_under_any_name() {
    let place = Place::new();
    symlink("/proc/self/mem", place.path("link")).unwrap();
    let words = "is on a file system of the kernel itself";
    for name in [
        "/proc/self/mem",
        "link",
        "/proc/no-such-file",
        "/sys/no-such",
    ] {
        place.run(&["create", name]).expect(2).says(words);
    }
    for name in ["/proc/self/mem", "link", "/proc/version"] {
        for flags in [&[name, "--path", "buffered"][..], &destroy(name)] {
            measure(&place, flags).expect(2).says(words).says("(proc)");
        }
    }
    // Through such a name an ordinary file is what it is.
    place.write("file", &"x".repeat(1 << 20));
    let file = std::fs::File::open(place.path("file")).unwrap();
    let name = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    place
        .run(&["measure", &name, "--bytes", "1MiB", "--path", "buffered"])
        .expect(0);
}

#[test]
fn a_path_that_leads_nowhere_is_refused_and_nothing_is_made() {
    let place = Place::new();
    symlink("nowhere", place.path("dangling")).unwrap();
    let refusals = place.refusals(
        &["measure"],
        &[
            &["no/such/file", "--new-file"],
            &["no/such/file"],
            &["no-such-file", "--read"],
            &["no-such-file", "--write", "--destroy", "file"],
            &["dangling", "--size", "1MiB"],
            &["dangling", "--new-file", "--size", "1MiB"],
        ],
    );
    insta::assert_snapshot!(refusals, @"
    $ sustain measure no/such/file --new-file
    sustain: no/such/file: the directory no/such does not exist: create it first

    $ sustain measure no/such/file
    sustain: no/such/file: the directory no/such does not exist: create it first

    $ sustain measure no-such-file --read
    sustain: no-such-file: there is nothing of that name; check the path

    $ sustain measure no-such-file --write --destroy file
    sustain: --destroy file names none of the targets; write it exactly as the target is written

    $ sustain measure dangling --size 1MiB
    sustain: dangling: it is a symbolic link to a file that does not exist; use another name

    $ sustain measure dangling --new-file --size 1MiB
    sustain: dangling: it is a symbolic link to a file that does not exist, or was made a moment ago; use another name
    ");
    assert_eq!(place.names(), ["dangling"]);
    assert!(place.path("dangling").is_symlink(), "it is the user's");
}

#[test]
fn every_command_refuses_a_name_that_does_not_exist_unless_a_file_is_wanted() {
    let place = Place::new();
    let commands: [&[&str]; 5] = [
        &["measure", "nonexistent"],
        &["sweep", "nonexistent"],
        &["profile", "nonexistent"],
        &["compare", "nonexistent", "--ab", "--depth 1", "--depth 2"],
        &["diagnose", "nonexistent", "nonexistent-too"],
    ];
    for command in commands {
        let ran = place.run(&[command, &["--write"]].concat()).expect(2);
        ran.says("nonexistent: it does not exist; --new-file creates it");
        let rehearsed = [
            command,
            &["--write", "--size", "256MiB", "--dry-run", "--new-file"],
        ];
        let ran = place.run(&rehearsed.concat()).expect(0);
        ran.says("nonexistent");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
}

#[test]
fn an_existing_file_is_not_made_longer_unless_that_is_asked_for() {
    let place = Place::new();
    precious(&place);
    let length = || std::fs::metadata(place.path("precious")).unwrap().len();
    let bounds = ["--bytes", "2MiB"];
    let within = [&destroy("precious")[..], &bounds].concat();
    let ran = measure(&place, &within).expect(0);
    assert!(!ran.stderr.contains("extended"), "{ran:#?}");
    assert_eq!(length(), MIB);
    measure(&place, &[&within[..], &["--size", "2MiB"]].concat())
        .expect(0)
        .says("precious is extended from 1 MiB to 2 MiB");
    assert_eq!(length(), 2 * MIB);
    place.write("short", "of great value");
    measure(&place, &destroy("short"))
        .expect(2)
        .says("or use --size to make the file longer");
    assert_eq!(place.read("short"), "of great value");
}

#[test]
fn a_rehearsal_makes_nothing() {
    let place = Place::new();
    let before = precious(&place);
    let changed = || {
        std::fs::metadata(place.path("."))
            .unwrap()
            .modified()
            .unwrap()
    };
    let changed_before = changed();
    measure(
        &place,
        &["new", "--new-file", "--size", "1MiB", "--dry-run"],
    )
    .expect(0)
    .says("would write new");
    measure(&place, &[".", "--size", "1MiB", "--dry-run"])
        .expect(0)
        .says("would write a scratch file in .:");
    let flags = [&destroy("precious")[..], &["--size", "1MiB", "--dry-run"]].concat();
    measure(&place, &flags)
        .expect(0)
        .says("what is on it (data of a kind not recognised) is destroyed")
        .says("would write precious");
    assert!(std::fs::read(place.path("precious")).unwrap() == before);
    assert_eq!(place.names(), ["precious"]);
    assert_eq!(changed(), changed_before, "not even for a moment");
}

#[test]
fn where_the_user_may_not_go_nothing_is_made() {
    let place = Place::new();
    for (name, mode) in [("closed", 0o700), ("shown", 0o755)] {
        std::fs::create_dir(place.path(name)).unwrap();
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(name), permissions).unwrap();
    }
    let before = precious(&place);
    for target in ["closed", "closed/new", "shown", "shown/new", "precious"] {
        let Some(mut command) = as_nobody(&place) else {
            skip(Requirement::AnotherUser, "he could not run the command");
            return;
        };
        command.args(["measure", "--new-file"]);
        let output = command.args(destroy(target)).output();
        ran(output.unwrap()).expect(2).says("permission denied");
    }
    assert!(std::fs::read(place.path("precious")).unwrap() == before);
    assert_eq!(place.names(), ["closed", "precious", "shown"]);
    for name in ["closed", "shown"] {
        let mut entries = std::fs::read_dir(place.path(name)).unwrap();
        assert!(entries.next().is_none());
    }
}

#[test]
fn a_read_only_file_system_is_refused_and_may_be_read() {
    let place = Place::new();
    let image = place.path("disk.img");
    make_image(&image, 16 * MIB);
    let Some(device) = Loop::over(&image, &[]) else {
        return;
    };
    make_file_system(&device.name);
    let mount = Mount::new(&place, &[&device.name]);
    std::fs::write(mount.path("precious"), vec![7; 1 << 20]).unwrap();
    drop(mount);
    let mount = Mount::new(&place, &["-o", "ro", &device.name]);
    let before = std::fs::read(&image).unwrap();
    let file = mount.path("precious");
    for target in [path_text(&mount.point), &file, &mount.path("new")] {
        let flags = [target, "--write", "--new-file", "--size", "1MiB"];
        measure(&place, &flags).expect(2).says("read-only");
    }
    measure(&place, &destroy(&file)).expect(2).says("read-only");
    measure(&place, &[&file, "--read", "--bytes", "1MiB"]).expect(0);
    assert!(std::fs::read(&image).unwrap() == before);
}
