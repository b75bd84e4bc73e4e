//! The seal in the last 64 bytes of an append. It shows from the last block alone whether an append
//! is torn.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::SEAL_BYTES;
use super::checksum::crc32c;
use super::descriptor::Descriptor;

const MAGIC: [u8; 8] = *b"SUSTSEAL";

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SealBytes {
    magic: [u8; 8],
    sequence: U64,
    slot_serial: U64,
    descriptor_crc: U32,
    append_bytes: U32,
    reserved: [u8; 28],
    crc: U32,
}

const _: () = assert!(size_of::<SealBytes>() == SEAL_BYTES);

/// The fields of the descriptor that the seal repeats at the end of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seal {
    /// The sequence of the descriptor.
    pub sequence: u64,
    /// The slot serial of the descriptor.
    pub slot_serial: u64,
    /// The checksum that the descriptor carries.
    pub descriptor_crc: u32,
    /// The length of the append in the descriptor.
    pub append_bytes: u32,
}

impl Seal {
    /// Makes the seal that belongs to a descriptor with this checksum.
    pub fn of(descriptor: &Descriptor, crc: u32) -> Seal {
        Seal {
            sequence: descriptor.sequence,
            slot_serial: descriptor.place.slot_serial,
            descriptor_crc: crc,
            append_bytes: descriptor.append_bytes,
        }
    }

    /// Encodes the bytes that end the append.
    pub fn encode(&self) -> [u8; SEAL_BYTES] {
        let mut layout = SealBytes {
            magic: MAGIC,
            sequence: self.sequence.into(),
            slot_serial: self.slot_serial.into(),
            descriptor_crc: self.descriptor_crc.into(),
            append_bytes: self.append_bytes.into(),
            reserved: [0; 28],
            crc: U32::ZERO,
        };
        layout.crc = crc_of(&layout).into();
        zerocopy::transmute!(layout)
    }

    /// Reads a seal from exactly 64 bytes. Magic and checksum must be right.
    pub fn decode(bytes: &[u8]) -> Option<Seal> {
        let layout = SealBytes::ref_from_bytes(bytes).ok()?;
        if layout.magic != MAGIC || layout.crc.get() != crc_of(layout) {
            return None;
        }
        Some(Seal {
            sequence: layout.sequence.get(),
            slot_serial: layout.slot_serial.get(),
            descriptor_crc: layout.descriptor_crc.get(),
            append_bytes: layout.append_bytes.get(),
        })
    }
}

fn crc_of(layout: &SealBytes) -> u32 {
    crc32c(&layout.as_bytes()[..std::mem::offset_of!(SealBytes, crc)])
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use proptest::prelude::*;

    use super::*;

    const SEAL: Seal = Seal {
        sequence: 0x0102_0304_0506_0708,
        slot_serial: 77,
        descriptor_crc: 0xDEAD_BEEF,
        append_bytes: 1 << 20,
    };

    #[test]
    fn the_fields_lie_where_the_format_says() {
        assert_eq!(offset_of!(SealBytes, magic), 0);
        assert_eq!(offset_of!(SealBytes, sequence), 8);
        assert_eq!(offset_of!(SealBytes, slot_serial), 16);
        assert_eq!(offset_of!(SealBytes, descriptor_crc), 24);
        assert_eq!(offset_of!(SealBytes, append_bytes), 28);
        assert_eq!(offset_of!(SealBytes, reserved), 32);
        assert_eq!(offset_of!(SealBytes, crc), 60);
        let bytes = SEAL.encode();
        assert_eq!(&bytes[..8], b"SUSTSEAL");
        assert_eq!(bytes[8..16], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(bytes[24..28], [0xEF, 0xBE, 0xAD, 0xDE]);
        assert_eq!(bytes[32..60], [0; 28]);
    }

    #[test]
    fn every_shortening_and_every_flipped_bit_is_refused() {
        let bytes = SEAL.encode();
        for length in 0..SEAL_BYTES {
            assert_eq!(Seal::decode(&bytes[..length]), None);
        }
        for bit in 0..SEAL_BYTES * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Seal::decode(&flipped), None, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            sequence in any::<u64>(),
            slot_serial in any::<u64>(),
            descriptor_crc in any::<u32>(),
            append_bytes in any::<u32>(),
        ) {
            let seal = Seal { sequence, slot_serial, descriptor_crc, append_bytes };
            prop_assert_eq!(Seal::decode(&seal.encode()), Some(seal));
        }

        #[test]
        fn random_bytes_behind_the_magic_never_panic(mut bytes in any::<[u8; 64]>()) {
            bytes[..8].copy_from_slice(b"SUSTSEAL");
            prop_assert_eq!(Seal::decode(&bytes), None);
            let crc = crc32c(&bytes[..60]);
            bytes[60..].copy_from_slice(&crc.to_le_bytes());
            prop_assert!(Seal::decode(&bytes).is_some());
        }
    }
}
