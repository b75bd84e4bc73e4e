//! Media on which a write may harm neighbouring bytes: if a physical block is larger than what is
//! written at a time, or begins elsewhere, the disk reads, changes and writes it as a whole. A
//! power cut in the middle of that may lose bytes that nobody was writing.

use sustain_document::block_device::BlockDevice;

/// The size that is written at a time, at multiples of it: the block of a store, and of most file
/// systems.
const WRITTEN_BYTES: u64 = 4096;

/// The number of bytes before a write that a power cut in the middle of it may harm at most, by
/// the physical blocks that the device reports; 0 if none can be harmed.
#[must_use]
fn harmed_before_write_bytes(device: &BlockDevice) -> u64 {
    let block_bytes = device.physical_block_size_bytes.unwrap_or(0);
    if !block_bytes.is_power_of_two() {
        return 0;
    }
    let unit_bytes = block_bytes.min(WRITTEN_BYTES);
    // Writes begin at multiples of the unit, and blocks begin this far after these.
    let off_bytes = block_offset_bytes(device, block_bytes) % unit_bytes;
    let beyond_bytes = if off_bytes == 0 {
        unit_bytes
    } else {
        off_bytes
    };
    block_bytes - beyond_bytes
}

/// Says in one sentence what that means and what to do about it; `None` if nothing can be
/// harmed.
#[must_use]
pub fn neighbour_caution(device: &BlockDevice) -> Option<String> {
    let harmed_bytes = harmed_before_write_bytes(device);
    let block_bytes = device.physical_block_size_bytes?;
    if harmed_bytes == 0 {
        return None;
    }
    let name = device.name();
    let is_off =
        !block_offset_bytes(device, block_bytes).is_multiple_of(block_bytes.min(WRITTEN_BYTES));
    let (why, instead) = match (is_off, device.is_partition()) {
        (false, _) => (
            format!("has physical blocks of {block_bytes} bytes, more than are written at once"),
            "use a device with power-loss protection, or with physical blocks of 4096 bytes",
        ),
        (true, true) => (
            format!(
                "does not begin at a boundary of its disk's physical blocks ({block_bytes} \
                 bytes)"
            ),
            "let the partition begin at a multiple of 1 MiB, or use a device with power-loss \
             protection",
        ),
        (true, false) => (
            format!(
                "has physical blocks of {block_bytes} bytes that are not aligned with its \
                 logical blocks"
            ),
            "use a partition that partitioning tools report as aligned, or a device with \
             power-loss protection",
        ),
    };
    Some(format!(
        "{name} {why}: a power cut in the middle of a later write may damage up to \
         {harmed_bytes} bytes before it that were already acknowledged; {instead}"
    ))
}

/// The offset of the first physical block that does not begin before the device.
fn block_offset_bytes(device: &BlockDevice, block_bytes: u64) -> u64 {
    // The value that the kernel reports for an array also depends on its chunks, which are
    // whole blocks.
    match device.alignment_offset_bytes {
        Some(offset_bytes) => offset_bytes % block_bytes,
        None => (block_bytes - device.range().start % block_bytes) % block_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_device::device_named;
    use crate::fake_host::FakeHost;

    /// A disk with physical blocks of this size, and a partition from this sector on.
    fn disk_and_partition(block: &str, start: &str) -> [BlockDevice; 2] {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 1 << 20);
        host.partition("sdzz", "sdzz1", 300, 1, 2048);
        host.write_under(&disk, "queue/physical_block_size", block);
        host.write_under(&disk, "sdzz1/start", start);
        ["sdzz", "sdzz1"].map(|name| device_named(host.roots(), name).unwrap())
    }

    #[test]
    fn a_write_harms_nothing_where_it_is_of_whole_physical_blocks() {
        for (block, start) in [("512", "63"), ("4096", "2048"), ("4096", "8"), ("", "63")] {
            for device in disk_and_partition(block, start) {
                assert_eq!(harmed_before_write_bytes(&device), 0, "{block} {start}");
                assert_eq!(neighbour_caution(&device), None);
            }
        }
    }

    #[test]
    fn a_partition_that_begins_off_the_physical_blocks_is_told_of_and_its_disk_is_not() {
        let [disk, partition] = disk_and_partition("4096", "63");
        assert_eq!(neighbour_caution(&disk), None);
        // Sector 63 is the last one of a block, so a write begins behind seven others.
        assert_eq!(harmed_before_write_bytes(&partition), 7 * 512);
        let caution = neighbour_caution(&partition).unwrap();
        assert!(caution.contains("up to 3584 bytes before it"), "{caution}");
        assert!(caution.contains("multiple of 1 MiB"), "{caution}");
    }

    #[test]
    fn larger_blocks_harm_what_lies_before_a_write_wherever_they_begin() {
        for (start, harmed_bytes) in [("2048", 12288), ("8", 12288), ("1", 12800)] {
            let [_, partition] = disk_and_partition("16384", start);
            assert_eq!(
                harmed_before_write_bytes(&partition),
                harmed_bytes,
                "{start}"
            );
        }
        let [disk, _] = disk_and_partition("16384", "2048");
        let caution = neighbour_caution(&disk).unwrap();
        assert!(
            caution.contains("physical blocks of 16384 bytes"),
            "{caution}"
        );
    }

    #[test]
    fn what_the_kernel_states_of_the_alignment_counts() {
        let host = FakeHost::new();
        let disk = host.disk("sdzz", 300, 0, 1 << 20);
        host.partition("sdzz", "sdzz1", 300, 1, 2048);
        host.write_under(&disk, "queue/physical_block_size", "4096");
        // A disk whose block 7 begins a physical one, for partitions at sector 63.
        host.write_under(&disk, "alignment_offset", "3584");
        host.write_under(&disk, "sdzz1/start", "63");
        host.write_under(&disk, "sdzz1/alignment_offset", "0");
        let harmed_bytes = |name| {
            let device = device_named(host.roots(), name).unwrap();
            harmed_before_write_bytes(&device)
        };
        assert_eq!(harmed_bytes("sdzz"), 512);
        assert_eq!(harmed_bytes("sdzz1"), 0);
    }
}
