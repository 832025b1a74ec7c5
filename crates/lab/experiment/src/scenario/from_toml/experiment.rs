//! A whole scenario.

use super::autorate::autorate;
use super::element::Link;
use super::files::Files;
use super::flow::{Hosts, flows, number};
use super::kernel_queue;
use super::radio::rrc;
use crate::scenario::PARTS_AROUND;
use crate::scenario::experiment::{Experiment, Flow, Hop};
use crate::scenario::toml::{Error, Keys, Node, Value};
use unbloat_link::element::per_client;
use unbloat_link::radio::sleep;
use unbloat_params::Settings;
use unbloat_params::range::{PERIOD, SPAN};
use unbloat_qdisc::Host;
use unbloat_units::{Both, Delta, Direction};
use unbloat_workload::Config as Workload;

/// Makes an experiment of a scenario from which `[sweep]` and `[score]` were taken.
pub fn build(scenario: &Node, files: Files<'_>) -> Result<Experiment, Error> {
    let mut keys = Keys::of(scenario, "")?;
    let head = keys
        .take("scenario")
        .unwrap_or_else(|| Node::table(keys.origin().clone()));
    let (links, entries, shaped_by) = (keys.take("link"), keys.take("flow"), keys.take("autorate"));
    // Taken before, but they belong among what is allowed.
    for part in PARTS_AROUND {
        keys.take(part);
    }
    let missing = |message| Error::new(keys.origin().clone(), "", message);
    let no_links = missing("[link.down] and [link.up] are missing: the path");
    let no_flow = missing("[[flow]] is missing; at least one flow is needed");
    keys.end()?;
    let mut links = links.ok_or(no_links)?;
    let entries = entries.ok_or(no_flow)?;

    let mut head = Keys::of(&head, "scenario")?;
    let kernel_queues = kernel_queue::take(&mut links)?;
    let (flows, hosts) = all_flows(&entries)?;
    let path = paths(&links, files, &hosts)?;
    kernel_queue::check(&kernel_queues, &links, &flows)?;
    let counts_differ = |flow: &&Flow| {
        let passed = |hop: &&Hop| hop.clients.include(flow.client);
        let count = |hops: &Vec<Hop>| hops.iter().filter(passed).count();
        let counts = path.hops.as_ref().map(count);
        is_traceroute(flow) && counts.down != counts.up
    };
    if let Some(flow) = flows.iter().find(counts_differ) {
        let message = format!(
            "flow {:?}: app \"traceroute\" needs as many hops in [link.down] as in [link.up], for an answer returns along the hops that its probe passed",
            flow.name
        );
        return Err(Error::new(links.origin.clone(), "link", message));
    }
    let rates = shaped_by.map(|node| autorate(&node, &path.hops.down, &path.hops.up));
    let mut experiment = Experiment {
        name: head.or("name", String::new())?,
        about: head.or("about", String::new())?,
        duration: head.within("duration", Delta::secs(60), &PERIOD)?,
        warmup: head.within("warmup", Delta::ZERO, &SPAN)?,
        seed: head.or("seed", 1)?,
        start_jitter: head.maybe_within("start_jitter", &SPAN)?,
        sample_every: None,
        interval: Delta::secs(1),
        flow_layers: head.or("flow_layers", false)?,
        keeps_series: true,
        down: path.hops.down,
        up: path.hops.up,
        kernel_queues,
        shares_radio: path.shares_radio,
        autorate: rates.transpose()?.flatten(),
        flows,
        hosts,
    };
    if experiment.warmup >= experiment.duration {
        return Err(head.fault("\"duration\" must be longer than \"warmup\""));
    }
    if connections(&experiment) > MAX_CONNECTIONS {
        return Err(head.fault(format!(
            "flows of app \"web\" would open more than {MAX_CONNECTIONS} connections in all; make \"every\" longer, or \"duration\" shorter"
        )));
    }
    experiment.sample_every = Some(sample_every(&mut head, &experiment)?);
    experiment.interval = interval(&mut head, &experiment)?;
    head.end()?;
    Ok(experiment)
}

/// A full link keeps all of them open, at some 10 kB each.
const MAX_CONNECTIONS: f64 = 200_000.0;

