//! The TCP of a flow: `cc`, `receive_window`, `ecn` and what else can be set of a sender.

use super::ranges::{COUNT, PERIOD, SIZE, SPAN, WEIGHT};
use crate::text::{Component, Error, Keys};
use serde::Deserialize;
use std::ops::RangeInclusive;
use unbloat_tcp::congestion::{
    self, SlowStart, bbr, bbr3, bic, cubic, cubic2009, htcp, newreno, prague, vegas,
};
use unbloat_tcp::ledbat;
use unbloat_tcp::receive_window::{self, drs, drs2012, drwa, fixed, rledbat};
use unbloat_tcp::sender::{EcnMode, RtoParams};
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

/// Both ends of the data of one direction.
#[derive(Clone)]
pub(super) struct Ends {
    pub sender: sender::Params,
    pub receiver: receiver::Params,
}

/// Ends of the data of each direction: what stands in the flow holds for both, what stands in `[flow.down]` or `[flow.up]` for
/// that one alone.
pub(super) fn ends_of_both(keys: &mut Keys) -> Result<[Ends; 2], Error> {
    let sides = ["down", "up"].map(|name| (keys.path(name), keys.take(name)));
    let common = keys.rest();
    let both = ends(keys)?;
    let [down, up] = sides.map(|(path, side)| -> Result<Ends, Error> {
        let Some(side) = side else {
            return Ok(both.clone());
        };
        let mut own = Keys::of(&side, &path)?.or_else_from(common.clone());
        let ends = ends(&mut own)?;
        own.end()?;
        Ok(ends)
    });
    Ok([down?, up?])
}

fn ends(keys: &mut Keys) -> Result<Ends, Error> {
    let ecn = match keys.or("ecn", Ecn::default())? {
        Ecn::Off => EcnMode::Off,
        Ecn::Classic => EcnMode::Classic,
        Ecn::Accurate => EcnMode::Accurate,
    };
    let mss = keys.within("mss_bytes", sender::Params::default().mss, &(64..=65_000))?;
    let sender = sender_params(keys, ecn, mss)?;
    let receiver = receiver_params(keys, &sender)?;
    Ok(Ends { sender, receiver })
}

fn sender_params(keys: &mut Keys, ecn: EcnMode, mss: u32) -> Result<sender::Params, Error> {
    let default = sender::Params::default();
    let send_buffer = keys.within("send_buffer", Bytes::new(default.send_buffer), &SIZE)?;
    let notsent_lowat: Option<Bytes> = keys.maybe_within("notsent_lowat", &SIZE)?;
    Ok(sender::Params {
        mss,
        initial_window: keys.within("initial_window", default.initial_window, &COUNT)?,
        congestion: control(keys)?,
        rto: timeout(keys, default.rto)?,
        timestamps: keys.or("timestamps", default.timestamps)?,
        ecn,
        reordering: keys.within("reordering", default.reordering, &COUNT)?,
        max_reordering: keys.within("max_reordering", default.max_reordering, &COUNT)?,
        loss_probe: keys.or("loss_probe", default.loss_probe)?,
        frto: keys.or("frto", default.frto)?,
        slow_start_after_idle: keys.or("slow_start_after_idle", default.slow_start_after_idle)?,
        rtt_from_sacks: keys.or("rtt_from_sacks", default.rtt_from_sacks)?,
        pacing: keys.or("pacing", default.pacing)?,
        hz: keys.within("kernel_hz", default.hz, &(1..=1_000))?,
        send_buffer: send_buffer.as_u64(),
        notsent_lowat: notsent_lowat.map(Bytes::as_u64),
    })
}

fn timeout(keys: &mut Keys, default: RtoParams) -> Result<RtoParams, Error> {
    let rto = RtoParams {
        min: keys.within("rto_min", default.min, &PERIOD)?,
        max: keys.within("rto_max", default.max, &PERIOD)?,
        initial: keys.within("rto_initial", default.initial, &PERIOD)?,
    };
    if rto.min > rto.max {
        return Err(keys.fault(format!(
            "\"rto_min\" is {} and \"rto_max\" is {}; it must not be below",
            rto.min, rto.max
        )));
    }
    Ok(rto)
}

