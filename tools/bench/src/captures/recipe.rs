//! Which captures there are and how each is made.

use super::base::{Base, Flow};

/// Copies of some flows of the base, shifted in address and time.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub name: &'static str,
    pub purpose: &'static str,
    pub flows: Pick,
    /// How many times the picked flows appear.
    pub copies: u32,
    /// Copies begin at random within this time.
    pub spread_s: f64,
    /// The copies are dealt to this many rounds, one after the other.
    pub rounds: u32,
    /// In GTP-U, as between base station and gateway.
    pub gtpu: bool,
    /// Percentage of the TCP flows that become QUIC connections.
    pub quic_pct: u8,
    /// No more packets than this.
    pub limit: u64,
}

/// Flows by the number of their packets.
#[derive(Clone, Debug)]
pub struct Pick {
    pub least: u32,
    pub most: u32,
    /// The least time from first to last packet.
    pub least_s: f64,
    /// DNS is left out: "packets a flow" is said of TCP.
    pub tcp_only: bool,
}

impl Pick {
    pub fn takes(&self, flow: &Flow) -> bool {
        (self.least..=self.most).contains(&flow.packets)
            && flow.lasts_ns() as f64 >= self.least_s * 1e9
            && (flow.tcp || !self.tcp_only)
    }

    /// Which flows of the base, by index.
    pub fn of(&self, base: &Base) -> Vec<bool> {
        base.flows.iter().map(|f| self.takes(f)).collect()
    }
}

/// Time between rounds: longer than a flow or a user may be silent, so that each round begins with
/// nothing alive.
pub const BETWEEN_ROUNDS_S: f64 = 3700.0;

/// The most packets of a flow in the paper-like mix: gives 79 packets a flow, as the study had 81.
const PAPER: Pick = Pick {
    least: 1,
    most: 7000,
    least_s: 0.0,
    tcp_only: true,
};
const SHORT: Pick = Pick { most: 20, ..PAPER };

const ONE: Recipe = Recipe {
    name: "",
    purpose: "",
    flows: PAPER,
    copies: 1,
    spread_s: 60.0,
    rounds: 1,
    gtpu: false,
    quic_pct: 0,
    limit: u64::MAX,
};

/// All captures, in the order in which they are measured.
pub const RECIPES: [Recipe; 12] = [
    Recipe {
        name: "paper",
        purpose: "TCP flows as the study saw them: 79 packets each",
        copies: 37,
        ..ONE
    },
    Recipe {
        name: "dns",
        purpose: "the same with the DNS look-ups around them, flows of two packets",
        flows: Pick {
            tcp_only: false,
            ..PAPER
        },
        copies: 37,
        ..ONE
    },
    Recipe {
        name: "many",
        purpose: "300,000 flows of at most 20 packets",
        flows: SHORT,
        copies: 372,
        ..ONE
    },
    Recipe {
        name: "million",
        purpose: "a million flows of at most 12 packets",
        flows: Pick { most: 12, ..SHORT },
        copies: 2740,
        spread_s: 300.0,
        ..ONE
    },
    Recipe {
        name: "few",
        purpose: "few flows, more than 10,000 packets each",
        flows: Pick {
            least: 10_000,
            most: u32::MAX,
            ..PAPER
        },
        copies: 16,
        ..ONE
    },
    Recipe {
        name: "users",
        purpose: "tens of thousands of users, each with a few TCP flows that last for 5 s and more and are silent for most of it",
        flows: Pick {
            least: 10,
            most: 120,
            least_s: 5.0,
            ..PAPER
        },
        copies: 300,
        spread_s: 5.0,
        ..ONE
    },
    Recipe {
        name: "quic",
        purpose: "the paper-like mix with DNS, nine of ten flows QUIC",
        flows: Pick {
            tcp_only: false,
            ..PAPER
        },
        copies: 20,
        quic_pct: 90,
        ..ONE
    },
    Recipe {
        name: "gtpu",
        purpose: "the paper-like mix in GTP-U",
        copies: 16,
        gtpu: true,
        ..ONE
    },
    Recipe {
        name: "nogtpu",
        purpose: "the same packets without GTP-U",
        copies: 16,
        ..ONE
    },
    Recipe {
        name: "cut",
        purpose: "the first 500,000 packets of the paper-like mix, for what is too slow for more",
        copies: 37,
        limit: 500_000,
        ..ONE
    },
    Recipe {
        name: "once",
        purpose: "four copies of the paper-like mix within 12 s",
        copies: 4,
        spread_s: 12.0,
        ..ONE
    },
    Recipe {
        name: "tenfold",
        purpose: "the same ten times in sequence with new addresses, an hour apart",
        copies: 40,
        spread_s: 12.0,
        rounds: 10,
        ..ONE
    },
];
