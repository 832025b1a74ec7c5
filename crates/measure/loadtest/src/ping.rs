//! Echo requests of ICMP at a slow pace, on a thread of their own.
//!
//! Networks may treat ICMP differently from other traffic, and hosts may answer it late. So it is reported separately. Where the server echoes no
//! datagrams, it replaces them if other probes agree.

use crate::measured::{Probe, ProbeKind};
use crate::stamped;
use socket2::Socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use unbloat_os::clock::Clock;
use unbloat_os::icmp::{Echo, PAYLOAD};
use unbloat_units::{Delta, Time};

/// Ten a second: of 84 bytes on the wire they are 7 kbit/s each way.
const EVERY: Delta = Delta::ms(100);
/// Until it looks again whether it is to end.
const LOOK: Delta = Delta::ms(50);
/// A raw socket gets all of the host's ICMP, of any length.
const LARGEST: usize = 2_048;

/// Requests under way.
pub struct Pinging {
    stop: Arc<AtomicBool>,
    seen: Arc<Seen>,
    thread: JoinHandle<Vec<Probe>>,
}

/// The least round trip, and the last one; zero before the first.
#[derive(Debug, Default)]
struct Seen([AtomicI64; 2]);

impl Pinging {
    pub fn begin(to: SocketAddr, clock: Clock) -> io::Result<Pinging> {
        let pinger = Pinger::open(to, clock)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let builder = std::thread::Builder::new().name("ping".into());
        let seen = pinger.seen.clone();
        let thread = builder.spawn(move || pinger.run(&stopped))?;
        Ok(Pinging { stop, seen, thread })
    }

    /// The least round trip, and the last one.
    pub fn seen(&self) -> Option<[Delta; 2]> {
        let both = self.seen.0.each_ref();
        let both = both.map(|ns| Delta::ns(ns.load(Ordering::Relaxed)));
        (both[1] > Delta::ZERO).then_some(both)
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
    seen: Arc<Seen>,
}

impl Pinger {
    pub(crate) fn open(mut to: SocketAddr, clock: Clock) -> io::Result<Pinger> {
        to.set_port(0);
        let (socket, echo) = open(to.is_ipv6())?;
        socket.set_nonblocking(true)?;
        // A raw one then gets what comes from there alone.
        socket.connect(&to.into())?;
        stamped::stamp(socket.as_fd())?;
        Ok(Pinger {
            socket,
            form: Form {
                echo,
                token: fastrand::u64(..),
            },
            clock,
            sent: Vec::new(),
            seen: Arc::default(),
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
            tcp_resent: false,
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
            let took = at.since(probe.sent).max(Delta::ZERO);
            probe.answer = Some(took);
            let [least, last] = &self.seen.0;
            if last.swap(took.as_ns(), Ordering::Relaxed) == 0 {
                least.store(took.as_ns(), Ordering::Relaxed);
            }
            least.fetch_min(took.as_ns(), Ordering::Relaxed);
        }
    }
}

/// A ping socket, or a raw one where the group may have none and root may.
fn open(is_v6: bool) -> io::Result<(Socket, Echo)> {
    let [ping, raw] = [Echo::ping(is_v6), Echo::raw(is_v6)];
    match ping.open() {
        Ok(socket) => Ok((socket, ping)),
        Err(refused) => Ok((raw.open().map_err(|_| refused)?, raw)),
    }
}

/// What our packets look like among those of others.
struct Form {
    echo: Echo,
    /// Nobody who does not see our packets can answer for the server.
    token: u64,
}

impl Form {
    fn request(&self, number: u32, payload: usize) -> Vec<u8> {
        let identifier = (self.token >> 48) as u16;
        let mut content = self.token.to_be_bytes().to_vec();
        content.extend(number.to_be_bytes());
        content.resize(payload, 0);
        self.echo.request(identifier, number as u16, &content)
    }

    /// The number of the request that this answers, if it is one of ours.
    fn answered(&self, packet: &[u8]) -> Option<u32> {
        let (token, rest) = self.echo.reply(packet)?.payload.split_first_chunk()?;
        let (number, _) = rest.split_first_chunk()?;
        (u64::from_be_bytes(*token) == self.token).then_some(u32::from_be_bytes(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::icmp::HEADER;

    #[test]
    fn a_request_that_came_back_as_reply_is_known_by_its_number() {
        for (echo, reply) in [(Echo::ping(false), 0), (Echo::ping(true), 129)] {
            let form = Form {
                echo,
                token: 0x0123_4567_89ab_cdef,
            };
            let mut packet = form.request(70_000, PAYLOAD);
            assert_eq!(packet.len(), HEADER + PAYLOAD);
            assert_eq!(form.answered(&packet), None);
            packet[0] = reply;
            // The kernel's ping sockets write an identifier of their own.
            packet[4..6].fill(0xff);
            assert_eq!(form.answered(&packet), Some(70_000));
            for cut in 0..HEADER + 12 {
                assert_eq!(form.answered(&packet[..cut]), None);
            }
            packet[HEADER] ^= 1;
            assert_eq!(form.answered(&packet), None);
        }
    }
}
