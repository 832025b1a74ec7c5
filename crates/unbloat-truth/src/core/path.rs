//! The whole path: segments, links, radio and monitor wired by one ordered list of due events.
//!
//! ```text
//! server -- wan.down --> MONITOR --> queue and link --> access.down --> client
//! server <-- wan.up --- MONITOR <-- access.up <-- queue and link <-- radio <-- client
//! ```
//!
//! Every step is taken at its logical time. When the driver comes late, packets come out late, but
//! the steps that follow are computed from when they should have happened.

use crate::core::agenda::Agenda;
use crate::core::overtaking::Overtaking;
use crate::core::{
    Direction, Event, Fate, Impairment, Link, Observer, Packet, Place, Radio, RadioParams,
    RateSchedule, Segment, Ticks,
};
use fastrand::Rng;
use unbloat_units::{Bytes, Delta, Time};

/// How often queues are sampled.
const SAMPLE_EVERY: Delta = Delta::ms(10);

/// The two links of one client; each client has its own.
#[derive(Clone, Debug)]
pub struct AccessLink {
    pub down: RateSchedule,
    pub up: RateSchedule,
    pub down_queue: Bytes,
    pub up_queue: Bytes,
}

/// Everything that shapes the path.
#[derive(Clone, Debug)]
pub struct PathParams {
    /// One entry for each client, by index.
    pub clients: Vec<AccessLink>,
    /// Between server and monitor.
    pub wan_down: Impairment,
    pub wan_up: Impairment,
    /// Between monitor and client, beyond the queue.
    pub access_down: Impairment,
    pub access_up: Impairment,
    pub radio: Option<RadioParams>,
    /// Tick of the clients' TSval in ms; 1 leaves them as the kernel writes them.
    pub client_tick_ms: u32,
}

/// Packets by what became of them. `accepted == delivered + upstream + tail + downstream` once
/// nothing is inside any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub accepted: u64,
    pub delivered: u64,
    pub upstream: u64,
    pub tail: u64,
    pub downstream: u64,
    pub monitored: u64,
}

/// The path between one server and its clients.
pub struct Path {
    clients: Vec<Client>,
    agenda: Agenda<Step>,
    entries: u64,
    inside: usize,
    ticks: Ticks,
    wan: Overtaking,
    access: Overtaking,
    rng: Rng,
    counts: Counts,
}

struct Client {
    wan: Both<Segment>,
    access: Both<Segment>,
    link: Both<Link>,
    sampled: Both<Bytes>,
    radio: Option<Radio>,
}

struct Both<T> {
    down: T,
    up: T,
}

