//! A row of elements, one way from end to end.

use crate::element::delay::Delay;
use crate::element::pipe::Pipe;
use crate::radio::rrc;
use crate::registry::{AnyElement, Config};
use crate::seam::{Element, Output, Place};
use fastrand::Rng;
use unbloat_qdisc::{Backlog, Event, Host, Observer, Packet};
use unbloat_units::{Delta, Rate, Time};

/// Elements in the order in which packets meet them; itself an element.
///
/// Inner elements are brought up to date when a packet may leave the path, not before: what
/// happens at the bottleneck shows behind it only after the delay that follows. So a packet
/// through a bottleneck and a delay wakes the driver once. Drops and marks carry their own time
/// but are told at the next call, at most one path delay later.
pub struct Path {
    elements: Vec<AnyElement>,
    latency_behind: Vec<Delta>,
}

impl Path {
    /// The path as of `start`; generators fork from `rng`, one for each element. A bottleneck and the delay behind it become one
    /// element where that does the same.
    pub fn build(configs: &[Config], start: Time, rng: &mut Rng) -> Path {
        let mut elements = Vec::with_capacity(configs.len());
        let mut rest = configs.iter().peekable();
        while let Some(config) = rest.next() {
            let behind = match rest.peek() {
                Some(Config::Delay(behind)) => Some(behind.delay),
                _ => None,
            };
            let pipe = match config {
                Config::Bottleneck(params) => {
                    Pipe::build(params, behind.unwrap_or(Delta::ZERO), rng)
                }
                _ => None,
            };
            if pipe.is_some() && behind.is_some() {
                rest.next();
            }
            elements.push(match pipe {
                Some(pipe) => AnyElement::Pipe(Box::new(pipe)),
                None => config.build(start, rng),
            });
        }
        Path::of(elements)
    }

    pub fn of(elements: Vec<AnyElement>) -> Path {
        let latency_behind = latency_behind(&elements);
        Path {
            elements,
            latency_behind,
        }
    }

    /// Lets the other direction of a phone use the radio of this one: the first `rrc` element of
    /// each. Before any packet; then both paths must be driven in the order of time.
    pub fn share_radio(&mut self, other: &mut Path) {
        let phones = self.elements.iter_mut().find_map(AnyElement::per_client);
        let other_way = other.elements.iter_mut().find_map(AnyElement::per_client);
        if let Some((phones, other_way)) = phones.zip(other_way) {
            phones.share_radio(other_way);
        }
        let radio = self.elements.iter().find_map(|element| match element {
            AnyElement::Rrc(sleep) => Some(sleep),
            _ => None,
        });
        for element in &mut other.elements {
            if let (AnyElement::Rrc(theirs), Some(ours)) = (element, radio) {
                theirs.share(ours);
                break;
            }
        }
        self.latency_behind = latency_behind(&self.elements);
        other.latency_behind = latency_behind(&other.elements);
    }

    /// What each radio did between two times: that of a client of its own, or that of all others.
    pub fn each_radio(
        &self,
        from: Time,
        until: Time,
        tell: &mut dyn FnMut(Option<Host>, rrc::Use),
    ) {
        for element in &self.elements {
            match element {
                AnyElement::Rrc(sleep) => tell(None, sleep.used(from, until)),
                AnyElement::PerClient(clients) => clients.each_radio(from, until, tell),
                _ => {}
            }
        }
    }

    /// Has the first bottleneck ask for the next packet ([`Output::next`]) when it has sent one and none waits. The path is then to be
    /// advanced whenever that may be.
    pub fn feed(&mut self) {
        for element in &mut self.elements {
            match element {
                AnyElement::Bottleneck(first) => first.feed(),
                AnyElement::Pipe(first) => first.feed(),
                _ => continue,
            }
            break;
        }
        self.latency_behind = latency_behind(&self.elements);
    }

    pub fn elements(&self) -> &[AnyElement] {
        &self.elements
    }

    /// Has the first queue with a shaper of its own shape to another rate from now on. Returns whether there is one.
    pub fn set_rate(&mut self, now: Time, rate: Rate, out: &mut impl Output) -> bool {
        self.advance(now, out);
        let mut rest = &mut self.elements[..];
        while let Some((first, behind)) = rest.split_first_mut() {
            if let AnyElement::Bottleneck(one) = first
                && one.set_rate(now, rate, &mut Feed { rest: behind, out })
            {
                return true;
            }
            rest = behind;
        }
        false
    }
}

/// For each element the least time that a packet takes from it to the end of the path, or to the
/// first element that is watched.
fn latency_behind(elements: &[AnyElement]) -> Vec<Delta> {
    let mut behind = Delta::ZERO;
    let mut list: Vec<Delta> = Vec::with_capacity(elements.len());
    for element in elements.iter().rev() {
        if element.is_watched() {
            list.push(Delta::ZERO);
            behind = Delta::ZERO;
        } else {
            list.push(behind);
            behind += element.latency();
        }
    }
    list.reverse();
    list
}

