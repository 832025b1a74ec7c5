//! `queue = "codel"` or `queue = { kind = "codel", target = "5 ms", limit = "1.5 BDP" }`.

use super::ranges::{COUNT, FRAME_BYTES, PERIOD, RATE, SIZE, SPAN, WEIGHT};
use crate::amount::{Amount, Limit};
use crate::text::{Component, Error, Keys, Node};
use serde::Deserialize;
use unbloat_queue::discipline::{cake, codel, droptail, dualpi2, fq_codel, pie, red, rem};
use unbloat_queue::law::codel as codel_law;
use unbloat_queue::{Config, Device, NAMES};
use unbloat_units::{Bytes, Delta, Rate};

/// What sizes in times and BDPs refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub rate: Rate,
    pub base_rtt: Delta,
}

/// A full packet, when a size in bytes is wanted in packets.
const PACKET: u64 = 1_500;

pub(super) fn queue(node: Option<&Node>, key: &str, scale: Scale) -> Result<Config, Error> {
    let Some(node) = node else {
        return Ok(Config::DropTail(droptail::Params::default()));
    };
    let component = Component::of(node, key, NAMES)?;
    let kind = component.kind.clone();
    let mut keys = Keys::params(component, key);
    let limit = keys
        .maybe::<Amount>("limit")?
        .map(|amount| amount.resolve(scale.rate, scale.base_rtt));
    let config = match kind.as_str() {
        "droptail" => Config::DropTail(droptail_params(limit)),
        "codel" => Config::Codel(codel_params(&mut keys, limit)?),
        "fq_codel" => Config::FqCodel(fq_codel_params(&mut keys, limit)?),
        "pie" => Config::Pie(pie_params(&mut keys, limit)?),
        "red" => Config::Red(red_params(&mut keys, limit, scale)?),
        "rem" => Config::Rem(rem_params(&mut keys, limit)?),
        "cake" => Config::Cake(cake_params(&mut keys, limit)?),
        "dualpi2" => Config::DualPi2(dualpi2_params(&mut keys, limit)?),
        _ => {
            Config::named(&kind).ok_or_else(|| keys.fault(format!("no queue is named {kind:?}")))?
        }
    };
    keys.end()?;
    Ok(config)
}

/// The rate that the queue itself keeps to.
pub(super) fn shaped_rate(queue: &Config) -> Option<Rate> {
    match queue {
        Config::Cake(params) => params.rate,
        _ => None,
    }
}

fn packets(limit: Option<Limit>, default: u32) -> u32 {
    match limit {
        None => default,
        Some(Limit::Packets(packets)) => packets,
        Some(Limit::Bytes(bytes)) => {
            (bytes.as_u64().div_ceil(PACKET)).min(u64::from(u32::MAX)) as u32
        }
    }
}

fn bytes(limit: Option<Limit>, default: Bytes) -> Bytes {
    match limit {
        None => default,
        Some(Limit::Bytes(bytes)) => bytes,
        Some(Limit::Packets(packets)) => Bytes::new(u64::from(packets) * PACKET),
    }
}

fn droptail_params(limit: Option<Limit>) -> droptail::Params {
    match limit {
        None => droptail::Params::default(),
        Some(Limit::Packets(packets)) => droptail::Params {
            limit_packets: Some(packets),
            limit_bytes: None,
        },
        Some(Limit::Bytes(bytes)) => droptail::Params {
            limit_packets: None,
            limit_bytes: Some(bytes),
        },
    }
}

