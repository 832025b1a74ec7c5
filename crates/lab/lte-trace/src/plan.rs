//! What one user will do: a device, the rates of its radio, and its flows.

use crate::params::Params;
use crate::published as given;
use crate::quantiles::{Quantiles, Sizes};
use fastrand::Rng;
use std::sync::Arc;
use unbloat_link::service::steps::Step;
use unbloat_units::{Both, Delta, Rate, Time};

/// A phone or a laptop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    /// Tick of its timestamp clock; none if it sends no timestamps.
    pub tick: Option<Delta>,
    /// The clock's time when the trace starts, and its error in parts per million.
    pub phase: Delta,
    pub clock_ppm: f64,
    /// Receive window after autotuning.
    pub window: u32,
}

/// A request and its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// Not before this, since the connection opened.
    pub at: Delta,
    pub payload: Both<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct FlowPlan {
    pub start: Time,
    /// The client looks the server's name up first, and the resolver takes so long.
    pub lookup: Option<Delta>,
    pub port: u16,
    /// Round trip between monitor and server, or proxy.
    pub core_rtt: Delta,
    /// From the request's arrival at the server or proxy to its response.
    pub wait: Delta,
    /// Nobody answers.
    pub is_dead: bool,
    pub exchanges: Vec<Exchange>,
    /// Not before this, since the connection opened.
    pub close: Delta,
    pub by_rst: bool,
    /// Content type of an HTTP flow.
    pub content: Option<&'static str>,
    /// The application reads at the pace of its player.
    pub is_paced: bool,
}

/// All of a user.
#[derive(Clone, Debug)]
pub(crate) struct UserPlan {
    pub device: Device,
    pub rates: Both<Arc<[Step]>>,
    /// By start.
    pub flows: Vec<FlowPlan>,
}

/// Draws users.
pub(crate) struct Planner<'p> {
    params: &'p Params,
    sizes: Both<Sizes>,
    /// What the radio takes of a handshake.
    radio_rtt: Delta,
}

/// Rates begin anew after this time.
const RATE_CYCLE: Delta = Delta::secs(300);
/// A burst's flows begin within this time.
const BURST: f64 = 1.0;
/// Exchanges of one flow, at most.
const MOST_EXCHANGES: u64 = 20;

