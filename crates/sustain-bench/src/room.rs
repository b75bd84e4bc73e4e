//! What fits: the part of a target that is used, the free space for files, the memory for buffers.

use sustain_disk::error::Error;
use sustain_disk::layout::Layout;
use sustain_disk::target::{Target, TargetKind};
use sustain_disk::units::Size;
use sustain_host::Roots;

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::session::OpenTarget;

/// Shrinks a file that is to grow to what is free for it, and says what will be written.
pub(crate) fn fit_free_space(
    target: &mut OpenTarget,
    free: u64,
    usable: u64,
    plan: &Plan,
) -> Result<String, MeasureError> {
    let name = &target.target.name;
    let wanted = target.size_bytes;
    let allowed = usable.saturating_add(target.target.capacity_bytes.unwrap_or(0));
    if allowed < wanted.min(plan.record_bytes) {
        let why = format!("no space left: {} free; free some first", Size(free));
        return Err(Error::target(name, why).into());
    }
    target.size_bytes = wanted.min(allowed) / plan.record_bytes * plan.record_bytes;
    let sort = match target.target.kind {
        TargetKind::ScratchFile => "a nameless scratch file, gone afterwards,",
        _ => "a file",
    };
    let size = Size(target.size_bytes);
    Ok(if wanted > allowed {
        format!(
            "{name}: only {} free; writing {sort} of {size} instead of {}",
            Size(free),
            Size(wanted)
        )
    } else {
        format!("{name}: {} free; writing {sort} of {size}", Size(free))
    })
}

/// Settles the part that is used, in whole records.
pub(crate) fn fit(target: &mut OpenTarget, plan: &Plan) -> Result<(), MeasureError> {
    let name = target.target.name.clone();
    let record = plan.record_bytes;
    let alignment = u64::from(target.target.alignment_bytes);
    if !record.is_multiple_of(alignment) {
        return Err(Error::target(
            &name,
            format!(
                "direct I/O there goes in multiples of {alignment} bytes and --record-size is \
                 {record}: use a multiple, or --path buffered"
            ),
        )
        .into());
    }
    if let Layout::Stripe { chunk_bytes } = plan.layout
        && !chunk_bytes.is_multiple_of(alignment)
    {
        let why = format!("--chunk must be a multiple of {alignment} bytes there");
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
            let why = format!("it has {} and --size asks for more", Size(capacity));
            return Err(Error::target(&name, why).into());
        }
    }
    if target.size_bytes < record {
        let why = format!(
            "it has room for {}, less than one record of {}: use a smaller --record-size",
            Size(target.size_bytes),
            Size(record)
        );
        return Err(Error::target(&name, why).into());
    }
    target.size_bytes -= target.size_bytes % record;
    Ok(())
}

pub(crate) fn has_all_blocks(target: &Target) -> bool {
    const STAT_BLOCK_BYTES: u64 = 512;
    let (TargetKind::File, Some(file)) = (target.kind, &target.file) else {
        return true;
    };
    // A file that cannot be looked at any more will say so when it is used.
    rustix::fs::fstat(file).is_ok_and(|found| {
        (found.st_blocks as u64).saturating_mul(STAT_BLOCK_BYTES) >= found.st_size as u64
    })
}

/// Buffers that do not fit into memory would bring down the machine rather than the run.
pub(crate) fn check_memory(targets: usize, plan: &Plan, roots: &Roots) -> Result<(), MeasureError> {
    // Where the machine does not say what it has, the kernel will.
    let Ok(description) = sustain_host::Description::read(roots) else {
        return Ok(());
    };
    let wanted = u128::from(plan.record_bytes) * u128::from(plan.depth) * (targets as u128);
    if wanted <= u128::from(description.memory_bytes / 2) {
        return Ok(());
    }
    Err(MeasureError::Usage(format!(
        "{targets} targets with {} requests of {} in flight each need more than half of this \
         machine's {} of memory: use a smaller --depth or --record-size",
        plan.depth,
        Size(plan.record_bytes),
        Size(description.memory_bytes)
    )))
}
