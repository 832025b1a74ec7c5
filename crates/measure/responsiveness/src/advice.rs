//! The one decision of the cure: `test` prints it, `fix` carries it out, `sqm plan --test` starts from it.
//!
//! The place of the queue decides what kind of cure fits. On the access line, or where the place is unknown, a shaper makes this side the bottleneck;
//! its rate is a fixed share of the line's where the line is steady and follows the line where it is not. A queue in this host or on the
//! local network is cured there. Beyond the access line nothing on this side helps. A download that waits for its own acknowledgements waits in the
//! uplink's queue, so that one is cured, where it is, and its own as well if it is felt by itself: it fills when acknowledgements no longer wait.

mod cure;

use crate::load::{Doubt, LoadedDirection, UNNOTICED};
use crate::place::Place;
pub use cure::{Cure, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::{Bytes, Delta, Direction, Rate};

/// Share of the line's rate for a shaper. Downloads are cut more, because the shaper stands behind the queue that it has to keep empty.
pub const SHAPER_UP: f64 = 0.95;
pub const SHAPER_DOWN: f64 = 0.90;
/// TCP_REPLENISH_TIME of draft-ietf-ippm-responsiveness-09.
const UNSENT: Delta = Delta::ms(5);
/// A limit below two segments would only cost throughput.
const LEAST_UNSENT: Bytes = Bytes::new(4096);

/// A cure and the numbers it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    pub cure: Cure,
    /// In words.
    pub text: String,
    /// It takes the place of the advice before it where that cannot be carried out.
    pub is_alternative: bool,
    /// The directions that it cures.
    pub directions: Vec<Direction>,
    pub evidence: Vec<String>,
}

/// Cures in the order in which to try them; always at least one advice.
pub fn advise(loads: &[LoadedDirection], doubts: &[Doubt]) -> Vec<Advice> {
    let fatal = doubts.iter().filter(|doubt| doubt.is_fatal);
    let fatal: Vec<String> = fatal.map(|doubt| doubt.reason.clone()).collect();
    if !fatal.is_empty() {
        return vec![advice(Cure::Repeat, &[], fatal)];
    }
    if loads.is_empty() {
        return vec![advice(Cure::MeasureDelay, &[], Vec::new())];
    }
    let mut all = Vec::new();
    for cured_at in [
        CuredAt::Line,
        CuredAt::Host,
        CuredAt::Local,
        CuredAt::Nowhere,
    ] {
        let here = |load: &&LoadedDirection| load.is_felt() && CuredAt::of(load, loads) == cured_at;
        let felt: Vec<&LoadedDirection> = loads.iter().filter(here).collect();
        if !felt.is_empty() {
            all.extend(cured_at.cures(&felt, loads));
        }
    }
    all.extend(loads.iter().filter_map(for_sockets));
    if all.is_empty() {
        all.push(advice(
            Cure::Nothing,
            &[],
            loads.iter().map(added).collect(),
        ));
    }
    all
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CuredAt {
    Line,
    Host,
    Local,
    Nowhere,
}

impl CuredAt {
    fn of(load: &LoadedDirection, loads: &[LoadedDirection]) -> CuredAt {
        match place_of(load, loads) {
            None | Some(Place::AccessLine) => CuredAt::Line,
            Some(Place::Qdisc | Place::Driver) => CuredAt::Host,
            Some(Place::LocalNetwork) => CuredAt::Local,
            Some(Place::Beyond) => CuredAt::Nowhere,
        }
    }

    fn cures(self, felt: &[&LoadedDirection], loads: &[LoadedDirection]) -> Vec<Advice> {
        match self {
            CuredAt::Line => match starved(felt, loads, Site::Anywhere) {
                Some(for_acks) => vec![for_acks],
                None => on_the_line(felt),
            },
            CuredAt::Host => {
                let is_driver =
                    |load: &&LoadedDirection| place_of(load, loads) == Some(Place::Driver);
                let cure = match felt.iter().any(is_driver) {
                    true => Cure::DriverQueue,
                    false => Cure::DeviceQueue,
                };
                at_the_queue(cure, felt, loads)
            }
            CuredAt::Local => at_the_queue(Cure::LocalLink, felt, loads),
            CuredAt::Nowhere => vec![advice(Cure::Elsewhere, felt, because(felt, loads))],
        }
    }
}

/// The uplink whose queue a download's acknowledgements fill.
fn uplink_of<'a>(
    load: &LoadedDirection,
    loads: &'a [LoadedDirection],
) -> Option<&'a LoadedDirection> {
    let mut up = loads.iter().filter(|one| one.direction == Direction::Up);
    up.next().filter(|_| load.is_starved)
}

