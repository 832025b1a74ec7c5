//! Handshake, data and close of a user's connections. A connection's two ends share one state here.

use super::{SOON, Task, User};
use crate::body::{Body, Kind};
use crate::flow::{Connection, Watch};
use unbloat_tcp::{Ack, Limit, Segment};
use unbloat_units::{Delta, Direction, Time};

/// RFC 6298 section 2: the first timeout of a SYN; it doubles with each.
const SYN_TIMEOUT: Delta = Delta::secs(1);
/// SYNs that a client sends before it gives up.
const SYNS: u32 = 4;
/// FINs that it sends.
const FINS: u32 = 5;

impl User {
    /// The client wants the connection: it looks the name up, or sends its SYN.
    pub(super) fn begin(&mut self, number: u32) {
        if self.flow_at(number).plan.lookup.is_some() {
            self.send(number, Direction::Up, Kind::Query);
        } else {
            self.open(number);
        }
    }

    fn open(&mut self, number: u32) {
        let now = self.now;
        let payload = self.flow_at(number).payload();
        let connection = Connection::new(now, &self.params, &self.plan.device, payload);
        let flow = self.flow_at(number);
        flow.connection = Some(Box::new(connection));
        self.send_syn(number);
    }

    fn send_syn(&mut self, number: u32) {
        let now = self.now;
        let Some(connection) = &mut self.flow_at(number).connection else {
            return;
        };
        let timeout = SYN_TIMEOUT * (1 << connection.syns);
        connection.syns += 1;
        connection.syn_at = now;
        self.send(number, Direction::Up, Kind::Syn);
        self.agenda.plan(now + timeout, Task::Syn(number));
    }

    pub(super) fn on_syn_timeout(&mut self, number: u32) {
        let flow = self.flow_at(number);
        let Some(connection) = &flow.connection else {
            return;
        };
        if connection.opened.is_some() {
            return;
        }
        if connection.syns < SYNS {
            self.send_syn(number);
        } else {
            flow.connection = None;
        }
    }

    pub(super) fn at_server(&mut self, body: &Body) {
        let (number, now) = (body.flow, self.now);
        let flow = self.flow_at(number);
        if flow.plan.is_dead {
            return;
        }
        let Some(connection) = &mut flow.connection else {
            return;
        };
        hear(connection, body);
        match body.kind {
            Kind::Syn => {
                connection.answered_at.get_or_insert(now);
                self.send(number, Direction::Down, Kind::SynAck);
            }
            Kind::Established if !connection.is_known => {
                connection.is_known = true;
                if let Some(at) = connection.answered_at {
                    connection.halves.down.sender.seed_rtt(now, now.since(at));
                }
            }
            Kind::Data(segment) => self.on_data(number, Direction::Up, &segment),
            Kind::Ack(ack) => self.on_ack(number, Direction::Down, &ack),
            Kind::Fin(_) => {
                let end = connection.promised;
                self.send(number, Direction::Down, Kind::Fin(end));
            }
            Kind::Rst(_) => flow.connection = None,
            _ => {}
        }
    }

    pub(super) fn at_client(&mut self, body: &Body) {
        let (number, now) = (body.flow, self.now);
        if matches!(body.kind, Kind::Answer) {
            return self.open(number);
        }
        let Some(connection) = &mut self.flow_at(number).connection else {
            return;
        };
        hear(connection, body);
        match body.kind {
            Kind::SynAck => {
                let is_new = connection.opened.is_none();
                connection.opened.get_or_insert(now);
                if is_new && connection.syns == 1 {
                    let rtt = now.since(connection.syn_at);
                    connection.halves.up.sender.seed_rtt(now, rtt);
                }
                self.send(number, Direction::Up, Kind::Established);
                if is_new {
                    self.exchange(number);
                }
            }
            Kind::Data(segment) => {
                self.on_data(number, Direction::Down, &segment);
            }
            Kind::Ack(ack) => self.on_ack(number, Direction::Up, &ack),
            Kind::Fin(_) => {
                let end = connection.asked + 1;
                self.send(number, Direction::Up, Kind::LastAck(end));
                self.flow_at(number).connection = None;
            }
            _ => {}
        }
    }

    /// The application has more for the sender of that direction.
    pub(super) fn write(&mut self, number: u32, direction: Direction, bytes: u64) {
        let now = self.now;
        if let Some(connection) = &mut self.flow_at(number).connection {
            let half = &mut connection.halves[direction];
            half.waiting += bytes;
            half.fill_socket(now);
            self.transmit(number, direction);
        }
    }

    fn transmit(&mut self, number: u32, direction: Direction) {
        loop {
            self.poll(number, direction);
            let now = self.now;
            let Some(connection) = &mut self.flow_at(number).connection else {
                return;
            };
            if !connection.halves[direction].fill_socket(now) {
                break;
            }
        }
        self.arm_sender(number, direction);
    }

