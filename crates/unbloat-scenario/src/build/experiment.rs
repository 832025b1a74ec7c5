//! A whole scenario.

use super::element::Link;
use super::flow::{Hosts, flows};
use super::kernel_queue;
use super::radio::rrc;
use super::ranges::{PERIOD, SPAN};
use crate::experiment::{Experiment, Flow};
use crate::text::{Error, Keys, Node, Value};
use unbloat_link::radio::rrc::Direction;
use unbloat_link::radio::sleep;
use unbloat_units::Delta;

/// Gives the contents of a file that a scenario names, uncompressed.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Makes an experiment of a scenario from which `[sweep]` and `[score]` were taken.
pub fn build(scenario: &Node, files: Files<'_>) -> Result<Experiment, Error> {
    let mut keys = Keys::of(scenario, "")?;
    let head = keys
        .take("scenario")
        .unwrap_or_else(|| Node::table(keys.origin().clone()));
    let mut links = keys
        .take("link")
        .ok_or_else(|| keys.fault("[link.down] and [link.up] are missing: the path"))?;
    let entries = keys
        .take("flow")
        .ok_or_else(|| keys.fault("[[flow]] is missing: nobody uses the path"))?;
    keys.end()?;

    let mut head = Keys::of(&head, "scenario")?;
    let kernel_queues = kernel_queue::take(&mut links)?;
    let path = path(&links, files)?;
    let (flows, hosts) = all_flows(&entries)?;
    let experiment = Experiment {
        name: head.or("name", String::new())?,
        about: head.or("about", String::new())?,
        duration: head.within("duration", Delta::secs(60), &PERIOD)?,
        warmup: head.within("warmup", Delta::ZERO, &SPAN)?,
        seed: head.or("seed", 1)?,
        sample_every: Some(head.within("sample_every", Delta::ms(10), &SPAN)?),
        down: path.down,
        up: path.up,
        kernel_queues,
        shares_radio: path.shares_radio,
        flows,
        hosts,
    };
    if experiment.warmup >= experiment.duration {
        return Err(head.fault("\"duration\" must be longer than \"warmup\""));
    }
    let samples = experiment.sample_every.map_or(0, |every| {
        experiment.duration.as_ns() / every.as_ns().max(1)
    });
    if experiment.sample_every > Some(Delta::ZERO) && samples > MAX_SAMPLES {
        return Err(head.fault(format!(
            "{samples} samples; make \"sample_every\" longer, at most {MAX_SAMPLES} are taken (0 for none)"
        )));
    }
    head.end()?;
    Ok(experiment)
}

/// More samples than this of each queue are a slip of the pen.
const MAX_SAMPLES: i64 = 10_000_000;

type Elements = Vec<unbloat_link::Config>;

/// Both directions of a path.
#[derive(Clone, Debug)]
pub struct BothWays {
    /// What packets towards the client meet, in order.
    pub down: Elements,
    pub up: Elements,
    /// Whether the `rrc` elements of both directions are one radio's.
    pub shares_radio: bool,
}

/// Makes a path of what stands under `[link]`, without anybody who uses it.
pub fn path(links: &Node, files: Files<'_>) -> Result<BothWays, Error> {
    let mut keys = Keys::of(links, "link")?;
    let mut link = |name: &'static str, direction| -> Result<Link, Error> {
        let node = keys
            .take(name)
            .unwrap_or_else(|| Node::table(keys.origin().clone()));
        Link::read(&node, &keys.path(name), direction, files)
    };
    let (down, up) = (link("down", Direction::Down)?, link("up", Direction::Up)?);
    let rrc = rrc(&mut keys)?;
    keys.end()?;
    let base_rtt = down.delay + up.delay;
    let elements = |side: Link, direction| -> Result<Elements, Error> {
        let asleep = rrc.map(|rrc| unbloat_link::Config::Rrc(sleep::Params { rrc, direction }));
        Ok(asleep.into_iter().chain(side.elements(base_rtt)?).collect())
    };
    Ok(BothWays {
        down: elements(down, Direction::Down)?,
        up: elements(up, Direction::Up)?,
        shares_radio: rrc.is_some(),
    })
}

/// And the names of their hosts.
fn all_flows(entries: &Node) -> Result<(Vec<Flow>, Vec<String>), Error> {
    let Value::Array(entries) = &entries.value else {
        return Err(Error::new(
            entries.origin.clone(),
            "flow",
            "an array is wanted; write [[flow]], once for each",
        ));
    };
    let (mut hosts, mut all) = (Hosts::default(), Vec::new());
    for (entry, index) in entries.iter().zip(0..) {
        flows(entry, &format!("flow.{index}"), &mut hosts, &mut all)?;
    }
    Ok((all, hosts.names()))
}
