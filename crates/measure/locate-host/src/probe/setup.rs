//! What all sockets are told.

use socket2::{SockFilter, Socket};
use std::io;
use std::os::fd::AsFd;
use unbloat_os::sockopt;

/// Lets the socket have the answers to what it sent, and stamps on the way out and in.
pub(crate) fn prepare(socket: &Socket, is_v6: bool) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    sockopt::set_error_queue(socket.as_fd(), is_v6)?;
    sockopt::set_all_stamps(socket.as_fd())?;
    // A burst of answers, each with what it quotes. As much as is allowed.
    let _ = socket.set_recv_buffer_size(1 << 20);
    Ok(())
}

/// Lets a raw socket have only what holds `value` at byte `at` behind the IP header. What it is given begins with
/// that of IPv4, but not with that of IPv6.
pub(crate) fn only(is_v6: bool, at: usize, value: u16) -> Vec<SockFilter> {
    // include/uapi/linux/bpf_common.h: class, size and mode in one number.
    const LDX_IPV4_LENGTH: u16 = 0x01 | 0x10 | 0xa0;
    const LDX_NUMBER: u16 = 0x01;
    const LD_HALF_BEHIND: u16 = 0x08 | 0x40;
    const IF_EQUAL: u16 = 0x05 | 0x10;
    const RETURN: u16 = 0x06;
    let begin = if is_v6 { LDX_NUMBER } else { LDX_IPV4_LENGTH };
    vec![
        SockFilter::new(begin, 0, 0, 0),
        SockFilter::new(LD_HALF_BEHIND, 0, 0, at as u32),
        SockFilter::new(IF_EQUAL, 0, 1, value.into()),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}
