//! Workloads over the kernel's own TCP and UDP.
//!
//! The workloads of the simulator run unchanged: [`Traffic`] gives them sockets instead of a virtual network. Clients and
//! servers of a run live in one thread with one epoll, each in the network namespace of its [`Site`], so that both ends
//! of a connection are known and times of both ends are of one clock. What a flow's sockets are given is its [`Tcp`];
//! how the kernel saw its connections comes as [`unbloat_os::tcp_info::TcpInfo`] at a fixed pace.
//!
//! System calls are few, because the same code runs in guests where they are what costs: large writes, reads that throw
//! away what they count, no timer besides that of the epoll.

mod agenda;
mod app;
mod class;
mod connection;
mod datagrams;
mod end;
mod error;
mod plan;
mod poll;
mod report;
mod traffic;

pub use datagrams::LEAST_DATAGRAM;
pub use error::TrafficError;
pub use plan::{FIRST_PORT, Plan, Settings, Site, Tcp, server_port};
pub use report::{ConnectionEnd, Ending, FlowReport, Report, Watch};
pub use traffic::Traffic;
