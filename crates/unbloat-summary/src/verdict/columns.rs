//! The columns of `flows` that the rule reads.

use super::{Culprit, Delays, FlowSufferer, Side};
use crate::view::{Values, View};

pub(super) const SIDES: [(Side, &str); 2] = [(Side::Downstream, "down"), (Side::Upstream, "up")];
/// The columns of one side.
pub(super) struct SideColumns<'a> {
    pub(super) samples: Values<'a>,
    pub(super) floor: Values<'a>,
    pub(super) rtt_p50: Values<'a>,
    pub(super) added: [Values<'a>; 3],
    pub(super) in_flight: Values<'a>,
    pub(super) handshake: Values<'a>,
}

impl<'a> SideColumns<'a> {
    pub(super) fn of(view: &View<'a>, side: &str) -> SideColumns<'a> {
        SideColumns {
            samples: view.column(&format!("rtt_{side}_samples")),
            floor: view.column(&format!("rtt_{side}_min_ms")),
            rtt_p50: view.column(&format!("rtt_{side}_p50_ms")),
            added: ["p50", "p95", "p99"].map(|p| view.column(&format!("added_{side}_{p}_ms"))),
            in_flight: view.column(&format!("in_flight_{side}_p50_bytes")),
            handshake: view.column(&format!("handshake_{side}_ms")),
        }
    }

    pub(super) fn floor_ms(&self, row: usize) -> Option<f64> {
        self.floor.f64(row).or_else(|| self.handshake.f64(row))
    }

    pub(super) fn delays(&self, row: usize) -> Option<Delays> {
        let [p50, p95, p99] = &self.added;
        Some(Delays {
            p50_ms: p50.f64(row)?,
            p95_ms: p95.f64(row)?,
            p99_ms: p99.f64(row)?,
        })
    }

    /// Rule 5: of the bytes in flight, those that wait.
    pub(super) fn queued_bytes(&self, row: usize) -> Option<f64> {
        let (bytes, rtt) = (self.in_flight.f64(row)?, self.rtt_p50.f64(row)?);
        let waiting = self.added[0].f64(row)? / rtt;
        (rtt > 0.0).then(|| bytes * waiting.clamp(0.0, 1.0))
    }
}
/// The columns that say which flow a row is.
pub(super) struct Names<'a> {
    pub(super) flow_id: Values<'a>,
    pub(super) client: Values<'a>,
    pub(super) server: Values<'a>,
    server_port: Values<'a>,
    server_name: Values<'a>,
    start: Values<'a>,
    end: Values<'a>,
}

impl<'a> Names<'a> {
    pub(super) fn of(view: &View<'a>) -> Names<'a> {
        Names {
            flow_id: view.column("flow_id"),
            client: view.column("client"),
            server: view.column("server"),
            server_port: view.column("server_port"),
            server_name: view.column("server_name"),
            start: view.column("start_ns"),
            end: view.column("end_ns"),
        }
    }

    pub(super) fn id(&self, row: usize) -> u64 {
        self.flow_id.u64(row).unwrap_or(0)
    }

    pub(super) fn span(&self, row: usize) -> (i64, i64) {
        (
            self.start.i64(row).unwrap_or(0),
            self.end.i64(row).unwrap_or(0),
        )
    }

    pub(super) fn seconds(&self, row: usize) -> f64 {
        let (start, end) = self.span(row);
        end.saturating_sub(start) as f64 / 1e9
    }

    pub(super) fn client(&self, row: usize) -> String {
        self.client.text(row).unwrap_or("?").to_owned()
    }

    pub(super) fn server(&self, row: usize) -> String {
        let name = self.server_name.text(row).or_else(|| self.server.text(row));
        let name = name.unwrap_or("?");
        match self.server_port.u64(row) {
            Some(port) if name.contains(':') => format!("[{name}]:{port}"),
            Some(port) => format!("{name}:{port}"),
            None => name.to_owned(),
        }
    }

    pub(super) fn sufferer(
        &self,
        row: usize,
        side: Side,
        rtt_samples: u64,
        added: Delays,
    ) -> FlowSufferer {
        let (start_ns, end_ns) = self.span(row);
        FlowSufferer {
            flow_id: self.id(row),
            client: self.client(row),
            server: self.server(row),
            side,
            rtt_samples,
            added,
            queue_bdp: None,
            start_ns,
            end_ns,
        }
    }

    pub(super) fn candidate(&self, row: usize, side: Side, queued_bytes: f64) -> Candidate {
        let (start_ns, end_ns) = self.span(row);
        Candidate {
            flow_id: self.id(row),
            client: self.client(row),
            server: self.server(row),
            side,
            queued_bytes,
            start_ns,
            end_ns,
        }
    }
}
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) flow_id: u64,
    pub(super) client: String,
    pub(super) server: String,
    pub(super) side: Side,
    pub(super) queued_bytes: f64,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
}
impl Candidate {
    pub(super) fn culprit(
        &self,
        overlap_s: f64,
        [victims, own_victims]: [u64; 2],
        suffers: bool,
    ) -> Culprit {
        Culprit {
            flow_id: self.flow_id,
            client: self.client.clone(),
            server: self.server.clone(),
            side: self.side,
            queued_bytes: self.queued_bytes,
            overlap_s,
            share: 0.0,
            victims,
            own_victims,
            suffers,
        }
    }
}
pub(super) fn most_samples(sides: &[SideColumns; 2], row: usize) -> u64 {
    let samples = sides.iter().filter_map(|s| s.samples.u64(row));
    samples.max().unwrap_or(0)
}
