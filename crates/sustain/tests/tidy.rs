//! Holds the rules of CONTRIBUTING.md that neither the compiler nor its lints can hold.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates each crate may use, as ARCHITECTURE.md draws them.
const ARROWS: [(&str, &[&str]); 16] = [
    ("sustain-document", &[]),
    ("sustain-parity", &[]),
    ("sustain-statistics", &["document"]),
    ("sustain-disk", &["document"]),
    ("sustain-host", &["document"]),
    ("sustain-targets", &["document", "disk", "host"]),
    (
        "sustain-load",
        &["document", "disk", "host", "targets", "statistics"],
    ),
    (
        "sustain-experiments",
        &["document", "disk", "host", "load", "targets", "statistics"],
    ),
    ("sustain-hold-back", &["document", "host"]),
    (
        "sustain-record",
        &["document", "disk", "host", "hold-back", "parity", "targets"],
    ),
    ("sustain-mount", &["document", "disk", "targets", "record"]),
    (
        "sustain-report",
        &[
            "document",
            "disk",
            "host",
            "targets",
            "load",
            "experiments",
            "record",
        ],
    ),
    (
        "sustain",
        &[
            "document",
            "statistics",
            "disk",
            "host",
            "load",
            "experiments",
            "record",
            "mount",
            "report",
        ],
    ),
    ("sustain-cli", &[]),
    ("sustain-benchmarks", &["parity"]),
    ("sustain-testing", &[]),
];

/// Licences that ask for a notice and put no condition on the program that uses a package.
const PERMISSIVE: [&str; 7] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Unicode-3.0",
    "Zlib",
];

/// The only folders, below `crates`, whose code may be unsafe.
const UNSAFE_FOLDERS: [&str; 4] = [
    "sustain-disk/src/buffer",
    "sustain-disk/src/engine",
    "sustain-disk/src/target",
    "sustain-parity/src/kernel",
];

const COLUMNS_MAX: usize = 100;

/// Lines of a file, without its tests.
const FILE_LINES_MAX: usize = 500;

/// Folders whose own file calls a file in them that uses what the folder's file defines: the parts of
/// one type, or the steps of one job. The list may only become shorter.
const ONE_WITH_THEIR_PARTS: [&str; 17] = [
    "sustain-disk: simulated::machine_file",
    "sustain-hold-back: hold_back",
    "sustain-host: control_groups",
    "sustain-host: signature",
    "sustain-load: collect",
    "sustain-record: format::descriptor",
    "sustain-record: opening",
    "sustain-record: reading::merge",
    "sustain-record: reading::pump",
    "sustain-record: reading::verify",
    "sustain-record: recorder::feed",
    "sustain-record: recorder::intake",
    "sustain-record: run",
    "sustain-record: source::framing",
    "sustain-record: store",
    "sustain-record: store::create",
    "sustain-report: terminal::diagnosis",
];

/// Packages that others have in two versions at once. The list may only become shorter.
const TWICE: [&str; 5] = ["bit-set", "bit-vec", "getrandom", "r-efi", "syn"];

/// Libraries that name what a user sets as `sustain_document::setting` does: their callers type no
/// flags.
const WITHOUT_FLAGS: [&str; 10] = [
    "document",
    "statistics",
    "disk",
    "host",
    "targets",
    "load",
    "hold-back",
    "record",
    "mount",
    "experiments",
];
/// Where the settings have the names by which they are called.
const SETTING_NAMES: &str = "crates/sustain-document/src/setting.rs";
/// The programs in whose messages and calls other flags are their own.
const OTHER_PROGRAMS: [&str; 2] = ["mdadm", "blockdev"];

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
    let mut sources = sources_and_benchmarks();
    sources.retain(|source| !source.path.starts_with("crates/sustain-benchmarks"));
    sources
}

