//! Plans of what clients do, drawn from a seed without touching a socket.

use crate::workload::{CONTENT_TYPES, PORTS};
use fastrand::Rng;
use std::time::Duration;

/// One kind of traffic; a scenario runs several at once.
#[derive(Clone, Copy, Debug)]
pub enum Traffic {
    Bulk(Bulk),
    Web(Web),
    Dns(Dns),
}

/// The sender's congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
}

impl CongestionControl {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            CongestionControl::Cubic => "cubic",
            CongestionControl::Reno => "reno",
            CongestionControl::Bbr => "bbr",
        }
    }
}

/// Every client keeps some transfers going, one connection each, until the run ends.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    /// Transfers at once at each client.
    pub flows: usize,
    pub download_bytes: u64,
    pub upload_bytes: u64,
    /// The n-th transfer of a client starts n times this late.
    pub stagger: Duration,
    /// Mean of the exponential pause before the next connection.
    pub pause: Duration,
    pub congestion_control: CongestionControl,
}

/// Every client opens connections with a few HTTP requests of heavy-tailed sizes.
#[derive(Clone, Copy, Debug)]
pub struct Web {
    /// Mean of the exponential pause between connections.
    pub think: Duration,
    /// Share of responses between 1 and 15 MB.
    pub big: f64,
    /// Share of clients that now and then pause between `shortest_silence` and `longest_silence`.
    pub idle_clients: f64,
    pub shortest_silence: Duration,
    pub longest_silence: Duration,
    /// Share of connections that read slowly through a small receive buffer.
    pub slow: f64,
    /// Share of connections whose client closes 3-15 s late.
    pub late_close: f64,
    /// Share that ends with RST.
    pub reset: f64,
    /// Share of SYNs to an address that never answers.
    pub dark: f64,
    /// Share of senders with BBR; the rest use CUBIC.
    pub bbr: f64,
}

/// Every client asks for a name now and then.
#[derive(Clone, Copy, Debug)]
pub struct Dns {
    /// Mean of the exponential pause between questions.
    pub pause: Duration,
    /// Share of names that do not exist.
    pub unknown: f64,
    /// Share of names whose questions are never answered.
    pub mute: f64,
}

/// One HTTP request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) download_bytes: u64,
    pub(crate) upload_bytes: u64,
    pub(crate) content_type: usize,
    /// The server writes 64 KiB every 50 ms, so the application is the limit.
    pub(crate) paced: bool,
    pub(crate) think_after: Duration,
}

/// How the client ends a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Close {
    AtOnce,
    After(Duration),
    Reset,
}

/// One connection from SYN to close.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Connection {
    pub(crate) port: u16,
    pub(crate) dark: bool,
    pub(crate) congestion_control: CongestionControl,
    /// Receive buffer of a slow reader and the bytes per second that it takes.
    pub(crate) slow: Option<(u32, f64)>,
    pub(crate) requests: Vec<Request>,
    pub(crate) close: Close,
}

impl Bulk {
    pub(crate) fn connection(&self, rng: &mut Rng) -> Connection {
        Connection {
            port: PORTS[0],
            dark: false,
            congestion_control: self.congestion_control,
            slow: None,
            requests: vec![Request {
                download_bytes: self.download_bytes,
                upload_bytes: self.upload_bytes,
                content_type: content_type(rng),
                paced: false,
                think_after: Duration::ZERO,
            }],
            close: Close::AtOnce,
        }
    }
}

impl Web {
    pub(crate) fn connection(&self, rng: &mut Rng) -> Connection {
        let requests = weighted(rng, &[(1, 0.7), (2, 0.2), (5, 0.1)]);
        let bbr = rng.f64() < self.bbr;
        Connection {
            port: weighted(rng, &[(PORTS[0], 0.46), (PORTS[1], 0.04), (PORTS[2], 0.5)]),
            dark: rng.f64() < self.dark,
            congestion_control: if bbr {
                CongestionControl::Bbr
            } else {
                CongestionControl::Cubic
            },
            slow: (rng.f64() < self.slow).then(|| {
                let buffer = [8_192, 16_384, 65_536][rng.usize(..3)];
                (buffer, between(rng, 5e4, 3e5))
            }),
            requests: (0..requests).map(|_| self.request(rng)).collect(),
            close: self.close(rng),
        }
    }

