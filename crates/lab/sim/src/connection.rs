//! A connection: handshake, both directions of data, and whose turn it is to write.
//!
//! Where this differs from TCP on the wire: data of one direction and acknowledgements of the other travel in packets of their
//! own, and a connection ends without FIN once both ends are through.

use crate::body::{Body, OPENED_BYTES, SYN_BYTES, pure_ack};
use crate::prefetch::prefetch;
use crate::reading::Reading;
use crate::unsent::Unsent;
use crate::wire::{Labels, Task, Wire};
use std::collections::VecDeque;
use unbloat_experiment::outcome::FlowRecord;
use unbloat_experiment::scenario::Flow;
use unbloat_tcp::{Ack, Receiver, Segment, Sender, timer_expiry};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};
use unbloat_workload::Conn;

/// RFC 6298 section 2: the first timeout.
const SYN_TIMEOUT: Delta = Delta::secs(1);
/// Timeouts before they begin to double (Linux `tcp_syn_linear_timeouts`, `tcp_retransmit_timer`).
const LINEAR_SYN_TIMEOUTS: u32 = 4;

/// Sender and receiver of the data of one direction.
struct Half {
    sender: Sender,
    /// Bytes that the application has for the sender, beyond what its socket has taken.
    waiting: u64,
    /// What the socket holds and has not sent, where that is told.
    unsent: Option<Unsent>,
    receiver: Receiver,
    /// An application that reads slowly.
    reading: Option<Reading>,
    /// The application is about to write.
    is_woken: bool,
    sender_armed: Option<Time>,
    receiver_armed: Option<Time>,
}

impl Half {
    /// The application writes what the socket takes.
    #[inline(never)]
    fn write(&mut self, now: Time, bytes: u64) {
        self.waiting -= bytes;
        if let Some(unsent) = &mut self.unsent {
            unsent.written(now, bytes);
        }
        self.sender.write(now, bytes);
    }
}

/// A request and its response, by where they end in their streams.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request_end: u64,
    response: u64,
    is_answered: bool,
    response_end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client has sent its SYN again so many times.
    Asked {
        attempt: u32,
    },
    Established,
}

pub(crate) struct Connection {
    /// Its number in the run.
    id: u32,
    pub flow: u32,
    /// Its number in its workload.
    pub conn: Conn,
    phase: Phase,
    /// The server has seen the SYN.
    is_known: bool,
    /// When it has answered the first one, until the client's answer comes.
    answered: Option<Time>,
    labels: Labels,
    halves: Both<Half>,
    exchanges: VecDeque<Exchange>,
    /// Bytes of all requests and of all responses so far.
    asked: u64,
    promised: u64,
    is_closing: bool,
}

/// What came of a step, for the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Opened,
    Read(Direction, Bytes),
    Done,
}

impl Connection {
    /// A connection whose client sends its SYN now.
    pub(crate) fn open(
        id: u32,
        flow: u32,
        conn: Conn,
        plan: &Flow,
        labels: Labels,
        wire: &mut Wire,
    ) -> Connection {
        let now = wire.now;
        let half = |direction: Direction| {
            let receiver = Receiver::new(now, plan.receivers[direction].clone());
            let window = receiver.initial_window();
            let params = plan.senders[direction].clone();
            let is_told = params.notsent_lowat.is_some() || wire.begins_with_device(direction);
            Half {
                sender: Sender::new(now, params, window),
                waiting: 0,
                unsent: is_told.then(Unsent::default),
                receiver,
                reading: plan.readers[direction].map(|reader| Reading::new(reader, now)),
                is_woken: false,
                sender_armed: None,
                receiver_armed: None,
            }
        };
        let mut connection = Connection {
            id,
            flow,
            conn,
            phase: Phase::Asked { attempt: 0 },
            is_known: false,
            answered: None,
            labels,
            halves: Both::of(half),
            exchanges: VecDeque::new(),
            asked: 0,
            promised: 0,
            is_closing: false,
        };
        connection.send_syn(0, wire);
        connection
    }

    fn send_syn(&mut self, attempt: u32, wire: &mut Wire) {
        self.phase = Phase::Asked { attempt };
        wire.send(
            Direction::Up,
            SYN_BYTES,
            self.id.into(),
            &self.labels,
            Body::Syn {
                conn: self.id,
                sent: wire.now,
            },
        );
        let doublings = attempt.saturating_sub(LINEAR_SYN_TIMEOUTS).min(6);
        let timeout = Delta::ns(SYN_TIMEOUT.as_ns() << doublings);
        let hz = self.halves.up.sender.params().hz;
        let at = timer_expiry(wire.now, timeout, hz);
        wire.agenda.plan(at, Task::Handshake(self.id));
    }

