//! The data structures of NVMe commands as Linux takes them past its block layer
//! (linux/nvme_ioctl.h), a drive's description of a namespace, and the statuses that it returns.
//! The passthrough target and its engine use them; nothing is touched here.

pub(crate) mod status;

/// `NVME_IOCTL_ID`: the number of the namespace behind a descriptor.
pub(crate) const IOCTL_NAMESPACE_ID: libc::c_ulong = 0x4e40;
/// `NVME_IOCTL_ADMIN_CMD`: one command to the controller, waited for.
pub(crate) const IOCTL_ADMIN: libc::c_ulong = 0xc048_4e41;
/// `NVME_URING_CMD_IO`: one command to the namespace, with one stretch of memory.
pub(crate) const URING_COMMAND: u32 = 0xc048_4e80;
/// `NVME_URING_CMD_IO_VEC`: the same with several stretches.
pub(crate) const URING_COMMAND_VECTORED: u32 = 0xc048_4e81;
/// Bytes of the answer to an identify command.
pub(crate) const IDENTIFY_BYTES: usize = 4096;
/// Blocks that one command can name.
pub(crate) const BLOCKS_MAX: u64 = 1 << 16;

const OPCODE_FLUSH: u8 = 0x00;
const OPCODE_WRITE: u8 = 0x01;
const OPCODE_READ: u8 = 0x02;
const OPCODE_IDENTIFY: u8 = 0x06;
/// In the 12th word of a write: complete only when it is on the medium.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;

/// `struct nvme_uring_cmd`, and `struct nvme_passthru_cmd`, which ends in a result instead.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// The memory of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandMemory {
    /// The address of the bytes, or of a list of `iovec`.
    pub(crate) address: u64,
    /// Bytes, or entries of the list.
    pub(crate) length: u32,
}

impl NvmeCommand {
    /// Reads `blocks` blocks, at least 1 and at most [`BLOCKS_MAX`].
    pub(crate) fn read(
        namespace: u32,
        first_block: u64,
        blocks: u64,
        memory: CommandMemory,
    ) -> NvmeCommand {
        NvmeCommand::transfer(OPCODE_READ, namespace, first_block, blocks, memory)
    }

    /// Writes `blocks` blocks, at least 1 and at most [`BLOCKS_MAX`].
    pub(crate) fn write(
        namespace: u32,
        first_block: u64,
        blocks: u64,
        durable: bool,
        memory: CommandMemory,
    ) -> NvmeCommand {
        let mut command =
            NvmeCommand::transfer(OPCODE_WRITE, namespace, first_block, blocks, memory);
        if durable {
            command.words_10_15[2] |= FORCE_UNIT_ACCESS;
        }
        command
    }

    fn transfer(
        opcode: u8,
        namespace: u32,
        first_block: u64,
        blocks: u64,
        memory: CommandMemory,
    ) -> NvmeCommand {
        assert!(
            (1..=BLOCKS_MAX).contains(&blocks),
            "a command names from 1 to 65536 blocks"
        );
        NvmeCommand {
            opcode,
            namespace,
            address: memory.address,
            data_bytes: memory.length,
            words_10_15: [
                first_block as u32,
                (first_block >> 32) as u32,
                // The number is one less than the blocks.
                (blocks - 1) as u32,
                0,
                0,
                0,
            ],
            ..NvmeCommand::default()
        }
    }

    /// Makes what was written before durable.
    pub(crate) fn flush(namespace: u32) -> NvmeCommand {
        NvmeCommand {
            opcode: OPCODE_FLUSH,
            namespace,
            ..NvmeCommand::default()
        }
    }

    /// Asks the controller for the namespace's own description, [`IDENTIFY_BYTES`] at `address`.
    pub(crate) fn identify(namespace: u32, address: u64) -> NvmeCommand {
        NvmeCommand {
            opcode: OPCODE_IDENTIFY,
            namespace,
            address,
            data_bytes: IDENTIFY_BYTES as u32,
            ..NvmeCommand::default()
        }
    }

