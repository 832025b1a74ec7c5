//! Echo requests of ICMP at a slow pace, on a thread of their own.
//!
//! # References
//! RFC 792 and RFC 4443: echo requests. Linux has sockets for them (`SOCK_DGRAM`, `IPPROTO_ICMP`) that need no privilege where the group
//! is in `net.ipv4.ping_group_range`; root has raw ones everywhere.
//!
//! Networks may treat ICMP otherwise than anything else, and hosts may answer it late. So it is told beside the rest and nothing is
//! concluded from it.

use crate::measured::{Probe, ProbeKind};
use crate::stamped;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use unbloat_traffic::Clock;
use unbloat_units::{Delta, Time};

/// Ten a second: of 84 bytes on the wire they are 7 kbit/s each way.
const EVERY: Delta = Delta::ms(100);
/// Until it looks again whether it is to end.
const LOOK: Delta = Delta::ms(50);
/// Type, code, checksum, identifier, sequence number.
pub(crate) const HEADER: usize = 8;
/// As `ping` has them: 56.
const PAYLOAD: usize = 56;
/// A raw socket gets all of the host's ICMP, of any length.
const LARGEST: usize = 2_048;

/// Requests under way.
pub struct Pinging {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Probe>>,
}

impl Pinging {
    pub fn begin(to: SocketAddr, clock: Clock) -> io::Result<Pinging> {
        let pinger = Pinger::open(to, clock)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let builder = std::thread::Builder::new().name("ping".into());
        let thread = builder.spawn(move || pinger.run(&stopped))?;
        Ok(Pinging { stop, thread })
    }

    /// All requests; those whose answers have not come by now stay without.
    pub fn end(self) -> Vec<Probe> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

pub(crate) struct Pinger {
    socket: Socket,
    form: Form,
    clock: Clock,
    sent: Vec<Probe>,
}

impl Pinger {
    pub(crate) fn open(mut to: SocketAddr, clock: Clock) -> io::Result<Pinger> {
        to.set_port(0);
        let protocol = match to {
            SocketAddr::V4(_) => Protocol::ICMPV4,
            SocketAddr::V6(_) => Protocol::ICMPV6,
        };
        let open = |kind| Socket::new(Domain::for_address(to), kind, Some(protocol));
        let (socket, is_raw) = match open(Type::DGRAM) {
            Ok(socket) => (socket, false),
            Err(refused) => (open(Type::RAW).map_err(|_| refused)?, true),
        };
        socket.set_nonblocking(true)?;
        // A raw one then gets what comes from there alone.
        socket.connect(&to.into())?;
        stamped::stamp(socket.as_fd())?;
        Ok(Pinger {
            socket,
            form: Form {
                is_v6: to.is_ipv6(),
                has_ip_header: is_raw && to.is_ipv4(),
                token: fastrand::u64(..),
            },
            clock,
            sent: Vec::new(),
        })
    }

    fn run(mut self, stop: &AtomicBool) -> Vec<Probe> {
        let mut due = self.clock.now();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= due {
                self.send(PAYLOAD);
                due = (due + EVERY).max(now);
            }
            let rest = due.since(self.clock.now());
            stamped::wait(self.socket.as_fd(), rest.min(LOOK));
            // What goes wrong with one answer says nothing of the next.
            let _ = self.receive();
        }
        for probe in &mut self.sent {
            if probe.answer.is_none() && probe.failure.is_none() {
                probe.failure = Some("no answer".to_owned());
            }
        }
        self.sent
    }

    /// A request with so many bytes behind its header.
    pub(crate) fn send(&mut self, payload: usize) {
        let number = self.sent.len() as u32;
        let packet = self.form.request(number, payload);
        let at = self.clock.now();
        let refused = self.socket.send(&packet).err();
        self.sent.push(Probe {
            kind: ProbeKind::Icmp,
            sent: at,
            flow: None,
            tcp: None,
            tls: None,
            tls_round_trips: 0,
            answer: None,
            failure: refused.map(|error| error.to_string()),
        });
    }

