//! Available bandwidth without probing (§6.1, Formulas 1 and 2; Fig. 19, 20 and 22).
//!
//! Between two ACKs the receiver got what the second acknowledges beyond the first, in the time that
//! passed on the receiver's own clock (its TSvals), whatever the ACKs met on their way. That rate is
//! the link's if the link had always something to send.
//!
//! # What we follow
//! A window is used only when no segment in it was lost, reordered or sent again and no ACK was a
//! duplicate, and when its last ACK covers at least two packets (it was not delayed). Rates are of
//! payload; the link's own rate is higher by the headers.
//!
//! # Where we differ
//! | the paper | here | why |
//! |---|---|---|
//! | sending rate >= C | that (`admitted_by` is rate), or every round trip in the window shows a queue (backlog) | a sender clocked by the bottleneck never exceeds its rate: only bursts do |
//! | G(TS2-TS1) | the receiver's clock read as finely as the monitor's allows, [`crate::user::clock::Clock::emitted`] | a tick of 10 ms in a window of 100 ms is 10 % |
//! | single flows | flows of a user that run at once are summed; `flows` says how many | proposed there |
//! | C is given | or learnt: the fastest that the user was seen to receive | |
//! | one window per estimate, a few RTTs | windows of 100 ms, 250 ms and 1 s that end together, at most one of each per 50 ms | what is averaged over is for the reader to choose; `window_ms` says it |

use super::{Analysis, Context, Findings, Flow};
use crate::params::Params;
use crate::tables::{BandwidthRow, order};
use crate::tcp::{AckKind, Kind, Segment};
use crate::user::clock::{ClockTracker, Estimate, TickEstimator};
use crate::user::throughput::{Delivery, LENGTHS, Throughput, Window};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Seq, Time};
use unbloat_wire::PacketFlags;

pub(crate) struct Bandwidth;

/// What utilisation is taken from (§6.3) is the middle one of `LENGTHS`.
const MIDDLE: Delta = LENGTHS[1];
/// Estimates are thinned to one per length in this time.
const EVERY: Delta = Delta::ms(50);

#[derive(Clone, Default)]
pub(crate) struct Deep {
    sides: Both<Watch>,
}

#[derive(Clone, Default)]
struct Watch {
    clock: Option<ClockTracker>,
    /// While the clock is not known, and how much of it was in vain.
    ticks: TickEstimator,
    tried: Delta,
    /// Loss or reordering is being repaired up to here.
    recovering: Option<Seq>,
    next: Option<Time>,
    mean: Mean,
}

/// Mean over windows of `utilisation_window`, one estimate each: the one nearest to its centre.
#[derive(Clone, Default)]
struct Mean {
    number: i64,
    nearest: Option<(Delta, f64)>,
    sum: f64,
    count: u32,
    competing: u32,
}

impl Mean {
    fn add(&mut self, window: &Window, cx: &Context<'_>) {
        let width = cx.params.utilisation_window.max(Delta::ms(1));
        let at = Delta::ns(cx.since_origin(window.centre));
        let number = at.as_ns().div_euclid(width.as_ns());
        if number != self.number {
            self.settle();
            self.number = number;
        }
        let off = at - (width * number + width / 2);
        let off = Delta::ns(off.as_ns().abs());
        if self.nearest.is_none_or(|(nearest, _)| off < nearest) {
            self.nearest = Some((off, window.received.as_bps_f64()));
            self.competing += u32::from(window.flows > 1);
        }
    }

    fn settle(&mut self) {
        if let Some((_, bps)) = self.nearest.take() {
            self.sum += bps;
            self.count += 1;
        }
    }
}

impl Watch {
    /// Follows order and disorder of the side's data; true while windows may grow.
    #[inline]
    fn is_orderly(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, side: Direction) -> bool {
        !seg.is_odd && self.recovering.is_none() || self.is_orderly_again(seg, flow, side)
    }

