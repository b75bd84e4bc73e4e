//! `sustain create`: creates a store of disks, partitions and files.

use std::path::Path;

use sustain::Stop;
use sustain::disk::units::{Size, parse_size};
use sustain::host::Roots;
use sustain::record::document::create_document;
use sustain::record::format::{SLOT_BYTES_MAX, SLOT_BYTES_MIN};
use sustain::record::store::{AddPlan, CreateEvent, CreatePlan, add, create};
use sustain::report::terminal::create_text;

use super::progress::ProgressLine;
use super::{output, stores};
use crate::exit::Exit;
use crate::flags::create::CreateFlags;
use crate::usage_error::UsageError;
use crate::{interrupt, nearest};

pub(crate) fn run(flags: &CreateFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    if flags.same_disk && flags.parity == 0 && flags.add.is_empty() {
        return Err(UsageError(
            "--same-disk allows members on one disk although there is parity: give --parity, too, \
             or leave --same-disk out"
                .to_owned(),
        )
        .into());
    }
    let all = [&flags.members[..], &flags.add].concat();
    stores::check_result(flags.json.as_deref(), &all)?;
    check_new(flags)?;
    let stop = Stop::default();
    interrupt::watch(&stop, super::say)?;
    let mut progress = ProgressLine::new("writing files once beforehand");
    let mut notes = Vec::new();
    let mut observer = |event| match event {
        CreateEvent::Note(note) => {
            progress.note(&format!("note: {note}"));
            notes.push(note);
        }
        CreateEvent::Prewrite {
            bytes_done,
            bytes_all,
        } => progress.update(bytes_done, Some(bytes_all)),
    };
    let roots = Roots::default();
    let created = match flags.add.is_empty() {
        true => create(&plan, &roots, &stop, &mut observer),
        false => add(&add_plan(flags), &roots, &stop, &mut observer),
    };
    progress.finish();
    let document = create_document(&created?, &notes);
    let text = create_text(&document, output::width());
    stores::present(flags.json.as_deref(), &document, &text)?;
    Ok(Exit::Done)
}

/// A name that does not exist becomes a file. One that is nearly that of something else was
/// probably mistyped, unless it is told how large the file should be.
fn check_new(flags: &CreateFlags) -> Result<(), UsageError> {
    let members = match flags.add.is_empty() {
        true => flags.members.iter(),
        false => flags.add.iter(),
    };
    let is_size = |member: &&String| {
        let has_unit = member.parse::<u64>().is_err();
        has_unit && parse_size(member).is_ok() && !Path::new(member).exists()
    };
    if let Some(member) = members.clone().find(is_size) {
        return Err(UsageError(format!(
            "{member} is a size and no member: give --size {member}, or ./{member} to make a new \
             file of this name"
        )));
    }
    let mistyped = members
        .filter(|_| flags.size.is_none())
        .find(|member| nearest::is_mistyped(Path::new(member)));
    mistyped.map_or(Ok(()), |member| {
        Err(UsageError(format!(
            "{member} does not exist, and its name differs by one letter from one that does: \
             correct it, or give --size to make a new file of this name"
        )))
    })
}

/// What the flags ask to be added to a store.
fn add_plan(flags: &CreateFlags) -> AddPlan {
    AddPlan {
        members: flags.members.clone(),
        added: flags.add.clone(),
        size_bytes: flags.size,
        prewrite: !flags.no_prewrite,
        destroy: flags.destroy.clone(),
        same_disk: flags.same_disk,
        dry_run: flags.dry_run,
    }
}

/// The plan of a new store that the flags ask for.
fn plan(flags: &CreateFlags) -> Result<CreatePlan, UsageError> {
    let slot_bytes = u32::try_from(flags.slot).ok().filter(|slot_bytes| {
        slot_bytes.is_power_of_two() && (SLOT_BYTES_MIN..=SLOT_BYTES_MAX).contains(slot_bytes)
    });
    let Some(slot_bytes) = slot_bytes else {
        return Err(UsageError(format!(
            "--slot must be a power of two from 64KiB to 16MiB, such as 8MiB, and {} is not",
            Size(flags.slot)
        )));
    };
    Ok(CreatePlan {
        members: flags.members.clone(),
        size_bytes: flags.size,
        slot_bytes,
        prewrite: !flags.no_prewrite,
        destroy: flags.destroy.clone(),
        parities: flags.parity,
        same_disk: flags.same_disk,
        dry_run: flags.dry_run,
    })
}
