//! The verdict on one direction.

use super::claim::{Claim, is_load};
use super::row::{Flow, Row};
use super::{
    DirectionVerdict, Filler, OtherDelay, OtherKind, Place, Reason, VerdictKind, WaitingFlow,
    confidence,
};
use crate::SummaryParams;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_units::Direction;

/// So many flows are listed.
const LISTED: usize = 10;
const WINDOW_S: f64 = 0.25;
/// A direction is tested from here on: two seconds of load.
pub(super) const LEAST_BUSY: u64 = 8;
/// Payload below this loads nothing.
const LEAST_LOAD: u64 = 100_000;
/// An unexplained delay that stands for less may be anything.
const LEAST_UNEXPLAINED: u64 = 12;
/// Delay that stands on levels for so much of its time is no queue's.
const LEVEL: f64 = 0.7;
/// Fewer late samples are chance; one pause of the path is not.
const LEAST_WAITS: u64 = 3;
/// A leg is known by one window in so many: a host's clock may tick once a second.
const SPARSE: u64 = 5;
/// A delay stood nearly all of the time from its begin to its end.
const DENSE: f64 = 0.8;
/// Fewer flows may have found the queue empty by chance.
const LEAST_PASSED: usize = 3;
/// A step of less than what a short queue is called for is not worth a word.
const LEAST_STEP_MS: f64 = 30.0;

/// A host and its neighbour by cable answer sooner; a Wi-Fi hop, which may hold a queue, takes longer.
const NEIGHBOUR_MS: f64 = 1.0;

/// All that bears on a verdict.
pub(super) struct Case<'a> {
    params: &'a SummaryParams,
    standing: Vec<&'a Row>,
    busy: Vec<&'a Row>,
    flows: BTreeMap<u64, &'a Flow>,
    /// All rows, by flow.
    all: Vec<&'a Row>,
}

impl Flow {
    pub(super) fn is_application_limited(&self, direction: Direction) -> bool {
        self.application_share[direction].is_some_and(|share| share > 0.5)
    }

    fn is_window_limited(&self, direction: Direction) -> bool {
        self.receive_window_share[direction].is_some_and(|share| share > 0.5)
    }

    /// The capture was made on the sender of this direction's data or on its neighbour in the network: how the sender answers is
    /// a small part of the way. On a path that is short as a whole, the times of the handshake do not tell.
    fn is_captured_at_sender(&self, direction: Direction) -> bool {
        let Some(far_ms) = self.handshake_ms[direction] else {
            return false;
        };
        let near = self.handshake_ms[direction.reverse()];
        near.is_some_and(|near| near < NEIGHBOUR_MS.min(far_ms / 20.0))
    }
}

