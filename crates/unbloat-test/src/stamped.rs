//! Datagrams with the time at which the kernel received them.

use socket2::SockRef;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use unbloat_traffic::{Clock, kernel_stamp};
use unbloat_units::{Delta, Time};

/// What waits to be read is not lost for lack of memory.
const BUFFER: usize = 1 << 20;

/// Asks the kernel for stamps.
pub fn stamp(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the value is an int and its length is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            std::ptr::from_ref(&on).cast(),
            4,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    SockRef::from(&socket).set_recv_buffer_size(BUFFER)
}

/// The next datagram that waits, and when the kernel had it, by `clock`.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    clock: Clock,
) -> io::Result<Option<(usize, Time)>> {
    // Aligned as a cmsghdr has to be.
    let mut control = [0_u64; 8];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain data, for which zeros are valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header points to buffers that outlive the call, with their lengths.
    let read = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    if read < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            // The peer's ICMP errors are told at the next call.
            io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error),
        };
    }
    // SAFETY: the call above wrote it, and nothing else was asked for when the socket was made.
    let stamp = unsafe { kernel_stamp(&header) };
    let at = stamp.map(|wall| wall - clock.wall_ahead());
    Ok(Some((read as usize, at.unwrap_or_else(|| clock.now()))))
}

/// Until something can be read, or for so long.
pub fn wait(socket: BorrowedFd<'_>, at_most: Delta) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_ns().max(0) / 1_000_000_000,
        tv_nsec: at_most.as_ns().max(0) % 1_000_000_000,
    };
    let mut asked = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one pollfd is given, and both structures outlive the call. That it ends early is as if something had come.
    unsafe { libc::ppoll(&raw mut asked, 1, &raw const timeout, std::ptr::null()) };
}
