//! NAME: what probes are, who answers them, and with what, in one line.
//!
//! # References
//! RFC, section; Linux file.

use super::{Asker, Form, Id, Mark, any_of, setup};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// What an error says when the socket cannot be opened without it.
pub(super) const NEED: &str = "root (CAP_NET_RAW)";

/// What tells one probe from another, and ours from others'.
struct TYPE(Mark);

pub(super) fn open(target: IpAddr, port: u16) -> io::Result<Asker> {
    let address: SocketAddr = (target, port).into();
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    setup::prepare(&socket, target.is_ipv6())?;
    socket.bind(&any_of(target).into())?;
    Ok(Asker {
        socket,
        form: Box::new(TYPE(Mark::new()?)),
        to: Some(address.into()),
        is_v6: target.is_ipv6(),
    })
}

impl Form for TYPE {
    fn packet(&self, id: u32) -> Vec<u8> {
        self.0.write(id).to_vec()
    }

    fn quoted(&self, quote: &[u8]) -> Id {
        self.0.read(quote)
    }

    fn reply(&self, packet: &[u8]) -> Id {
        self.0.read(packet)
    }

    fn looped(&self, packet: &[u8]) -> Id {
        self.0.read_last(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn a_probe_is_known_by_its_name_and_found_again_in_what_quotes_it() {
        assert_eq!("NAME".parse(), Ok(Kind::TYPE));
        let form = TYPE(Mark::new().unwrap());
        let packet = form.packet(7);
        assert_eq!(form.quoted(&packet), Id::Whole(7));
        assert_eq!(form.quoted(&[]), Id::Unknown);
        let looped = [&[0x45; 20][..], &packet].concat();
        assert_eq!(form.looped(&looped), Id::Whole(7));
    }
}
