//! The tick of the receiver's timestamp clock: the paper's G, by Formula 3 (§6.1, Fig. 18).
//!
//! Of large flows from the least delayed packets of many, see [`crate::user::clock`]; of small ones
//! from the first and the last packet, and then only if that agrees with a tick that hosts use.
//! Packets must lie at least `delta_G` apart. The client's tick is kept for its user: its next flow
//! has it from its first packet, and promotions need it. Where they do, shorter flows may limit it
//! to one that hosts use, see [`crate::user::waiting`].

use super::{Analysis, Context, Findings, Flow};
use crate::tcp::{Kind, Segment};
use crate::user::clock::{Estimate, TickEstimator};
use crate::user::waiting::Answer;
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Seq, Time};
use unbloat_wire::PacketFlags;

pub(crate) struct Tick;

/// First and last packet of the client with timestamps, the SYN apart: it may have waited for the
/// radio after it was stamped.
#[derive(Clone, Default)]
pub(crate) struct Light {
    ends: Option<[(u32, Seq); 2]>,
}

/// Of the receiver of each side's data.
#[derive(Clone, Default)]
pub(crate) struct Deep {
    receivers: Both<TickEstimator>,
}

impl Light {
    /// The flow has become large: its window begins with its first packet, unless that alone would
    /// stand for most of it.
    #[cold]
    fn hand_over(
        &self,
        receiver: &mut TickEstimator,
        now: Time,
        flow: &Flow<'_>,
        cx: &Context<'_>,
    ) {
        let first = self.ends.map(|[(us, tsval), _]| {
            let time = flow.core.start + Delta::us(i64::from(us));
            (time, tsval)
        });
        if let Some((time, tsval)) = first
            && now.since(time) < cx.params.delta_g
        {
            receiver.begin(time, tsval);
        }
    }

    fn estimate(&self, delta_g: Delta) -> Option<Estimate> {
        let [(from, first), (until, last)] = self.ends?;
        let span = Delta::us(i64::from(until.wrapping_sub(from)));
        let ticks = u32::try_from(last.since(first)).ok().filter(|&n| n > 0)?;
        if span < delta_g {
            None
        } else {
            Estimate::of_ends(span, ticks)
        }
    }
}

side_columns! {
    pub struct TickColumns {
        tick_ms ["tick_" "_ms"]: Option<f64> = "tick G of the clock of this side's receiver; exactly 0.001, 1, 4, 10 or 100 where the measured value agrees within its bound",
        tick_raw_ms ["tick_" "_raw_ms"]: Option<f64> = "as measured (Formula 3, in seconds per tick)",
        tick_error ["tick_" "_error"]: Option<f64> = "bound on the relative error of the measured value",
    }
}

impl Analysis for Tick {
    type Light = Light;
    type Deep = Deep;
    type Columns = Both<TickColumns>;
    // What is known of the user's clock grows at any flow's end.
    const IS_OF_ALL: bool = true;

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        deep: Option<&mut Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        if !seg.header.flags.has(PacketFlags::TIMESTAMPS) {
            return;
        }
        let tsval = seg.header.tsval;
        if seg.side == Direction::Up && !seg.header.tcp_flags.syn() {
            let end = (seg.now_us, tsval);
            match &mut light.ends {
                Some([_, last]) => *last = end,
                none => *none = Some([end, end]),
            }
            if let Some(sample) = seg.rtt {
                cx.user.on_answer(Answer {
                    flow_id: flow.core.flow_id,
                    time: seg.now,
                    tsval,
                    rtt: sample.rtt,
                });
            }
        }
        if let Some(deep) = deep {
            let receiver = &mut deep.receivers[seg.side.reverse()];
            if receiver.is_empty() && seg.side == Direction::Up {
                light.hand_over(receiver, seg.now, flow, cx);
            }
            receiver.push(seg.now, tsval);
        }
    }

    fn finish(
        light: &mut Light,
        deep: Option<&mut Deep>,
        _: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let delta_g = cx.params.delta_g;
        for side in Direction::BOTH {
            let receiver = deep.as_ref().map(|d| &d.receivers[side]);
            let measured = receiver.filter(|r| r.window() >= delta_g);
            let mut estimate = measured.and_then(TickEstimator::estimate);
            if side == Direction::Down {
                estimate = estimate.or_else(|| light.estimate(delta_g));
            }
            let tick = estimate.and_then(Estimate::tick);
            if let (Direction::Down, Some(tick)) = (side, tick) {
                cx.user.offer_tick(tick);
            }
            let columns = TickColumns {
                tick_ms: tick.map(|t| t.value.as_ms()),
                tick_raw_ms: estimate.map(|e| e.raw_ns / 1e6),
                tick_error: estimate.map(|e| e.error),
            };
            columns.write(row);
        }
        cx.user.try_limits();
    }
}
