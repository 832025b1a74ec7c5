//! From rows of the analyser to spans.

use crate::network::network_of;
use crate::span::{DirectionSpan, Filler, NetworkSpan, Queue, Span};
use std::collections::{BTreeMap, BTreeSet};
use unbloat_health::Health;
use unbloat_summary::{DirectionVerdict, Reads, Summary, SummaryParams, VerdictKind};
use unbloat_table::{ColumnView, Rows, Table};
use unbloat_trace::{Output, all_tables};
use unbloat_units::{Both, Delta, Direction, Time};

/// Windows of table `standing`.
const WINDOW: Delta = Delta::ms(250);
/// Networks that are told apart within a span; the rest is one more, `other`.
const MOST_NETWORKS: usize = 512;
/// Fewer samples say nothing of a flow's delay.
const LEAST_WINDOWS: u64 = 4;

/// Gathers the rows of a span.
pub struct Gather {
    tables: Vec<Table>,
    params: SummaryParams,
    summary: Summary,
    sides: Both<Side>,
    networks: BTreeMap<(Direction, String), Net>,
}

/// What rows say of a direction.
#[derive(Clone, Debug, Default)]
struct Side {
    sustained_ms: Option<f64>,
    peak_bps: Option<f64>,
    flows: BTreeSet<u64>,
}

#[derive(Clone, Debug, Default)]
struct Net {
    flows: BTreeSet<u64>,
    measured: u64,
    standing: u64,
    sustained_ms: Option<f64>,
}

fn raise(most: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value.filter(|value| most.is_none_or(|most| *value > most)) {
        *most = Some(value);
    }
}

impl Gather {
    /// A standing delay from `threshold` on is bufferbloat.
    pub fn new(threshold: Delta) -> Gather {
        let tables = all_tables();
        let params = SummaryParams {
            bloat_threshold: threshold,
            ..SummaryParams::default()
        };
        Gather {
            summary: Summary::of_verdict(&tables, params.clone()),
            tables,
            params,
            sides: Both::default(),
            networks: BTreeMap::new(),
        }
    }

    /// Columns of `standing` that are read here.
    const READS: [&'static str; 11] = [
        "flow_id",
        "server",
        "direction",
        "windows",
        "low_windows",
        "standing_windows",
        "standing_p50_ms",
        "back_share",
        "ahead_peak_bps",
        "ahead_own_standing_bps",
        "back_own_standing_bps",
    ];

    /// What is read of the analyser's tables; nothing else need be written.
    pub fn reads() -> Reads {
        let tables = all_tables();
        let mut reads = Summary::of_verdict(&tables, SummaryParams::default()).reads(&tables);
        reads.entry("standing").or_default().extend(Self::READS);
        reads
    }

    /// Takes rows of the analyser: of flows that ended, and those of `Shard::judge`.
    pub fn take(&mut self, output: &Output) {
        for (table, rows) in self.tables.iter().zip(output.tables()) {
            if !rows.is_empty() && matches!(table.name, "standing" | "flows") {
                self.summary.add(table.name, rows);
            }
        }
        let at = self
            .tables
            .iter()
            .position(|table| table.name == "standing");
        let all = output.tables();
        if let Some((table, rows)) = at.and_then(|at| self.tables.get(at).zip(all.get(at))) {
            let table = table.clone();
            self.standing(&table, rows);
        }
    }

    fn standing(&mut self, table: &Table, rows: &Rows) {
        let column = |name: &str| {
            let found = table.column(name);
            ColumnView::of(found.and_then(|at| rows.columns().get(at)))
        };
        let [
            flow,
            server,
            direction,
            windows,
            low,
            standing,
            delay,
            back_share,
            peak,
            ahead,
            back,
        ] = Self::READS.map(column);
        for row in 0..rows.len() {
            let leg = match direction.is(row, "up") {
                true => Direction::Up,
                false => Direction::Down,
            };
            raise(&mut self.sides[leg].peak_bps, peak.f64(row));
            let id = flow.u64(row).unwrap_or_default();
            let [count, low, standing] =
                [&windows, &low, &standing].map(|of| of.u64(row).unwrap_or(0));
            // A round trip without delay acquits both directions; one with a delay is of the one that the far clock or else the load tells.
            // The client's own leg says nothing of a network unless it has a queue.
            let is_back = match back_share.f64(row) {
                Some(share) => share > 0.5,
                None => back.f64(row) > ahead.f64(row),
            };
            let ways: &[Direction] = match (standing > 0, is_back) {
                (true, true) => &[leg.reverse()],
                (true, false) => &[leg],
                (false, _) if leg == Direction::Up => &Direction::BOTH,
                (false, _) => &[],
            };
            if count < LEAST_WINDOWS {
                continue;
            }
            let delay_ms = delay.f64(row).or((low > 0).then_some(0.0));
            let network = server.text(row).and_then(network_of);
            for &way in ways {
                let side = &mut self.sides[way];
                side.flows.insert(id);
                raise(&mut side.sustained_ms, delay_ms);
                let named = network.clone().unwrap_or_else(|| "other".to_owned());
                let is_known = self.networks.contains_key(&(way, named.clone()));
                let named = match is_known || self.networks.len() < MOST_NETWORKS {
                    true => named,
                    false => "other".to_owned(),
                };
                let net = self.networks.entry((way, named)).or_default();
                net.flows.insert(id);
                net.measured += count;
                net.standing += standing;
                raise(&mut net.sustained_ms, delay_ms);
            }
        }
    }

