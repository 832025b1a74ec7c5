//! `radio = "lte"` of a direction, and `[link.rrc]` of both.

use crate::scenario::toml::{Error, Keys, Node, Value};
use unbloat_link::radio::rrc;
use unbloat_link::radio::{AirParams, Rates, downlink, uplink};
use unbloat_link::service;
use unbloat_params::range::{PERIOD, SIZE, SPAN};
use unbloat_params::{Read, Settings};
use unbloat_units::{Bytes, Delta, Direction};

/// Kinds of radio.
pub(super) const NAMES: &[&str] = &["lte"];

/// A radio link before its queue is known.
pub(super) enum Radio {
    Down(Downlink),
    Up(Box<uplink::Params>),
}

pub(super) struct Downlink {
    rates: Rates,
    air: AirParams,
}

impl Downlink {
    pub(super) fn into_downlink(self, queue: unbloat_qdisc::Config) -> downlink::Params {
        downlink::Params {
            queue,
            rates: self.rates,
            air: self.air,
        }
    }
}

/// `radio = "lte"` or `radio = { kind = "lte", bler = 0.1 }`, at the rate of the direction.
pub(super) fn radio(
    keys: &mut Keys,
    direction: Direction,
    service: Option<&service::Config>,
) -> Result<Option<Radio>, Error> {
    let path = keys.path("radio");
    let Some(component) = keys.component("radio", NAMES)? else {
        return Ok(None);
    };
    let mut params = Keys::params(component, &path);
    let rates = rates(&params, service)?;
    let air = AirParams::read(&mut params)?;
    let radio = match direction {
        Direction::Down => Radio::Down(Downlink { rates, air }),
        Direction::Up => Radio::Up(Box::new(uplink(&mut params, rates, air)?)),
    };
    params.end()?;
    Ok(Some(radio))
}

fn rates(keys: &Keys, service: Option<&service::Config>) -> Result<Rates, Error> {
    match service {
        Some(service::Config::Constant(params)) => Ok(Rates::Constant(*params)),
        Some(service::Config::Steps(params)) => Ok(Rates::Steps(params.clone())),
        Some(service::Config::Markov(params)) => Ok(Rates::Markov(params.clone())),
        Some(service::Config::Chances(params)) => Ok(Rates::Chances(params.clone())),
        _ => Err(keys.fault(
            "a radio needs a \"rate\" without \"burst\", \"steps\", \"markov\" or a \"trace\"",
        )),
    }
}

fn uplink(keys: &mut Keys, rates: Rates, air: AirParams) -> Result<uplink::Params, Error> {
    let default = uplink::Params::default();
    let periods = [1, 2, 5, 10, 20, 40, 80].map(Delta::ms);
    let request_period = keys.or("request_period", default.request_period)?;
    if !periods.contains(&request_period) {
        return Err(Error::new(
            keys.origin().clone(),
            keys.path("request_period"),
            format!("{request_period} is not a valid period; use 1, 2, 5, 10, 20, 40 or 80 ms"),
        ));
    }
    let grants = Bytes::new(16)..=Bytes::new(100_000);
    Ok(uplink::Params {
        buffer: keys.within("buffer", default.buffer, &SIZE)?,
        rates,
        air,
        request_period,
        first_grant: keys.within("first_grant", default.first_grant, &grants)?,
        report_period: keys.within("report_period", default.report_period, &PERIOD)?,
        report_again: keys.within("report_again", default.report_again, &PERIOD)?,
    })
}

/// `[link.rrc]`: the states of the radio that both directions share; also `rrc = true`.
pub(super) fn rrc(above: &mut Keys) -> Result<Option<rrc::Params>, Error> {
    let path = above.path("rrc");
    let Some(node) = above.take("rrc") else {
        return Ok(None);
    };
    if let Value::Boolean(is_on) = node.value {
        return Ok(is_on.then(rrc::Params::default));
    }
    let mut keys = Keys::of(&node, &path)?;
    let default = rrc::Params::default();
    let params = rrc::Params {
        promotion: promotion(&mut keys)?,
        tail: keys.within("tail", default.tail, &SPAN)?,
        paging: keys.within("paging", default.paging, &PERIOD)?,
        drx: drx(&mut keys)?,
    };
    keys.end()?;
    Ok(Some(params))
}

/// Between two bounds, or by quartiles: `promotion = true` stands for those of the study of 2013.
fn promotion(keys: &mut Keys) -> Result<rrc::Promotion, Error> {
    let path = keys.path("promotion");
    let Some(node) = keys.take("promotion") else {
        let shortest = keys.within("promotion_min", rrc::PROMOTION, &SPAN)?;
        let longest = keys.within("promotion_max", rrc::PROMOTION.max(shortest), &SPAN)?;
        if shortest > longest {
            return Err(keys.fault("\"promotion_min\" must not be above \"promotion_max\""));
        }
        return Ok(rrc::Promotion::Between(shortest, longest));
    };
    let mut own = match node.value {
        Value::Boolean(true) => Keys::of(&Node::table(node.origin.clone()), &path)?,
        _ => Keys::of(&node, &path)?,
    };
    let p25 = own.within("p25", Delta::ms(319), &SPAN)?;
    let p50 = own.within("p50", Delta::ms(435), &SPAN)?;
    let p75 = own.within("p75", Delta::ms(558), &SPAN)?;
    // Where nothing is known of the outer quarters, they are as wide as the inner ones.
    let min = own.within("min", (p25 - (p50 - p25)).max(Delta::ZERO), &SPAN)?;
    let max = own.within("max", p75 + (p75 - p50), &SPAN)?;
    let bounds = [min, p25, p50, p75, max];
    if !bounds.is_sorted() {
        return Err(own.fault("\"min\", \"p25\", \"p50\", \"p75\" and \"max\" must not fall"));
    }
    own.end()?;
    Ok(rrc::Promotion::Quartiles(bounds))
}

/// On unless it is `drx = false`.
fn drx(above: &mut Keys) -> Result<Option<rrc::Drx>, Error> {
    let path = above.path("drx");
    let default = rrc::Drx::default();
    let node: Node = match above.take("drx") {
        None => return Ok(Some(default)),
        Some(node) => node,
    };
    if let Value::Boolean(is_on) = node.value {
        return Ok(is_on.then_some(default));
    }
    let mut keys = Keys::of(&node, &path)?;
    let drx = Read::read(&mut keys)?;
    keys.end()?;
    Ok(Some(drx))
}
