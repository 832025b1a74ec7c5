//! Rows of tables `standing` and `flows` as the judge keeps them.

use super::OtherKind;
use crate::view::View;
use unbloat_table::{ColumnView, Names};
use unbloat_trace::flows::{HandshakeColumns, LimitColumns, NamesColumns, VolumeColumns};
use unbloat_trace::tables::StandingRow;
use unbloat_units::{Both, Direction};

/// What a direction carried while the delay stood.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Carrying {
    pub(super) peak_bps: f64,
    pub(super) standing_bps: f64,
    pub(super) own_standing_bps: f64,
    pub(super) before_bps: Option<f64>,
    pub(super) steadiness: f64,
    pub(super) coupling: Option<f64>,
    pub(super) lost: u64,
    pub(super) busy: u64,
}

/// Evidence of the round trips of one leg of a flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) flow_id: u64,
    pub(super) client: String,
    pub(super) client_port: u64,
    pub(super) server: String,
    pub(super) server_port: u64,
    /// Down: between capture point and client; up: between capture point and server.
    pub(super) leg: Direction,
    pub(super) rtt_floor_ms: Option<f64>,
    pub(super) floor_seen: bool,
    pub(super) windows: u64,
    pub(super) low: u64,
    pub(super) standing: u64,
    /// From the first window to the last, and of those in which the delay stood.
    pub(super) measured_ns: (i64, i64),
    pub(super) span_ns: Option<(i64, i64)>,
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    /// What the answering host may have held back of the delay.
    pub(super) held_ms: f64,
    pub(super) low_before: u64,
    pub(super) level_share: f64,
    pub(super) step_share: Option<f64>,
    /// Share of the delay on the way from the answering host, where its clock tells.
    pub(super) back_share: Option<f64>,
    /// Delays that no queue made, with how many samples: see [`Row::WAITS`].
    pub(super) waits: [(u64, f64); Row::WAITS.len()],
    pub(super) step_ms: Option<f64>,
    pub(super) ahead: Carrying,
    pub(super) back: Carrying,
}

impl Row {
    /// Whether the row has windows of the time in which the other's delay stood.
    pub(super) fn overlaps(&self, other: &Row) -> bool {
        let ((from, until), Some((stood, fell))) = (self.measured_ns, other.span_ns) else {
            return false;
        };
        from < fell && stood < until
    }

    /// Nothing stood, as far as half of the windows tell.
    pub(super) fn is_low(&self) -> bool {
        self.standing == 0 && 2 * self.low >= self.windows
    }

    /// What the direction of the data carried.
    pub(super) fn carrying(&self, direction: Direction) -> &Carrying {
        match direction == self.leg {
            true => &self.ahead,
            false => &self.back,
        }
    }