    fn request(&self, rng: &mut Rng) -> Request {
        let big = rng.f64() < self.big;
        let posts = rng.f64() < 0.09;
        Request {
            download_bytes: if big {
                rng.u64(1_000_000..15_000_000)
            } else {
                small_size(rng)
            },
            upload_bytes: if posts {
                [2_000, 20_000, 150_000][rng.usize(..3)]
            } else {
                0
            },
            content_type: content_type(rng),
            paced: rng.f64() < 0.1,
            think_after: exponential(rng, Duration::from_millis(500)),
        }
    }

    fn close(&self, rng: &mut Rng) -> Close {
        let draw = rng.f64();
        if draw < self.reset {
            Close::Reset
        } else if draw < self.reset + self.late_close {
            Close::After(Duration::from_secs_f64(between(rng, 3.0, 15.0)))
        } else {
            Close::AtOnce
        }
    }

    pub(crate) fn pause(&self, idle: bool, rng: &mut Rng) -> Duration {
        if idle && rng.bool() {
            let [low, high] = [self.shortest_silence, self.longest_silence];
            return Duration::from_secs_f64(between(rng, low.as_secs_f64(), high.as_secs_f64()));
        }
        exponential(rng, self.think)
    }
}

impl Dns {
    pub(crate) fn name(&self, rng: &mut Rng) -> String {
        let kind = weighted(
            rng,
            &[
                ("mute", self.mute),
                ("nx", self.unknown),
                ("h", 1.0 - self.mute - self.unknown),
            ],
        );
        format!("{kind}{}.test", rng.u32(..100))
    }
}

/// Heavy-tailed as in the LTE study's Figure 2: 90 % of flows at most 36 kB, a Pareto tail to 1 MB.
fn small_size(rng: &mut Rng) -> u64 {
    let draw = rng.f64();
    if draw < 0.1 {
        0
    } else if draw < 0.9 {
        // Median 4 kB; the sum of twelve uniforms less six is close to normal.
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        (8.3 + 1.1 * normal).exp().min(35_900.0) as u64
    } else {
        (35_900.0 * (1.0 - rng.f64()).powf(-0.9)).min(1e6) as u64
    }
}

fn content_type(rng: &mut Rng) -> usize {
    let shares: Vec<(usize, f64)> = CONTENT_TYPES.iter().map(|(_, s)| *s).enumerate().collect();
    weighted(rng, &shares)
}

/// One of the choices by weight; what rounding leaves over falls to the last.
fn weighted<T: Copy>(rng: &mut Rng, choices: &[(T, f64)]) -> T {
    let mut draw = rng.f64();
    for (choice, weight) in choices {
        draw -= weight;
        if draw < 0.0 {
            return *choice;
        }
    }
    choices[choices.len() - 1].0
}

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.f64()
}

pub(crate) fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    mean.mul_f64(-(1.0 - rng.f64()).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: Web = Web {
        think: Duration::from_millis(250),
        big: 0.01,
        idle_clients: 0.2,
        shortest_silence: Duration::from_secs(10),
        longest_silence: Duration::from_secs(16),
        slow: 0.15,
        late_close: 0.25,
        reset: 0.05,
        dark: 0.085,
        bbr: 0.15,
    };

    #[test]
    fn the_same_seed_plans_the_same_connections() {
        let plan = |seed| {
            let mut rng = Rng::with_seed(seed);
            (0..50)
                .map(|_| WEB.connection(&mut rng))
                .collect::<Vec<_>>()
        };
        assert_eq!(plan(4), plan(4));
        assert_ne!(plan(4), plan(5));
    }

    #[test]
    fn sizes_have_the_tail_of_the_study() {
        let mut rng = Rng::with_seed(1);
        let sizes: Vec<u64> = (0..10_000).map(|_| small_size(&mut rng)).collect();
        let large = sizes.iter().filter(|s| **s > 36_000).count();
        assert!(
            (850..1_050).contains(&large),
            "{large} of 10000 above 36 kB"
        );
        assert!(sizes.iter().all(|s| *s <= 1_000_000));
    }
}
