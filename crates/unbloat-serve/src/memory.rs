//! How much memory this process has.

use unbloat_units::Bytes;

/// Resident; none where the kernel does not say.
pub fn resident() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: asks for a number, has no other effect.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(Bytes::new(pages * u64::try_from(page).ok()?))
}

/// Lets this process have as many sockets as the system lets it ask for.
pub fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Refused in some sandboxes: then the limits of connections may not be reached, and accepting waits.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_some_memory() {
        assert!(resident().unwrap() > Bytes::kib(100));
    }
}
