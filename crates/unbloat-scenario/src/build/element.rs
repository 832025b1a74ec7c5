//! `[link.down]` and `[link.up]`: what packets of one direction meet, in order: queue and rate, outages, loss, delay, jitter.

use super::experiment::Files;
use super::queue::{Scale, queue};
use crate::text::{Component, Error, Keys, Node};
use serde::Deserialize;
use std::sync::Arc;
use unbloat_link::element::{burst, delay, jitter, loss, outage};
use unbloat_link::service::{bucket, chances, constant, markov, steps};
use unbloat_link::trace::{parse_mahimahi, parse_rates};
use unbloat_link::{BottleneckParams, Cells, Config, Framing, service};
use unbloat_units::{Bytes, Delta, Rate};

/// One direction of the path before its queue is known.
pub(super) struct Link {
    keys: Keys,
    service: Option<service::Config>,
    rate: Rate,
    pub delay: Delta,
    behind: Vec<Config>,
}

impl Link {
    pub(super) fn read(node: &Node, key: &str, files: Files<'_>) -> Result<Link, Error> {
        let mut keys = Keys::of(node, key)?;
        let service = server(&mut keys, files)?;
        let delay = keys.or("delay", Delta::ZERO)?;
        let behind = behind(&mut keys, delay)?;
        let rate = service.as_ref().map_or(Rate::ZERO, mean_rate);
        Ok(Link {
            keys,
            service,
            rate,
            delay,
            behind,
        })
    }

