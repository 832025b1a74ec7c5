//! One message of a socket: answers, errors that quote a probe, stamps of what was sent.

use rustix::io::Errno;
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use unbloat_os::message::{Message, QueuedError, receive_error, receive_now};
use unbloat_units::Time;

/// Longer ones are cut; what tells probes apart stands before that.
const LONGEST: usize = 2048;
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
pub(crate) struct Reader(Vec<u8>);

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader(vec![0; LONGEST])
    }

    /// The next message, errors and stamps first; None when there is none.
    pub(crate) fn next(&mut self, socket: &Socket) -> io::Result<Option<Incoming<'_>>> {
        for read in [receive_error, receive_now] {
            let message = match read(socket.as_fd(), &mut self.0) {
                Ok(message) => message,
                Err(error) if is_none(&error) => continue,
                Err(error) => return Err(error),
            };
            return Ok(Some(Incoming {
                origin: origin(&message),
                // Zero stands for no stamp.
                at: message.stamp.filter(|at| at.as_ns() > 0),
                data: &self.0[..message.length],
            }));
        }
        Ok(None)
    }
}

/// Errors of the socket are answers too, and stand in its other queue.
fn is_none(error: &io::Error) -> bool {
    let none = [
        Errno::AGAIN,
        Errno::INTR,
        Errno::CONNREFUSED,
        Errno::HOSTUNREACH,
        Errno::NETUNREACH,
        Errno::PROTO,
        Errno::ACCESS,
        Errno::NOPROTOOPT,
        Errno::MSGSIZE,
    ];
    Errno::from_io_error(error).is_some_and(|code| none.contains(&code))
}

fn origin(message: &Message) -> Origin {
    const TIME_EXCEEDED: u8 = 11;
    const UNREACHABLE: u8 = 3;
    const TIME_EXCEEDED_V6: u8 = 3;
    const UNREACHABLE_V6: u8 = 1;
    let reply = |from: SocketAddr| Origin::Reply(from.ip());
    match message.error {
        None => message.from.map_or(Origin::Other, reply),
        Some(QueuedError::Left) => Origin::Left,
        Some(QueuedError::Queued) => Origin::Queued,
        Some(QueuedError::Icmp {
            is_v6,
            kind,
            from: Some(from),
            ..
        }) => match (is_v6, kind) {
            (false, TIME_EXCEEDED) | (true, TIME_EXCEEDED_V6) => Origin::Error {
                from,
                is_end: false,
            },
            (false, UNREACHABLE) | (true, UNREACHABLE_V6) => Origin::Error { from, is_end: true },
            _ => Origin::Other,
        },
        Some(_) => Origin::Other,
    }
}
