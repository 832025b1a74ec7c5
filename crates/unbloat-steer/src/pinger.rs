//! Echo requests (ICMP), for when nothing else says how long packets wait.

use crate::error::SteerError;
use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, recv, sendto,
    socket_with,
};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use unbloat_units::Time;

const REQUEST: u8 = 8;
const REPLY: u8 = 0;
/// Tells our probes from those of others.
const IDENTIFIER: u16 = 0x5542;

/// An answer, by the number of its probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub number: u16,
    pub at: Time,
}

/// Sends probes to reflectors in turns. A thread waits for answers, so that their times are right.
pub(crate) struct Pinger {
    socket: Arc<OwnedFd>,
    reflectors: Vec<Ipv4Addr>,
    replies: Receiver<Reply>,
}

impl Pinger {
    pub(crate) fn open(
        reflectors: Vec<Ipv4Addr>,
        clock: fn() -> Time,
    ) -> Result<Pinger, SteerError> {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(ipproto::ICMP),
        );
        let socket = Arc::new(socket.map_err(io::Error::from).map_err(SteerError::Probe)?);
        let (sender, replies) = channel();
        let listening = Arc::clone(&socket);
        // It ends with the process: it holds nothing but its socket.
        thread::spawn(move || listen(&listening, clock, &sender));
        Ok(Pinger {
            socket,
            reflectors,
            replies,
        })
    }

    pub(crate) fn send(&self, number: u32) -> Result<(), SteerError> {
        let Some(reflector) = self
            .reflectors
            .get(number as usize % self.reflectors.len().max(1))
        else {
            return Ok(());
        };
        let to = SocketAddrV4::new(*reflector, 0);
        // A reflector that cannot be reached now is silent, which is told by itself.
        let _ = sendto(
            &*self.socket,
            &request(number as u16),
            SendFlags::DONTWAIT,
            &to,
        );
        Ok(())
    }

    pub(crate) fn replies(&self) -> impl Iterator<Item = Reply> + '_ {
        self.replies.try_iter()
    }
}

fn listen(socket: &OwnedFd, clock: fn() -> Time, sender: &Sender<Reply>) {
    let mut buffer = [0; 2_048];
    while let Ok((len, _)) = recv(socket, &mut buffer[..], RecvFlags::empty()) {
        let Some(number) = reply(&buffer[..len.min(2_048)]) else {
            continue;
        };
        if sender
            .send(Reply {
                number,
                at: clock(),
            })
            .is_err()
        {
            return;
        }
    }
}

/// An echo request with 56 bytes of payload, as `ping` sends it.
fn request(number: u16) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[0] = REQUEST;
    bytes[4..6].copy_from_slice(&IDENTIFIER.to_be_bytes());
    bytes[6..8].copy_from_slice(&number.to_be_bytes());
    let checksum = checksum(&bytes);
    bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// The number that an IP packet with an echo reply of ours carries.
pub(crate) fn reply(packet: &[u8]) -> Option<u16> {
    let header = usize::from(packet.first()? & 0x0f) * 4;
    let icmp = packet.get(header..header + 8)?;
    let word = |at: usize| u16::from_be_bytes([icmp[at], icmp[at + 1]]);
    (icmp[0] == REPLY && word(4) == IDENTIFIER).then(|| word(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_to_our_request_is_known_and_nothing_else_is() {
        let request = request(77);
        assert_eq!(checksum(&request), 0, "a right checksum sums up to nothing");
        let mut packet = vec![0x45; 20];
        packet.extend(request);
        assert_eq!(reply(&packet), None, "a request");
        packet[20] = REPLY;
        assert_eq!(reply(&packet), Some(77));
        packet[24] ^= 1;
        assert_eq!(reply(&packet), None, "another program's");
        for cut in 0..28 {
            assert_eq!(reply(&packet[..cut]), None);
        }
    }
}
