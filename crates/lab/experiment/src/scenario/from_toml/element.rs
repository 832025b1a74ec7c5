//! `[link.down]` and `[link.up]`: what packets of one direction meet, in order: the sending device or the queue and its rate,
//! outages, loss, delay, detours, jitter, holds.

use super::files::Files;
use super::queue::{Scale, queue, shaped_rate};
use super::radio::{Radio, radio};
use super::server::{mean_rate, server};
use crate::scenario::experiment::{Hop, Passers};
use crate::scenario::toml::{Component, Error, Keys, Node, Value, read};
use serde::Deserialize;
use std::collections::BTreeSet;
use unbloat_link::device::{self, RingLimit, control, modem};
use unbloat_link::element::{delay, detour, hold, jitter, loss, outage};
use unbloat_link::service::constant;
use unbloat_link::{BottleneckParams, Config, service};
use unbloat_params::range::{FASTEST, FRAME_BYTES, PERIOD, SIZE, SPAN};
use unbloat_params::{Read, Settings};
use unbloat_qdisc::Host;
use unbloat_units::{Bytes, Cells, Delta, Direction, Framing, Rate};

/// One direction of the path before its queue is known.
pub(super) struct Link {
    keys: Keys,
    service: Option<service::Config>,
    radio: Option<Radio>,
    rate: Rate,
    pub delay: Delta,
    behind: Vec<Config>,
    pub clients: Passers,
}

/// More hops than this in a direction are a slip of the pen: packets live for 255.
const MAX_HOPS: usize = 255;

impl Link {
    /// The hops of a direction: one, or those of `[[link.down.hop]]`.
    pub(super) fn hops(
        node: &Node,
        key: &str,
        direction: Direction,
        files: Files<'_>,
        hosts: &[String],
    ) -> Result<Vec<Link>, Error> {
        let mut keys = Keys::of(node, key)?;
        let path = keys.path("hop");
        let Some(list) = keys.take("hop") else {
            return Ok(vec![Link::read(Keys::of(node, key)?, direction, files)?]);
        };
        let Value::Array(hops) = &list.value else {
            let message = format!("expected an array; write [[{path}]] once for each hop");
            return Err(Error::new(list.origin, path, message));
        };
        if hops.is_empty() || hops.len() > MAX_HOPS {
            let message = format!("expected 1 to {MAX_HOPS} hops");
            return Err(Error::new(list.origin, path, message));
        }
        keys.end()?;
        let read_hop = |(hop, index): (&Node, usize)| {
            let mut of_hop = Keys::of(hop, &format!("{path}.{index}"))?;
            let clients = clients(&mut of_hop, hosts)?;
            let link = Link::read(of_hop, direction, files)?;
            Ok(Link { clients, ..link })
        };
        hops.iter().zip(0..).map(read_hop).collect()
    }

    fn read(mut keys: Keys, direction: Direction, files: Files<'_>) -> Result<Link, Error> {
        let service = server(&mut keys, files)?;
        let radio = radio(&mut keys, direction, service.as_ref())?;
        let delay = keys.within("delay", Delta::ZERO, &SPAN)?;
        let behind = behind(&mut keys, delay)?;
        let rate = service.as_ref().map_or(Rate::ZERO, mean_rate);
        Ok(Link {
            keys,
            service,
            radio,
            rate,
            delay,
            behind,
            clients: Passers::All,
        })
    }

