//! Samples as a run: what `unbloat watch --out` writes.

use crate::exit::Failure;
use std::path::{Path, PathBuf};
use unbloat_run::{Clock, RunInfo, RunWriter};
use unbloat_table::{Order, Row, Rows, Table, columns};
use unbloat_units::{Delta, Rate};
use unbloat_watch::layers::Rates;
use unbloat_watch::{FlowLayers, InterfaceLayers, Layer, Layers, Wait};

pub fn tables() -> [Table; 2] {
    [WaitRow::table(), RateRow::table()]
}

columns! {
    /// A sample, and whose it is.
    #[derive(Clone, Copy)]
    pub struct SubjectColumns<'a> {
        time_ns: i64 = "end of the sample, since watching began",
        interface: Option<&'a str> = "network interface",
        subject: &'a str = "flow, or interface: all its flows together",
        flow: Option<&'a str> = "protocol, from and to; null for an interface",
        process: Option<&'a str> = "owner of the flow's socket, if known",
    }

    pub struct WaitRow<'a>: host_waits = "one row per sample, flow or interface, and layer of this host (unbloat watch --out)" {
        of: SubjectColumns<'a>,
        layer: &'a str = "socket, qdisc (T_Q), driver (T_D) or below (delay added below the driver); rtt_q, rtt_f and rtt_b: round trips as seen above the queue discipline, at the driver and below it",
        is_measured: bool = "false for estimates",
        samples: Option<u64> = "packets or segments that were timed; null for estimates",
        mean_ms: f64 = "mean over the sample",
        p50_ms: Option<f64> = "median, accurate within 12 %; null for estimates",
        p95_ms: Option<f64> = "95th percentile, accurate within 12 %; null for estimates",
        p99_ms: Option<f64> = "99th percentile, accurate within 12 %; null for estimates",
    }

    pub struct RateRow<'a>: host_rates = "one row per sample, flow or interface, and layer of this host that knows its rate (unbloat watch --out)" {
        of: SubjectColumns<'a>,
        layer: &'a str = "socket: written by the application; tcp: sent by TCP; entered and qdisc: given to the queue discipline and left it; driver: sent, as the driver says; peer: acknowledged. With headers from entered to driver",
        rate_bps: f64 = "mean over the sample",
    }
}

/// A run that grows by each sample.
pub struct Record {
    writer: RunWriter,
    info: RunInfo,
}

impl Record {
    pub fn create(dir: &Path) -> Result<Record, Failure> {
        let command = std::env::args().collect();
        let mut info = RunInfo::new("unbloat watch", env!("CARGO_PKG_VERSION"), command);
        info.clock = Clock::Real;
        Ok(Record {
            writer: RunWriter::create(dir, &info, &tables())?,
            info,
        })
    }

    pub fn take(&mut self, layers: &Layers) -> Result<(), Failure> {
        let mut sheet = Sheet {
            time_ns: layers.at.as_ns(),
            waits: Rows::new(&WaitRow::table()),
            rates: Rows::new(&RateRow::table()),
        };
        layers
            .interfaces
            .iter()
            .for_each(|seen| sheet.interface(seen));
        layers.flows.iter().for_each(|seen| sheet.flow(seen));
        self.writer.append(0, &sheet.waits)?;
        Ok(self.writer.append(1, &sheet.rates)?)
    }

    /// Returns the folder.
    pub fn finish(self) -> Result<PathBuf, Failure> {
        Ok(self.writer.finish(&self.info)?)
    }
}

/// The rows of one sample.
struct Sheet {
    time_ns: i64,
    waits: Rows,
    rates: Rows,
}

impl Sheet {
    fn interface(&mut self, seen: &InterfaceLayers) {
        let subject = SubjectColumns {
            time_ns: self.time_ns,
            interface: Some(&seen.name),
            subject: "interface",
            flow: None,
            process: None,
        };
        self.wait(subject, Layer::Qdisc.name(), seen.qdisc.as_ref());
        self.wait(subject, Layer::Driver.name(), seen.driver.as_ref());
        self.passed(subject, &seen.rates);
    }

    fn flow(&mut self, seen: &FlowLayers) {
        let flow = seen.flow.to_string();
        let subject = SubjectColumns {
            time_ns: self.time_ns,
            interface: seen.interface.as_deref(),
            subject: "flow",
            flow: Some(&flow),
            process: seen.process.as_ref().map(|process| process.name.as_str()),
        };
        let is_measured = seen.qdisc.is_some_and(|wait| wait.spread().is_some());
        let trip = &seen.round_trip;
        self.span(
            subject,
            Layer::Socket.name(),
            seen.delay(Layer::Socket),
            is_measured,
        );
        self.wait(subject, Layer::Qdisc.name(), seen.qdisc.as_ref());
        self.wait(subject, Layer::Driver.name(), seen.driver.as_ref());
        self.span(subject, Layer::Below.name(), trip.added, is_measured);
        self.wait(subject, "rtt_q", trip.rtt_q.as_ref());
        self.wait(subject, "rtt_f", trip.rtt_f.as_ref());
        self.span(subject, "rtt_b", trip.rtt_b, is_measured);
        self.passed(subject, &seen.rates);
    }

    fn wait(&mut self, of: SubjectColumns<'_>, layer: &str, wait: Option<&Wait>) {
        let Some(wait) = wait else {
            return;
        };
        let spread = wait.spread();
        let row = WaitRow {
            of,
            layer,
            is_measured: spread.is_some(),
            samples: spread.map(|spread| spread.count),
            mean_ms: wait.mean().as_ms(),
            p50_ms: spread.map(|spread| spread.p50.as_ms()),
            p95_ms: spread.map(|spread| spread.p95.as_ms()),
            p99_ms: spread.map(|spread| spread.p99.as_ms()),
        };
        self.waits.push(Order::nth(self.waits.len()), row);
    }

    /// A wait that is only known in the mean.
    fn span(
        &mut self,
        of: SubjectColumns<'_>,
        layer: &str,
        span: Option<Delta>,
        is_measured: bool,
    ) {
        let Some(span) = span else {
            return;
        };
        let row = WaitRow {
            of,
            layer,
            is_measured,
            samples: None,
            mean_ms: span.as_ms(),
            p50_ms: None,
            p95_ms: None,
            p99_ms: None,
        };
        self.waits.push(Order::nth(self.waits.len()), row);
    }

    fn passed(&mut self, of: SubjectColumns<'_>, rates: &Rates) {
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
                let rate_bps = rate.as_bps_f64();
                let row = RateRow {
                    of,
                    layer,
                    rate_bps,
                };
                self.rates.push(Order::nth(self.rates.len()), row);
            }
        }
    }
}