    /// The span that ends now; the next one begins. `at` says when something was that the rows date from their origin. `process` names
    /// the process of a flow of this host, by address and port of its end here.
    pub fn close(
        &mut self,
        (end, length): (Time, Delta),
        health: &Health,
        at: impl Fn(i64) -> Time,
        process: impl Fn(&str, u64) -> Option<String>,
    ) -> Span {
        let fresh = Summary::of_verdict(&self.tables, self.params.clone());
        let mut summary = std::mem::replace(&mut self.summary, fresh);
        summary.set_health(health.clone());
        let verdict = summary.verdict_with(std::iter::empty());
        let sides = std::mem::take(&mut self.sides);
        let directions =
            Both::of(|way| direction_span(&verdict.directions[way], &sides[way], &at, &process));
        let networks = std::mem::take(&mut self.networks);
        let mut networks: Vec<NetworkSpan> = networks.into_iter().map(network_span).collect();
        let weight = |net: &NetworkSpan| (net.standing, net.measured);
        networks.sort_by_key(|net| std::cmp::Reverse(weight(net)));
        networks.truncate(Span::NETWORKS);
        Span {
            end,
            length,
            directions,
            networks,
            layers: Vec::new(),
        }
    }
}

fn windows(count: u64) -> Delta {
    Delta::ns(
        WINDOW
            .as_ns()
            .saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)),
    )
}

fn network_span(((direction, network), net): ((Direction, String), Net)) -> NetworkSpan {
    NetworkSpan {
        direction,
        network,
        flows: net.flows.len() as u64,
        measured: windows(net.measured),
        standing: windows(net.standing),
        sustained_ms: net.sustained_ms,
    }
}

fn direction_span(
    verdict: &DirectionVerdict,
    side: &Side,
    at: &impl Fn(i64) -> Time,
    process: &impl Fn(&str, u64) -> Option<String>,
) -> DirectionSpan {
    let is_queue = matches!(verdict.kind, VerdictKind::Bloated | VerdictKind::Slight);
    let queue = is_queue.then(|| queue(verdict, at, process)).flatten();
    DirectionSpan {
        verdict: verdict.kind,
        standing: match is_queue {
            true => Delta::from_secs_f64(verdict.standing_s),
            false => Delta::ZERO,
        },
        loaded: Delta::from_secs_f64(verdict.loaded_s),
        sustained_ms: side.sustained_ms,
        standing_p50_ms: verdict.standing_p50_ms.filter(|_| is_queue),
        standing_p95_ms: verdict.standing_p95_ms.filter(|_| is_queue),
        peak_bps: verdict.rate_bps.or(side.peak_bps),
        flows: side.flows.len() as u64,
        queue,
    }
}

fn queue(
    verdict: &DirectionVerdict,
    at: &impl Fn(i64) -> Time,
    process: &impl Fn(&str, u64) -> Option<String>,
) -> Option<Queue> {
    let fillers = verdict.fillers.iter().take(Queue::FILLERS);
    let waiting: BTreeSet<String> = verdict
        .waiting
        .iter()
        .filter_map(|flow| network_of(&flow.server))
        .collect();
    Some(Queue {
        from: at(verdict.from_ns?),
        until: at(verdict.until_ns?),
        p50_ms: verdict.standing_p50_ms?,
        p95_ms: verdict.standing_p95_ms?,
        place: verdict.place,
        fillers: fillers
            .map(|filler| Filler {
                client: filler.client.clone(),
                client_port: filler.client_port,
                server: filler.server.clone(),
                server_port: filler.server_port,
                process: process(&filler.client, filler.client_port),
                share: filler.share,
            })
            .collect(),
        waiting: waiting.into_iter().collect(),
    })
}
