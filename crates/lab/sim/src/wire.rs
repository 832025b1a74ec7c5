//! The network between the hosts: both paths, the packets on them, and when something happens next.

use crate::agenda::Agenda;
use crate::body::{Body, ecn_of};
use crate::due::Due;
use crate::router::{self, Router};
use crate::slab::Slab;
use unbloat_experiment::outcome::{FlowLayers, Layer, PathRecord, Route};
use unbloat_experiment::scenario::{Experiment, Rates};
use unbloat_link::{Element, Output, Place};
use unbloat_qdisc::{Dscp, Ecn, Event, FlowHash, Host, IpLen, Observer, Packet, PureAck};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

/// What is to be done at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Packets may leave the path of that direction.
    Path(Direction),
    /// A packet enters the path after the delay of its own flow.
    Enter(Direction, u32),
    Sender(u32, Direction),
    Receiver(u32, Direction),
    /// An application reads what it left.
    Read(u32, Direction),
    /// An application writes, for its socket has room again.
    Write(u32, Direction),
    /// The SYN of a connection went unanswered.
    Handshake(u32),
    Start(u32),
    Stop(u32),
    Wake {
        flow: u32,
        tag: u32,
    },
    Sample,
    /// Rates are thought over, and probes sent.
    Autorate,
}

/// Where the packets of a flow go and how they are labelled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Labels {
    pub flow: u32,
    pub client: Host,
    pub server: Host,
    pub dscp: Dscp,
    pub extra_delay: Delta,
}

/// Follows the packets of flows through the layers of the devices that send them.
struct Follower {
    /// The flow of each packet, by its handle.
    flow_of: Vec<u32>,
    /// By flow, in the directions that begin with a device.
    flows: Vec<Both<Option<Box<FlowLayers>>>>,
    /// Directions of several hops, of which the first is followed.
    has_hops: Both<bool>,
}

impl Follower {
    fn layers(&mut self, flow: u32, direction: Direction) -> Option<&mut FlowLayers> {
        self.flows.get_mut(flow as usize)?[direction].as_deref_mut()
    }

    fn follow(&mut self, handle: u32, flow: u32) {
        let index = handle as usize;
        if index >= self.flow_of.len() {
            self.flow_of.resize(index + 1, u32::MAX);
        }
        self.flow_of[index] = flow;
    }

    fn entered(&mut self, at: Time, direction: Direction, packet: &Packet) {
        let flow = self.flow_of[packet.handle as usize];
        if let Some(layers) = self.layers(flow, direction) {
            layers.passed(at, Layer::Tcp, packet.len.bytes());
        }
    }

    #[inline(never)]
    fn waited(
        &mut self,
        at: Time,
        direction: Direction,
        place: Place,
        packet: &Packet,
        wait: Delta,
    ) {
        let flow = self.flow_of[packet.handle as usize];
        if let Some(layers) = self.layers(flow, direction) {
            layers.waited(at, place, packet.len.bytes(), wait);
        }
    }
}

/// A packet that has left its path.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    handle: u32,
    is_marked: bool,
}

pub(crate) struct Wire {
    pub now: Time,
    pub agenda: Agenda<Task>,
    routes: Both<Route>,
    /// For each path the earliest wake-up that is planned; never if there is none.
    armed: Both<Time>,
    /// Packets that wait for their flow's own delay.
    delayed: Slab<Packet>,
    ends: Ends,
}

/// What takes what paths give out.
struct Ends {
    inbox: Due<Arrival>,
    records: Both<PathRecord>,
    /// What packets carry, while they are on their way, by their handles.
    bodies: Slab<Body>,
    router: Option<Router>,
    follower: Option<Box<Follower>>,
}

impl Wire {
    pub(crate) fn new(routes: Both<Route>, warm_at: Time) -> Wire {
        Wire {
            now: Time::from_ns(0),
            agenda: Agenda::default(),
            routes,
            armed: Both::of(|_| Time::MAX),
            delayed: Slab::default(),
            ends: Ends {
                inbox: Due::default(),
                records: Both::of(|_| PathRecord::new(warm_at)),
                bodies: Slab::default(),
                router: None,
                follower: None,
            },
        }
    }

    /// Follows each flow through the layers of the devices that send its packets.
    pub(crate) fn follow(&mut self, experiment: &Experiment) {
        let begins = Both::of(|direction| self.begins_with_device(direction));
        let layers = begins.map(|begins| begins.then(|| Box::new(FlowLayers::new(experiment))));
        self.ends.follower = Some(Box::new(Follower {
            flow_of: Vec::new(),
            flows: vec![layers; experiment.flows.len()],
            has_hops: self.routes.as_ref().map(|route| route.hops() > 1),
        }));
    }

    /// What each flow met there.
    pub(crate) fn take_layers(&mut self) -> Vec<Both<Option<Box<FlowLayers>>>> {
        let follower = self.ends.follower.take();
        follower.map_or_else(Vec::new, |follower| follower.flows)
    }

