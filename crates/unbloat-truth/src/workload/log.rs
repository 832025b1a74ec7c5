//! The applications' own record of connections, requests and questions.

use crate::clock::Clock;
use crate::core::FiveTuple;
use crate::error::{LabError, at};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use unbloat_units::Time;

const TUPLE: &str = "protocol,source,source_port,destination,destination_port";

/// Rows gathered in memory; shared by all tasks of the clients' thread.
#[derive(Clone)]
pub(crate) struct WorkloadLog {
    pub(crate) clock: Clock,
    rows: Rc<RefCell<Rows>>,
}

#[derive(Default)]
struct Rows {
    connections: String,
    requests: String,
    dns: String,
}

/// One connection; its row is written when this is dropped, so cut connections are logged too.
pub(crate) struct ConnectionRecord {
    log: WorkloadLog,
    pub(crate) tuple: FiveTuple,
    pub(crate) start: Time,
    pub(crate) connected: Option<Time>,
    pub(crate) last_byte: Option<Time>,
    pub(crate) bytes_requested: u64,
    pub(crate) bytes_got: u64,
    pub(crate) bytes_posted: u64,
    pub(crate) requests_done: u64,
    pub(crate) congestion_control: &'static str,
    pub(crate) slow: bool,
    /// `fin`, `late_fin`, `rst`, `unanswered`, `error`; `cut` while the run's end may yet cut it.
    pub(crate) outcome: &'static str,
}

impl WorkloadLog {
    pub(crate) fn new(clock: Clock) -> WorkloadLog {
        WorkloadLog {
            clock,
            rows: Rc::default(),
        }
    }

    pub(crate) fn connection(&self, tuple: FiveTuple, cc: &'static str) -> ConnectionRecord {
        ConnectionRecord {
            log: self.clone(),
            tuple,
            start: self.clock.now(),
            connected: None,
            last_byte: None,
            bytes_requested: 0,
            bytes_got: 0,
            bytes_posted: 0,
            requests_done: 0,
            congestion_control: cc,
            slow: false,
            outcome: "cut",
        }
    }

    /// Appends to `requests.csv` the row after its first column.
    pub(crate) fn request(&self, time: Time, row: &str) {
        let line = format!("{},{row}\n", time.as_ns());
        self.rows.borrow_mut().requests += &line;
    }

    /// Appends to `dns.csv` the row after its first column.
    pub(crate) fn dns(&self, time: Time, row: &str) {
        let line = format!("{},{row}\n", time.as_ns());
        self.rows.borrow_mut().dns += &line;
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        let rows = self.rows.borrow();
        let write = |name: &str, columns: &str, body: &str| {
            let path = folder.join(name);
            fs::write(&path, format!("{columns}\n{body}")).map_err(at(path))
        };
        let connection = format!(
            "start_ns,end_ns,{TUPLE},connected_ns,last_byte_ns,requests,bytes_requested,bytes_got,\
             bytes_posted,congestion_control,slow,outcome"
        );
        let request = format!(
            "time_ns,{TUPLE},method,host,path,content_type,content_length,posted_bytes,\
             first_byte_ns,end_ns"
        );
        let question = format!("time_ns,{TUPLE},name,rcode,latency_ms,retries");
        write("workload.csv", &connection, &rows.connections)?;
        write("requests.csv", &request, &rows.requests)?;
        write("dns.csv", &question, &rows.dns)
    }
}

impl Drop for ConnectionRecord {
    fn drop(&mut self) {
        let optional = |time: Option<Time>| time.map_or(String::new(), |t| t.as_ns().to_string());
        let line = format!(
            "{},{},{},{},{},{},{},{},{},{},{},{}\n",
            self.start.as_ns(),
            self.log.clock.now().as_ns(),
            self.tuple,
            optional(self.connected),
            optional(self.last_byte),
            self.requests_done,
            self.bytes_requested,
            self.bytes_got,
            self.bytes_posted,
            self.congestion_control,
            self.slow,
            self.outcome
        );
        self.log.rows.borrow_mut().connections += &line;
    }
}
