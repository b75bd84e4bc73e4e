//! The content of the NVMe command that carries a part of a request. Nothing is submitted here.

use super::super::{Operation, Request};
use crate::nvme::{CommandMemory, NvmeCommand, URING_COMMAND, URING_COMMAND_VECTORED};
use crate::target::NvmeNamespace;

/// One command of a request.
pub(super) struct CommandPart {
    pub(super) request: usize,
    pub(super) start: u64,
    pub(super) length: u64,
    /// Addresses for the kernel, if the memory is not one stretch; they must stay where they are.
    pub(super) iovecs: Vec<libc::iovec>,
}

pub(super) fn build_command(
    request: &Request,
    part: &CommandPart,
    namespace: &NvmeNamespace,
) -> (u32, NvmeCommand) {
    if request.operation == Operation::Flush {
        return (URING_COMMAND, NvmeCommand::flush(namespace.namespace()));
    }
    let (kind, memory) = match part.iovecs.as_slice() {
        [one] => {
            let memory = CommandMemory {
                address: one.iov_base as u64,
                length: one.iov_len as u32,
            };
            (URING_COMMAND, memory)
        }
        several => {
            let memory = CommandMemory {
                address: several.as_ptr() as u64,
                length: several.len() as u32,
            };
            (URING_COMMAND_VECTORED, memory)
        }
    };
    let first = (request.offset_bytes + part.start) / namespace.block_bytes();
    let blocks = part.length / namespace.block_bytes();
    let id = namespace.namespace();
    let command = if request.operation == Operation::Read {
        NvmeCommand::read(id, first, blocks, memory)
    } else {
        NvmeCommand::write(id, first, blocks, request.durable, memory)
    };
    (kind, command)
}
