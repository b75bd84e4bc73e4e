//! What fits, in round figures.

use super::*;

const MIB: u64 = 1 << 20;

fn scratch() -> Target {
    Target {
        name: "here".to_owned(),
        kind: TargetKind::ScratchFile,
        file: None,
        capacity_bytes: None,
        alignment_bytes: 1,
        device: None,
        lock: None,
    }
}

fn growing(target: &Target, wanted_bytes: u64, unit_bytes: u64) -> Growing<'_> {
    Growing {
        target,
        path: Path::new("."),
        wanted_bytes,
        unit_bytes,
    }
}

#[test]
fn with_room_enough_a_file_gets_what_it_wants_in_whole_units() {
    let target = scratch();
    let fitted = fit_one(&growing(&target, 10 * MIB + 1, MIB), 100 * MIB, 95 * MIB).unwrap();
    assert_eq!(fitted.size_bytes, 10 * MIB);
    assert!(fitted.note.contains("an unnamed scratch file of") && fitted.note.contains("100 MiB"));
}

#[test]
fn with_less_room_a_file_shrinks_and_says_so() {
    let target = scratch();
    let fitted = fit_one(&growing(&target, 50 * MIB, 4 * MIB), 21 * MIB, 19 * MIB).unwrap();
    assert_eq!(fitted.size_bytes, 16 * MIB);
    assert!(fitted.note.contains("only 21 MiB are free"));
    assert!(
        fitted
            .note
            .contains("of 16 MiB, which disappears at the end, instead of 50 MiB")
    );
}

#[test]
fn the_room_that_a_file_has_already_counts_as_its_own() {
    let target = Target {
        kind: TargetKind::File,
        capacity_bytes: Some(8 * MIB),
        ..scratch()
    };
    let fitted = fit_one(&growing(&target, 12 * MIB, MIB), 3 * MIB, 2 * MIB).unwrap();
    assert_eq!(fitted.size_bytes, 10 * MIB);
}

#[test]
fn holes_of_a_file_take_free_space_as_what_is_behind_its_end() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(2048 * MIB).unwrap();
    let target = Target {
        kind: TargetKind::File,
        file: Some(std::sync::Arc::new(file.into())),
        capacity_bytes: Some(2048 * MIB),
        ..scratch()
    };
    let fitted = fit_one(&growing(&target, 2048 * MIB, MIB), 264 * MIB, 250 * MIB).unwrap();
    assert_eq!(fitted.size_bytes, 250 * MIB);
    assert!(
        fitted.note.contains("only 264 MiB are free"),
        "{}",
        fitted.note
    );
    let fitted = fit_one(&growing(&target, 3000 * MIB, MIB), 2400 * MIB, 2300 * MIB).unwrap();
    assert_eq!(fitted.size_bytes, 2300 * MIB);
}

#[test]
fn without_room_for_one_unit_a_file_is_refused() {
    let target = scratch();
    let error = fit_one(&growing(&target, 50 * MIB, 4 * MIB), 3 * MIB, 2 * MIB).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("here: no space left: 3 MiB free")
    );
}

#[test]
fn files_of_one_file_system_share_it_evenly_and_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let target = scratch();
    let file = |wanted_bytes| Growing {
        path: directory.path(),
        ..growing(&target, wanted_bytes, 1)
    };
    let fitted = fit_free_space(&[file(u64::MAX), file(1), file(u64::MAX)]).unwrap();
    // Where the temporary directory lies, space is counted, and others may use some meanwhile.
    let [Some(first), Some(second), Some(third)] = fitted.as_slice() else {
        panic!("{fitted:?}")
    };
    assert_eq!(first.size_bytes, third.size_bytes);
    assert!(first.size_bytes > 1);
    assert_eq!(second.size_bytes, 1);
    assert_eq!(fit_free_space(&[]).unwrap(), []);
}

#[test]
fn holes_are_seen_and_only_files_have_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(4 * MIB).unwrap();
    let sparse = Target {
        kind: TargetKind::File,
        file: Some(std::sync::Arc::new(file.into())),
        ..scratch()
    };
    assert!(!has_all_blocks(&sparse));
    std::fs::write(&path, vec![1; MIB as usize]).unwrap();
    assert!(has_all_blocks(&sparse));
    assert!(has_all_blocks(&scratch()));
}

/// A machine with so much memory.
fn machine_with_kib(directory: &Path, memory_kib: u64) -> Roots {
    let roots = Roots {
        sys: directory.join("sys"),
        proc: directory.join("proc"),
    };
    std::fs::create_dir_all(roots.proc.join("sys/kernel")).unwrap();
    std::fs::write(roots.proc.join("cpuinfo"), "processor\t: 0\n").unwrap();
    let memory = format!("MemTotal: {memory_kib} kB\n");
    std::fs::write(roots.proc.join("meminfo"), memory).unwrap();
    std::fs::write(roots.proc.join("sys/kernel/osrelease"), "6.12\n").unwrap();
    roots
}

/// A machine that tells nothing of itself.
fn silent_machine(directory: &Path) -> Roots {
    Roots {
        sys: directory.join("none"),
        proc: directory.join("none"),
    }
}

#[test]
fn more_than_half_of_the_memory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let check = |wanted, roots: &Roots| {
        check_memory(wanted, "4 streams need", "use a smaller buffer", roots)
    };
    // A machine that does not say what it has refuses nothing beforehand.
    assert!(check(u64::MAX, &silent_machine(directory.path())).is_ok());
    let roots = machine_with_kib(directory.path(), 8192);
    assert!(check(4 * MIB, &roots).is_ok());
    assert_eq!(
        check(4 * MIB + 1, &roots).unwrap_err().to_string(),
        "4 streams need more than half of this machine's 8 MiB of memory: use a smaller buffer"
    );
}

#[test]
fn the_usual_buffer_fits_into_a_small_memory() {
    let directory = tempfile::tempdir().unwrap();
    let usual = |memory_kib| usual_buffer_bytes(&machine_with_kib(directory.path(), memory_kib));
    assert_eq!(usual(16 << 20), 512 * MIB);
    assert_eq!(usual(2 << 20), 512 * MIB);
    assert_eq!(usual(985_300), 240 * MIB);
    assert_eq!(
        usual_buffer_bytes(&silent_machine(directory.path())),
        512 * MIB
    );
}
