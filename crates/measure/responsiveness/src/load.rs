//! What one direction's load did, and what casts doubt on it: the input of verdict and advice.

use crate::distrust::Distrust;
use crate::fields::{bps, ms, ms_or_null};
use crate::place::Located;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::{Delta, Direction, Rate};

/// Mean added delay that calls and games do not notice: DSLReports' A ends here.
pub const UNNOTICED: Delta = Delta::ms(30);

/// One direction, loaded alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedDirection {
    pub direction: Direction,
    /// What the path carried of TCP payload.
    #[serde(rename = "delivered_bps", with = "bps")]
    #[schemars(with = "u64")]
    pub delivered: Rate,
    /// What the line carried while it was full, all packets with their headers: see [`line_rate`].
    #[serde(rename = "line_bps", with = "bps")]
    #[schemars(with = "u64")]
    pub line: Rate,
    /// The rate was stable; false on radio and other paths whose rate changes.
    pub is_steady: bool,
    /// Mean round trip under this load minus the median idle round trip: what is graded.
    #[serde(rename = "added_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub added: Delta,
    /// 95th percentile of added delay: one way where that is known, else of the round trip.
    #[serde(rename = "added_p95_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub added_p95: Delta,
    #[serde(rename = "idle_rtt_ms", with = "ms")]
    #[schemars(with = "f64")]
    pub idle_rtt: Delta,
    /// Waits in senders' sockets, TLS and HTTP.
    #[serde(rename = "unsent_ms", with = "ms_or_null")]
    #[schemars(with = "Option<f64>")]
    pub unsent: Option<Delta>,
    /// A download that waits for its own acknowledgements: its delay is in the uplink.
    #[serde(default)]
    pub is_starved: bool,
    /// Where the queue is, if that was measured.
    pub located: Option<Located>,
}

impl LoadedDirection {
    /// Others notice it.
    pub fn is_felt(&self) -> bool {
        self.added >= UNNOTICED
    }
}

/// What passed this host's interface in one direction, framing included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passed {
    /// During the load; up, what is dropped later counts as well.
    pub loaded: Option<Rate>,
    /// Before it, the test's probes included.
    pub idle: Option<Rate>,
    /// What arrived upstream during the load of the test's datagrams, echo requests, and headers of TCP beside the load's.
    pub probes: Rate,
    /// The part of that which was not the test's.
    pub foreign: Option<Rate>,
    /// A queue stood before the load began, so what was not the test's is on the same line.
    pub is_shared: bool,
}

/// Full packets of 1,500 bytes with TCP timestamps hold 1,448.
const PACKET_SHARE: f64 = 1500.0 / 1448.0;
/// Share of the load. More, on a line that was idle, may be traffic within the house, which is not on the line.
const FOREIGN: f64 = 0.1;
/// So little is what networks murmur, and what handshakes of probes cost beyond what is counted; on the slowest lines it is more than that share.
const MURMUR: Rate = Rate::kbps(64);

/// The rate of a full line, from TCP payload that it delivered and what the interface counted. On a slow line probes and handshakes take a tenth, and
/// others' traffic may take half of it; the load alone would tell too low a rate. Downloads: all that came. Uploads: the load, what arrived of the test's
/// datagrams, and what others sent before where they share the line: what this host sends beyond that may be dropped in front of it.
pub fn line_rate(direction: Direction, delivered: Rate, passed: Passed) -> Rate {
    let load = delivered.as_bps_f64() * PACKET_SHARE;
    let all = [passed.loaded, passed.idle, passed.foreign].map(|rate| Some(rate?.as_bps_f64()));
    let [Some(loaded), Some(idle), Some(foreign)] = all else {
        return Rate::from_bps_f64(load);
    };
    let others = if passed.is_shared { foreign } else { 0.0 };
    let counted = match direction {
        Direction::Down if passed.is_shared => loaded,
        Direction::Down => loaded.min(load * (1.0 + FOREIGN) + idle),
        Direction::Up => loaded.min(load + passed.probes.as_bps_f64() + others),
    };
    let is_line = passed.is_shared || foreign <= (FOREIGN * load).max(MURMUR.as_bps_f64());
    Rate::from_bps_f64(if is_line { counted.max(load) } else { load })
}

