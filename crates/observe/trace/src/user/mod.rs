//! A user: a client address until an hour's gap (§3.1), and what is known of its device and radio.

pub(crate) mod clock;
mod concurrency;
mod periodic;
mod radio;
pub(crate) mod throughput;
pub(crate) mod waiting;

use crate::flow::{FlowCore, side_of};
use crate::params::Params;
use crate::standing::Load;
use crate::tables::{ConcurrencyRow, SideTables, UserRow, order};
use concurrency::Concurrency;
use periodic::Periodic;
pub(crate) use periodic::Rhythm;
use radio::Radio;
use throughput::Throughput;
use unbloat_stats::LogHistogram;
use unbloat_units::{Both, Delta, Direction, Time};
use unbloat_wire::{Address, PacketHeader};

/// The tick of a device's timestamp clock, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Seconds per tick: the paper's G of §4.2 and Formula 2.
    pub(crate) value: Delta,
    /// Relative error.
    pub(crate) error: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) user_id: u64,
    pub(crate) address: Address,
    pub(crate) start: Time,
    pub(crate) last: Time,
    /// Silence before the packet that is being looked at, zero for the user's first.
    silence: Delta,
    /// Flows in the table that belong to this address.
    pub(crate) live_flows: u32,
    pub(crate) flows: u32,
    packets: u64,
    pub(crate) payload: Both<u64>,
    tick: Option<Tick>,
    /// Of users whose tick is wanted and unknown.
    waiting: Option<Box<waiting::Waiting>>,
    concurrency: Concurrency,
    /// Of users with large flows.
    throughput: Option<Box<Both<Throughput>>>,
    /// What all flows carry.
    load: Load,
    radio: Radio,
    /// Of users that send range requests.
    periodic: Option<Box<Periodic>>,
    /// Downstream round trips of all finished flows, in microseconds.
    rtts: LogHistogram,
}

impl User {
    pub(crate) fn new(
        user_id: u64,
        address: Address,
        now: Time,
        origin: Time,
        params: &Params,
    ) -> User {
        User {
            user_id,
            address,
            start: now,
            last: now,
            silence: Delta::ZERO,
            live_flows: 0,
            flows: 0,
            packets: 0,
            payload: Both::default(),
            tick: None,
            waiting: None,
            concurrency: Concurrency::default(),
            throughput: None,
            load: Load::default(),
            radio: Radio::new(now, origin, params),
            periodic: None,
            rtts: LogHistogram::new(),
        }
    }

    /// `silence` is the time since the user's last packet.
    #[inline]
    pub(crate) fn count(&mut self, header: &PacketHeader, silence: Delta) {
        self.silence = silence.max(Delta::ZERO);
        self.packets += 1;
        self.last = self.last.max(header.time);
        self.payload[side_of(header)] += u64::from(header.payload_len);
    }

    /// How long the user's radio had been silent before the packet that is being looked at; `None`
    /// for the user's first.
    pub(crate) fn silence_before(&self) -> Option<Delta> {
        (self.packets > 1).then_some(self.silence)
    }

    pub(crate) fn tick(&self) -> Option<Tick> {
        self.tick
    }

    /// Takes over the samples of a finished flow.
    pub(crate) fn add_rtts(&mut self, rtts: &LogHistogram) {
        self.rtts.merge(rtts);
    }

    /// What the user's link delivered to the receivers of `side`.
    pub(crate) fn throughput(&mut self, side: Direction) -> &mut Throughput {
        &mut self.throughput.get_or_insert_default()[side]
    }

    /// What all flows of the user carry.
    pub(crate) fn load(&mut self) -> &mut Load {
        &mut self.load
    }

    /// Bytes that small flows delivered; they matter only beside large ones.
    #[inline]
    pub(crate) fn add_throughput(&mut self, side: Direction, bytes: u32) {
        if let Some(sides) = &mut self.throughput {
            sides[side].add(bytes);
        }
    }

    /// A range request of the user to `host`.
    pub(crate) fn on_range_request(&mut self, host: &str, now: Time) -> Rhythm {
        let periodic = self.periodic.get_or_insert_default();
        periodic.on_range_request(host, now)
    }

    /// Takes in a packet of one of the user's flows; `count` was called for it.
    #[inline]
    pub(crate) fn on_flow_packet(
        &mut self,
        flow: &mut FlowCore,
        header: &PacketHeader,
        origin: Time,
        params: &Params,
    ) {
        if header.payload_len > 0 && !header.is_uplink() && flow.is_tcp() {
            self.concurrency.on_data(flow, header.time, origin);
        }
        self.load.count(side_of(header), header, origin);
        let closes_late = flow.closed != 0 && closes_late(flow, header, params.tail);
        if closes_late || self.radio.is_closing_late() {
            let last = self.last - self.silence;
            self.radio
                .on_packet(closes_late, last, self.silence, params);
        }
    }

    /// Takes the silence before the packet that is being looked at, one longer than
    /// `radio_active`, into the radio's account.
    pub(crate) fn on_silence(&mut self, silence: Delta, params: &Params) {
        self.radio.on_silence(silence, params);
    }

    /// Writes what is known of the user at the end of its session.
    pub(crate) fn write(
        &mut self,
        number: u64,
        origin: Time,
        params: &Params,
        tables: &mut SideTables,
    ) {
        let span = self.last.since(self.start);
        let radio = self.radio.finish(span, self.payload, params);
        let floor = self.rtts.min();
        let added_ms = |q| Some((self.rtts.quantile(q)? - floor?) / 1e3);
        let row = UserRow {
            user_id: self.user_id,
            client: self.address.to_string(),
            start_ns: self.start.since(origin).as_ns(),
            end_ns: self.last.since(origin).as_ns(),
            flows: self.flows,
            payload_down_bytes: self.payload.down,
            payload_up_bytes: self.payload.up,
            tick_ms: self.tick.map(|t| t.value.as_ms()),
            promotions: radio.promotions,
            active_s: radio.active.as_secs(),
            tail_s: radio.tail.as_secs(),
            idle_s: radio.idle.as_secs(),
            energy_j: radio.energy_j,
            avoidable_energy_j: radio.avoidable_j,
            added_down_p50_ms: added_ms(0.50),
            added_down_p95_ms: added_ms(0.95),
            added_down_p99_ms: added_ms(0.99),
            added_down_samples: self.rtts.count(),
        };
        tables.users.push(order(number, self.user_id), row);
        self.write_concurrency(number, tables);
    }

    fn write_concurrency(&mut self, number: u64, tables: &mut SideTables) {
        for (flows, seconds) in self.concurrency.finish() {
            let row = ConcurrencyRow {
                user_id: self.user_id,
                concurrent_flows: flows,
                seconds,
            };
            tables.concurrency.push(order(number, self.user_id), row);
        }
    }
}

/// Whether the packet, of a flow that has been closed, carries nothing and comes after the radio
/// would have been off, had the flow been closed with its last payload (§4.1).
fn closes_late(flow: &FlowCore, header: &PacketHeader, tail: Delta) -> bool {
    let last_payload = flow.payload_span().map(|(_, last)| last);
    header.payload_len == 0 && last_payload.is_some_and(|last| header.time.since(last) > tail)
}
