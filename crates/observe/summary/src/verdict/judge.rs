//! Keeps what the tables say that bears on the verdict, in bounded memory.

use super::Verdict;
use super::direction::Case;
use super::leaders::Leaders;
use super::row::{Flow, Flows, Row, Rows};
use crate::SummaryParams;
use crate::view::View;
use unbloat_table::Row as _;
use unbloat_trace::flows;
use unbloat_trace::tables::StandingRow;
use unbloat_units::Both;

/// So many rows and flows are compared with each other.
const COMPARED: usize = 512;

#[derive(Clone)]
pub(crate) struct Judge {
    params: SummaryParams,
    /// Rows whose delay stood, those that stood longest and highest.
    standing: Leaders<Row>,
    /// Rows of the busiest flows.
    busy: Leaders<Row>,
    /// The largest flows.
    flows: Leaders<Flow>,
}

impl Judge {
    pub(crate) fn new(params: SummaryParams) -> Judge {
        Judge {
            params,
            standing: Leaders::new(COMPARED),
            busy: Leaders::new(COMPARED),
            flows: Leaders::new(COMPARED),
        }
    }

    pub(crate) fn add(&mut self, table: &str, view: &View) {
        match table {
            StandingRow::NAME => self.add_standing(view),
            flows::NAME => self.add_flows(view),
            _ => {}
        }
    }

    fn add_standing(&mut self, view: &View) {
        let rows = Rows::of(view);
        for at in view.rows() {
            let (id, standing) = (rows.flow_id(at), rows.standing(at) as f64);
            if standing > 0.0 {
                let weight = standing * rows.p50_ms(at).min(1e3);
                self.standing.offer(weight, id, || rows.row(at));
            }
            let busy = rows.busy(at) as f64;
            self.busy.offer(busy, id, || rows.row(at));
        }
    }

    fn add_flows(&mut self, view: &View) {
        let flows = Flows::of(view);
        for at in view.rows() {
            let bytes = flows.bytes(at) as f64;
            self.flows
                .offer(bytes, flows.flow_id(at), || flows.flow(at));
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let case = Case::new(
            &self.params,
            self.standing.iter().collect(),
            self.busy.iter().collect(),
            self.flows.iter().collect(),
        );
        let directions = Both::of(|direction| case.verdict(direction));
        Verdict::of(directions, self.params.bloat_threshold)
    }
}