/// Where the queue is in which this direction waits.
fn place_of(load: &LoadedDirection, loads: &[LoadedDirection]) -> Option<Place> {
    let uplinks = uplink_of(load, loads).and_then(|uplink| uplink.located.as_ref());
    let located = uplinks.or(load.located.as_ref());
    located.map(|located| located.place)
}

/// A download whose acknowledgements fill the uplink: the uplink is shaped, whose queue it is. The download is where packets wait on its way, too.
/// None where that one has to be treated too and changes: both are then cured by themselves.
fn starved(felt: &[&LoadedDirection], loads: &[LoadedDirection], site: Site) -> Option<Advice> {
    let (download, uplink) = felt
        .iter()
        .find_map(|&load| Some((load, uplink_of(load, loads)?)))?;
    // One way, for what its acknowledgements wait is known.
    let is_bloated = download.added_p95 >= UNNOTICED;
    if is_bloated && !download.is_steady && uplink.is_felt() {
        return None;
    }
    let cure = Cure::Shaper {
        down: (is_bloated && download.is_steady).then(|| download.shaper_rate()),
        up: Some(uplink.shaper_rate()),
        site,
    };
    let mut advice = advice(cure, felt, because(felt, loads));
    advice.directions = Direction::BOTH.to_vec();
    Some(advice)
}

/// Each direction's delay, and whose queue a download waits in.
fn because(felt: &[&LoadedDirection], loads: &[LoadedDirection]) -> Vec<String> {
    let mut because = evidence(felt, false);
    if felt.iter().any(|load| uplink_of(load, loads).is_some()) {
        because.push("downloads wait for their own acknowledgements in the uplink, where CAKE's ack-filter helps as well".to_owned());
    }
    because
}

/// A shaper follows the line if an upload's rate changes, for it needs both directions. A download alone is held back by its receive windows.
fn on_the_line(felt: &[&LoadedDirection]) -> Vec<Advice> {
    let unsteady = |direction| {
        felt.iter()
            .any(|load| load.direction == direction && !load.is_steady)
    };
    let follow = Cure::AdaptiveShaper {
        down: rate_of(felt, Direction::Down),
        up: rate_of(felt, Direction::Up),
    };
    let follow = advice(follow, felt, evidence(felt, true));
    let only = |wanted: Direction| -> Vec<&LoadedDirection> {
        let of = |load: &&&LoadedDirection| load.direction == wanted;
        felt.iter().filter(of).copied().collect()
    };
    let window = unsteady(Direction::Down).then(|| {
        let down = only(Direction::Down);
        advice(Cure::ReceiveWindow, &down, evidence(&down, true))
    });
    let shaper = shaper(felt, Site::Anywhere);
    match unsteady(Direction::Up) {
        true => {
            let others = shaper.into_iter().chain(window);
            let others = others.map(Advice::into_alternative);
            std::iter::once(follow).chain(others).collect()
        }
        false => {
            let follow = window.is_some().then(|| follow.into_alternative());
            shaper.into_iter().chain(window).chain(follow).collect()
        }
    }
}