fn sources_and_benchmarks() -> Vec<Source> {
    let is_source = |path: &str| {
        path.contains("/src/") && !path.contains("/tests") && !path.ends_with("tests.rs")
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
        let may = UNSAFE_FOLDERS
            .iter()
            .any(|folder| source.path.starts_with(&format!("crates/{folder}")));
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
fn a_folder_has_its_own_file_within() {
    let beside: Vec<String> = sources()
        .into_iter()
        .map(|source| source.path)
        .filter(|path| root().join(path.trim_end_matches(".rs")).is_dir())
        .collect();
    assert!(
        beside.is_empty(),
        "x.rs beside x/, not x/mod.rs: {beside:#?}"
    );
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

#[test]
fn libraries_speak_of_settings_and_not_of_flags() {
    let is_library = |path: &str| {
        let of = |name: &&str| path.starts_with(&format!("crates/sustain-{name}/"));
        let is_other_s = OTHER_PROGRAMS.iter().any(|program| path.contains(program));
        WITHOUT_FLAGS.iter().any(of) && !is_other_s && path != SETTING_NAMES
    };
    let has_flag = |line: &str| {
        let is_comment = line.trim_start().starts_with("//");
        let mut after_dashes = line.split("--").skip(1);
        let is_flag = after_dashes.any(|after| after.starts_with(|one: char| one.is_alphabetic()));
        let is_other_s = OTHER_PROGRAMS.iter().any(|program| line.contains(program));
        is_flag && !is_comment && !is_other_s
    };
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| is_library(&source.path)) {
        for (index, line) in source
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| has_flag(line))
        {
            found.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
        }
    }
    assert!(found.is_empty(), "flags in a library: {found:#?}");
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

#[test]
fn files_are_about_one_thing_and_no_longer_than_that() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            wrong.push(format!("{} has {lines} lines: cut it up", source.path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The modules from a crate's root down to one of its own.
type ModulePath = Vec<String>;

/// The module that a file is, below its crate's root.
fn module_of(path: &str) -> (String, ModulePath) {
    let (name, file) = path["crates/".len()..].split_once("/src/").unwrap();
    let parts = file.strip_suffix(".rs").unwrap().split('/');
    let mut parts: ModulePath = parts.map(str::to_owned).collect();
    if matches!(parts.last().unwrap().as_str(), "mod" | "lib" | "main") {
        parts.pop();
    }
    (name.to_owned(), parts)
}

/// What stands in braces, cut at its outermost commas.
fn items(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&group[start..]);
    items
}

/// Adds the paths that a text beginning with a path names, `b::{c, d::e}` as two.
fn add_paths(text: &str, before: &[&str], found: &mut Vec<ModulePath>) {
    let text = text.trim_start();
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    let path = [before, &[name]].concat();
    match rest.strip_prefix("::") {
        Some(rest) if rest.starts_with('{') => {
            for item in items(&rest[1..]) {
                add_paths(item, &path, found);
            }
        }
        Some(rest) => add_paths(rest, &path, found),
        None => found.push(path.into_iter().map(str::to_owned).collect()),
    }
}

/// The paths of its own crate that a module names, from the root on.
fn paths_named(text: &str, module: &[String]) -> Vec<ModulePath> {
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for head in ["crate", "super", "self"] {
        for (at, _) in code.match_indices(&format!("{head}::")) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|last| last.is_alphanumeric() || "_:".contains(last)) {
                continue;
            }
            add_paths(&code[at..], &[], &mut found);
        }
    }
    let from_root = |path: ModulePath| {
        let mut base = match path[0].as_str() {
            "crate" => Vec::new(),
            _ => module.to_vec(),
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => drop(base.pop()),
                _ => base.push(part),
            }
        }
        base
    };
    found.into_iter().map(from_root).collect()
}

/// Who uses whom among siblings: a module and, at the level where the two part, the other.
fn uses_of_siblings(sources: &[Source]) -> BTreeSet<(String, ModulePath, ModulePath)> {
    let modules: BTreeSet<_> = sources.iter().map(|one| module_of(&one.path)).collect();
    let mut uses = BTreeSet::new();
    for source in sources {
        let (name, module) = module_of(&source.path);
        for path in paths_named(&source.text, &module) {
            let is_module =
                |length: &usize| modules.contains(&(name.clone(), path[..*length].to_vec()));
            let Some(length) = (1..=path.len()).rev().find(is_module) else {
                continue;
            };
            let used = &path[..length];
            let same = module
                .iter()
                .zip(used)
                .take_while(|(one, other)| one == other);
            let level = same.count() + 1;
            if level <= module.len() && level <= used.len() {
                uses.insert((
                    name.clone(),
                    module[..level].to_vec(),
                    used[..level].to_vec(),
                ));
            }
        }
    }
    uses
}

/// What a module reaches over those that it uses, by the module before it on the way.
fn reached(
    from: &ModulePath,
    uses: &BTreeMap<&ModulePath, Vec<&ModulePath>>,
) -> BTreeMap<ModulePath, ModulePath> {
    let mut before = BTreeMap::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if !before.contains_key(*used) {
                before.insert((*used).clone(), module.clone());
                next.push(used);
            }
        }
    }
    before
}

/// A circle from a module back to itself, if there is one: each uses the next.
fn circle_of(
    module: &ModulePath,
    uses: &BTreeMap<&ModulePath, Vec<&ModulePath>>,
) -> Option<Vec<ModulePath>> {
    let before = reached(module, uses);
    let mut circle = vec![before.get(module)?.clone()];
    while let Some(last) = circle.last().filter(|last| *last != module) {
        circle.push(before[last].clone());
    }
    circle.reverse();
    Some(circle)
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let all = uses_of_siblings(&sources_and_benchmarks());
    assert!(all.len() > 500, "only {} uses were found", all.len());
    let names: BTreeSet<&String> = all.iter().map(|(name, ..)| name).collect();
    let mut circles = Vec::new();
    for name in names {
        let mut uses: BTreeMap<&ModulePath, Vec<&ModulePath>> = BTreeMap::new();
        for (_, one, other) in all.iter().filter(|(of, ..)| of == name) {
            uses.entry(one).or_default().push(other);
        }
        let mut known = BTreeSet::new();
        for module in uses.keys() {
            let Some(circle) = circle_of(module, &uses).filter(|_| !known.contains(*module)) else {
                continue;
            };
            let words: Vec<String> = circle.iter().map(|one| one.join("::")).collect();
            circles.push(format!("{name}: {}", words.join(" -> ")));
            known.extend(circle);
        }
    }
    assert!(
        circles.is_empty(),
        "{} circles, and none may be\n{}",
        circles.len(),
        circles.join("\n")
    );
}

