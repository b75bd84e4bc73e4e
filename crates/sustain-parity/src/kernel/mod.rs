//! The inner loops, written once for all processors, and once more for those that multiply many
//! bytes at a time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod half_products;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

/// A way to add up data that this processor can run. All of them give the same sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// What a kernel needs of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// The slowest first.
const KNOWN: &[Instructions] = &[
    Instructions::Portable,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx2,
    #[cfg(target_arch = "aarch64")]
    Instructions::Neon,
];

impl Instructions {
    fn are_there(self) -> bool {
        match self {
            Instructions::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        }
    }
}

impl Kernel {
    /// The kernels that this processor can run, the slowest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Kernel> {
        let known = KNOWN.iter().copied();
        known.filter(|one| one.are_there()).map(Kernel)
    }

    /// The fastest kernel that this processor can run.
    pub fn best() -> Kernel {
        let best = Kernel::all().next_back();
        best.unwrap_or(Kernel(Instructions::Portable))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "NEON",
        }
    }

    /// Begins a sum with the product of an element and data of the same length, whatever the sum
    /// was.
    ///
    /// It copies the data and adds what the product has besides, because e * d = d + (e + 1) * d.
    /// Where the sum is in no cache, a copy over it is faster than to fill it with zeros first.
    pub(crate) fn set_product(self, element: u8, data: &[u8], sum: &mut [u8]) {
        sum.copy_from_slice(data);
        if element != 1 {
            self.add_product(element ^ 1, data, sum);
        }
    }

    /// Adds the product of an element and data to a sum of the same length.
    pub(crate) fn add_product(self, element: u8, data: &[u8], sum: &mut [u8]) {
        match self.0 {
            Instructions::Portable => portable::add_product(element, data, sum),
            // SAFETY: such a kernel is only made where the processor has been found to have AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::add_product(element, data, sum) },
            // SAFETY: such a kernel is only made where the processor has been found to have NEON.
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => unsafe { neon::add_product(element, data, sum) },
        }
    }
}
