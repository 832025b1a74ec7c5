//! The verdict on one path under one load.

use crate::envelope::{dip, envelope, largest, steps};
use crate::evidence::{Evidence, PEER, Phase};
use crate::hop::{Hop, HopKind, HopReport};
use crate::layer::Layer;
use crate::params::Params;
use crate::resample;
use crate::series::Series;
use crate::statistic::{from_ms, quantile};
use std::net::IpAddr;
use unbloat_units::Delta;

/// A point of the path that is known to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    ThisHost,
    /// The second node in the local network.
    Peer(IpAddr),
    Hop(u8, IpAddr),
    FarEnd(u8, IpAddr),
}

/// Between two nodes that follow each other, but for what is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The nearer one.
    pub from: Node,
    pub to: Node,
}

/// Delay that load adds at a place: median, and the 95 % interval of the resamples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub place: Place,
    pub added: Delta,
    pub low: Delta,
    pub high: Delta,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    Certain,
    Likely,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A queue stands here.
    Queue {
        step: Step,
        confidence: Confidence,
        /// In which share of drawings the same place came out.
        agreement: f64,
        /// Which layer, if it is this host's own queue and somebody measured.
        layer: Option<Layer>,
        /// Further places where the path adds delay, in their order.
        others: Vec<Step>,
    },
    /// Load adds no more than this on the whole path.
    NoQueue {
        at_most: Delta,
        until: Node,
    },
    Inconclusive(Reason),
}

/// Why nobody can tell.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// No hop answered often enough, idle and under load.
    NoAnswers,
    /// Load adds no more than this up to the last node that answered; the far end did not, so the rest of the path is unknown.
    FarEndSilent { at_most: Delta, until: Node },
    /// Most hops have other addresses under load: another path.
    RouteChanged { hops: usize },
    /// Delay was added, but where differs from drawing to drawing: the two likeliest places.
    Undecided {
        added: Delta,
        first: Place,
        first_share: f64,
        second: Place,
        second_share: f64,
    },
    /// What was added at the last hop is within what chance does there.
    Noise {
        added: Delta,
        low: Delta,
        high: Delta,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub load: Phase,
    pub finding: Finding,
    pub hops: Vec<HopReport>,
}

/// Where the queue stands that `load` fills.
pub fn locate(evidence: &Evidence, load: Phase, params: &Params) -> Verdict {
    let series = Series::all(&evidence.probes, load);
    let last = evidence.far_end.unwrap_or(u8::MAX);
    let asked = series.iter().filter(|one| one.hop <= last);
    let mut hops: Vec<Hop> = asked.map(|one| Hop::new(one, params)).collect();
    mark_erratic(&mut hops, params);
    compare_seldom(&mut hops);
    mark_other_ways(&mut hops, params);
    let finding = find(evidence, load, &hops, params);
    mark_persisting(&mut hops, params);
    Verdict {
        load,
        finding,
        hops: hops.into_iter().map(|hop| hop.report).collect(),
    }
}

impl Hop {
    fn is_used(&self) -> bool {
        self.report.kind.is_used()
    }
}

fn used(hops: &[Hop]) -> Vec<&Hop> {
    hops.iter().filter(|hop| hop.is_used()).collect()
}

fn mark_other_ways(hops: &mut [Hop], params: &Params) {
    loop {
        let places: Vec<usize> = (0..hops.len()).filter(|&at| hops[at].is_used()).collect();
        let added: Vec<f64> = places.iter().map(|&at| hops[at].added_ms()).collect();
        let Some(at) = dip(&added, 2.0 * params.min_step.as_ms()) else {
            return;
        };
        hops[places[at]].report.kind = HopKind::OtherWayBack;
    }
}

/// A hop whose idle round trips vary much more than those of a later hop, which go the same way and further.
fn mark_erratic(hops: &mut [Hop], params: &Params) {
    let mut narrowest = f64::INFINITY;
    for at in (0..hops.len()).rev() {
        let (until, behind) = hops.split_at_mut(at + 1);
        let hop = &mut until[at];
        if !hop.is_used() {
            continue;
        }
        let spread = hop.idle_spread();
        if spread > 2.0 * narrowest + params.min_step.as_ms() / 2.0 {
            let is_steady = |one: &&Hop| one.report.kind == HopKind::Plain;
            hop.set_erratic(behind.iter().find(is_steady));
        }
        narrowest = narrowest.min(spread);
    }
}

/// Hops that answered seldom are compared with the nearest one that answered always.
fn compare_seldom(hops: &mut [Hop]) {
    for at in 0..hops.len() {
        let (before, rest) = hops.split_at_mut(at);
        let Some((hop, behind)) = rest.split_first_mut() else {
            return;
        };
        if hop.report.kind == HopKind::RateLimited {
            let is_steady = |one: &&Hop| one.report.kind == HopKind::Plain;
            let steady = before.iter().rev().find(is_steady);
            let steady = steady.or_else(|| behind.iter().find(is_steady));
            steady
                .into_iter()
                .for_each(|steady| hop.compare_with(steady));
        }
    }
}

/// Says of each hop what of its delay is the path's, and which have more than that.
fn mark_persisting(hops: &mut [Hop], params: &Params) {
    let added: Vec<f64> = used(hops).iter().map(|hop| hop.added_ms()).collect();
    let path = envelope(&added);
    for (hop, persisting) in hops.iter_mut().filter(|hop| hop.is_used()).zip(path) {
        hop.report.persisting = Some(from_ms(persisting));
        if hop.added_ms() > 2.0 * persisting + params.min_step.as_ms() {
            hop.report.kind = HopKind::SlowPath;
        }
    }
}

