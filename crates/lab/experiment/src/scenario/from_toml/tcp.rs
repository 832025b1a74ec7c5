//! The TCP of a flow: `cc`, `receive_window`, `ecn` and what else can be set of a sender.

use crate::scenario::experiment::Reader;
use crate::scenario::toml::{Error, Keys};
use serde::Deserialize;
use unbloat_params::Settings;
use unbloat_params::range::{COUNT, PERIOD, RATE, SIZE};
use unbloat_tcp::sender::{EcnMode, RtoParams};
use unbloat_tcp::{congestion, receive_window, receiver, sender};
use unbloat_units::{Both, Bytes, Delta, Rate};

/// Of the timestamps of Linux.
const TICK: Delta = Delta::ms(1);

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
    /// Of the sender's timestamps.
    pub tick: Delta,
    pub reader: Option<Reader>,
}

/// Ends of the data of each direction: what stands in the flow holds for both, what stands in `[flow.down]` or `[flow.up]` for
/// that one alone.
pub(super) fn ends_of_both(keys: &mut Keys) -> Result<Both<Ends>, Error> {
    let sides = Both::of(|direction| (keys.path(direction.name()), keys.take(direction.name())));
    let common = keys.rest();
    let both = ends(keys)?;
    Both::try_of(|direction| {
        let (path, side) = &sides[direction];
        let Some(side) = side else {
            return Ok(both.clone());
        };
        let mut own = Keys::of(side, path)?.or_else_from(common.clone());
        let ends = ends(&mut own)?;
        own.end()?;
        Ok(ends)
    })
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
    let tick = keys.within("timestamp_tick", TICK, &(TICK..=Delta::secs(1)))?;
    if tick.as_ns() % TICK.as_ns() != 0 {
        return Err(keys.fault("\"timestamp_tick\" must be whole milliseconds"));
    }
    Ok(Ends {
        sender,
        receiver,
        tick,
        reader: reader(keys)?,
    })
}

/// `read_rate`: the application of the receiver reads at this rate.
fn reader(keys: &mut Keys) -> Result<Option<Reader>, Error> {
    let rate: Option<Rate> = keys.maybe_within("read_rate", &RATE)?;
    let ahead: Option<Bytes> = keys.maybe_within("read_ahead", &SIZE)?;
    match (rate, ahead) {
        (None, Some(_)) => Err(keys.fault("\"read_ahead\" needs \"read_rate\"")),
        (rate, ahead) => Ok(rate.map(|rate| Reader {
            rate,
            ahead: ahead.unwrap_or(Bytes::ZERO),
        })),
    }
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
            "\"rto_min\" is {} and \"rto_max\" is {}; \"rto_max\" must not be below \"rto_min\"",
            rto.min, rto.max
        )));
    }
    Ok(rto)
}

fn receiver_params(keys: &mut Keys, sender: &sender::Params) -> Result<receiver::Params, Error> {
    let default = receiver::Params::default();
    let rule = window_rule(keys)?;
    Ok(receiver::Params {
        hz: sender.hz,
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
    let mut keys = Keys::params(component, &path);
    let config = congestion::Config::read(&kind, &mut keys)?;
    finish(config, &kind, keys)
}

/// A part that was read to its last key.
fn finish<T>(part: Option<T>, kind: &str, keys: Keys) -> Result<T, Error> {
    let part = part.ok_or_else(|| keys.fault(format!("unknown kind {kind:?}")))?;
    keys.end()?;
    Ok(part)
}

fn window_rule(flow: &mut Keys) -> Result<receive_window::Config, Error> {
    let path = flow.path("receive_window");
    let Some(component) = flow.component("receive_window", receive_window::NAMES)? else {
        return Ok(receive_window::Config::Drs(Default::default()));
    };
    let kind = component.kind.clone();
    let mut keys = Keys::params(component, &path);
    let config = receive_window::Config::read(&kind, &mut keys)?;
    finish(config, &kind, keys)
}
