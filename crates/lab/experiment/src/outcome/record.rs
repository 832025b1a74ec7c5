//! What is kept of a run: counts, distributions and, if asked for, series.

use crate::outcome::goodput::Goodput;
use crate::scenario::Experiment;
use unbloat_link::Place;
use unbloat_link::radio::rrc;
use unbloat_qdisc::{Event, Host, Reason};
use unbloat_stats::LogHistogram;
use unbloat_tcp::congestion::State;
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

/// One direction of the path. Distributions and rates leave out the warm-up, counts of packets do not.
#[derive(Clone, Debug)]
pub struct PathRecord {
    warm_at: Time,
    pub offered_packets: u64,
    pub offered_bytes: Bytes,
    pub delivered_packets: u64,
    pub delivered_bytes: Bytes,
    /// Delivered after the warm-up.
    pub warm_bytes: Bytes,
    /// What could have been delivered after the warm-up, where that is known.
    pub carriable: Option<Bytes>,
    pub dropped_packets: u64,
    pub dropped_bytes: Bytes,
    /// By [`Reason`], after the warm-up.
    pub drops: [u64; Reason::ALL.len()],
    pub marks: [u64; Reason::ALL.len()],
    /// Waits in ms by [`Place`].
    waits: [Waits; Place::ALL.len()],
}

/// Waits at one place.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    pub ms: LogHistogram,
    sum: f64,
    pub max: Delta,
}

impl Waits {
    #[inline]
    pub(super) fn record(&mut self, wait: Delta) {
        let ms = wait.as_ms();
        self.sum += ms;
        self.max = self.max.max(wait);
        self.ms.record(ms);
    }

    pub fn mean_ms(&self) -> Option<f64> {
        let count = self.ms.count();
        (count > 0).then(|| self.sum / count as f64)
    }
}

impl PathRecord {
    pub fn new(warm_at: Time) -> PathRecord {
        PathRecord {
            warm_at,
            offered_packets: 0,
            offered_bytes: Bytes::ZERO,
            delivered_packets: 0,
            delivered_bytes: Bytes::ZERO,
            warm_bytes: Bytes::ZERO,
            carriable: None,
            dropped_packets: 0,
            dropped_bytes: Bytes::ZERO,
            drops: [0; Reason::ALL.len()],
            marks: [0; Reason::ALL.len()],
            waits: Default::default(),
        }
    }

    /// Waits at a place, if any packet ever waited there.
    pub fn waits(&self, place: Place) -> Option<&Waits> {
        let waits = &self.waits[place as usize];
        (!waits.ms.is_empty()).then_some(waits)
    }

    /// Leaves out what was told of a place: it is better known from elsewhere.
    pub fn forget_waits(&mut self, place: Place) {
        self.waits[place as usize] = Waits::default();
    }

    #[inline]
    pub fn offered(&mut self, bytes: Bytes) {
        self.offered_packets += 1;
        self.offered_bytes += bytes;
    }

    #[inline]
    pub fn delivered(&mut self, at: Time, bytes: Bytes) {
        self.delivered_packets += 1;
        self.delivered_bytes += bytes;
        if at >= self.warm_at {
            self.warm_bytes += bytes;
        }
    }

    #[inline]
    pub fn waited(&mut self, at: Time, place: Place, wait: Delta) {
        if at >= self.warm_at {
            self.waits[place as usize].record(wait);
        }
    }

    pub fn event(&mut self, at: Time, event: &Event) {
        let is_warm = u64::from(at >= self.warm_at);
        match event {
            Event::Dropped { packet, reason } => {
                self.dropped_packets += 1;
                self.dropped_bytes += packet.len.bytes();
                self.drops[*reason as usize] += is_warm;
            }
            Event::Marked { reason, .. } => self.marks[*reason as usize] += is_warm,
        }
    }
}

/// The radio of `[link.rrc]`, or that of a client of its own. The warm-up is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioRecord {
    pub client: Option<Host>,
    pub used: rrc::Use,
}

