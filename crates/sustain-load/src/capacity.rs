//! Checks what fits a plan: the part of a target that is used, in whole records, and the memory for
//! buffers.

use std::path::Path;

use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::target::TargetKind;
use sustain_disk::units::Size;
use sustain_document::setting::{CHUNK, DEPTH, PATH, RECORD_SIZE, SIZE};
use sustain_host::Roots;

use crate::error::LoadError;
use crate::open_target::OpenTarget;
use crate::plan::LoadPlan;

/// Decides which part of a target is used, in whole records.
pub fn fit(target: &mut OpenTarget, plan: &LoadPlan) -> Result<(), LoadError> {
    let name = target.target.name.clone();
    let record = plan.record_bytes;
    let alignment = u64::from(target.target.alignment_bytes);
    if !record.is_multiple_of(alignment) {
        return Err(Error::target(
            &name,
            format!(
                "direct I/O on this target needs multiples of {alignment} bytes, and {} is \
                 {record}: use a multiple, or {}",
                RECORD_SIZE.the(),
                PATH.to("buffered")
            ),
        )
        .into());
    }
    if let Layout::Stripe { chunk_bytes } = plan.layout
        && !chunk_bytes.is_multiple_of(alignment)
    {
        let why = CHUNK.must_be(format_args!(
            "a multiple of {alignment} bytes for this target"
        ));
        return Err(Error::target(&name, why).into());
    }
    if let Some(asked_bytes) = plan.size_bytes.filter(|asked| *asked < record) {
        let why = format!(
            "{} is less than one record of {}: give a larger {SIZE}, or a smaller {RECORD_SIZE}",
            SIZE.of(Size(asked_bytes)),
            Size(record)
        );
        return Err(Error::target(&name, why).into());
    }
    if target.target.kind == TargetKind::Null {
        target.size_bytes = plan.size_bytes.unwrap_or(u64::MAX);
        return Ok(());
    }
    if target.size_bytes == 0 {
        let capacity = target.target.capacity_bytes.unwrap_or(0);
        target.size_bytes = plan.size_bytes.unwrap_or(capacity);
        if target.size_bytes > capacity {
            let why = format!(
                "it has {}, less than {size} asks for: give a smaller {SIZE}",
                Size(capacity),
                size = SIZE.the()
            );
            return Err(Error::target(&name, why).into());
        }
    }
    if target.size_bytes < record {
        return Err(Error::target(&name, too_small(target, plan)).into());
    }
    target.size_bytes -= target.size_bytes % record;
    Ok(())
}

/// Why a target cannot be used that is smaller than a record.
fn too_small(target: &OpenTarget, plan: &LoadPlan) -> String {
    let name = &target.target.name;
    let is_machine = target
        .path
        .as_ref()
        .is_some_and(|path| is_machine_file(path));
    let is_written = plan.destroy.contains(name) && plan.size_bytes.is_none();
    let instead = match target.target.kind {
        TargetKind::File if is_machine => {
            format!("; the simulated disks of a machine file are named sim:{name}")
        }
        TargetKind::File if is_written => {
            format!(", or use {} to make the file longer", SIZE.the())
        }
        _ => String::new(),
    };
    format!(
        "it can hold {}, less than one record of {}: use a smaller {RECORD_SIZE}{instead}",
        Size(target.size_bytes),
        Size(plan.record_bytes)
    )
}

/// Whether a path looks like a machine file that was named without `sim:`.
fn is_machine_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
}

/// Checks that there is memory for all requests in flight.
pub fn check_memory(targets: usize, plan: &LoadPlan, roots: &Roots) -> Result<(), LoadError> {
    let per_target = plan.record_bytes.saturating_mul(u64::from(plan.depth));
    let (whose, need) = match targets {
        1 => ("one target".to_owned(), "needs"),
        _ => (format!("{targets} targets"), "need"),
    };
    let what = format!(
        "{whose} with {} requests of {} in flight each {need}",
        plan.depth,
        Size(plan.record_bytes)
    );
    let instead = format!("use a smaller {DEPTH} or {RECORD_SIZE}");
    let wanted_bytes = per_target.saturating_mul(targets as u64);
    sustain_targets::check_memory(wanted_bytes, &what, &instead, roots)?;
    Ok(())
}
