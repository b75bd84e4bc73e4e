//! The tables of the kernels that look up 16 or 32 products with one instruction.

use crate::field::multiply;

/// The products of an element with the halves of a byte. The product with a byte is the sum of
/// those with its halves.
#[derive(Debug)]
pub(super) struct HalfProducts {
    /// With the 16 values of the low half.
    pub(super) low: [u8; 16],
    /// With the 16 values of the high half.
    pub(super) high: [u8; 16],
}

/// Those of each element, 8 KiB in all.
static OF_ELEMENTS: [HalfProducts; 256] = {
    let mut of_elements = [const { HalfProducts::compute(0) }; 256];
    let mut element = 1;
    while element < of_elements.len() {
        of_elements[element] = HalfProducts::compute(element as u8);
        element += 1;
    }
    of_elements
};

impl HalfProducts {
    /// The products of an element.
    pub(super) fn of(element: u8) -> &'static HalfProducts {
        &OF_ELEMENTS[usize::from(element)]
    }

    const fn compute(element: u8) -> HalfProducts {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        let mut half = 0;
        while half < 16 {
            low[half as usize] = multiply(element, half);
            high[half as usize] = multiply(element, half << 4);
            half += 1;
        }
        HalfProducts { low, high }
    }
}
