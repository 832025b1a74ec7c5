//! Pings from the sender to the receiver.

use super::bed::{Bed, RECEIVER};
use super::fault::{Doing, Fault};
use super::socket::{self, now_ns};
use crate::outcome::Ping;
use socket2::Socket;
use std::collections::BTreeMap;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
/// As `ping` has it: 64 bytes of ICMP in 84 of IP.
const ICMP_BYTES: usize = 64;

pub(crate) struct Pinger {
    socket: Socket,
    begin_ns: u64,
    next: u16,
    sent: BTreeMap<u16, u64>,
    answered: Vec<Ping>,
}

impl Pinger {
    pub(crate) fn new(bed: &Bed, begin_ns: u64) -> Result<Pinger, Fault> {
        bed.sender.enter()?;
        Ok(Pinger {
            socket: socket::icmp(RECEIVER)?,
            begin_ns,
            next: 0,
            sent: BTreeMap::new(),
            answered: Vec::new(),
        })
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn send(&mut self) -> Result<(), Fault> {
        let mut request = [0; ICMP_BYTES];
        request[0] = ECHO_REQUEST;
        request[6..8].copy_from_slice(&self.next.to_be_bytes());
        let sum = !checksum(&request);
        request[2..4].copy_from_slice(&sum.to_be_bytes());
        self.sent.insert(self.next, now_ns());
        self.next = self.next.wrapping_add(1);
        self.socket.send(&request).doing(|| "pinging".to_owned())?;
        Ok(())
    }

    pub(crate) fn receive(&mut self) -> Result<(), Fault> {
        let (sent, answered, begin_ns) = (&mut self.sent, &mut self.answered, self.begin_ns);
        socket::receive_all(&self.socket, |at_ns, ip| {
            let reply = ip.get(20..28).filter(|icmp| icmp[0] == ECHO_REPLY);
            let number = reply.map(|icmp| u16::from_be_bytes([icmp[6], icmp[7]]));
            if let Some(sent_ns) = number.and_then(|number| sent.remove(&number)) {
                answered.push(Ping {
                    at_ns: sent_ns - begin_ns,
                    rtt_ns: at_ns - sent_ns,
                });
            }
        })
        .doing(|| "reading pings".to_owned())
    }

    pub(crate) fn finish(self) -> Vec<Ping> {
        self.answered
    }
}

/// RFC 1071, over an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071_section_3() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&bytes), 0xddf2);
    }
}
