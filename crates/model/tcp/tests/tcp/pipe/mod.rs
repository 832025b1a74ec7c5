//! A path for tests: a bottleneck with a FIFO buffer one way, a constant delay both ways.
#![allow(dead_code, reason = "each test file uses a part of the pipe")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use unbloat_tcp::sender::Params;
use unbloat_tcp::{Ack, Ecn, Event, Receiver, Segment, Sender, receiver};
use unbloat_units::{Delta, Rate, Time};

/// What happens to a segment at the entrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives later than those behind it.
    Late(Delta),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival(usize),
    AckArrival(usize),
    Departure,
    SenderTimer,
    ReceiverTimer,
}

/// One connection over one path.
pub struct Pipe {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub events: Vec<(Time, Event)>,
    /// Every segment that entered, with the time.
    pub sent: Vec<(Time, Segment)>,
    pub acks: Vec<(Time, Ack)>,
    pub drops: u64,
    /// Highest backlog, in segments.
    pub peak: usize,
    pub rate: Rate,
    pub delay: Delta,
    pub limit: usize,
    /// Segments that find this many waiting are marked with CE if they may be.
    pub mark_above: Option<usize>,
    pub marks: u64,
    /// The link stands still until then.
    pub outage_until: Time,
    /// The application writes whenever the socket takes more.
    pub writes: bool,
    /// Segments that left the queue, and how long they had waited in all.
    pub departed: u64,
    pub waited: Delta,
    /// The application reads at once.
    pub reads: bool,
    fate: Box<dyn FnMut(&Segment) -> Fate>,
    queue: VecDeque<(Segment, Delta, Time)>,
    busy: bool,
    heap: BinaryHeap<Reverse<(Time, u64, What)>>,
    order: u64,
    segments: Vec<Segment>,
    flying: Vec<Ack>,
    ack_fate: Box<dyn FnMut(&Ack) -> Fate>,
}

impl Pipe {
    /// `limit` is the buffer in segments besides the one in transmission.
    pub fn new(
        params: Params,
        receiver: receiver::Params,
        rate: Rate,
        delay: Delta,
        limit: usize,
    ) -> Pipe {
        let now = Time::from_ns(0);
        let receiver = Receiver::new(now, receiver);
        let mut sender = Sender::new(now, params, receiver.initial_window());
        sender.seed_rtt(now, delay * 2);
        Pipe {
            sender,
            receiver,
            now,
            events: Vec::new(),
            sent: Vec::new(),
            acks: Vec::new(),
            drops: 0,
            peak: 0,
            rate,
            delay,
            limit,
            mark_above: None,
            marks: 0,
            outage_until: now,
            writes: false,
            departed: 0,
            waited: Delta::ZERO,
            reads: true,
            fate: Box::new(|_| Fate::Pass),
            queue: VecDeque::new(),
            busy: false,
            heap: BinaryHeap::new(),
            order: 0,
            segments: Vec::new(),
            flying: Vec::new(),
            ack_fate: Box::new(|_| Fate::Pass),
        }
    }

    pub fn fate(mut self, fate: impl FnMut(&Segment) -> Fate + 'static) -> Pipe {
        self.fate = Box::new(fate);
        self
    }

    pub fn ack_fate(mut self, fate: impl FnMut(&Ack) -> Fate + 'static) -> Pipe {
        self.ack_fate = Box::new(fate);
        self
    }

    pub fn write(&mut self, bytes: u64) {
        self.sender.write(self.now, bytes);
        self.pump();
    }

    /// Runs until `end`; what is due then has happened.
    pub fn run_until(&mut self, end: Time) {
        while let Some(&Reverse((at, _, what))) = self.heap.peek() {
            if at > end {
                break;
            }
            self.heap.pop();
            self.now = at;
            self.step(what);
        }
        self.now = end;
    }

    pub fn run_for(&mut self, span: Delta) {
        self.run_until(self.now + span);
    }

    fn step(&mut self, what: What) {
        match what {
            What::Arrival(n) => {
                let segment = self.segments[n];
                self.receiver.on_segment(self.now, &segment);
                self.answer();
                if self.reads {
                    self.receiver.read(self.now, u64::MAX);
                    self.answer();
                }
            }
            What::AckArrival(n) => {
                let ack = self.flying[n];
                self.sender.on_ack(self.now, &ack, &mut self.events);
                if self.writes {
                    self.sender.write(self.now, self.sender.writable());
                }
                self.pump();
            }
            What::Departure => self.depart(),
            What::SenderTimer => {
                if self.sender.poll_timeout().is_some_and(|at| at <= self.now) {
                    self.sender.on_timeout(self.now, &mut self.events);
                    self.pump();
                }
            }
            What::ReceiverTimer => {
                if self
                    .receiver
                    .poll_timeout()
                    .is_some_and(|at| at <= self.now)
                {
                    self.receiver.on_timeout(self.now);
                    self.answer();
                }
            }
        }
    }

    /// Lets the receiver acknowledge, after whatever the test did to it.
    pub fn answer(&mut self) {
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            self.acks.push((self.now, ack));
            let late = match (self.ack_fate)(&ack) {
                Fate::Drop => continue,
                Fate::Pass => Delta::ZERO,
                Fate::Late(by) => by,
            };
            self.flying.push(ack);
            self.at(
                self.now + self.delay + late,
                What::AckArrival(self.flying.len() - 1),
            );
        }
        if let Some(at) = self.receiver.poll_timeout() {
            self.at(at, What::ReceiverTimer);
        }
    }

    fn pump(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now, &mut self.events) {
            self.sent.push((self.now, segment));
            match (self.fate)(&segment) {
                Fate::Drop => self.drops += 1,
                Fate::Pass => self.enqueue(segment, Delta::ZERO),
                Fate::Late(by) => self.enqueue(segment, by),
            }
        }
        if let Some(at) = self.sender.poll_timeout() {
            self.at(at.max(self.now), What::SenderTimer);
        }
    }

    fn enqueue(&mut self, mut segment: Segment, late: Delta) {
        if self.busy && self.queue.len() >= self.limit {
            self.drops += 1;
            return;
        }
        let is_long = self
            .mark_above
            .is_some_and(|limit| self.queue.len() > limit);
        if is_long && segment.ecn != Ecn::NotEct {
            segment.ecn = Ecn::Ce;
            self.marks += 1;
        }
        self.queue.push_back((segment, late, self.now));
        if self.busy {
            self.peak = self.peak.max(self.queue.len());
        } else {
            self.transmit();
        }
    }

    fn transmit(&mut self) {
        self.busy = true;
        let ns = u64::from(self.queue[0].0.ip_len()) * 8 * 1_000_000_000 / self.rate.as_bps();
        let start = self.now.max(self.outage_until);
        self.waited += start - self.queue[0].2;
        self.departed += 1;
        self.at(start + Delta::ns(ns as i64), What::Departure);
    }

    fn depart(&mut self) {
        self.busy = false;
        let (segment, late, _) = self.queue.pop_front().expect("the one in transmission");
        self.segments.push(segment);
        self.at(
            self.now + self.delay + late,
            What::Arrival(self.segments.len() - 1),
        );
        if !self.queue.is_empty() {
            self.transmit();
        }
    }

    fn at(&mut self, at: Time, what: What) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, what)));
    }
}
