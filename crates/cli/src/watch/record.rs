//! Samples as a run: what `unbloat watch --out` writes.

use crate::output::OutputError;
use std::path::{Path, PathBuf};
use unbloat_api::experiment::order;
use unbloat_run::{Clock, RunInfo, RunWriter};
use unbloat_table::{Column, RowWriter, Rows, Table};
use unbloat_units::{Delta, Rate};
use unbloat_watch::layers::Rates;
use unbloat_watch::{FlowLayers, InterfaceLayers, Layer, Layers, Wait};

pub fn tables() -> [Table; 2] {
    [waits_table(), rates_table()]
}

/// A sample, and whose it is.
fn head() -> Vec<Column> {
    vec![
        Column::i64("time_ns", "end of the sample, since watching began"),
        Column::text("interface", "network interface"),
        Column::text("subject", "flow, or interface: all its flows together"),
        Column::text("flow", "protocol, from and to; null for an interface"),
        Column::text("process", "owner of the flow's socket, if known"),
    ]
}

fn waits_table() -> Table {
    let mut columns = head();
    columns.extend([
        Column::text(
            "layer",
            "socket, qdisc (T_Q), driver (T_D) or below (delay added below the driver); rtt_q, rtt_f and rtt_b: round trips as seen above the queue discipline, at the driver and below it",
        ),
        Column::bool("is_measured", "false for estimates"),
        Column::u64("samples", "packets or segments that were timed; null for estimates"),
        Column::f64("mean_ms", "mean over the sample"),
        Column::f64("p50_ms", "median, accurate within 12 %; null for estimates"),
        Column::f64("p95_ms", "95th percentile, accurate within 12 %; null for estimates"),
        Column::f64("p99_ms", "99th percentile, accurate within 12 %; null for estimates"),
    ]);
    Table {
        name: "host_waits",
        doc: "one row per sample, flow or interface, and layer of this host (unbloat watch --out)",
        columns,
    }
}

fn rates_table() -> Table {
    let mut columns = head();
    columns.extend([
        Column::text(
            "layer",
            "socket: written by the application; tcp: sent by TCP; entered and qdisc: given to the queue discipline and left it; driver: sent, as the driver says; peer: acknowledged. With headers from entered to driver",
        ),
        Column::f64("rate_bps", "mean over the sample"),
    ]);
    Table {
        name: "host_rates",
        doc: "one row per sample, flow or interface, and layer of this host that knows its rate (unbloat watch --out)",
        columns,
    }
}

/// A run that grows by each sample.
pub struct Record {
    writer: RunWriter,
    info: RunInfo,
    rows: u64,
}

impl Record {
    pub fn create(dir: &Path) -> Result<Record, OutputError> {
        let command = std::env::args().collect();
        let mut info = RunInfo::new("unbloat watch", env!("CARGO_PKG_VERSION"), command);
        info.clock = Clock::Real;
        Ok(Record {
            writer: RunWriter::create(dir, &info, &tables())?,
            info,
            rows: 0,
        })
    }

    pub fn take(&mut self, layers: &Layers) -> Result<(), OutputError> {
        let mut sheet = Sheet {
            at_ns: layers.at.as_ns(),
            waits: Rows::new(&waits_table()),
            rates: Rows::new(&rates_table()),
            rows: self.rows,
        };
        layers
            .interfaces
            .iter()
            .for_each(|seen| sheet.interface(seen));
        layers.flows.iter().for_each(|seen| sheet.flow(seen));
        self.rows = sheet.rows;
        self.writer.append(0, &sheet.waits)?;
        Ok(self.writer.append(1, &sheet.rates)?)
    }

    /// Returns the folder.
    pub fn finish(self) -> Result<PathBuf, OutputError> {
        Ok(self.writer.finish(&self.info)?)
    }
}

/// The rows of one sample.
struct Sheet {
    at_ns: i64,
    waits: Rows,
    rates: Rows,
    /// Of both tables, since the first sample.
    rows: u64,
}

