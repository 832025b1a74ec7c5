//! Datagrams with the time at which the kernel received them.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;
use std::io;
use std::os::fd::BorrowedFd;
use unbloat_os::clock::Clock;
use unbloat_os::{message, sockopt};
use unbloat_units::{Delta, Time};

/// What waits to be read is not lost for lack of memory.
const BUFFER: usize = 1 << 20;

/// Asks the kernel for stamps.
pub fn stamp(socket: BorrowedFd<'_>) -> io::Result<()> {
    sockopt::set_receive_stamps(socket)?;
    SockRef::from(&socket).set_recv_buffer_size(BUFFER)
}

/// The next datagram that waits, and when the kernel had it, by `clock`.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    clock: Clock,
) -> io::Result<Option<(usize, Time)>> {
    match message::receive_now(socket, buffer) {
        Ok(got) => {
            let at = got.stamp.map(|wall| wall - clock.wall_ahead());
            Ok(Some((got.length, at.unwrap_or_else(|| clock.now()))))
        }
        // The next call reports an ICMP error of the peer, which may be about an earlier packet.
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error),
        },
    }
}

/// Until something can be read, or for so long.
pub fn wait(socket: BorrowedFd<'_>, at_most: Delta) {
    let ns = at_most.as_ns().max(0);
    let timeout = Timespec {
        tv_sec: ns / 1_000_000_000,
        tv_nsec: ns % 1_000_000_000,
    };
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
    // That it ends early is as if something had come.
    let _ = poll(&mut asked, Some(&timeout));
}
