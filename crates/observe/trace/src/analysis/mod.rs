//! Every analysis of a TCP flow: one file, and one line in the registry below.
//!
//! An analysis keeps what it needs per flow (`Light` for every live flow, so a few bytes; `Deep`
//! only for flows that carried more than `deep_after`), sees each packet as a classified
//! [`Segment`], and at the end of the flow writes its columns of the `flows` table. Rows of other
//! tables it writes when it learns of them.

mod bandwidth;
mod bin;
mod closing;
mod handshake;
mod http;
mod http_rows;
mod in_flight;
mod known_edge;
mod limit;
mod loss;
mod names;
mod pattern;
mod registry;
mod rto;
mod rto_estimator;
mod rtt;
mod sender;
mod slow_start;
mod standing;
mod tick;
mod volume;
mod window;

/// The columns of `flows`, by analysis.
pub mod flows {
    pub const NAME: &str = "flows";

    pub use super::bandwidth::BandwidthColumns;
    pub use super::closing::ClosingColumns;
    pub use super::handshake::HandshakeColumns;
    pub use super::http::HttpColumns;
    pub use super::in_flight::InFlightColumns;
    pub use super::limit::LimitColumns;
    pub use super::loss::LossColumns;
    pub use super::names::NamesColumns;
    pub use super::pattern::PatternColumns;
    pub use super::rto::RtoColumns;
    pub use super::rtt::RttColumns;
    pub use super::slow_start::SlowStartColumns;
    pub use super::tick::TickColumns;
    pub use super::volume::VolumeColumns;
    pub use super::window::WindowColumns;
}

pub(crate) use names::observe as observe_names;
pub(crate) use registry::{Built, Deep, Light, columns};
pub(crate) use standing::write_spun;

use crate::flow::{EndCause, Flow};
use crate::params::Params;
use crate::tables::{EventRow, SideTables, order};
use crate::tcp::{Kind, Segment};
use crate::user::User;
use unbloat_table::{Columns, RowWriter};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Seq, Time};

/// Kinds of packets.
pub(crate) struct Sees {
    data: bool,
    ack: bool,
    other: bool,
}

impl Sees {
    pub(crate) const NONE: Sees = Sees::of(false, false, false);
    pub(crate) const ALL: Sees = Sees::of(true, true, true);
    pub(crate) const OTHER: Sees = Sees::of(false, false, true);
    pub(crate) const NOT_DATA: Sees = Sees::of(false, true, true);
    pub(crate) const NOT_ACK: Sees = Sees::of(true, false, true);

    const fn of(data: bool, ack: bool, other: bool) -> Sees {
        Sees { data, ack, other }
    }

    const fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Data => self.data,
            Kind::Ack => self.ack,
            Kind::Other => self.other,
        }
    }
}

/// One analysis. All functions are free of `self`: the state is the flow's.
pub(crate) trait Analysis {
    /// Kept for each live flow: a byte here is a byte for each of millions.
    type Light: Default;
    /// Kept for flows that carried more than `deep_after`.
    type Deep: Default;

    /// The columns of `flows` that `finish` writes.
    type Columns: Columns;

    /// The packets that it is shown: half of all say nothing to most analyses.
    const SEES: Sees = Sees::ALL;

    /// It says something of flows that are not TCP; else their columns are unknown.
    const IS_OF_ALL: bool = false;

    /// The column rests on this analysis and on no other, which can then be left out.
    fn is_alone(_column: &str) -> bool {
        false
    }

    /// Called for each TCP packet of the flow that it [`SEES`](Analysis::SEES), after it was classified. The kind is a constant where this is inlined.
    fn on_packet(
        _: Kind,
        _: &mut Self::Light,
        _: Option<&mut Self::Deep>,
        _: &Segment<'_>,
        _: &Flow<'_>,
        _: &mut Context<'_>,
    ) {
    }

    /// Called once at the end of a flow: columns that make no sense for it are
    /// written as nulls. Analyses later in the registry read what earlier ones put in `findings`.
    fn finish(
        light: &mut Self::Light,
        deep: Option<&mut Self::Deep>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    );
}

/// What analyses act on besides the flow.
pub(crate) struct Context<'a> {
    pub(crate) params: &'a Params,
    pub(crate) tables: &'a mut SideTables,
    pub(crate) user: &'a mut User,
    /// Time of the first packet of the trace.
    pub(crate) origin: Time,
    /// Number of the packet that is being looked at: rows are ordered by it.
    pub(crate) number: u64,
    /// Nobody reads the rows of the tables other than `flows`.
    pub(crate) summary_only: bool,
    pub(crate) built: Built,
}

/// An entry of the `events` table.
pub(crate) struct Event<'a> {
    pub(crate) side: Direction,
    pub(crate) time: Time,
    pub(crate) kind: &'static str,
    pub(crate) seq: Option<Seq>,
    pub(crate) value: Option<f64>,
    pub(crate) detail: Option<&'a str>,
}

impl Context<'_> {
    /// Nanoseconds since the trace began, as in all time columns.
    pub(crate) fn since_origin(&self, time: Time) -> i64 {
        time.since(self.origin).as_ns()
    }

    pub(crate) fn event(&mut self, flow: &Flow<'_>, event: Event<'_>) {
        if self.summary_only {
            return;
        }
        let row = EventRow {
            flow_id: flow.core.flow_id,
            side: event.side,
            time_ns: self.since_origin(event.time),
            kind: event.kind,
            seq_bytes: event.seq.and_then(|seq| flow.position(event.side, seq)),
            value: event.value,
            detail: event.detail,
        };
        let order = order(self.number, flow.core.flow_id);
        self.tables.events.push(order, row);
    }
}

/// What one analysis learns of a finished flow and later ones build on, for each side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SideFindings {
    pub(crate) rtt_floor: Option<Delta>,
    pub(crate) rtt_samples: u64,
    pub(crate) added_p95: Option<Delta>,
    pub(crate) retransmitted: u64,
    pub(crate) upstream_losses: u64,
    pub(crate) max_in_flight: Option<Bytes>,
    /// Share of data packets at which the bytes in flight were within 5 % of their 75th percentile.
    pub(crate) plateau_share: Option<f64>,
    pub(crate) bandwidth: Option<Rate>,
    /// Share of the transfer in which less than one segment of receive window was left.
    pub(crate) full_window_share: Option<f64>,
}

/// What is known of a finished flow so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) end: EndCause,
    pub(crate) sides: Both<SideFindings>,
    pub(crate) upstream_base: Option<Delta>,
    pub(crate) downstream_base: Option<Delta>,
}

/// Milliseconds for a column.
pub(crate) fn ms(delta: Option<Delta>) -> Option<f64> {
    delta.map(Delta::as_ms)
}
