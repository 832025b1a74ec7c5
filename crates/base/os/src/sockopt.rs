//! Socket options that rustix and socket2 do not have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Has errors of netlink say why in words, and leaves out the request that they are about.
pub fn set_netlink_errors(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1)?;
    set(socket, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1)
}

/// Has the kernel note when it received each packet.
pub fn set_receive_stamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// The same, and when it handed each sent packet to the queue discipline and to the driver. Those come by the error queue.
pub fn set_all_stamps(socket: BorrowedFd<'_>) -> io::Result<()> {
    // include/uapi/linux/net_tstamp.h
    const TX_SOFTWARE: i32 = 1 << 1;
    const RX_SOFTWARE: i32 = 1 << 3;
    const SOFTWARE: i32 = 1 << 4;
    const TX_SCHED: i32 = 1 << 8;
    const OPT_CMSG: i32 = 1 << 10;
    let stamps = TX_SCHED | TX_SOFTWARE | RX_SOFTWARE | SOFTWARE | OPT_CMSG;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps)
}

/// Puts ICMP errors into the error queue, with what they quote.
pub fn set_error_queue(socket: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    match is_v6 {
        true => set(socket, libc::SOL_IPV6, libc::IPV6_RECVERR, 1),
        false => set(socket, libc::SOL_IP, libc::IP_RECVERR, 1),
    }
}

/// Has each packet tell the address that it came to.
pub fn set_local_address(socket: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    match is_v6 {
        true => set(socket, libc::SOL_IPV6, libc::IPV6_RECVPKTINFO, 1),
        false => set(socket, libc::SOL_IP, libc::IP_PKTINFO, 1),
    }
}

/// Wakes the reader only for so many bytes.
pub fn set_receive_low_water(socket: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Chooses the port with the peer in view, so that ports do not run out.
pub fn set_late_port(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// The largest window that TCP offers.
pub fn set_window_clamp(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Gives a packet socket only what comes in.
pub fn set_ignore_outgoing(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)
}

fn set(socket: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value is a live int of the size that is given.
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
