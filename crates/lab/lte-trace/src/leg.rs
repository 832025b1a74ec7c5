//! The radio leg of one user: between monitor and client, both ways.

use crate::params::Params;
use crate::published as given;
use fastrand::Rng;
use std::sync::Arc;
use unbloat_link::element::delay;
use unbloat_link::radio::{AirParams, Rates, downlink, rrc, sleep, uplink};
use unbloat_link::service::steps::{self, Step};
use unbloat_link::{Config, Element, Output, Path, Place};
use unbloat_qdisc::discipline::droptail;
use unbloat_qdisc::{Event, Observer, Packet};
use unbloat_units::{Both, Delta, Direction, Time};

/// Ends of the published distribution of promotions, which are ours.
const SHORTEST: Delta = Delta::ms(200);
const LONGEST: Delta = Delta::ms(900);

/// What the leg gives out, by the handles of packets.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub delivered: Vec<(Direction, u32)>,
    pub dropped: Vec<u32>,
    /// Packets that waited for the radio to wake.
    pub woken: Vec<(u32, Delta)>,
}

pub(crate) struct Leg {
    paths: Both<Path>,
    /// For each path the earliest wake-up that is planned.
    armed: Both<Option<Time>>,
    pub given: Given,
}

impl Leg {
    pub(crate) fn new(params: &Params, rates: &Both<Arc<[Step]>>, rng: &mut Rng) -> Leg {
        let start = Time::from_ns(0);
        let mut down = Path::build(&down(params, &rates.down), start, rng);
        let mut up = Path::build(&up(params, &rates.up), start, rng);
        down.share_radio(&mut up);
        Leg {
            paths: Both::new(down, up),
            armed: Both::default(),
            given: Given::default(),
        }
    }

    pub(crate) fn accept(&mut self, now: Time, direction: Direction, packet: Packet) {
        let given = &mut self.given;
        self.paths[direction].accept(now, packet, &mut Take { direction, given });
    }

    /// Lets packets leave that are due. A wake-up that an earlier one has replaced is void.
    pub(crate) fn wake(&mut self, now: Time, direction: Direction) {
        if self.armed[direction] == Some(now) {
            self.armed[direction] = None;
            let given = &mut self.given;
            self.paths[direction].advance(now, &mut Take { direction, given });
        }
    }

    /// Calls `plan` with wake-ups that are needed and not yet planned.
    pub(crate) fn arm(&mut self, mut plan: impl FnMut(Time, Direction)) {
        for direction in Direction::BOTH {
            let next = self.paths[direction].next_at();
            if let Some(at) =
                next.filter(|at| self.armed[direction].is_none_or(|armed| *at < armed))
            {
                self.armed[direction] = Some(at);
                plan(at, direction);
            }
        }
    }
}

struct Take<'a> {
    direction: Direction,
    given: &'a mut Given,
}

impl Observer for Take<'_> {
    fn event(&mut self, _now: Time, event: Event) {
        if let Event::Dropped { packet, .. } = event {
            self.given.dropped.push(packet.handle);
        }
    }
}

impl Output for Take<'_> {
    fn deliver(&mut self, _at: Time, packet: Packet) {
        self.given.delivered.push((self.direction, packet.handle));
    }

    fn waited(&mut self, _at: Time, place: Place, packet: &Packet, wait: Delta) {
        if place == Place::Sleep && wait > Delta::ZERO {
            self.given.woken.push((packet.handle, wait));
        }
    }
}

fn down(params: &Params, rates: &Arc<[Step]>) -> Vec<Config> {
    vec![
        backhaul(params),
        radio(Direction::Down),
        Config::LteDownlink(downlink::Params {
            queue: unbloat_qdisc::Config::DropTail(droptail::Params {
                limit_bytes: Some(params.buffer),
                limit_packets: None,
            }),
            rates: steps_of(rates),
            air: AirParams::default(),
        }),
    ]
}

fn up(params: &Params, rates: &Arc<[Step]>) -> Vec<Config> {
    vec![
        radio(Direction::Up),
        Config::LteUplink(uplink::Params {
            buffer: params.modem_buffer,
            rates: steps_of(rates),
            ..uplink::Params::default()
        }),
        backhaul(params),
    ]
}

fn backhaul(params: &Params) -> Config {
    Config::Delay(delay::Params {
        delay: params.backhaul,
    })
}

fn radio(direction: Direction) -> Config {
    let [q1, q2, q3] = given::PROMOTION;
    let rrc = rrc::Params {
        promotion: rrc::Promotion::Quartiles([SHORTEST, q1, q2, q3, LONGEST]),
        tail: given::TAIL,
        ..rrc::Params::default()
    };
    Config::Rrc(sleep::Params { rrc, direction })
}

fn steps_of(rates: &Arc<[Step]>) -> Rates {
    Rates::Steps(steps::Params {
        steps: Arc::clone(rates),
    })
}
