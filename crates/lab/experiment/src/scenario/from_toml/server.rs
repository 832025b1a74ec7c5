//! `rate`, `burst`, `trace`, `steps` and `markov`: how fast a direction of the path sends.

use super::files::Files;
use crate::scenario::toml::{Error, Keys, Node};
use serde::Deserialize;
use std::sync::Arc;
use unbloat_link::service::{self, bucket, chances, constant, markov, steps};
use unbloat_link::trace::{parse_mahimahi, parse_rates};
use unbloat_params::Settings;
use unbloat_params::range::{PERIOD, RATE, RATE_OR_NONE, SIZE};
use unbloat_units::{Bytes, Delta, Rate};

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
pub(super) fn server(keys: &mut Keys, files: Files<'_>) -> Result<Option<service::Config>, Error> {
    let rate = keys.maybe_within("rate", &RATE)?;
    let bucket = bucket(keys)?;
    let trace = keys.take("trace");
    let list: Option<Vec<Step>> = keys.maybe("steps")?;
    let states: Option<Vec<State>> = keys.maybe("markov")?;
    let given = usize::from(rate.is_some())
        + usize::from(trace.is_some())
        + usize::from(list.is_some())
        + usize::from(states.is_some());
    if given > 1 {
        return Err(keys.fault("give only one of \"rate\", \"trace\", \"steps\" and \"markov\""));
    }
    if bucket.is_some() && rate.is_none() {
        return Err(keys.fault("\"burst\" needs a \"rate\""));
    }
    let constant = rate.map(|rate| match bucket {
        Some((burst, peak)) => service::Config::Bucket(bucket::Params { rate, burst, peak }),
        None => service::Config::Constant(constant::Params { rate }),
    });
    let traced = trace
        .map(|node| trace_of(&node, &keys.path("trace"), files))
        .transpose()?;
    let stepped = list.map(|list| stepped(keys, list)).transpose()?;
    let chained = states.map(|states| chained(keys, states)).transpose()?;
    Ok(constant.or(traced).or(stepped).or(chained))
}

/// Depth and peak of a token bucket.
fn bucket(keys: &mut Keys) -> Result<Option<(Bytes, Option<bucket::Peak>)>, Error> {
    let burst = keys.maybe_within("burst", &(Bytes::new(1_500)..=*SIZE.end()))?;
    let rate = keys.maybe_within("peak_rate", &RATE)?;
    let mtu = keys.within("peak_mtu", Bytes::new(1_514), &SIZE)?;
    if rate.is_some() && burst.is_none() {
        return Err(keys.fault("\"peak_rate\" needs a \"burst\""));
    }
    let peak = rate.map(|rate| bucket::Peak { rate, mtu });
    Ok(burst.map(|burst| (burst, peak)))
}

fn stepped(keys: &Keys, list: Vec<Step>) -> Result<service::Config, Error> {
    let is_sound = |step: &Step| PERIOD.contains(&step.span) && RATE_OR_NONE.contains(&step.rate);
    if !list.iter().all(is_sound) || list.iter().all(|step| step.rate == Rate::ZERO) {
        return Err(keys.fault(format!(
            "\"steps\" needs spans from {} to {} and rates up to {}, at least one above 0",
            PERIOD.start(),
            PERIOD.end(),
            RATE.end()
        )));
    }
    let steps = list.into_iter().map(|step| steps::Step {
        span: step.span,
        rate: step.rate,
    });
    let steps = steps.collect();
    Ok(service::Config::Steps(steps::Params { steps }))
}

fn chained(keys: &Keys, states: Vec<State>) -> Result<service::Config, Error> {
    let count = states.len();
    let is_sound = |state: &State| {
        let weights = &state.next;
        let sum: f64 = weights.iter().sum();
        (Delta::us(100)..=*PERIOD.end()).contains(&state.stay)
            && RATE_OR_NONE.contains(&state.rate)
            && weights.iter().all(|weight| (0.0..=1e9).contains(weight))
            && (weights.is_empty() || weights.len() == count && sum > 0.0)
    };
    if !states.iter().all(is_sound) || states.iter().all(|state| state.rate == Rate::ZERO) {
        return Err(keys.fault(format!(
            "\"markov\" needs stays from 100 us to {}, rates up to {}, at least one above 0, and in \"next\" nothing or a weight for each of the {count} states",
            PERIOD.end(),
            RATE.end()
        )));
    }
    let states = states.into_iter().map(|state| markov::State {
        rate: state.rate,
        mean_stay: state.stay,
        next: state.next,
    });
    let states = states.collect();
    Ok(service::Config::Markov(markov::Params { states }))
}

/// A file of rates if its name ends in `.csv`, otherwise of the chances of mahimahi.
fn trace_of(node: &Node, key: &str, files: Files<'_>) -> Result<service::Config, Error> {
    let fault = |message: String| Error::new(node.origin.clone(), key, message);
    let Some(name) = node.as_text() else {
        return Err(fault(format!(
            "found {}; expected a file name",
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
pub(super) fn mean_rate(service: &service::Config) -> Rate {
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
