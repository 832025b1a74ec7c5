//! The grid: every congestion control, queue, rate, round-trip time and number of flows, and a draw from it.

use fastrand::Rng;
use std::fmt;
use std::str::FromStr;
use unbloat_uml::{Flow, Scenario};
use unbloat_units::{Delta, Rate};

/// As Linux names them.
const CONTROLS: &[&str] = &[
    "reno",
    "cubic",
    "vegas",
    "bic",
    "htcp",
    "highspeed",
    "westwood",
    "bbr",
];

/// As `tc` writes them. `BDP` stands for the packets of one bandwidth-delay product, `RATE` for the bottleneck's rate.
const QUEUES: &[(&str, &str, bool)] = &[
    ("fifo-bdp", "pfifo limit BDP", false),
    ("fifo-1000", "pfifo limit 1000", false),
    ("codel", "codel", false),
    ("codel-ecn", "codel ecn", true),
    ("fq_codel", "fq_codel noecn", false),
    ("fq_codel-ecn", "fq_codel", true),
    ("pie", "pie", false),
    ("pie-ecn", "pie ecn", true),
    (
        "red",
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth RATE",
        false,
    ),
    (
        "red-ecn",
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth RATE ecn",
        true,
    ),
    ("cake", "cake", false),
    ("cake-ecn", "cake", true),
];

/// Mbit/s.
const RATES: &[u64] = &[1, 7, 35, 100];
/// Round-trip times without queue, ms.
const RTTS: &[u64] = &[8, 40, 300];
const FLOWS: &[usize] = &[1, 3, 25];

/// Packets that a run may carry: faster lines are watched for a shorter time.
const MOST_PACKETS: u64 = 200_000;
const LONGEST_S: u64 = 60;
const PACKET: u64 = 1_500;
/// The least limit of a FIFO, packets.
const LEAST_FIFO: u64 = 10;
/// Within which flows start.
const STARTS: Delta = Delta::ms(100);

/// One point of the grid; its name is `control/queue/RATE/RTT/FLOWS`, for example `cubic/codel/1M/8ms/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    control: &'static str,
    queue: usize,
    rate_mbps: u64,
    rtt_ms: u64,
    flows: usize,
}

impl Cell {
    pub fn all() -> Vec<Cell> {
        let mut all = Vec::new();
        for &control in CONTROLS {
            for queue in 0..QUEUES.len() {
                for &rate_mbps in RATES {
                    for &rtt_ms in RTTS {
                        all.extend(FLOWS.iter().map(|&flows| Cell {
                            control,
                            queue,
                            rate_mbps,
                            rtt_ms,
                            flows,
                        }));
                    }
                }
            }
        }
        all
    }

    /// So many different cells.
    pub fn draw(seed: u64, samples: usize) -> Vec<Cell> {
        let mut all = Cell::all();
        let mut rng = Rng::with_seed(seed);
        rng.shuffle(&mut all);
        all.truncate(samples);
        all
    }

    /// One run: each has its own seed, and flows that start at other times.
    pub fn scenario(&self, run: u64) -> Scenario {
        let rate = Rate::mbps(self.rate_mbps);
        let (_, words, ecn) = QUEUES[self.queue];
        let mut scenario = Scenario::new(
            rate,
            Delta::ZERO,
            &self.words(words),
            Delta::secs(self.length_s() as i64),
        );
        scenario.return_delay_ns = self.rtt_ms * 1_000_000;
        scenario.sample_every_ns = 1_000_000_000;
        scenario.ecn = ecn;
        scenario.seed = run;
        let mut rng = Rng::with_seed(run);
        scenario.flows = (0..self.flows)
            .map(|_| Flow {
                congestion_control: self.control.to_owned(),
                start_ns: rng.u64(0..STARTS.as_ns() as u64),
            })
            .collect();
        scenario
    }

    fn words(&self, words: &str) -> String {
        let bdp = self.rate_mbps * 1_000 * self.rtt_ms / 8 / PACKET;
        let rate = format!("{}mbit", self.rate_mbps);
        words
            .replace("BDP", &bdp.max(LEAST_FIFO).to_string())
            .replace("RATE", &rate)
    }

    /// Ours counts what was read, the kernel what has arrived: up to 16 KiB of each flow wait for a reader at the end.
    pub fn unread_mbps(&self) -> f64 {
        let bits = (self.flows * (16 << 10) * 8) as f64;
        bits / self.length_s() as f64 / 1e6
    }

    fn length_s(&self) -> u64 {
        (MOST_PACKETS * PACKET * 8 / (self.rate_mbps * 1_000_000)).min(LONGEST_S)
    }

    /// The time that one packet takes, ms: delays come in such steps.
    pub fn packet_ms(&self) -> f64 {
        PACKET as f64 * 8.0 / (self.rate_mbps as f64 * 1e3)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}M/{}ms/{}",
            self.control, QUEUES[self.queue].0, self.rate_mbps, self.rtt_ms, self.flows
        )
    }
}

impl FromStr for Cell {
    type Err = String;

    fn from_str(name: &str) -> Result<Cell, String> {
        let found = Cell::all()
            .into_iter()
            .find(|cell| cell.to_string() == name);
        found.ok_or_else(|| format!("the grid has no {name}; a name is like {}", Cell::all()[0]))
    }
}