impl<T> Both<T> {
    fn get(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

enum Step {
    LeavesWan(Transit),
    LeavesLink(Box<Packet>),
    LeavesAccess(Transit),
    Sample,
}

/// A packet on a segment.
struct Transit {
    packet: Box<Packet>,
    entry: u64,
    hold: Delta,
}

impl Path {
    /// A path that starts, with every client idle, at `start`.
    pub fn new(params: &PathParams, start: Time, seed: u64) -> Path {
        let clients = params.clients.iter().map(|c| Client::new(params, c, start));
        let mut path = Path {
            clients: clients.collect(),
            agenda: Agenda::new(),
            entries: 0,
            inside: 0,
            ticks: Ticks::new(params.client_tick_ms),
            wan: Overtaking::default(),
            access: Overtaking::default(),
            rng: Rng::with_seed(seed),
            counts: Counts::default(),
        };
        path.agenda.plan(start, Step::Sample);
        path
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Packets that have come in and not yet gone out.
    pub fn inside(&self) -> usize {
        self.inside
    }

    /// When [`Path::advance`] has something to do next.
    pub fn wake(&self) -> Time {
        self.agenda.next_at().unwrap_or(Time::MAX)
    }

    /// Whether packets of this client have a place on the path.
    pub fn knows(&self, client: usize) -> bool {
        client < self.clients.len()
    }

    /// A packet leaves one of the ends. `now` must not lie before what was last advanced to.
    ///
    /// # Panics
    /// When the path does not know the packet's client.
    pub fn accept(&mut self, now: Time, packet: Packet, observer: &mut impl Observer) {
        self.counts.accepted += 1;
        self.inside += 1;
        match packet.direction {
            Direction::Down => self.enter_wan(now, Box::new(packet), observer),
            Direction::Up => self.leave_client(now, Box::new(packet), observer),
        }
    }

    /// Does everything that is due at `now`, in order.
    pub fn advance(&mut self, now: Time, observer: &mut impl Observer) {
        while let Some((at, step)) = self.agenda.take_due(now) {
            self.take(at, step, observer);
        }
    }

    fn take(&mut self, at: Time, step: Step, observer: &mut impl Observer) {
        match step {
            Step::LeavesWan(transit) => {
                let overtaken = self.wan.leave(&transit.packet.tuple, transit.entry);
                report_reordering(at, Place::Upstream, &transit, overtaken, observer);
                self.leave_wan(at, transit.packet, observer);
            }
            Step::LeavesLink(packet) => self.leave_link(at, packet, observer),
            Step::LeavesAccess(transit) => {
                let overtaken = self.access.leave(&transit.packet.tuple, transit.entry);
                report_reordering(at, Place::Downstream, &transit, overtaken, observer);
                self.leave_access(at, transit.packet, observer);
            }
            Step::Sample => self.sample(at, observer),
        }
    }

    fn leave_client(&mut self, at: Time, mut packet: Box<Packet>, observer: &mut impl Observer) {
        self.ticks.coarsen(&mut packet);
        let client = &mut self.clients[packet.client];
        let radio = client.radio.as_mut();
        if let Some(promotion) = radio.and_then(|r| r.send(at, &mut self.rng)) {
            client.link.up.hold(at + promotion.wait);
            let packet = &packet;
            observer.event(at, Event::Promoted { packet, promotion });
        }
        self.enter_link(at, packet, observer);
    }

    fn enter_wan(&mut self, at: Time, packet: Box<Packet>, observer: &mut impl Observer) {
        let segment = self.clients[packet.client].wan.get(packet.direction);
        let fate = segment.enter(at, &mut self.rng);
        let Some((out, transit)) = self.transit(at, Place::Upstream, fate, packet, observer) else {
            return;
        };
        if transit.hold > Delta::ZERO {
            self.wan.hold(transit.packet.tuple, transit.entry);
        }
        self.agenda.plan(out, Step::LeavesWan(transit));
    }

    fn enter_access(&mut self, at: Time, packet: Box<Packet>, observer: &mut impl Observer) {
        let segment = self.clients[packet.client].access.get(packet.direction);
        let fate = segment.enter(at, &mut self.rng);
        let Some((out, transit)) = self.transit(at, Place::Downstream, fate, packet, observer)
        else {
            return;
        };
        if transit.hold > Delta::ZERO {
            self.access.hold(transit.packet.tuple, transit.entry);
        }
        self.agenda.plan(out, Step::LeavesAccess(transit));
    }

    fn enter_link(&mut self, at: Time, packet: Box<Packet>, observer: &mut impl Observer) {
        let link = self.clients[packet.client].link.get(packet.direction);
        match link.offer(at, packet.ip_bytes()) {
            Some(leaves) => self.agenda.plan(leaves, Step::LeavesLink(packet)),
            None => self.lose(at, Place::Tail, &packet, observer),
        }
    }

    fn leave_wan(&mut self, at: Time, packet: Box<Packet>, observer: &mut impl Observer) {
        match packet.direction {
            Direction::Down => {
                self.monitor(at, &packet, observer);
                self.enter_link(at, packet, observer);
            }
            Direction::Up => self.deliver(at, &packet, observer),
        }
    }

    fn leave_link(&mut self, at: Time, packet: Box<Packet>, observer: &mut impl Observer) {
        if let Some(radio) = &mut self.clients[packet.client].radio {
            radio.active(at);
        }
        observer.event(at, Event::Carried(&packet));
        self.enter_access(at, packet, observer);
    }

    fn leave_access(&mut self, at: Time, mut packet: Box<Packet>, observer: &mut impl Observer) {
        match packet.direction {
            Direction::Down => {
                self.ticks.restore(&mut packet);
                self.deliver(at, &packet, observer);
            }
            Direction::Up => {
                self.monitor(at, &packet, observer);
                self.enter_wan(at, packet, observer);
            }
        }
    }

    fn monitor(&mut self, at: Time, packet: &Packet, observer: &mut impl Observer) {
        self.counts.monitored += 1;
        observer.event(at, Event::Monitored(packet));
    }

    fn deliver(&mut self, at: Time, packet: &Packet, observer: &mut impl Observer) {
        self.counts.delivered += 1;
        self.inside -= 1;
        observer.event(at, Event::Delivered(packet));
    }

    fn lose(&mut self, at: Time, place: Place, packet: &Packet, observer: &mut impl Observer) {
        let count = match place {
            Place::Upstream => &mut self.counts.upstream,
            Place::Tail => &mut self.counts.tail,
            Place::Downstream => &mut self.counts.downstream,
        };
        *count += 1;
        self.inside -= 1;
        observer.event(at, Event::Dropped(place, packet));
    }

    fn transit(
        &mut self,
        at: Time,
        place: Place,
        fate: Fate,
        packet: Box<Packet>,
        observer: &mut impl Observer,
    ) -> Option<(Time, Transit)> {
        let (out, hold) = match fate {
            Fate::Lost => {
                self.lose(at, place, &packet, observer);
                return None;
            }
            Fate::Passes { at: out } => (out, Delta::ZERO),
            Fate::Held { at: out, hold } => (out, hold),
        };
        let entry = self.entries;
        self.entries += 1;
        Some((
            out,
            Transit {
                packet,
                entry,
                hold,
            },
        ))
    }

    fn sample(&mut self, at: Time, observer: &mut impl Observer) {
        for (client, state) in self.clients.iter_mut().enumerate() {
            for direction in [Direction::Down, Direction::Up] {
                let bytes = state.link.get(direction).queued(at);
                let last = std::mem::replace(state.sampled.get(direction), bytes);
                if bytes > Bytes::ZERO || last > Bytes::ZERO {
                    observer.event(
                        at,
                        Event::Queue {
                            client,
                            direction,
                            bytes,
                        },
                    );
                }
            }
        }
        self.agenda.plan(at + SAMPLE_EVERY, Step::Sample);
    }
}

fn report_reordering(
    at: Time,
    place: Place,
    transit: &Transit,
    overtaken: Option<u32>,
    observer: &mut impl Observer,
) {
    let Some(overtaken_by) = overtaken else {
        return;
    };
    observer.event(
        at,
        Event::Reordered {
            place,
            packet: &transit.packet,
            hold: transit.hold,
            overtaken_by,
        },
    );
}

impl Client {
    fn new(params: &PathParams, link: &AccessLink, start: Time) -> Client {
        let down = link.down.clone().starting_at(start);
        let up = link.up.clone().starting_at(start);
        Client {
            wan: Both {
                down: Segment::new(params.wan_down),
                up: Segment::new(params.wan_up),
            },
            access: Both {
                down: Segment::new(params.access_down),
                up: Segment::new(params.access_up),
            },
            link: Both {
                down: Link::new(down, link.down_queue),
                up: Link::new(up, link.up_queue),
            },
            sampled: Both {
                down: Bytes::ZERO,
                up: Bytes::ZERO,
            },
            radio: params.radio.map(|radio| Radio::new(radio, start)),
        }
    }
}

#[cfg(test)]
mod tests;