    #[cold]
    fn is_orderly_again(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, side: Direction) -> bool {
        let half = flow.half(side);
        let lost = seg.side == side && seg.data.is_disorder();
        let told = seg.side != side && (seg.ack == AckKind::Duplicate || seg.missed > 0);
        if lost || told {
            self.recovering = Some(half.high());
            return false;
        }
        if let (Some(until), Some(acked)) = (self.recovering, half.acked())
            && !acked.before(until)
        {
            self.recovering = None;
            // What this ACK covers arrived some time ago.
            return false;
        }
        self.recovering.is_none()
    }

    /// The client's tick is known from earlier flows; else `delta_G` of this one are needed.
    fn learn_clock(
        &mut self,
        seg: &Segment<'_>,
        side: Direction,
        cx: &mut Context<'_>,
    ) -> Option<ClockTracker> {
        let (now, tsval) = (seg.now, seg.header.tsval);
        if let Some(tick) = cx.user.tick().filter(|_| side == Direction::Down) {
            return Some(ClockTracker::beginning(tick.value, now, tsval));
        }
        self.ticks.push(now, tsval);
        let tried = self.ticks.window();
        if tried < cx.params.delta_g.max(self.tried + Delta::secs(1)) {
            return None;
        }
        self.tried = tried;
        let tick = self.ticks.estimate().and_then(Estimate::tick)?;
        if side == Direction::Down {
            cx.user.offer_tick(tick);
        }
        let clock = self.ticks.clock(tick.value)?;
        self.ticks = TickEstimator::default();
        Some(ClockTracker::new(clock, now))
    }

    /// When the receiver sent this ACK; `None` while nothing is known of its clock.
    fn received(
        &mut self,
        seg: &Segment<'_>,
        side: Direction,
        cx: &mut Context<'_>,
    ) -> Option<Time> {
        if !seg.header.flags.has(PacketFlags::TIMESTAMPS) {
            return None;
        }
        let tsval = seg.header.tsval;
        if self.clock.is_none() {
            self.clock = self.learn_clock(seg, side, cx);
        }
        Some(
            self.clock
                .as_mut()?
                .on_packet(seg.now, tsval)
                .emitted(seg.now, tsval),
        )
    }
}

/// Takes in this packet's data, then the data that it acknowledges.
#[inline]
fn follow(deep: Option<&mut Deep>, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
    let side = seg.side.reverse();
    let Some(deep) = deep else {
        if seg.acked > 0 {
            cx.user.add_throughput(side, seg.acked);
        }
        return;
    };
    if !deep.sides[seg.side].is_orderly(seg, flow, seg.side) {
        cx.user.throughput(seg.side).interrupt();
    }
    let watch = &mut deep.sides[side];
    if !watch.is_orderly(seg, flow, side) {
        cx.user.throughput(side).interrupt();
    }
    if seg.ack == AckKind::Advance {
        watch.on_ack(seg, flow, side, cx);
    }
}

side_columns! {
    pub struct BandwidthColumns {
        bandwidth_bps ["bandwidth_" "_bps"]: Option<f64> = "mean of the estimates nearest to the centre of each utilisation_window, in payload bits (section 6.3)",
        bandwidth_samples ["bandwidth_" "_samples"]: Option<u32> = "windows with an estimate",
        bdp_bytes ["bdp_" "_bytes"]: Option<f64> = "bandwidth times the smallest RTT of this side: what fits between monitor and receiver without a queue",
        in_flight_max_bdp ["in_flight_" "_max_bdp"]: Option<f64> = "most bytes in flight, in BDPs",
        utilisation ["utilisation_" ""]: Option<f64> = "payload over duration, divided by the mean estimate; of large flows that had the user's link to themselves (Fig. 21)",
    }
}

impl Analysis for Bandwidth {
    type Light = ();
    type Deep = Deep;
    type Columns = Both<BandwidthColumns>;

    #[inline]
    fn on_packet(
        kind: Kind,
        (): &mut (),
        deep: Option<&mut Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if kind != Kind::Data {
            return follow(deep, seg, flow, cx);
        }
        if let Some(deep) = deep
            && deep.sides.iter().any(|watch| watch.recovering.is_some())
        {
            follow(Some(deep), seg, flow, cx);
        }
    }

