//! `app = "voice"` or `app = { kind = "onoff", rate = "2 Mbit/s" }`: what a flow does.

use crate::scenario::toml::{At, Component, Error, Keys, Node};
use std::fmt;
use std::ops::RangeInclusive;
use unbloat_params::range::{PERIOD, RATE, SIZE, SPAN};
use unbloat_units::Bytes;
use unbloat_workload::kind::web::SizeQuantile;
use unbloat_workload::{Config as Workload, NAMES};

/// IP lengths of datagrams.
const DATAGRAM: RangeInclusive<Bytes> = Bytes::new(28)..=Bytes::new(65_535);

/// More objects, sizes or qualities than this are a slip of the pen.
const MOST: usize = 10_000;

pub(super) fn workload(keys: &mut Keys) -> Result<Workload, Error> {
    let path = keys.path("app");
    let Some(node) = keys.take("app") else {
        return Err(keys.fault(format!(
            "\"app\" is missing; give one of {}",
            NAMES.join(", ")
        )));
    };
    workload_of(&node, &path)
}

/// A workload as it stands under `path`: its kind, or a table of its kind and parameters.
pub fn workload_of(node: &Node, path: &str) -> Result<Workload, Error> {
    let Component { kind, params, .. } = Component::of(node, path, NAMES)?;
    let key = path.to_owned();
    let at = At { node: &params, key };
    let workload = Workload::read(&kind, at).expect("the component is one of the names")?;
    let check = Check {
        params: &params,
        path: path.to_owned(),
    };
    check.bounds(&workload)?;
    Ok(workload)
}

/// The crate of workloads reads their keys; what they may be is a matter of scenarios.
struct Check<'a> {
    params: &'a Node,
    path: String,
}

impl Check<'_> {
    fn bounds(&self, workload: &Workload) -> Result<(), Error> {
        match workload {
            Workload::Bulk(_) => Ok(()),
            Workload::Finite(params) => self.is_in("size", params.size, &SIZE),
            Workload::Web(params) => {
                self.is_in("every", params.every, &PERIOD)?;
                self.are_in("sizes", &params.sizes, &SIZE)?;
                self.quantiles(&params.size_quantiles)
            }
            Workload::Page(params) => {
                let objects = params.levels.iter().map(|level| *level as usize);
                let objects = objects.fold(0_usize, usize::saturating_add);
                if !(1..=MOST).contains(&objects) || params.levels.contains(&0) {
                    let message = format!(
                        "each level needs at least 1 object, and all together at most {MOST}"
                    );
                    return Err(self.fault("levels", message));
                }
                self.is_in("object_size", params.object_size, &SIZE)?;
                self.is_in("connections", params.connections, &(1..=1_000))?;
                self.is_in("pause", params.pause, &SPAN)
            }
            Workload::Transfers(params) => {
                self.is_in("size", params.size, &SIZE)?;
                self.is_in("pause", params.pause, &SPAN)
            }
            Workload::Browse(params) => {
                self.is_in("pause", params.pause, &SPAN)?;
                self.is_in("silence_min", params.silence_min, &SPAN)?;
                self.is_in(
                    "silence_max",
                    params.silence_max,
                    &(params.silence_min..=*SPAN.end()),
                )?;
                let shares = [
                    ("beside", params.beside),
                    ("big", params.big),
                    ("silent", params.silent),
                    ("late", params.late),
                    ("reset", params.reset),
                ];
                let mut shares = shares.into_iter();
                shares.try_for_each(|(name, share)| self.is_in(name, share, &(0.0..=1.0)))
            }
            Workload::OnOff(params) => {
                self.is_in("rate", params.rate, &RATE)?;
                self.is_in("size", params.size, &DATAGRAM)?;
                if let Some(on) = params.on {
                    self.is_in("on", on, &PERIOD)?;
                }
                self.is_in("off", params.off, &SPAN)
            }
            Workload::Ranges(params) => {
                self.is_in("size", params.size, &SIZE)?;
                self.is_in("every", params.every, &PERIOD)
            }
            Workload::Video(params) => {
                self.are_in("ladder", &params.ladder, &RATE)?;
                self.is_in("segment", params.segment, &PERIOD)?;
                self.is_in("buffer", params.buffer, &PERIOD)?;
                self.is_in("start_after", params.start_after, &SPAN)?;
                self.is_in("safety", params.safety, &(0.01..=10.0))
            }
            Workload::Voice(params) => {
                self.is_in("every", params.every, &PERIOD)?;
                self.is_in("size", params.size, &DATAGRAM)?;
                self.is_in("playout", params.playout, &SPAN)
            }
            Workload::Game(params) => {
                self.is_in("tick", params.tick, &PERIOD)?;
                self.is_in("size_up", params.size_up, &DATAGRAM)?;
                self.is_in("size_down", params.size_down, &DATAGRAM)?;
                self.is_in("late", params.late, &SPAN)
            }
            Workload::Ping(params) => {
                self.is_in("every", params.every, &PERIOD)?;
                self.is_in("size", params.size, &DATAGRAM)
            }
            Workload::Traceroute(params) => {
                self.is_in("every", params.every, &PERIOD)?;
                self.is_in("size", params.size, &DATAGRAM)
            }
        }
    }

    /// Probabilities from 0 to 1 and sizes, neither of which falls.
    fn quantiles(&self, quantiles: &[SizeQuantile]) -> Result<(), Error> {
        let name = "size_quantiles";
        let [first, .., last] = quantiles else {
            return match quantiles {
                [] => Ok(()),
                _ => Err(self.fault(name, "expected at least 2 points".to_owned())),
            };
        };
        let sizes: Vec<_> = quantiles.iter().map(|one| one.size).collect();
        self.are_in(name, &sizes, &SIZE)?;
        let rises = quantiles.is_sorted_by(|a, b| a.p <= b.p && a.size <= b.size);
        if rises && first.p == 0.0 && last.p == 1.0 {
            return Ok(());
        }
        let message = "\"p\" must rise from 0 to 1, and \"size\" must not fall";
        Err(self.fault(name, message.to_owned()))
    }

    fn is_in<T>(&self, name: &str, value: T, allowed: &RangeInclusive<T>) -> Result<(), Error>
    where
        T: PartialOrd + fmt::Display,
    {
        if allowed.contains(&value) {
            return Ok(());
        }
        let (least, most) = (allowed.start(), allowed.end());
        let message = format!("{value} is out of range; the range is {least} to {most}");
        Err(self.fault(name, message))
    }

    fn are_in<T>(&self, name: &str, values: &[T], allowed: &RangeInclusive<T>) -> Result<(), Error>
    where
        T: PartialOrd + fmt::Display + Copy,
    {
        if !(1..=MOST).contains(&values.len()) {
            return Err(self.fault(name, format!("expected 1 to {MOST} values")));
        }
        values
            .iter()
            .try_for_each(|value| self.is_in(name, *value, allowed))
    }

    fn fault(&self, name: &str, message: String) -> Error {
        let origin = match self.params.get(name) {
            Some(node) => node.origin.clone(),
            None => self.params.origin.clone(),
        };
        Error::new(origin, format!("{}.{name}", self.path), message)
    }
}
