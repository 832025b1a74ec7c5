//! Uplink control of a sending device: a valve below the discipline, and where its news come from.

use super::modem::AnyModem;
use crate::seam::{Output, Place};
use std::collections::VecDeque;
use unbloat_qdisc::{Event, Observer, Packet};
use unbloat_units::{Bytes, Delta, Time};
use unbloat_uplink::{Bsr, Echo, Echoes, Occupancy, Valve};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    pub valve: unbloat_uplink::Params,
    pub source: Source,
}

/// Where news of the modem come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// The modem tells exactly what it holds, each so often.
    Modem { every: Delta },
    /// It tells the level of its buffer status report.
    Bsr { every: Delta },
    /// The far end tells when segments came, by a clock of whole milliseconds; we hear it that much later. Whether it answers each
    /// segment makes no difference to speak of, so it does.
    Delay { back: Delta },
}

/// Packets that carry less have no answer.
const LEAST_DATA: Bytes = Bytes::new(100);

/// The valve and its news.
pub(super) struct Control {
    valve: Valve,
    source: Source,
    start: Time,
    /// When the modem is asked next; never while it and all above it are empty.
    report_at: Option<Time>,
    opens_at: Option<Time>,
    total: Bytes,
    echoes: Echoes,
    /// Data let through and still on its way: handles, in order.
    under_way: VecDeque<(u32, u64)>,
    /// Echoes that will be heard then.
    answers: VecDeque<(Time, Echo)>,
    count: u64,
}

impl Control {
    pub(super) fn new(params: Params, start: Time) -> Control {
        Control {
            valve: Valve::new(params.valve, start),
            source: params.source,
            start,
            report_at: None,
            opens_at: None,
            total: Bytes::ZERO,
            echoes: Echoes::default(),
            under_way: VecDeque::new(),
            answers: VecDeque::new(),
            count: 0,
        }
    }

    /// A packet came: the modem is asked from now on.
    pub(super) fn wake(&mut self, now: Time) {
        if let (None, Some(every)) = (self.report_at, self.every()) {
            let periods = (now - self.start).as_ns().div_euclid(every.as_ns()) + 1;
            self.report_at = Some(self.start + every * periods);
        }
    }

    fn every(&self) -> Option<Delta> {
        match self.source {
            Source::Modem { every } | Source::Bsr { every } => Some(every.max(Delta::us(100))),
            Source::Delay { .. } => None,
        }
    }

    pub(super) fn is_open(&self, now: Time) -> bool {
        self.valve.is_open(now)
    }

    /// Packets wait for the valve, or not.
    pub(super) fn hold(&mut self, now: Time, waits: bool) {
        self.opens_at = waits.then(|| self.valve.opens_at(now));
    }

    pub(super) fn released(&mut self, now: Time, packet: &Packet) {
        let bytes = packet.len.bytes();
        self.total += bytes;
        self.valve.released(now, bytes);
        if self.every().is_none() && bytes >= LEAST_DATA {
            self.count += 1;
            self.echoes.sent(self.count, now, self.total);
            self.under_way.push_back((packet.handle, self.count));
        }
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        let answer = self.answers.front().map(|(at, _)| *at);
        [self.report_at, self.opens_at, answer]
            .into_iter()
            .flatten()
            .min()
    }

    /// Takes in what is told at or before `now`; `held` is what the ring and the modem hold, `waits` whether the discipline has packets.
    pub(super) fn hear(&mut self, now: Time, held: Bytes, waits: bool) {
        if self.report_at.is_some_and(|at| at <= now) {
            let occupancy = match self.source {
                Source::Bsr { .. } => Occupancy::Level(Bsr::of(held)),
                _ => Occupancy::Bytes(held),
            };
            self.valve.learn(now, occupancy);
            self.report_at = None;
            if waits || held > Bytes::ZERO {
                self.wake(now);
            }
        }
        while let Some((_, echo)) = self.answers.front().filter(|(at, _)| *at <= now) {
            if let Some(occupancy) = self.echoes.heard(*echo) {
                self.valve.learn(now, occupancy);
            }
            self.answers.pop_front();
        }
    }

    fn left(&mut self, at: Time, packet: &Packet) {
        let Source::Delay { back } = self.source else {
            return;
        };
        if packet.len.bytes() < LEAST_DATA {
            return;
        }
        // Packets before it that never left were given up by the radio.
        while let Some((handle, number)) = self.under_way.pop_front() {
            if handle == packet.handle {
                let ms = Delta::ms(1).as_ns();
                let came = Time::from_ns(at.as_ns().div_euclid(ms) * ms);
                self.answers.push_back((at + back, Echo { number, came }));
                return;
            }
        }
    }
}

/// What ring and modem hold that has not been sent.
pub(super) fn held(ring: Bytes, modem: &AnyModem) -> Bytes {
    ring + modem.unsent()
}

/// Lets the control see what leaves the modem.
pub(super) struct Seen<'a, O> {
    pub(super) control: Option<&'a mut Control>,
    pub(super) out: &'a mut O,
}

impl<O: Output> Observer for Seen<'_, O> {
    fn event(&mut self, now: Time, event: Event) {
        self.out.event(now, event);
    }
}

impl<O: Output> Output for Seen<'_, O> {
    fn deliver(&mut self, at: Time, packet: Packet) {
        if let Some(control) = &mut self.control {
            control.left(at, &packet);
        }
        self.out.deliver(at, packet);
    }

    fn waited(&mut self, at: Time, place: Place, packet: &Packet, wait: Delta) {
        self.out.waited(at, place, packet, wait);
    }
}
