//! Datagrams of one application, as echoes.

use crate::apps::clock::{Clock, duration};
use crate::apps::stamped;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use unbloat_irtt::clock::Correction;
use unbloat_irtt::wire::Key;
use unbloat_irtt::{Client, Echo, Fate, Plan, Poll};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::Happening;

/// Headers of IP (without options) and UDP: workloads count them, payloads do not.
const HEADERS: u64 = 28;
/// What fits into a packet of 1,500 bytes.
const LONGEST: u64 = 1_472;
/// For the server to agree.
const PATIENCE: Duration = Duration::from_secs(4);
/// For replies after the end.
const LAST_WAIT: Duration = Duration::from_millis(250);
/// Echoes before the application begins, while the path may still be idle: they set the clocks against each other.
const FIRST: u32 = 15;
const FIRST_EVERY: Duration = Duration::from_millis(10);
/// As irtt's and our servers have it, without knowing better.
const SESSION: Delta = Delta::secs(3_600);

/// A session with the echo's server.
pub(crate) struct Datagrams {
    socket: UdpSocket,
    client: Client,
    clock: Clock,
    /// Asked for in this turn; those of one number become one echo.
    asked: Vec<(Direction, u64, Bytes)>,
    /// What became of each number.
    echoes: BTreeMap<u64, Asked>,
    pub(crate) unsent: u64,
    packet: Vec<u8>,
}

/// A number's echo, and in which directions the workload sent it.
#[derive(Clone, Copy, Debug)]
struct Asked {
    seq: u32,
    wanted: Both<bool>,
}

impl Datagrams {
    /// Opens a session; why not, in words.
    pub(crate) async fn open(
        to: Option<SocketAddr>,
        token: Option<&str>,
        clock: Clock,
    ) -> Result<Datagrams, String> {
        let to = to.ok_or("the server does not echo datagrams")?;
        let plan = Plan {
            duration: SESSION,
            length: LONGEST as u16,
            key: token.map(|token| Key::new(token.as_bytes())),
            ..Plan::default()
        };
        let socket = bound(to).await.map_err(|error| error.to_string())?;
        let mut datagrams = Datagrams {
            socket,
            client: Client::on_demand(plan),
            clock,
            asked: Vec::new(),
            echoes: BTreeMap::new(),
            unsent: 0,
            packet: Vec::new(),
        };
        let opened = tokio::time::timeout(PATIENCE, datagrams.shake()).await;
        opened.map_err(|_| format!("{to} does not answer"))??;
        datagrams.set_clocks().await;
        Ok(datagrams)
    }

    async fn shake(&mut self) -> Result<(), String> {
        while self.client.agreed().is_none() {
            let wait = match self.client.poll(self.clock.clocks(), &mut self.packet) {
                Poll::Send => {
                    // What the kernel does not take is lost, as on any other queue.
                    let _ = self.socket.try_send(&self.packet);
                    continue;
                }
                Poll::Wait(until) => duration(until.since(self.clock.now())),
                Poll::Done => return Err(self.end()),
            };
            if tokio::time::timeout(wait, self.readable()).await.is_ok() {
                self.receive();
            }
        }
        Ok(())
    }

    fn end(&self) -> String {
        match self.client.ended() {
            Some(Err(error)) => error.to_string(),
            _ => "the session has ended".to_owned(),
        }
    }

    async fn set_clocks(&mut self) {
        for _ in 0..FIRST {
            self.request(Bytes::ZERO);
            tokio::time::sleep(FIRST_EVERY).await;
            self.receive();
        }
    }

    pub(crate) fn ask(&mut self, direction: Direction, number: u64, size: Bytes) {
        self.asked.push((direction, number, size));
    }

    /// Sends what was asked for in this turn.
    pub(crate) fn flush(&mut self) {
        let mut sizes: BTreeMap<u64, Bytes> = BTreeMap::new();
        for (_, number, size) in &self.asked {
            let most = sizes.entry(*number).or_default();
            *most = (*most).max(*size);
        }
        for (number, size) in sizes {
            if self.echoes.contains_key(&number) {
                continue;
            }
            match self.request(size) {
                Some(seq) => {
                    let wanted = Both::default();
                    self.echoes.insert(number, Asked { seq, wanted });
                }
                None => self.unsent += 1,
            }
        }
        for (direction, number, _) in self.asked.drain(..) {
            if let Some(asked) = self.echoes.get_mut(&number) {
                asked.wanted[direction] = true;
            }
        }
    }

