//! The place where packets wait for a radio to wake.

use super::rrc::{self, Radio};
use crate::seam::{Element, Output, Place};
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use unbloat_qdisc::{Backlog, Packet};
use unbloat_units::{Bytes, Delta, Direction, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    pub rrc: rrc::Params,
    pub direction: Direction,
}

/// Holds packets until the radio is awake. The two directions of a phone share one radio: see
/// [`Path::share_radio`](crate::Path::share_radio).
#[derive(Debug)]
pub struct Sleep {
    radio: Rc<RefCell<Radio>>,
    direction: Direction,
    waiting: VecDeque<(Time, Packet)>,
    bytes: Bytes,
    last: Time,
}

impl Sleep {
    pub(crate) fn build(params: &Params, start: Time, rng: &mut Rng) -> Sleep {
        Sleep {
            radio: Rc::new(RefCell::new(Radio::new(params.rrc, start, rng.fork()))),
            direction: params.direction,
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            last: Time::MIN,
        }
    }

    /// What its radio did.
    pub(crate) fn used(&self, from: Time, until: Time) -> rrc::Use {
        self.radio.borrow().used(from, until)
    }

    /// Uses the radio of another one from now on.
    pub(crate) fn share(&mut self, other: &Sleep) {
        self.radio = Rc::clone(&other.radio);
    }
}

impl Element for Sleep {
    fn accept(&mut self, now: Time, mut packet: Packet, out: &mut impl Output) {
        self.advance(now, out);
        packet.enqueued = now;
        let awake = self.radio.borrow_mut().wake(now, self.direction);
        self.last = self.last.max(awake);
        self.bytes += packet.len.bytes();
        self.waiting.push_back((self.last, packet));
        self.advance(now, out);
    }

    fn next_at(&self) -> Option<Time> {
        self.waiting.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        while let Some((at, packet)) = super::pop_if(&mut self.waiting, |(at, _)| *at <= now) {
            self.bytes = self.bytes - packet.len.bytes();
            let wait = at - packet.enqueued;
            if wait > Delta::ZERO {
                out.waited(at, Place::Sleep, &packet, wait);
            }
            out.deliver(at, packet);
        }
    }

    fn is_watched(&self) -> bool {
        Rc::strong_count(&self.radio) > 1
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting.len() as u32,
            bytes: self.bytes,
        }
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        tell(Place::Sleep, self.backlog());
    }
}
