//! System calls that the libraries have no word for.

use nix::errno::Errno;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// An option whose value is an int.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: i32,
    name: i32,
    value: i32,
) -> io::Result<()> {
    // SAFETY: the value is an int and its length is given.
    let result = unsafe {
        let pointer = std::ptr::from_ref(&value).cast();
        libc::setsockopt(socket.as_raw_fd(), level, name, pointer, 4)
    };
    Errno::result(result)?;
    Ok(())
}

/// Has the kernel throw away up to `most` bytes that were received; how many, none when nothing waits.
pub(crate) fn discard(socket: BorrowedFd<'_>, most: usize) -> io::Result<Option<usize>> {
    // SAFETY: with MSG_TRUNC TCP discards the data instead of copying it (tcp(7)).
    let result = unsafe {
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), most, flags)
    };
    would_block(result)
}

/// Sends from `bytes`; how many the socket took, none when it takes no more.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<Option<usize>> {
    // SAFETY: pointer and length are of one slice.
    let result = unsafe {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    };
    would_block(result)
}

fn would_block(result: isize) -> io::Result<Option<usize>> {
    match Errno::result(result) {
        Ok(bytes) => Ok(Some(bytes as usize)),
        Err(Errno::EAGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits for events for at most `timeout_ns`; a signal ends it early, without events.
pub(crate) fn epoll_wait(
    epoll: RawFd,
    events: &mut [libc::epoll_event],
    timeout_ns: i64,
) -> io::Result<usize> {
    let timeout = libc::timespec {
        tv_sec: timeout_ns / 1_000_000_000,
        tv_nsec: timeout_ns % 1_000_000_000,
    };
    // SAFETY: the kernel writes at most as many events as the slice has room for.
    let result = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll,
            events.as_mut_ptr(),
            events.len() as libc::c_int,
            &raw const timeout,
            std::ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    match Errno::result(result) {
        Ok(count) => Ok(count as usize),
        Err(Errno::EINTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Timers of this thread fire without the 50 µs of grace that the kernel otherwise takes.
pub(crate) fn exact_timers() {
    // SAFETY: the call takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
