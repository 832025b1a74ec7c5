//! Echo requests and their replies.
//!
//! # References
//! RFC 792 and RFC 4443. Linux has sockets for them (`SOCK_DGRAM`, `IPPROTO_ICMP`) that need no privilege where the group is in
//! `net.ipv4.ping_group_range`; root has raw ones everywhere.

use crate::checksum;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;

/// Type, code, checksum, identifier, sequence number.
pub const HEADER: usize = 8;
/// Where the identifier stands.
pub const IDENTIFIER: usize = 4;
/// What `ping` sends behind the header.
pub const PAYLOAD: usize = 56;

/// What echo messages of a socket look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    is_v6: bool,
    is_raw: bool,
}

/// An echo message, request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// A ping socket's is the kernel's choice.
    pub identifier: u16,
    pub sequence: u16,
    pub payload: &'a [u8],
}

impl Echo {
    /// Of a ping socket: the kernel writes identifier and checksum, and passes only the replies to this socket.
    pub const fn ping(is_v6: bool) -> Echo {
        Echo {
            is_v6,
            is_raw: false,
        }
    }

    /// Of a raw socket, which gets all of the host's ICMP, over IPv4 with the IP header.
    pub const fn raw(is_v6: bool) -> Echo {
        Echo {
            is_v6,
            is_raw: true,
        }
    }

    pub fn open(self) -> io::Result<Socket> {
        let (domain, protocol) = match self.is_v6 {
            true => (Domain::IPV6, Protocol::ICMPV6),
            false => (Domain::IPV4, Protocol::ICMPV4),
        };
        let kind = if self.is_raw { Type::RAW } else { Type::DGRAM };
        Socket::new(domain, kind, Some(protocol))
    }

    pub fn request(self, identifier: u16, sequence: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![self.request_type(), 0, 0, 0];
        packet.extend(identifier.to_be_bytes());
        packet.extend(sequence.to_be_bytes());
        packet.extend(payload);
        // The kernel writes that of ICMPv6, which covers the addresses.
        if !self.is_v6 {
            let sum = checksum::of(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    /// The reply in what such a socket received.
    pub fn reply(self, received: &[u8]) -> Option<Message<'_>> {
        let message = match self.is_raw && !self.is_v6 {
            true => received.get(usize::from(received.first()? & 0x0f) * 4..)?,
            false => received,
        };
        message_of(if self.is_v6 { 129 } else { 0 }, message)
    }

    /// The request that an ICMP error quotes, without the IP header.
    pub fn quoted(self, quote: &[u8]) -> Option<Message<'_>> {
        message_of(self.request_type(), quote)
    }

    fn request_type(self) -> u8 {
        if self.is_v6 { 128 } else { 8 }
    }
}

fn message_of(kind: u8, message: &[u8]) -> Option<Message<'_>> {
    let (header, payload) = message.split_first_chunk::<HEADER>()?;
    let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    (header[0] == kind).then(|| Message {
        identifier: word(IDENTIFIER),
        sequence: word(6),
        payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_tells_what_was_asked_and_a_request_is_none() {
        for (echo, reply) in [(Echo::ping(false), 0), (Echo::raw(true), 129)] {
            let mut packet = echo.request(7, 77, b"payload");
            assert_eq!(echo.reply(&packet), None);
            let asked = echo.quoted(&packet).unwrap();
            assert_eq!((asked.identifier, asked.sequence), (7, 77));
            packet[0] = reply;
            assert_eq!(echo.reply(&packet).unwrap().payload, b"payload");
            assert_eq!(echo.quoted(&packet), None);
        }
        assert_eq!(checksum::of(&Echo::raw(false).request(1, 2, &[3; 57])), 0);
    }

    #[test]
    fn what_a_raw_socket_of_ipv4_gets_has_a_header_of_any_length_and_may_be_cut() {
        let mut reply = Echo::raw(false).request(7, 3, &[]);
        reply[0] = 0;
        let packet = [&[0x46][..], &[0; 23], &reply].concat();
        assert_eq!(Echo::raw(false).reply(&packet).unwrap().sequence, 3);
        for cut in 0..packet.len() {
            assert_eq!(Echo::raw(false).reply(&packet[..cut]), None);
        }
    }

    #[test]
    fn this_host_answers_itself_on_a_raw_socket() {
        // Needs CAP_NET_RAW.
        let Ok(socket) = Echo::raw(false).open() else {
            return;
        };
        let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        socket.connect(&loopback.into()).unwrap();
        let identifier = std::process::id() as u16;
        let request = Echo::raw(false).request(identifier, 5, &[9; PAYLOAD]);
        socket.send(&request).unwrap();
        let patience = std::time::Duration::from_secs(10);
        socket.set_read_timeout(Some(patience)).unwrap();
        let mut socket = socket;
        let mut buffer = [0; 2_048];
        let is_ours = |message: Message<'_>| message.identifier == identifier;
        loop {
            let length = std::io::Read::read(&mut socket, &mut buffer).expect("an answer");
            let reply = Echo::raw(false).reply(&buffer[..length]);
            if let Some(reply) = reply.filter(|reply| is_ours(*reply)) {
                assert_eq!((reply.sequence, reply.payload), (5, &[9; PAYLOAD][..]));
                return;
            }
        }
    }
}
