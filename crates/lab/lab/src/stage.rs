//! The hosts of an experiment and what joins them.
//!
//! Each host that is a client of some flow gets a network namespace with a device of its own, and so does each that is a
//! server; the emulator sits at the other ends of the devices. A host that is both gets one for each role. Where a queue is the
//! kernel's, a router stands between the hosts of the sending side and the emulator.

use crate::ends::Ends;
use crate::error::LabError;
use crate::mapping::Mapping;
use crate::run::Options;
use std::collections::BTreeMap;
use std::fs::File;
use std::net::Ipv4Addr;
use tracing::{debug, info};
use unbloat_emulator::{ExtraDelay, Side, Tick, Timing};
use unbloat_experiment::scenario::{Experiment, Hop, Passers};
use unbloat_link::Config as Element;
use unbloat_link::element::per_client;
use unbloat_netns::Bed;
use unbloat_qdisc::Host;
use unbloat_units::Delta;
use unbloat_workload_host::{Site, server_port};

/// Of every host, towards the path.
pub(crate) const DEVICE: &str = "path";
/// Addresses that the emulator routes by their first two bytes: of servers, then of clients.
const NETS: [u8; 2] = [99, 45];
const SIDES: [Side; 2] = [Side::Server, Side::Client];
/// Of a side.
const MOST_HOSTS: usize = 60_000;

/// A place where flows end, or a user's command runs.
pub struct Place {
    pub host: unbloat_netns::Host,
    pub address: Ipv4Addr,
    /// Whether its device towards the path is an Ethernet device; else packets begin with their IP headers.
    pub(crate) is_on_ethernet: bool,
}

/// Numbers of sites by those of hosts.
pub type Numbers = BTreeMap<u32, usize>;

/// The hosts of a run. They go away when it is dropped.
pub struct Stage {
    /// Servers by their numbers in the experiment, then clients.
    pub sides: [BTreeMap<u32, Place>; 2],
    pub(crate) ends: Ends,
    _bed: Bed,
}

impl Stage {
    /// Makes what the experiment needs.
    pub fn build(
        experiment: &Experiment,
        mapping: &Mapping,
        options: &Options<'_>,
    ) -> Result<Stage, LabError> {
        let bed = Bed::new()?;
        let mut sides = [BTreeMap::new(), BTreeMap::new()];
        let is_virtual = options.timing == Timing::Sleep;
        let mut ends = Ends::new(&bed, is_virtual, options.has_offloads)?;
        for (side, queue) in experiment.kernel_queues.iter().enumerate() {
            let queue = queue.as_ref();
            let numbers = experiment.flows.iter().map(|flow| match SIDES[side] {
                Side::Server => flow.server.0,
                Side::Client => flow.client.0,
            });
            let mut numbers: Vec<_> = numbers.collect();
            numbers.sort_unstable();
            numbers.dedup();
            if numbers.len() > MOST_HOSTS {
                return Err(LabError::Hosts {
                    count: numbers.len(),
                    most: MOST_HOSTS,
                });
            }
            for (nth, number) in numbers.into_iter().enumerate() {
                let name = role(experiment, side, number);
                let host = bed.host(&name)?;
                for (key, value) in mapping.settings_of((side, number)) {
                    host.set(&key, value)?;
                }
                let address = address(NETS[side], nth);
                debug!(host = name, %address, side, "host stands");
                let place = Place {
                    host,
                    address,
                    is_on_ethernet: is_virtual || queue.is_some(),
                };
                sides[side].insert(number, place);
            }
            ends.join(&bed, SIDES[side], sides[side].values(), queue)?;
            for (number, place) in &sides[side] {
                if mapping.is_bounded((side, *number)) {
                    place.host.single_segments(DEVICE)?;
                }
            }
        }
        info!(
            servers = sides[0].len(),
            clients = sides[1].len(),
            "hosts made"
        );
        Ok(Stage {
            sides,
            ends,
            _bed: bed,
        })
    }

