//! A TCP flow of a user: its plan, its headers, its two ends, and the truth about it.

use crate::clock::Clock;
use crate::plan::{Device, FlowPlan};
use crate::published as given;
use crate::truth::{FlowName, FlowTruth};
use std::net::Ipv4Addr;
use unbloat_tcp::congestion::State;
use unbloat_tcp::receive_window::{self, drs2012};
use unbloat_tcp::{Event, Receiver, Sender, congestion, receiver, sender};
use unbloat_units::{Both, Bytes, Delta, Direction, Seq, Time};

use crate::params::Params;

/// What both ends offer as window scale: enough for 8 MiB.
pub(crate) const WINDOW_SCALE: u8 = 7;
/// What servers offer for the uplink: Linux's first window, and what it grows to.
const SERVER_WINDOW: u32 = 28_960;

pub(crate) struct Flow {
    pub plan: FlowPlan,
    pub truth: FlowTruth,
    /// Initial sequence numbers, by direction of the data.
    pub isn: Both<u32>,
    pub ip_ids: Both<u16>,
    pub server_clock: Clock,
    /// Whether the headers have timestamps.
    pub has_timestamps: bool,
    /// Where requests and responses begin in their streams, and how long they are.
    pub heads: Both<Vec<(u64, u64)>>,
    /// While it lives.
    pub connection: Option<Box<Connection>>,
}

impl Flow {
    pub(crate) fn new(
        plan: FlowPlan,
        name: FlowName,
        has_timestamps: bool,
        rng: &mut fastrand::Rng,
    ) -> Flow {
        Flow {
            truth: FlowTruth {
                name,
                promotion: Delta::ZERO,
                core_rtt: plan.core_rtt,
                packets: Both::default(),
                retransmissions: Both::default(),
                lost_before: Both::default(),
                read: Both::default(),
                timeouts: Vec::new(),
                undesired: Vec::new(),
                window_full: None,
                content: plan.content,
            },
            plan,
            isn: Both::of(|_| rng.u32(..)),
            ip_ids: Both::of(|_| rng.u16(..)),
            server_clock: Clock::server(Delta::secs(rng.i64(1_000..1_000_000))),
            has_timestamps,
            heads: Both::default(),
            connection: None,
        }
    }

    /// Payload of a full segment.
    pub(crate) fn payload(&self) -> u32 {
        given::PAYLOAD + if self.has_timestamps { 0 } else { 12 }
    }
}

/// Sender and receiver of the data of one direction.
pub(crate) struct Half {
    pub sender: Sender,
    pub receiver: Receiver,
    /// Bytes that the application has for the sender, beyond what its socket has taken.
    pub waiting: u64,
    /// What the receiver acknowledged last, and the window it offered.
    pub acked: (u64, u32),
    pub sender_armed: Option<Time>,
    pub receiver_armed: Option<Time>,
}

impl Half {
    /// The application writes as soon as the socket takes more. Returns whether it did.
    pub(crate) fn fill_socket(&mut self, now: Time) -> bool {
        let bytes = self.waiting.min(self.sender.writable());
        if bytes > 0 {
            self.waiting -= bytes;
            self.sender.write(now, bytes);
        }
        bytes > 0
    }

    pub(crate) fn is_through(&self) -> bool {
        self.waiting + self.sender.unacknowledged() == 0
    }
}

pub(crate) struct Connection {
    pub halves: Both<Half>,
    /// SYNs sent so far, and when the last one and the first SYN-ACK were.
    pub syns: u32,
    pub syn_at: Time,
    pub answered_at: Option<Time>,
    /// At the client.
    pub opened: Option<Time>,
    pub is_known: bool,
    /// The newest TSval that came from the sender of each direction.
    pub heard: Both<Seq>,
    /// When the server's line is free.
    pub line_free: Time,
    /// Number of the current exchange, and whether its response was written.
    pub exchange: usize,
    pub is_answered: bool,
    /// Ends of requests and responses so far.
    pub asked: u64,
    pub promised: u64,
    /// Payload that the client has read, and when data came first.
    pub read: u64,
    pub read_since: Option<Time>,
    pub read_armed: bool,
    /// FINs sent so far.
    pub fins: u32,
}

impl Connection {
    pub(crate) fn new(now: Time, params: &Params, device: &Device, payload: u32) -> Connection {
        let half = |direction: Direction| {
            let (window, most) = match direction {
                Direction::Down => (given::FIRST_WINDOW, device.window),
                Direction::Up => (SERVER_WINDOW, 4 * given::FIRST_WINDOW),
            };
            let receiver = Receiver::new(now, receiver_params(device, payload, window, most));
            let offered = receiver.initial_window();
            Half {
                sender: Sender::new(now, sender_params(params, device, payload), offered),
                receiver,
                waiting: 0,
                acked: (0, offered),
                sender_armed: None,
                receiver_armed: None,
            }
        };
        Connection {
            halves: Both::of(half),
            syns: 0,
            syn_at: now,
            answered_at: None,
            opened: None,
            is_known: false,
            heard: Both::default(),
            line_free: now,
            exchange: 0,
            is_answered: false,
            asked: 0,
            promised: 0,
            read: 0,
            read_since: None,
            read_armed: false,
            fins: 0,
        }
    }
}

/// A host of 2012: CUBIC of Linux 3.1, no probes for lost tails, all duplicate ACKs sent, timers as given.
fn sender_params(params: &Params, device: &Device, payload: u32) -> sender::Params {
    let mut of = sender::Params {
        mss: payload,
        congestion: congestion::Config::named("cubic2009").expect("a control of that name"),
        timestamps: device.tick.is_some(),
        loss_probe: false,
        ..sender::Params::default()
    };
    of.rto.min = params.rto_floor;
    of
}

fn receiver_params(device: &Device, payload: u32, window: u32, most: u32) -> receiver::Params {
    receiver::Params {
        mss: payload,
        initial_window: window,
        window_scale: WINDOW_SCALE,
        rule: receive_window::Config::Drs2012(drs2012::Params {
            initial: Bytes::new(window.into()),
            max: Bytes::new(most.into()),
        }),
        timestamps: device.tick.is_some(),
        compressed_acks: 0,
        ..receiver::Params::default()
    }
}

/// Writes down what the sender of one direction does.
pub(crate) struct Watch<'a> {
    pub direction: Direction,
    pub truth: &'a mut FlowTruth,
}

impl unbloat_tcp::Observer for Watch<'_> {
    fn event(&mut self, now: Time, event: Event) {
        if self.direction == Direction::Up {
            return;
        }
        match event {
            Event::Timeout { .. } => self.truth.timeouts.push(now),
            Event::State {
                from: State::Recovery,
                to: State::Loss,
            } => self.truth.undesired.push(now),
            _ => {}
        }
    }
}

/// Name of a user's flow: the client's ports count up, servers are spread over the addresses for benchmarks (RFC 2544).
pub(crate) fn name(client: Ipv4Addr, number: u32, port: u16, rng: &mut fastrand::Rng) -> FlowName {
    FlowName {
        client,
        client_port: 32_768 + (number % 28_000) as u16,
        server: Ipv4Addr::from_bits(u32::from_be_bytes([198, 18, 0, 0]) | rng.u32(1..0x1_fffe)),
        server_port: port,
    }
}