/// The frames that the discipline counts.
fn device(keys: &mut Keys) -> Result<Device, Error> {
    Ok(Device {
        mtu: keys.within("mtu_bytes", Device::ETHERNET.mtu, &(68..=65_535))?,
        header: keys.within("header_bytes", Device::ETHERNET.header, &FRAME_BYTES)?,
    })
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RootName {
    Newton,
    Exact,
}

fn law(keys: &mut Keys, default: codel_law::Params) -> Result<codel_law::Params, Error> {
    Ok(codel_law::Params {
        target: keys.within("target", default.target, &SPAN)?,
        interval: keys.within("interval", default.interval, &PERIOD)?,
        ecn: keys.or("ecn", default.ecn)?,
        ce_threshold: keys
            .maybe_within("ce_threshold", &SPAN)?
            .or(default.ce_threshold),
        root: match keys.maybe("root")? {
            None => default.root,
            Some(RootName::Newton) => codel_law::Root::Newton,
            Some(RootName::Exact) => codel_law::Root::Exact,
        },
    })
}

fn codel_params(keys: &mut Keys, limit: Option<Limit>) -> Result<codel::Params, Error> {
    let default = codel::Params::default();
    Ok(codel::Params {
        law: law(keys, default.law)?,
        limit_packets: packets(limit, default.limit_packets),
        device: device(keys)?,
    })
}

fn fq_codel_params(keys: &mut Keys, limit: Option<Limit>) -> Result<fq_codel::Params, Error> {
    let default = fq_codel::Params::default();
    Ok(fq_codel::Params {
        law: law(keys, default.law)?,
        limit_packets: packets(limit, default.limit_packets),
        memory_limit: keys.within("memory_limit", default.memory_limit, &SIZE)?,
        flows: keys.within("flows", default.flows, &(1..=65_533))?,
        quantum: keys.within("quantum_bytes", default.quantum, &(1..=1_000_000))?,
        drop_batch: keys.within("drop_batch", default.drop_batch, &COUNT)?,
        salt: keys.or("salt", default.salt)?,
        device: device(keys)?,
    })
}

fn pie_params(keys: &mut Keys, limit: Option<Limit>) -> Result<pie::Params, Error> {
    let default = pie::Params::default();
    let kernel_hz = keys.maybe_within("kernel_hz", &(1..=1_000))?;
    let params = pie::Params {
        target: keys.within("target", default.target, &SPAN)?,
        t_update: keys.within("t_update", default.t_update, &PERIOD)?,
        first_update: keys.within("first_update", default.first_update, &PERIOD)?,
        alpha: keys.within("alpha", default.alpha, &(0..=32))?,
        beta: keys.within("beta", default.beta, &(0..=32))?,
        max_burst: keys.within("max_burst", default.max_burst, &SPAN)?,
        limit_packets: packets(limit, default.limit_packets),
        ecn: keys.or("ecn", default.ecn)?,
        byte_mode: keys.or("byte_mode", default.byte_mode)?,
        device: device(keys)?,
    };
    Ok(match kernel_hz {
        Some(hz) => params.at_kernel_hz(hz),
        None => params,
    })
}

fn red_params(keys: &mut Keys, limit: Option<Limit>, scale: Scale) -> Result<red::Params, Error> {
    let default = red::Params::default();
    let mut threshold = |name: &'static str, fallback: Bytes| -> Result<Bytes, Error> {
        let amount = keys
            .maybe::<Amount>(name)?
            .map(|amount| amount.resolve(scale.rate, scale.base_rtt));
        Ok(bytes(amount, fallback))
    };
    let (min, max) = (
        threshold("min", default.min)?,
        threshold("max", default.max)?,
    );
    if min >= max {
        return Err(keys.fault(format!(
            "\"min\" is {min} and \"max\" is {max}; \"min\" must be below \"max\""
        )));
    }
    Ok(red::Params {
        limit: bytes(limit, default.limit),
        min,
        max,
        probability: keys.share_or("probability", default.probability)?,
        mean_packet: Bytes::new(u64::from(keys.within(
            "mean_packet_bytes",
            default.mean_packet.as_u64() as u32,
            &(1..=65_535),
        )?)),
        burst: keys.within("burst", default.burst, &COUNT)?,
        bandwidth: keys.within("bandwidth", scale.rate, &RATE)?,
        ecn: keys.or("ecn", default.ecn)?,
        hard_drop: keys.or("hard_drop", default.hard_drop)?,
        gentle: keys.or("gentle", default.gentle)?,
        adaptive: keys.or("adaptive", default.adaptive)?,
        device: device(keys)?,
    })
}

fn rem_params(keys: &mut Keys, limit: Option<Limit>) -> Result<rem::Params, Error> {
    let default = rem::Params::default();
    Ok(rem::Params {
        gamma: keys.within("gamma", default.gamma, &(0.0..=1_000.0))?,
        alpha: keys.within("alpha", default.alpha, &(0.0..=1_000.0))?,
        phi: keys.within("phi", default.phi, &(1.0..=1_000.0))?,
        target_packets: keys.within("target_packets", default.target_packets, &(0.0..=1e6))?,
        update: keys.within("update", default.update, &PERIOD)?,
        limit_packets: packets(limit, default.limit_packets),
        ecn: keys.or("ecn", default.ecn)?,
    })
}