    /// The columns of each kind: samples and median.
    pub(super) const WAITS: [([&'static str; 2], OtherKind); 6] = [
        (
            [StandingRow::think_samples, StandingRow::think_p50_ms],
            OtherKind::ThinkTime,
        ),
        (
            [StandingRow::wake_samples, StandingRow::wake_p50_ms],
            OtherKind::WakeUp,
        ),
        (
            [
                StandingRow::power_save_samples,
                StandingRow::power_save_p50_ms,
            ],
            OtherKind::PowerSave,
        ),
        (
            [StandingRow::ack_samples, StandingRow::ack_p50_ms],
            OtherKind::DelayedAck,
        ),
        (
            [StandingRow::hold_samples, StandingRow::hold_p50_ms],
            OtherKind::Hold,
        ),
        (
            [StandingRow::jitter_samples, StandingRow::jitter_p50_ms],
            OtherKind::Jitter,
        ),
    ];
}

/// The columns of `standing`.
pub(super) struct Rows<'a> {
    ids: [ColumnView<'a>; 3],
    texts: [ColumnView<'a>; 3],
    counts: [ColumnView<'a>; 4],
    times: [ColumnView<'a>; 4],
    numbers: [ColumnView<'a>; 8],
    waits: [[ColumnView<'a>; 2]; Row::WAITS.len()],
    floor_seen: ColumnView<'a>,
    carrying: [[ColumnView<'a>; 8]; 2],
}

impl<'a> Rows<'a> {
    pub(super) fn of(view: &View<'a>) -> Rows<'a> {
        let [ahead, back] = [
            [
                StandingRow::ahead_peak_bps,
                StandingRow::ahead_standing_bps,
                StandingRow::ahead_own_standing_bps,
                StandingRow::ahead_before_bps,
                StandingRow::ahead_steadiness,
                StandingRow::ahead_coupling,
                StandingRow::ahead_lost_packets,
                StandingRow::ahead_busy_windows,
            ],
            [
                StandingRow::back_peak_bps,
                StandingRow::back_standing_bps,
                StandingRow::back_own_standing_bps,
                StandingRow::back_before_bps,
                StandingRow::back_steadiness,
                StandingRow::back_coupling,
                StandingRow::back_lost_packets,
                StandingRow::back_busy_windows,
            ],
        ];
        Rows {
            ids: [
                StandingRow::flow_id,
                StandingRow::client_port,
                StandingRow::server_port,
            ]
            .map(|n| view.column(n)),
            texts: [
                StandingRow::client,
                StandingRow::server,
                StandingRow::direction,
            ]
            .map(|n| view.column(n)),
            counts: [
                StandingRow::windows,
                StandingRow::low_windows,
                StandingRow::standing_windows,
                StandingRow::low_before_windows,
            ]
            .map(|n| view.column(n)),
            times: [
                StandingRow::standing_start_ns,
                StandingRow::standing_end_ns,
                StandingRow::start_ns,
                StandingRow::end_ns,
            ]
            .map(|n| view.column(n)),
            numbers: [
                StandingRow::rtt_floor_ms,
                StandingRow::standing_p50_ms,
                StandingRow::standing_p95_ms,
                StandingRow::back_share,
                StandingRow::step_share,
                StandingRow::level_share,
                StandingRow::step_ms,
                StandingRow::standing_held_ms,
            ]
            .map(|n| view.column(n)),
            waits: Row::WAITS.map(|(names, _)| names.map(|n| view.column(n))),
            floor_seen: view.column(StandingRow::floor_seen),
            carrying: [ahead, back].map(|names| names.map(|n| view.column(n))),
        }
    }

    pub(super) fn flow_id(&self, row: usize) -> u64 {
        self.ids[0].u64(row).unwrap_or(0)
    }

    pub(super) fn standing(&self, row: usize) -> u64 {
        self.counts[2].u64(row).unwrap_or(0)
    }

    pub(super) fn busy(&self, row: usize) -> u64 {
        self.carrying[0][7].u64(row).unwrap_or(0)
    }

    pub(super) fn p50_ms(&self, row: usize) -> f64 {
        self.numbers[1].f64(row).unwrap_or(0.0)
    }

    pub(super) fn row(&self, at: usize) -> Row {
        let text = |i: usize| self.texts[i].text(at).unwrap_or("?").to_owned();
        let count = |i: usize| self.counts[i].u64(at).unwrap_or(0);
        let number = |i: usize| self.numbers[i].f64(at);
        let leg = match self.texts[2].is(at, "up") {
            true => Direction::Up,
            false => Direction::Down,
        };
        Row {
            flow_id: self.flow_id(at),
            client: text(0),
            client_port: self.ids[1].u64(at).unwrap_or(0),
            server: text(1),
            server_port: self.ids[2].u64(at).unwrap_or(0),
            leg,
            rtt_floor_ms: number(0),
            floor_seen: self.floor_seen.is_true(at),
            windows: count(0),
            low: count(1),
            standing: count(2),
            measured_ns: (
                self.times[2].i64(at).unwrap_or(0),
                self.times[3].i64(at).unwrap_or(0),
            ),
            span_ns: self.times[0].i64(at).zip(self.times[1].i64(at)),
            p50_ms: number(1).unwrap_or(0.0),
            p95_ms: number(2).unwrap_or(0.0),
            held_ms: number(7).unwrap_or(0.0),
            low_before: count(3),
            level_share: number(5).unwrap_or(0.0),
            step_share: number(4),
            back_share: number(3),
            waits: self.waits.map(|[samples, p50_ms]| {
                (samples.u64(at).unwrap_or(0), p50_ms.f64(at).unwrap_or(0.0))
            }),
            step_ms: number(6),
            ahead: carrying(&self.carrying[0], at),
            back: carrying(&self.carrying[1], at),
        }
    }
}

fn carrying(columns: &[ColumnView; 8], at: usize) -> Carrying {
    let number = |i: usize| columns[i].f64(at).unwrap_or(0.0);
    Carrying {
        peak_bps: number(0),
        standing_bps: number(1),
        own_standing_bps: number(2),
        before_bps: columns[3].f64(at),
        steadiness: number(4),
        coupling: columns[5].f64(at),
        lost: columns[6].u64(at).unwrap_or(0),
        busy: columns[7].u64(at).unwrap_or(0),
    }
}

/// What the judge reads of a flow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub(super) flow_id: u64,
    pub(super) client: String,
    pub(super) client_port: u64,
    pub(super) server: String,
    pub(super) server_name: Option<String>,
    pub(super) server_port: u64,
    pub(super) is_tcp: bool,
    pub(super) span_ns: (i64, i64),
    /// By direction of the data.
    pub(super) payload: Both<u64>,
    pub(super) packets: Both<u64>,
    pub(super) receive_window_share: Both<Option<f64>>,
    pub(super) application_share: Both<Option<f64>>,
    /// Handshake round trip to the client, and to the server.
    pub(super) handshake_ms: Both<Option<f64>>,
}

/// The columns of `flows`.
pub(super) struct Flows<'a> {
    flow_id: ColumnView<'a>,
    ports: [ColumnView<'a>; 2],
    texts: [ColumnView<'a>; 4],
    times: [ColumnView<'a>; 2],
    payload: Both<ColumnView<'a>>,
    packets: Both<ColumnView<'a>>,
    receive_window: Both<ColumnView<'a>>,
    application: Both<ColumnView<'a>>,
    handshake: Both<ColumnView<'a>>,
}

impl<'a> Flows<'a> {
    pub(super) fn of(view: &View<'a>) -> Flows<'a> {
        let both = |names: Names| names.map(|name| view.column(name));
        Flows {
            flow_id: view.column(VolumeColumns::flow_id),
            ports: [VolumeColumns::client_port, VolumeColumns::server_port].map(|n| view.column(n)),
            texts: [
                VolumeColumns::client,
                VolumeColumns::server,
                NamesColumns::server_name,
                VolumeColumns::protocol,
            ]
            .map(|n| view.column(n)),
            times: [VolumeColumns::start_ns, VolumeColumns::end_ns].map(|n| view.column(n)),
            payload: both(Both::new(
                VolumeColumns::payload_down_bytes,
                VolumeColumns::payload_up_bytes,
            )),
            packets: both(Both::new(
                VolumeColumns::packets_down,
                VolumeColumns::packets_up,
            )),
            receive_window: both(LimitColumns::limit_receive_window_share),
            application: both(LimitColumns::limit_application_share),
            handshake: both(Both::new(
                HandshakeColumns::handshake_down_ms,
                HandshakeColumns::handshake_up_ms,
            )),
        }
    }

    pub(super) fn flow_id(&self, row: usize) -> u64 {
        self.flow_id.u64(row).unwrap_or(0)
    }

    pub(super) fn bytes(&self, row: usize) -> u64 {
        let bytes = self.payload.iter().filter_map(|column| column.u64(row));
        bytes.sum()
    }

    pub(super) fn flow(&self, row: usize) -> Flow {
        let text = |i: usize| self.texts[i].text(row).unwrap_or("?").to_owned();
        let count = |c: &ColumnView| c.u64(row).unwrap_or(0);
        let time = |c: &ColumnView| c.i64(row).unwrap_or(0);
        let counts = |both: &Both<ColumnView>| both.as_ref().map(count);
        let number = |both: &Both<ColumnView>| both.as_ref().map(|column| column.f64(row));
        Flow {
            flow_id: self.flow_id(row),
            client: text(0),
            client_port: count(&self.ports[0]),
            server: text(1),
            server_name: self.texts[2].text(row).map(str::to_owned),
            server_port: count(&self.ports[1]),
            is_tcp: self.texts[3].is(row, "tcp"),
            span_ns: (time(&self.times[0]), time(&self.times[1])),
            payload: counts(&self.payload),
            packets: counts(&self.packets),
            receive_window_share: number(&self.receive_window),
            application_share: number(&self.application),
            handshake_ms: number(&self.handshake),
        }
    }
}
