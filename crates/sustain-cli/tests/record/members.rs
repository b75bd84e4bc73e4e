//! Stores of files and of loop devices, and the commands on them.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::devices::Loop;
use crate::running::Running;
use crate::support::{Place, Ran, json_of};

/// What members are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Files,
    Loops,
}

/// The members of a store in a place of its own.
pub struct Members {
    /// As typed.
    pub names: Vec<String>,
    /// The files that their bytes lie in.
    pub images: Vec<PathBuf>,
    // Detached before their directory goes.
    loops: Vec<Loop>,
    pub place: Place,
}

impl Members {
    /// Members of these sizes, not yet a store; `None`, with the reason printed, where loop devices
    /// cannot be made.
    pub fn new(made: Made, sizes_bytes: &[u64]) -> Option<Members> {
        let place = Place::new();
        let (mut names, mut images, mut loops) = (Vec::new(), Vec::new(), Vec::new());
        for (index, size_bytes) in sizes_bytes.iter().enumerate() {
            let name = format!("member{index}");
            let image = place.path(&name);
            let file = std::fs::File::create_new(&image).unwrap();
            file.set_len(*size_bytes).unwrap();
            match made {
                Made::Files => names.push(name),
                Made::Loops => {
                    let device = Loop::over(&image, &[])?;
                    names.push(device.name.clone());
                    loops.push(device);
                }
            }
            images.push(image);
        }
        Some(Members {
            names,
            images,
            loops,
            place,
        })
    }

    /// A store with slots of this size.
    pub fn store(made: Made, sizes_bytes: &[u64], slot: &str) -> Option<Members> {
        let members = Members::new(made, sizes_bytes)?;
        members.create(slot);
        Some(members)
    }

    /// A store of files with slots of 256 KiB.
    pub fn files(sizes_bytes: &[u64]) -> Members {
        Members::store(Made::Files, sizes_bytes, "256KiB").unwrap()
    }

    #[track_caller]
    pub fn create(&self, slot: &str) {
        let mut flags = vec!["--slot", slot, "--no-prewrite"];
        for name in &self.names {
            flags.extend(["--destroy", name]);
        }
        self.run("create", &flags).expect(0);
    }

    /// A command on these members.
    pub fn command(&self, command: &str, flags: &[&str]) -> Command {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        self.place
            .command(&[&[command], &names[..], flags].concat())
    }

    pub fn start(&self, command: &str, flags: &[&str]) -> Running {
        Running::start(&mut self.command(command, flags))
    }

    #[track_caller]
    pub fn run(&self, command: &str, flags: &[&str]) -> Ran {
        self.start(command, flags).finish()
    }

    /// Records with a small buffer, and gives the result.
    #[track_caller]
    pub fn record(&self, code: i32, flags: &[&str]) -> Value {
        let ran = self.run("record", &[&["--json", "-"], SMALL, flags].concat());
        json_of(&ran.expect(code).stdout)
    }

    #[track_caller]
    pub fn list(&self) -> Value {
        json_of(&self.run("list", &["--json", "-"]).expect(0).stdout)
    }

    #[track_caller]
    pub fn verify(&self, code: i32) -> Value {
        json_of(&self.run("verify", &["--json", "-"]).expect(code).stdout)
    }

    /// How a member's loop device is called by the kernel.
    pub fn device(&self, member: usize) -> &str {
        &self.loops[member].name
    }
}

/// A buffer that is enough for these tests.
pub const SMALL: &[&str] = &["--buffer", "4MiB"];

/// A stream of a result, a list or a check.
#[track_caller]
pub fn stream<'a>(document: &'a Value, name: &str) -> &'a Value {
    let streams = document["streams"].as_array().unwrap();
    let found = streams.iter().find(|stream| stream["name"] == name);
    found.unwrap_or_else(|| panic!("no stream {name} in {document:#}"))
}

/// A whole number of a document.
#[track_caller]
pub fn whole(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}
