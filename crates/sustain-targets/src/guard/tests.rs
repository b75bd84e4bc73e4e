//! The guard over ordinary files; what the host refuses is tried where its facts are made.

use std::os::fd::AsFd;

use super::*;

const READ_INSTEAD: &str = "leave it alone";

/// What the guard says of a new file with these bytes, typed as `file`.
fn word_on(
    bytes: &[u8],
    permission: Permission<'_>,
    claimed_by_other: bool,
) -> (Result<(), String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let candidate = WriteCandidate {
        name: "file",
        path: &path,
        descriptor: file.as_fd(),
        stat: &rustix::fs::fstat(&file).unwrap(),
        claimed_by_other,
    };
    let mut notes = Vec::new();
    let word = inspect(&candidate, permission, &Roots::default(), &mut notes);
    (word, notes)
}

fn destroy(names: &[String]) -> Permission<'_> {
    Permission::Destroy {
        names,
        instead: READ_INSTEAD,
    }
}

#[test]
fn what_exists_is_destroyed_only_under_its_own_name() {
    let (word, notes) = word_on(b"XFSB", destroy(&["other".to_owned()]), false);
    assert_eq!(
        word.unwrap_err(),
        "it exists (XFS file system) and would be overwritten. To destroy what is on it, add \
         the permission to destroy file; to leave it as it is, leave it alone"
    );
    assert!(notes.is_empty());
    let (word, notes) = word_on(b"XFSB", destroy(&["file".to_owned()]), false);
    assert_eq!(word, Ok(()));
    assert_eq!(
        notes,
        ["file: what is on it (XFS file system) is destroyed"]
    );
}

#[test]
fn a_store_of_ones_own_needs_no_name_and_loses_nothing() {
    let (word, notes) = word_on(b"sustain-store\r\n\x1a", Permission::OwnStore, false);
    assert_eq!(word, Ok(()));
    assert!(notes.is_empty());
}

#[test]
fn what_is_claimed_is_refused_whatever_is_allowed() {
    let names = ["file".to_owned()];
    for permission in [destroy(&names), Permission::OwnStore] {
        let (word, notes) = word_on(b"", permission, true);
        assert_eq!(word, Err(Refusal::Claimed.to_string()));
        assert!(notes.is_empty());
    }
}

#[test]
fn where_nothing_can_be_known_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile().unwrap();
    let candidate = WriteCandidate {
        name: "file",
        path: Path::new("file"),
        descriptor: file.as_fd(),
        stat: &rustix::fs::fstat(&file).unwrap(),
        claimed_by_other: false,
    };
    let nowhere = Roots {
        sys: directory.path().to_owned(),
        proc: directory.path().to_owned(),
    };
    let word = inspect(&candidate, Permission::OwnStore, &nowhere, &mut Vec::new());
    assert!(word.unwrap_err().starts_with("it cannot be told"));
}

#[test]
fn a_name_to_destroy_must_be_that_of_a_target() {
    let targets = ["a".to_owned(), "b".to_owned()];
    assert!(check_destroy(&[], &targets).is_ok());
    assert!(check_destroy(&targets[1..], &targets).is_ok());
    let slip = check_destroy(&["./a".to_owned()], &targets).unwrap_err();
    assert!(matches!(slip, OpenError::Usage(_)));
    assert!(
        slip.to_string()
            .starts_with("the permission to destroy ./a names none of the targets")
    );
}

fn distinct(typed: &[&Path]) -> Result<(), OpenError> {
    let typed: Vec<String> = typed
        .iter()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    let names: Vec<TargetName> = typed
        .iter()
        .map(|name| TargetName::parse(name).unwrap())
        .collect();
    check_distinct(&typed, &names, Direction::Write, &Roots::default())
}

#[test]
fn one_thing_under_two_names_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let [file, hard, soft, other] =
        ["file", "hard", "soft", "other"].map(|name| directory.path().join(name));
    std::fs::write(&file, "x").unwrap();
    std::fs::write(&other, "x").unwrap();
    std::fs::hard_link(&file, &hard).unwrap();
    std::os::unix::fs::symlink(&file, &soft).unwrap();
    assert!(distinct(&[&file, &other]).is_ok());
    for second in [&file, &hard, &soft] {
        let error = distinct(&[&file, &other, second]).unwrap_err().to_string();
        assert!(error.ends_with("are the same thing: leave one out"));
    }
}

#[test]
fn one_new_file_or_directory_under_two_names_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let new = directory.path().join("new");
    let around = directory.path().join(".").join("new");
    assert!(distinct(&[&new, &around]).is_err());
    assert!(distinct(&[&new, &directory.path().join("newer")]).is_ok());
    let within = directory.path().join("within");
    std::fs::create_dir(&within).unwrap();
    assert!(distinct(&[directory.path(), &within]).is_ok());
    assert!(distinct(&[&within, &within.join("..").join("within")]).is_err());
}

#[test]
fn a_bare_name_lies_in_the_directory_one_is_in() {
    assert_eq!(folder_of(Path::new("file")), Path::new("."));
    assert_eq!(folder_of(Path::new("a/file")), Path::new("a"));
    assert_eq!(folder_of(Path::new("/file")), Path::new("/"));
}
