//! How much memory the connections of an experiment can fill.
//!
//! A kernel whose TCP exceeds `tcp_mem` shrinks windows and send buffers (`tcp_enter_memory_pressure`,
//! `sk_stream_moderate_sndbuf`), and receivers drop segments (`tcp_prune_queue`): the path then never sees the scenario's
//! windows. A guest has one purpose, so its memory and its `tcp_mem` follow from the scenario.

use crate::error::LabError;
use crate::mapping::Mapping;
use std::path::PathBuf;
use unbloat_experiment::scenario::Experiment;
use unbloat_units::Bytes;
use unbloat_workload_host::Tcp;

/// Largest buffers of a socket that autotuning sizes, as hosts of the lab have them (`tcp_wmem`, `tcp_rmem`).
const SEND: Bytes = Bytes::new(4 << 20);
const RECEIVE: Bytes = Bytes::new(6 << 20);
/// Memory per byte of receive window where `tcp_rmem` is raised for a larger window (see the mapping).
const RECEIVE_PER_WINDOW: u64 = 2;
/// What a guest needs for everything else: programs, captures, file cache.
const BASE: Bytes = Bytes::new(1 << 30);
/// The host has to have what a guest fills.
const MOST: Bytes = Bytes::new(16 << 30);
const PAGE: u64 = 4096;
const TCP_MEM: &str = "/proc/sys/net/ipv4/tcp_mem";

/// Bounds on what sockets hold when all their buffers are full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    send: Bytes,
    receive: Bytes,
}

impl Memory {
    /// One connection per flow; a flow that opens many has short ones.
    pub fn of(experiment: &Experiment) -> Result<Memory, LabError> {
        Ok(Memory::of_sockets(&Mapping::of(&experiment.flows)?.tcp))
    }

    fn of_sockets(ends: &[[Tcp; 2]]) -> Memory {
        ends.iter()
            .flatten()
            .fold(Memory::default(), |sum, tcp| Memory {
                send: sum.send + tcp.send_buffer.unwrap_or(SEND),
                receive: sum.receive + receive_buffer(tcp),
            })
    }

    /// Memory of a guest that never has too little, in MiB.
    ///
    /// What is in flight exists twice: at its sender until it is acknowledged, and on the path.
    pub fn guest_mib(&self) -> u32 {
        let bytes = BASE + self.send + self.send + self.receive;
        (bytes.min(MOST).as_u64() >> 20) as u32
    }

    /// Lets TCP of this kernel use it all without memory pressure. For a kernel that serves this run alone.
    pub(crate) fn allow(&self) -> Result<(), LabError> {
        let write = |source| LabError::Write {
            path: PathBuf::from(TCP_MEM),
            source,
        };
        let before = std::fs::read_to_string(TCP_MEM).map_err(write)?;
        let most = before
            .split_whitespace()
            .filter_map(|word| word.parse().ok());
        let pages = self.pages().max(most.max().unwrap_or(0));
        std::fs::write(TCP_MEM, format!("{pages} {pages} {pages}")).map_err(write)
    }

    /// Twice what is needed: a receive buffer may exceed its limit by what arrives while its owner is busy.
    fn pages(&self) -> u64 {
        (self.send + self.receive).as_u64() * 2 / PAGE
    }
}

fn receive_buffer(tcp: &Tcp) -> Bytes {
    let of_window = |clamp: Bytes| RECEIVE.max(Bytes::new(clamp.as_u64() * RECEIVE_PER_WINDOW));
    let autotuned = || tcp.window_clamp.map_or(RECEIVE, of_window);
    tcp.receive_buffer.unwrap_or_else(autotuned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(tcp: Tcp, flows: usize) -> Memory {
        Memory::of_sockets(&vec![[tcp.clone(), tcp]; flows])
    }

    #[test]
    fn a_few_flows_fit_the_smallest_guest() {
        let few = memory(Tcp::default(), 10);
        assert_eq!(few.send, Bytes::new(80 << 20));
        assert_eq!(few.receive, Bytes::new(120 << 20));
        assert_eq!(few.guest_mib(), 1024 + 280);
    }

    #[test]
    fn large_windows_get_more_memory() {
        let window = 12_000_000;
        let autotuned = Tcp {
            window_clamp: Some(Bytes::new(window)),
            ..Tcp::default()
        };
        assert_eq!(memory(autotuned, 25).receive, Bytes::new(window * 100));
        let fixed = Tcp {
            receive_buffer: Some(Bytes::new(window * 4)),
            window_clamp: Some(Bytes::new(window)),
            ..Tcp::default()
        };
        assert_eq!(memory(fixed, 25).receive, Bytes::new(window * 200));
    }

    #[test]
    fn a_guest_is_not_larger_than_hosts_are() {
        assert_eq!(memory(Tcp::default(), 5_000).guest_mib(), 16 << 10);
    }
}