    /// Sends a packet of `len` bytes; `key` tells flows apart.
    pub(crate) fn send(
        &mut self,
        direction: Direction,
        len: u32,
        key: u64,
        labels: &Labels,
        body: Body,
    ) {
        self.send_in_line(direction, len, key, None, labels, body);
    }

    /// For what is sent most.
    #[inline(always)]
    pub(crate) fn send_in_line(
        &mut self,
        direction: Direction,
        len: u32,
        key: u64,
        pure_ack: Option<PureAck>,
        labels: &Labels,
        body: Body,
    ) {
        let mut packet = Packet::new(0, IpLen::new(len), flow_hash(key, direction));
        (packet.source, packet.destination) = match direction {
            Direction::Down => (labels.server, labels.client),
            Direction::Up => (labels.client, labels.server),
        };
        packet.dscp = labels.dscp;
        packet.pure_ack = pure_ack;
        if let Body::Data { segment, .. } = &body {
            packet.ecn = ecn_of(segment.ecn);
        }
        packet.handle = self.ends.bodies.put(body);
        if let Some(follower) = &mut self.ends.follower {
            follower.follow(packet.handle, labels.flow);
        }
        if labels.extra_delay > Delta::ZERO {
            let place = self.delayed.put(packet);
            self.agenda
                .plan(self.now + labels.extra_delay, Task::Enter(direction, place));
        } else {
            let hop = self.first_hop(&body);
            self.enter(direction, hop, packet);
        }
    }

    /// The hop, from 0, that a packet meets first: answers of routers have left out those behind them.
    fn first_hop(&self, body: &Body) -> usize {
        match body {
            Body::TimeExceeded { first, .. } => *first,
            _ => 0,
        }
    }

    /// A packet that waited for its flow's own delay enters the path.
    pub(crate) fn enter_delayed(&mut self, direction: Direction, place: u32) {
        let packet = self.delayed.take(place);
        let hop = self.first_hop(self.ends.bodies.get(packet.handle));
        self.enter(direction, hop, packet);
    }

    /// Whether the layers of the sending device are told apart in that direction.
    pub(crate) fn begins_with_device(&self, direction: Direction) -> bool {
        self.routes[direction].begins_with_device()
    }

    /// A segment has waited in its sender's socket until now.
    #[inline]
    pub(crate) fn waited_in_socket(&mut self, direction: Direction, flow: u32, wait: Delta) {
        self.ends.records[direction].waited(self.now, Place::Socket, wait);
        if let Some(follower) = &mut self.ends.follower
            && let Some(layers) = follower.layers(flow, direction)
        {
            layers.waited(self.now, Place::Socket, Bytes::ZERO, wait);
        }
    }

    /// An application has written into its socket.
    #[inline]
    pub(crate) fn wrote(&mut self, direction: Direction, flow: u32, bytes: u64) {
        if let Some(follower) = &mut self.ends.follower
            && let Some(layers) = follower.layers(flow, direction)
        {
            layers.passed(self.now, Layer::Socket, Bytes::new(bytes));
        }
    }

    /// The next packet that has arrived, by its handle: a segment is marked if its packet is.
    #[inline]
    pub(crate) fn receive(&mut self) -> Option<u32> {
        let Arrival { handle, is_marked } = self.ends.inbox.pop()?;
        if is_marked && let Body::Data { segment, .. } = self.ends.bodies.get_mut(handle) {
            segment.ecn = unbloat_tcp::Ecn::Ce;
        }
        Some(handle)
    }

    /// What a packet carries that has arrived: it stays until the place is used again.
    #[inline]
    pub(crate) fn open(&mut self, handle: u32) -> &Body {
        self.ends.bodies.release(handle)
    }

    /// Puts the one who changes rates where the shapers are.
    pub(crate) fn shape(&mut self, rates: &Rates) {
        let hops_down = self.routes.down.hops();
        self.ends.router = Some(Router::new(rates, self.now, hops_down));
        self.shape_anew();
    }

    /// Rates are thought over, and a probe is sent if it is time. When that is due again.
    pub(crate) fn autorate(&mut self) -> Option<Time> {
        let router = self.ends.router.as_mut()?;
        let (probe, next) = router.act(self.now);
        self.shape_anew();
        if let Some(number) = probe {
            let body = Body::Probe {
                number,
                sent: self.now,
                turned: None,
            };
            self.send_probe(Direction::Up, number, body);
        }
        Some(next)
    }

    /// A probe has come to its reflector, or back.
    pub(crate) fn probed(&mut self, number: u32, sent: Time, turned: Option<Time>) {
        let now = self.now;
        match (turned, &mut self.ends.router) {
            (Some(turned), Some(router)) => {
                router.answered(now, number, sent, turned);
                self.shape_anew();
            }
            _ => {
                let body = Body::Probe {
                    number,
                    sent,
                    turned: Some(now),
                };
                self.send_probe(Direction::Down, number, body);
            }
        }
    }

    fn send_probe(&mut self, direction: Direction, number: u32, body: Body) {
        let key = router::PROBES | u64::from(number % router::REFLECTORS);
        let labels = router::LABELS;
        self.send(direction, router::PROBE_BYTES, key, &labels, body);
    }