    fn request(&mut self, size: Bytes) -> Option<u32> {
        let most = self
            .client
            .agreed()
            .map_or(LONGEST, |agreed| u64::from(agreed.length));
        let length = size.as_u64().saturating_sub(HEADERS).min(most) as u16;
        let seq = self
            .client
            .request(self.clock.clocks(), length, &mut self.packet)?;
        let _ = self.socket.try_send(&self.packet);
        Some(seq)
    }

    pub(crate) async fn readable(&self) {
        // An error is seen again by who reads.
        let _ = self.socket.readable().await;
    }

    /// Takes what waits.
    pub(crate) fn receive(&mut self) {
        let mut buffer = [0; 2_048];
        loop {
            let (socket, clock) = (&self.socket, self.clock);
            let read = || stamped::receive(socket, &mut buffer, clock);
            match socket.try_io(Interest::READABLE, read) {
                // Anybody may send anything here.
                Ok((length, at)) => drop(self.client.on_packet(&buffer[..length], at)),
                // The next call reports an ICMP error of the peer, which may be about an earlier packet.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }

    /// Awaits the last replies and closes.
    pub(crate) async fn close(&mut self) {
        self.client.stop(self.clock.now());
        let until = tokio::time::Instant::now() + LAST_WAIT;
        let is_awaited = |echo: &Echo| echo.fate == Fate::Pending;
        while self.client.echoes().iter().any(is_awaited)
            && tokio::time::timeout_at(until, self.readable())
                .await
                .is_ok()
        {
            self.receive();
        }
        // Whatever the session still waits for, its time has come.
        let mut late = self.clock.clocks();
        late.mono += SESSION;
        if self.client.poll(late, &mut self.packet) == Poll::Send {
            let _ = self.socket.try_send(&self.packet);
        }
    }

    /// Each datagram that arrived and when, in the order of their numbers; `tell` may ask for the other direction of it.
    pub(crate) fn tell(&mut self, tell: &mut dyn FnMut(&mut Datagrams, Time, Happening)) {
        let ways = self.ways();
        let numbers: Vec<u64> = self.echoes.keys().copied().collect();
        for number in numbers {
            for direction in [Direction::Up, Direction::Down] {
                let asked = self.echoes[&number];
                let Some(way) = ways.get(asked.seq as usize).copied().flatten() else {
                    continue;
                };
                let arrived = match direction {
                    Direction::Up => Some((way.sent + way.up, way.up)),
                    Direction::Down => way.down,
                };
                if let Some((at, delay)) = arrived.filter(|_| asked.wanted[direction]) {
                    let happening = Happening::Arrived {
                        direction,
                        number,
                        delay,
                    };
                    tell(self, at, happening);
                    self.flush();
                }
            }
        }
    }

    /// What came of each request, by its number.
    fn ways(&self) -> Vec<Option<Way>> {
        let echoes = self.client.echoes();
        let correction = Correction::of(echoes);
        let mut ways: Vec<Option<Way>> = echoes.iter().map(|echo| way(echo, correction)).collect();
        let ups: Vec<Option<Delta>> = ways.iter().map(|way| way.map(|way| way.up)).collect();
        for (echo, seq) in echoes.iter().zip(0..) {
            if echo.fate == Fate::LostDown {
                ways[seq] = between(&ups, seq).map(|up| Way {
                    sent: echo.sent.mono,
                    up,
                    down: None,
                });
            }
        }
        ways
    }
}

/// One echo's two ways.
#[derive(Clone, Copy, Debug)]
struct Way {
    sent: Time,
    up: Delta,
    /// When it was back, and how long its way was.
    down: Option<(Time, Delta)>,
}

fn way(echo: &Echo, correction: Option<Correction>) -> Option<Way> {
    let (received, rtt) = (echo.received?, echo.rtt()?);
    let halves = Both::new(rtt / 2, rtt / 2);
    let ways = correction
        .and_then(|correction| correction.one_way(echo))
        .unwrap_or(halves);
    Some(Way {
        sent: echo.sent.mono,
        up: ways.up,
        down: Some((received.mono, ways.down)),
    })
}

/// How long a datagram took that arrived but whose echo was lost: as the slower of its neighbours of which it is known.
fn between(ups: &[Option<Delta>], seq: usize) -> Option<Delta> {
    let before = ups[..seq].iter().rev().flatten().next();
    let after = ups[seq..].iter().flatten().next();
    before.max(after).copied()
}

async fn bound(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(to).await?;
    stamped::stamp(&socket)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_whose_echo_was_lost_took_as_long_as_its_slower_neighbour() {
        let ms = |ms| Some(Delta::ms(ms));
        let ups = [ms(5), None, ms(9), None, None];
        assert_eq!(between(&ups, 1), ms(9));
        assert_eq!(between(&ups, 4), ms(9));
        assert_eq!(between(&[None], 0), None);
    }
}