impl Element for Path {
    #[inline(always)]
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        match &mut self.elements[..] {
            // Most paths. The same as below, without a chain of outputs.
            [AnyElement::Pipe(only)] => only.accept(now, packet, out),
            [AnyElement::Bottleneck(first), AnyElement::Delay(behind)] => {
                first.accept(now, packet, &mut IntoDelay { behind, out });
            }
            elements => accept_each(elements, now, packet, out),
        }
    }

    #[inline(always)]
    fn next_at(&self) -> Option<Time> {
        match &self.elements[..] {
            [AnyElement::Pipe(only)] => only.next_at(),
            [AnyElement::Bottleneck(first), AnyElement::Delay(behind)] => {
                let first = first.next_at().map(|at| at + self.latency_behind[0]);
                earlier(first, behind.next_at())
            }
            elements => next_of_each(elements, &self.latency_behind),
        }
    }

    #[inline(always)]
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        match &mut self.elements[..] {
            [AnyElement::Pipe(only)] => only.advance(now, out),
            [AnyElement::Bottleneck(first), AnyElement::Delay(behind)] => {
                first.advance(now, &mut IntoDelay { behind, out });
                behind.advance(now, out);
            }
            elements => advance_each(elements, now, out),
        }
    }

    #[inline]
    fn coming(&self, after: usize) -> Option<&Packet> {
        match &self.elements[..] {
            [AnyElement::Pipe(only)] => only.coming(after),
            elements => elements.last()?.coming(after),
        }
    }

    fn latency(&self) -> Delta {
        self.elements
            .iter()
            .fold(Delta::ZERO, |sum, element| sum + element.latency())
    }

    fn is_watched(&self) -> bool {
        self.elements.iter().any(Element::is_watched)
    }

    fn backlog(&self) -> Backlog {
        let inside = self.elements.iter().map(Element::backlog);
        inside.fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        self.elements.iter().for_each(|one| one.each_layer(tell));
    }
}

#[inline(never)]
fn accept_each(rest: &mut [AnyElement], now: Time, packet: Packet, out: &mut impl Output) {
    Feed { rest, out }.deliver(now, packet);
}

#[inline(never)]
fn next_of_each(elements: &[AnyElement], latency_behind: &[Delta]) -> Option<Time> {
    let elements = elements.iter().zip(latency_behind);
    let times = elements.filter_map(|(element, behind)| Some(element.next_at()? + *behind));
    times.min()
}

#[inline(never)]
fn advance_each(mut rest: &mut [AnyElement], now: Time, out: &mut impl Output) {
    while let Some((first, behind)) = rest.split_first_mut() {
        first.advance(now, &mut Feed { rest: behind, out });
        rest = behind;
    }
}

#[inline]
fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The output of a bottleneck in front of a delay, behind which the path ends.
struct IntoDelay<'a, O> {
    behind: &'a mut Delay,
    out: &'a mut O,
}

impl<O: Output> Observer for IntoDelay<'_, O> {
    fn event(&mut self, now: Time, event: Event) {
        self.out.event(now, event);
    }
}

impl<O: Output> Output for IntoDelay<'_, O> {
    #[inline]
    fn deliver(&mut self, at: Time, packet: Packet) {
        self.behind.accept(at, packet, self.out);
    }

    #[inline]
    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.out.waited(at, place, packet, wait);
    }

    fn next(&mut self, at: Time) -> Option<Packet> {
        self.out.next(at)
    }
}

/// The output of one element that is the input of the next.
struct Feed<'a, O> {
    rest: &'a mut [AnyElement],
    out: &'a mut O,
}

impl<O: Output> Observer for Feed<'_, O> {
    fn event(&mut self, now: Time, event: Event) {
        self.out.event(now, event);
    }
}