    fn shape_anew(&mut self) {
        // What a new rate lets out is not told to who set it.
        let Some(mut router) = self.ends.router.take() else {
            return;
        };
        for (direction, hop, rate) in router.changes() {
            let mut output = self.ends.of(self.now, direction);
            self.routes[direction].set_rate(hop, self.now, rate, &mut output);
        }
        self.ends.router = Some(router);
    }

    #[inline(always)]
    fn enter(&mut self, direction: Direction, hop: usize, packet: Packet) {
        self.ends.records[direction].offered(packet.len.bytes());
        if let Some(follower) = &mut self.ends.follower
            && hop == 0
        {
            follower.entered(self.now, direction, &packet);
        }
        let mut output = self.ends.of(self.now, direction);
        self.routes[direction].accept_at(hop, self.now, packet, &mut output);
    }

    /// Lets packets leave the path that are due. A wake-up for which there was an earlier one since is void.
    pub(crate) fn wake(&mut self, direction: Direction) {
        if self.armed[direction] != self.now {
            return;
        }
        self.armed[direction] = Time::MAX;
        let mut output = self.ends.of(self.now, direction);
        self.routes[direction].advance(self.now, &mut output);
    }

    /// Plans the next wake-ups of both paths; to be called when all is done that is due now.
    #[inline(always)]
    pub(crate) fn arm(&mut self) {
        self.arm_path(Direction::Down);
        self.arm_path(Direction::Up);
    }

    #[inline(always)]
    fn arm_path(&mut self, direction: Direction) {
        if let Some(at) = self.routes[direction].next_at()
            && at < self.armed[direction]
        {
            self.armed[direction] = at;
            let seat = direction as usize;
            self.agenda.plan_in_seat(seat, at, Task::Path(direction));
        }
    }

    /// The packet that leaves that path after so many others, where that is known.
    #[inline]
    pub(crate) fn coming(&self, direction: Direction, after: usize) -> Option<&Packet> {
        self.routes[direction].coming(after)
    }

    #[inline]
    pub(crate) fn body(&self, packet: &Packet) -> &Body {
        self.ends.bodies.get(packet.handle)
    }

    pub(crate) fn route(&self, direction: Direction) -> &Route {
        &self.routes[direction]
    }

    /// What each direction was like as a whole, and hop by hop.
    pub(crate) fn into_records(self) -> (Both<PathRecord>, Both<Vec<PathRecord>>) {
        (self.ends.records, self.routes.map(Route::into_records))
    }

    /// Packets on the paths; those that still wait for their flow's own delay do not count.
    pub(crate) fn under_way(&self) -> u64 {
        self.routes
            .iter()
            .map(|route| u64::from(route.backlog().packets))
            .sum()
    }

    pub(crate) fn under_way_bytes(&self) -> Bytes {
        self.routes.iter().map(|route| route.backlog().bytes).sum()
    }
}

impl Ends {
    #[inline]
    fn of(&mut self, now: Time, direction: Direction) -> Collect<'_> {
        Collect {
            now,
            direction,
            ends: self,
        }
    }
}

/// Takes what the path of one direction gives out.
struct Collect<'a> {
    now: Time,
    direction: Direction,
    ends: &'a mut Ends,
}

impl Observer for Collect<'_> {
    fn event(&mut self, now: Time, event: Event) {
        self.ends.records[self.direction].event(now, &event);
        if let Event::Dropped { packet, .. } = event {
            self.ends.bodies.take(packet.handle);
        }
    }
}

impl Output for Collect<'_> {
    #[inline]
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.ends.records[self.direction].delivered(at, packet.len.bytes());
        if let Some(router) = &mut self.ends.router
            && self.direction == Direction::Down
        {
            router.shaped(self.now, packet.len);
        }
        self.ends.inbox.push(Arrival {
            handle: packet.handle,
            is_marked: packet.ecn == Ecn::Ce,
        });
    }

    #[inline(always)]
    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        if let Some(follower) = &mut self.ends.follower
            && !follower.has_hops[self.direction]
        {
            follower.waited(at, self.direction, place, packet, wait);
        }
        self.ends.records[self.direction].waited(at, place, wait);
    }

    #[inline]
    fn waited_first(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        if let Some(follower) = &mut self.ends.follower {
            follower.waited(at, self.direction, place, packet, wait);
        }
    }

    #[inline]
    fn came_to(&mut self, at: Time, hop: usize, packet: &Packet) {
        if let Some(router) = &mut self.ends.router {
            let body = self.ends.bodies.get(packet.handle);
            router.came_to(at, self.direction, hop, packet, body);
        }
    }

    #[inline]
    fn ends_before(&mut self, hop: usize, packet: &Packet) -> bool {
        let body = self.ends.bodies.get(packet.handle);
        matches!(body, Body::Limited { until, .. } if *until == hop)
    }
}

/// Spreads numbers of connections over 32 bits, apart for both directions.
fn flow_hash(key: u64, direction: Direction) -> FlowHash {
    let mixed = (key << 1 | direction as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    FlowHash(
        (mixed ^ (mixed >> 29))
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .wrapping_shr(32) as u32,
    )
}
