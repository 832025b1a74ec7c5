//! `[autorate]`: who changes the rates of the router's shapers, and how.

use crate::scenario::experiment::{Hop, Oracle, Rates};
use crate::scenario::toml::{Component, Error, Keys, Node};
use unbloat_autorate::{Params, Policy, Probing, cake_autorate, follow};
use unbloat_link::service;
use unbloat_params::Settings;
use unbloat_params::range::{PERIOD, RATE, SPAN};
use unbloat_units::{Both, Delta, Rate, Time};

/// Kinds of `autorate`; `off` is for sweeps.
pub const NAMES: &[&str] = &["off", "follow", "cake_autorate", "oracle"];

/// The router is behind the last hop but one of the downlink and before the second of the uplink.
pub(super) fn autorate(node: &Node, down: &[Hop], up: &[Hop]) -> Result<Option<Rates>, Error> {
    let component = Component::of(node, "autorate", NAMES)?;
    let kind = component.kind.clone();
    let mut keys = Keys::params(component, "autorate");
    let has_shaper = |hop: Option<&Hop>| {
        let shared = hop.filter(|hop| hop.clients.are_all());
        let mut elements = shared.into_iter().flat_map(|one| &one.elements);
        elements.any(|element| matches!(element, unbloat_link::Config::Bottleneck(one) if matches!(one.queue, unbloat_qdisc::Config::Cake(_))))
    };
    let shaped = Both::new(
        down.len() > 1 && has_shaper(down.last()),
        up.len() > 1 && has_shaper(up.first()),
    );
    let policy = match kind.as_str() {
        "off" => {
            keys.end()?;
            return Ok(None);
        }
        "follow" => Policy::Follow(follow(&mut keys)?),
        "oracle" => {
            let beside = Both::new(down.iter().rev().nth(1), up.get(1));
            let lines = beside
                .zip(shaped)
                .map(|(hop, is_shaped)| hop.filter(|_| is_shaped).and_then(line));
            let oracle = oracle(&mut keys, lines)?;
            keys.end()?;
            return Ok(Some(Rates::Oracle(oracle)));
        }
        _ => Policy::CakeAutorate {
            sides: Both::new(
                side(
                    &mut keys,
                    ["down_min", "down_base", "down_max"],
                    Rate::mbps(80),
                )?,
                side(&mut keys, ["up_min", "up_base", "up_max"], Rate::mbps(35))?,
            ),
            probing: match keys.or("one_way", false)? {
                true => Probing::OneWay,
                false => Probing::RoundTrip,
            },
        },
    };
    if shaped == Both::default() {
        return Err(keys.fault("there is no shaper to control; put a cake in the last of several [[link.down.hop]], or in the first of several [[link.up.hop]], and let all clients pass it"));
    }
    keys.end()?;
    Ok(Some(Rates::Law(Params { policy, shaped })))
}

/// What serves a hop's packets, if that is settled beforehand.
fn line(hop: &Hop) -> Option<service::Config> {
    let now = Time::from_ns(0);
    hop.elements.iter().find_map(|element| match element {
        unbloat_link::Config::Bottleneck(one) => {
            let is_settled = one.service.carried(now, now, now).is_some();
            is_settled.then(|| one.service.clone())
        }
        _ => None,
    })
}

fn oracle(keys: &mut Keys, lines: Both<Option<service::Config>>) -> Result<Oracle, Error> {
    if lines == Both::default() {
        return Err(keys.fault("an oracle needs a rate that is known in advance: give a rate, steps or a trace in the hop next to the shaper's"));
    }
    Ok(Oracle {
        lines,
        over: keys.within("over", Delta::ms(100), &(Delta::ms(1)..=Delta::secs(60)))?,
        ahead: keys.within("ahead", Delta::ZERO, &SPAN)?,
        behind: keys.within("behind", Delta::ZERO, &SPAN)?,
        share: keys.fraction("share", 0.98)?,
    })
}

const MOST_GROWTH: f64 = 100.0;

fn follow(keys: &mut Keys) -> Result<Both<follow::Params>, Error> {
    let default = follow::Params::default();
    let down = follow::Params {
        target: keys.within("target", default.target, &PERIOD)?,
        drain: keys.within("drain", default.drain, &(Delta::ms(1)..=Delta::secs(60)))?,
        share: keys.fraction("share", default.share)?,
        growth: keys.within("growth", default.growth, &(0.0..=MOST_GROWTH))?,
        pressed: keys.fraction("pressed", default.pressed)?,
        floor: keys.within("floor", default.floor, &RATE)?,
    };
    let up = follow::Params::up();
    let up = follow::Params {
        target: keys.within("up_target", up.target, &PERIOD)?,
        drain: keys.within("up_drain", up.drain, &(Delta::ms(1)..=Delta::secs(60)))?,
        ..down
    };
    Ok(Both::new(down, up))
}

fn side(
    keys: &mut Keys,
    [min, base, max]: [&'static str; 3],
    most: Rate,
) -> Result<cake_autorate::Params, Error> {
    let default = cake_autorate::Params::shipped(most);
    let params = cake_autorate::Params {
        min_shaper_rate: keys.within(min, default.min_shaper_rate, &RATE)?,
        base_shaper_rate: keys.within(base, default.base_shaper_rate, &RATE)?,
        max_shaper_rate: keys.within(max, default.max_shaper_rate, &RATE)?,
        ..default
    };
    let rates = [
        params.min_shaper_rate,
        params.base_shaper_rate,
        params.max_shaper_rate,
    ];
    if !rates.is_sorted() {
        return Err(keys.fault(format!(
            "\"{min}\", \"{base}\" and \"{max}\" must not decrease"
        )));
    }
    Ok(params)
}