/// RFC 8289 §4.4: a queue that is not shorter for so long keeps a link busy.
pub const STANDS: Delta = Delta::ms(5);
/// Rates of seconds on a line of a fixed rate spread by less, those of radio by more.
const STEADY: f64 = 0.5;
/// The same of half seconds in which a queue stands ([`STANDS`]): these rates are the line's, not those of TCP. 0.24 were seen on a line of
/// 0.35 Mbit/s, 0.3 to 0.9 on radio.
const STEADY_FULL: f64 = 0.3;
/// Of fewer rates nothing is said.
const FEWEST_RATES: usize = 4;

/// From the tenth to the ninetieth percentile, by the median.
pub fn spread(mut rates: Vec<Rate>) -> Option<f64> {
    rates.sort_unstable();
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share).round() as usize].as_bps_f64();
    let is_enough = rates.len() >= FEWEST_RATES && at(0.5) > 0.0;
    is_enough.then(|| (at(0.9) - at(0.1)) / at(0.5))
}

/// Whether the line's rate is fixed, by the [`spread`] of half seconds in which a queue stood; of seconds, where those are too few.
pub fn is_steady(full: Option<f64>, all: Option<f64>) -> Option<bool> {
    let by_full = full.map(|spread| spread < STEADY_FULL);
    by_full.or(all.map(|spread| spread < STEADY))
}

/// Why a run is less sure, or worthless.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Nothing can be concluded from the run.
    pub is_fatal: bool,
    pub reason: String,
}

impl From<&Distrust> for Doubt {
    fn from(reason: &Distrust) -> Doubt {
        Doubt {
            is_fatal: reason.is_fatal(),
            reason: reason.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_carries_the_load_its_headers_and_what_is_beside_it() {
        let rate = |kbps| Some(Rate::kbps(kbps));
        let line = |direction, kbps, passed| line_rate(direction, Rate::kbps(kbps), passed);
        // The load takes 1,500 kbit/s of the line with its headers, probes 100.
        let probes = Passed {
            loaded: rate(2_000),
            idle: rate(100),
            probes: Rate::kbps(100),
            foreign: rate(0),
            is_shared: false,
        };
        assert_eq!(line(Direction::Up, 1_448, probes), Rate::kbps(1_600));
        // Half of the probes were dropped in front of the line.
        let dropped = Passed {
            probes: Rate::kbps(50),
            ..probes
        };
        assert_eq!(line(Direction::Up, 1_448, dropped), Rate::kbps(1_550));
        // An uplink of 300 kbit/s, half of which the probes take.
        let slow = Passed {
            loaded: rate(760),
            idle: rate(142),
            probes: Rate::kbps(142),
            foreign: rate(30),
            is_shared: false,
        };
        let found = line(Direction::Up, 162, slow);
        assert!((300..320).contains(&(found.as_bps() / 1_000)), "{found}");
        let all = |loaded| Passed { loaded, ..probes };
        let down = |passed| line(Direction::Down, 1_448, passed);
        assert_eq!(down(all(rate(1_610))), Rate::kbps(1_610));
        // Half of it is somebody else's, and was before.
        let shared = Passed {
            idle: rate(3_000),
            foreign: rate(2_900),
            is_shared: true,
            ..all(rate(3_100))
        };
        assert_eq!(down(shared), Rate::kbps(3_100));
        // A copy within the house is not on the line, whether it was there before or began later.
        let copy = Passed {
            is_shared: false,
            ..shared
        };
        for direction in Direction::BOTH {
            assert_eq!(line(direction, 1_448, copy), Rate::kbps(1_500));
            assert_eq!(line(direction, 1_448, Passed::default()), Rate::kbps(1_500));
        }
        assert_eq!(down(all(rate(80_000))), Rate::kbps(1_750));
    }
}
