//! Probes of HTTP: foreign ones on connections of their own, self ones on load connections, in pairs.
//!
//! draft-ietf-ippm-responsiveness-09, 4.3: equal counts, interleaved, spread evenly, never more than a share of the capacity.

use crate::error::root;
use crate::http::{self, Connection};
use crate::load::Carrier;
use crate::measured::{Probe, ProbeKind};
use crate::options::Probing;
use crate::socket::Settings;
use crate::upload::Body;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use unbloat_os::lock::lock;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Delta, Rate, Time};

/// Of a pair, both ways together (draft-09, 4.3: about 5000 and 1000).
const PAIR_BYTES: f64 = 6_000.0;
/// And what this host sends of it: handshakes, requests and acknowledgements.
const PAIR_REQUEST_BYTES: f64 = 1_300.0;
/// While nothing loads the path, and nobody knows its capacity.
const IDLE_PER_S: f64 = 5.0;
/// Probes that wait for their answers at a time: beyond, the path or the server is so slow that more would tell no more.
const MOST_WAITING: usize = 100;
const PATIENCE: Duration = Duration::from_secs(10);

/// Where probes are collected.
pub struct Prober {
    carrier: Arc<Carrier>,
    probing: Probing,
    /// Of the loaded direction, as it is now.
    pub rate_bps: AtomicU64,
    /// Of the slower direction, as far as it is known.
    pub slower_bps: AtomicU64,
    waiting: AtomicUsize,
    done: Mutex<Vec<Probe>>,
}

impl Prober {
    pub fn new(carrier: Arc<Carrier>, probing: Probing) -> Prober {
        Prober {
            carrier,
            probing,
            rate_bps: AtomicU64::new(0),
            slower_bps: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            done: Mutex::default(),
        }
    }

    /// Sends pairs of probes until the task is aborted. Probes in progress still finish, except self probes: their connection
    /// closes with the load.
    pub fn begin(self: &Arc<Self>) -> JoinHandle<()> {
        let prober = self.clone();
        tokio::spawn(async move {
            let mut number = 0;
            loop {
                let rate = Rate::bps(prober.rate_bps.load(Ordering::Relaxed));
                let taken = prober.transfer();
                let slower = Rate::bps(prober.slower_bps.load(Ordering::Relaxed));
                let pause = prober
                    .probing
                    .pause(rate, slower, taken.unwrap_or(Delta::ZERO));
                tokio::time::sleep(pause).await;
                // While nothing is known of the line, one pair at a time.
                let most = match (rate, taken) {
                    (Rate::ZERO, None) => 1,
                    _ => MOST_WAITING,
                };
                if prober.waiting.load(Ordering::Relaxed) < most {
                    prober.pair(number);
                    number += 1;
                }
            }
        })
    }

    /// What it took at least to carry the handshake of TLS, beyond its round trips. None before the first.
    fn transfer(&self) -> Option<Delta> {
        let done = lock(&self.done);
        let beyond = done
            .iter()
            .filter_map(|probe| Some(probe.tls? - probe.tcp? * i64::from(probe.tls_round_trips)));
        beyond.min()
    }