    /// The hop, sizes of its queue taken by the base RTT of the whole path.
    pub(super) fn hop(mut self, base_rtt: Delta) -> Result<Hop, Error> {
        let node = self.keys.take("queue");
        let device = Device::read(&mut self.keys)?;
        let framing = framing(&mut self.keys)?;
        let scale = Scale {
            rate: self.rate,
            base_rtt,
        };
        let is_queued = node.is_some() || device.is_some();
        let queue = queue(node.as_ref(), &self.keys.path("queue"), scale)?;
        let first = match (self.radio, self.service, device) {
            (Some(Radio::Down(_)), _, Some(_)) => {
                return Err(self.keys.fault(
                    "\"device\" is a property of the sender; use it with a rate or a radio of link.up",
                ));
            }
            (Some(Radio::Down(params)), ..) => {
                Some(Config::LteDownlink(params.into_downlink(queue)))
            }
            (Some(Radio::Up(params)), _, None) if !is_queued => Some(Config::LteUplink(*params)),
            (Some(Radio::Up(params)), _, device) => {
                let device = device.unwrap_or_default();
                Some(device.feeding(queue, modem::Config::LteUplink(*params)))
            }
            (None, Some(service), Some(device)) => {
                let line = device.line(service, framing);
                Some(device.feeding(queue, modem::Config::Line(line)))
            }
            (None, Some(service), None) => Some(bottleneck(queue, service, framing)),
            (None, None, None) if shaped_rate(&queue).is_some() => {
                let service = service::Config::Constant(constant::Params { rate: FASTEST });
                Some(bottleneck(queue, service, framing))
            }
            (None, None, _) if is_queued => {
                return Err(self.keys.fault("a queue without a rate never fills; give \"rate\", \"trace\", \"steps\" or \"markov\", or give cake its own \"rate\""));
            }
            (None, None, _) => None,
        };
        self.keys.end()?;
        Ok(Hop {
            elements: first.into_iter().chain(self.behind).collect(),
            clients: self.clients,
        })
    }
}

/// `clients = ["phone", "laptop"]`: whose packets pass a hop.
fn clients(hop: &mut Keys, hosts: &[String]) -> Result<Passers, Error> {
    let path = hop.path("clients");
    let Some(node) = hop.take("clients") else {
        return Ok(Passers::All);
    };
    let names: Vec<String> = read(&node, &path)?;
    let number = |name: &String| {
        let number = hosts.iter().position(|host| host == name);
        number.map(|number| Host(number as u32)).ok_or_else(|| {
            let message = format!("no flow has the client {name:?}");
            Error::new(node.origin.clone(), path.clone(), message)
        })
    };
    let clients: BTreeSet<Host> = names.iter().map(number).collect::<Result<_, _>>()?;
    match clients.is_empty() {
        true => {
            let message = "expected the names of one or more clients; without the key, all clients pass the hop";
            Err(Error::new(node.origin, path, message))
        }
        false => Ok(Passers::Only(clients)),
    }
}

fn bottleneck(queue: unbloat_qdisc::Config, service: service::Config, framing: Framing) -> Config {
    Config::Bottleneck(BottleneckParams {
        queue,
        service,
        framing,
    })
}

/// What lies below the queue of a sending device.
struct Device {
    ring: RingLimit,
    buffer: Bytes,
    control: Option<control::Params>,
}

impl Default for Device {
    /// A ring as by default, and 64 kB of buffer behind it.
    fn default() -> Device {
        Device {
            ring: RingLimit::default(),
            buffer: Bytes::new(64_000),
            control: None,
        }
    }
}

impl Device {
    /// `device = { ring_packets = 256, ring_bytes = "64 kB", buffer = "64 kB" }`.
    fn read(link: &mut Keys) -> Result<Option<Device>, Error> {
        let path = link.path("device");
        let Some(node) = link.take("device") else {
            return Ok(None);
        };
        let mut keys = Keys::of(&node, &path)?;
        let default = Device::default();
        let device = Device {
            ring: RingLimit {
                packets: keys.within("ring_packets", default.ring.packets, &(1..=1_000_000))?,
                bytes: keys.maybe_within("ring_bytes", &SIZE)?,
            },
            buffer: keys.within("buffer", default.buffer, &SIZE)?,
            control: uplink_control(&mut keys)?,
        };
        keys.end()?;
        Ok(Some(device))
    }

