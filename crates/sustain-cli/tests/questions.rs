//! Runs the commands of docs/questions.md, and holds the page to what they print.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod support;

use std::fs;
use std::path::Path;

use crate::support::{Place, unwrapped};

/// A command of the page, with the lines that it says are printed.
struct Example<'a> {
    command: &'a str,
    lines: Vec<&'a str>,
}

fn examples(page: &str) -> Vec<Example<'_>> {
    let mut examples = Vec::new();
    for block in page.split("```console\n").skip(1) {
        let (block, _) = block.split_once("```").expect("the block ends");
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => examples.push(Example {
                    command,
                    lines: Vec::new(),
                }),
                None => examples.last_mut().expect("a command").lines.push(line),
            }
        }
    }
    examples
}

#[test]
fn each_command_of_the_page_of_questions_prints_what_the_page_says() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(repository.join("docs/questions.md")).unwrap();
    let place = Place::new();
    std::os::unix::fs::symlink(repository.join("machines"), place.path("machines")).unwrap();
    let examples = examples(&page);
    assert!(examples.len() > 10, "the page has its blocks");
    for Example { command, lines } in examples {
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["mkdir", directory] => fs::create_dir(place.path(directory)).unwrap(),
            ["sustain", arguments @ ..] => {
                let ran = place.run(arguments).expect(0);
                let printed = unwrapped(&format!("{}\n{}", ran.stdout, ran.stderr));
                for line in lines {
                    assert!(
                        printed.contains(&unwrapped(line)),
                        "{command}: {line}: {printed}"
                    );
                }
            }
            _ => panic!("{command} is neither sustain nor mkdir"),
        }
    }
}
