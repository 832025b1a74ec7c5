//! One user: its hosts, its radio, and the servers it talks to, in virtual time.
//!
//! ```text
//! client ── radio (Leg) ── monitor ── core (delay of the flow) ── server or proxy
//! ```
//!
//! Users do not know of each other: what others leave to a user is its rate. So users can be simulated apart, in any order.

mod app;
mod tcp;
mod text;

use crate::body::{Body, Header, Kind};
use crate::clock::Clock;
use crate::flow::{self, Flow, WINDOW_SCALE};
use crate::frame::{self, Tunnel};
use crate::leg::Leg;
use crate::params::Params;
use crate::plan::{Planner, UserPlan};
use crate::published as given;
use crate::slice::Slice;
use crate::truth::{FlowName, SLOT, UserTruth};
use fastrand::Rng;
use std::net::Ipv4Addr;
use std::sync::Arc;
use unbloat_qdisc::{FlowHash, IpLen, Packet};
use unbloat_sim::{Agenda, Slab};
use unbloat_tcp::Timestamps;
use unbloat_units::{Both, Bytes, Delta, Direction, Seq, Time};

/// What is to be done at a time. Numbers are those of flows.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// Packets may leave the radio.
    Radio(Direction),
    /// A packet from the core is at the monitor; one from the monitor is at its server. By handle.
    AtMonitor(u32),
    AtServer(u32),
    Begin(u32),
    Syn(u32),
    Sender(u32, Direction),
    Receiver(u32, Direction),
    Exchange(u32),
    Respond(u32),
    Read(u32),
    Close(u32),
}

/// A simulated user.
pub struct User {
    number: u32,
    params: Arc<Params>,
    plan: UserPlan,
    client: Ipv4Addr,
    tunnel: Tunnel,
    clock: Option<Clock>,
    now: Time,
    agenda: Agenda<Task>,
    leg: Leg,
    bodies: Slab<Body>,
    flows: Vec<Flow>,
    rng: Rng,
    tapped: Slice,
    /// As in `UserTruth`.
    arrived: Vec<(u32, u32)>,
}

/// The carrier's resolver.
const RESOLVER: Ipv4Addr = Ipv4Addr::new(10, 199, 0, 53);

impl User {
    /// The user of that number in a trace; `seed` is the trace's.
    pub(crate) fn new(params: &Arc<Params>, planner: &Planner<'_>, number: u32, seed: u64) -> User {
        let mut rng = Rng::with_seed(mix(seed, number));
        let mut plan = planner.user(&mut rng);
        let client = Ipv4Addr::from_bits(u32::from_be_bytes([10, 64, 0, 1]) + number);
        let station = number % given::BASE_STATIONS;
        let clock = Clock::of(&plan.device);
        let leg = Leg::new(params, &plan.rates, &mut rng);
        let mut agenda = Agenda::default();
        let flows = std::mem::take(&mut plan.flows).into_iter().zip(0..);
        let flows = flows.map(|(one, index)| {
            agenda.plan(one.start, Task::Begin(index));
            let name = flow::name(client, index, one.port, &mut rng);
            Flow::new(one, name, clock.is_some(), &mut rng)
        });
        let flows = flows.collect();
        User {
            number,
            params: Arc::clone(params),
            plan,
            client,
            tunnel: Tunnel {
                base_station: Ipv4Addr::new(10, 200, 0, 1 + station as u8),
                gateway: Ipv4Addr::new(10, 201, 0, 1),
                teid_down: 0x1000_0000 + number,
                teid_up: 0x2000_0000 + number,
            },
            clock,
            now: Time::from_ns(0),
            agenda,
            leg,
            bodies: Slab::default(),
            flows,
            rng,
            tapped: Slice::default(),
            arrived: Vec::new(),
        }
    }