/// One flow: what its senders saw, downlink and uplink together.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    warm_at: Time,
    /// Round-trip times of data that was sent once, in ms, after the warm-up.
    pub rtt_ms: LogHistogram,
    pub rtt_sum_ms: f64,
    /// Sum of their squares.
    pub rtt_squares: f64,
    pub segments: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Timeouts that broke off a recovery: the undesired slow starts of Huang et al., SIGCOMM 2013, section 5.2. Known of simulated
    /// senders only.
    pub timeouts_in_recovery: Option<u64>,
    pub connections: u64,
    /// What applications read, by the direction of the data: payload of TCP, and of datagrams.
    pub read: Both<Goodput>,
    /// Congestion windows and bytes in flight of all its connections together, sampled after the warm-up.
    pub cwnd_bytes: LogHistogram,
    pub in_flight_bytes: LogHistogram,
}

impl FlowRecord {
    /// Of a flow that begins at `start`.
    pub fn new(experiment: &Experiment, start: Time) -> FlowRecord {
        let warm_at = Time::from_ns(0) + experiment.warmup;
        let from = warm_at.max(start);
        let goodput = || Goodput::new(experiment.interval, from, experiment.keeps_series);
        FlowRecord {
            warm_at,
            read: Both::of(|_| goodput()),
            ..FlowRecord::default()
        }
    }

    /// An application reads what came in that direction.
    #[inline]
    pub fn read(&mut self, at: Time, direction: Direction, bytes: Bytes) {
        self.read[direction].read(at, bytes);
    }

    /// All its connections together at one moment.
    pub fn window(&mut self, at: Time, cwnd: Bytes, in_flight: Bytes) {
        if at >= self.warm_at {
            self.cwnd_bytes.record(cwnd.as_u64() as f64);
            self.in_flight_bytes.record(in_flight.as_u64() as f64);
        }
    }

    /// Adds what another flow saw. Windows and the deviation of goodput are of one flow, and are not added.
    pub fn merge(&mut self, other: &FlowRecord) {
        self.rtt_ms.merge(&other.rtt_ms);
        self.rtt_sum_ms += other.rtt_sum_ms;
        self.rtt_squares += other.rtt_squares;
        self.segments += other.segments;
        self.retransmissions += other.retransmissions;
        self.timeouts += other.timeouts;
        if let Some(more) = other.timeouts_in_recovery {
            *self.timeouts_in_recovery.get_or_insert(0) += more;
        }
        self.connections += other.connections;
        for direction in Direction::BOTH {
            self.read[direction].add_total(&other.read[direction]);
        }
    }

    /// A round trip of data that was sent once.
    #[inline]
    pub fn rtt(&mut self, at: Time, rtt: Delta) {
        if at >= self.warm_at {
            let ms = rtt.as_ms();
            self.rtt_sum_ms += ms;
            self.rtt_squares += ms * ms;
            self.rtt_ms.record(ms);
        }
    }

    /// A round trip that so many segments shared, as far as is known.
    pub fn rtts(&mut self, at: Time, rtt: Delta, segments: u64) {
        if at >= self.warm_at && segments > 0 {
            let ms = rtt.as_ms();
            self.rtt_ms.record_n(ms, segments);
            self.rtt_sum_ms += ms * segments as f64;
            self.rtt_squares += ms * ms * segments as f64;
        }
    }
}

impl unbloat_tcp::Observer for FlowRecord {
    #[inline]
    fn event(&mut self, now: Time, event: unbloat_tcp::Event) {
        match event {
            unbloat_tcp::Event::Rtt { sample, .. } => self.rtt(now, sample),
            unbloat_tcp::Event::Retransmission { .. } => self.retransmissions += 1,
            unbloat_tcp::Event::Timeout { .. } => self.timeouts += 1,
            unbloat_tcp::Event::State { from, to } => {
                let broke_off = from == State::Recovery && to == State::Loss;
                *self.timeouts_in_recovery.get_or_insert(0) += u64::from(broke_off);
            }
            _ => {}
        }
    }
}

/// The state of the path and of one sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub at: Time,
    /// All elements together.
    pub queue_bytes: Both<Bytes>,
    pub queue_packets: Both<u32>,
}

/// What waited at one place at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerSample {
    pub at: Time,
    pub direction: Direction,
    /// Number of the hop, from 1 for the first that packets meet.
    pub hop: u8,
    pub place: Place,
    pub bytes: Bytes,
    pub packets: u32,
}

/// The state of one sender at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSample {
    pub at: Time,
    pub flow: u32,
    pub conn: u32,
    pub cwnd_bytes: Bytes,
    pub in_flight_bytes: Bytes,
    pub srtt: Delta,
    /// Acknowledged so far, in full segments.
    pub acked_segments: u64,
}