    /// Counted as Linux does: as a timeout and as a retransmission.
    pub(crate) fn on_handshake_timeout(&mut self, wire: &mut Wire, record: &mut FlowRecord) {
        if let Phase::Asked { attempt } = self.phase {
            record.timeouts += 1;
            record.retransmissions += 1;
            self.send_syn(attempt + 1, wire);
        }
    }

    /// The server answers every SYN.
    pub(crate) fn on_syn(&mut self, asked: Time, wire: &mut Wire) {
        self.answered = (!self.is_known).then_some(wire.now);
        self.is_known = true;
        wire.send(
            Direction::Down,
            SYN_BYTES,
            self.id.into(),
            &self.labels,
            Body::SynAck {
                conn: self.id,
                asked,
            },
        );
    }

    /// The client may write. A SYN that was sent again measures the round trip by timestamps, in whole milliseconds
    /// (Linux `tcp_ack_update_rtt`), or not at all (Karn's rule).
    pub(crate) fn on_syn_ack(
        &mut self,
        asked: Time,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) -> Option<Outcome> {
        let Phase::Asked { attempt } = self.phase else {
            return None;
        };
        self.phase = Phase::Established;
        let rtt = wire.now.since(asked);
        let has_timestamps = self.halves.up.sender.params().timestamps;
        let rtt = match attempt {
            0 => Some(rtt),
            _ => has_timestamps.then(|| Delta::ms((rtt.as_us() / 1_000).max(1))),
        };
        if let Some(rtt) = rtt {
            for half in self.halves.iter_mut() {
                half.sender.seed_rtt(wire.now, rtt);
            }
            self.halves.down.receiver.seed_rtt(rtt);
        }
        self.halves.up.sender.lost_handshakes(attempt);
        wire.send(
            Direction::Up,
            OPENED_BYTES,
            self.id.into(),
            &self.labels,
            Body::Opened { conn: self.id },
        );
        let waiting = self.asked;
        self.write(Direction::Up, waiting, wire, record);
        Some(Outcome::Opened)
    }

    /// The server's socket measures its first round trip (Linux `tcp_synack_rtt_meas`). Data does instead if it is first.
    pub(crate) fn on_opened(&mut self, now: Time) {
        if let Some(answered) = self.answered.take() {
            self.halves.up.receiver.seed_rtt(now.since(answered));
        }
    }

    pub(crate) fn exchange(
        &mut self,
        request: Bytes,
        response: Bytes,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) {
        self.asked += request.as_u64();
        self.exchanges.push_back(Exchange {
            request_end: self.asked,
            response: response.as_u64(),
            is_answered: false,
            response_end: 0,
        });
        if self.phase == Phase::Established {
            self.write(Direction::Up, request.as_u64(), wire, record);
        }
    }

    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Has the end fetched for which a packet comes soon.
    #[inline]
    pub(crate) fn prefetch(&self, coming: &Body) {
        prefetch(&self.labels);
        match coming {
            Body::Data { direction, .. } => {
                let half = &self.halves[*direction];
                prefetch(&half.receiver);
                prefetch(&half.receiver_armed);
            }
            Body::Ack { direction, .. } => {
                let half = &self.halves[*direction];
                prefetch(&half.sender);
                prefetch(&half.sender_armed);
            }
            _ => {}
        }
    }

    /// Then what lies behind a pointer of that end.
    #[inline]
    pub(crate) fn prefetch_window(&self, coming: &Body) {
        if let Body::Ack { direction, .. } = coming {
            let [first, next] = self.halves[*direction].sender.ends_of_window();
            prefetch(first);
            prefetch(next);
        }
    }