    /// Goes on until that time; frames that passed the monitor before it are added to `slice`.
    pub fn advance(&mut self, until: Time, slice: &mut Slice) {
        std::mem::swap(&mut self.tapped, slice);
        while self.agenda.next_at().is_some_and(|at| at < until) {
            let Some((now, task)) = self.agenda.take() else {
                break;
            };
            self.now = now;
            self.act(task);
            self.settle();
            let agenda = &mut self.agenda;
            self.leg
                .arm(|at, direction| agenda.plan(at, Task::Radio(direction)));
        }
        std::mem::swap(&mut self.tapped, slice);
    }

    /// What happened to the user, at the end.
    pub fn into_truth(self) -> UserTruth {
        UserTruth {
            client: self.client,
            tick_s: self.clock.map(|clock| clock.tick_s()),
            arrived: self.arrived,
            flows: self.flows.into_iter().map(|flow| flow.truth).collect(),
        }
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Radio(direction) => self.leg.wake(self.now, direction),
            Task::AtMonitor(handle) => {
                let body = *self.bodies.get(handle);
                self.tap(&body);
                self.enter(handle);
            }
            Task::AtServer(handle) => {
                let body = self.bodies.take(handle);
                self.at_server(&body);
            }
            Task::Begin(flow) => self.begin(flow),
            Task::Syn(flow) => self.on_syn_timeout(flow),
            Task::Sender(flow, direction) => self.on_sender_timer(flow, direction),
            Task::Receiver(flow, direction) => self.on_receiver_timer(flow, direction),
            Task::Exchange(flow) => self.exchange(flow),
            Task::Respond(flow) => self.respond(flow),
            Task::Read(flow) => self.on_read_timer(flow),
            Task::Close(flow) => self.close(flow),
        }
    }

    /// Handles what the radio gave out, until nothing is left to do now.
    fn settle(&mut self) {
        loop {
            let given = std::mem::take(&mut self.leg.given);
            if given.delivered.is_empty() && given.dropped.is_empty() && given.woken.is_empty() {
                return;
            }
            for (handle, wait) in given.woken {
                let body = self.bodies.get(handle);
                let flow = &mut self.flows[body.flow as usize];
                let is_first = flow.truth.packets.up == 0;
                if matches!(body.kind, Kind::Syn) && is_first {
                    flow.truth.promotion = wait;
                }
            }
            for handle in given.dropped {
                let body = self.bodies.take(handle);
                self.lost_at_radio(&body);
            }
            for (direction, handle) in given.delivered {
                match direction {
                    Direction::Down => {
                        let body = self.bodies.take(handle);
                        self.note_arrival(body.payload());
                        self.at_client(&body);
                    }
                    Direction::Up => self.leave(handle),
                }
            }
        }
    }

    fn note_arrival(&mut self, payload: u32) {
        let slot = (self.now.as_ns() / SLOT.as_ns()) as u32;
        match self.arrived.last_mut() {
            _ if payload == 0 => {}
            Some((last, bytes)) if *last == slot => *bytes += payload,
            _ => self.arrived.push((slot, payload)),
        }
    }

    fn lost_at_radio(&mut self, body: &Body) {
        if body.payload() > 0 && body.direction == Direction::Up {
            self.flows[body.flow as usize].truth.lost_before.up += 1;
        }
    }

    /// A packet from the radio passes the monitor and goes on to its server.
    fn leave(&mut self, handle: u32) {
        let body = *self.bodies.get(handle);
        self.tap(&body);
        let flow = &mut self.flows[body.flow as usize];
        if matches!(body.kind, Kind::Query) {
            let delay = flow.plan.lookup.unwrap_or_default();
            self.bodies.take(handle);
            let answer = Body {
                direction: Direction::Down,
                kind: Kind::Answer,
                ..body
            };
            let answer = self.bodies.put(answer);
            self.agenda.plan(self.now + delay, Task::AtMonitor(answer));
            return;
        }
        if self.rng.f64() < self.params.core_loss {
            self.bodies.take(handle);
            return;
        }
        let at = self.now + flow.plan.core_rtt / 2;
        self.agenda.plan(at, Task::AtServer(handle));
    }

    /// Sends a packet from the host at the start of its direction.
    fn send(&mut self, number: u32, direction: Direction, kind: Kind) {
        let header = self.header(number, direction, &kind);
        let body = Body {
            flow: number,
            direction,
            header,
            kind,
        };
        let len = self.ip_len(&body);
        match direction {
            Direction::Up => {
                let handle = self.bodies.put(body);
                self.enter(handle);
            }
            Direction::Down => self.send_down(body, len),
        }
    }

    /// Behind the line of the server; some packets are lost in the core.
    fn send_down(&mut self, body: Body, len: u32) {
        let flow = &mut self.flows[body.flow as usize];
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let took = Bytes::new(len.into()) / self.params.server_rate;
        connection.line_free = connection.line_free.max(self.now) + took;
        let at = connection.line_free + flow.plan.core_rtt / 2;
        if self.rng.f64() < self.params.core_loss {
            if body.payload() > 0 {
                flow.truth.lost_before.down += 1;
            }
            return;
        }
        let handle = self.bodies.put(body);
        self.agenda.plan(at, Task::AtMonitor(handle));
    }

    /// The packet enters the radio leg.
    fn enter(&mut self, handle: u32) {
        let body = *self.bodies.get(handle);
        let len = IpLen::new(self.ip_len(&body));
        let hash = FlowHash(body.flow.wrapping_mul(0x9e37_79b9));
        self.leg
            .accept(self.now, body.direction, Packet::new(handle, len, hash));
    }

    fn header(&mut self, number: u32, direction: Direction, kind: &Kind) -> Header {
        let now = self.now;
        let flow = &mut self.flows[number as usize];
        let ip_id = flow.ip_ids[direction].wrapping_add(1);
        flow.ip_ids[direction] = ip_id;
        let Some(connection) = &flow.connection else {
            return Header {
                ip_id,
                ..Header::default()
            };
        };
        let other = direction.reverse();
        let heard = connection.heard[other];
        let (acked, window) = connection.halves[other].acked;
        let (ack, window, timestamps) = match kind {
            Kind::Ack(ack) => (ack.ack, ack.window, ack.timestamps),
            Kind::Data(segment) => (acked, window, segment.timestamps),
            // After the other end's FIN, which the client sends first.
            Kind::Fin(_) if direction == Direction::Down => (connection.asked + 1, window, None),
            Kind::LastAck(_) => (connection.promised + 1, window, None),
            _ => (acked, window, None),
        };
        let timestamps = timestamps.map(|t| (t.value, t.echo));
        let (value, echo) = timestamps.unwrap_or((Timestamps::clock(now), heard));
        Header {
            ip_id,
            next: connection.halves[direction].sender.flow().snd_nxt,
            ack,
            window,
            // Senders know nothing of the handshake's echoes.
            timestamps: flow
                .has_timestamps
                .then_some((value, if echo == Seq::new(0) { heard } else { echo })),
        }
    }

    /// Length at IP level.
    fn ip_len(&self, body: &Body) -> u32 {
        let flow = &self.flows[body.flow as usize];
        let timestamps = if flow.has_timestamps { 12 } else { 0 };
        match body.kind {
            Kind::Syn | Kind::SynAck => 52 + timestamps,
            Kind::Data(segment) => segment.ip_len(),
            Kind::Ack(ack) => ack.ip_len(),
            Kind::Query | Kind::Answer => 28 + text::dns(&flow.truth.name, &body.kind).len() as u32,
            _ => 40 + timestamps,
        }
    }

    /// The monitor captures the packet.
    fn tap(&mut self, body: &Body) {
        let flow = &mut self.flows[body.flow as usize];
        let name = flow.truth.name;
        let (now, number, tunnel) = (self.now, self.number, self.tunnel);
        let (direction, ip_id) = (body.direction, body.header.ip_id);
        if matches!(body.kind, Kind::Query | Kind::Answer) {
            let payload = text::dns(&name, &body.kind);
            let resolver = FlowName {
                server: RESOLVER,
                server_port: 53,
                ..name
            };
            self.tapped.push(now, number, |out| {
                frame::udp(out, &tunnel, &resolver, direction, ip_id, &payload)
            });
            return;
        }
        flow.truth.packets[direction] += 1;
        let clocks = self
            .clock
            .map(|client| Both::new(flow.server_clock, client));
        let mut sacks = [(0, 0); 4];
        let header = tcp_header(flow, body, clocks, &mut sacks);
        let text = match body.kind {
            Kind::Data(segment) => text::head(flow, direction, segment.seq),
            _ => String::new(),
        };
        let header = frame::Tcp {
            text: text.as_bytes(),
            ..header
        };
        self.tapped.push(now, number, |out| {
            frame::tcp(out, &tunnel, &name, direction, ip_id, &header)
        });
    }

    fn flow_at(&mut self, number: u32) -> &mut Flow {
        &mut self.flows[number as usize]
    }
}