    fn pair(self: &Arc<Self>, number: usize) {
        // A server of ndt7 has nothing small to ask for: there are handshakes alone.
        let kinds: &[ProbeKind] = match self.carrier.ndt7 {
            Some(_) => &[ProbeKind::Foreign],
            None => &[ProbeKind::Foreign, ProbeKind::SelfHttp],
        };
        for &kind in kinds {
            let prober = self.clone();
            prober.waiting.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let made = match kind {
                    ProbeKind::Foreign => Some(prober.foreign().await),
                    _ => prober.own(number).await,
                };
                prober.waiting.fetch_sub(1, Ordering::Relaxed);
                lock(&prober.done).extend(made);
            });
        }
    }

    async fn foreign(&self) -> Probe {
        let clock = self.carrier.dialer.clock;
        let sent = clock.now();
        let mut probe = blank(ProbeKind::Foreign, sent);
        let asking = async {
            if self.carrier.ndt7.is_some() {
                let connected = self.carrier.dialer.connect(&Settings::default()).await?;
                (probe.tcp, probe.tcp_resent) = (Some(connected.took), connected.is_resent);
                return Ok(None);
            }
            let connection = self.carrier.dialer.open_beside(self.carrier.http).await?;
            probe.tcp = connection.tcp;
            probe.tcp_resent = connection.tcp_resent;
            probe.tls = connection.tls;
            probe.tls_round_trips = connection.tls_round_trips;
            self.small(connection).await.map(Some)
        };
        match in_time(asking).await {
            Ok(answer) => probe.answer = answer,
            Err(error) => probe.failure = Some(root(&error)),
        }
        probe
    }

    async fn small(&self, connection: Connection) -> io::Result<Delta> {
        let (mut sender, _) = connection.into_parts();
        ask_small(&self.carrier, &mut sender).await
    }

    /// On a load connection that is picked by `number`; where requests cannot share one, its kernel is asked instead.
    async fn own(&self, number: usize) -> Option<Probe> {
        let clock = self.carrier.dialer.clock;
        // A step that shares no divisor with 1 to 16 visits all of them, in an order without pattern of interest.
        let number = number.wrapping_mul(7919);
        let Some((flow, mut sender)) = self.carrier.any_shared(number) else {
            return self.kernel(number);
        };
        let mut probe = blank(ProbeKind::SelfHttp, clock.now());
        probe.flow = Some(flow);
        match in_time(ask_small(&self.carrier, &mut sender)).await {
            Ok(answer) => probe.answer = Some(answer),
            Err(error) => probe.failure = Some(root(&error)),
        }
        Some(probe)
    }

    /// draft-09, 4.3: with HTTP/1.1 the round-trip time of TCP stands in for a self probe.
    fn kernel(&self, number: usize) -> Option<Probe> {
        let open = self.carrier.flows.open();
        let flow = open.get(number % open.len().max(1))?;
        let info = flow
            .with_socket(|socket| TcpInfo::of(socket.as_fd()))?
            .ok()?;
        let mut probe = blank(ProbeKind::SelfHttp, self.carrier.dialer.clock.now());
        probe.flow = Some(flow.number);
        probe.answer = Some(info.rtt()).filter(|rtt| *rtt > Delta::ZERO);
        probe.answer.is_some().then_some(probe)
    }

    pub fn take(&self) -> Vec<Probe> {
        let mut done = std::mem::take(&mut *lock(&self.done));
        done.sort_by_key(|probe| (probe.sent, probe.kind));
        done
    }
}

impl Probing {
    /// Until the next pair, at such a rate of the loaded direction; without load, where a handshake took so long beyond its round trips.
    pub fn pause(&self, rate: Rate, slower: Rate, transfer: Delta) -> Duration {
        let share = |of: Rate, bytes: f64| of.as_bps_f64() / 8.0 * self.share / bytes;
        let allowed = share(rate, PAIR_BYTES).min(share(slower, PAIR_REQUEST_BYTES));
        let most = f64::from(self.pairs_per_s.max(1));
        let pairs_per_s = match rate {
            Rate::ZERO => (self.share / transfer.as_secs().max(1e-3))
                .min(IDLE_PER_S)
                .min(most),
            _ => allowed.clamp(1.0, most),
        };
        Duration::from_secs_f64(1.0 / pairs_per_s)
    }
}

fn blank(kind: ProbeKind, sent: Time) -> Probe {
    Probe {
        kind,
        sent,
        flow: None,
        tcp: None,
        tcp_resent: false,
        tls: None,
        tls_round_trips: 0,
        answer: None,
        failure: None,
    }
}

async fn ask_small(carrier: &Carrier, sender: &mut http::Sender) -> io::Result<Delta> {
    let clock = carrier.dialer.clock;
    let token = carrier.service.token.as_deref();
    let path = &carrier.service.small;
    let request = http::request(
        &carrier.dialer.origin,
        (carrier.service.small_method.clone(), path),
        token,
        Body::Empty,
    )?;
    let request = http::fit(request, sender)?;
    let sent = clock.now();
    let response = sender.send(request).await?;
    let body = carrier.accepted(response).await?;
    http::whole(body, 4_096).await?;
    Ok(clock.now().since(sent))
}

async fn in_time<T>(asking: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let answered = tokio::time::timeout(PATIENCE, asking).await;
    answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_never_take_more_than_their_share() {
        let probing = Probing::default();
        let pause = |rate| probing.pause(rate, rate, Delta::ZERO).as_millis();
        // 5 % of 10 Mbit/s are 62.5 kB/s, ten pairs.
        assert_eq!(pause(Rate::mbps(10)), 96);
        assert_eq!(pause(Rate::mbps(1000)), 50);
        assert_eq!(pause(Rate::kbps(10)), 1000);
        assert_eq!(pause(Rate::ZERO), 200);
        // A line on which the handshake alone takes 130 ms, as 1.2 kB do at 100 kbit/s.
        let idle = probing.pause(Rate::ZERO, Rate::ZERO, Delta::ms(130));
        assert_eq!(idle.as_millis(), 2_600);
        // A download over a line of 13/0.42 Mbit/s: 5 % of the uplink are two requests a second.
        let asymmetric = probing.pause(Rate::mbps(13), Rate::kbps(420), Delta::ZERO);
        assert_eq!(asymmetric.as_millis(), 495);
    }
}