impl<'a> Case<'a> {
    pub(super) fn new(
        params: &'a SummaryParams,
        standing: Vec<&'a Row>,
        busy: Vec<&'a Row>,
        flows: Vec<&'a Flow>,
    ) -> Case<'a> {
        let mut all: Vec<&Row> = standing.iter().chain(&busy).copied().collect();
        all.sort_by_key(|row| row.flow_id);
        Case {
            params,
            standing,
            busy,
            flows: flows.into_iter().map(|flow| (flow.flow_id, flow)).collect(),
            all,
        }
    }

    /// The row of a leg of a flow that says most.
    fn row_of(&self, flow_id: u64, leg: Direction) -> Option<&'a Row> {
        let from = self.all.partition_point(|row| row.flow_id < flow_id);
        let of_flow = self.all[from..]
            .iter()
            .take_while(|row| row.flow_id == flow_id);
        let rows = of_flow.filter(|row| row.leg == leg);
        rows.max_by_key(|row| row.windows).copied()
    }

    pub(super) fn verdict(&self, direction: Direction) -> DirectionVerdict {
        let (claims, left_out): (Vec<Claim>, Vec<Claim>) = self
            .claims(direction)
            .into_iter()
            .partition(|claim| claim.is_explained || !self.is_alone(claim));
        let (own, shared): (Vec<Claim>, Vec<Claim>) = claims
            .into_iter()
            .partition(|claim| claim.is_explained && self.do_others_pass(claim));
        let loaded = self.tested(direction);
        let mut verdict = match own.first() {
            _ if !shared.is_empty() => self.of_claims(direction, &shared),
            Some(claim) => self.other_delay(direction, OtherKind::OwnQueue, claim),
            None => self.without_claim(direction),
        };
        let busy = loaded.iter().map(|row| row.ahead.busy).max();
        verdict.loaded_s = busy.unwrap_or(0) as f64 * WINDOW_S;
        verdict.flows_left_out = distinct(left_out.iter().map(|claim| claim.row.flow_id));
        verdict
    }

    /// Delays that stood in this direction.
    fn claims(&self, direction: Direction) -> Vec<Claim<'a>> {
        let of_row = |row: &&'a Row| {
            let back_share = row.back_share.or_else(|| self.back_share_beside(row));
            Claim::of(row, back_share, self.flows.get(&row.flow_id).copied())
        };
        let claims = self.standing.iter().flat_map(of_row);
        let mut claims: Vec<Claim> = claims.filter(|c| c.direction == direction).collect();
        let told: Vec<_> = claims.iter().map(|c| sharper(c, &claims)).collect();
        for (claim, delay) in claims.iter_mut().zip(told) {
            [claim.p50_ms, claim.p95_ms] = delay.unwrap_or([claim.p50_ms, claim.p95_ms]);
        }
        let felt_ms = self.params.bloat_threshold.as_ms() / 2.0;
        claims.retain(|claim| claim.p50_ms >= felt_ms);
        claims.sort_by_key(|claim| std::cmp::Reverse(claim.weight()));
        claims
    }

    /// Flows between two hosts wait in one queue: where a flow's own answers are too few to divide its loop, those of the one whose delay
    /// stood longest beside it do.
    fn back_share_beside(&self, row: &Row) -> Option<f64> {
        let beside = self.beside(row).filter(|other| other.overlaps(row));
        let told = beside.filter(|other| other.back_share.is_some());
        told.max_by_key(|other| other.standing)?.back_share
    }

    /// Another flow between the same hosts went through the same leg meanwhile and did not wait: there is no queue that both share.
    fn is_alone(&self, claim: &Claim) -> bool {
        let row = claim.row;
        self.beside(row)
            .any(|other| other.is_low() && other.low >= row.standing && other.overlaps(row))
    }

    /// Flows between the same hosts did not wait while the delay stood: the queue is the flow's own, as fair queueing gives each flow one.
    fn do_others_pass(&self, claim: &Claim) -> bool {
        let row = claim.row;
        let Some(((stood, fell), floor_ms)) = row.span_ns.zip(row.rtt_floor_ms) else {
            return false;
        };
        let is_dense = |windows: u64, (from, until): (i64, i64)| {
            windows as f64 * WINDOW_S >= DENSE * (until - from) as f64 / 1e9
        };
        let felt_ms = self.params.bloat_threshold.as_ms() / 2.0;
        let is_empty = |ms: f64| ms - floor_ms < felt_ms / 2.0;
        // Measured all the while, and low in at least half of it, by a floor that is the empty path's.
        let pass = self.beside(row).filter(|other| {
            let (from, until) = other.measured_ns;
            from <= stood
                && until >= fell
                && other.rtt_floor_ms.is_some_and(is_empty)
                && is_dense(other.windows, other.measured_ns)
                && 2 * other.windows.saturating_sub(other.low) < row.standing
        });
        if pass.count() >= LEAST_PASSED {
            return true;
        }
        // Or they began meanwhile, with the empty path's round trip. Where all share a queue, few find it empty.
        if !is_dense(row.standing, (stood, fell)) {
            return false;
        }
        let inside = self.beside(row).filter(|other| {
            let (from, until) = other.measured_ns;
            other.floor_seen && from >= stood && until <= fell
        });
        let floors = inside.filter_map(|other| other.rtt_floor_ms);
        let (passed, waited): (Vec<f64>, Vec<f64>) = floors.partition(|&ms| is_empty(ms));
        passed.len() >= LEAST_PASSED && passed.len() >= 4 * waited.len()
    }

    /// Rows of the same leg of other flows between the same hosts.
    fn beside(&self, row: &Row) -> impl Iterator<Item = &&'a Row> {
        self.all.iter().filter(move |other| {
            other.flow_id != row.flow_id
                && (other.leg, &other.client, &other.server) == (row.leg, &row.client, &row.server)
        })
    }

    fn of_claims(&self, direction: Direction, claims: &[Claim]) -> DirectionVerdict {
        let explained: Vec<&Claim> = claims.iter().filter(|c| c.is_explained).collect();
        let is_explained = !explained.is_empty();
        let deciding: Vec<&Claim> = match is_explained {
            true => explained,
            false => claims.iter().collect(),
        };
        // Flows that begin in a full queue take it for the floor: the one that saw most of it decides.
        let standing = deciding.iter().map(|c| c.weight()).max().unwrap_or(0);
        let long = deciding.iter().filter(|c| 2 * c.weight() >= standing);
        let main = long.max_by(|a, b| a.p50_ms.total_cmp(&b.p50_ms));
        let Some(main) = main.copied() else {
            return self.without_claim(direction);
        };
        let (kind, reason) = match main.p50_ms {
            _ if !is_explained && has_step(main.row) => {
                return self.other_delay(direction, OtherKind::RouteChange, main);
            }
            _ if !is_explained
                && (may_be_longer_way(main.row) || main.row.standing < LEAST_UNEXPLAINED) =>
            {
                (VerdictKind::CannotTell, Some(Reason::Unexplained))
            }
            ms if ms >= self.params.bloat_threshold.as_ms() && !main.is_brief() => {
                (VerdictKind::Bloated, None)
            }
            _ => (VerdictKind::Slight, None),
        };
        let is_queue = kind != VerdictKind::CannotTell;
        DirectionVerdict {
            kind,
            reason,
            confidence: Some(confidence::of_queue(main, is_explained)),
            standing_p50_ms: Some(main.p50_ms),
            standing_p95_ms: Some(main.p95_ms),
            floor_seen: main.row.floor_seen,
            standing_s: standing as f64 * WINDOW_S,
            queue_bdp: bdp(main).filter(|_| is_queue && is_explained),
            rate_bps: Some(main.carrying().standing_bps).filter(|_| is_explained),
            from_ns: deciding.iter().filter_map(|c| Some(c.row.span_ns?.0)).min(),
            until_ns: deciding.iter().filter_map(|c| Some(c.row.span_ns?.1)).max(),
            place: Some(self.place(main)),
            fillers: match is_explained || main.may_be_of_acknowledgments() {
                true => self.fillers(&deciding),
                false => Vec::new(),
            },
            filled_by_unseen: is_queue && !is_explained,
            waiting_flows: distinct(claims.iter().map(|c| c.row.flow_id)),
            waiting_clients: distinct(claims.iter().map(|c| c.row.client.as_str())),
            waiting: self.waiting(claims),
            ..nothing(direction, kind)
        }
    }

    /// The flows that went at the largest rates while the delay stood.
    fn fillers(&self, claims: &[&Claim]) -> Vec<Filler> {
        let mut queued: BTreeMap<u64, (f64, &Row)> = BTreeMap::new();
        for claim in claims {
            let own = claim.carrying().own_standing_bps * claim.p50_ms;
            let entry = queued.entry(claim.row.flow_id).or_insert((0.0, claim.row));
            entry.0 += own * claim.weight() as f64;
        }
        let total: f64 = queued.values().map(|(bytes, _)| bytes).sum();
        let filler = |(&flow_id, &(bytes, row)): (&u64, &(f64, &Row))| Filler {
            flow_id,
            client: row.client.clone(),
            client_port: row.client_port,
            server: self.server(row),
            server_port: row.server_port,
            share: bytes / total.max(f64::MIN_POSITIVE),
        };
        let mut fillers: Vec<Filler> = queued.iter().map(filler).collect();
        fillers.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.flow_id.cmp(&b.flow_id)));
        fillers.truncate(LISTED);
        fillers
    }

    fn server(&self, row: &Row) -> String {
        let flow = self.flows.get(&row.flow_id);
        let name = flow.and_then(|flow| flow.server_name.clone());
        name.unwrap_or_else(|| row.server.clone())
    }

    fn waiting(&self, claims: &[Claim]) -> Vec<WaitingFlow> {
        let mut worst: Vec<&Claim> = claims.iter().collect();
        worst.sort_by(|a, b| b.p50_ms.total_cmp(&a.p50_ms));
        let mut seen = BTreeSet::new();
        worst.retain(|claim| seen.insert(claim.row.flow_id));
        let listed = worst.into_iter().take(LISTED);
        listed
            .map(|claim| WaitingFlow {
                flow_id: claim.row.flow_id,
                client: claim.row.client.clone(),
                server: self.server(claim.row),
                server_port: claim.row.server_port,
                standing_p50_ms: claim.p50_ms,
                standing_p95_ms: claim.p95_ms,
                standing_s: claim.weight() as f64 * WINDOW_S,
            })
            .collect()
    }

    /// The leg whose round trips are late has the queue.
    fn place(&self, claim: &Claim) -> Place {
        let flow = self.flows.get(&claim.row.flow_id);
        let is_here = flow.is_some_and(|flow| flow.is_captured_at_sender(claim.direction));
        match claim.direction == claim.row.leg {
            true => Place::AfterCapture,
            false if is_here => Place::SendingHost,
            false => Place::BeforeCapture,
        }
    }

    /// Rows of flows whose data loaded the direction.
    fn tested(&self, direction: Direction) -> Vec<&'a Row> {
        let rows = self.busy.iter().copied();
        rows.filter(|row| row.leg == direction && row.ahead.busy > 0)
            .filter(|row| self.load(row.flow_id, direction, row) >= LEAST_LOAD)
            .collect()
    }

    /// Payload of the flow in this direction; where only its acknowledgments were captured, what those
    /// acknowledged.
    fn load(&self, flow_id: u64, direction: Direction, row: &Row) -> u64 {
        match self.flows.get(&flow_id) {
            Some(flow) if flow.packets[direction] > 0 => flow.payload[direction],
            Some(_) => (row.ahead.peak_bps * row.ahead.busy as f64 * WINDOW_S / 8.0) as u64,
            None => 0,
        }
    }

    fn without_claim(&self, direction: Direction) -> DirectionVerdict {
        let tested = self.tested(direction);
        let long: Vec<&Row> = tested
            .into_iter()
            .filter(|row| {
                row.ahead.busy >= LEAST_BUSY && is_load(&row.ahead, row.ahead.peak_bps, row)
            })
            .collect();
        let covered = long
            .iter()
            .copied()
            .filter(|row| self.covers(row, direction));
        let low: Vec<&Row> = covered.filter(|row| row.is_low()).collect();
        if low.is_empty() {
            return self.untested(direction, &long);
        }
        let is_held = |row: &&Row| {
            let flow = self.flows.get(&row.flow_id);
            flow.is_some_and(|flow| {
                flow.is_window_limited(direction) || flow.is_application_limited(direction)
            })
        };
        let free = low.iter().find(|row| !is_held(row));
        let row = free.unwrap_or(&low[0]);
        let flow = self.flows.get(&row.flow_id);
        let is_window = flow.is_some_and(|flow| flow.is_window_limited(direction));
        let (kind, reason) = match free {
            Some(_) if !low.iter().any(|other| self.began_empty(other)) => {
                (VerdictKind::CannotTell, Some(Reason::Floor))
            }
            Some(_) => (VerdictKind::Clean, None),
            None if is_window => (VerdictKind::NotTested, Some(Reason::ReceiveWindow)),
            None => (VerdictKind::NotTested, Some(Reason::Application)),
        };
        DirectionVerdict {
            reason,
            confidence: Some(confidence::of_no_queue(row)),
            floor_seen: row.floor_seen,
            rate_bps: Some(row.ahead.peak_bps),
            other_delays: self.others(direction),
            ..nothing(direction, kind)
        }
    }

    /// The flow's begin was seen, and it was not in a queue: then another between the same hosts, whose floor is lower by what is felt, waited
    /// beside it. After a step to a longer route, all floors are higher.
    fn began_empty(&self, row: &Row) -> bool {
        let felt_ms = self.params.bloat_threshold.as_ms() / 2.0;
        let ((from, until), floor_ms) = (row.measured_ns, row.rtt_floor_ms);
        let waited_beside = |other: &&Row| {
            let is_between = (&other.client, &other.server) == (&row.client, &row.server);
            let floors = floor_ms.zip(other.rtt_floor_ms);
            is_between
                && floors.is_some_and(|(ms, least)| ms - least >= felt_ms)
                && (other.measured_ns.0 < until && from < other.measured_ns.1)
                && !other.is_low()
                && other.step_ms.is_none()
        };
        row.floor_seen && !self.all.iter().any(waited_beside)
    }

    /// Delay that stood and is no shared queue's.
    fn other_delay(
        &self,
        direction: Direction,
        kind: OtherKind,
        claim: &Claim,
    ) -> DirectionVerdict {
        DirectionVerdict {
            confidence: Some(confidence::of_no_queue(claim.row)),
            other_delays: vec![OtherDelay {
                kind,
                ms: claim.p50_ms,
            }],
            ..nothing(direction, VerdictKind::OtherDelay)
        }
    }

    /// Delays of this direction's data that no queue made, by kind.
    fn others(&self, direction: Direction) -> Vec<OtherDelay> {
        let of_kind = |(at, (_, kind)): (usize, ([&str; 2], OtherKind))| {
            let least = match kind {
                OtherKind::Hold => 1,
                _ => LEAST_WAITS,
            };
            let told = self.all.iter().filter(|row| row.leg == direction);
            let told = told.filter(|_| kind == OtherKind::ThinkTime || self.standing.is_empty());
            let (samples, ms) = told.map(|row| row.waits[at]).max_by_key(|(n, _)| *n)?;
            (samples >= least).then_some(OtherDelay { kind, ms })
        };
        let mut others: Vec<OtherDelay> = Row::WAITS
            .into_iter()
            .enumerate()
            .filter_map(of_kind)
            .collect();
        // A round trip is of both directions: where a queue stands in either, its late samples may be that queue's.
        let told = self
            .all
            .iter()
            .filter(|row| row.leg == direction && self.standing.is_empty());
        let step = told.filter_map(|row| row.step_ms).max_by(f64::total_cmp);
        others.extend(step.filter(|&ms| ms >= LEAST_STEP_MS).map(|ms| OtherDelay {
            kind: OtherKind::RouteChange,
            ms,
        }));
        others
    }

    /// No queue before or after the capture point can have hidden from the flow: both legs' round trips are known, or the other leg is as
    /// short as the way from a host to its own interface.
    fn covers(&self, row: &Row, direction: Direction) -> bool {
        let flow = self.flows.get(&row.flow_id);
        let is_at_sender = flow.is_some_and(|flow| flow.is_captured_at_sender(direction));
        let other = self.row_of(row.flow_id, row.leg.reverse());
        is_at_sender
            || other.is_some_and(|other| other.is_low() && SPARSE * other.low >= row.windows)
    }

    /// The flow's round trips show the whole path in this direction, whoever fills it.
    fn is_seen(&self, flow_id: u64, direction: Direction) -> bool {
        let row = self.row_of(flow_id, direction);
        row.is_some_and(|row| self.covers(row, direction))
    }

    /// The other leg has round trips too, whatever they bound.
    fn has_both_legs(&self, row: &Row) -> bool {
        let other = self.row_of(row.flow_id, row.leg.reverse());
        other.is_some_and(|other| SPARSE * other.windows >= row.windows)
    }

    fn is_tcp(&self, row: &Row) -> bool {
        self.flows.get(&row.flow_id).is_none_or(|flow| flow.is_tcp)
    }

    /// Why nothing is known of a direction.
    fn untested(&self, direction: Direction, loaded: &[&Row]) -> DirectionVerdict {
        let largest = self
            .flows
            .values()
            .max_by_key(|flow| flow.payload[direction]);
        let largest = largest.filter(|flow| flow.payload[direction] >= LEAST_LOAD);
        let is_covered = loaded.iter().any(|row| self.covers(row, direction));
        let other_delays = self.others(direction);
        let (kind, reason) = match largest {
            _ if is_covered || loaded.iter().any(|row| self.has_both_legs(row)) => {
                (VerdictKind::CannotTell, Reason::Samples)
            }
            _ if loaded.iter().any(|row| self.is_tcp(row)) => {
                (VerdictKind::CannotTell, Reason::Vantage)
            }
            _ if !loaded.is_empty() => (VerdictKind::CannotTell, Reason::Udp),
            Some(flow) if !flow.is_tcp => (VerdictKind::CannotTell, Reason::Udp),
            Some(flow) if flow.packets[direction.reverse()] == 0 => {
                (VerdictKind::CannotTell, Reason::OneSided)
            }
            Some(flow) if flow.is_window_limited(direction) => {
                (VerdictKind::NotTested, Reason::ReceiveWindow)
            }
            _ if !other_delays.is_empty() => {
                return DirectionVerdict {
                    other_delays,
                    ..nothing(direction, VerdictKind::OtherDelay)
                };
            }
            Some(flow) if flow.span_ns.1 - flow.span_ns.0 < 2_000_000_000 => {
                (VerdictKind::NotTested, Reason::Short)
            }
            Some(flow) if !self.is_seen(flow.flow_id, direction) => {
                let row = self.row_of(flow.flow_id, direction);
                match row.is_some_and(|row| self.has_both_legs(row)) {
                    true => (VerdictKind::CannotTell, Reason::Samples),
                    false => (VerdictKind::CannotTell, Reason::Vantage),
                }
            }
            _ => (VerdictKind::NotTested, Reason::NotLoaded),
        };
        DirectionVerdict {
            reason: Some(reason),
            other_delays,
            ..nothing(direction, kind)
        }
    }
}