    /// As it stands in an entry of 128 bytes of an io_uring.
    #[allow(
        clippy::host_endian_bytes,
        reason = "the kernel's format, never stored"
    )]
    pub(crate) fn bytes(&self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[0] = self.opcode;
        bytes[1] = self.flags;
        let words = [self.namespace, self.words_2_3[0], self.words_2_3[1]];
        put(&mut bytes, 4, words.iter().map(|word| word.to_ne_bytes()));
        let addresses = [self.metadata, self.address];
        put(
            &mut bytes,
            16,
            addresses.iter().map(|one| one.to_ne_bytes()),
        );
        let lengths = [self.metadata_bytes, self.data_bytes];
        let words = lengths.iter().chain(&self.words_10_15);
        let words = words.chain([&self.timeout_ms]);
        put(&mut bytes, 32, words.map(|word| word.to_ne_bytes()));
        bytes
    }
}

fn put<const N: usize>(bytes: &mut [u8], from: usize, fields: impl Iterator<Item = [u8; N]>) {
    for (place, field) in bytes[from..].chunks_exact_mut(N).zip(fields) {
        place.copy_from_slice(&field);
    }
}

/// The format of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// Blocks of the namespace.
    pub(crate) blocks: u64,
    /// Data of a block.
    pub(crate) block_bytes: u64,
    /// Bytes that a block carries in addition, such as checksums.
    pub(crate) metadata_bytes: u16,
}

impl Format {
    /// Parses the answer to an identify command (NVM Command Set Specification 1.0, 4.1.5.1).
    /// `None` if its format is impossible.
    pub(crate) fn parse(answer: &[u8; IDENTIFY_BYTES]) -> Option<Format> {
        let number = |from: usize, bytes: usize| {
            let field = answer[from..from + bytes].iter().rev();
            field.fold(0u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let selected = answer[26];
        let index = usize::from(selected & 0xf) | usize::from(selected >> 5 & 3) << 4;
        let place = 128 + 4 * index;
        let shift = answer[place + 2];
        (9..=16).contains(&shift).then(|| Format {
            blocks: number(0, 8),
            block_bytes: 1 << shift,
            metadata_bytes: number(place, 2) as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_kernels_size_and_fields_at_their_places() {
        assert_eq!(size_of::<NvmeCommand>(), 72);
        let memory = CommandMemory {
            address: 0x1122_3344_5566_7788,
            length: 0x9000,
        };
        let bytes = NvmeCommand::write(7, 0x1_2345_6789, 8, true, memory).bytes();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!((bytes[0], word(4)), (OPCODE_WRITE, 7));
        assert_eq!((word(24), word(28)), (0x5566_7788, 0x1122_3344));
        assert_eq!((word(32), word(36)), (0, 0x9000));
        assert_eq!((word(40), word(44)), (0x2345_6789, 1));
        assert_eq!(word(48), 7 | FORCE_UNIT_ACCESS);
        assert!(bytes[52..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_namespace_says_how_it_is_formatted() {
        let mut answer = [0; IDENTIFY_BYTES];
        answer[..4].copy_from_slice(&[0, 0, 4, 0]);
        answer[26] = 1;
        answer[128..132].copy_from_slice(&[8, 0, 9, 0]);
        answer[132..136].copy_from_slice(&[0, 0, 12, 0]);
        let plain = Format {
            blocks: 0x4_0000,
            block_bytes: 4096,
            metadata_bytes: 0,
        };
        assert_eq!(Format::parse(&answer), Some(plain));
        answer[26] = 0;
        let protected = Format::parse(&answer).unwrap();
        assert_eq!((protected.block_bytes, protected.metadata_bytes), (512, 8));
        // Two more bits of the number lie apart.
        answer[26] = 0x21;
        answer[128 + 4 * 17..][..4].copy_from_slice(&[0, 0, 9, 0]);
        assert_eq!(Format::parse(&answer).unwrap().block_bytes, 512);
        answer[26] = 5;
        assert_eq!(Format::parse(&answer), None, "an empty entry of the table");
    }
}