fn find(evidence: &Evidence, load: Phase, hops: &[Hop], params: &Params) -> Finding {
    let changed = hops
        .iter()
        .filter(|hop| hop.report.kind == HopKind::Changed);
    let (changed, usable) = (changed.count(), used(hops));
    if changed >= 2 && changed > usable.len() {
        return Finding::Inconclusive(Reason::RouteChanged { hops: changed });
    }
    let Some(last) = usable.last() else {
        return Finding::Inconclusive(Reason::NoAnswers);
    };
    let ways = Ways::draw(&usable, params);
    let total = ways.range(usable.len() - 1, |path, at| path[at]);
    let least = params.min_step.as_ms();
    if total.high < 2.0 * least && total.middle < least {
        let (at_most, until) = (from_ms(total.high), node(evidence, last));
        return match until {
            Node::FarEnd(..) => Finding::NoQueue { at_most, until },
            _ => Finding::Inconclusive(Reason::FarEndSilent { at_most, until }),
        };
    }
    decide(evidence, load, &usable, &ways, params, &total)
}

fn decide(
    evidence: &Evidence,
    load: Phase,
    used: &[&Hop],
    ways: &Ways,
    params: &Params,
    total: &Range,
) -> Finding {
    let least = params.min_step.as_ms();
    let shares = ways.shares(used.len());
    let place = |at: usize| Place {
        from: at
            .checked_sub(1)
            .map_or(Node::ThisHost, |at| node(evidence, used[at])),
        to: node(evidence, used[at]),
    };
    let step = |at: usize| {
        let range = ways.range(at, step_at);
        Step {
            place: place(at),
            added: from_ms(range.middle),
            low: from_ms(range.low),
            high: from_ms(range.high),
        }
    };
    let (first, second) = two_largest(&shares);
    if shares[first] < params.likely {
        return Finding::Inconclusive(Reason::Undecided {
            added: from_ms(total.middle),
            first: place(first),
            first_share: shares[first],
            second: place(second),
            second_share: shares[second],
        });
    }
    let found = step(first);
    if found.low < params.min_step {
        return Finding::Inconclusive(Reason::Noise {
            added: from_ms(total.middle),
            low: from_ms(total.low),
            high: from_ms(total.high),
        });
    }
    let others = (0..used.len()).filter(|&at| at != first).map(step);
    let is_real = |other: &Step| other.low >= params.min_step;
    let is_certain = shares[first] >= params.certain && !is_doubtful(used, first, &found, least);
    let confidence = match is_certain {
        true => Confidence::Certain,
        false => Confidence::Likely,
    };
    Finding::Queue {
        confidence,
        agreement: shares[first],
        layer: (found.place.from == Node::ThisHost && load != Phase::Down)
            .then(|| evidence.layers.holding(found.added, load == Phase::Both))
            .flatten(),
        others: others.filter(is_real).collect(),
        step: found,
    }
}

/// Nothing behind the last hop confirms its delay: it may be its own. So it must be beyond what that hop
/// does when idle.
fn is_doubtful(used: &[&Hop], at: usize, step: &Step, least_ms: f64) -> bool {
    at + 1 == used.len() && step.low.as_ms() < 2.0 * (least_ms + used[at].idle_spread())
}

fn node(evidence: &Evidence, hop: &Hop) -> Node {
    let number = hop.report.hop;
    let address = hop.report.addresses.first().copied();
    let address = address.expect("a hop that is used has answered");
    match number {
        PEER => Node::Peer(address),
        _ if evidence.far_end == Some(number) => Node::FarEnd(number, address),
        _ => Node::Hop(number, address),
    }
}

fn two_largest(shares: &[f64]) -> (usize, usize) {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
    (order[0], order.get(1).copied().unwrap_or(order[0]))
}

fn step_at(path: &[f64], at: usize) -> f64 {
    path[at] - at.checked_sub(1).map_or(0.0, |before| path[before])
}

/// What the path adds before each hop, as it is and in each drawing.
struct Ways {
    observed: Vec<f64>,
    drawn: Vec<Vec<f64>>,
}

struct Range {
    low: f64,
    middle: f64,
    high: f64,
}

impl Ways {
    fn draw(used: &[&Hop], params: &Params) -> Ways {
        let observed: Vec<f64> = used.iter().map(|hop| hop.added_ms()).collect();
        let block = params.block_rounds.max(1);
        let drawn = resample::added(used, params.replicates.max(1), block, params.seed);
        Ways {
            observed: envelope(&observed),
            drawn: drawn.iter().map(|added| envelope(added)).collect(),
        }
    }

    /// In which share of drawings each hop has the largest step.
    fn shares(&self, hops: usize) -> Vec<f64> {
        let mut counts = vec![0.0; hops];
        let winners = self.drawn.iter().filter_map(|path| largest(steps(path)));
        winners.for_each(|at| counts[at] += 1.0);
        let all = self.drawn.len().max(1) as f64;
        counts.iter().map(|count| count / all).collect()
    }

    fn range(&self, at: usize, of: fn(&[f64], usize) -> f64) -> Range {
        let mut drawn: Vec<f64> = self.drawn.iter().map(|path| of(path, at)).collect();
        let middle = of(&self.observed, at);
        let mut bound = |q| quantile(&mut drawn, q).unwrap_or(middle);
        Range {
            low: bound(0.025),
            middle,
            high: bound(0.975),
        }
    }
}