    /// The elements, sizes of the queue taken by the base RTT of the whole path.
    pub(super) fn elements(mut self, base_rtt: Delta) -> Result<Vec<Config>, Error> {
        let node = self.keys.take("queue");
        let framing = framing(&mut self.keys)?;
        let mut elements = Vec::new();
        match self.service {
            Some(service) => {
                let scale = Scale {
                    rate: self.rate,
                    base_rtt,
                };
                let queue = queue(node.as_ref(), &self.keys.path("queue"), scale)?;
                elements.push(Config::Bottleneck(BottleneckParams {
                    queue,
                    service,
                    framing,
                }));
            }
            None if node.is_some() => {
                return Err(self.keys.fault("a queue without a rate never fills; give \"rate\", \"trace\", \"steps\" or \"markov\""));
            }
            None => {}
        }
        self.keys.end()?;
        elements.extend(self.behind);
        Ok(elements)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    span: Delta,
    rate: Rate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    rate: Rate,
    stay: Delta,
    #[serde(default)]
    next: Vec<f64>,
}

/// Rate, trace, steps or Markov chain: one of them, or no bottleneck in this direction.
fn server(keys: &mut Keys, files: Files<'_>) -> Result<Option<service::Config>, Error> {
    let rate: Option<Rate> = keys.maybe("rate")?;
    let burst: Option<Bytes> = keys.maybe("burst")?;
    let trace = keys.take("trace");
    let list: Option<Vec<Step>> = keys.maybe("steps")?;
    let states: Option<Vec<State>> = keys.maybe("markov")?;
    let given = usize::from(rate.is_some())
        + usize::from(trace.is_some())
        + usize::from(list.is_some())
        + usize::from(states.is_some());
    if given > 1 {
        return Err(keys.fault("more than one of \"rate\", \"trace\", \"steps\" and \"markov\""));
    }
    if rate == Some(Rate::ZERO) {
        return Err(keys.fault("\"rate\" is 0; leave it out for a direction without a bottleneck"));
    }
    let constant = rate.map(|rate| match burst {
        Some(burst) => service::Config::Bucket(bucket::Params {
            rate,
            burst,
            peak: None,
        }),
        None => service::Config::Constant(constant::Params { rate }),
    });
    let traced = trace
        .map(|node| trace_of(&node, &keys.path("trace"), files))
        .transpose()?;
    let stepped = list.map(|list| {
        let steps = list.into_iter().map(|step| steps::Step {
            span: step.span,
            rate: step.rate,
        });
        service::Config::Steps(steps::Params {
            steps: steps.collect(),
        })
    });
    let chained = states.map(|states| {
        let states = states.into_iter().map(|state| markov::State {
            rate: state.rate,
            mean_stay: state.stay,
            next: state.next,
        });
        service::Config::Markov(markov::Params {
            states: states.collect(),
        })
    });
    Ok(constant.or(traced).or(stepped).or(chained))
}

/// A file of rates if its name ends in `.csv`, otherwise of the chances of mahimahi.
fn trace_of(node: &Node, key: &str, files: Files<'_>) -> Result<service::Config, Error> {
    let fault = |message: String| Error::new(node.origin.clone(), key, message);
    let Some(name) = node.as_text() else {
        return Err(fault(format!(
            "{} where the name of a file is wanted",
            node.kind()
        )));
    };
    let bytes = files(name).map_err(|error| fault(format!("{name}: {error}")))?;
    let inside = |error: unbloat_link::trace::TraceError| fault(format!("{name}: {error}"));
    if name.trim_end_matches(".gz").ends_with(".csv") {
        let steps = parse_rates(&bytes).map_err(inside)?;
        return Ok(service::Config::Steps(steps::Params {
            steps: steps.into(),
        }));
    }
    let trace = Arc::new(parse_mahimahi(&bytes).map_err(inside)?);
    Ok(service::Config::Chances(chances::Params { trace }))
}

/// Mean over the whole trace or list; for a Markov chain over its states by their stays, which is exact where each is visited as
/// often as the others. It only serves to size buffers.
fn mean_rate(service: &service::Config) -> Rate {
    let mean = |parts: &mut dyn Iterator<Item = (Rate, Delta)>| {
        let (bits, seconds) = parts.fold((0.0, 0.0), |(bits, seconds), (rate, span)| {
            (
                bits + rate.as_bps_f64() * span.as_secs(),
                seconds + span.as_secs(),
            )
        });
        Rate::from_bps_f64(if seconds > 0.0 { bits / seconds } else { 0.0 })
    };
    match service {
        service::Config::Constant(params) => params.rate,
        service::Config::Bucket(params) => params.rate,
        service::Config::Chances(params) => {
            let bytes = Bytes::new(params.trace.len() as u64 * 1_500);
            bytes.over(params.trace.period()).unwrap_or(Rate::ZERO)
        }
        service::Config::Steps(params) => {
            mean(&mut params.steps.iter().map(|step| (step.rate, step.span)))
        }
        service::Config::Markov(params) => mean(
            &mut params
                .states
                .iter()
                .map(|state| (state.rate, state.mean_stay)),
        ),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outage {
    after: Delta,
    lasts: Delta,
}

/// What lies behind the bottleneck.
fn behind(keys: &mut Keys, delay: Delta) -> Result<Vec<Config>, Error> {
    let mut elements = Vec::new();
    let outages: Vec<Outage> = keys.or("outages", Vec::new())?;
    if !outages.is_empty() {
        let when = outages
            .into_iter()
            .map(|outage| (outage.after, outage.lasts))
            .collect();
        elements.push(Config::Outage(outage::Params {
            when: outage::When::At(when),
            effect: outage::Effect::Hold,
        }));
    }
    elements.extend(losses(keys)?);
    if delay > Delta::ZERO {
        elements.push(Config::Delay(delay::Params { delay }));
    }
    let most: Delta = keys.or("jitter", Delta::ZERO)?;
    let reorders = keys.or("reorders", false)?;
    if most > Delta::ZERO {
        elements.push(Config::Jitter(jitter::Params {
            jitter: most,
            reorders,
        }));
    }
    Ok(elements)
}

/// `loss = 0.01` or `loss = { kind = "burst", to_bad = 0.001, to_good = 0.1 }`.
fn losses(keys: &mut Keys) -> Result<Option<Config>, Error> {
    let path = keys.path("loss");
    let Some(node) = keys.take("loss") else {
        return Ok(None);
    };
    if let Ok(share) = crate::text::read::<f64>(&node, &path) {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::new(
                node.origin,
                path,
                format!("{share} is no share; a number from 0 to 1 is wanted"),
            ));
        }
        return Ok(Some(Config::Loss(loss::Params { loss: share })));
    }
    let mut params = Keys::params(Component::of(&node, &path, &["burst"])?, &path);
    let default = burst::Params::default();
    let config = Config::Burst(burst::Params {
        to_bad: params.share_or("to_bad", default.to_bad)?,
        to_good: params.share_or("to_good", default.to_good)?,
        loss_bad: params.share_or("loss_bad", default.loss_bad)?,
        loss_good: params.share_or("loss_good", default.loss_good)?,
    });
    params.end()?;
    Ok(Some(config))
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CellKind {
    #[default]
    None,
    Atm,
    Ptm,
}

/// `framing = { overhead_bytes = 38, minimum_bytes = 84, cells = "atm" }`.
fn framing(keys: &mut Keys) -> Result<Framing, Error> {
    let path = keys.path("framing");
    let Some(node) = keys.take("framing") else {
        return Ok(Framing::default());
    };
    let mut params = Keys::of(&node, &path)?;
    let framing = Framing {
        overhead: params.or("overhead_bytes", 0)?,
        minimum: params.or("minimum_bytes", 0)?,
        cells: match params.or("cells", CellKind::None)? {
            CellKind::None => Cells::None,
            CellKind::Atm => Cells::Atm,
            CellKind::Ptm => Cells::Ptm,
        },
    };
    params.end()?;
    Ok(framing)
}
