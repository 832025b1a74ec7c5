//! One direction of the network: a hop, or several in a row, each with a record of its own.

use crate::outcome::record::{PathRecord, RadioRecord};
use crate::scenario::{Hop, Passers};
use fastrand::Rng;
use std::collections::VecDeque;
use unbloat_link::{AnyElement, Element, Output, Path, Place};
use unbloat_qdisc::{Backlog, Event, Host, Observer, Packet};
use unbloat_units::{Delta, Direction, Rate, Time};

/// What packets meet in one direction.
pub struct Route {
    hops: Vec<Path>,
    /// What of several hops is to be told apart; a single one that all packets pass has nothing to tell but the whole.
    parts: Option<Parts>,
}

struct Parts {
    direction: Direction,
    /// Of each hop.
    clients: Vec<Passers>,
    records: Vec<PathRecord>,
    /// How long packets under way have waited so far at each place, by their handles.
    waits: Vec<Waits>,
    /// Packets between one hop and the next.
    passing: VecDeque<(Time, Packet)>,
}

type Waits = [Option<Delta>; Place::ALL.len()];

impl Route {
    pub fn new(
        direction: Direction,
        hops: &[Hop],
        start: Time,
        warm_at: Time,
        rng: &mut Rng,
    ) -> Route {
        let parts = || Parts {
            direction,
            clients: hops.iter().map(|hop| hop.clients.clone()).collect(),
            records: vec![PathRecord::new(warm_at); hops.len()],
            waits: Vec::new(),
            passing: VecDeque::new(),
        };
        let has_parts = hops.len() > 1 || hops.iter().any(|hop| !hop.clients.are_all());
        let paths = hops
            .iter()
            .map(|hop| Path::build(&hop.elements, start, rng));
        Route {
            hops: paths.collect(),
            parts: has_parts.then(parts),
        }
    }

    /// The phone is where this route ends and the other begins.
    pub fn share_radio(&mut self, back: &mut Route) {
        if let (Some(last), Some(first)) = (self.hops.last_mut(), back.hops.first_mut()) {
            last.share_radio(first);
        }
    }

    /// The hops, by their numbers from 0, that packets of a client pass.
    pub fn hops_of(&self, client: Host) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.hops.len()).filter(move |hop| {
            let parts = self.parts.as_ref();
            parts.is_none_or(|parts| parts.clients[*hop].include(client))
        })
    }

    /// Has the link of the first hop ask for its packets; see [`Path::feed`].
    pub fn feed(&mut self) {
        if let Some(first) = self.hops.first_mut() {
            first.feed();
        }
    }

    pub fn hops(&self) -> usize {
        self.hops.len()
    }

    /// Lets a packet enter in front of a hop, from 0: it comes from the router there.
    // Always, as `advance`: with the pipe of most paths in line, a packet saves fewer registers.
    #[inline(always)]
    pub fn accept_at(&mut self, hop: usize, now: Time, packet: Packet, out: &mut impl Output) {
        match (&mut self.hops[..], &mut self.parts) {
            ([only], None) => only.accept(now, packet, out),
            (hops, Some(parts)) => parts.accept_at(hops, hop, now, packet, out),
            _ => out.deliver(now, packet),
        }
    }

    /// Whether the layers of the sending device are told apart.
    pub fn begins_with_device(&self) -> bool {
        let mut elements = self.hops.iter().take(1).flat_map(Path::elements);
        elements.any(|one| matches!(one, AnyElement::Device(_) | AnyElement::LteUplink(_)))
    }

    /// Has the shaper of a hop, from 0, go on at another rate. Returns whether there is one.
    pub fn set_rate(&mut self, hop: usize, now: Time, rate: Rate, out: &mut impl Output) -> bool {
        let Some(path) = self.hops.get_mut(hop) else {
            return false;
        };
        let Some(parts) = &mut self.parts else {
            return path.set_rate(now, rate, out);
        };
        parts.advance(&mut self.hops, 0, now, out);
        let is_last = hop + 1 == self.hops.len();
        let mut relay = parts.relay(hop, is_last, out);
        let is_shaped = self.hops[hop].set_rate(now, rate, &mut relay);
        parts.advance(&mut self.hops, 0, now, out);
        is_shaped
    }

    /// Tells what stands at each place of each hop.
    pub fn each_layer(&self, mut tell: impl FnMut(u8, Place, Backlog)) {
        for (hop, number) in self.hops.iter().zip(1..) {
            hop.each_layer(&mut |place, backlog| tell(number, place, backlog));
        }
    }

    /// What the radios of the phones at its end did between two times: each client's own, and that of all others.
    pub fn radios(&self, from: Time, until: Time) -> Vec<RadioRecord> {
        let mut records = Vec::new();
        for hop in &self.hops {
            hop.each_radio(from, until, &mut |client, used| {
                records.push(RadioRecord { client, used });
            });
        }
        records
    }

    /// Of each hop, if there are several.
    pub fn into_records(self) -> Vec<PathRecord> {
        self.parts.map_or_else(Vec::new, |parts| parts.records)
    }
}

/// What leaves one hop enters the next at that very time; a packet's waits at several hops are told as their sums, when it leaves.
impl Element for Route {
    #[inline(always)]
    fn next_at(&self) -> Option<Time> {
        match &self.hops[..] {
            [only] => only.next_at(),
            several => next_of(several),
        }
    }