impl<O: Output> Output for Feed<'_, O> {
    #[inline]
    fn deliver(&mut self, at: Time, packet: Packet) {
        let Some((next, rest)) = self.rest.split_first_mut() else {
            return self.out.deliver(at, packet);
        };
        let out = &mut *self.out;
        next.accept(at, packet, &mut Feed { rest, out });
    }

    #[inline]
    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.out.waited(at, place, packet, wait);
    }

    fn next(&mut self, at: Time) -> Option<Packet> {
        self.out.next(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BottleneckParams;
    use crate::element::delay;
    use crate::radio::rrc;
    use crate::radio::sleep;
    use crate::service::{self, constant};
    use crate::testing::{Log, at_us, drive, packet, run_until};
    use unbloat_units::{Direction, Framing};

    fn phone(direction: Direction, wired_ms: i64) -> Path {
        let delay = delay::Params {
            delay: Delta::ms(wired_ms),
        };
        let rrc = sleep::Params {
            rrc: rrc::Params::default(),
            direction,
        };
        let mut configs = vec![Config::Delay(delay), Config::Rrc(rrc), Config::Delay(delay)];
        if direction == Direction::Up {
            configs.remove(0);
        }
        Path::build(&configs, Time::from_ns(0), &mut Rng::with_seed(1))
    }

    #[test]
    fn both_directions_of_a_phone_wake_one_radio() {
        let (mut up, mut down) = (phone(Direction::Up, 30), phone(Direction::Down, 30));
        up.share_radio(&mut down);
        let (mut sent, mut received) = (Log::default(), Log::default());
        // Sent at 10 ms, passes at 270 ms. A packet for the phone from 5 ms on is at the radio at 35
        // ms and passes with it, without a page; the driver is told to look at 35 ms, not at 65.
        down.accept(at_us(5_000), packet(0, 40), &mut received);
        assert_eq!(down.next_at(), Some(at_us(35_000)));
        up.accept(at_us(10_000), packet(0, 40), &mut sent);
        run_until(&mut down, Time::MAX, &mut received);
        run_until(&mut up, Time::MAX, &mut sent);
        assert_eq!(sent.departures(), [(at_us(300_000), 0)]);
        assert_eq!(received.departures(), [(at_us(300_000), 0)]);
        assert_eq!(received.waits_at(Place::Sleep), [(0, Delta::ms(235))]);
    }

    fn dumbbell() -> Path {
        let bottleneck = BottleneckParams {
            queue: unbloat_qdisc::Config::named("droptail").unwrap(),
            service: service::Config::Constant(constant::Params {
                rate: Rate::mbps(12),
            }),
            framing: Framing::default(),
        };
        let delay = delay::Params {
            delay: Delta::ms(20),
        };
        let configs = [Config::Bottleneck(bottleneck), Config::Delay(delay)];
        Path::build(&configs, Time::from_ns(0), &mut Rng::with_seed(1))
    }

    #[test]
    fn the_driver_is_woken_once_for_each_packet_that_leaves() {
        let mut path = dumbbell();
        let mut log = Log::default();
        for handle in 0..3 {
            path.accept(at_us(0), packet(handle, 1500), &mut log);
        }
        let mut wakes = Vec::new();
        while let Some(at) = path.next_at() {
            path.advance(at, &mut log);
            wakes.push((at, wakes.len() as u32));
        }
        assert_eq!(
            wakes,
            [21_000, 22_000, 23_000]
                .map(at_us)
                .into_iter()
                .zip(0..)
                .collect::<Vec<_>>()
        );
        assert_eq!(log.departures(), wakes);
    }

    #[test]
    fn late_and_rare_calls_change_no_departure_and_no_drop() {
        let mut rng = Rng::with_seed(9);
        let mut now = 0;
        let mut arrivals = Vec::new();
        for handle in 0..5_000 {
            now += rng.i64(0..1_500);
            arrivals.push((at_us(now), packet(handle, rng.u32(40..=1500))));
        }
        let (mut in_time, mut late) = (Log::default(), Log::default());
        drive(&mut dumbbell(), &arrivals, &mut in_time);
        let mut path = dumbbell();
        for (at, packet) in &arrivals {
            path.accept(*at, *packet, &mut late);
        }
        let end = arrivals.last().unwrap().0;
        path.advance(end, &mut late);
        let known = late.delivered.len().min(in_time.delivered.len());
        assert!(known > 4_000);
        assert_eq!(late.delivered[..known], in_time.delivered[..known]);
        assert_eq!(late.drops(), in_time.drops());
    }

    #[test]
    fn packets_and_bytes_in_are_those_out_dropped_and_inside() {
        let mut path = dumbbell();
        let mut log = Log::default();
        let mut rng = Rng::with_seed(3);
        let (mut sent, mut bytes) = (0, 0);
        for step in 0..4_000 {
            let at = at_us(step * 500);
            run_until(&mut path, at, &mut log);
            for _ in 0..rng.u32(0..5) {
                let len = rng.u32(40..=1500);
                path.accept(at, packet(sent as u32, len), &mut log);
                (sent, bytes) = (sent + 1, bytes + u64::from(len));
            }
            let inside = path.backlog();
            let (packets, out_bytes) = log.accounted();
            assert_eq!(packets + u64::from(inside.packets), sent);
            assert_eq!(out_bytes.as_u64() + inside.bytes.as_u64(), bytes);
        }
        assert!(!log.drops().is_empty(), "the queue overflows");
    }
}