    /// Sends what the sender of that direction may send.
    fn poll(&mut self, number: u32, direction: Direction) {
        loop {
            let now = self.now;
            let flow = self.flow_at(number);
            let Some(connection) = &mut flow.connection else {
                return;
            };
            let truth = &mut flow.truth;
            let sender = &mut connection.halves[direction].sender;
            let Some(segment) = sender.poll_transmit(now, &mut Watch { direction, truth }) else {
                if direction == Direction::Down && sender.limit() == Limit::Receiver {
                    truth.window_full.get_or_insert(now);
                }
                return;
            };
            truth.retransmissions[direction] += u64::from(segment.is_retransmission);
            self.send(number, direction, Kind::Data(segment));
        }
    }

    fn arm_sender(&mut self, number: u32, direction: Direction) {
        let now = self.now;
        let Some(connection) = &mut self.flow_at(number).connection else {
            return;
        };
        let half = &mut connection.halves[direction];
        let next = half.sender.poll_timeout();
        if let Some(at) = next.filter(|at| half.sender_armed.is_none_or(|armed| *at < armed)) {
            half.sender_armed = Some(at);
            self.agenda
                .plan(at.max(now), Task::Sender(number, direction));
        }
    }

    /// A wake-up that an earlier one has replaced is void; a timer that has moved to a later time is planned anew.
    pub(super) fn on_sender_timer(&mut self, number: u32, direction: Direction) {
        let now = self.now;
        let flow = self.flow_at(number);
        let Some(connection) = &mut flow.connection else {
            return;
        };
        let half = &mut connection.halves[direction];
        if half.sender_armed.is_none_or(|armed| armed > now) {
            return;
        }
        half.sender_armed = None;
        if is_due(half.sender.poll_timeout(), now) {
            let truth = &mut flow.truth;
            half.sender.on_timeout(now, &mut Watch { direction, truth });
        }
        self.transmit(number, direction);
    }

    fn on_ack(&mut self, number: u32, direction: Direction, ack: &Ack) {
        let now = self.now;
        let flow = self.flow_at(number);
        if let Some(connection) = &mut flow.connection {
            let truth = &mut flow.truth;
            let half = &mut connection.halves[direction];
            half.sender
                .on_ack(now, ack, &mut Watch { direction, truth });
            half.fill_socket(now);
            self.transmit(number, direction);
        }
    }

    fn on_data(&mut self, number: u32, direction: Direction, segment: &Segment) {
        let now = self.now;
        if let Some(connection) = &mut self.flow_at(number).connection {
            let receiver = &mut connection.halves[direction].receiver;
            receiver.on_segment(now, segment);
            self.acknowledge(number, direction);
            self.read(number, direction);
        }
    }

    /// Sends acknowledgements that are due for data of that direction.
    pub(super) fn acknowledge(&mut self, number: u32, direction: Direction) {
        let now = self.now;
        loop {
            let Some(connection) = &mut self.flow_at(number).connection else {
                return;
            };
            let half = &mut connection.halves[direction];
            let Some(ack) = half.receiver.poll_ack(now) else {
                break;
            };
            half.acked = (ack.ack, ack.window);
            self.send(number, direction.reverse(), Kind::Ack(ack));
        }
        let Some(connection) = &mut self.flow_at(number).connection else {
            return;
        };
        let half = &mut connection.halves[direction];
        let next = half.receiver.poll_timeout();
        if let Some(at) = next.filter(|at| half.receiver_armed.is_none_or(|armed| *at < armed)) {
            half.receiver_armed = Some(at);
            self.agenda
                .plan(at.max(now), Task::Receiver(number, direction));
        }
    }

    pub(super) fn on_receiver_timer(&mut self, number: u32, direction: Direction) {
        let now = self.now;
        let Some(connection) = &mut self.flow_at(number).connection else {
            return;
        };
        let half = &mut connection.halves[direction];
        if half.receiver_armed.is_none_or(|armed| armed > now) {
            return;
        }
        half.receiver_armed = None;
        if is_due(half.receiver.poll_timeout(), now) {
            half.receiver.on_timeout(now);
        }
        self.acknowledge(number, direction);
    }

    /// The client closes, by FIN or RST, once all is acknowledged.
    pub(super) fn close(&mut self, number: u32) {
        let now = self.now;
        let flow = self.flow_at(number);
        let by_rst = flow.plan.by_rst;
        let Some(connection) = &mut flow.connection else {
            return;
        };
        if !connection.halves.iter().all(|half| half.is_through()) {
            return self.agenda.plan(now + SOON, Task::Close(number));
        }
        let end = connection.asked;
        connection.fins += 1;
        let fins = connection.fins;
        if by_rst {
            self.send(number, Direction::Up, Kind::Rst(end));
            self.flow_at(number).connection = None;
        } else if fins <= FINS {
            self.send(number, Direction::Up, Kind::Fin(end));
            let timeout = SYN_TIMEOUT * (1 << fins);
            self.agenda.plan(now + timeout, Task::Close(number));
        } else {
            flow.connection = None;
        }
    }
}

/// Keeps the newest TSval of the packet's sender.
fn hear(connection: &mut Connection, body: &Body) {
    if let Some((value, _)) = body.header.timestamps {
        let heard = &mut connection.heard[body.direction];
        *heard = heard.later(value);
    }
}

fn is_due(timeout: Option<Time>, now: Time) -> bool {
    timeout.is_some_and(|at| at <= now)
}
