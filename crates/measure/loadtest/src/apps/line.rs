//! The network as one application sees it.

use crate::apps::app::Tell;
use crate::apps::connection::{Order, carry};
use crate::apps::datagrams::Datagrams;
use crate::apps::server::Server;
use fastrand::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use unbloat_units::{Bytes, Delta, Direction, Time};
use unbloat_workload::{Conn, Network};

/// Connections and wake-ups that one application may have at a time: bounds that no honest one meets.
const MOST_CONNECTIONS: usize = 1_000;

pub(crate) struct Line {
    server: Rc<Server>,
    tell: Tell,
    rng: Rng,
    /// Of open connections; what a closed one still has to do it does by itself.
    orders: BTreeMap<Conn, UnboundedSender<Order>>,
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    /// By how much the wake-up that is being handled came too late.
    pub(crate) late: Delta,
    pub(crate) datagrams: Option<Datagrams>,
    pub(crate) connections: u64,
}

impl Line {
    pub(crate) fn new(
        server: Rc<Server>,
        tell: Tell,
        rng: Rng,
        datagrams: Option<Datagrams>,
    ) -> Line {
        Line {
            server,
            tell,
            rng,
            orders: BTreeMap::new(),
            wakes: BinaryHeap::new(),
            late: Delta::ZERO,
            datagrams,
            connections: 0,
        }
    }

    pub(crate) fn next_wake(&self) -> Option<Time> {
        self.wakes.peek().map(|Reverse((at, _))| *at)
    }

    /// The next wake-up if it is due.
    pub(crate) fn due(&mut self, now: Time) -> Option<(Time, u32)> {
        self.next_wake().filter(|at| *at <= now)?;
        self.wakes.pop().map(|Reverse(wake)| wake)
    }

    /// Sends the datagrams of this turn.
    pub(crate) fn flush(&mut self) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.flush();
        }
    }

    fn open(&mut self, conn: Conn) -> UnboundedSender<Order> {
        let (sender, orders) = unbounded_channel();
        self.connections += 1;
        tokio::task::spawn_local(carry(self.server.clone(), conn, orders, self.tell.clone()));
        sender
    }
}

impl Network for Line {
    fn exchange(&mut self, conn: Conn, request: Bytes, response: Bytes) {
        if !self.orders.contains_key(&conn) {
            if self.orders.len() >= MOST_CONNECTIONS {
                return self.tell.failed(format!(
                    "at most {MOST_CONNECTIONS} connections at a time are supported"
                ));
            }
            let sender = self.open(conn);
            self.orders.insert(conn, sender);
        }
        // A connection that has failed has told so.
        let _ = self.orders[&conn].send(Order { request, response });
    }

    fn close(&mut self, conn: Conn) {
        self.orders.remove(&conn);
    }

    fn datagram(&mut self, direction: Direction, number: u64, size: Bytes) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.ask(direction, number, size);
        }
    }

    /// Asked for while a wake-up is handled that came late, it comes earlier by as much: lateness does not add up.
    fn wake(&mut self, at: Time, tag: u32) {
        self.wakes.push(Reverse((at - self.late, tag)));
    }

    fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }
}
