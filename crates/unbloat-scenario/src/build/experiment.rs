//! A whole scenario.

use super::element::Link;
use super::flow::{Hosts, flows};
use crate::experiment::Experiment;
use crate::text::{Error, Keys, Node, Value};
use unbloat_units::Delta;

/// Gives the contents of a file that a scenario names, uncompressed.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Makes an experiment of a scenario from which `[sweep]` and `[score]` were taken.
pub fn build(scenario: &Node, files: Files<'_>) -> Result<Experiment, Error> {
    let mut keys = Keys::of(scenario, "")?;
    let head = keys
        .take("scenario")
        .unwrap_or_else(|| Node::table(keys.origin().clone()));
    let links = keys
        .take("link")
        .ok_or_else(|| keys.fault("[link.down] and [link.up] are missing: the path"))?;
    let entries = keys
        .take("flow")
        .ok_or_else(|| keys.fault("[[flow]] is missing: nobody uses the path"))?;
    keys.end()?;

    let mut head = Keys::of(&head, "scenario")?;
    let (down, up) = path(&links, files)?;
    let experiment = Experiment {
        name: head.or("name", String::new())?,
        about: head.or("about", String::new())?,
        duration: head.or("duration", Delta::secs(60))?,
        warmup: head.or("warmup", Delta::ZERO)?,
        seed: head.or("seed", 1)?,
        sample_every: head.maybe("sample_every")?.or(Some(Delta::ms(10))),
        down,
        up,
        flows: all_flows(&entries)?,
    };
    if experiment.duration <= Delta::ZERO || experiment.warmup >= experiment.duration {
        return Err(head.fault("\"duration\" must be above 0 and longer than \"warmup\""));
    }
    head.end()?;
    Ok(experiment)
}

type Elements = Vec<unbloat_link::Config>;

fn path(links: &Node, files: Files<'_>) -> Result<(Elements, Elements), Error> {
    let mut keys = Keys::of(links, "link")?;
    let mut link = |name: &'static str| -> Result<Link, Error> {
        let node = keys
            .take(name)
            .unwrap_or_else(|| Node::table(keys.origin().clone()));
        Link::read(&node, &keys.path(name), files)
    };
    let (down, up) = (link("down")?, link("up")?);
    keys.end()?;
    let base_rtt = down.delay + up.delay;
    Ok((down.elements(base_rtt)?, up.elements(base_rtt)?))
}

fn all_flows(entries: &Node) -> Result<Vec<crate::experiment::Flow>, Error> {
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
    Ok(all)
}
