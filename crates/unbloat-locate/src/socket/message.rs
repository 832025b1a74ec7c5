//! One message of a socket: answers, errors that quote a probe, stamps of what was sent.

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;
use socket2::Socket;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use unbloat_units::Time;

/// Longer ones are cut; what tells probes apart stands before that.
const LONGEST: usize = 2048;
/// `SCM_TSTAMP_SND` and `SCM_TSTAMP_SCHED` (include/uapi/linux/errqueue.h).
const SENT: u32 = 0;
const SCHEDULED: u32 = 1;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A packet from the far end.
    Reply(IpAddr),
    /// An ICMP error of a router or the far end; whether it says that the way ends there.
    Error {
        from: IpAddr,
        is_end: bool,
    },
    /// A probe of ours entered the queue discipline.
    Queued,
    /// A probe of ours was handed to the driver.
    Left,
    Other,
}

pub(crate) struct Incoming<'a> {
    pub(crate) origin: Origin,
    /// The kernel's stamp.
    pub(crate) at: Option<Time>,
    pub(crate) data: &'a [u8],
}

/// Reads messages, one after the other into the same memory.
pub(crate) struct Reader {
    data: Vec<u8>,
    control: Vec<u8>,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader {
            data: vec![0; LONGEST],
            control: cmsg_space!([u8; 512]),
        }
    }

    /// The next message, errors and stamps first; None when there is none.
    pub(crate) fn next(&mut self, socket: &Socket) -> io::Result<Option<Incoming<'_>>> {
        for flags in [MsgFlags::MSG_ERRQUEUE, MsgFlags::empty()] {
            if let Some((origin, at, length)) = self.read(socket, flags)? {
                let data = &self.data[..length];
                return Ok(Some(Incoming { origin, at, data }));
            }
        }
        Ok(None)
    }

    fn read(
        &mut self,
        socket: &Socket,
        flags: MsgFlags,
    ) -> io::Result<Option<(Origin, Option<Time>, usize)>> {
        let mut parts = [IoSliceMut::new(&mut self.data)];
        let flags = flags | MsgFlags::MSG_DONTWAIT;
        let descriptor = socket.as_raw_fd();
        let space = Some(self.control.as_mut_slice());
        let message = match recvmsg::<SockaddrStorage>(descriptor, &mut parts, space, flags) {
            Ok(message) => message,
            // Errors of the socket are answers too, and stand in its other queue.
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) if is_answer(error) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut origin = message.address.as_ref().and_then(ip).map(Origin::Reply);
        if flags.contains(MsgFlags::MSG_ERRQUEUE) {
            origin = None;
        }
        let mut at = None;
        for control in message.cmsgs().into_iter().flatten() {
            match control {
                ControlMessageOwned::ScmTimestampsns(stamps) => at = time(stamps.system),
                ControlMessageOwned::Ipv4RecvErr(error, from) => {
                    let from = from.map(|from| Ipv4Addr::from(u32::from_be(from.sin_addr.s_addr)));
                    origin = Some(of_error(&error, from.map(IpAddr::from)));
                }
                ControlMessageOwned::Ipv6RecvErr(error, from) => {
                    let from = from.map(|from| Ipv6Addr::from(from.sin6_addr.s6_addr));
                    origin = Some(of_error(&error, from.map(IpAddr::from)));
                }
                _ => {}
            }
        }
        Ok(Some((
            origin.unwrap_or(Origin::Other),
            at,
            message.bytes.min(LONGEST),
        )))
    }
}

fn is_answer(error: Errno) -> bool {
    matches!(
        error,
        Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EPROTO
            | Errno::EACCES
            | Errno::ENOPROTOOPT
            | Errno::EMSGSIZE
    )
}

fn of_error(error: &libc::sock_extended_err, from: Option<IpAddr>) -> Origin {
    const TIME_EXCEEDED: u8 = 11;
    const UNREACHABLE: u8 = 3;
    const TIME_EXCEEDED_V6: u8 = 3;
    const UNREACHABLE_V6: u8 = 1;
    let is_end = match (error.ee_origin, error.ee_type) {
        (libc::SO_EE_ORIGIN_TIMESTAMPING, _) => {
            return match error.ee_info {
                SENT => Origin::Left,
                SCHEDULED => Origin::Queued,
                _ => Origin::Other,
            };
        }
        (libc::SO_EE_ORIGIN_ICMP, TIME_EXCEEDED) => false,
        (libc::SO_EE_ORIGIN_ICMP6, TIME_EXCEEDED_V6) => false,
        (libc::SO_EE_ORIGIN_ICMP, UNREACHABLE) => true,
        (libc::SO_EE_ORIGIN_ICMP6, UNREACHABLE_V6) => true,
        _ => return Origin::Other,
    };
    from.map_or(Origin::Other, |from| Origin::Error { from, is_end })
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|a| a.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|a| a.ip().into()))
}

/// None for the zero that stands for no stamp.
fn time(stamp: TimeSpec) -> Option<Time> {
    let ns = stamp.tv_sec().checked_mul(1_000_000_000)?;
    let ns = ns.checked_add(stamp.tv_nsec())?;
    (ns > 0).then_some(Time::from_ns(ns))
}