/// The path went from one level to another, at once.
fn has_step(row: &Row) -> bool {
    row.step_ms >= Some(LEAST_STEP_MS) && row.step_share > Some(0.0)
}

/// Its delay stayed, as a full queue's and a longer route's do, and was not seen to grow, as only a queue's does.
fn may_be_longer_way(row: &Row) -> bool {
    row.level_share >= LEVEL && row.step_share != Some(0.0)
}

fn nothing(direction: Direction, kind: VerdictKind) -> DirectionVerdict {
    DirectionVerdict {
        direction,
        kind,
        reason: None,
        confidence: None,
        standing_p50_ms: None,
        standing_p95_ms: None,
        floor_seen: false,
        standing_s: 0.0,
        loaded_s: 0.0,
        queue_bdp: None,
        rate_bps: None,
        from_ns: None,
        until_ns: None,
        place: None,
        fillers: Vec::new(),
        filled_by_unseen: false,
        flows_left_out: 0,
        waiting_flows: 0,
        waiting_clients: 0,
        waiting: Vec::new(),
        other_delays: Vec::new(),
    }
}

/// Median and 95th percentile of the delay of a flow beside it whose host held back less, above the floor of the claim's. A sender whose packets wait in
/// its own host's queue answers late; the flows between two hosts wait in one queue.
fn sharper(claim: &Claim, claims: &[Claim]) -> Option<[f64; 2]> {
    /// Of the delay; less is sharp enough.
    const HELD: f64 = 0.1;
    let row = claim.row;
    let is_beside = |other: &&Claim| {
        let other = other.row;
        (&other.client, &other.server, other.leg) == (&row.client, &row.server, row.leg)
            && other.overlaps(row)
            && 2.0 * other.held_ms <= row.held_ms
    };
    if row.held_ms <= HELD * row.p50_ms {
        return None;
    }
    let beside = claims.iter().filter(is_beside);
    let best = beside.min_by(|a, b| a.row.held_ms.total_cmp(&b.row.held_ms))?;
    let above_ms = (best.row.rtt_floor_ms? - row.rtt_floor_ms?) * claim.share;
    Some([best.p50_ms, best.p95_ms].map(|ms| (ms + above_ms).max(0.0)))
}

/// Standing delay over the flow's smallest round trip, if an empty path was seen.
fn bdp(claim: &Claim) -> Option<f64> {
    let floor = claim.row.rtt_floor_ms.filter(|&ms| ms > 0.0)?;
    claim.row.floor_seen.then(|| claim.p50_ms / floor)
}

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> u64 {
    values.collect::<BTreeSet<T>>().len() as u64
}