    #[inline]
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.accept_at(0, now, packet, out);
    }

    #[inline(always)]
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        match (&mut self.hops[..], &mut self.parts) {
            ([only], None) => only.advance(now, out),
            (hops, Some(parts)) => parts.advance(hops, 0, now, out),
            _ => {}
        }
    }

    #[inline]
    fn coming(&self, after: usize) -> Option<&Packet> {
        self.hops.last()?.coming(after)
    }

    fn backlog(&self) -> Backlog {
        let hops = self.hops.iter().map(Element::backlog);
        hops.fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    /// That of the hops that all packets pass.
    fn latency(&self) -> Delta {
        let is_shared = |hop: usize| {
            let parts = self.parts.as_ref();
            parts.is_none_or(|parts| parts.clients[hop].are_all())
        };
        let shared = self.hops.iter().zip(0..).filter(|(_, hop)| is_shared(*hop));
        shared.fold(Delta::ZERO, |sum, (hop, _)| sum + hop.latency())
    }

    fn is_watched(&self) -> bool {
        self.hops.iter().any(Element::is_watched)
    }
}

#[inline(never)]
fn next_of(hops: &[Path]) -> Option<Time> {
    hops.iter().filter_map(Element::next_at).min()
}

impl Parts {
    #[inline(never)]
    fn accept_at(
        &mut self,
        hops: &mut [Path],
        hop: usize,
        now: Time,
        packet: Packet,
        out: &mut impl Output,
    ) {
        if hop > 0 {
            self.advance(hops, 0, now, out);
        }
        self.pass(hops, hop, now, packet, out);
        self.advance(hops, hop, now, out);
    }

    /// Lets a packet enter a hop, or go past it.
    fn pass(
        &mut self,
        hops: &mut [Path],
        hop: usize,
        now: Time,
        packet: Packet,
        out: &mut impl Output,
    ) {
        let is_last = hop + 1 == hops.len();
        let client = match self.direction {
            Direction::Down => packet.destination,
            Direction::Up => packet.source,
        };
        if !self.clients[hop].include(client) {
            match is_last {
                true => self.relay(hop, true, out).leave(now, packet),
                false => self.passing.push_back((now, packet)),
            }
            return;
        }
        out.came_to(now, hop, &packet);
        if out.ends_before(hop, &packet) {
            return self.relay(hop, true, out).leave(now, packet);
        }
        self.records[hop].offered(packet.len.bytes());
        hops[hop].accept(now, packet, &mut self.relay(hop, is_last, out));
    }

    fn relay<'a, O: Output>(
        &'a mut self,
        hop: usize,
        is_last: bool,
        out: &'a mut O,
    ) -> Relay<'a, O> {
        Relay {
            record: &mut self.records[hop],
            waits: &mut self.waits,
            passing: &mut self.passing,
            is_first: hop == 0,
            is_last,
            out,
        }
    }

    /// Brings hop after hop up to date, from that one on: what leaves one enters the next at that very time.
    #[inline(never)]
    fn advance(&mut self, hops: &mut [Path], from: usize, now: Time, out: &mut impl Output) {
        for hop in from..hops.len() {
            // All that is passing has left the hop before or gone past it; what it pushes out of this one is for the next.
            let came = if hop == from { 0 } else { self.passing.len() };
            if hop > from && !self.clients[hop - 1].are_all() {
                self.passing.make_contiguous().sort_by_key(|(at, _)| *at);
            }
            for _ in 0..came {
                if let Some((at, packet)) = self.passing.pop_front() {
                    self.pass(hops, hop, at, packet, out);
                }
            }
            let is_last = hop + 1 == hops.len();
            hops[hop].advance(now, &mut self.relay(hop, is_last, out));
        }
    }
}

/// Takes what one of several hops gives out.
struct Relay<'a, O> {
    record: &'a mut PathRecord,
    waits: &'a mut Vec<Waits>,
    passing: &'a mut VecDeque<(Time, Packet)>,
    is_first: bool,
    is_last: bool,
    out: &'a mut O,
}

impl<O> Relay<'_, O> {
    fn waits_of(&mut self, packet: &Packet) -> &mut Waits {
        let index = packet.handle as usize;
        if index >= self.waits.len() {
            self.waits.resize(index + 1, Waits::default());
        }
        &mut self.waits[index]
    }
}

impl<O: Output> Relay<'_, O> {
    /// The packet leaves the route.
    fn leave(&mut self, at: Time, packet: Packet) {
        let waits = std::mem::take(self.waits_of(&packet));
        for (place, wait) in Place::ALL.into_iter().zip(waits) {
            if let Some(wait) = wait {
                self.out.waited(at, place, &packet, wait);
            }
        }
        self.out.deliver(at, packet);
    }
}

impl<O: Output> Observer for Relay<'_, O> {
    fn event(&mut self, now: Time, event: Event) {
        self.record.event(now, &event);
        if let Event::Dropped { packet, .. } = &event {
            *self.waits_of(packet) = Waits::default();
        }
        self.out.event(now, event);
    }
}

impl<O: Output> Output for Relay<'_, O> {
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.record.delivered(at, packet.len.bytes());
        if !self.is_last {
            return self.passing.push_back((at, packet));
        }
        self.leave(at, packet);
    }

    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.record.waited(at, place, wait);
        if self.is_first {
            self.out.waited_first(at, place, packet, wait);
        }
        let sum = &mut self.waits_of(packet)[place as usize];
        *sum = Some(sum.unwrap_or(Delta::ZERO) + wait);
    }
}