/// How many are opened on average by what does not wait for the one before.
fn connections(experiment: &Experiment) -> f64 {
    let of = |flow: &Flow| match &flow.workload {
        Workload::Web(params) => experiment.duration.as_secs() / params.every.as_secs(),
        _ => 0.0,
    };
    experiment.flows.iter().map(of).sum()
}

fn is_traceroute(flow: &Flow) -> bool {
    matches!(flow.workload, Workload::Traceroute(_))
}

/// More rows of a series than this are a slip of the pen: they are kept until the run is written.
pub const MAX_SERIES_ROWS: u64 = 10_000_000;
/// What the defaults keep to.
const DEFAULT_ROWS: u64 = 2_000_000;

/// As often as asked for; each 10 ms if nothing is said, or as often as there is room.
fn sample_every(head: &mut Keys, experiment: &Experiment) -> Result<Delta, Error> {
    let hops = experiment.down.len() + experiment.up.len();
    let rows = (2 + 4 * hops + experiment.flows.len()) as u64;
    bounded(head, "sample_every", Delta::ms(10), rows, experiment)
}

/// A second if nothing is said, or as often as there is room.
fn interval(head: &mut Keys, experiment: &Experiment) -> Result<Delta, Error> {
    let layers = if experiment.flow_layers { 5 } else { 0 };
    let rows = 2 * experiment.flows.len().max(1) as u64 * (1 + layers);
    let given = bounded(head, "interval", Delta::secs(1), rows, experiment)?;
    match given > Delta::ZERO {
        true => Ok(given),
        false => Err(head.fault("\"interval\" must be longer than 0 s")),
    }
}

/// A span at each of which a series gets so many rows.
fn bounded(
    head: &mut Keys,
    name: &'static str,
    usual: Delta,
    rows: u64,
    experiment: &Experiment,
) -> Result<Delta, Error> {
    let least = |most: u64| Delta::ns(experiment.duration.as_ns() / (most / rows) as i64);
    match head.maybe_within(name, &SPAN)? {
        None => Ok(least(DEFAULT_ROWS).max(usual)),
        Some(every) if every > Delta::ZERO && every < least(MAX_SERIES_ROWS) => {
            Err(head.fault(format!(
                "\"{name}\" must be at least {} here; the limit is {MAX_SERIES_ROWS} rows",
                least(MAX_SERIES_ROWS)
            )))
        }
        Some(every) => Ok(every),
    }
}

/// Both directions of a path.
#[derive(Clone, Debug)]
pub struct BothWays {
    /// What packets meet, hop by hop in order.
    pub hops: Both<Vec<Hop>>,
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
}

/// Makes a path of what stands under `[link]`, without anybody who uses it.
pub fn path(links: &Node, files: Files<'_>) -> Result<BothWays, Error> {
    paths(links, files, &[])
}

/// The path of all, and those that single clients have to themselves.
fn paths(links: &Node, files: Files<'_>, hosts: &[String]) -> Result<BothWays, Error> {
    let mut keys = Keys::of(links, "link")?;
    let clients = keys.take("clients");
    let shared = one_path(keys, files, hosts)?;
    let is_divided = shared
        .hops
        .iter()
        .flatten()
        .any(|hop| !hop.clients.are_all());
    match clients {
        Some(clients) if is_divided => Err(Error::new(
            clients.origin,
            "link.clients",
            "cannot be combined with \"clients\" of a hop; give each of these clients hops of its own",
        )),
        Some(clients) => per_client(shared, &clients, files, hosts),
        None => Ok(shared),
    }
}

