//! What is to be run, with nothing left to look up.

use crate::outcome::{AppTime, PathRecord, RadioRecord};
use fastrand::Rng;
use std::collections::BTreeSet;
use unbloat_link::{Config as Element, carriable};
use unbloat_qdisc::{Dscp, Host};
use unbloat_tcp::{receiver, sender};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};
use unbloat_workload::Config as Workload;

/// One hop of a direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hop {
    /// What packets meet, in order.
    pub elements: Vec<Element>,
    pub clients: Passers,
}

/// A hop that all packets pass.
impl From<Vec<Element>> for Hop {
    fn from(elements: Vec<Element>) -> Hop {
        Hop {
            elements,
            clients: Passers::All,
        }
    }
}

/// The clients whose packets pass a hop. So flows share some links and not others.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Passers {
    #[default]
    All,
    Only(BTreeSet<Host>),
}

impl Passers {
    pub fn are_all(&self) -> bool {
        matches!(self, Passers::All)
    }

    pub fn include(&self, client: Host) -> bool {
        match self {
            Passers::All => true,
            Passers::Only(clients) => clients.contains(&client),
        }
    }

    /// Those that are named.
    pub fn named(&self) -> impl Iterator<Item = Host> {
        let named = match self {
            Passers::All => None,
            Passers::Only(clients) => Some(clients),
        };
        named.into_iter().flatten().copied()
    }
}

/// The network between clients and servers, and what they do on it.
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
    /// Queues of the Linux kernel in front of the first elements of a direction. Only a kernel can run them.
    pub kernel_queues: Both<Option<KernelQueue>>,
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
    /// Who changes the rates of the shapers in the last hop of `down` and the first of `up`.
    pub autorate: Option<Rates>,
    pub flows: Vec<Flow>,
    /// Names of hosts by their numbers.
    pub hosts: Vec<String>,
    /// How often queues and windows are sampled; no value: never.
    pub sample_every: Option<Delta>,
    /// Intervals over which goodput is averaged.
    pub interval: Delta,
    /// Follows each flow's packets through the layers of the device that sends them.
    pub flow_layers: bool,
    /// Keeps series of samples and intervals, not only what results are made of.
    pub keeps_series: bool,
}

impl Experiment {
    /// A round trip or a few, and many packets at any rate of interest; little beside what is measured.
    pub const REPEATED_START_JITTER: Delta = Delta::ms(100);

    /// Notes in the records of a run what its path could have carried until `end`. A direction carries what the narrowest of the
    /// hops that all packets pass does.
    pub fn note_carriable(
        &self,
        paths: &mut Both<PathRecord>,
        hops: &mut Both<Vec<PathRecord>>,
        end: Time,
    ) {
        let start = Time::from_ns(0);
        let span = (start + self.warmup, end);
        // As those who run it build the path.
        let mut rng = Rng::with_seed(self.seed);
        for (direction, configs) in [(Direction::Down, &self.down), (Direction::Up, &self.up)] {
            let each: Vec<_> = configs
                .iter()
                .map(|hop| carriable(&hop.elements, start, span, &mut rng))
                .collect();
            let shared = each.iter().zip(configs);
            let shared = shared.filter(|(_, hop)| hop.clients.are_all());
            paths[direction].carriable = shared.filter_map(|(bytes, _)| *bytes).min();
            for (record, bytes) in hops[direction].iter_mut().zip(each) {
                record.carriable = bytes;
            }
        }
    }

    /// Radios with the names that they have in results: `radio`, and `radio.CLIENT` for one that a client has to itself.
    pub fn named_radios(&self, records: Vec<RadioRecord>) -> Vec<(String, RadioRecord)> {
        let name = |record: &RadioRecord| {
            let client = record
                .client
                .and_then(|host| self.hosts.get(host.0 as usize));
            client.map_or("radio".to_owned(), |client| format!("radio.{client}"))
        };
        let named = records.into_iter().map(|record| (name(&record), record));
        named.collect()
    }

    /// Whether a packet of any client takes some time there and back. On a path without rate and delay any amount passes at one
    /// moment, which then never ends.
    pub fn takes_time(&self) -> bool {
        if self.kernel_queues.iter().any(Option::is_some) {
            return true;
        }
        let mut flows = self.flows.iter();
        flows.all(|flow| {
            let hops = self.down.iter().chain(&self.up);
            let mut elements = hops
                .filter(|hop| hop.clients.include(flow.client))
                .flat_map(|hop| &hop.elements);
            elements.any(|element| holds_up(element, flow.client))
        })
    }

    /// When each flow ends: with the run at the latest.
    pub fn ends(&self, end: Time) -> Vec<Time> {
        let stop = |(flow, late): (&Flow, Delta)| flow.stop.map_or(end, |at| end.min(at + late));
        self.flows
            .iter()
            .zip(self.start_delays())
            .map(stop)
            .collect()
    }

