//! Parses the name of a target, as typed; nothing here touches a disk.

use std::path::PathBuf;

use sustain_disk::clock::Clock;
use sustain_disk::simulated;

use crate::error::OpenError;

/// The meaning of a target's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetName {
    /// Something in the file system.
    Path(PathBuf),
    /// /dev/null.
    Null,
    /// A simulated machine, or one disk of it.
    Simulated {
        /// Its file.
        machine: PathBuf,
        /// The disk's name; `None` means all disks.
        disk: Option<String>,
    },
}

impl TargetName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`OpenError::Usage`] for a malformed `sim:` name, and for an empty name.
    pub fn parse(name: &str) -> Result<TargetName, OpenError> {
        if name == "null:" {
            return Ok(TargetName::Null);
        }
        if name.starts_with("sim:") {
            let (machine, disk) = simulated::parse_target(name)
                .map_err(|error| OpenError::Usage(error.to_string()))?;
            return Ok(TargetName::Simulated {
                machine,
                disk: disk.map(str::to_owned),
            });
        }
        if name.is_empty() {
            return Err(OpenError::Usage(
                "a target has no name: leave it out, or give its name".to_owned(),
            ));
        }
        Ok(TargetName::Path(PathBuf::from(name)))
    }

    /// The clock for work on all of these: real, unless all are simulated.
    pub fn clock_for(names: &[TargetName]) -> Clock {
        let all_simulated = names
            .iter()
            .all(|name| matches!(name, TargetName::Simulated { .. }));
        if all_simulated {
            Clock::simulated()
        } else {
            Clock::Real
        }
    }
}

/// Quotes an argument for a shell, so that printed commands can be pasted.
pub fn shell_argument(argument: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(harmless) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert_eq!(TargetName::parse("null:").unwrap(), TargetName::Null);
        let simulated = TargetName::parse("sim:a/b.toml:hda").unwrap();
        let expected = TargetName::Simulated {
            machine: "a/b.toml".into(),
            disk: Some("hda".to_owned()),
        };
        assert_eq!(simulated, expected);
        assert_eq!(
            TargetName::parse("sim.toml").unwrap(),
            TargetName::Path("sim.toml".into())
        );
        assert!(TargetName::parse("").is_err());
        assert!(matches!(
            TargetName::parse("sim:no-machine"),
            Err(OpenError::Usage(_))
        ));
    }

    #[test]
    fn one_real_target_makes_the_clock_real() {
        let name = |typed| TargetName::parse(typed).unwrap();
        let simulated = [name("sim:a.toml"), name("sim:b.toml:hda")];
        assert!(TargetName::clock_for(&simulated).is_virtual());
        let mixed = [name("sim:a.toml"), name("/dev/sdz")];
        assert!(!TargetName::clock_for(&mixed).is_virtual());
        assert!(!TargetName::clock_for(&[TargetName::Null]).is_virtual());
    }

    #[test]
    fn arguments_survive_a_shell() {
        assert_eq!(shell_argument("--size=4GiB"), "--size=4GiB");
        assert_eq!(shell_argument("a b'c"), r"'a b'\''c'");
        assert_eq!(shell_argument(""), "''");
    }
}
