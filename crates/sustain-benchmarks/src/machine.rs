//! The machine in one line, so that a table can be compared with another one.

use std::path::Path;

use anyhow::Context;
use sustain::disk::units::Size;
use sustain::document::host::Description;
use sustain::host::{Roots, describe_host, file_system_of};

/// What a table was measured on.
#[derive(Debug)]
pub(crate) struct Machine {
    host: Description,
    file_system: Option<String>,
    fio_version: String,
}

impl Machine {
    pub(crate) fn describe(directory: &Path, fio_version: String) -> anyhow::Result<Machine> {
        let roots = Roots::default();
        Ok(Machine {
            host: describe_host(&roots).context("cannot describe this machine")?,
            // A container may hide what its files lie on.
            file_system: file_system_of(&roots, directory)
                .ok()
                .map(|found| format!("{} on {}", found.kind, found.devices.join(", "))),
            fio_version,
        })
    }

    pub(crate) fn line(&self) -> String {
        let host = &self.host;
        let virtual_machine = if host.virtual_machine {
            ", virtual machine"
        } else {
            ""
        };
        format!(
            "{} x {}, {} of memory{virtual_machine}, Linux {}, {}, {}",
            host.cpu_count,
            host.cpu_model.as_deref().unwrap_or(&host.architecture),
            Size(host.memory_bytes),
            host.kernel,
            self.file_system.as_deref().unwrap_or("unknown file system"),
            self.fio_version,
        )
    }
}
