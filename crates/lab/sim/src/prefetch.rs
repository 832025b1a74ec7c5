//! Hints to the processor.

/// Of a cache.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Has a value fetched into the cache, without waiting for it. Elsewhere than on x86-64 nothing happens.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = (&raw const *value).cast::<i8>();
        // One more, as the value may begin in the middle of a line.
        for offset in (0..size_of::<T>() + LINE).step_by(LINE) {
            // SAFETY: a hint, for which any address will do: nothing is read that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