    /// Where sockets are opened, and the numbers there of servers and clients.
    pub fn sites(&self) -> Result<(Vec<Site>, [Numbers; 2]), LabError> {
        let mut sites = Vec::new();
        let mut all = [Numbers::new(), Numbers::new()];
        for (places, numbers) in self.sides.iter().zip(&mut all) {
            for (number, place) in places {
                numbers.insert(*number, sites.len());
                let namespace = place
                    .host
                    .within(|| File::open("/proc/thread-self/ns/net"))?;
                sites.push(Site {
                    namespace: Some(namespace.map_err(LabError::File)?),
                    address: place.address,
                });
            }
        }
        Ok((sites, all))
    }

    /// The host of that name.
    pub fn place(&self, name: &str) -> Result<&Place, LabError> {
        let places = || self.sides.iter().flat_map(BTreeMap::values);
        let found = places().find(|place| place.host.role() == name);
        found.ok_or_else(|| {
            let known: Vec<_> = places().map(|place| place.host.role()).collect();
            LabError::NoHost {
                host: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    /// Settings of TCP by hosts.
    pub fn settings(&self) -> Result<BTreeMap<String, Vec<(String, String)>>, LabError> {
        let places = self.sides.iter().flat_map(BTreeMap::values);
        places
            .map(|place| Ok((place.host.role().to_owned(), place.host.settings()?)))
            .collect()
    }

    /// What packets of a direction meet, clients by the addresses that they have here.
    pub fn addressed(&self, hops: &[Hop]) -> Vec<Hop> {
        let here = |Host(number): &Host| {
            let place = self.sides[1].get(number)?;
            Some(Host(place.address.to_bits()))
        };
        let addressed =
            |(client, elements): &(_, Vec<Element>)| Some((here(client)?, elements.clone()));
        let element = |element: &Element| match element {
            Element::PerClient(params) => Element::PerClient(per_client::Params {
                clients: params.clients.iter().filter_map(addressed).collect(),
                ..params.clone()
            }),
            other => other.clone(),
        };
        let hops = hops.iter().map(|hop| Hop {
            elements: hop.elements.iter().map(element).collect(),
            clients: match &hop.clients {
                Passers::All => Passers::All,
                Passers::Only(clients) => Passers::Only(clients.iter().filter_map(here).collect()),
            },
        });
        hops.collect()
    }

    /// Clocks of hosts that are coarser than the kernel's.
    pub(crate) fn ticks(&self, mapping: &Mapping) -> Vec<Tick> {
        let all = mapping.ticks.iter();
        let coarse = all.filter(|(_, tick)| **tick > Delta::ms(1));
        let ticks = coarse.filter_map(|((side, number), tick)| {
            Some(Tick {
                host: self.sides[*side].get(number)?.address.into(),
                tick: *tick,
            })
        });
        ticks.collect()
    }

    /// What delays single flows, by their ports.
    pub fn extra_delays(&self, experiment: &Experiment) -> Vec<ExtraDelay> {
        let flows = experiment.flows.iter().zip(0..);
        let delayed = flows.filter(|(flow, _)| flow.extra_delay > Delta::ZERO);
        let delays = delayed.filter_map(|(flow, number)| {
            Some(ExtraDelay {
                client: self.sides[1].get(&flow.client.0)?.address.into(),
                server: self.sides[0].get(&flow.server.0)?.address.into(),
                server_port: Some(server_port(number)),
                delay: flow.extra_delay,
            })
        });
        delays.collect()
    }
}

fn address(net: u8, nth: usize) -> Ipv4Addr {
    let [.., high, low] = (nth as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, net, high, low)
}

/// A name that namespaces may have.
fn role(experiment: &Experiment, side: usize, number: u32) -> String {
    let fallback = ["server", "client"][side];
    let name = experiment.hosts.get(number as usize);
    let name = name.map_or(fallback, String::as_str).to_lowercase();
    let fit: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let is_plain = fit == name && !fit.is_empty();
    let is_both = experiment.flows.iter().any(|flow| flow.client.0 == number)
        && experiment.flows.iter().any(|flow| flow.server.0 == number);
    match (is_plain, is_both) {
        (true, false) => fit,
        (true, true) => format!("{fit}-{fallback}"),
        (false, _) => format!("{fit}-{fallback}-{number}"),
    }
}