fn dualpi2_params(keys: &mut Keys, limit: Option<Limit>) -> Result<dualpi2::Params, Error> {
    let default = dualpi2::Params::default();
    let mut pi2 = default.pi2;
    pi2.target = keys.within("target", pi2.target, &SPAN)?;
    pi2.alpha = keys.within("alpha", pi2.alpha, &WEIGHT)?;
    pi2.beta = keys.within("beta", pi2.beta, &WEIGHT)?;
    Ok(dualpi2::Params {
        pi2,
        t_update: keys.within("t_update", default.t_update, &PERIOD)?,
        coupling: keys.within("coupling", default.coupling, &(0..=255))?,
        step: keys.within("step", default.step, &SPAN)?,
        classic_share: keys.within("classic_percent", default.classic_share, &(0..=100))?,
        drop_on_overload: keys.or("drop_on_overload", default.drop_on_overload)?,
        limit_packets: packets(limit, default.limit_packets),
        memory_limit: keys.within("memory_limit", default.memory_limit, &SIZE)?,
        device: device(keys)?,
    })
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DiffservName {
    Besteffort,
    Diffserv3,
    Diffserv4,
    Diffserv8,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum IsolationName {
    Flowblind,
    SourceHost,
    DestinationHost,
    Hosts,
    Flows,
    DualSource,
    DualDestination,
    TripleIsolate,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AckFilterName {
    Off,
    Conservative,
    Aggressive,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CellsName {
    None,
    Atm,
    Ptm,
}

/// `rtt` alone sets the target with it, as tc does: a twentieth of it.
fn cake_params(keys: &mut Keys, limit: Option<Limit>) -> Result<cake::Params, Error> {
    let default = cake::Params::default();
    let rtt = keys.within("rtt", default.rtt, &PERIOD)?;
    Ok(cake::Params {
        rate: keys.maybe_within("rate", &RATE)?,
        rtt,
        target: keys.within("target", rtt / 20, &SPAN)?,
        diffserv: diffserv(keys.maybe("diffserv")?, default.diffserv),
        isolation: isolation(keys.maybe("isolation")?, default.isolation),
        overhead: keys.maybe_within("overhead_bytes", &(-64..=256))?,
        min_packet_unit: keys.within("mpu_bytes", default.min_packet_unit, &(0..=256))?,
        cells: match keys.or("cells", CellsName::None)? {
            CellsName::None => cake::Cells::None,
            CellsName::Atm => cake::Cells::Atm,
            CellsName::Ptm => cake::Cells::Ptm,
        },
        ack_filter: match keys.or("ack_filter", AckFilterName::Off)? {
            AckFilterName::Off => cake::AckFilter::Off,
            AckFilterName::Conservative => cake::AckFilter::Conservative,
            AckFilterName::Aggressive => cake::AckFilter::Aggressive,
        },
        memory_limit: limit.map(|limit| bytes(Some(limit), Bytes::ZERO)),
        ingress: keys.or("ingress", default.ingress)?,
        wash: keys.or("wash", default.wash)?,
        salt: keys.or("salt", default.salt)?,
        device: device(keys)?,
    })
}

fn diffserv(name: Option<DiffservName>, default: cake::Diffserv) -> cake::Diffserv {
    match name {
        None => default,
        Some(DiffservName::Besteffort) => cake::Diffserv::Besteffort,
        Some(DiffservName::Diffserv3) => cake::Diffserv::Diffserv3,
        Some(DiffservName::Diffserv4) => cake::Diffserv::Diffserv4,
        Some(DiffservName::Diffserv8) => cake::Diffserv::Diffserv8,
    }
}

fn isolation(name: Option<IsolationName>, default: cake::Isolation) -> cake::Isolation {
    match name {
        None => default,
        Some(IsolationName::Flowblind) => cake::Isolation::Flowblind,
        Some(IsolationName::SourceHost) => cake::Isolation::SourceHost,
        Some(IsolationName::DestinationHost) => cake::Isolation::DestinationHost,
        Some(IsolationName::Hosts) => cake::Isolation::Hosts,
        Some(IsolationName::Flows) => cake::Isolation::Flows,
        Some(IsolationName::DualSource) => cake::Isolation::DualSource,
        Some(IsolationName::DualDestination) => cake::Isolation::DualDestination,
        Some(IsolationName::TripleIsolate) => cake::Isolation::TripleIsolate,
    }
}