impl<'p> Planner<'p> {
    /// `radio_rtt`: round trip between monitor and an awake client, without a queue.
    pub(crate) fn new(params: &'p Params, radio_rtt: Delta) -> Planner<'p> {
        let most = params.largest.as_u64() as f64;
        Planner {
            params,
            sizes: Both::new(given::down_sizes(most), given::up_sizes(most)),
            radio_rtt,
        }
    }

    pub(crate) fn user(&self, rng: &mut Rng) -> UserPlan {
        UserPlan {
            device: self.device(rng),
            rates: Both::new(
                self.rates(given::DOWN_KBPS, rng),
                self.rates(given::UP_KBPS, rng),
            ),
            flows: self.flows(rng),
        }
    }

    fn device(&self, rng: &mut Rng) -> Device {
        let mut u = rng.f64();
        let mut tick = None;
        for (share, of_share) in given::TICKS {
            if u < share {
                tick = Some(of_share);
                break;
            }
            u -= share;
        }
        let params = self.params;
        let is_laptop = rng.f64() < params.laptops;
        let window = if is_laptop {
            params.laptop_window
        } else {
            params.phone_window
        };
        Device {
            tick,
            phase: Delta::secs(rng.i64(1_000..1_000_000)) + Delta::us(rng.i64(0..100_000)),
            clock_ppm: params.clock_ppm * (2.0 * rng.f64() - 1.0),
            window: window.as_u64() as u32,
        }
    }

    fn rates(&self, mean_kbps: Quantiles<'_>, rng: &mut Rng) -> Arc<[Step]> {
        let mean = 1e3 * mean_kbps.at(rng.f64());
        let mut steps = Vec::new();
        let mut left = RATE_CYCLE;
        while left > Delta::ZERO {
            let span = exponential(self.params.rate_hold, rng).min(left);
            let rate = Rate::from_bps_f64(mean * self.params.rate_factor(rng.f64()));
            steps.push(Step { span, rate });
            left -= span;
        }
        steps.into()
    }

    /// Bursts at random times; some are a single flow, others geometrically many.
    fn flows(&self, rng: &mut Rng) -> Vec<FlowPlan> {
        let per_burst = 1.0 / given::ALONE;
        let between = self.params.session.as_secs() * per_burst / given::FLOWS_PER_USER;
        let mut flows = Vec::new();
        let mut at = 0.0;
        loop {
            at += exponential(Delta::from_secs_f64(between), rng).as_secs();
            if at >= self.params.session.as_secs() {
                break;
            }
            let mut begun = at;
            loop {
                flows.push(self.flow(begun, rng));
                if rng.f64() < given::ALONE {
                    break;
                }
                begun = at + BURST * rng.f64();
            }
        }
        flows.sort_by_key(|flow| flow.start);
        flows
    }

    fn flow(&self, at: f64, rng: &mut Rng) -> FlowPlan {
        let start = Time::from_ns(0) + Delta::from_secs_f64(at);
        let is_dead = rng.f64() < given::SYN_ONLY;
        // The zeros among sizes count flows that are SYNs only.
        let [down, up] = [&self.sizes.down, &self.sizes.up].map(|sizes| {
            let rank = given::SYN_ONLY + rng.f64() * (1.0 - given::SYN_ONLY);
            sizes.at(rank)
        });
        let (port, core_rtt, wait) = self.server(down, rng);
        let is_http = port == 80;
        let content = is_http.then(|| content(rng));
        let (exchanges, close) = self.timing(down as u64, up as u64, rng);
        let lookups = (1.0 - given::TCP_SHARE) / given::TCP_SHARE;
        FlowPlan {
            start,
            lookup: (rng.f64() < lookups)
                .then(|| Delta::from_secs_f64(given::RESOLVER_MS.at(rng.f64()) / 1e3)),
            port,
            core_rtt,
            wait,
            is_dead,
            exchanges,
            close,
            by_rst: rng.f64() < given::BY_RST / (1.0 - given::SYN_ONLY),
            content,
            is_paced: content == Some(given::AUDIO) && rng.f64() < self.params.paced_readers,
        }
    }

    /// Port, round trip behind the monitor, and what a response waits for. A proxy opens a connection to the origin first.
    fn server(&self, down: f64, rng: &mut Rng) -> (u16, Delta, Delta) {
        let handshake = Delta::from_secs_f64(given::HANDSHAKE_MS.at(rng.f64()) / 1e3);
        let origin = (handshake - self.radio_rtt).max(Delta::ms(1));
        let rest =
            (given::HTTP_FLOWS - given::TOP_SHARE * given::TOP_HTTP) / (1.0 - given::TOP_SHARE);
        let http = if down >= given::TOP_DOWN {
            given::TOP_HTTP
        } else {
            rest
        };
        let https = given::HTTPS_FLOWS / (1.0 - given::HTTP_FLOWS);
        if rng.f64() < http {
            (80, self.params.proxy_rtt, origin * 2)
        } else if rng.f64() < https {
            (443, origin, Delta::ZERO)
        } else {
            (5_223, origin, Delta::ZERO)
        }
    }

    /// When data moves and when the connection closes. A flow of more than ten seconds either carries its data at once and stays open,
    /// or is used until its end; the published share of late closes decides between them.
    fn timing(&self, down: u64, up: u64, rng: &mut Rng) -> (Vec<Exchange>, Delta) {
        let quantiles = given::DURATION_S;
        // Flows of SYNs alone last for 7 s: they are the first beyond the short ones.
        let alive = rng.f64() * (1.0 - given::SYN_ONLY);
        let rank = alive
            + if alive < given::SHORT {
                0.0
            } else {
                given::SYN_ONLY
            };
        let duration = Delta::from_secs_f64(quantiles.at(rank));
        let lasting = 1.0 - quantiles.share_at_most(given::TAIL.as_secs());
        let is_open_late = given::DELAYED_CLOSE / lasting;
        let count = if duration <= given::TAIL || rng.f64() < is_open_late {
            1
        } else {
            let every = self.params.exchange_every.as_ns().max(1);
            ((duration.as_ns() / every) as u64).clamp(2, MOST_EXCHANGES)
        };
        let part = |whole: u64, i: u64| whole / count + u64::from(i < whole % count);
        let exchanges = (0..count).map(|i| Exchange {
            at: if count > 1 {
                duration * i as i64 / (count as i64 - 1)
            } else {
                Delta::ZERO
            },
            payload: Both::new(part(down, i), part(up, i)),
        });
        (exchanges.collect(), duration)
    }
}

fn content(rng: &mut Rng) -> &'static str {
    let mut u = rng.f64();
    for (share, name) in given::CONTENT {
        if u < share {
            return name;
        }
        u -= share;
    }
    ""
}

/// An exponential span of that mean.
fn exponential(mean: Delta, rng: &mut Rng) -> Delta {
    let u = 1.0 - rng.f64();
    Delta::from_secs_f64(-u.ln() * mean.as_secs()).max(Delta::ms(1))
}
