//! The one pass over a run's tables.

use crate::SummaryParams;
use crate::findings::{Figure, Findings, Metric};
use crate::panel::{Panel, panels};
use crate::sides::CaptureSides;
use crate::verdict::{Judge, Verdict};
use crate::view::{Index, View};
use std::collections::{BTreeMap, BTreeSet};
use unbloat_health::Health;
use unbloat_table::{Rows, Table};

/// Takes the rows of a run's tables, in any cut and any order of tables.
pub struct Summary {
    tables: Vec<(&'static str, Index)>,
    panels: Vec<Box<dyn Panel>>,
    judge: Judge,
    sides: CaptureSides,
    health: Health,
}

/// What a summary found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub metrics: Vec<Metric>,
    pub figures: Vec<Figure>,
    pub verdict: Verdict,
    /// What is wrong with the capture.
    pub health: Health,
    /// A sentence for each thing that is drawn from a sample only.
    pub left_out: Vec<String>,
}

/// Tables by name, each with the columns of it that are read.
pub type Reads = BTreeMap<&'static str, BTreeSet<&'static str>>;

impl Summary {
    /// `tables` are the tables whose rows will come.
    pub fn new(tables: &[Table], params: SummaryParams) -> Summary {
        Summary {
            tables: tables.iter().map(|t| (t.name, Index::of(t))).collect(),
            panels: panels(&params),
            judge: Judge::new(params),
            sides: CaptureSides::default(),
            health: Health::default(),
        }
    }

    /// A summary of nothing but the verdict.
    pub fn of_verdict(tables: &[Table], params: SummaryParams) -> Summary {
        Summary {
            panels: Vec::new(),
            ..Summary::new(tables, params)
        }
    }

    /// What it reads of `tables`, those that it was made for: what it asks for when there are no
    /// rows to add.
    pub fn reads(&mut self, tables: &[Table]) -> Reads {
        let read = tables.iter().map(|table| {
            let asked = View::asked_by(table, |view| {
                show(&mut self.panels, &mut self.judge, table.name, view);
                if table.name == "flows" {
                    self.sides.add(view);
                }
            });
            (table.name, asked)
        });
        read.collect()
    }

    /// Adds rows of the table `name`; rows of a table not named at the start are not looked at.
    pub fn add(&mut self, name: &str, rows: &Rows) {
        let found = self.tables.iter().find(|(table, _)| *table == name);
        let Some((_, index)) = found.filter(|_| !rows.is_empty()) else {
            return;
        };
        let view = View::new(index, rows);
        show(&mut self.panels, &mut self.judge, name, &view);
        if name == "flows" {
            self.sides.add(&view);
        }
    }

    /// What the packets and their source tell of the capture; the rows tell the rest.
    pub fn set_health(&mut self, health: Health) {
        self.health = health;
    }

    /// The verdict as it would be with these further rows, which are then forgotten: in live
    /// capture, those of flows that still live.
    pub fn verdict_with<'r>(&self, more: impl IntoIterator<Item = (&'r str, &'r Rows)>) -> Verdict {
        let (mut judge, mut sides) = (self.judge.clone(), self.sides.clone());
        for (name, rows) in more {
            let found = self.tables.iter().find(|(table, _)| *table == name);
            if let Some((_, index)) = found.filter(|_| !rows.is_empty()) {
                let view = View::new(index, rows);
                judge.add(name, &view);
                if name == "flows" {
                    sides.add(&view);
                }
            }
        }
        self.verdict_of(&judge, &self.health_with(&sides))
    }

    fn health_with(&self, sides: &CaptureSides) -> Health {
        Health {
            flows: sides.found(),
            ..self.health.clone()
        }
    }

    fn verdict_of(&self, judge: &Judge, health: &Health) -> Verdict {
        judge.verdict().on(health)
    }

    /// What the rows so far say; more may be added afterwards (live capture).
    pub fn finish(&self) -> Outcome {
        let mut found = Findings::default();
        self.panels.iter().for_each(|p| p.finish(&mut found));
        let health = self.health_with(&self.sides);
        Outcome {
            metrics: found.metrics,
            figures: found.figures,
            verdict: self.verdict_of(&self.judge, &health),
            health,
            left_out: found.notes,
        }
    }
}

