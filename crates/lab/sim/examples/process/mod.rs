//! What this process costs, as the kernel counts.

/// What the kernel has given this thread of a processor, in seconds.
pub fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns = schedstat
        .split(' ')
        .next()
        .and_then(|ns| ns.parse::<f64>().ok());
    ns.expect("nanoseconds first") / 1e9
}

/// Memory in kB, now or the most so far: `VmRSS` or `VmHWM`.
pub fn memory_kb(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(which));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|kb| kb.parse().ok()).expect("in kB")
}