/// What a line at the outermost level defines.
fn defined_item(line: &str) -> Option<&str> {
    const KINDS: [&str; 8] = [
        "struct", "enum", "trait", "union", "fn", "type", "static", "const",
    ];
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_of_function = word == "const" && words.peek() == Some(&"fn");
        if KINDS.contains(&word) && !is_of_function {
            let name = words.next()?;
            let end = name.find(|one: char| !one.is_alphanumeric() && one != '_');
            return Some(&name[..end.unwrap_or(name.len())]);
        }
    }
    None
}

/// Whether a folder's own file calls this file below it, and does not just pass on what that has.
fn calls(text: &str, child: &str) -> bool {
    let lines = text.lines().filter(|line| {
        let is_passed_on = line.starts_with("pub") && line.contains(" use ");
        !is_passed_on && !line.trim_start().starts_with("//")
    });
    lines.into_iter().any(|line| {
        line.match_indices(&format!("{child}::")).any(|(at, _)| {
            let before = &line[..at];
            before.ends_with("self::")
                || !before.ends_with(|one: char| one.is_alphanumeric() || "_:".contains(one))
        })
    })
}

/// The folders whose own file calls a file below it that uses what the folder's file defines.
fn folders_one_with_their_parts(sources: &[Source]) -> BTreeSet<String> {
    let modules = sources.iter().map(|one| (module_of(&one.path), &one.text));
    let modules: BTreeMap<(String, ModulePath), &String> = modules.collect();
    let mut found = BTreeSet::new();
    for source in sources {
        let (name, module) = module_of(&source.path);
        for path in paths_named(&source.text, &module) {
            let folder = (0..=path.len()).rev().find_map(|length| {
                let key = (name.clone(), path[..length].to_vec());
                modules.get(&key).map(|text| (key.1, *text))
            });
            let Some((folder, text)) = folder else {
                continue;
            };
            let is_above = folder.len() < module.len() && module.starts_with(&folder);
            let Some(item) = path.get(folder.len()).filter(|_| is_above) else {
                continue;
            };
            let is_defined = text.lines().any(|line| defined_item(line) == Some(item));
            if is_defined && calls(text, &module[folder.len()]) {
                found.insert(format!("{name}: {}", folder.join("::")));
            }
        }
    }
    found
}

#[test]
fn no_folder_s_own_file_and_what_lies_in_it_use_each_other() {
    let found = folders_one_with_their_parts(&sources_and_benchmarks());
    let listed: BTreeSet<String> = ONE_WITH_THEIR_PARTS.map(str::to_owned).into();
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        new.is_empty(),
        "use each other: give what both use a file of its own\n{new:#?}"
    );
    assert!(gone.is_empty(), "take off ONE_WITH_THEIR_PARTS:\n{gone:#?}");
}

#[test]
fn every_crate_has_its_place_in_the_drawing() {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let missing: Vec<String> = folders
        .filter(|folder| !ARROWS.iter().any(|(name, _)| name == folder))
        .collect();
    assert!(missing.is_empty(), "not among ARROWS: {missing:?}");
}

#[test]
fn no_package_is_there_in_two_versions() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in lock.lines().filter_map(|line| line.strip_prefix("name = ")) {
        *versions.entry(name.trim_matches('"')).or_default() += 1;
    }
    assert!(versions.len() > 100, "only {} packages", versions.len());
    versions.retain(|_, count| *count > 1);
    let twice: Vec<&str> = versions.into_keys().collect();
    assert_eq!(twice, TWICE, "see cargo tree --duplicates");
}

/// Whether one of the licences from which a package lets its users choose asks for no more than a
/// notice.
fn is_permissive(licence: &str) -> bool {
    licence.replace('/', " OR ").split(" OR ").any(|choice| {
        let choice = choice.trim().trim_start_matches('(');
        let mut parts = choice.split(" AND ");
        parts.all(|part| PERMISSIVE.contains(&part.trim().trim_end_matches(')')))
    })
}

#[test]
fn every_package_may_be_passed_on_under_the_project_s_licences() {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_permissive(package["license"].as_str().unwrap_or_default()))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(!is_permissive("GPL-3.0") && !is_permissive("MIT AND GPL-3.0"));
    assert!(is_permissive("(MIT OR Apache-2.0) AND Unicode-3.0"));
}
