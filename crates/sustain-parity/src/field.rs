//! Arithmetic in GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11D), as RAID 6 and most
//! other codes have it. Slow and plain: tables are made of it when the crate is compiled.

/// What is left of the polynomial when its highest bit is taken away.
pub(crate) const POLYNOMIAL_LOW: u8 = 0x1D;

/// The product of two elements. The sum of two is their exclusive or.
pub(crate) const fn multiply(one: u8, other: u8) -> u8 {
    let (mut product, mut shifted, mut bits) = (0, one, other);
    while bits != 0 {
        if bits & 1 == 1 {
            product ^= shifted;
        }
        let overflows = shifted & 0x80 != 0;
        shifted <<= 1;
        if overflows {
            shifted ^= POLYNOMIAL_LOW;
        }
        bits >>= 1;
    }
    product
}

/// The element whose product with `element` is 1; 0 for 0, which has none.
///
/// All elements but 0 to the power of 255 are 1, so it is the power of 254.
pub(crate) const fn inverse(element: u8) -> u8 {
    let (mut power, mut square, mut exponent) = (1, element, 254);
    while exponent != 0 {
        if exponent & 1 == 1 {
            power = multiply(power, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use reed_solomon_erasure::galois_8;

    use super::*;

    /// Multiplies as polynomials first, and then takes the remainder.
    fn product_bit_by_bit(one: u8, other: u8) -> u8 {
        let mut product: u16 = 0;
        for bit in (0..8).filter(|bit| other >> bit & 1 == 1) {
            product ^= u16::from(one) << bit;
        }
        for bit in (8..15).rev() {
            if product >> bit & 1 == 1 {
                product ^= 0x11D << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn every_product_is_that_of_the_polynomials_and_of_another_implementation() {
        for one in 0..=u8::MAX {
            for other in 0..=u8::MAX {
                let product = multiply(one, other);
                assert_eq!(product, product_bit_by_bit(one, other), "{one} * {other}");
                assert_eq!(product, galois_8::mul(one, other), "{one} * {other}");
            }
        }
    }

    #[test]
    fn every_element_but_0_has_its_inverse() {
        for element in 1..=u8::MAX {
            assert_eq!(multiply(element, inverse(element)), 1, "{element}");
            assert_eq!(inverse(element), galois_8::div(1, element), "{element}");
        }
        assert_eq!(inverse(0), 0);
    }
}