    /// Nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closing
            && self.exchanges.is_empty()
            && self
                .halves
                .iter()
                .all(|half| half.waiting + half.sender.unacknowledged() == 0)
    }

    fn write(
        &mut self,
        direction: Direction,
        bytes: u64,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) {
        if bytes > 0 {
            let half = &mut self.halves[direction];
            half.waiting += bytes;
            self.fill_socket(direction, wire);
            self.transmit(direction, wire, record);
        }
    }

    /// Returns whether the application wrote.
    #[inline(always)]
    fn fill_socket(&mut self, direction: Direction, wire: &mut Wire) -> bool {
        let half = &mut self.halves[direction];
        let bytes = half.waiting.min(half.sender.writable());
        if bytes > 0 {
            half.write(wire.now, bytes);
            wire.wrote(direction, self.flow, bytes);
        }
        bytes > 0
    }

    /// Sends what the sender of that direction may send. Where little may wait in the socket, sending makes room for more.
    fn transmit(&mut self, direction: Direction, wire: &mut Wire, record: &mut FlowRecord) {
        loop {
            self.send(direction, wire, record);
            if !self.fill_socket(direction, wire) {
                break;
            }
        }
        self.arm_sender(direction, wire);
    }

    #[inline(always)]
    fn arm_sender(&mut self, direction: Direction, wire: &mut Wire) {
        let half = &mut self.halves[direction];
        if let Some(at) = half.sender.poll_timeout()
            && half.sender_armed.is_none_or(|armed| at < armed)
        {
            half.sender_armed = Some(at);
            wire.agenda
                .plan(at.max(wire.now), Task::Sender(self.id, direction));
        }
    }

    #[inline(always)]
    fn send(&mut self, direction: Direction, wire: &mut Wire, record: &mut FlowRecord) {
        let half = &mut self.halves[direction];
        while let Some(segment) = half.sender.poll_transmit(wire.now, record) {
            record.segments += 1;
            let unsent = half.unsent.as_mut();
            if let Some(wait) = unsent.and_then(|unsent| unsent.sent(wire.now, segment.end())) {
                wire.waited_in_socket(direction, self.flow, wait);
            }
            let body = Body::Data {
                conn: self.id,
                direction,
                segment,
            };
            wire.send_in_line(
                direction,
                segment.ip_len(),
                self.id.into(),
                None,
                &self.labels,
                body,
            );
        }
    }

    /// Acts on a wake-up of the sender's timer. A wake-up that an earlier one has replaced is void; if the timer has moved to a
    /// later time meanwhile, that time is planned.
    pub(crate) fn on_sender_timer(
        &mut self,
        direction: Direction,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) {
        let half = &mut self.halves[direction];
        if half.sender_armed.is_none_or(|armed| armed > wire.now) {
            return;
        }
        half.sender_armed = None;
        if half.sender.poll_timeout().is_some_and(|at| at <= wire.now) {
            half.sender.on_timeout(wire.now, record);
        }
        self.transmit(direction, wire, record);
    }

    pub(crate) fn on_ack(
        &mut self,
        direction: Direction,
        ack: &Ack,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) {
        let sender = &mut self.halves[direction].sender;
        sender.on_ack(wire.now, ack, record);
        self.send(direction, wire, record);
        self.arm_sender(direction, wire);
        let half = &mut self.halves[direction];
        if half.waiting > 0 && !half.is_woken && half.sender.writable() > 0 {
            half.is_woken = true;
            wire.agenda.plan(wire.now, Task::Write(self.id, direction));
        }
    }

    /// The application runs once all that arrived with the ACK that woke it has been taken in, as under Linux, where interrupts come
    /// first: ACKs that arrive together empty more than a third of the buffer before it writes.
    pub(crate) fn on_woken(
        &mut self,
        direction: Direction,
        wire: &mut Wire,
        record: &mut FlowRecord,
    ) {
        self.halves[direction].is_woken = false;
        self.fill_socket(direction, wire);
        self.transmit(direction, wire, record);
    }

    /// Data arrives; the application reads as soon as it is woken. Calls `tell` with what it means to the workload.
    pub(crate) fn on_data(
        &mut self,
        direction: Direction,
        segment: &Segment,
        wire: &mut Wire,
        record: &mut FlowRecord,
        tell: impl FnMut(Outcome),
    ) {
        if direction == Direction::Up {
            self.on_opened(wire.now);
        }
        self.halves[direction]
            .receiver
            .on_segment(wire.now, segment);
        self.acknowledge(direction, wire);
        self.read(direction, wire, record, tell);
    }

    /// The application looks again at what it left.
    pub(crate) fn on_reading(
        &mut self,
        direction: Direction,
        wire: &mut Wire,
        record: &mut FlowRecord,
        tell: impl FnMut(Outcome),
    ) {
        if let Some(reading) = &mut self.halves[direction].reading
            && reading.armed.take_if(|at| *at <= wire.now).is_some()
        {
            self.read(direction, wire, record, tell);
        }
    }

    fn read(
        &mut self,
        direction: Direction,
        wire: &mut Wire,
        record: &mut FlowRecord,
        mut tell: impl FnMut(Outcome),
    ) {
        let Half {
            receiver, reading, ..
        } = &mut self.halves[direction];
        let bytes = match reading {
            None if receiver.is_worth_reading() => receiver.read(wire.now, u64::MAX),
            None => 0,
            Some(reading) => {
                let wanted = reading.take(wire.now, receiver.readable());
                let bytes = receiver.read(wire.now, wanted);
                let left = receiver.readable();
                if left > 0 && reading.armed.is_none() {
                    let at = reading.next_at(left).max(wire.now);
                    reading.armed = Some(at);
                    wire.agenda.plan(at, Task::Read(self.id, direction));
                }
                bytes
            }
        };
        if bytes > 0 {
            let received = receiver.received() - receiver.readable();
            self.acknowledge(direction, wire);
            record.read(wire.now, direction, Bytes::new(bytes));
            tell(Outcome::Read(direction, Bytes::new(bytes)));
            match direction {
                Direction::Up => self.answer(received, wire, record, tell),
                Direction::Down => self.finish(received, tell),
            }
        }
    }

    /// The server answers the requests that are complete.
    fn answer(
        &mut self,
        received: u64,
        wire: &mut Wire,
        record: &mut FlowRecord,
        mut tell: impl FnMut(Outcome),
    ) {
        let mut promised = self.promised;
        for exchange in self
            .exchanges
            .iter_mut()
            .filter(|exchange| !exchange.is_answered)
        {
            if exchange.request_end > received {
                break;
            }
            promised += exchange.response;
            exchange.is_answered = true;
            exchange.response_end = promised;
        }
        let more = promised - self.promised;
        self.promised = promised;
        self.write(Direction::Down, more, wire, record);
        // An exchange without response is done as soon as the request is there.
        let receiver = &self.halves.down.receiver;
        let read = receiver.received() - receiver.readable();
        self.finish(read, &mut tell);
    }

    fn finish(&mut self, received: u64, mut tell: impl FnMut(Outcome)) {
        while let Some(exchange) = self.exchanges.front()
            && exchange.is_answered
            && exchange.response_end <= received
        {
            self.exchanges.pop_front();
            tell(Outcome::Done);
        }
    }

    #[inline(always)]
    fn acknowledge(&mut self, direction: Direction, wire: &mut Wire) {
        let half = &mut self.halves[direction];
        while let Some(ack) = half.receiver.poll_ack(wire.now) {
            send_ack(self.id, direction, ack, &self.labels, wire);
        }
        if let Some(at) = half.receiver.poll_timeout()
            && half.receiver_armed.is_none_or(|armed| at < armed)
        {
            half.receiver_armed = Some(at);
            wire.agenda
                .plan(at.max(wire.now), Task::Receiver(self.id, direction));
        }
    }

    pub(crate) fn on_receiver_timer(&mut self, direction: Direction, wire: &mut Wire) {
        let half = &mut self.halves[direction];
        if half.receiver_armed.is_none_or(|armed| armed > wire.now) {
            return;
        }
        half.receiver_armed = None;
        if half
            .receiver
            .poll_timeout()
            .is_some_and(|at| at <= wire.now)
        {
            half.receiver.on_timeout(wire.now);
        }
        self.acknowledge(direction, wire);
    }

    /// The sender of the direction that has more to send.
    pub(crate) fn busier_sender(&self) -> &Sender {
        let Both { down, up } = &self.halves;
        if up.sender.stats().bytes_sent > down.sender.stats().bytes_sent {
            &up.sender
        } else {
            &down.sender
        }
    }

    pub(crate) fn is_established(&self) -> bool {
        self.phase == Phase::Established && self.is_known
    }
}

#[inline(never)]
fn send_ack(conn: u32, direction: Direction, ack: Ack, labels: &Labels, wire: &mut Wire) {
    let (len, pure_ack) = (ack.ip_len(), pure_ack(&ack));
    let body = Body::Ack {
        conn,
        direction,
        ack,
    };
    wire.send_in_line(
        direction.reverse(),
        len,
        conn.into(),
        Some(pure_ack),
        labels,
        body,
    );
}
