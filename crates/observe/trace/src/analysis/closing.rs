//! How flows end, and what late ends cost (§4.1, Fig. 3 and 4).
//!
//! Servers and players close connections long after the last byte. A FIN or RST that comes after the
//! radio's tail has run out switches the radio on again, for one more promotion and one more tail.

use super::{Analysis, Context, Event, Findings, Flow, Sees};
use crate::tcp::{Kind, Segment};
use unbloat_table::{Columns, RowWriter, columns};
use unbloat_units::{Direction, Time};

pub(crate) struct Closing;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// The first FIN or RST, and who sent it.
    closed: Option<(Time, bool)>,
}

columns! {
    pub struct ClosingColumns {
        last_payload_gap_ms: Option<f64> = "last packet with payload to last packet (Fig. 3)",
        close_delay_ms: Option<f64> = "last packet with payload before it to first FIN or RST",
        delayed_close: Option<bool> = "close_delay longer than the radio's tail (section 4.1)",
        close_energy_mj: Option<f64> = "radio energy of the late close: a promotion and a tail (Fig. 4)",
    }
}

impl Analysis for Closing {
    type Light = Light;
    type Deep = ();
    type Columns = ClosingColumns;
    const SEES: Sees = Sees::OTHER;
    const IS_OF_ALL: bool = true;

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        _: &Flow<'_>,
        _: &mut Context<'_>,
    ) {
        let flags = seg.header.tcp_flags;
        if (flags.fin() || flags.rst()) && light.closed.is_none() {
            light.closed = Some((seg.now, seg.side == Direction::Up));
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let core = flow.core;
        let last_payload = core.payload_span().map(|(_, last)| last);
        let delay = light
            .closed
            .zip(last_payload)
            .map(|((closed, _), last)| closed.since(last));
        // Payload after the first FIN: the connection was half closed, not closed late.
        let delay = delay.filter(|d| !d.is_negative());
        let late = delay.map(|d| d > cx.params.tail);
        let columns = ClosingColumns {
            last_payload_gap_ms: last_payload.map(|last| core.last.since(last).as_ms()),
            close_delay_ms: delay.map(|d| d.as_ms()),
            delayed_close: late,
            close_energy_mj: delay.map(|d| cx.params.power.late_close_j(d, cx.params.tail) * 1e3),
        };
        columns.write(row);
        if let (Some(true), Some((time, by_client)), Some(delay)) = (late, light.closed, delay) {
            let side = if by_client {
                Direction::Up
            } else {
                Direction::Down
            };
            let value = Some(delay.as_ms());
            cx.event(
                flow,
                Event {
                    side,
                    time,
                    kind: "delayed_close",
                    seq: None,
                    value,
                    detail: None,
                },
            );
        }
    }
}