    /// Takes answers until a time.
    pub(crate) fn listen(&mut self, until: Time) {
        loop {
            let rest = until.since(self.clock.now());
            if rest <= Delta::ZERO {
                return;
            }
            stamped::wait(self.socket.as_fd(), rest.min(LOOK));
            // What goes wrong with one answer says nothing of the next.
            let _ = self.receive();
        }
    }

    /// Of each request in its order, as far as it was answered.
    pub(crate) fn round_trips(&self) -> impl Iterator<Item = Option<Delta>> + '_ {
        self.sent.iter().map(|probe| probe.answer)
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut buffer = [0; LARGEST];
        while let Some((length, at)) =
            stamped::receive(self.socket.as_fd(), &mut buffer, self.clock)?
        {
            if let Some(number) = self.form.answered(&buffer[..length]) {
                self.take(number, at);
            }
        }
        Ok(())
    }

    fn take(&mut self, number: u32, at: Time) {
        let probe = self.sent.get_mut(number as usize);
        if let Some(probe) = probe.filter(|probe| probe.answer.is_none()) {
            probe.answer = Some(at.since(probe.sent).max(Delta::ZERO));
        }
    }
}

/// What our packets look like among those of others.
struct Form {
    is_v6: bool,
    has_ip_header: bool,
    /// Nobody who does not see our packets can answer for the server.
    token: u64,
}

impl Form {
    fn request(&self, number: u32, payload: usize) -> Vec<u8> {
        let kind = if self.is_v6 { 128 } else { 8 };
        let [.., high, low] = number.to_be_bytes();
        let [first, second, ..] = self.token.to_be_bytes();
        let mut packet = vec![kind, 0, 0, 0, first, second, high, low];
        packet.extend(self.token.to_be_bytes());
        packet.extend(number.to_be_bytes());
        packet.resize(HEADER + payload, 0);
        if !self.is_v6 {
            // The kernel does it over where it knows the protocol.
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    /// The number of the request that this answers, if it is one of ours.
    fn answered(&self, packet: &[u8]) -> Option<u32> {
        let packet = match self.has_ip_header {
            true => packet.get(usize::from(packet.first()? & 0x0f) * 4..)?,
            false => packet,
        };
        let kind = if self.is_v6 { 129 } else { 0 };
        let (header, payload) = packet.split_at_checked(HEADER)?;
        let (token, rest) = payload.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        let is_ours = header[0] == kind && u64::from_be_bytes(*token) == self.token;
        is_ours.then_some(u32::from_be_bytes(*number))
    }
}

/// RFC 1071.
fn checksum(packet: &[u8]) -> u16 {
    let words = packet.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(is_v6: bool, has_ip_header: bool) -> Form {
        Form {
            is_v6,
            has_ip_header,
            token: 0x0123_4567_89ab_cdef,
        }
    }

    #[test]
    fn a_request_that_came_back_as_reply_is_known_by_its_number() {
        for (is_v6, reply) in [(false, 0), (true, 129)] {
            let mut packet = form(is_v6, false).request(70_000, PAYLOAD);
            assert_eq!(form(is_v6, false).answered(&packet), None);
            packet[0] = reply;
            // The kernel's ping sockets write an identifier of their own.
            packet[4..6].fill(0xff);
            assert_eq!(form(is_v6, false).answered(&packet), Some(70_000));
            packet[HEADER] ^= 1;
            assert_eq!(form(is_v6, false).answered(&packet), None);
        }
    }

    #[test]
    fn what_a_raw_socket_gives_has_a_header_of_any_length_and_may_be_cut() {
        let mut reply = form(false, true).request(3, PAYLOAD);
        reply[0] = 0;
        let packet = [&[0x46][..], &[0; 23], &reply].concat();
        assert_eq!(form(false, true).answered(&packet), Some(3));
        for cut in 0..24 + HEADER + 12 {
            assert_eq!(form(false, true).answered(&packet[..cut]), None);
        }
    }

    #[test]
    fn a_packet_with_its_checksum_sums_to_nothing() {
        let packet = form(false, false).request(9, PAYLOAD);
        assert_eq!(checksum(&packet), 0);
        // RFC 1071, 3: the example's sum is ddf2.
        assert_eq!(
            checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
    }
}
