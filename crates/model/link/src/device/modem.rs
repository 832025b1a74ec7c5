//! What is below the driver: a firmware buffer and what drains it.

use crate::bottleneck::Bottleneck;
use crate::radio::uplink::{self, Uplink};
use crate::seam::{Element, Output, Place};
use crate::service::{self, AnyService};
use fastrand::Rng;
use unbloat_qdisc::discipline::droptail::{self, DropTail};
use unbloat_qdisc::{Backlog, Packet, Queue};
use unbloat_units::{Bytes, Delta, Framing, Time};

/// An element that says whether it can take a packet, so that whoever feeds it may wait.
pub trait Modem: Element {
    /// An empty modem always has room; what it can never hold it drops.
    fn has_room(&self, packet: &Packet) -> bool;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// A phone's: drained by grants.
    LteUplink(uplink::Params),
    /// A network card's or a cable modem's: drained by a rate.
    Line(Line),
}

/// A first-in first-out buffer in front of a server. The packet that is being sent is not in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub buffer: Bytes,
    pub service: service::Config,
    pub framing: Framing,
}

/// Any modem.
pub enum AnyModem {
    LteUplink(Box<Uplink>),
    Line {
        link: Box<Bottleneck<DropTail, AnyService>>,
        buffer: Bytes,
    },
}

impl Config {
    pub fn build(&self, start: Time, rng: &mut Rng) -> AnyModem {
        match self {
            Config::LteUplink(params) => {
                AnyModem::LteUplink(Box::new(Uplink::build(params, start, rng)))
            }
            Config::Line(line) => AnyModem::Line {
                link: Box::new(line.build(start, rng)),
                buffer: line.buffer,
            },
        }
    }
}

impl Line {
    fn build(&self, start: Time, rng: &mut Rng) -> Bottleneck<DropTail, AnyService> {
        let queue = DropTail::new(droptail::Params {
            limit_bytes: Some(self.buffer),
            limit_packets: None,
        });
        let service = self.service.build(start, rng);
        Bottleneck::new(queue, service, self.framing, rng.fork()).at(Place::Firmware)
    }
}

impl AnyModem {
    /// What it holds and has not sent: what its diagnostics would tell.
    pub fn unsent(&self) -> Bytes {
        match self {
            AnyModem::LteUplink(phone) => phone.buffered(),
            AnyModem::Line { link, .. } => link.backlog().bytes,
        }
    }
}

impl Modem for AnyModem {
    fn has_room(&self, packet: &Packet) -> bool {
        let (waiting, buffer) = match self {
            AnyModem::LteUplink(phone) => (phone.waiting(), phone.limit()),
            AnyModem::Line { link, buffer } => (link.queue().backlog().bytes, *buffer),
        };
        waiting == Bytes::ZERO || waiting + packet.len.bytes() <= buffer
    }
}

impl Element for AnyModem {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        match self {
            AnyModem::LteUplink(phone) => phone.accept(now, packet, out),
            AnyModem::Line { link, .. } => link.accept(now, packet, out),
        }
    }

    fn next_at(&self) -> Option<Time> {
        match self {
            AnyModem::LteUplink(phone) => phone.next_at(),
            AnyModem::Line { link, .. } => link.next_at(),
        }
    }

    fn advance(&mut self, now: Time, out: &mut impl Output) {
        match self {
            AnyModem::LteUplink(phone) => phone.advance(now, out),
            AnyModem::Line { link, .. } => link.advance(now, out),
        }
    }

    fn latency(&self) -> Delta {
        match self {
            AnyModem::LteUplink(phone) => phone.latency(),
            AnyModem::Line { link, .. } => link.latency(),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            AnyModem::LteUplink(phone) => phone.backlog(),
            AnyModem::Line { link, .. } => link.backlog(),
        }
    }

    fn each_layer(&self, tell: &mut dyn FnMut(Place, Backlog)) {
        match self {
            AnyModem::LteUplink(phone) => phone.each_layer(tell),
            AnyModem::Line { link, .. } => link.each_layer(tell),
        }
    }
}
