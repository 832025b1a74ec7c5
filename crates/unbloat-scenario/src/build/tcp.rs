//! The TCP of a flow: `cc`, `receive_window`, `ecn` and what else can be set of a sender.

use crate::text::{Component, Error, Keys};
use serde::Deserialize;
use unbloat_tcp::congestion::{self, SlowStart, bic, cubic, htcp, vegas};
use unbloat_tcp::receive_window::{self, drs, fixed};
use unbloat_tcp::sender::EcnMode;
use unbloat_tcp::{receiver, sender};
use unbloat_units::Bytes;

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ecn {
    #[default]
    Off,
    Classic,
    Accurate,
}

/// Both ends of a connection.
pub(super) struct Ends {
    pub sender: sender::Params,
    pub receiver: receiver::Params,
}

pub(super) fn ends(keys: &mut Keys) -> Result<Ends, Error> {
    let ecn = match keys.or("ecn", Ecn::default())? {
        Ecn::Off => EcnMode::Off,
        Ecn::Classic => EcnMode::Classic,
        Ecn::Accurate => EcnMode::Accurate,
    };
    let default = sender::Params::default();
    let sender = sender::Params {
        congestion: control(keys)?,
        ecn,
        initial_window: keys.or("initial_window", default.initial_window)?,
        pacing: keys.or("pacing", default.pacing)?,
        slow_start_after_idle: keys.or("slow_start_after_idle", default.slow_start_after_idle)?,
        timestamps: keys.or("timestamps", default.timestamps)?,
        loss_probe: keys.or("loss_probe", default.loss_probe)?,
        frto: keys.or("frto", default.frto)?,
        rtt_from_sacks: keys.or("rtt_from_sacks", default.rtt_from_sacks)?,
        ..default
    };
    let rule = window_rule(keys)?;
    let receiver = receiver::Params {
        initial_window: initial_window(&rule),
        rule,
        timestamps: sender.timestamps,
        ecn,
        ..receiver::Params::default()
    };
    Ok(Ends { sender, receiver })
}

/// A static window is offered from the beginning, as far as a SYN can say it (RFC 7323 section 2.2).
fn initial_window(rule: &receive_window::Config) -> u32 {
    let default = receiver::Params::default().initial_window;
    match rule {
        receive_window::Config::Static(params) => (params.window.as_u64() as u32).min(65_535),
        _ => default,
    }
}

/// CUBIC without another word: what most servers run.
fn control(keys: &mut Keys) -> Result<congestion::Config, Error> {
    let path = keys.path("cc");
    let Some(component) = keys.component("cc", congestion::NAMES)? else {
        return Ok(congestion::Config::Cubic(Default::default()));
    };
    let kind = component.kind.clone();
    let mut params = Keys::params(component, &path);
    let config = match kind.as_str() {
        "vegas" => {
            let default = vegas::Params::default();
            congestion::Config::Vegas(vegas::Params {
                alpha: params.or("alpha", default.alpha)?,
                beta: params.or("beta", default.beta)?,
                gamma: params.or("gamma", default.gamma)?,
            })
        }
        "cubic" => {
            let default = cubic::Params::default();
            congestion::Config::Cubic(cubic::Params {
                fast_convergence: params.or("fast_convergence", default.fast_convergence)?,
                reno_friendly: params.or("reno_friendly", default.reno_friendly)?,
                slow_start: slow_start(&mut params)?,
                ..default
            })
        }
        "bic" => {
            let default = bic::Params::default();
            let fast_convergence = params.or("fast_convergence", default.fast_convergence)?;
            congestion::Config::Bic(bic::Params {
                fast_convergence,
                ..default
            })
        }
        "htcp" => {
            let default = htcp::Params::default();
            congestion::Config::Htcp(htcp::Params {
                rtt_scaling: params.or("rtt_scaling", default.rtt_scaling)?,
                bandwidth_switch: params.or("bandwidth_switch", default.bandwidth_switch)?,
            })
        }
        _ => named(&kind, &params, congestion::Config::named)?,
    };
    params.end()?;
    Ok(config)
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SlowStartName {
    Standard,
    Hystart,
    HystartPlusPlus,
}

fn slow_start(params: &mut Keys) -> Result<SlowStart, Error> {
    Ok(match params.or("slow_start", SlowStartName::Hystart)? {
        SlowStartName::Standard => SlowStart::Standard,
        SlowStartName::Hystart => SlowStart::HyStart,
        SlowStartName::HystartPlusPlus => SlowStart::HyStartPlusPlus,
    })
}

fn window_rule(keys: &mut Keys) -> Result<receive_window::Config, Error> {
    let path = keys.path("receive_window");
    let Some(component) = keys.component("receive_window", receive_window::NAMES)? else {
        return Ok(receive_window::Config::Drs(Default::default()));
    };
    let Component { kind, .. } = component.clone();
    let mut params = Keys::params(component, &path);
    let config = match kind.as_str() {
        "static" => {
            let window: Bytes = params.or("window", fixed::Params::default().window)?;
            receive_window::Config::Static(fixed::Params { window })
        }
        "drs" => {
            let default = drs::Params::default();
            receive_window::Config::Drs(drs::Params {
                initial: params.or("initial", default.initial)?,
                max: params.or("max", default.max)?,
            })
        }
        _ => named(&kind, &params, receive_window::Config::named)?,
    };
    params.end()?;
    Ok(config)
}

/// A kind without parameters of its own.
fn named<T>(kind: &str, params: &Keys, find: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
    find(kind).ok_or_else(|| params.fault(format!("nothing is named {kind:?}")))
}
