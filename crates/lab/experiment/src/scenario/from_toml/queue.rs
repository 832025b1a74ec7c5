//! `queue = "codel"` or `queue = { kind = "codel", target = "5 ms", limit = "1.5 BDP" }`.

use crate::scenario::amount::Amount;
use crate::scenario::toml::{Component, Error, Keys, Node};
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_params::{Limit, LinkSettings, Settings};
use unbloat_qdisc::{Config, NAMES, discipline::droptail};
use unbloat_units::{Delta, Rate};

/// What sizes in times and BDPs refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub rate: Rate,
    pub base_rtt: Delta,
}

pub(super) fn queue(node: Option<&Node>, key: &str, scale: Scale) -> Result<Config, Error> {
    let Some(node) = node else {
        return Ok(Config::DropTail(droptail::Params::default()));
    };
    let component = Component::of(node, key, NAMES)?;
    let kind = component.kind.clone();
    let mut params = Params {
        keys: Keys::params(component, key),
        scale,
    };
    let unknown = params.keys.fault(format!("there is no queue {kind:?}"));
    let config = Config::read(&kind, &mut params)?.ok_or(unknown)?;
    params.keys.end()?;
    Ok(config)
}

/// The rate that the queue itself keeps to.
pub(super) fn shaped_rate(queue: &Config) -> Option<Rate> {
    match queue {
        Config::Cake(params) => params.rate,
        _ => None,
    }
}

/// The parameters of a queue at its link.
struct Params {
    keys: Keys,
    scale: Scale,
}

impl Settings for Params {
    type Error = Error;

    fn maybe<T: DeserializeOwned>(&mut self, name: &'static str) -> Result<Option<T>, Error> {
        self.keys.maybe(name)
    }

    fn maybe_within<T>(
        &mut self,
        name: &'static str,
        allowed: &RangeInclusive<T>,
    ) -> Result<Option<T>, Error>
    where
        T: DeserializeOwned + PartialOrd + fmt::Display,
    {
        self.keys.maybe_within(name, allowed)
    }

    fn maybe_fraction(&mut self, name: &'static str) -> Result<Option<f64>, Error> {
        self.keys.maybe_fraction(name)
    }

    fn fault(&self, message: String) -> Error {
        self.keys.fault(message)
    }
}

impl LinkSettings for Params {
    fn maybe_limit(&mut self, name: &'static str) -> Result<Option<Limit>, Error> {
        let amount = self.keys.maybe::<Amount>(name)?;
        Ok(amount.map(|amount| amount.resolve(self.scale.rate, self.scale.base_rtt)))
    }

    fn rate(&self) -> Rate {
        self.scale.rate
    }
}
