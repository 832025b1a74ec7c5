//! What the applications at both ends do, and their own record of it.
//!
//! | file | one row for |
//! |---|---|
//! | `workload.csv` | each TCP connection that a client opened or tried to |
//! | `requests.csv` | each HTTP request on them |
//! | `dns.csv` | each DNS question, retries included in its row |

mod client;
mod dns;
mod log;
mod plan;
mod server;

pub use plan::{Bulk, CongestionControl, Dns, Traffic, Web};

pub(crate) use client::run as run_clients;
pub(crate) use log::WorkloadLog;
pub(crate) use server::run as run_server;

use std::net::Ipv4Addr;

/// The one server.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);
/// Routed to the server's namespace but nobody's address: what is sent there gets no answer.
pub(crate) const DARK: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);
pub(crate) const PORTS: [u16; 3] = [80, 8080, 443];

/// Content types with their share of flows in the LTE study (SIGCOMM 2013, section 4.1); the last
/// response names none.
const CONTENT_TYPES: [(&str, f64); 7] = [
    ("video/mp4", 0.38),
    ("image/jpeg", 0.195),
    ("text/html", 0.118),
    ("application/zip", 0.083),
    ("audio/mpeg", 0.065),
    ("application/octet-stream", 0.056),
    ("", 0.103),
];
