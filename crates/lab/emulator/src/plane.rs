//! The data plane in logical time: packets from devices into the path, and out of it into devices.

use crate::arrival::Arrival;
use crate::books::{Books, Parts};
use crate::bulk::Bulk;
use crate::clock::Clock;
use crate::delays::Delays;
use crate::departure::Head;
use crate::egress::Egress;
use crate::emulator::Emulated;
use crate::flight::Flight;
use crate::modem::Modem;
use crate::port::{Device, Side};
use crate::report::Report;
use crate::routes::Routes;
use crate::store::Store;
use crate::ticks::Ticks;
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
    pub modem: Option<Modem>,
    pub ticks: Ticks,
    /// What is left of the paths where their last delay is the devices' matter.
    pub flights: Both<Flight>,
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
            modem: None,
            ticks: Ticks::default(),
            flights: Default::default(),
            next_sample: Time::from_ns(0),
            store: Store::new(),
            egress: Egress::default(),
        }
    }

    /// When something is next due.
    pub(crate) fn next_at(&self) -> Option<Time> {
        let paths = self.paths.iter().filter_map(Element::next_at);
        let report = self.modem.as_ref().map(|modem| modem.next);
        paths.chain(self.delays.next_at()).chain(report).min()
    }

    /// Does what is due at or before `now`, in the order of time where that can be seen.
    pub(crate) fn catch_up(&mut self, now: Time) {
        while let Some(at) = self.next_look().filter(|at| *at <= now) {
            self.catch_up_paths(at);
            if let Some(modem) = self.modem.as_mut().filter(|modem| modem.next <= at) {
                modem.report(&self.paths.up, now);
            }
            if let Some(every) = self.sample_every
                && self.next_sample <= at
            {
                let backlogs = self.inside(at);
                self.books.sample(at, backlogs, &self.paths);
                self.next_sample = at + every;
            }
        }
        self.catch_up_paths(now);
    }

    /// When the paths are looked at next: for a sample, or for a report of the modem.
    fn next_look(&self) -> Option<Time> {
        let sample = self.sample_every.map(|_| self.next_sample);
        let report = self.modem.as_ref().map(|modem| modem.next);
        sample.into_iter().chain(report).min()
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

    fn exit(&mut self, direction: Direction) -> (&mut Route, Exit<'_>) {
        let exit = Exit {
            direction,
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
        let books = &mut self.books;
        books.paths[direction].offered(packet.len.bytes());
        if let Some(witness) = &mut books.witness {
            show(&self.store, &packet, |parts| {
                witness.offered(direction, at, &packet, parts);
            });
        }
        let (path, mut exit) = self.exit(direction);
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
            let Ok(len) = read else {
                self.store.close(0);
                return;
            };
            let now = clock.now();
            self.catch_up(now);
            let is_kept = self.take_in(device, len, now);
            self.store.close(if is_kept { len } else { 0 });
        }
    }

    /// Without memory left, packets are read so that the device does not wake us for ever.
    fn discard(&mut self, device: usize) {
        let mut byte = [0; 64];
        let gone = self.devices[device].read(&mut byte).is_ok();
        self.books.counts.unkept += u64::from(gone);
    }

    /// Whether the open room is in use afterwards.
    fn take_in(&mut self, device: usize, len: usize, now: Time) -> bool {
        let has_header = self.devices[device].has_header();
        let arrival = Arrival::parse(&self.store.room()[..len], has_header);
        let direction = match self.sides[device] {
            Side::Client => Direction::Up,
            Side::Server => Direction::Down,
        };
        self.books.counts.reads += 1;
        let Some((arrival, port)) = arrival.and_then(|arrival| {
            let routes = &self.routes[direction];
            Some((arrival, routes.port(arrival.ip.destination)?))
        }) else {
            self.books.counts.foreign += 1;
            return false;
        };
        let bytes = &mut self.store.room()[arrival.bytes()];
        self.ticks.coarsen(bytes, arrival.is_checked());
        let delay = self.delay(direction, &arrival);
        let can_merge = self.devices[usize::from(port)].has_header();
        let room_at = self.store.room_at();
        for nth in 0..arrival.count() {
            let mut segment = arrival.segment(nth, room_at, port);
            segment.is_mergeable &= can_merge;
            let handle = self.store.add(segment);
            let packet = arrival.packet(&segment, handle);
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

/// Takes what a path gives out.
struct Exit<'a> {
    direction: Direction,
    store: &'a mut Store,
    egress: &'a mut Egress,
    books: &'a mut Books,
    bulk: &'a mut Bulk,
    flight: &'a mut Flight,
}

impl Observer for Exit<'_> {
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

impl Output for Exit<'_> {
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
