//! The server's own capture: what passes its device, where a packet capture on the server taps it.
//!
//! The kernel hands a copy of each packet to this socket while it sends it, before the socket that
//! sent it is let go, and of each packet that arrives before TCP sees it. So at any moment at which
//! the kernel looks at a connection's state, everything that the state says was sent has been
//! tapped. (The device has no queue of its own in front: see [`Host::tun`].)

use crate::clock::Clock;
use crate::core::{Direction, Packet};
use crate::error::LabError;
use crate::pcap;
use crate::record::Capture;
use crate::sink::Sink;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike, bind,
    recvmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeVal};
use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_bed::Host;
use unbloat_units::Time;

const MAX_PACKET: usize = 2048;
/// Some seconds of packets.
const BUFFER: usize = 64 << 20;
const POLL: TimeVal = TimeVal::new(0, 5_000);
const WHAT: &str = "the server's capture";

/// What passed the server's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapReport {
    pub packets: u64,
    /// Packets that did not fit the socket's buffer.
    pub missed: u64,
}

/// A capturing socket on the server's device.
pub(crate) struct Tap {
    socket: OwnedFd,
}

impl Tap {
    pub(crate) fn open(server: &Host, device: &str) -> Result<Tap, LabError> {
        server.within(|| {
            let socket = open(device).map_err(failed)?;
            Ok(Tap { socket })
        })?
    }

    /// Writes packets until `stop`, then those that are left.
    pub(crate) fn run(
        &self,
        clock: Clock,
        capture: Capture,
        mut out: Sink,
        stop: &AtomicBool,
    ) -> Result<TapReport, LabError> {
        let mut packets = 0;
        pcap::raw_header(&mut out).map_err(failed)?;
        loop {
            // Asked before the last look, so that nothing is left behind.
            let is_over = stop.load(Ordering::Relaxed);
            match self.receive() {
                Ok((time, Some(packet))) => {
                    let keep = capture.keep(&packet);
                    pcap::raw_record(&mut out, time, &packet, keep).map_err(failed)?;
                    packets += 1;
                }
                Ok((_, None)) => {}
                Err(nix::Error::EAGAIN | nix::Error::EINTR) if is_over => break,
                Err(nix::Error::EAGAIN | nix::Error::EINTR) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        clock.check()?;
        let missed = self.missed().map_err(failed)?;
        Ok(TapReport { packets, missed })
    }

    /// The next packet and when it was tapped; `None` for packets that are not the bed's.
    fn receive(&self) -> nix::Result<(Time, Option<Packet>)> {
        let mut bytes = vec![0; MAX_PACKET];
        let mut control = nix::cmsg_space!(TimeSpec);
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<LinkAddr>(fd, &mut parts, Some(&mut control), MsgFlags::empty())?;
        let stamp = message.cmsgs()?.find_map(|c| match c {
            ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
            _ => None,
        });
        let is_sent = message
            .address
            .is_some_and(|a| a.pkttype() == libc::PACKET_OUTGOING);
        let length = message.bytes;
        bytes.truncate(length);
        let direction = if is_sent {
            Direction::Down
        } else {
            Direction::Up
        };
        let stamp = stamp.ok_or(nix::Error::ENODATA)?;
        let time = Time::from_ns(stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec());
        Ok((time, Packet::parse(direction, bytes)))
    }

    fn missed(&self) -> io::Result<u64> {
        let mut statistics = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the socket is open, and `statistics` and `length` are live and of the sizes said.
        let failed = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if failed < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(u64::from(statistics.tp_drops))
    }
}

fn failed(error: impl Into<io::Error>) -> LabError {
    LabError::Socket {
        what: WHAT,
        source: error.into(),
    }
}

fn open(device: &str) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &POLL)?;
    let index = nix::net::if_::if_nametoindex(device)?;
    // SAFETY: an all-zero sockaddr_ll is a valid value of this plain C struct.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    // Packets on their way out are only seen by those who ask for all protocols.
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` is a live sockaddr_ll and `length` its size.
    let address = unsafe { LinkAddr::from_raw((&raw const address).cast(), Some(length)) };
    bind(socket.as_raw_fd(), &address.ok_or(nix::Error::EINVAL)?)?;
    Ok(socket)
}
