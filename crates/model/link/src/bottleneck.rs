//! A queue in front of a server: where packets wait for a rate.
//!
//! The queue is asked for a packet when the server can take one, not before, so that disciplines
//! decide at the moment of sending. The packet leaves when its last byte has been sent; while it is
//! sent it no longer counts against the queue's limit (so a system of K places, as in M/M/1/K, has
//! a queue of K - 1).

use crate::seam::{Element, Output, Place};
use crate::service::{self, AnyService, Service};
use fastrand::Rng;
use unbloat_qdisc::{AnyQueue, Backlog, Context, Packet, Queue, Reason};
use unbloat_units::{Delta, Framing, Rate, Time};

/// Which queue in front of which server.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    pub queue: unbloat_qdisc::Config,
    pub service: service::Config,
    pub framing: Framing,
}

/// A queue and the server that it feeds.
pub struct Bottleneck<Q, S> {
    queue: Q,
    service: S,
    framing: Framing,
    rng: Rng,
    place: Place,
    server: Server,
    /// Somebody hands over a packet whenever the server has none.
    is_fed: bool,
}

/// What the server does.
#[derive(Clone, Copy, Debug)]
enum Server {
    Idle,
    /// The queue's own shaper holds its packets back until then.
    Held(Time),
    /// The next chance to send is then.
    Begins(Time),
    /// The last byte leaves then.
    Sends(Time, Packet),
}

impl Bottleneck<AnyQueue, AnyService> {
    pub fn build(params: &Params, start: Time, rng: &mut Rng) -> Self {
        let service = params.service.build(start, rng);
        Bottleneck::new(params.queue.build(), service, params.framing, rng.fork())
    }
}

impl<S: Service> Bottleneck<AnyQueue, S> {
    /// Has the queue's own shaper go on at another rate. Returns whether it has one.
    pub fn set_rate(&mut self, now: Time, rate: Rate, out: &mut impl Output) -> bool {
        self.advance(now, out);
        let is_shaped = self.queue.set_rate(rate);
        if matches!(self.server, Server::Held(_)) {
            self.free(now, false, out);
        }
        is_shaped
    }
}

impl<Q: Queue, S: Service> Bottleneck<Q, S> {
    pub(crate) fn service(&self) -> &S {
        &self.service
    }

    pub fn new(queue: Q, service: S, framing: Framing, rng: Rng) -> Self {
        Bottleneck {
            queue,
            service,
            framing,
            rng,
            place: Place::Queue,
            server: Server::Idle,
            is_fed: false,
        }
    }

    pub(crate) fn feed(&mut self) {
        self.is_fed = true;
    }

    /// Calls the queue by another name.
    pub fn at(self, place: Place) -> Self {
        Bottleneck { place, ..self }
    }

    pub fn queue(&self) -> &Q {
        &self.queue
    }

    /// Asks for the next packet if none waits.
    #[inline]
    fn refill(&mut self, now: Time, out: &mut impl Output) {
        if self.is_fed
            && self.queue.backlog().packets == 0
            && let Some(packet) = out.next(now)
        {
            let mut cx = Context {
                rng: &mut self.rng,
                observer: out,
            };
            self.queue.enqueue(now, packet, &mut cx);
        }
    }

    /// Finds out what a free server does next. `busy`: it sent until this moment.
    fn free(&mut self, now: Time, busy: bool, out: &mut impl Output) {
        self.server = match self.queue.ready_at(now) {
            None => Server::Idle,
            Some(at) if at > now => Server::Held(at),
            Some(_) => match self.service.ready(now, busy) {
                at if at > now => Server::Begins(at),
                _ => return self.begin(now, out),
            },
        };
    }

    /// A free link takes a packet for which the queue has no place.
    fn pass(&mut self, now: Time, mut packet: Packet, out: &mut impl Output) {
        packet.enqueued = now;
        let begin = self.service.ready(now, false);
        self.send(begin.max(now), packet, out);
    }

    #[inline]
    fn begin(&mut self, now: Time, out: &mut impl Output) {
        let mut cx = Context {
            rng: &mut self.rng,
            observer: out,
        };
        let Some(packet) = self.queue.dequeue(now, &mut cx) else {
            // A queue that drops all it had, or whose shaper has changed its mind.
            self.server = match self.queue.ready_at(now) {
                None => Server::Idle,
                Some(at) => Server::Held(at.max(now + Delta::ns(1))),
            };
            return;
        };
        self.send(now, packet, out);
    }

    #[inline]
    fn send(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        out.waited(now, self.place, &packet, now - packet.enqueued);
        let wire_bytes = self.framing.wire_bytes(packet.len.as_u32());
        self.server = Server::Sends(self.service.finish(now, wire_bytes), packet);
    }
}

impl<Q: Queue, S: Service> Element for Bottleneck<Q, S> {
    #[inline]
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        let mut cx = Context {
            rng: &mut self.rng,
            observer: out,
        };
        let wire_bytes = self.framing.wire_bytes(packet.len.as_u32());
        if self.service.longest().is_some_and(|max| wire_bytes > max) {
            return cx.dropped(now, packet, Reason::Oversize);
        }
        if matches!(self.server, Server::Idle) && self.queue.is_roomless() {
            return self.pass(now, packet, out);
        }
        self.queue.enqueue(now, packet, &mut cx);
        if matches!(self.server, Server::Idle | Server::Held(_)) {
            self.free(now, false, out);
        }
    }

    #[inline]
    fn next_at(&self) -> Option<Time> {
        match self.server {
            Server::Idle => None,
            Server::Held(at) | Server::Begins(at) | Server::Sends(at, _) => Some(at),
        }
        .filter(|at| *at < Time::MAX)
    }

    #[inline]
    fn advance(&mut self, now: Time, out: &mut impl Output) {
        loop {
            match self.server {
                Server::Sends(at, packet) if at <= now => {
                    out.deliver(at, packet);
                    self.refill(at, out);
                    self.free(at, true, out);
                }
                Server::Begins(at) if at <= now => self.begin(at, out),
                Server::Held(at) if at <= now => self.free(at, false, out),
                _ => return,
            }
        }
    }

    fn is_watched(&self) -> bool {
        self.is_fed
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.queue.backlog();
        if let Server::Sends(_, packet) = self.server {
            backlog.packets += 1;
            backlog.bytes += packet.len.bytes();
        }
        backlog
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        tell(self.place, self.queue.backlog());
    }
}
