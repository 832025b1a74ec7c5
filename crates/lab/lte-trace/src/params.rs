//! What the study does not publish: parameters with defaults and the reason for each.

use crate::quantiles::Quantiles;
use unbloat_units::{Bytes, Delta, Rate};

/// What users do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Flows as the study counts them.
    Mixed,
    /// One download without a pause, as in the study's own experiments (section 3.2).
    Bulk,
}

/// A trace to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub users: u32,
    pub usage: Use,
    /// Time over which a user's flows begin. An address stays with a user for hours (section 3.1).
    pub session: Delta,
    /// Time after it for flows to end.
    pub drain: Delta,
    /// Largest payload of a flow in one direction.
    pub largest: Bytes,
    /// Time between the exchanges of a flow that is used again and again.
    pub exchange_every: Delta,
    /// Round trip between monitor and proxy: "very small" (Fig. 7).
    pub proxy_rtt: Delta,
    /// One-way delay between base station and monitor.
    pub backhaul: Delta,
    /// What a base station holds for a user. At least the 1,200 kB that were seen in flight (section 4.3).
    pub buffer: Bytes,
    /// What a phone's modem holds.
    pub modem_buffer: Bytes,
    /// Standard deviation of the logarithm of a user's rate over its mean, between -2 and 2 deviations; zero for rates that do not vary.
    pub rate_spread: f64,
    /// Mean time for which a user's rate holds: "on the scale of seconds" (Fig. 22).
    pub rate_hold: Delta,
    /// Share of packets lost between server and monitor, each way.
    pub core_loss: f64,
    /// Round trip between monitor and all servers; none to draw it.
    pub server_rtt: Option<Delta>,
    /// Line rate of servers and of the proxy.
    pub server_rate: Rate,
    /// Receive window of phones after autotuning.
    pub phone_window: Bytes,
    /// Users with a laptop, and its receive window.
    pub laptops: f64,
    pub laptop_window: Bytes,
    /// Audio flows whose application reads at the pace of its player, as in Fig. 23.
    pub paced_readers: f64,
    /// What a paced reader reads at once, and its pace afterwards.
    pub read_ahead: Bytes,
    pub read_rate: Rate,
    /// Floor of the variation in senders' retransmission timeouts.
    pub rto_floor: Delta,
    /// Senders take round trips from SACK blocks of duplicate ACKs: the study's remedy (section 5).
    pub rtt_from_sacks: bool,
    /// Largest error of a client's clock, either way.
    pub clock_ppm: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            users: 300,
            usage: Use::Mixed,
            session: Delta::secs(3_600),
            drain: Delta::secs(1_900),
            largest: Bytes::new(100_000_000),
            exchange_every: Delta::secs(30),
            proxy_rtt: Delta::ms(2),
            backhaul: Delta::ms(2),
            buffer: Bytes::new(1_500_000),
            modem_buffer: Bytes::new(400_000),
            rate_spread: 0.5,
            rate_hold: Delta::secs(1),
            core_loss: 1e-4,
            server_rtt: None,
            server_rate: Rate::mbps(1_000),
            phone_window: Bytes::new(484_848 * 3 / 4),
            laptops: 0.05,
            laptop_window: Bytes::mib(3),
            paced_readers: 1.0,
            read_ahead: Bytes::new(750_000),
            read_rate: Rate::kbps(300),
            rto_floor: Delta::ms(200),
            rtt_from_sacks: false,
            clock_ppm: 20.0,
        }
    }
}

/// A parameter for a list of assumptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    pub name: &'static str,
    pub value: String,
    pub reason: &'static str,
}

impl Params {
    /// End of the trace, since its start.
    pub fn length(&self) -> Delta {
        self.session + self.drain
    }

    /// All parameters that are ours.
    pub fn stated(&self) -> Vec<Stated> {
        let line = |name, value: String, reason| Stated {
            name,
            value,
            reason,
        };
        let percent = |share: f64| format!("{} %", 100.0 * share);
        vec![
            line(
                "session",
                self.session.to_string(),
                "an address stays with a user for hours (section 3.1); a shorter session has less idle time between flows",
            ),
            line(
                "largest flow",
                self.largest.to_string(),
                "with it the published shares give 63 kB a flow; the study's 2.9 TB in 47.1 million flows are 62 kB, headers included",
            ),
            line(
                "time between exchanges",
                self.exchange_every.to_string(),
                "of flows that are used until their end; the study gives only the duration",
            ),
            line(
                "round trip to the proxy",
                self.proxy_rtt.to_string(),
                "\"very small\" (Fig. 7)",
            ),
            line(
                "delay to the base station",
                self.backhaul.to_string(),
                "metropolitan fibre and a router or two, one way",
            ),
            line(
                "buffer of the base station",
                self.buffer.to_string(),
                "holds the 1,200 kB that the study saw in flight (section 4.3)",
            ),
            line(
                "buffer of the modem",
                self.modem_buffer.to_string(),
                "the default of the simulator's LTE uplink (Guo et al., IMC 2016)",
            ),
            line(
                "spread of a user's rate",
                self.rate_spread.to_string(),
                "standard deviation of its logarithm: half to twice the mean in most of the time, as in Fig. 22",
            ),
            line(
                "time for which a rate holds",
                self.rate_hold.to_string(),
                "varies \"on the scale of seconds\" (Fig. 22)",
            ),
            line(
                "loss before the monitor",
                percent(self.core_loss),
                "order of magnitude that carriers publish for their backbones",
            ),
            line(
                "line rate of servers",
                self.server_rate.to_string(),
                "an Ethernet port of 2012",
            ),
            line(
                "receive window of phones",
                self.phone_window.to_string(),
                "three quarters of tcp_rmem_max of LTE phones (Jiang et al., CellNet 2012, Table 2)",
            ),
            line(
                "users with a laptop",
                percent(self.laptops),
                "\"a small share\" (section 4.1)",
            ),
            line(
                "receive window of laptops",
                self.laptop_window.to_string(),
                "half of the 6 MiB of desktop Linux",
            ),
            line(
                "paced readers of audio",
                percent(self.paced_readers),
                "the application of Fig. 23; others read at once",
            ),
            line(
                "what they read at once",
                self.read_ahead.to_string(),
                "3 Mbit/s for 2 s (Fig. 23)",
            ),
            line(
                "their pace",
                self.read_rate.to_string(),
                "\"less than 300 kbit/s\" (Fig. 23)",
            ),
            line(
                "floor of timeouts",
                self.rto_floor.to_string(),
                "Linux (section 5)",
            ),
            line(
                "round trips from SACK",
                self.rtt_from_sacks.to_string(),
                "senders of 2012 ignored duplicate ACKs (section 5)",
            ),
            line(
                "error of clients' clocks",
                format!("{} ppm", self.clock_ppm),
                "tolerance of usual quartz oscillators",
            ),
        ]
    }

    /// Quantiles of the rate over its mean.
    pub(crate) fn rate_factor(&self, u: f64) -> f64 {
        let s = self.rate_spread;
        // Quantiles of the normal distribution.
        let points = [
            (0.0, -2.0),
            (0.0228, -2.0),
            (0.1587, -1.0),
            (0.5, 0.0),
            (0.8413, 1.0),
            (0.9772, 2.0),
            (1.0, 2.0),
        ];
        let points = points.map(|(p, z): (f64, f64)| (p, (s * z - s * s / 2.0).exp()));
        Quantiles(&points).at(u)
    }
}