    fn line(&self, service: service::Config, framing: Framing) -> modem::Line {
        modem::Line {
            buffer: self.buffer,
            service,
            framing,
        }
    }

    fn feeding(self, qdisc: unbloat_qdisc::Config, modem: modem::Config) -> Config {
        Config::Device(device::Params {
            qdisc,
            ring: self.ring,
            modem,
            control: self.control,
        })
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum News {
    #[default]
    Modem,
    Bsr,
    Delay,
}

/// `control = { target = "20 ms", source = "bsr" }`, or `control = true`.
fn uplink_control(device: &mut Keys) -> Result<Option<control::Params>, Error> {
    let path = device.path("control");
    let Some(node) = device.take("control") else {
        return Ok(None);
    };
    let node = match node.value {
        Value::Boolean(false) => return Ok(None),
        Value::Boolean(true) => Node {
            value: Value::Table(Default::default()),
            ..node
        },
        _ => node,
    };
    let mut keys = Keys::of(&node, &path)?;
    let every = keys.within("every", Delta::ms(5), &PERIOD)?;
    let back = keys.within("back", Delta::ms(25), &SPAN)?;
    let (source, default) = match keys.or("source", News::Modem)? {
        News::Modem => (
            control::Source::Modem { every },
            unbloat_uplink::Params::default(),
        ),
        News::Bsr => (
            control::Source::Bsr { every },
            unbloat_uplink::Params::default(),
        ),
        News::Delay => (
            control::Source::Delay { back },
            unbloat_uplink::Params::of_delay(),
        ),
    };
    let valve = unbloat_uplink::Params {
        target: keys.within("target", default.target, &PERIOD)?,
        floor: keys.within("floor", default.floor, &SPAN)?,
        least: keys.within("least", default.least, &SIZE)?,
        first: keys.within("first", default.first, &SIZE)?,
        horizon: keys.within("horizon", default.horizon, &PERIOD)?,
        ..default
    };
    keys.end()?;
    Ok(Some(control::Params { valve, source }))
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
    elements.extend(outages(keys)?.map(Config::Outage));
    elements.extend(losses(keys)?);
    if delay > Delta::ZERO {
        elements.push(Config::Delay(delay::Params { delay }));
    }
    elements.extend(detours(keys)?.map(Config::Detour));
    let most = keys.within("jitter", Delta::ZERO, &SPAN)?;
    let reorders = keys.or("reorders", false)?;
    if most > Delta::ZERO {
        elements.push(Config::Jitter(jitter::Params {
            jitter: most,
            reorders,
        }));
    }
    elements.extend(held(keys)?.map(Config::Hold));
    Ok(elements)
}

/// `outages = [{ after = "10 s", lasts = "2 s" }]`, or a table for random ones and for those that lose packets.
fn outages(link: &mut Keys) -> Result<Option<outage::Params>, Error> {
    let path = link.path("outages");
    let Some(node) = link.take("outages") else {
        return Ok(None);
    };
    if let Value::Array(_) = node.value {
        let effect = outage::Effect::Hold;
        let when = listed(&node, &path)?;
        return Ok(Some(outage::Params { when, effect }));
    }
    let mut keys = Keys::of(&node, &path)?;
    let list = keys.take("at");
    let every = keys.maybe_within("every", &(Delta::us(100)..=*PERIOD.end()))?;
    let shortest = keys.within("shortest", Delta::ms(100), &PERIOD)?;
    let longest = keys.within("longest", Delta::secs(1).max(shortest), &PERIOD)?;
    let when = match (list, every) {
        (Some(list), None) => listed(&list, &keys.path("at"))?,
        (None, Some(every)) if shortest <= longest => outage::When::Random {
            every,
            shortest,
            longest,
        },
        (None, Some(_)) => return Err(keys.fault("\"shortest\" must not be above \"longest\"")),
        _ => return Err(keys.fault("exactly one of \"at\" and \"every\" is needed")),
    };
    let lost = keys.maybe_fraction("loss")?;
    let effect = lost.map_or(outage::Effect::Hold, outage::Effect::Lose);
    keys.end()?;
    Ok(Some(outage::Params { when, effect }))
}

fn listed(node: &Node, key: &str) -> Result<outage::When, Error> {
    let outages: Vec<Outage> = read(node, key)?;
    let is_sound = |one: &Outage| SPAN.contains(&one.after) && PERIOD.contains(&one.lasts);
    if outages.is_empty() || !outages.iter().all(is_sound) {
        let message = format!(
            "expected outages like {{ after = \"10 s\", lasts = \"2 s\" }}, each time from {} to {}",
            PERIOD.start(),
            PERIOD.end()
        );
        return Err(Error::new(node.origin.clone(), key, message));
    }
    let when = outages.into_iter().map(|one| (one.after, one.lasts));
    Ok(outage::When::At(when.collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Route {
    after: Delta,
    longer: Delta,
}

/// `detours = [{ after = "10 s", longer = "60 ms" }]`.
fn detours(link: &mut Keys) -> Result<Option<detour::Params>, Error> {
    let path = link.path("detours");
    let Some(node) = link.take("detours") else {
        return Ok(None);
    };
    let routes: Vec<Route> = read(&node, &path)?;
    let is_sound = |one: &Route| SPAN.contains(&one.after) && SPAN.contains(&one.longer);
    if routes.is_empty() || !routes.iter().all(is_sound) {
        let message = format!(
            "expected routes like {{ after = \"10 s\", longer = \"60 ms\" }}, each time from {} to {}",
            SPAN.start(),
            SPAN.end()
        );
        return Err(Error::new(node.origin.clone(), path, message));
    }
    let routes = routes.into_iter().map(|one| (one.after, one.longer));
    Ok(Some(detour::Params {
        routes: routes.collect(),
    }))
}

/// `hold = { share = 0.01, delay = "50 ms" }`.
fn held(link: &mut Keys) -> Result<Option<hold::Params>, Error> {
    let path = link.path("hold");
    let Some(node) = link.take("hold") else {
        return Ok(None);
    };
    let mut keys = Keys::of(&node, &path)?;
    let params = hold::Params {
        share: keys.fraction("share", 0.01)?,
        hold: keys.within("delay", Delta::ms(50), &SPAN)?,
    };
    keys.end()?;
    Ok(Some(params))
}

/// `loss = 0.01` or `loss = { kind = "burst", to_bad = 0.001, to_good = 0.1 }`.
fn losses(keys: &mut Keys) -> Result<Option<Config>, Error> {
    let path = keys.path("loss");
    let Some(node) = keys.take("loss") else {
        return Ok(None);
    };
    if let Ok(share) = crate::scenario::toml::read::<f64>(&node, &path) {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::new(
                node.origin,
                path,
                format!("{share} is not a fraction; expected a number from 0 to 1"),
            ));
        }
        return Ok(Some(Config::Loss(loss::Params { loss: share })));
    }
    let mut params = Keys::params(Component::of(&node, &path, &["burst"])?, &path);
    let config = Config::Burst(Read::read(&mut params)?);
    params.end()?;
    Ok(Some(config))
}

/// `framing = { overhead_bytes = 38, minimum_bytes = 84, cells = "atm" }`.
fn framing(keys: &mut Keys) -> Result<Framing, Error> {
    let path = keys.path("framing");
    let Some(node) = keys.take("framing") else {
        return Ok(Framing::default());
    };
    let mut params = Keys::of(&node, &path)?;
    let framing = Framing {
        overhead_bytes: params.within("overhead_bytes", 0, &(0..=65_535))?,
        minimum_bytes: params.within("minimum_bytes", 0, &FRAME_BYTES)?,
        cells: params.or("cells", Cells::None)?,
    };
    params.end()?;
    Ok(framing)
}
