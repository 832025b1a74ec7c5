//! What all sockets are told.

use socket2::{SockFilter, Socket};
use std::io;
use std::os::fd::AsRawFd;

const SOF_TIMESTAMPING_TX_SOFTWARE: libc::c_int = 1 << 1;
const SOF_TIMESTAMPING_RX_SOFTWARE: libc::c_int = 1 << 3;
const SOF_TIMESTAMPING_SOFTWARE: libc::c_int = 1 << 4;
const SOF_TIMESTAMPING_OPT_CMSG: libc::c_int = 1 << 10;
const SOF_TIMESTAMPING_TX_SCHED: libc::c_int = 1 << 8;

/// Lets the socket have the answers to what it sent, and stamps on the way out and in.
pub(crate) fn prepare(socket: &Socket, is_v6: bool) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let errors = match is_v6 {
        true => (libc::SOL_IPV6, libc::IPV6_RECVERR),
        false => (libc::SOL_IP, libc::IP_RECVERR),
    };
    set(socket, errors.0, errors.1, 1)?;
    let stamps = SOF_TIMESTAMPING_TX_SCHED
        | SOF_TIMESTAMPING_TX_SOFTWARE
        | SOF_TIMESTAMPING_RX_SOFTWARE
        | SOF_TIMESTAMPING_SOFTWARE
        | SOF_TIMESTAMPING_OPT_CMSG;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps)?;
    // A burst of answers, each with what it quotes. As much as is allowed.
    let _ = socket.set_recv_buffer_size(1 << 20);
    Ok(())
}

/// Lets a raw socket have only what holds `value` at byte `at` behind the IP header. What it is given begins with
/// that of IPv4, but not with that of IPv6.
pub(crate) fn only(is_v6: bool, at: usize, value: u16) -> Vec<SockFilter> {
    const LDX_IPV4_LENGTH: u16 = (libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH) as u16;
    const LDX_NUMBER: u16 = (libc::BPF_LDX | libc::BPF_W | libc::BPF_IMM) as u16;
    const LD_HALF_BEHIND: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_IND) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let begin = if is_v6 { LDX_NUMBER } else { LDX_IPV4_LENGTH };
    vec![
        SockFilter::new(begin, 0, 0, 0),
        SockFilter::new(LD_HALF_BEHIND, 0, 0, at as u32),
        SockFilter::new(IF_EQUAL, 0, 1, value.into()),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}

fn set(
    socket: &Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value is a live int of the size that is said.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