/// `[link.clients.NAME]`, each with the keys of `[link]`.
fn per_client(
    shared: BothWays,
    clients: &Node,
    files: Files<'_>,
    hosts: &[String],
) -> Result<BothWays, Error> {
    let Value::Table(tables) = &clients.value else {
        let message = "expected a table for each client: [link.clients.NAME.down]";
        return Err(Error::new(clients.origin.clone(), "link.clients", message));
    };
    let lengths = |path: &BothWays| path.hops.as_ref().map(Vec::len);
    let mut own = Vec::new();
    for (name, table) in tables {
        let key = format!("link.clients.{name}");
        let fault = |message| Error::new(table.origin.clone(), key.clone(), message);
        let Some(number) = hosts.iter().position(|host| host == name) else {
            return Err(fault(format!("no flow has the client {name:?}")));
        };
        let path = one_path(Keys::of(table, &key)?, files, hosts)?;
        if path.hops.iter().flatten().any(|hop| !hop.clients.are_all()) {
            return Err(fault(
                "only hops of [link.down] and [link.up] can have \"clients\"".to_owned(),
            ));
        }
        if lengths(&path) != lengths(&shared) {
            let message = "needs as many hops as [link.down] and [link.up] have";
            return Err(fault(message.to_owned()));
        }
        own.push((Host(number as u32), path));
    }
    let shares_radio = shared.shares_radio || own.iter().any(|(_, path)| path.shares_radio);
    let split = |direction| -> Vec<Hop> {
        let hops = shared.hops[direction].iter().enumerate();
        let split = hops.map(|(hop, others)| {
            let each = own
                .iter()
                .map(|(host, path)| (*host, path.hops[direction][hop].elements.clone()));
            Hop::from(vec![unbloat_link::Config::PerClient(per_client::Params {
                direction,
                clients: each.collect(),
                others: others.elements.clone(),
            })])
        });
        split.collect()
    };
    Ok(BothWays {
        hops: Both::of(split),
        shares_radio,
    })
}

fn one_path(mut keys: Keys, files: Files<'_>, hosts: &[String]) -> Result<BothWays, Error> {
    let links = Both::try_of(|direction| {
        let node = keys
            .take(direction.name())
            .unwrap_or_else(|| Node::table(keys.origin().clone()));
        Link::hops(&node, &keys.path(direction.name()), direction, files, hosts)
    })?;
    let rrc = rrc(&mut keys)?;
    keys.end()?;
    let base_rtts = links.as_ref().map(|hops| {
        let all = hops.iter().map(|hop| base_rtt(&links, hop));
        all.collect::<Vec<Delta>>()
    });
    let hops = links.zip(base_rtts).map(|(links, base_rtts)| {
        let hops = links.into_iter().zip(base_rtts);
        let hops = hops.map(|(link, base_rtt)| link.hop(base_rtt));
        hops.collect::<Result<Vec<Hop>, Error>>()
    });
    let mut hops = Both::new(hops.down?, hops.up?);
    if let Some(rrc) = rrc {
        // The phone is at the end of one and at the beginning of the other.
        let asleep = |direction| unbloat_link::Config::Rrc(sleep::Params { rrc, direction });
        let ends = Both::new(hops.down.last_mut(), hops.up.first_mut());
        for (hop, direction) in ends.into_iter().zip(Direction::BOTH) {
            if let Some(hop) = hop {
                hop.elements.insert(0, asleep(direction));
            }
        }
    }
    Ok(BothWays {
        hops,
        shares_radio: rrc.is_some(),
    })
}

/// The longest of those whose packets pass a hop.
fn base_rtt(links: &Both<Vec<Link>>, hop: &Link) -> Delta {
    let links = || links.iter().flatten();
    let delay = |passed: &dyn Fn(&Link) -> bool| {
        let delays = links().filter(|link| passed(link)).map(|link| link.delay);
        delays.fold(Delta::ZERO, |sum, delay| sum + delay)
    };
    let named = links().flat_map(|link| link.clients.named());
    let passing = named.filter(|client| hop.clients.include(*client));
    let longest = passing
        .map(|client| delay(&|link| link.clients.include(client)))
        .max();
    // Clients that no hop names pass those that name none.
    longest.unwrap_or_else(|| delay(&|link| link.clients.are_all()))
}

/// And the names of their hosts.
fn all_flows(entries: &Node) -> Result<(Vec<Flow>, Vec<String>), Error> {
    let Value::Array(entries) = &entries.value else {
        return Err(Error::new(
            entries.origin.clone(),
            "flow",
            "expected an array; write [[flow]] once for each flow",
        ));
    };
    let (mut hosts, mut all) = (Hosts::default(), Vec::new());
    for (entry, index) in entries.iter().zip(0..) {
        flows(entry, &format!("flow.{index}"), &mut hosts, &mut all)?;
    }
    number(&mut all);
    Ok((all, hosts.names()))
}