fn receiver_params(keys: &mut Keys, sender: &sender::Params) -> Result<receiver::Params, Error> {
    let default = receiver::Params::default();
    let rule = window_rule(keys)?;
    Ok(receiver::Params {
        mss: sender.mss,
        initial_window: initial_window(&rule),
        rule,
        window_scale: keys.within("window_scale", default.window_scale, &(0..=14))?,
        timestamps: sender.timestamps,
        ecn: sender.ecn,
        ack_every_segment: keys.or("ack_every_segment", default.ack_every_segment)?,
        low_water: keys.within("read_at_least_bytes", default.low_water, &COUNT)?,
        compressed_acks: keys.or("compressed_acks", default.compressed_acks)?,
    })
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
fn control(flow: &mut Keys) -> Result<congestion::Config, Error> {
    let path = flow.path("cc");
    let Some(component) = flow.component("cc", congestion::NAMES)? else {
        return Ok(congestion::Config::Cubic(Default::default()));
    };
    let kind = component.kind.clone();
    let mut params = Keys::params(component, &path);
    let keys = &mut params;
    let config = match kind.as_str() {
        "newreno" => congestion::Config::NewReno(newreno::Params {
            slow_start: slow_start(keys, SlowStart::Standard)?,
        }),
        "vegas" => congestion::Config::Vegas(vegas_params(keys)?),
        "cubic" => congestion::Config::Cubic(cubic_params(keys)?),
        "cubic2009" => congestion::Config::Cubic2009(cubic2009_params(keys)?),
        "bic" => congestion::Config::Bic(bic_params(keys)?),
        "htcp" => {
            let default = htcp::Params::default();
            congestion::Config::Htcp(htcp::Params {
                rtt_scaling: keys.or("rtt_scaling", default.rtt_scaling)?,
                bandwidth_switch: keys.or("bandwidth_switch", default.bandwidth_switch)?,
            })
        }
        "bbr" => congestion::Config::Bbr(bbr::Params {
            first_phase: keys.within("first_phase", 0, &(0..=6))?,
        }),
        "bbr3" => congestion::Config::Bbr3(bbr3::Params {
            first_wait_ms: keys.within("first_wait_ms", 0, &(0..=1_000))?,
        }),
        "ledbat" => congestion::Config::Ledbat(ledbat_params(keys)?),
        "prague" => {
            let default = prague::Params::default();
            congestion::Config::Prague(prague::Params {
                gain_shift: keys.within("gain_shift", default.gain_shift, &(0..=10))?,
                reference_rtt: keys.within("reference_rtt", default.reference_rtt, &SPAN)?,
            })
        }
        _ => named(&kind, keys, congestion::Config::named)?,
    };
    params.end()?;
    Ok(config)
}

fn vegas_params(keys: &mut Keys) -> Result<vegas::Params, Error> {
    let default = vegas::Params::default();
    let params = vegas::Params {
        alpha: keys.within("alpha", default.alpha, &WEIGHT)?,
        beta: keys.within("beta", default.beta, &WEIGHT)?,
        gamma: keys.within("gamma", default.gamma, &WEIGHT)?,
    };
    Ok(params)
}

/// In 1/1024.
const PART: RangeInclusive<u32> = 1..=1_023;

fn cubic_params(keys: &mut Keys) -> Result<cubic::Params, Error> {
    let default = cubic::Params::default();
    Ok(cubic::Params {
        beta: keys.within("beta", default.beta, &PART)?,
        scale: keys.within("scale", default.scale, &(1..=1_000))?,
        fast_convergence: keys.or("fast_convergence", default.fast_convergence)?,
        reno_friendly: keys.or("reno_friendly", default.reno_friendly)?,
        slow_start: slow_start(keys, SlowStart::HyStart)?,
    })
}

fn cubic2009_params(keys: &mut Keys) -> Result<cubic2009::Params, Error> {
    let default = cubic2009::Params::default();
    Ok(cubic2009::Params {
        beta: keys.within("beta", default.beta, &PART)?,
        scale: keys.within("scale", default.scale, &(1..=1_000))?,
        hystart: keys.or("hystart", default.hystart)?,
        delay_min_ticks: keys.within("delay_min_ticks", default.delay_min_ticks, &(0..=1_000))?,
        delay_max_ticks: keys.within("delay_max_ticks", default.delay_max_ticks, &(0..=1_000))?,
    })
}

fn bic_params(keys: &mut Keys) -> Result<bic::Params, Error> {
    let default = bic::Params::default();
    Ok(bic::Params {
        beta: keys.within("beta", default.beta, &PART)?,
        low_window: keys.within("low_window", default.low_window, &COUNT)?,
        max_increment: keys.within("max_increment", default.max_increment, &COUNT)?,
        smooth_part: keys.within("smooth_part", default.smooth_part, &COUNT)?,
        fast_convergence: keys.or("fast_convergence", default.fast_convergence)?,
    })
}

fn ledbat_params(keys: &mut Keys) -> Result<ledbat::Params, Error> {
    let default = ledbat::Params::default();
    Ok(ledbat::Params {
        target: keys.within("target", default.target, &PERIOD)?,
        slowdown: keys.or("slowdown", default.slowdown)?,
    })
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SlowStartName {
    Standard,
    Hystart,
    HystartPlusPlus,
}

fn slow_start(keys: &mut Keys, default: SlowStart) -> Result<SlowStart, Error> {
    Ok(match keys.maybe("slow_start")? {
        None => default,
        Some(SlowStartName::Standard) => SlowStart::Standard,
        Some(SlowStartName::Hystart) => SlowStart::HyStart,
        Some(SlowStartName::HystartPlusPlus) => SlowStart::HyStartPlusPlus,
    })
}

fn window_rule(flow: &mut Keys) -> Result<receive_window::Config, Error> {
    let path = flow.path("receive_window");
    let Some(component) = flow.component("receive_window", receive_window::NAMES)? else {
        return Ok(receive_window::Config::Drs(Default::default()));
    };
    let Component { kind, .. } = component.clone();
    let mut params = Keys::params(component, &path);
    let keys = &mut params;
    let config = match kind.as_str() {
        "static" => receive_window::Config::Static(fixed::Params {
            window: keys.within("window", fixed::Params::default().window, &WINDOW)?,
        }),
        "drs" => {
            let default = drs::Params::default();
            let (initial, max) = window_bounds(keys, default.initial, default.max)?;
            receive_window::Config::Drs(drs::Params { initial, max })
        }
        "drs2012" => {
            let default = drs2012::Params::default();
            let (initial, max) = window_bounds(keys, default.initial, default.max)?;
            receive_window::Config::Drs2012(drs2012::Params { initial, max })
        }
        "drwa" => {
            let default = drwa::Params::default();
            let (initial, max) = window_bounds(keys, default.initial, default.max)?;
            let lambda = keys.within("lambda", 3.0, &LAMBDA)?;
            receive_window::Config::Drwa(drwa::Params {
                lambda_eighths: eighths(lambda),
                lambda_unfilled_eighths: eighths(keys.within(
                    "lambda_unfilled",
                    lambda,
                    &LAMBDA,
                )?),
                alpha_eighths: keys.within("alpha_eighths", default.alpha_eighths, &(0..=8))?,
                dip_every: keys.within("dip_every", default.dip_every, &SPAN)?,
                eager: keys.or("eager", default.eager)?,
                extra_segments: keys.within(
                    "extra_segments",
                    default.extra_segments,
                    &(0..=1_000),
                )?,
                initial,
                max,
            })
        }
        "rledbat" => {
            let default = rledbat::Params::default();
            let (initial, max) = window_bounds(keys, default.initial, default.max)?;
            receive_window::Config::RLedbat(rledbat::Params {
                control: ledbat_params(keys)?,
                initial,
                max,
            })
        }
        _ => named(&kind, keys, receive_window::Config::named)?,
    };
    params.end()?;
    Ok(config)
}

const LAMBDA: RangeInclusive<f64> = 1.0..=1_000.0;

fn eighths(value: f64) -> u32 {
    (8.0 * value).round() as u32
}

/// What 16 bits and a scale of 14 can say (RFC 7323 section 2.3).
const WINDOW: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::mib(1_024);

fn window_bounds(keys: &mut Keys, initial: Bytes, max: Bytes) -> Result<(Bytes, Bytes), Error> {
    let max = keys.within("max", max, &WINDOW)?;
    let initial = keys.within("initial", initial.min(max), &WINDOW)?;
    if initial > max {
        return Err(keys.fault(format!(
            "\"initial\" is {initial} and \"max\" is {max}; it must not be above"
        )));
    }
    Ok((initial, max))
}

/// A kind without parameters of its own.
fn named<T>(kind: &str, params: &Keys, find: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
    find(kind).ok_or_else(|| params.fault(format!("nothing is named {kind:?}")))
}
