//! For the fuzz target: forms of probes without sockets, and answers made of probes.

use super::{Form, Origin, icmp, tcp, udp};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The ways to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    Udp,
    Ping,
    /// By a raw socket, which is given IPv4 headers too.
    Raw,
    PingV6,
    Tcp,
}

impl Kinds {
    pub(crate) fn of(byte: u8) -> Kinds {
        use Kinds::{Ping, PingV6, Raw, Tcp, Udp};
        [Udp, Ping, Raw, PingV6, Tcp][usize::from(byte) % 5]
    }

    /// Whether probes hold a number that nobody guesses in one attempt of many.
    pub(crate) fn has_mark(self) -> bool {
        self != Kinds::Tcp
    }

    /// What an honest router quotes of the probe, or an honest far end replies, then cut and with `over` laid over it.
    pub(crate) fn quote(
        self,
        form: &dyn Form,
        number: u8,
        origin: Origin,
        over: &[u8],
        cut: u8,
    ) -> Vec<u8> {
        let probe = form.packet(u32::from(number & 31));
        let mut packet = match (origin, self) {
            (Origin::Reply(_), Kinds::Tcp) => tcp::answer(&probe),
            (Origin::Reply(_), Kinds::Ping) => icmp::answer(&probe, 0),
            (Origin::Reply(_), Kinds::PingV6) => icmp::answer(&probe, 129),
            (Origin::Reply(_), Kinds::Raw) => [vec![0x45; 20], icmp::answer(&probe, 0)].concat(),
            (Origin::Queued | Origin::Left, _) => [vec![0x45; 34], probe].concat(),
            _ => probe,
        };
        packet
            .iter_mut()
            .zip(over)
            .for_each(|(to, from)| *to ^= from);
        packet.truncate(usize::from(cut));
        packet
    }
}

pub(crate) fn form(kind: Kinds) -> Box<dyn Form> {
    let v4: IpAddr = Ipv4Addr::new(192, 0, 2, 1).into();
    let v6: IpAddr = Ipv6Addr::LOCALHOST.into();
    match kind {
        Kinds::Udp => udp::form(),
        Kinds::Ping => icmp::form(v4, None),
        Kinds::Raw => icmp::form(v4, Some(0x4321)),
        Kinds::PingV6 => icmp::form(v6, None),
        Kinds::Tcp => tcp::form(v4),
    }
}
