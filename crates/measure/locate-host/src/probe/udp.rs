//! UDP to a port at which nobody listens: routers answer that its time is over, the far end that the port
//! is closed.

use super::{Asker, Form, Id, Mark, any_of, setup};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

pub(super) const NEED: &str = "root (CAP_NET_RAW)";

struct Udp(Mark);

pub(super) fn open(target: IpAddr, port: u16) -> io::Result<Asker> {
    let address: SocketAddr = (target, port).into();
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    setup::prepare(&socket, target.is_ipv6())?;
    socket.bind(&any_of(target).into())?;
    // Not connected: then the kernel would take a closed port for the end.
    Ok(Asker {
        socket,
        form: Box::new(Udp(Mark::new()?)),
        to: Some(address.into()),
        is_v6: target.is_ipv6(),
    })
}

pub(super) fn form() -> Box<dyn Form> {
    Box::new(Udp(Mark::new().expect("Linux has random numbers")))
}

impl Form for Udp {
    fn packet(&self, id: u32) -> Vec<u8> {
        self.0.write(id).to_vec()
    }

    /// The kernel has looked at the ports, and lets the quote begin behind them.
    fn quoted(&self, quote: &[u8]) -> Id {
        self.0.read(quote)
    }

    /// A server that echoes.
    fn reply(&self, packet: &[u8]) -> Id {
        match self.0.read(packet) {
            Id::Unknown => Id::Foreign,
            id => id,
        }
    }

    fn looped(&self, packet: &[u8]) -> Id {
        self.0.read_last(packet)
    }
}
