//! What is to be run, with nothing left to look up.

use unbloat_link::Config as Element;
use unbloat_queue::{Dscp, Host};
use unbloat_tcp::{receiver, sender};
use unbloat_units::{Delta, Rate, Time};
use unbloat_workload::Config as Workload;

/// One path between clients and servers, and what they do on it.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub name: String,
    pub about: String,
    pub duration: Delta,
    /// Left out of results.
    pub warmup: Delta,
    pub seed: u64,
    /// What packets towards the client meet, in order.
    pub down: Vec<Element>,
    pub up: Vec<Element>,
    /// Queues of the Linux kernel in front of the first elements of `down` and of `up`. Only a kernel can run them.
    pub kernel_queues: [Option<KernelQueue>; 2],
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
    pub flows: Vec<Flow>,
    /// Names of hosts by their numbers.
    pub hosts: Vec<String>,
    /// How often queues and windows are sampled; no value: never.
    pub sample_every: Option<Delta>,
}

/// A queue discipline of the Linux kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQueue {
    /// As `tc` is told it: `fq_codel limit 1000`.
    pub words: String,
    /// At which it is emptied; none: as fast as it gives packets out, for it keeps to a rate by itself.
    pub rate: Option<Rate>,
    /// What the rate counts of a packet besides its length at IP level.
    pub overhead_bytes: i32,
}

/// One workload and the connections that it uses.
#[derive(Clone, Debug)]
pub struct Flow {
    pub name: String,
    pub workload: Workload,
    pub start: Time,
    pub stop: Option<Time>,
    /// Sender of each side's data: downlink, then uplink.
    pub senders: [sender::Params; 2],
    /// Receiver of each side's data: that of the downlink's is the client.
    pub receivers: [receiver::Params; 2],
    /// One-way delay of this flow besides that of the path, in each direction.
    pub extra_delay: Delta,
    pub client: Host,
    pub server: Host,
    pub dscp: Dscp,
}
