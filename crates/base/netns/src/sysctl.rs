//! What the kernel would else choose by the machine's memory, take over from its first namespace, or
//! keep from one flow to the next.

use std::fs;
use std::io;
use std::path::Path;

/// Settings of every new host, by path below /proc/sys; what is not there in this kernel is left out.
pub(crate) const PINNED: &[(&str, &str)] = &[
    ("net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("net/ipv4/tcp_wmem", "4096 16384 4194304"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
    // A flow stays the same flow for the path's queues, also after a timeout.
    ("net/core/txrehash", "0"),
    ("net/ipv4/ip_local_port_range", "10000 65000"),
    ("net/core/somaxconn", "4096"),
    // No host speaks unless it is told to.
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/ping_group_range", "0 2147483647"),
    ("net/ipv4/tcp_timestamps", "1"),
    ("net/ipv4/tcp_sack", "1"),
    ("net/ipv4/tcp_dsack", "1"),
    ("net/ipv4/tcp_window_scaling", "1"),
    ("net/ipv4/tcp_moderate_rcvbuf", "1"),
    ("net/ipv4/tcp_slow_start_after_idle", "1"),
    ("net/ipv4/tcp_ecn", "2"),
];

pub(crate) fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(Path::new("/proc/sys").join(key), value)
}

/// Words are separated by one space.
pub(crate) fn get(key: &str) -> io::Result<String> {
    let value = fs::read_to_string(Path::new("/proc/sys").join(key))?;
    Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
}
