//! Datagrams with the time at which the kernel received them.

use crate::clock::Clock;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt,
    sockopt::ReceiveTimestampns,
};
use std::io;
use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd};
use unbloat_echo::Clocks;
use unbloat_units::Time;

/// Asks the kernel for stamps.
pub(crate) fn stamp(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, ReceiveTimestampns, &true)?)
}

/// The next datagram that waits, how long it is, and when the kernel had it.
pub(crate) fn receive(
    socket: &impl AsRawFd,
    buffer: &mut [u8],
    clock: Clock,
) -> io::Result<(usize, Clocks)> {
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut control),
        MsgFlags::MSG_DONTWAIT,
    )?;
    let stamp = message.cmsgs()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(at) => Some(at),
        _ => None,
    });
    let received = match stamp {
        Some(at) => clock.at(Time::from_ns(at.tv_sec() * 1_000_000_000 + at.tv_nsec())),
        None => clock.clocks(),
    };
    Ok((message.bytes, received))
}
