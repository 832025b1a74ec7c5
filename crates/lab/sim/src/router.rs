//! The router with the shapers, and what changes their rates.

use crate::body::Body;
use crate::wire::Labels;
use unbloat_autorate::{Answer, Autorate, Seen, Stamps};
use unbloat_experiment::scenario::{Oracle, Rates};
use unbloat_qdisc::{Dscp, Host, IpLen, Packet};
use unbloat_units::{Both, Delta, Direction, Rate, Time};

/// What tells the probes' flows from all others.
pub(crate) const PROBES: u64 = 1 << 41;
pub(crate) const REFLECTORS: u32 = 6;
/// An ICMP echo as `fping` sends it, at IP level.
pub(crate) const PROBE_BYTES: u32 = 84;

/// Of the router itself and of all reflectors.
pub(crate) const LABELS: Labels = Labels {
    flow: u32::MAX,
    client: Host(u32::MAX),
    server: Host(u32::MAX - 1),
    dscp: Dscp(0),
    extra_delay: Delta::ZERO,
};

/// By whom rates are changed.
enum Steered {
    Law(Box<Autorate>),
    Oracle(Box<Oracle>, Time),
}

/// How often the oracle speaks.
const ORACLE_EVERY: Delta = Delta::ms(5);
/// And its least rate: a shaper that stands still would not begin anew.
const ORACLE_FLOOR: Rate = Rate::kbps(150);
/// Of every line.
const START: Time = Time::from_ns(0);

/// Stands before the last hop of the downlink and behind the first of the uplink.
pub(crate) struct Router {
    steered: Steered,
    last_hop_down: usize,
    /// As the shapers have them.
    rates: Both<Option<Rate>>,
}

impl Router {
    pub(crate) fn new(rates: &Rates, start: Time, hops_down: usize) -> Router {
        let steered = match rates {
            Rates::Law(params) => Steered::Law(Box::new(Autorate::new(*params, start))),
            Rates::Oracle(oracle) => Steered::Oracle(Box::new(oracle.clone()), start),
        };
        Router {
            steered,
            last_hop_down: hops_down.saturating_sub(1),
            rates: Both::default(),
        }
    }

    /// Thinks rates over. The number of a probe if one is due, and when this is due again.
    pub(crate) fn act(&mut self, now: Time) -> (Option<u32>, Time) {
        let autorate = match &mut self.steered {
            Steered::Law(autorate) => autorate,
            Steered::Oracle(_, asked) => {
                *asked = now;
                return (None, now + ORACLE_EVERY);
            }
        };
        if now >= autorate.tick_at() {
            autorate.tick(now);
        }
        let is_due = now >= autorate.probe_at();
        let probe = is_due.then(|| autorate.probe(now)).flatten();
        (probe, autorate.tick_at().min(autorate.probe_at()))
    }

    fn rate(&self, direction: Direction) -> Option<Rate> {
        match &self.steered {
            Steered::Law(autorate) => autorate.rate(direction),
            Steered::Oracle(oracle, asked) => foreseen(oracle, *asked, direction),
        }
    }

    /// A probe is back. Clocks of reflectors are exact here.
    pub(crate) fn answered(&mut self, now: Time, number: u32, sent: Time, turned: Time) {
        let answer = Answer {
            number,
            round_trip: now.since(sent),
            one_way: Some(Both::new(now.since(turned), turned.since(sent))),
        };
        if let Steered::Law(autorate) = &mut self.steered {
            autorate.answered(now, &answer);
        }
    }

    /// Directions whose rate has changed, by the hop of their shaper.
    pub(crate) fn changes(&mut self) -> Vec<(Direction, usize, Rate)> {
        let mut changes = Vec::new();
        for direction in Direction::BOTH {
            let rate = self.rate(direction);
            let known = &mut self.rates[direction];
            if let Some(rate) = rate
                && *known != Some(rate)
            {
                *known = Some(rate);
                let hop = match direction {
                    Direction::Down => self.last_hop_down,
                    Direction::Up => 0,
                };
                changes.push((direction, hop, rate));
            }
        }
        changes
    }

    /// A packet from the line has gone through the shaper.
    pub(crate) fn shaped(&mut self, now: Time, len: IpLen) {
        if let Steered::Law(autorate) = &mut self.steered {
            autorate.shaped(now, len.as_u32());
        }
    }

    pub(crate) fn came_to(
        &mut self,
        at: Time,
        direction: Direction,
        hop: usize,
        packet: &Packet,
        body: &Body,
    ) {
        let Steered::Law(autorate) = &mut self.steered else {
            return;
        };
        let seen = seen(packet, body);
        match direction {
            Direction::Down if hop == self.last_hop_down => autorate.incoming(at, &seen),
            Direction::Up if hop == 1 => autorate.outgoing(at, &seen),
            _ => {}
        }
    }
}

/// What the line beside a shaper carries about a moment.
fn foreseen(oracle: &Oracle, now: Time, direction: Direction) -> Option<Rate> {
    let line = oracle.lines[direction].as_ref()?;
    let until = now + oracle.ahead - oracle.behind;
    let bytes = line.carried(START, until - oracle.over, until)?;
    let bps = bytes.as_u64() as f64 * 8.0 / oracle.over.as_secs();
    Some(Rate::from_bps_f64(bps * oracle.share).max(ORACLE_FLOOR))
}

/// What headers say. Data of one direction and acknowledgements of the other are flows of their own here.
fn seen(packet: &Packet, body: &Body) -> Seen {
    let (flow, stamps) = match body {
        Body::Data {
            conn,
            direction,
            segment,
        } => {
            let stamps = segment.timestamps.map(|stamps| Stamps {
                value: stamps.value.raw(),
                echo: stamps.echo.raw(),
                ack: 0,
                payload: segment.len,
            });
            (u64::from(*conn) << 1 | *direction as u64, stamps)
        }
        Body::Ack {
            conn,
            direction,
            ack,
        } => {
            let stamps = ack.timestamps.map(|stamps| Stamps {
                value: stamps.value.raw(),
                echo: stamps.echo.raw(),
                ack: ack.ack as u32,
                payload: 0,
            });
            (u64::from(*conn) << 1 | *direction as u64, stamps)
        }
        _ => (0, None),
    };
    Seen {
        flow,
        bytes: packet.len.as_u32(),
        stamps,
    }
}
