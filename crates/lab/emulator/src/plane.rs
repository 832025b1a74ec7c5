//! The data plane in logical time: packets from devices into the path, and out of it into devices.

use crate::arrival::Arrival;
use crate::books::{Books, Parts};
use crate::bulk::Bulk;
use crate::clock::Clock;
use crate::delays::Delays;
use crate::departure::Head;
use crate::egress::Egress;
use crate::emulator::Emulated;
use crate::error::EmulatorError;
use crate::flight::Flight;
use crate::gate::{Gate, Guarded};
use crate::port::{Device, Side};
use crate::report::Report;
use crate::routes::Routes;
use crate::store::{Lot, Store};
use crate::ticks::Ticks;
use std::io;
use unbloat_experiment::outcome::Route;
use unbloat_link::{Element, Output, Place};
use unbloat_qdisc::{Backlog, Ecn, Event, Observer, Packet};
use unbloat_units::{Both, Delta, Direction, Time};

/// Reads from one device before the others get their turn and departures are looked at.
const BATCH: usize = 16;

pub(crate) struct Plane<D> {
    pub devices: Vec<D>,
    pub sides: Vec<Side>,
    pub routes: Both<Routes>,
    pub paths: Both<Route>,
    pub delays: Delays,
    pub books: Books,
    pub sample_every: Option<Delta>,
    pub ticks: Ticks,
    /// What is left of the paths where their last delay is the devices' matter.
    pub flights: Both<Flight>,
    /// Where the packets of a direction wait for its link.
    gates: Both<Option<Guarded>>,
    next_sample: Time,
    /// What one path does shows on the other, so both are driven in the order of time.
    is_joint: bool,
    store: Store,
    egress: Egress,
    pub bulk: Bulk,
}

impl<D: Device> Plane<D> {
    pub(crate) fn new(
        devices: Vec<D>,
        sides: Vec<Side>,
        routes: Both<Routes>,
        paths: Both<Route>,
        books: Books,
    ) -> Plane<D> {
        let base_rtt = paths
            .iter()
            .fold(Delta::ZERO, |sum, path| sum + path.latency());
        let is_joint = paths.iter().any(Element::is_watched);
        Plane {
            bulk: Bulk::new(base_rtt),
            devices,
            sides,
            routes,
            is_joint,
            paths,
            delays: Delays::default(),
            books,
            sample_every: None,
            ticks: Ticks::default(),
            flights: Default::default(),
            gates: Both::default(),
            next_sample: Time::from_ns(0),
            store: Store::new(),
            egress: Egress::default(),
        }
    }

    /// Has the links of some directions ask for their packets. The paths must be fed.
    pub(crate) fn set_gates(&mut self, gates: Both<Option<Gate>>) {
        self.gates = gates.map(|gate| gate.map(Guarded::new));
        if self.is_gated() {
            // A packet that is asked for late is one that the kernel chose late.
            self.bulk.forbid();
        }
    }

    pub(crate) fn is_gated(&self) -> bool {
        self.gates.iter().any(Option::is_some)
    }

    /// Whether the gates still work.
    pub(crate) fn check(&mut self) -> Result<(), EmulatorError> {
        let mut gates = self.gates.iter_mut().flatten();
        gates.try_for_each(Guarded::check)
    }