    /// How long an application waited for what after the warm-up; where series are kept.
    pub fn times(&self, workload: &impl unbloat_workload::Workload) -> Vec<AppTime> {
        let warm_at = Time::from_ns(0) + self.warmup;
        let mut times = Vec::new();
        if self.keeps_series {
            workload.each_time(&mut |what, at, took| {
                if at >= warm_at {
                    times.push(AppTime { at, what, took });
                }
            });
        }
        times.sort_by_key(|time| time.at);
        times
    }

    /// Rows that the series of a run have at most: of samples (of both directions, the places of each hop, and the flows, most of
    /// which have one connection at a time) and of intervals.
    pub fn series_rows(&self) -> u64 {
        let hops = self.down.len() + self.up.len();
        let sampled = (2 + 4 * hops + self.flows.len()) as u64;
        let layers = if self.flow_layers { 5 } else { 0 };
        let per_interval = 2 * self.flows.len() as u64 * (1 + layers);
        let times = |every: Delta| {
            self.duration
                .as_ns()
                .checked_div(every.as_ns())
                .unwrap_or(0)
        };
        let samples = self.sample_every.map_or(0, times) as u64;
        samples * sampled + times(self.interval) as u64 * per_interval
    }

    /// How much later than planned each flow begins and ends. Drawn apart from all else, so that it changes no other draw.
    pub fn start_delays(&self) -> Vec<Delta> {
        const STARTS: u64 = 0x7374_6172_7473;
        let mut rng = Rng::with_seed(self.seed ^ STARTS);
        let most_ns = self.start_jitter.map_or(0, Delta::as_ns);
        self.flows
            .iter()
            .map(|_| Delta::ns(rng.i64(0..=most_ns)))
            .collect()
    }
}

/// Whether every packet of a client takes some time through an element. Losses, outages, detours, holds and sleeping radios leave
/// packets that pass at once.
fn holds_up(element: &Element, client: Host) -> bool {
    match element {
        Element::Bottleneck(_)
        | Element::Device(_)
        | Element::LteDownlink(_)
        | Element::LteUplink(_) => true,
        Element::Delay(params) => params.delay > Delta::ZERO,
        Element::Jitter(params) => params.jitter > Delta::ZERO,
        Element::PerClient(params) => {
            let own = params.clients.iter().find(|(host, _)| *host == client);
            let mut elements = own.map_or(&params.others, |(_, own)| own).iter();
            elements.any(|one| holds_up(one, client))
        }
        _ => false,
    }
}

/// An application that reads more slowly than data comes, so that the receive window closes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reader {
    pub rate: Rate,
    /// So much it reads at once before.
    pub ahead: Bytes,
}

/// Who changes the rates of a router's shapers.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// A law, by what it sees.
    Law(unbloat_autorate::Params),
    /// Nobody whom there could be: the line is known. What a law can come to at most.
    Oracle(Oracle),
}

/// Has the rate of each shaper be what the line beside it carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Oracle {
    /// Beside each shaper that there is.
    pub lines: Both<Option<unbloat_link::service::Config>>,
    /// Mean over this.
    pub over: Delta,
    /// Which ends so much later than now.
    pub ahead: Delta,
    /// Or so much earlier.
    pub behind: Delta,
    /// Of that mean.
    pub share: f64,
}

/// A queue discipline of the Linux kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQueue {
    /// As `tc` is told it: `fq_codel limit 1000`.
    pub words: String,
    pub pace: Pace,
    /// What the rate counts of a packet besides its length at IP level.
    pub overhead_bytes: i32,
}

/// How fast a queue of the kernel's is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it gives packets out, for it keeps to a rate by itself.
    Own,
    /// As a link of this rate would do it.
    Rate(Rate),
    /// As the first link of the path behind it does, whose rate varies.
    Link,
}

/// One workload and the connections that it uses.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Distinct from those of all other flows.
    pub name: String,
    /// The name that the scenario gives it, which several flows may share.
    pub group: String,
    /// Without it, it does nothing. It still draws what is random, so that the others do not draw otherwise.
    pub is_enabled: bool,
    pub workload: Workload,
    pub start: Time,
    pub stop: Option<Time>,
    /// Sender of each direction's data.
    pub senders: Both<sender::Params>,
    /// Receiver of each direction's data: that of the downlink's is the client.
    pub receivers: Both<receiver::Params>,
    /// How the application reads each direction's data; none: as soon as it can.
    pub readers: Both<Option<Reader>>,
    /// Tick of the TCP timestamps of the host that sends each direction's data, as the wire shows them.
    pub timestamp_ticks: Both<Delta>,
    /// One-way delay of this flow besides that of the path, in each direction.
    pub extra_delay: Delta,
    pub client: Host,
    pub server: Host,
    pub dscp: Dscp,
}
