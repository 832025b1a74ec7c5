//! Packets of a household for a week, with episodes of bufferbloat whose times, directions and culprits are known.
//!
//! It knows nothing of the detector: packets of Reno senders pass two drop-tail queues, one a direction, and what passes the client's interface
//! is captured. Episodes are bulk transfers without a limit. Between them: short requests, a page that is polled, transfers that their
//! receive windows hold below the rate of the line, servers that think, and a route that becomes longer for good.

use fastrand::Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use unbloat_units::{Both, Delta, Direction, Seq, Time};
use unbloat_wire::{Address, Batch, PacketFlags, PacketHeader, TcpFlags, protocol};

const MSS: u32 = 1_448;
const HEADER: u32 = 66;
const WEEK_S: f64 = 7.0 * 86_400.0;
const ENDLESS: u32 = 1 << 30;

/// What was put into the week.
#[derive(Clone, Debug)]
pub struct Injected {
    pub direction: Direction,
    pub start: Time,
    pub stop: Time,
    pub server: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    Open(u32),
    Arrive(u32),
    DelayedAck(u32, bool, u32),
    Timeout(u32, bool, u32),
    Stop(u32),
    /// The application of a side has so many bytes more.
    Write(u32, bool, u32),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    conn: u32,
    by_client: bool,
    seq: u32,
    len: u32,
    ack: u32,
    flags: u8,
    value: u32,
    echo: u32,
}

/// One end of a connection.
#[derive(Default)]
struct End {
    una: u32,
    next: u32,
    written: u32,
    is_done: bool,
    has_finned: bool,
    cwnd: f64,
    ssthresh: f64,
    duplicates: u32,
    recover: Option<u32>,
    timer: u32,
    received: u32,
    early: BTreeMap<u32, u32>,
    unacked: u32,
    ack_timer: u32,
    recent: u32,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    Bulk {
        direction: Direction,
        seconds: f64,
    },
    /// So many requests with so much time between them.
    Requests {
        left: u32,
        every_s: f64,
        answer: u32,
    },
}

struct Conn {
    port: u16,
    server: [u8; 4],
    purpose: Purpose,
    window: u32,
    /// The client, then the server.
    ends: [End; 2],
    clocks: [HostClock; 2],
    asked: u32,
}

/// The timestamps of one end of a connection: phones' clocks tick at any rate, are off by up to 1 %, and are set now and then.
#[derive(Clone, Copy)]
struct HostClock {
    begin: u32,
    hz: f64,
    set_at: f64,
    set_by: f64,
}

impl HostClock {
    fn drawn(rng: &mut Rng) -> HostClock {
        let hz = [100.0, 250.0, 300.0, 976.5625, 1_000.0, 1_024.0, 1e6][rng.usize(0..7)];
        HostClock {
            begin: rng.u32(..),
            hz: hz * (0.99 + 0.02 * rng.f64()),
            set_at: rng.f64() * WEEK_S,
            set_by: rng.f64() * 4.0 - 2.0,
        }
    }

    fn at(&self, now: f64) -> u32 {
        let set = if now >= self.set_at { self.set_by } else { 0.0 };
        self.begin
            .wrapping_add(((now + set) * self.hz) as i64 as u32)
    }
}

struct Queue {
    bps: f64,
    buffer_s: f64,
    free_s: f64,
}

pub struct World {
    rng: Rng,
    now: f64,
    agenda: BinaryHeap<Reverse<(u64, u64, Task)>>,
    planned: u64,
    conns: BTreeMap<u32, Conn>,
    opened: u32,
    /// Packets on their way.
    flying: BTreeMap<u32, Segment>,
    sent: u32,
    queues: Both<Queue>,
    longer_at: f64,
    plans: BTreeMap<u32, (Purpose, u32, [u8; 4])>,
    pub injected: Vec<Injected>,
    pub batch: Batch,
    packets: u64,
}