    /// When something is next due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let paths = self.paths.iter().filter_map(Element::next_at);
        paths.chain(self.delays.next_at()).min()
    }

    /// Does what is due at or before `now`, in the order of time where that can be seen.
    pub(crate) fn catch_up(&mut self, now: Time) {
        while let Some(every) = self.sample_every
            && self.next_sample <= now
        {
            let at = self.next_sample;
            self.catch_up_paths(at);
            let backlogs = self.inside(at);
            self.books.sample(at, backlogs, &self.paths);
            self.next_sample = at + every;
        }
        self.catch_up_paths(now);
    }

    fn catch_up_paths(&mut self, now: Time) {
        while let Some((at, direction, packet)) = self.delays.take(now) {
            self.advance(at);
            self.enter(at, direction, packet);
        }
        self.advance(now);
    }

    fn advance(&mut self, now: Time) {
        while self.is_joint
            && let Some((at, direction)) = self.next_of_paths()
            && at <= now
        {
            self.advance_one(at, direction);
        }
        for direction in Direction::BOTH {
            self.advance_one(now, direction);
        }
    }

    fn next_of_paths(&self) -> Option<(Time, Direction)> {
        let next =
            Direction::BOTH.map(|direction| Some((self.paths[direction].next_at()?, direction)));
        next.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn advance_one(&mut self, now: Time, direction: Direction) {
        let (path, mut exit) = self.exit(direction);
        path.advance(now, &mut exit);
    }

    fn exit(&mut self, direction: Direction) -> (&mut Route, Exit<'_, D>) {
        let exit = Exit {
            direction,
            devices: &self.devices,
            routes: &self.routes[direction],
            ticks: &mut self.ticks,
            gate: self.gates[direction].as_mut(),
            store: &mut self.store,
            egress: &mut self.egress,
            books: &mut self.books,
            bulk: &mut self.bulk,
            flight: &mut self.flights[direction],
        };
        (&mut self.paths[direction], exit)
    }

    /// A packet enters the path.
    fn enter(&mut self, at: Time, direction: Direction, packet: Packet) {
        let (path, mut exit) = self.exit(direction);
        exit.offered(at, &packet);
        path.accept(at, packet, &mut exit);
    }

    /// Takes in what waits in a device, but not more than a batch.
    pub(crate) fn read(&mut self, device: usize, clock: &impl Clock) {
        for _ in 0..BATCH {
            if !self.store.open() {
                self.discard(device);
                continue;
            }
            let read = self.devices[device].read(self.store.room());
            let lot = self.store.fill(*read.as_ref().unwrap_or(&0));
            if read.is_err() {
                return self.store.close(lot);
            }
            let now = clock.now();
            self.catch_up(now);
            if !self.take_in(device, lot, now) {
                self.reopen(device);
            }
            self.store.close(lot);
        }
    }

    /// Without memory left, packets are read so that the device does not wake us for ever.
    fn discard(&mut self, device: usize) {
        let mut byte = [0; 64];
        let gone = self.devices[device].read(&mut byte).is_ok();
        self.books.counts.unkept += u64::from(gone);
    }

    /// A packet that is not for the path took the place of one that is.
    fn reopen(&mut self, device: usize) {
        let mut gates = self.gates.iter_mut().flatten();
        if let Some(gate) = gates.find(|gate| gate.port() == device) {
            gate.open();
        }
    }

    /// Whether it is for the path.
    fn take_in(&mut self, device: usize, lot: Lot, now: Time) -> bool {
        let direction = match self.sides[device] {
            Side::Client => Direction::Up,
            Side::Server => Direction::Down,
        };
        let Some((arrival, port)) = self.exit(direction).1.parse(device, lot) else {
            return false;
        };
        let delay = self.delay(direction, &arrival);
        for nth in 0..arrival.count() {
            let packet = self.exit(direction).1.keep(&arrival, nth, lot, port);
            match delay {
                Delta::ZERO => self.enter(now, direction, packet),
                delay => self.delays.put(now + delay, direction, packet),
            }
        }
        true
    }

    fn delay(&self, direction: Direction, arrival: &Arrival) -> Delta {
        let (source, destination) = (arrival.ip.source, arrival.ip.destination);
        let [from, to] = arrival.ports;
        match direction {
            Direction::Down => self.delays.of(destination, source, from),
            Direction::Up => self.delays.of(source, destination, to),
        }
    }

    /// Hands over what has left the path.
    pub(crate) fn flush(&mut self, clock: &impl Clock) {
        let Plane {
            egress,
            store,
            devices,
            books,
            ticks,
            ..
        } = self;
        egress.flush(store, devices, clock, books, ticks);
    }

    /// Packets in memory.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> usize {
        self.store.len()
    }

    /// What is on the path.
    pub(crate) fn inside(&mut self, now: Time) -> Both<Backlog> {
        Both::of(|direction| {
            let on_path = self.paths[direction].backlog();
            self.flights[direction].add_to(now, on_path)
        })
    }

    /// The end of the run.
    pub(crate) fn ended(mut self, report: Report, end: Time) -> Emulated {
        Emulated {
            report,
            inside: self.inside(end),
            paths: self.books.paths,
            radios: self.paths.down.radios(self.books.warm_at, end),
            hops: self.paths.map(Route::into_records),
            samples: self.books.samples,
            layers: self.books.layers,
            end,
            witness: self.books.witness,
        }
    }
}

/// Takes what a path gives out, and hands it what it asks for.
struct Exit<'a, D> {
    direction: Direction,
    devices: &'a [D],
    routes: &'a Routes,
    ticks: &'a mut Ticks,
    gate: Option<&'a mut Guarded>,
    store: &'a mut Store,
    egress: &'a mut Egress,
    books: &'a mut Books,
    bulk: &'a mut Bulk,
    flight: &'a mut Flight,
}

