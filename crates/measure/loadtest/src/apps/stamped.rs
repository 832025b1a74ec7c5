//! Datagrams with the time at which the kernel received them.

use crate::apps::clock::Clock;
use std::io;
use std::os::fd::AsFd;
use unbloat_irtt::Clocks;
use unbloat_os::{message, sockopt};

/// Asks the kernel for stamps.
pub(crate) fn stamp(socket: &impl AsFd) -> io::Result<()> {
    sockopt::set_receive_stamps(socket.as_fd())
}

/// The next datagram that waits, how long it is, and when the kernel had it.
pub(crate) fn receive(
    socket: &impl AsFd,
    buffer: &mut [u8],
    clock: Clock,
) -> io::Result<(usize, Clocks)> {
    let got = message::receive_now(socket.as_fd(), buffer)?;
    let received = match got.stamp {
        Some(at) => clock.at(at),
        None => clock.clocks(),
    };
    Ok((got.length, received))
}