fn at(seconds: f64) -> Time {
    Time::from_ns((seconds * 1e9) as i64)
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut rng = Rng::with_seed(seed);
        let up = rng.f64() * 4.0 + 3.0;
        let queue = |mbps: f64, buffer_s: f64| Queue {
            bps: mbps * 1e6,
            buffer_s,
            free_s: 0.0,
        };
        let queues = Both::new(
            queue(up * 3.0, 0.2 + rng.f64() * 0.15),
            queue(up, 0.2 + rng.f64() * 0.4),
        );
        let mut world = World {
            longer_at: WEEK_S * (0.3 + 0.4 * rng.f64()),
            rng,
            now: 0.0,
            agenda: BinaryHeap::new(),
            planned: 0,
            conns: BTreeMap::new(),
            opened: 0,
            flying: BTreeMap::new(),
            sent: 0,
            queues,
            plans: BTreeMap::new(),
            injected: Vec::new(),
            batch: Batch::default(),
            packets: 0,
        };
        world.inject();
        world.live();
        world
    }

    fn plan(&mut self, at_s: f64, task: Task) {
        self.planned += 1;
        let ns = (at_s * 1e9) as u64;
        self.agenda.push(Reverse((ns, self.planned, task)));
    }

    fn open_at(&mut self, at_s: f64, purpose: Purpose, window: u32, server: [u8; 4]) {
        self.opened += 1;
        self.plans.insert(self.opened, (purpose, window, server));
        self.plan(at_s, Task::Open(self.opened));
    }

    /// Ten to sixteen episodes, at least seven minutes apart.
    fn inject(&mut self) {
        let count = 10 + self.rng.u32(0..7);
        let mut starts: Vec<f64> = Vec::new();
        while starts.len() < count as usize {
            let start = 3_600.0 + self.rng.f64() * (WEEK_S - 7_200.0);
            if starts.iter().all(|other| (other - start).abs() > 420.0) {
                starts.push(start);
            }
        }
        starts.sort_by(f64::total_cmp);
        for (number, start) in starts.into_iter().enumerate() {
            let direction = match self.rng.bool() {
                true => Direction::Up,
                false => Direction::Down,
            };
            let seconds = 10.0 + self.rng.f64() * 70.0;
            let server = [198, 51, 100 + (number % 100) as u8, 7];
            self.injected.push(Injected {
                direction,
                start: at(start),
                stop: at(start + seconds),
                server: format!("198.51.{}.7", server[2]),
            });
            let bulk = Purpose::Bulk { direction, seconds };
            self.open_at(start, bulk, 8 << 20, server);
        }
    }

    /// What is always there, and loads nothing.
    fn live(&mut self) {
        let mut start = 5.0;
        while start < WEEK_S {
            let server = [203, 0, 113, self.rng.u8(1..250)];
            let one = Purpose::Requests {
                left: 1 + self.rng.u32(0..3),
                every_s: 1.5,
                answer: 2_000 + self.rng.u32(0..60_000),
            };
            self.open_at(start, one, 65_000, server);
            start += 15.0 + self.rng.f64() * 75.0;
        }
        // A page that is polled, during some episodes too.
        let mut polled = 60.0;
        while polled < WEEK_S {
            let poll = Purpose::Requests {
                left: 400,
                every_s: 1.0,
                answer: 700,
            };
            self.open_at(polled, poll, 65_000, [192, 0, 2, 33]);
            polled += 2_400.0;
        }
        // Transfers that their windows hold back.
        for _ in 0..60 {
            let start_s = self.rng.f64() * WEEK_S;
            let direction = match self.rng.bool() {
                true => Direction::Up,
                false => Direction::Down,
            };
            // Less than a third of the line, also on the longer route.
            let window = (self.queues[direction].bps * 0.03 / 8.0 / 3.0) as u32;
            let seconds = 10.0 + self.rng.f64() * 20.0;
            let bulk = Purpose::Bulk { direction, seconds };
            self.open_at(start_s, bulk, window.max(2 * MSS), [192, 0, 2, 99]);
        }
    }

    /// Goes on until `until` or until the batch is full; returns false when it was the former.
    pub fn run_until(&mut self, until: Time) -> bool {
        self.batch.restart(self.packets);
        while self.batch.packets < Batch::PACKETS {
            match self.agenda.peek() {
                Some(Reverse((ns, _, _))) if (*ns as i64) < until.as_ns() => {}
                _ => {
                    self.batch.watermark = self.batch.watermark.max(until);
                    return false;
                }
            }
            let Some(Reverse((ns, _, task))) = self.agenda.pop() else {
                return false;
            };
            self.now = ns as f64 / 1e9;
            self.done(task);
        }
        true
    }

    fn done(&mut self, task: Task) {
        match task {
            Task::Open(id) => self.open(id),
            Task::Arrive(handle) => {
                if let Some(segment) = self.flying.remove(&handle) {
                    self.arrived(segment);
                }
            }
            Task::DelayedAck(id, is_client, timer) => {
                let due = self
                    .end(id, is_client)
                    .is_some_and(|end| end.ack_timer == timer && end.unacked > 0);
                if due {
                    self.acknowledge(id, is_client);
                }
            }
            Task::Timeout(id, is_client, timer) => {
                let Some(end) = self.end(id, is_client) else {
                    return;
                };
                if end.timer != timer || end.una == end.next {
                    return;
                }
                end.ssthresh = (end.cwnd / 2.0).max(2.0 * f64::from(MSS));
                (end.cwnd, end.next, end.recover) = (f64::from(MSS), end.una, None);
                self.push(id, is_client);
            }
            Task::Stop(id) => {
                for is_client in [true, false] {
                    if let Some(end) = self.end(id, is_client) {
                        end.written = end.written.min(end.next);
                        end.is_done = true;
                    }
                }
                self.push(id, true);
                self.push(id, false);
            }
            Task::Write(id, is_client, bytes) => {
                if let Some(end) = self.end(id, is_client) {
                    end.written += bytes;
                }
                self.push(id, is_client);
            }
        }
    }

    fn end(&mut self, id: u32, is_client: bool) -> Option<&mut End> {
        let conn = self.conns.get_mut(&id)?;
        Some(&mut conn.ends[usize::from(!is_client)])
    }

    fn open(&mut self, id: u32) {
        let Some((purpose, window, server)) = self.plans.remove(&id) else {
            return;
        };
        let end = |threshold: f64| End {
            cwnd: 10.0 * f64::from(MSS),
            ssthresh: threshold,
            ..End::default()
        };
        // Slow start ends within the buffer: a loss of a whole window would take Reno minutes to repair.
        let most = |queue: &Queue| queue.bps * (0.03 + 0.6 * queue.buffer_s) / 8.0;
        let ends = [end(most(&self.queues.up)), end(most(&self.queues.down))];
        let clocks = [(); 2].map(|()| HostClock::drawn(&mut self.rng));
        let port = 20_000 + (id % 40_000) as u16;
        let conn = Conn {
            port,
            server,
            purpose,
            window,
            ends,
            clocks,
            asked: 0,
        };
        self.conns.insert(id, conn);
        self.emit(id, true, 0, 0, TcpFlags::SYN);
    }

    /// Sends what the window allows.
    fn push(&mut self, id: u32, is_client: bool) {
        loop {
            let Some(conn) = self.conns.get_mut(&id) else {
                return;
            };
            let window = f64::from(conn.window);
            let end = &mut conn.ends[usize::from(!is_client)];
            let flight = f64::from(end.next - end.una);
            let len = MSS.min(end.written.saturating_sub(end.next));
            if len == 0 || flight + f64::from(len) > end.cwnd.min(window).max(f64::from(MSS)) {
                break;
            }
            let seq = end.next;
            end.next += len;
            self.emit(id, is_client, seq, len, TcpFlags::ACK);
            self.arm(id, is_client);
        }
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        if end.is_done && !end.has_finned && end.una == end.written && end.una == end.next {
            end.has_finned = true;
            let seq = end.next;
            self.emit(id, is_client, seq, 0, TcpFlags::FIN | TcpFlags::ACK);
            let is_over = self
                .conns
                .get(&id)
                .is_some_and(|conn| conn.ends.iter().all(|one| one.has_finned));
            if is_over {
                self.conns.remove(&id);
            }
        }
    }

    fn arm(&mut self, id: u32, is_client: bool) {
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        end.timer += 1;
        let timer = end.timer;
        let due = self.now + 1.5;
        self.plan(due, Task::Timeout(id, is_client, timer));
    }

    fn acknowledge(&mut self, id: u32, is_client: bool) {
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        (end.unacked, end.ack_timer) = (0, end.ack_timer + 1);
        let seq = end.next;
        self.emit(id, is_client, seq, 0, TcpFlags::ACK);
    }

    /// Puts a packet on its way.
    fn emit(&mut self, id: u32, by_client: bool, seq: u32, len: u32, flags: u8) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        let clock = conn.clocks[usize::from(!by_client)];
        let end = &mut conn.ends[usize::from(!by_client)];
        let segment = Segment {
            conn: id,
            by_client,
            seq,
            len,
            ack: end.received,
            flags,
            value: clock.at(now),
            echo: end.recent,
        };
        if len > 0 {
            (end.unacked, end.ack_timer) = (0, end.ack_timer + 1);
        }
        if by_client {
            self.capture(&segment);
        }
        let direction = match by_client {
            true => Direction::Up,
            false => Direction::Down,
        };
        let queue = &mut self.queues[direction];
        let begins = queue.free_s.max(self.now);
        if begins - self.now > queue.buffer_s {
            return;
        }
        queue.free_s = begins + f64::from(len + HEADER) * 8.0 / queue.bps;
        let longer = if self.now >= self.longer_at {
            0.02
        } else {
            0.0
        };
        let arrives = queue.free_s + 0.015 + longer;
        self.sent += 1;
        self.flying.insert(self.sent, segment);
        self.plan(arrives, Task::Arrive(self.sent));
    }

    fn arrived(&mut self, segment: Segment) {
        if !segment.by_client {
            self.capture(&segment);
        }
        let (id, is_client) = (segment.conn, !segment.by_client);
        let flags = TcpFlags(segment.flags);
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        if flags.syn() {
            end.recent = segment.value;
            match is_client {
                false => self.emit(id, false, 0, 0, TcpFlags::SYN | TcpFlags::ACK),
                true => {
                    self.emit(id, true, 0, 0, TcpFlags::ACK);
                    self.begin(id);
                }
            }
            return;
        }
        if segment.seq <= end.received {
            end.recent = segment.value;
        }
        self.on_ack(id, is_client, &segment);
        if segment.len > 0 {
            self.on_data(id, is_client, &segment);
        }
        if flags.fin() {
            self.acknowledge(id, is_client);
        }
        self.push(id, is_client);
    }

    /// The connection stands.
    fn begin(&mut self, id: u32) {
        let Some(conn) = self.conns.get(&id) else {
            return;
        };
        match conn.purpose {
            Purpose::Bulk { direction, seconds } => {
                self.plan(
                    self.now,
                    Task::Write(id, direction == Direction::Up, ENDLESS),
                );
                self.plan(self.now + seconds, Task::Stop(id));
            }
            Purpose::Requests { .. } => self.plan(self.now, Task::Write(id, true, 400)),
        }
    }

    fn on_ack(&mut self, id: u32, is_client: bool, segment: &Segment) {
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        let mss = f64::from(MSS);
        if segment.ack > end.una {
            let acked = f64::from(segment.ack - end.una);
            end.una = segment.ack;
            end.next = end.next.max(end.una);
            end.duplicates = 0;
            match end.recover {
                Some(recover) if end.una >= recover => {
                    end.recover = None;
                    end.cwnd = end.ssthresh;
                }
                Some(_) => {
                    let (seq, len) = (end.una, MSS.min(end.next - end.una));
                    self.emit(id, is_client, seq, len, TcpFlags::ACK);
                }
                None if end.cwnd < end.ssthresh => end.cwnd += acked,
                None => end.cwnd += mss * acked / end.cwnd,
            }
            self.arm(id, is_client);
        } else if segment.len == 0 && end.next > end.una && segment.ack == end.una {
            end.duplicates += 1;
            if end.duplicates == 3 && end.recover.is_none() {
                end.ssthresh = (f64::from(end.next - end.una) / 2.0).max(2.0 * mss);
                end.cwnd = end.ssthresh;
                end.recover = Some(end.next);
                let (seq, len) = (end.una, MSS.min(end.next - end.una));
                self.emit(id, is_client, seq, len, TcpFlags::ACK);
            } else if end.recover.is_some() {
                // A packet has left the path.
                end.cwnd += mss;
            }
        }
    }

    fn on_data(&mut self, id: u32, is_client: bool, segment: &Segment) {
        let Some(end) = self.end(id, is_client) else {
            return;
        };
        let last = segment.seq + segment.len;
        if segment.seq > end.received {
            end.early.insert(segment.seq, last);
            return self.acknowledge(id, is_client);
        }
        let filled = !end.early.is_empty();
        end.received = end.received.max(last);
        while let Some((&seq, &until)) = end.early.first_key_value() {
            if seq > end.received {
                break;
            }
            end.received = end.received.max(until);
            end.early.pop_first();
        }
        end.unacked += 1;
        if end.unacked >= 2 || filled {
            self.acknowledge(id, is_client);
        } else {
            end.ack_timer += 1;
            let timer = end.ack_timer;
            self.plan(self.now + 0.04, Task::DelayedAck(id, is_client, timer));
        }
        self.application(id, is_client);
    }

    /// Servers answer whole requests, after a while; clients ask again.
    fn application(&mut self, id: u32, is_client: bool) {
        let thinks = match self.rng.u32(0..20) {
            0 => 0.4,
            _ => 0.002 + self.rng.f64() * 0.02,
        };
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        let Purpose::Requests {
            left,
            every_s,
            answer,
        } = conn.purpose
        else {
            return;
        };
        let received = conn.ends[usize::from(!is_client)].received;
        if !is_client && received == 400 * (conn.asked + 1) {
            conn.asked += 1;
            self.plan(self.now + thinks, Task::Write(id, false, answer));
        } else if is_client && received == answer * conn.asked {
            match conn.asked < left {
                true => self.plan(self.now + every_s, Task::Write(id, true, 400)),
                false => self.plan(self.now + 0.01, Task::Stop(id)),
            }
        }
    }

    /// As it passes the client's interface.
    fn capture(&mut self, segment: &Segment) {
        let Some(conn) = self.conns.get(&segment.conn) else {
            return;
        };
        let client = (Address::v4([10, 0, 0, 2]), conn.port);
        let server = (Address::v4(conn.server), 443);
        let (src, dst) = match segment.by_client {
            true => (client, server),
            false => (server, client),
        };
        let flags = TcpFlags(segment.flags);
        // SYNs count one, data begins behind them.
        let base = u32::from(!flags.syn());
        let mut header = PacketHeader {
            time: at(self.now),
            flow_hash: u64::from(segment.conn).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            src: src.0,
            src_port: src.1,
            dst: dst.0,
            dst_port: dst.1,
            protocol: protocol::TCP,
            seq: Seq::new(1_000) + segment.seq + base,
            ack: Seq::new(if flags.ack() { 1_001 + segment.ack } else { 0 }),
            tsval: Seq::new(segment.value),
            tsecr: Seq::new(segment.echo),
            payload_len: segment.len,
            wire_len: segment.len + HEADER,
            window: (conn.window >> 8).min(65_535) as u16,
            tcp_flags: flags,
            offset: self.batch.headers.len() as u16,
            header_len: 52,
            ..PacketHeader::default()
        };
        header.flags.set(PacketFlags::TIMESTAMPS);
        if segment.by_client {
            header.flags.set(PacketFlags::UPLINK);
        }
        if flags.syn() {
            header.flags.set(PacketFlags::SLOW_OPTIONS);
            header.window = 65_535;
            header.extra = self.batch.extra.len() as u32;
            self.batch.extra.extend([3, 3, 8]);
            (header.options_len, header.extra_len) = (3, 3);
        }
        self.batch.wire_bytes += u64::from(header.wire_len);
        self.batch.watermark = self.batch.watermark.max(header.time);
        self.batch.packets += 1;
        self.packets += 1;
        self.batch.headers.push(header);
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }
}

/// A minute.
pub const MINUTE: Delta = Delta::secs(60);