    fn finish(
        (): &mut (),
        deep: Option<&mut Deep>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let mut nothing = Deep::default();
        let deep = deep.unwrap_or(&mut nothing);
        for side in Direction::BOTH {
            let mean = &mut deep.sides[side].mean;
            mean.settle();
            let finding = &mut findings.sides[side];
            let bps = (mean.count > 0).then(|| mean.sum / f64::from(mean.count));
            finding.bandwidth = bps.map(Rate::from_bps_f64);
            let bdp = finding
                .bandwidth
                .zip(finding.rtt_floor)
                .map(|(rate, floor)| rate * floor);
            let bdp = bdp
                .filter(|&bytes| bytes > Bytes::ZERO)
                .map(|b| b.as_u64() as f64);
            let most = finding.max_in_flight.map(|b| b.as_u64() as f64);
            let columns = BandwidthColumns {
                bandwidth_bps: bps,
                bandwidth_samples: flow.is_tcp().then_some(mean.count),
                bdp_bytes: bdp,
                in_flight_max_bdp: most.zip(bdp).map(|(most, bdp)| most / bdp),
                utilisation: bps.and_then(|bps| utilisation(flow, side, mean, bps, cx.params)),
            };
            columns.write(row);
        }
    }
}

impl Watch {
    fn on_ack(
        &mut self,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        side: Direction,
        cx: &mut Context<'_>,
    ) {
        let received = self.received(seg, side, cx);
        let (Some(received), Some(sent)) = (received, seg.acked_sent) else {
            cx.user.add_throughput(side, seg.acked);
            return;
        };
        let delivery = Delivery {
            flow_id: flow.core.flow_id,
            received,
            sent,
            rtt: seg.now.since(sent),
            bytes: seg.acked,
            packets: seg.acked_packets,
        };
        cx.user.throughput(side).deliver(&delivery);
        if seg.acked_packets < 2 || self.next.is_some_and(|next| received < next) {
            return;
        }
        self.next = Some(received + EVERY);
        for which in 0..LENGTHS.len() {
            let throughput = cx.user.throughput(side);
            let Some(window) = throughput.window(which) else {
                return;
            };
            if let Some(admitted) = admitted(&window, throughput, cx.params) {
                self.write(&window, admitted, side, flow, cx);
            }
        }
    }

    fn write(
        &mut self,
        window: &Window,
        admitted_by: &str,
        side: Direction,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if window.length < MIDDLE + MIDDLE / 5 {
            self.mean.add(window, cx);
        }
        if cx.summary_only {
            return;
        }
        let tick = self.clock.as_ref().map_or(Delta::ZERO, ClockTracker::tick);
        let row = BandwidthRow {
            flow_id: flow.core.flow_id,
            side,
            time_ns: cx.since_origin(window.centre),
            window_ms: window.length.as_ms(),
            bandwidth_bps: window.received.as_bps_f64(),
            sending_bps: window.sent.map(Rate::as_bps_f64),
            resolution: tick.as_secs() / window.length.as_secs(),
            admitted_by,
            flows: window.flows,
        };
        let order = order(cx.number, flow.core.flow_id);
        cx.tables.bandwidth.push(order, row);
    }
}

fn admitted(window: &Window, throughput: &Throughput, params: &Params) -> Option<&'static str> {
    let c = params.c.unwrap_or(throughput.fastest());
    if window.sent.is_some_and(|sent| sent >= c) {
        Some("rate")
    } else if window.is_backlogged {
        Some("backlog")
    } else {
        None
    }
}

/// §6.3; `None` for flows that are not large, or that shared the link in more than a tenth of the
/// windows.
fn utilisation(
    flow: &Flow<'_>,
    side: Direction,
    mean: &Mean,
    bps: f64,
    params: &Params,
) -> Option<f64> {
    let payload = Bytes::new(flow.core.payload[side]);
    let large = payload > params.large_bytes && flow.core.transfer_time() > params.large_duration;
    if !large || mean.competing * 10 > mean.count {
        return None;
    }
    Some(payload.over(flow.core.duration())?.as_bps_f64() / bps)
}
