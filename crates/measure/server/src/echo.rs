//! Answers irtt on a thread of its own, so that no load delays it, with the kernel's times of arrival.

use crate::options::Limits;
use crate::shared::Shared;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing::trace;
use unbloat_irtt::wire::Key;
use unbloat_irtt::{Answer, Clocks, Server};
use unbloat_os::clock::{monotonic, wall};
use unbloat_os::message::{self, LocalAddress};
use unbloat_os::{priority, sockopt};
use unbloat_units::{Delta, Time};

/// Packets that wait while this thread does not run: half a second of 1,000 clients.
const WAITING: usize = 4 << 20;

/// More than the longest request; what is longer is cut, and refused for its length.
const ROOM: usize = 2048;

/// How often it looks whether it is to stop.
const LOOKS: Duration = Duration::from_millis(100);

/// Runs before threads that carry load, where this is allowed.
const NICE: i32 = -10;

pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    socket.set_recv_buffer_size(WAITING)?;
    socket.set_read_timeout(Some(LOOKS))?;
    sockopt::set_receive_stamps(socket.as_fd())?;
    // Answers come from the address that was asked, of several that this host may have.
    sockopt::set_local_address(socket.as_fd(), address.is_ipv6())?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

pub fn server(limits: &Limits, tokens: &[String]) -> Server {
    let keys = tokens.iter().map(|token| Key::new(token.as_bytes()));
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).expect("Linux has random numbers");
    let limits = unbloat_irtt::Limits {
        clients: limits.echo_clients,
        clients_per_host: limits.sessions_per_address,
        ..unbloat_irtt::Limits::default()
    };
    Server::new(limits, keys.collect(), secret)
}

/// Answers until `stops` says so.
pub fn run(socket: &UdpSocket, mut server: Server, shared: &Shared, stops: impl Fn() -> bool) {
    priority::set_nice(NICE);
    let mut packet = [0; ROOM];
    let mut answer = Vec::with_capacity(ROOM);
    while !stops() {
        let Ok(Some(arrived)) = receive(socket, &mut packet) else {
            continue;
        };
        let bytes = &packet[..arrived.length];
        let handled = server.handle(arrived.from, bytes, arrived.at, clocks, &mut answer);
        match handled {
            // A full queue of this host's drops it, as any queue may.
            Ok(Answer::Send { tos }) => drop(send(socket, &answer, &arrived, tos)),
            Ok(_) => {}
            Err(denial) => trace!(client = %arrived.from, ?denial, "datagram refused"),
        }
        let echoed = server.tally().echoed;
        shared.counters.echoed.store(echoed, Ordering::Relaxed);
    }
}

struct Arrived {
    from: SocketAddr,
    /// The address that was asked.
    to: Option<LocalAddress>,
    length: usize,
    at: Clocks,
}

fn clocks() -> Clocks {
    Clocks {
        wall: wall(),
        mono: monotonic(),
    }
}

/// The kernel stamps arrivals by the wall clock alone; how long ago that was tells the other one.
fn arrival(stamp: Option<Time>) -> Clocks {
    let now = clocks();
    let ago = stamp.map(|stamp| now.wall.since(stamp));
    // Beyond a second the wall clock was set meanwhile.
    let ago = ago.filter(|ago| (0..1_000_000_000).contains(&ago.as_ns()));
    let ago = ago.unwrap_or(Delta::ns(0));
    Clocks {
        wall: now.wall - ago,
        mono: now.mono - ago,
    }
}

fn receive(socket: &UdpSocket, packet: &mut [u8]) -> io::Result<Option<Arrived>> {
    let message = message::receive(socket.as_fd(), packet)?;
    Ok(message.from.map(|from| Arrived {
        from,
        to: message.to,
        length: message.length,
        at: arrival(message.stamp),
    }))
}

fn send(socket: &UdpSocket, bytes: &[u8], to: &Arrived, tos: u8) -> io::Result<()> {
    message::send_from(socket.as_fd(), bytes, to.from, to.to, tos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_the_kernels_time_and_the_address_that_it_came_to() {
        for any in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let socket = bind(any.parse().unwrap()).unwrap();
            let port = socket.local_addr().unwrap().port();
            let target = if any.starts_with("127") {
                "127.0.0.1"
            } else {
                "::1"
            };
            let client = UdpSocket::bind((target, 0)).unwrap();
            client.connect((target, port)).unwrap();
            let before = clocks();
            client.send(b"hello").unwrap();
            let mut packet = [0; ROOM];
            let arrived = receive(&socket, &mut packet).unwrap().unwrap();
            let after = clocks();
            assert_eq!((arrived.length, &packet[..5]), (5, &b"hello"[..]));
            assert!(before.mono <= arrived.at.mono && arrived.at.mono <= after.mono);
            assert!(before.wall <= arrived.at.wall && arrived.at.wall <= after.wall);
            send(&socket, b"back", &arrived, 0x10).unwrap();
            let mut back = [0; 16];
            assert_eq!(client.recv(&mut back).unwrap(), 4);
        }
    }
}
