//! Echo requests by a ping socket, for which the kernel writes identifier and checksum and which is handed its own
//! answers only; by a raw one where `net.ipv4.ping_group_range` keeps the caller out and root may.

use super::{Asker, Form, Id, Mark, any_of, setup};
use socket2::Socket;
use std::io;
use std::net::{IpAddr, SocketAddr};
use unbloat_os::icmp::{Echo, IDENTIFIER};

pub(super) const NEED: &str = "root (CAP_NET_RAW), or your group in net.ipv4.ping_group_range";

struct Icmp {
    mark: Mark,
    echo: Echo,
    /// What tells this raw socket's answers from others'; None where the kernel does.
    raw: Option<u16>,
}

pub(super) fn open(target: IpAddr, _port: u16) -> io::Result<Asker> {
    match ping(target) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => raw(target),
        done => done,
    }
}

fn ping(target: IpAddr) -> io::Result<Asker> {
    let form = Icmp::new(target, None)?;
    let socket = socket(&form, target)?;
    // All probes have the identifier that this gives.
    socket.bind(&any_of(target).into())?;
    Ok(Asker {
        socket,
        form: Box::new(form),
        to: Some(SocketAddr::from((target, 0)).into()),
        is_v6: target.is_ipv6(),
    })
}

fn raw(target: IpAddr) -> io::Result<Asker> {
    // Errors have nothing there but zeros.
    let identifier = getrandom::u32().map_err(io::Error::other)? as u16 | 1;
    let form = Icmp::new(target, Some(identifier))?;
    let socket = socket(&form, target)?;
    socket.attach_filter(&setup::only(target.is_ipv6(), IDENTIFIER, identifier))?;
    socket.connect(&SocketAddr::from((target, 0)).into())?;
    Ok(Asker {
        socket,
        form: Box::new(form),
        to: None,
        is_v6: target.is_ipv6(),
    })
}

fn socket(form: &Icmp, target: IpAddr) -> io::Result<Socket> {
    let socket = form.echo.open()?;
    setup::prepare(&socket, target.is_ipv6())?;
    Ok(socket)
}

impl Icmp {
    fn new(target: IpAddr, raw: Option<u16>) -> io::Result<Icmp> {
        let echo = match raw {
            Some(_) => Echo::raw(target.is_ipv6()),
            None => Echo::ping(target.is_ipv6()),
        };
        Ok(Icmp {
            mark: Mark::new()?,
            echo,
            raw,
        })
    }

    /// Whether a message that the kernel has not looked at may be ours.
    fn may_be_ours(&self, identifier: u16) -> bool {
        self.raw.is_none_or(|ours| ours == identifier)
    }
}

pub(super) fn form(target: IpAddr, raw: Option<u16>) -> Box<dyn Form> {
    Box::new(Icmp::new(target, raw).expect("Linux has random numbers"))
}

/// What the far end makes of a probe.
pub(super) fn answer(probe: &[u8], reply: u8) -> Vec<u8> {
    [&[reply], &probe[1..]].concat()
}

impl Form for Icmp {
    fn packet(&self, id: u32) -> Vec<u8> {
        let (identifier, sequence) = (self.raw.unwrap_or_default(), id as u16);
        let mark = self.mark.write_with(id, sequence);
        self.echo.request(identifier, sequence, &mark)
    }

    fn quoted(&self, quote: &[u8]) -> Id {
        match self.echo.quoted(quote) {
            Some(asked) if self.may_be_ours(asked.identifier) => {
                match self.mark.read(asked.payload) {
                    Id::Unknown => Id::Low(asked.sequence),
                    id => id,
                }
            }
            _ => Id::Foreign,
        }
    }

    fn reply(&self, packet: &[u8]) -> Id {
        let reply = self.echo.reply(packet);
        match reply.map(|reply| self.mark.read(reply.payload)) {
            Some(Id::Unknown) | None => Id::Foreign,
            Some(id) => id,
        }
    }

    fn looped(&self, packet: &[u8]) -> Id {
        self.mark.read_last(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::checksum;

    fn icmp(raw: Option<u16>) -> Icmp {
        Icmp::new([10, 0, 0, 1].into(), raw).unwrap()
    }

    #[test]
    fn a_short_quote_gives_half_the_number_and_nonsense_none() {
        let ping = icmp(None);
        let mut packet = ping.packet(0x1_2345);
        assert_eq!(ping.quoted(&packet), Id::Whole(0x1_2345));
        assert_eq!(ping.quoted(&packet[..8]), Id::Low(0x2345));
        assert_eq!(ping.quoted(&packet[..7]), Id::Foreign);
        assert_eq!(ping.reply(&packet), Id::Foreign);
        packet[0] = 0;
        assert_eq!(ping.reply(&packet), Id::Whole(0x1_2345));
        assert_eq!(ping.reply(&packet[..8]), Id::Foreign);
        assert_eq!(ping.quoted(&[]), Id::Foreign);
    }

    #[test]
    fn a_raw_sockets_probes_have_one_checksum_that_is_right_and_are_told_from_others() {
        let raw = icmp(Some(0x4321));
        let packet = raw.packet(7);
        assert_eq!(checksum::of(&packet), 0);
        assert_eq!(packet[2..4], raw.packet(0xf_0000)[2..4]);
        assert_eq!(raw.quoted(&packet), Id::Whole(7));
        assert_eq!(raw.quoted(&packet[..8]), Id::Low(7));
        let mut other = packet.clone();
        other[5] ^= 1;
        assert_eq!(raw.quoted(&other[..8]), Id::Foreign);
        let mut reply = [&[0x45; 20][..], &packet].concat();
        reply[20] = 0;
        assert_eq!(raw.reply(&reply), Id::Whole(7));
        assert_eq!(raw.reply(&[0x4f]), Id::Foreign);
        assert_eq!(raw.reply(&[]), Id::Foreign);
    }
}
