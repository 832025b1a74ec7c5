//! One trial: where the queue is, what else is on the path, and whether the verdict is right.

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use unbloat_locate::{Confidence, Finding, Layer, Node, Phase, Verdict};

/// Routers between this host and the far end.
pub const ROUTERS: u8 = 5;
/// Links: that of this host is 1, that of the far end the last.
pub const LINKS: u8 = ROUTERS + 1;

/// Who holds the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Holder {
    /// This host's queue discipline.
    Qdisc,
    /// This host's device, below the queue discipline.
    Device,
    /// A box that this host's device hands its packets to, and that no hop shows: firmware's part.
    Below,
    /// Who sends into this link, or both ends of it under load in both directions.
    Link(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    Down,
    Up,
    Both,
}

impl Direction {
    pub fn phase(self) -> Phase {
        match self {
            Direction::Down => Phase::Down,
            Direction::Up => Phase::Up,
            Direction::Both => Phase::Both,
        }
    }

    pub fn is_up(self) -> bool {
        self != Direction::Down
    }

    pub fn is_down(self) -> bool {
        self != Direction::Up
    }
}

/// Everything that differs between trials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    pub number: u64,
    pub holder: Holder,
    pub direction: Direction,
    pub rate_mbps: u64,
    pub buffer_packets: u64,
    pub is_tbf: bool,
    /// Propagation each way, on a link that is not the bottleneck.
    pub delay_ms: u64,
    pub delay_link: u8,
    /// Its answers are late; it lies behind `slow_at`, where they are held.
    pub slow: u8,
    pub slow_at: u8,
    pub slow_ms: u64,
    /// Answers once a second.
    pub limited: u8,
    /// Is crowded for moments, by others.
    pub crowded: u8,
}

impl Trial {
    /// Holders and directions in turn, all else by lot.
    pub fn draw(number: u64) -> Trial {
        let (holder, direction) = cases()[number as usize % cases().len()];
        let mut rng = Rng::with_seed(number);
        let bottleneck = match holder {
            Holder::Link(link) => link,
            Holder::Qdisc | Holder::Device | Holder::Below => 1,
        };
        let mut other = |taken: &[u8], range: std::ops::RangeInclusive<u8>| loop {
            let link = rng.u8(range.clone());
            if !taken.contains(&link) {
                return link;
            }
        };
        // A device has one queue: none of them may want the same one.
        let delay_link = other(&[bottleneck], 2..=LINKS);
        let slow_at = other(&[bottleneck, delay_link], 1..=3);
        let crowded = other(&[bottleneck, delay_link, slow_at], 2..=LINKS);
        let limited = other(&[], 1..=ROUTERS);
        let slow = other(&[limited], slow_at + 1..=ROUTERS);
        let (rate_mbps, buffer_ms) = (rng.u64(5..=20), rng.u64(80..=250));
        Trial {
            number,
            holder,
            direction,
            rate_mbps,
            buffer_packets: rate_mbps * 1_000 * buffer_ms / 8 / 1514,
            is_tbf: rng.bool(),
            delay_ms: rng.u64(2..=25),
            delay_link,
            slow,
            slow_at,
            slow_ms: rng.u64(10..=40),
            limited,
            crowded,
        }
    }
}

/// Each router's queue each way and both ways, then the layers of this host.
pub fn cases() -> Vec<(Holder, Direction)> {
    let ups = (2..=LINKS).map(|link| (Holder::Link(link), Direction::Up));
    let downs = (1..=ROUTERS).map(|link| (Holder::Link(link), Direction::Down));
    let both = (2..=LINKS).map(|link| (Holder::Link(link), Direction::Both));
    let layers = [Holder::Qdisc, Holder::Device].into_iter();
    let own = layers.flat_map(|holder| [(holder, Direction::Up), (holder, Direction::Both)]);
    let below = [Direction::Up, Direction::Down, Direction::Both].map(|way| (Holder::Below, way));
    let far = [(Holder::Link(LINKS), Direction::Down)];
    ups.chain(downs)
        .chain(both)
        .chain(own)
        .chain(far)
        .chain(below)
        .collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Judged {
    Right,
    Inconclusive,
    /// Called likely.
    Wrong,
    CertainlyWrong,
}

pub fn judge(trial: &Trial, verdict: &Verdict) -> Judged {
    let Finding::Queue {
        step,
        confidence,
        layer,
        ..
    } = &verdict.finding
    else {
        return match verdict.finding {
            Finding::NoQueue { .. } => Judged::CertainlyWrong,
            _ => Judged::Inconclusive,
        };
    };
    let number = |node| match node {
        Node::ThisHost => 0,
        Node::Hop(number, _) | Node::FarEnd(number, _) => number,
        Node::Peer(_) => u8::MAX,
    };
    let named = (number(step.place.from), number(step.place.to));
    let is_right = match trial.holder {
        Holder::Link(link) => named == (link - 1, link) && *layer != Some(Layer::Qdisc),
        Holder::Qdisc => named == (0, 1) && *layer == Some(Layer::Qdisc),
        // Under load both ways it may be the gateway as well, and what goes down waits in none of this host's layers.
        Holder::Device | Holder::Below => {
            let is_up = trial.direction == Direction::Up;
            named == (0, 1) && *layer == is_up.then_some(Layer::DriverOrBelow)
        }
    };
    match (is_right, confidence) {
        (true, _) => Judged::Right,
        (false, Confidence::Likely) => Judged::Wrong,
        (false, Confidence::Certain) => Judged::CertainlyWrong,
    }
}
