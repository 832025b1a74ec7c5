//! Namespaces of this thread.

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Puts this thread into a network namespace of its own, which ends with the last that uses it.
pub fn enter_new_network() -> io::Result<()> {
    // SAFETY: a new network namespace for one thread touches no memory nor descriptors.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// The cookie of this thread's network namespace, which no other one has until the next boot. Kernels before 5.14 have none.
pub fn network_cookie() -> io::Result<Option<u64>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `cookie`.
    let code = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    Ok((code == 0).then_some(cookie))
}