/// Whose rows.
struct Subject<'a> {
    interface: Option<&'a str>,
    flow: Option<String>,
    process: Option<&'a str>,
}

impl Sheet {
    fn interface(&mut self, seen: &InterfaceLayers) {
        let subject = Subject {
            interface: Some(&seen.name),
            flow: None,
            process: None,
        };
        self.wait(&subject, Layer::Qdisc.name(), seen.qdisc.as_ref());
        self.wait(&subject, Layer::Driver.name(), seen.driver.as_ref());
        self.passed(&subject, &seen.rates);
    }

    fn flow(&mut self, seen: &FlowLayers) {
        let subject = Subject {
            interface: seen.interface.as_deref(),
            flow: Some(seen.flow.to_string()),
            process: seen.process.as_ref().map(|process| process.name.as_str()),
        };
        let is_measured = seen.qdisc.is_some_and(|wait| wait.spread().is_some());
        let trip = &seen.round_trip;
        self.span(
            &subject,
            Layer::Socket.name(),
            seen.delay(Layer::Socket),
            is_measured,
        );
        self.wait(&subject, Layer::Qdisc.name(), seen.qdisc.as_ref());
        self.wait(&subject, Layer::Driver.name(), seen.driver.as_ref());
        self.span(&subject, Layer::Below.name(), trip.added, is_measured);
        self.wait(&subject, "rtt_q", trip.rtt_q.as_ref());
        self.wait(&subject, "rtt_f", trip.rtt_f.as_ref());
        self.span(&subject, "rtt_b", trip.rtt_b, is_measured);
        self.passed(&subject, &seen.rates);
    }

    fn wait(&mut self, subject: &Subject, layer: &str, wait: Option<&Wait>) {
        let Some(wait) = wait else {
            return;
        };
        let spread = wait.spread();
        let mut row = begin(&mut self.waits, &mut self.rows, self.at_ns, subject, layer);
        row.bool(spread.is_some());
        row.u64(spread.map(|spread| spread.count));
        row.f64(wait.mean().as_ms());
        row.f64(spread.map(|spread| spread.p50.as_ms()));
        row.f64(spread.map(|spread| spread.p95.as_ms()));
        row.f64(spread.map(|spread| spread.p99.as_ms()));
    }

    /// A wait that is only known in the mean.
    fn span(&mut self, subject: &Subject, layer: &str, span: Option<Delta>, is_measured: bool) {
        let Some(span) = span else {
            return;
        };
        let mut row = begin(&mut self.waits, &mut self.rows, self.at_ns, subject, layer);
        row.bool(is_measured);
        row.u64(None);
        row.f64(span.as_ms());
        for _ in 0..3 {
            row.f64(None);
        }
    }

    fn passed(&mut self, subject: &Subject, rates: &Rates) {
        let known: [(&str, Option<Rate>); 6] = [
            ("socket", rates.written),
            ("tcp", rates.sent),
            ("entered", rates.entered),
            ("qdisc", rates.left),
            ("driver", rates.done),
            ("peer", rates.acknowledged),
        ];
        for (layer, rate) in known {
            if let Some(rate) = rate {
                let mut row = begin(&mut self.rates, &mut self.rows, self.at_ns, subject, layer);
                row.f64(rate.as_bps_f64());
            }
        }
    }
}

fn begin<'a>(
    rows: &'a mut Rows,
    number: &mut u64,
    at_ns: i64,
    subject: &Subject,
    layer: &str,
) -> RowWriter<'a> {
    *number += 1;
    let mut row = rows.row(order(*number));
    row.i64(at_ns);
    row.text(subject.interface);
    row.text(if subject.flow.is_some() {
        "flow"
    } else {
        "interface"
    });
    row.text(subject.flow.as_deref());
    row.text(subject.process);
    row.text(layer);
    row
}