/// For those of these directions whose rates are steady.
fn shaper(felt: &[&LoadedDirection], site: Site) -> Option<Advice> {
    let steady: Vec<&LoadedDirection> =
        felt.iter().filter(|load| load.is_steady).copied().collect();
    let cure = Cure::Shaper {
        down: rate_of(&steady, Direction::Down),
        up: rate_of(&steady, Direction::Up),
        site,
    };
    (!steady.is_empty()).then(|| advice(cure, &steady, evidence(&steady, false)))
}

/// A cure at the queue itself, or else a shaper in this host that keeps it empty.
fn at_the_queue(cure: Cure, felt: &[&LoadedDirection], loads: &[LoadedDirection]) -> Vec<Advice> {
    let first = advice(cure, felt, because(felt, loads));
    let other = starved(felt, loads, Site::ThisHost).or_else(|| shaper(felt, Site::ThisHost));
    let other = other.map(Advice::into_alternative);
    std::iter::once(first).chain(other).collect()
}

/// For what waits in senders' sockets, if that is long.
fn for_sockets(load: &LoadedDirection) -> Option<Advice> {
    let unsent = load.unsent.filter(|unsent| *unsent >= UNNOTICED)?;
    let bytes = (load.delivered * UNSENT).max(LEAST_UNSENT);
    let direction = load.direction;
    let cure = Cure::NotsentLowat { direction, bytes };
    let evidence = format!(
        "data waits {:.0} ms in the sender's sockets during the {}",
        unsent.as_ms(),
        direction.load()
    );
    Some(advice(cure, &[load], vec![evidence]))
}

fn rate_of(loads: &[&LoadedDirection], direction: Direction) -> Option<Rate> {
    let mut of = loads.iter().filter(|load| load.direction == direction);
    of.next().map(|load| load.shaper_rate())
}

impl LoadedDirection {
    /// What to shape this direction to, to the kbit/s.
    pub fn shaper_rate(&self) -> Rate {
        let bps = self.line.as_bps_f64() * self.shaper_share();
        Rate::from_bps_f64((bps / 1e3).round() * 1e3)
    }

    fn shaper_share(&self) -> f64 {
        match self.direction {
            Direction::Up => SHAPER_UP,
            Direction::Down => SHAPER_DOWN,
        }
    }

    /// It was measured behind a shaper of this host, of that rate as far as it is known. Where the shaper was full, the line is known from it: to advise a
    /// share of what it let through would make it slower with each test.
    pub fn behind(&mut self, shaped: Option<Rate>) {
        /// Of its rate, what a full shaper lets through at least.
        const FULL: f64 = 0.85;
        let shaped = shaped.unwrap_or(self.line).as_bps_f64();
        let line = self.line.as_bps_f64();
        if line >= FULL * shaped {
            self.line = Rate::from_bps_f64(line.max(shaped / self.shaper_share()));
        }
    }
}

fn advice(cure: Cure, cured: &[&LoadedDirection], evidence: Vec<String>) -> Advice {
    Advice {
        text: cure.to_string(),
        cure,
        is_alternative: false,
        directions: cured.iter().map(|load| load.direction).collect(),
        evidence,
    }
}

impl Advice {
    fn into_alternative(self) -> Advice {
        Advice {
            is_alternative: true,
            ..self
        }
    }
}

fn evidence(loads: &[&LoadedDirection], is_changing: bool) -> Vec<String> {
    let one = |load: &&LoadedDirection| {
        let changes = match is_changing && !load.is_steady {
            true => ", and its rate changed during the test",
            false => "",
        };
        format!("{}; {} delivered{changes}", added(load), load.delivered)
    };
    loads.iter().map(one).collect()
}

fn added(load: &LoadedDirection) -> String {
    format!(
        "{}s add {:.0} ms on average, {:.0} ms at p95",
        load.direction.load(),
        load.added.as_ms().max(0.0),
        load.added_p95.as_ms().max(0.0)
    )
}

#[cfg(test)]
mod tests;
