//! `queue = "codel"` or `queue = { kind = "codel", target = "5 ms", limit = "1.5 BDP" }`.

use crate::amount::{Amount, Limit};
use crate::text::{Component, Error, Keys, Node};
use unbloat_queue::discipline::{codel, droptail, fq_codel, pie, red};
use unbloat_queue::law::codel as codel_law;
use unbloat_queue::{Config, NAMES};
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
        _ => {
            Config::named(&kind).ok_or_else(|| keys.fault(format!("no queue is named {kind:?}")))?
        }
    };
    keys.end()?;
    Ok(config)
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

fn law(keys: &mut Keys, default: codel_law::Params) -> Result<codel_law::Params, Error> {
    Ok(codel_law::Params {
        target: keys.or("target", default.target)?,
        interval: keys.or("interval", default.interval)?,
        ecn: keys.or("ecn", default.ecn)?,
        ce_threshold: keys.maybe("ce_threshold")?.or(default.ce_threshold),
        ..default
    })
}

fn codel_params(keys: &mut Keys, limit: Option<Limit>) -> Result<codel::Params, Error> {
    let default = codel::Params::default();
    Ok(codel::Params {
        law: law(keys, default.law)?,
        limit_packets: packets(limit, default.limit_packets),
        ..default
    })
}

fn fq_codel_params(keys: &mut Keys, limit: Option<Limit>) -> Result<fq_codel::Params, Error> {
    let default = fq_codel::Params::default();
    Ok(fq_codel::Params {
        law: law(keys, default.law)?,
        limit_packets: packets(limit, default.limit_packets),
        memory_limit: keys.or("memory_limit", default.memory_limit)?,
        flows: keys.or("flows", default.flows)?,
        quantum: keys.or("quantum_bytes", default.quantum)?,
        drop_batch: keys.or("drop_batch", default.drop_batch)?,
        ..default
    })
}

fn pie_params(keys: &mut Keys, limit: Option<Limit>) -> Result<pie::Params, Error> {
    let default = pie::Params::default();
    Ok(pie::Params {
        target: keys.or("target", default.target)?,
        t_update: keys.or("t_update", default.t_update)?,
        alpha: keys.or("alpha", default.alpha)?,
        beta: keys.or("beta", default.beta)?,
        max_burst: keys.or("max_burst", default.max_burst)?,
        limit_packets: packets(limit, default.limit_packets),
        ecn: keys.or("ecn", default.ecn)?,
        byte_mode: keys.or("byte_mode", default.byte_mode)?,
        ..default
    })
}

fn red_params(keys: &mut Keys, limit: Option<Limit>, scale: Scale) -> Result<red::Params, Error> {
    let default = red::Params {
        bandwidth: scale.rate,
        ..red::Params::default()
    };
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
    Ok(red::Params {
        limit: bytes(limit, default.limit),
        min,
        max,
        probability: keys.share_or("probability", default.probability)?,
        ecn: keys.or("ecn", default.ecn)?,
        gentle: keys.or("gentle", default.gentle)?,
        adaptive: keys.or("adaptive", default.adaptive)?,
        ..default
    })
}
