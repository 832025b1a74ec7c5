//! The simulator against formulas, published figures, the kernel, and hostile scenarios.

mod autorate;
mod conservation;
mod datagrams;
mod device;
mod hops;
mod hostile;
mod kernel;
mod late_comers;
mod laws_of_queues;
mod laws_of_tcp;
mod papers_home;
mod referee;
mod results;
mod scenario;
mod shared_hops;
#[expect(dead_code, reason = "examples use the rest")]
mod support;
mod traceroute;
