//! `bpf(2)`, for what aya does not model.

use std::io;

/// Runs a command; the result is a descriptor or 0.
///
/// # Safety
/// `attr` is the kernel's `union bpf_attr`, set for this command: each address in it is of a buffer that lives during the call and has the size
/// that stands beside it.
pub unsafe fn call<T>(command: u32, attr: &mut T) -> io::Result<i64> {
    // SAFETY: `attr` is live and of the size said; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            libc::c_long::from(command.cast_signed()),
            std::ptr::from_mut(attr),
            size_of::<T>(),
        )
    };
    match result {
        ..0 => Err(io::Error::last_os_error()),
        _ => Ok(result),
    }
}
