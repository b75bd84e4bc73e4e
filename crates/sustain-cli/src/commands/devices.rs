//! `sustain devices`: shows the disks of this machine, how they are connected, and whether they may
//! be written. It opens none of them.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};
use sustain::Stop;
use sustain::disk::clock::Clock;
use sustain::document::block_device::BlockDevice;
use sustain::host::{
    Roots, Topology, device_named, device_of_number, devices_document, disks_under_file_system,
    file_system_of,
};
use sustain::memory_copy;
use sustain::report::terminal::devices_text;

use super::output::{self, OutputKind};
use super::{say, stores};
use crate::exit::Exit;
use crate::flags::devices::DevicesFlags;
use crate::interrupt;
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &DevicesFlags) -> anyhow::Result<Exit> {
    if let Some(path) = &flags.json {
        output::check(path, OutputKind::Json)?;
    }
    let roots = Roots::default();
    let mut named = Vec::new();
    for name in &flags.devices {
        named.extend(devices_named(&roots, name)?);
    }
    let mut topology = Topology::read(&roots);
    if !flags.devices.is_empty() {
        topology = topology.only_under(&roots, &named);
    }
    let mut document = devices_document(topology);
    if flags.memory {
        let stop = Stop::default();
        interrupt::watch(&stop, say)?;
        match memory_copy::measure(&Clock::Real, &roots, &stop) {
            Ok(copied) => document.memory_copy = copied,
            Err(why) => document.notes.push(why),
        }
    }
    let text = devices_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}

/// Returns the device with this path or kernel name. For a file or directory, returns the disks on
/// which it lies.
fn devices_named(roots: &Roots, name: &str) -> Result<Vec<BlockDevice>, UsageError> {
    let usage = |why: String| UsageError(format!("{name}: {why}"));
    let path = Path::new(name);
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) => {
            let by_kernel_name = device_named(roots, name);
            return by_kernel_name.map(|device| vec![device]).map_err(|_| {
                usage(format!(
                    "{error}; run `sustain devices` without a name to list all devices"
                ))
            });
        }
    };
    if metadata.file_type().is_block_device() {
        let number = metadata.rdev();
        let (major, minor) = (major(number), minor(number));
        let device = device_of_number(roots, major, minor);
        return device
            .map(|device| vec![device])
            .map_err(|error| usage(error.to_string()));
    }
    if metadata.is_file() || metadata.is_dir() {
        let disks =
            file_system_of(roots, path).and_then(|found| disks_under_file_system(roots, &found));
        let disks = disks.map_err(|error| usage(error.to_string()))?;
        if disks.is_empty() {
            return Err(usage(
                "it is not on any disk that is visible here".to_owned(),
            ));
        }
        return Ok(disks);
    }
    Err(usage(
        "it is neither a disk nor a file or directory on one".to_owned(),
    ))
}
