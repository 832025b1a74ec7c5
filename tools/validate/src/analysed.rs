//! What the analyser says of a capture.

use crate::error::ValidateError;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use unbloat_analyze::{Control, PipelineError, Settings, run};
use unbloat_capture::{Input, Trace};
use unbloat_table::{Rows, Table};
use unbloat_trace::{Params, all_tables};
use unbloat_units::{Direction, Time};

/// One of its tables.
pub(crate) struct Grid {
    table: Table,
    rows: Rows,
}

impl Grid {
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.rows.len()).map(|row| Row { grid: self, row })
    }
}

/// One row of it; columns that it does not have are unknown.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    grid: &'a Grid,
    row: usize,
}

impl<'a> Row<'a> {
    pub(crate) fn number(self, column: &str) -> Option<f64> {
        let column = self.grid.table.column(column)?;
        self.grid.rows.columns()[column].as_f64(self.row)
    }

    pub(crate) fn text(self, column: &str) -> &'a str {
        let column = self.grid.table.column(column);
        let text = column.and_then(|c| self.grid.rows.columns()[c].as_text(self.row));
        text.unwrap_or_default()
    }

    /// A count, zero where it is unknown.
    pub(crate) fn count(self, column: &str) -> usize {
        self.number(column).map_or(0, |n| n as usize)
    }
}

/// All its tables, and the flows by number.
pub(crate) struct Analysed {
    origin_ns: i64,
    tables: Vec<Grid>,
    /// In the direction of uplink packets.
    flows: BTreeMap<u64, Tuple>,
}

impl Analysed {
    pub(crate) fn read(capture: &Path, params: Params) -> Result<Analysed, ValidateError> {
        let settings = Settings {
            params,
            parser: Default::default(),
            client_nets: Vec::new(),
            threads: 1,
            hash_seed: 1,
            summary_only: false,
            reads: None,
        };
        let mut tables: Vec<Grid> = all_tables()
            .into_iter()
            .map(|table| Grid {
                rows: Rows::new(&table),
                table,
            })
            .collect();
        let mut trace = Trace::open(&[Input::File(capture.to_owned())])?;
        let outcome = run::<Infallible>(&mut trace, &settings, &mut |output, _| {
            for (grid, rows) in tables.iter_mut().zip(output.tables()) {
                (0..rows.len()).for_each(|row| grid.rows.push_from(rows, row));
            }
            Ok(Control::Continue)
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(PipelineError::Capture(error)) => return Err(error.into()),
            Err(PipelineError::Sink(never)) => match never {},
        };
        let flows = tables[0].rows().filter_map(tuple).collect();
        Ok(Analysed {
            origin_ns: outcome.origin.map_or(0, Time::as_ns),
            tables,
            flows,
        })
    }

    /// # Panics
    /// When the analyser has no table of that name.
    pub(crate) fn table(&self, name: &str) -> &Grid {
        let found = self.tables.iter().find(|grid| grid.table.name == name);
        found.expect("the analyser has this table")
    }

    /// Sum of a column of `flows`.
    pub(crate) fn total(&self, column: &str) -> usize {
        self.table("flows")
            .rows()
            .map(|row| row.count(column))
            .sum()
    }

    /// The tuple of the data that a row with `flow_id` and `side` is about.
    pub(crate) fn data_tuple(&self, row: Row<'_>) -> Option<Tuple> {
        let up = *self.flows.get(&(row.number("flow_id")? as u64))?;
        let is_up = row.text("side") == Direction::Up.name();
        Some(if is_up { up } else { up.reversed() })
    }

    /// A row's time on the bed's clock.
    pub(crate) fn time_ns(&self, row: Row<'_>) -> Option<i64> {
        Some(self.origin_ns + row.number("time_ns")? as i64)
    }

    /// Events of one kind.
    pub(crate) fn events<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Row<'a>> {
        let events = self.table("events").rows();
        events.filter(move |event| event.text("kind") == kind)
    }
}

/// A TCP flow's number and uplink tuple.
fn tuple(row: Row<'_>) -> Option<(u64, Tuple)> {
    let end = |address: &str, port: &str| -> Option<(Ipv4Addr, u16)> {
        Some((row.text(address).parse().ok()?, row.number(port)? as u16))
    };
    let tuple = Tuple {
        source: end("client", "client_port")?,
        destination: end("server", "server_port")?,
    };
    (row.text("protocol") == "tcp").then_some((row.number("flow_id")? as u64, tuple))
}
