//! Holds the rules of CONTRIBUTING.md that neither the compiler nor its lints can hold.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates each crate may use, as ARCHITECTURE.md draws them.
const ARROWS: [(&str, &[&str]); 11] = [
    ("sustain-document", &[]),
    ("sustain-statistics", &["document"]),
    ("sustain-disk", &["document"]),
    ("sustain-host", &["document"]),
    ("sustain-session", &["document", "disk", "host"]),
    (
        "sustain-bench",
        &["document", "disk", "host", "session", "statistics"],
    ),
    ("sustain-record", &["document", "disk", "host", "session"]),
    (
        "sustain-report",
        &["document", "disk", "host", "session", "bench", "record"],
    ),
    (
        "sustain",
        &[
            "document",
            "statistics",
            "disk",
            "host",
            "bench",
            "record",
            "report",
        ],
    ),
    ("sustain-cli", &[]),
    ("sustain-benchmarks", &[]),
];

/// The only folders, below `crates/sustain-disk/src`, whose code may be unsafe.
const UNSAFE_FOLDERS: [&str; 3] = ["buffer", "engine", "target"];

const COLUMNS_MAX: usize = 100;

/// A source file, with its tests cut off.
struct Source {
    path: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Every Rust file below `folder`, the path relative to the repository.
fn rust_files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

fn all_files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    rust_files(&root().join("crates"), &mut found);
    assert!(found.len() > 500, "only {} files were found", found.len());
    found
}

/// What is compiled into the crates: no tests, no examples, not the benchmarks.
fn sources() -> Vec<Source> {
    let is_source = |path: &str| {
        path.contains("/src/")
            && !path.contains("/tests")
            && !path.ends_with("tests.rs")
            && !path.starts_with("crates/sustain-benchmarks")
    };
    let without_tests = |text: &str| {
        let end = text.find("#[cfg(test)]\nmod tests {");
        text[..end.unwrap_or(text.len())].to_owned()
    };
    all_files()
        .into_iter()
        .filter(|(path, _)| is_source(path))
        .map(|(path, text)| Source {
            text: without_tests(&text),
            path,
        })
        .collect()
}

#[test]
fn crates_use_only_what_lies_below_them() {
    for (name, allowed) in ARROWS {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let dependencies = text.split("[dependencies]").nth(1).unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        let used = dependencies.lines().filter_map(|line| {
            let (used, _) = line.split_once(" = ")?;
            used.strip_prefix("sustain-")
        });
        for used in used {
            assert!(allowed.contains(&used), "{name} may not use sustain-{used}");
        }
    }
}

#[test]
fn unsafe_code_stands_only_where_it_may() {
    for source in sources() {
        let may = UNSAFE_FOLDERS.iter().any(|folder| {
            source
                .path
                .starts_with(&format!("crates/sustain-disk/src/{folder}"))
        });
        let is_unsafe = |line: &&str| {
            let code = line.split("//").next().unwrap_or_default();
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                .iter()
                .any(|form| code.contains(form))
        };
        let first = source.text.lines().find(is_unsafe).filter(|_| !may);
        assert_eq!(first, None, "{}", source.path);
    }
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.path)
        .collect();
    assert!(silent.is_empty(), "no module header: {silent:#?}");
}

#[test]
fn no_line_is_wider_than_a_page() {
    let mut wide = Vec::new();
    for source in sources() {
        for (index, line) in source.text.lines().enumerate() {
            if line.chars().count() > COLUMNS_MAX {
                wide.push(format!("{}:{}", source.path, index + 1));
            }
        }
    }
    assert!(wide.is_empty(), "wider than {COLUMNS_MAX}: {wide:#?}");
}

/// The glossary's third column: names in the code, in backquotes.
fn names_in_glossary() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let cells = text.lines().filter_map(|line| line.split('|').nth(3));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned));
    let names: Vec<String> = names.collect();
    assert!(names.len() > 50, "only {} names were found", names.len());
    names
}

#[test]
fn the_glossary_names_what_the_code_has() {
    let sources = sources();
    let is_there = |name: &str| {
        if name.ends_with(".rs") || name.ends_with('/') {
            return sources.iter().any(|source| source.path.contains(name));
        }
        let word = name.rsplit("::").next().unwrap_or(name);
        let word = word.trim_start_matches("--").trim_matches('"');
        sources.iter().any(|source| source.text.contains(word))
    };
    let missing: Vec<String> = names_in_glossary()
        .into_iter()
        .filter(|name| !is_there(name))
        .collect();
    assert!(missing.is_empty(), "not in the code: {missing:?}");
}

/// The type that a line of source defines, if it defines one.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let name = kinds.iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

#[test]
fn no_type_name_has_two_meanings() {
    let sources = sources();
    let mut defined: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &sources {
        for name in source.text.lines().filter_map(defined_type) {
            defined.entry(name).or_default().push(&source.path);
        }
    }
    assert!(
        defined.len() > 500,
        "only {} types were found",
        defined.len()
    );
    defined.retain(|_, places| places.len() > 1);
    assert!(defined.is_empty(), "defined more than once: {defined:#?}");
}
