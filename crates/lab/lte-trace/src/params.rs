//! What the study does not publish: parameters with defaults and the reason for each.

use crate::quantiles::Quantiles;
use unbloat_params::defaults;
use unbloat_units::{Bytes, Delta, Rate};

defaults! {
    /// A trace to generate.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        pub users: u32 = 300;
        /// Time over which a user's flows begin. An address stays with a user for hours (section 3.1).
        pub session: Delta = Delta::secs(3_600);
        /// Time after it for flows to end.
        pub drain: Delta = Delta::secs(1_900);
        /// Largest payload of a flow in one direction. With it the published shares give 63 kB a flow; the study's 2.9 TB in 47.1 million
        /// flows are 62 kB, headers included.
        pub largest: Bytes = Bytes::new(100_000_000);
        /// Time between the exchanges of a flow that is used again and again; the study gives only the duration.
        pub exchange_every: Delta = Delta::secs(30);
        /// Round trip between monitor and proxy: "very small" (Fig. 7).
        pub proxy_rtt: Delta = Delta::ms(2);
        /// One-way delay between base station and monitor: metropolitan fibre and a router or two.
        pub backhaul: Delta = Delta::ms(2);
        /// What a base station holds for a user. At least the 1,200 kB that were seen in flight (section 4.3).
        pub buffer: Bytes = Bytes::new(1_500_000);
        /// What a phone's modem holds: the default of the simulator's LTE uplink (Guo et al., IMC 2016).
        pub modem_buffer: Bytes = Bytes::new(400_000);
        /// Standard deviation of the logarithm of a user's rate over its mean, between -2 and 2 deviations; zero for rates that do not vary.
        pub rate_spread: f64 = 0.5;
        /// Mean time for which a user's rate holds: "on the scale of seconds" (Fig. 22).
        pub rate_hold: Delta = Delta::secs(1);
        /// Share of packets lost between server and monitor, each way: the order of magnitude that carriers publish for their backbones.
        pub core_loss: f64 = 1e-4;
        /// Line rate of servers and of the proxy: an Ethernet port of 2012.
        pub server_rate: Rate = Rate::mbps(1_000);
        /// Receive window of phones after autotuning: three quarters of tcp_rmem_max of LTE phones (Jiang et al., CellNet 2012, Table 2).
        pub phone_window: Bytes = Bytes::new(484_848 * 3 / 4);
        /// Users with a laptop ("a small share", section 4.1), and its receive window: half of the 6 MiB of desktop Linux.
        pub laptops: f64 = 0.05;
        pub laptop_window: Bytes = Bytes::mib(3);
        /// Audio flows whose application reads at the pace of its player, as in Fig. 23.
        pub paced_readers: f64 = 1.0;
        /// What a paced reader reads at once (3 Mbit/s for 2 s), and its pace afterwards (Fig. 23).
        pub read_ahead: Bytes = Bytes::new(750_000);
        pub read_rate: Rate = Rate::kbps(300);
        /// Floor of the variation in senders' retransmission timeouts, as in Linux (section 5).
        pub rto_floor: Delta = Delta::ms(200);
        /// Largest error of a client's clock, either way: the tolerance of usual quartz oscillators.
        pub clock_ppm: f64 = 20.0;
    }
}

impl Params {
    /// End of the trace, since its start.
    pub fn length(&self) -> Delta {
        self.session + self.drain
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