fn show(panels: &mut [Box<dyn Panel>], judge: &mut Judge, name: &str, view: &View) {
    for panel in panels.iter_mut().filter(|panel| panel.table() == name) {
        panel.add(view);
    }
    judge.add(name, view);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Value::{B, F, T, U};
    use crate::testing::{Record, flows_table, rows};
    use crate::{figures_rows, summary_rows};

    fn value(outcome: &Outcome, group: &str, metric: &str) -> Option<f64> {
        let found = outcome
            .metrics
            .iter()
            .find(|m| m.group.starts_with(group) && m.metric == metric);
        found
            .unwrap_or_else(|| panic!("{group}: {metric} is there"))
            .value
    }

    fn flows() -> Vec<Record> {
        let flow = |i: u64| -> Record {
            let mut record = vec![
                ("payload_down_bytes", U(if i < 10 { 0 } else { i * 1000 })),
                ("payload_up_bytes", U(500)),
                ("duration_ms", F(i as f64 * 100.0)),
                ("rate_down_bps", F(8e6 / i as f64)),
                ("rate_up_bps", F(4e4 / i as f64)),
                ("end_cause", T(if i <= 80 { "fin" } else { "rst" })),
                ("syn_only", B(false)),
                ("delayed_close", B(i > 90)),
                ("close_delay_ms", F(20_000.0)),
                ("close_energy_mj", F(1_000.0)),
                ("last_payload_gap_ms", F(i as f64)),
            ];
            record.push(("handshake", T("complete")));
            record.push(("handshake_down_ms", F(20.0)));
            record.push((
                "handshake_up_ms",
                F(if i.is_multiple_of(4) { 10.0 } else { 60.0 }),
            ));
            record.push(("pep", B(false)));
            record
        };
        (1..=100).map(flow).collect()
    }

    fn outcome(parts: &[&[Record]]) -> Outcome {
        let table = flows_table();
        let mut summary = Summary::new(std::slice::from_ref(&table), SummaryParams::default());
        parts
            .iter()
            .for_each(|part| summary.add("flows", &rows(&table, part)));
        summary.finish()
    }

    #[test]
    fn headline_numbers_follow_their_definitions() {
        let outcome = outcome(&[&flows()]);
        let near = |group, metric, want: f64| {
            let got = value(&outcome, group, metric).unwrap();
            assert!(
                (got - want).abs() <= want.abs() * 0.008 + 1e-9,
                "{metric}: {got}"
            );
        };
        near("Flow size", "flows without down payload", 9.0);
        near("Flow size", "90 % of flows carry at most, down", 90_000.0);
        near("Flow duration", "flows of at most 5 s", 50.0);
        near("Flow duration", "ended by FIN", 80.0);
        near("Flow duration", "FIN or RST delayed beyond the tail", 10.0);
        near("Flow duration", "radio energy for them", 10.0);
        near("Handshake", "server further away than client", 75.0);
        near("Flow rate", "log duration, rate, down", -1.0);
        assert_eq!(
            value(&outcome, "Flow rate", "log rate, size, up"),
            None,
            "size never varies"
        );
    }

    #[test]
    fn the_cut_of_the_rows_changes_nothing() {
        let flows = flows();
        let whole = outcome(&[&flows]);
        assert_eq!(
            outcome(&[&flows[..1], &flows[1..70], &[], &flows[70..]]),
            whole
        );
    }

    #[test]
    fn an_empty_run_gives_nulls_and_no_invented_number() {
        let outcome = outcome(&[]);
        let numbers = outcome
            .metrics
            .iter()
            .filter(|m| m.value.is_some_and(|v| v != 0.0));
        assert_eq!(numbers.count(), 0);
        let drawn = outcome
            .figures
            .iter()
            .filter(|f| !f.series.starts_with("paper"));
        assert_eq!(drawn.count(), 0);
    }

    #[test]
    fn curves_rise_to_one_and_tables_hold_every_number() {
        let outcome = outcome(&[&flows()]);
        let cdf = outcome
            .figures
            .iter()
            .find(|f| f.figure == "2" && f.series == "downlink")
            .unwrap();
        assert!(
            cdf.points
                .windows(2)
                .all(|w| w[0].x < w[1].x && w[0].y < w[1].y)
        );
        assert_eq!(cdf.points.last().unwrap().y, 1.0);
        assert_eq!(
            summary_rows(&outcome.metrics).1.len(),
            outcome.metrics.len()
        );
        let points: usize = outcome.figures.iter().map(|f| f.points.len()).sum();
        assert_eq!(figures_rows(&outcome.figures).1.len(), points);
    }
}
