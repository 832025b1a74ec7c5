//! How much memory this process has.

use unbloat_os::heap;
use unbloat_units::Bytes;

/// What connections and the rest hold; where nobody counts it, what is resident.
pub fn held() -> Option<Bytes> {
    heap::held().map(Bytes::new).or_else(resident)
}

/// Resident, which includes what was freed and the allocator keeps; none where the kernel does not say.
pub fn resident() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Bytes::new(pages * rustix::param::page_size() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_some_memory() {
        assert!(resident().unwrap() > Bytes::kib(100));
    }
}