/// A packet's TCP header on the wire.
fn tcp_header<'s>(
    flow: &Flow,
    body: &Body,
    clocks: Option<Both<Clock>>,
    room: &'s mut [(u32, u32); 4],
) -> frame::Tcp<'s> {
    let (direction, other) = (body.direction, body.direction.reverse());
    let (isn, their_isn) = (flow.isn[direction], flow.isn[other]);
    let next = |offset: u64| frame::on_wire(isn, offset);
    let (seq, flags) = match &body.kind {
        Kind::Syn => (isn, frame::SYN),
        Kind::SynAck => (isn, frame::SYN | frame::ACK),
        Kind::Established | Kind::Query | Kind::Answer => (next(0), frame::ACK),
        // A probe of the window repeats the byte before.
        Kind::Data(segment) if segment.len == 0 => (next(segment.seq.wrapping_sub(1)), frame::ACK),
        Kind::Data(segment) if segment.push => (next(segment.seq), frame::ACK | frame::PSH),
        Kind::Data(segment) => (next(segment.seq), frame::ACK),
        Kind::Ack(_) => (next(body.header.next), frame::ACK),
        Kind::Fin(offset) => (next(*offset), frame::FIN | frame::ACK),
        Kind::LastAck(offset) => (next(*offset), frame::ACK),
        Kind::Rst(offset) => (next(*offset), frame::RST | frame::ACK),
    };
    let is_first = matches!(body.kind, Kind::Syn);
    let is_syn = is_first || matches!(body.kind, Kind::SynAck);
    let mut count = 0;
    if let Kind::Ack(ack) = &body.kind {
        for (slot, block) in room.iter_mut().zip(ack.blocks()) {
            let at = |offset| frame::on_wire(their_isn, offset);
            *slot = (at(block.start), at(block.end));
            count += 1;
        }
    }
    let timestamps = body.header.timestamps.zip(clocks);
    let timestamps = timestamps.map(|((value, echo), of)| {
        let echo = if is_first { 0 } else { of[other].ticks(echo) };
        (of[direction].ticks(value), echo)
    });
    // Windows of SYNs are not scaled.
    let window = if is_syn {
        body.header.window.min(65_535)
    } else {
        (body.header.window >> WINDOW_SCALE).min(65_535)
    };
    frame::Tcp {
        seq,
        ack: if is_first {
            0
        } else {
            frame::on_wire(their_isn, body.header.ack)
        },
        flags,
        window: window as u16,
        timestamps,
        sacks: &room[..count],
        syn_options: is_syn.then_some((given::PAYLOAD as u16 + 12, WINDOW_SCALE)),
        payload: body.payload(),
        text: &[],
    }
}

/// Seeds of users are far apart, whatever the seed of the trace.
fn mix(seed: u64, number: u32) -> u64 {
    let mut x = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(u64::from(number) + 1)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x.wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Half a second, for what is tried again.
const SOON: Delta = Delta::ms(500);