impl<D: Device> Exit<'_, D> {
    /// What was read from a device, and through which port it leaves; none: it is not for the path.
    fn parse(&mut self, device: usize, lot: Lot) -> Option<(Arrival, u16)> {
        self.books.counts.reads += 1;
        let has_header = self.devices[device].has_header();
        let sound = Arrival::parse(self.store.lot(lot), has_header);
        let found = sound.and_then(|one| Some((one, self.routes.port(one.ip.destination)?)));
        let Some((arrival, port)) = found else {
            self.books.counts.foreign += 1;
            return None;
        };
        let bytes = &mut self.store.lot(lot)[arrival.bytes()];
        self.ticks.coarsen(bytes, arrival.is_checked());
        Some((arrival, port))
    }

    /// A packet of the model for the nth segment of what was read.
    fn keep(&mut self, arrival: &Arrival, nth: usize, lot: Lot, port: u16) -> Packet {
        let mut segment = arrival.segment(nth, lot.at, port);
        segment.is_mergeable &= self.devices[usize::from(port)].has_header();
        let handle = self.store.add(lot, segment);
        arrival.packet(&segment, handle)
    }

    /// A packet enters the path.
    fn offered(&mut self, at: Time, packet: &Packet) {
        self.books.paths[self.direction].offered(packet.len.bytes());
        if let Some(witness) = &mut self.books.witness {
            show(self.store, packet, |parts| {
                witness.offered(self.direction, at, packet, parts);
            });
        }
    }

    /// The packet that the gate lets go; an error: none that is for the path.
    fn let_in(&mut self, port: usize) -> io::Result<Option<Packet>> {
        let device = &self.devices[port];
        device.let_read();
        let read = device.read(self.store.room());
        let lot = self.store.fill(*read.as_ref().unwrap_or(&0));
        let packet = read.map(|_| {
            let (arrival, leaves_by) = self.parse(port, lot)?;
            // Only what falls into segments is more than one, and no such packet passes a gate.
            Some(self.keep(&arrival, 0, lot, leaves_by))
        });
        self.store.close(lot);
        packet
    }
}

impl<D: Device> Observer for Exit<'_, D> {
    fn event(&mut self, now: Time, event: Event) {
        self.books.paths[self.direction].event(now, &event);
        if let Some(witness) = &mut self.books.witness {
            witness.event(self.direction, now, &event);
        }
        if let Event::Dropped { packet, .. } = event {
            self.store.release(packet.handle);
        }
    }
}

impl<D: Device> Output for Exit<'_, D> {
    fn next(&mut self, at: Time) -> Option<Packet> {
        loop {
            let gate = self.gate.as_mut()?;
            let port = gate.port();
            if !gate.open() || !self.store.open() {
                return None;
            }
            // If nobody waits the gate stays open.
            if let Some(packet) = self.let_in(port).ok()? {
                self.offered(at, &packet);
                return Some(packet);
            }
        }
    }

    #[inline]
    fn deliver(&mut self, at: Time, packet: Packet) {
        let at = self.flight.begin(at, packet.len.bytes());
        self.books.paths[self.direction].delivered(at, packet.len.bytes());
        self.store.depart(packet.handle, at, packet.ecn == Ecn::Ce);
        if let Some(witness) = &mut self.books.witness {
            show(self.store, &packet, |parts| {
                witness.delivered(self.direction, at, &packet, parts);
            });
        }
        self.bulk.carried(packet.len.bytes());
        let merges = self.bulk.is_on();
        self.egress
            .push(self.store, packet.handle, packet.flow, merges);
    }

    #[inline]
    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.books.paths[self.direction].waited(at, place, wait);
        if let Some(witness) = &mut self.books.witness {
            witness.waited(self.direction, at, place, packet, wait);
        }
    }

    fn came_to(&mut self, at: Time, hop: usize, packet: &Packet) {
        if let Some(witness) = &mut self.books.witness {
            show(self.store, packet, |parts| {
                witness.came_to(self.direction, at, hop, packet, parts);
            });
        }
    }
}

/// Lets somebody see the bytes of a packet.
fn show(store: &Store, packet: &Packet, see: impl FnOnce(Parts<'_>)) {
    let segment = store.segment(packet.handle);
    let head = Head::of(store, segment);
    see(Parts {
        header: head.bytes(),
        payload: store.payload(segment),
    });
}
