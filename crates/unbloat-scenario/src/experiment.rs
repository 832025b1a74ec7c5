//! What is to be run, with nothing left to look up.

use unbloat_link::Config as Element;
use unbloat_queue::{Dscp, Host};
use unbloat_tcp::{receiver, sender};
use unbloat_units::{Delta, Time};
use unbloat_workload::Config as Workload;

/// What packets meet on one hop, in order.
pub type Hop = Vec<Element>;

/// One path between clients and servers, and what they do on it.
#[derive(Clone, Debug)]
pub struct Experiment {
    pub name: String,
    pub about: String,
    pub duration: Delta,
    /// Left out of results.
    pub warmup: Delta,
    pub seed: u64,
    /// Each flow begins (and ends) later by a random time up to this. Where nothing else is random, repeats would otherwise be
    /// one and the same run; and flows that begin at the same instant stay in step with each other's packets (phase effects:
    /// Floyd, Jacobson 1992). No value: none in a single run, [`Experiment::REPEATED_START_JITTER`] where runs are repeated.
    pub start_jitter: Option<Delta>,
    /// What packets towards the client meet, hop by hop in order.
    pub down: Vec<Hop>,
    pub up: Vec<Hop>,
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
    pub flows: Vec<Flow>,
    /// How often queues and windows are sampled; no value: never.
    pub sample_every: Option<Delta>,
}

impl Experiment {
    /// A round trip or a few, and many packets at any rate of interest; little beside what is measured.
    pub const REPEATED_START_JITTER: Delta = Delta::ms(100);
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
