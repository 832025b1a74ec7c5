//! Applies the rule to the rows of `flows` and `users`.

use super::columns::{Candidate, Names, SIDES, SideColumns, most_samples};
use super::leaders::Leaders;
use super::{
    Confidence, Culprit, Delays, FlowSufferer, Side, SideCount, UserSufferer, Verdict, VerdictKind,
};
use crate::SummaryParams;
use crate::view::View;
use unbloat_stats::LogHistogram;

/// So many suffering flows and candidate culprits are compared with each other.
const COMPARED: usize = 512;
/// So many users, flows and culprits are listed.
const LISTED: usize = 10;

#[derive(Clone)]
pub(crate) struct Judge {
    params: SummaryParams,
    judged_users: u64,
    suffering_users: u64,
    users: Leaders<UserSufferer>,
    sides: [SideCount; 2],
    both_sides_judged: u64,
    judged_flows: u64,
    begun_before: u64,
    most_samples: u64,
    suffering: Spread,
    judged: Spread,
    flows: Leaders<FlowSufferer>,
    candidates: Leaders<Candidate>,
}

/// Sketches over flows.
#[derive(Clone, Default)]
struct Spread {
    p50_ms: LogHistogram,
    p95_ms: LogHistogram,
    p99_ms: LogHistogram,
    queue_bdp: LogHistogram,
    samples: LogHistogram,
}

impl Judge {
    pub(crate) const NEEDS: &[(&str, &[&str])] = &[(
        "flows",
        &[
            "flow_id",
            "client",
            "server",
            "start_ns",
            "end_ns",
            "rtt_down_samples",
            "added_down_p95_ms",
        ],
    )];

    pub(crate) fn new(params: SummaryParams) -> Judge {
        Judge {
            params,
            judged_users: 0,
            suffering_users: 0,
            users: Leaders::new(LISTED),
            sides: Default::default(),
            both_sides_judged: 0,
            judged_flows: 0,
            begun_before: 0,
            most_samples: 0,
            suffering: Spread::default(),
            judged: Spread::default(),
            flows: Leaders::new(COMPARED),
            candidates: Leaders::new(COMPARED),
        }
    }

    pub(crate) fn add(&mut self, table: &str, view: &View) {
        match table {
            "users" => self.add_users(view),
            "flows" => self.add_flows(view),
            _ => {}
        }
    }

    fn add_users(&mut self, view: &View) {
        let (id, client, flows) = (
            view.column("user_id"),
            view.column("client"),
            view.column("flows"),
        );
        let added = ["p50", "p95", "p99"].map(|p| view.column(&format!("added_down_{p}_ms")));
        let samples = view.column("added_down_samples");
        for row in view.rows() {
            if samples.u64(row) < Some(self.params.min_rtt_samples) {
                continue;
            }
            let [Some(p50_ms), Some(p95_ms), Some(p99_ms)] = added.map(|c| c.f64(row)) else {
                continue;
            };
            self.judged_users += 1;
            if p95_ms <= self.params.bloat_threshold.as_ms() {
                continue;
            }
            self.suffering_users += 1;
            let user_id = id.u64(row).unwrap_or(0);
            self.users.offer(p95_ms, user_id, || UserSufferer {
                user_id,
                client: client.text(row).unwrap_or("?").to_owned(),
                flows: flows.u64(row).unwrap_or(0),
                added: Delays {
                    p50_ms,
                    p95_ms,
                    p99_ms,
                },
            });
        }
    }

    fn add_flows(&mut self, view: &View) {
        let sides = SIDES.map(|(_, name)| SideColumns::of(view, name));
        let names = Names::of(view);
        let handshake = view.column("handshake");
        for row in view.tcp_rows() {
            let p95s = [0, 1].map(|i| self.judge_side(&names, &sides, i, row));
            self.most_samples = self.most_samples.max(most_samples(&sides, row));
            if p95s.iter().all(Option::is_none) {
                continue;
            }
            self.judged_flows += 1;
            self.begun_before += u64::from(handshake.is(row, "unseen"));
            self.both_sides_judged += u64::from(p95s.iter().all(Option::is_some));
        }
    }

    /// Judges a flow on one side; its p95 there, if it has enough samples.
    fn judge_side(
        &mut self,
        names: &Names,
        sides: &[SideColumns; 2],
        i: usize,
        row: usize,
    ) -> Option<f64> {
        let (columns, other) = (&sides[i], &sides[1 - i]);
        let samples = columns.samples.u64(row)?;
        if samples < self.params.min_rtt_samples {
            return None;
        }
        let added = columns.delays(row)?;
        let path_ms = columns
            .floor_ms(row)
            .map(|own| own + other.floor_ms(row).unwrap_or(0.0));
        let queue_bdp = path_ms.filter(|&ms| ms > 0.0).map(|ms| added.p95_ms / ms);
        self.sides[i].judged_flows += 1;
        self.judged.add(added, queue_bdp, samples);
        let flow_id = names.id(row);
        if let Some(queued) = columns.queued_bytes(row).filter(|&bytes| bytes > 0.0) {
            let weight = queued * names.seconds(row);
            self.candidates
                .offer(weight, flow_id, || names.candidate(row, SIDES[i].0, queued));
        }
        if added.p95_ms > self.params.bloat_threshold.as_ms() {
            self.sides[i].suffering_flows += 1;
            self.suffering.add(added, queue_bdp, samples);
            self.flows.offer(added.p95_ms, flow_id, || FlowSufferer {
                queue_bdp,
                ..names.sufferer(row, SIDES[i].0, samples, added)
            });
        }
        Some(added.p95_ms)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let suffers = self.suffering_users > 0 || !self.suffering.p95_ms.is_empty();
        let kind = match (self.judged_flows, suffers) {
            (0, false) => VerdictKind::Inconclusive,
            (_, true) => VerdictKind::Bloated,
            (_, false) => VerdictKind::Clean,
        };
        let decides = if self.suffering.p95_ms.is_empty() {
            &self.judged
        } else {
            &self.suffering
        };
        Verdict {
            kind,
            reason: (kind == VerdictKind::Inconclusive).then(|| self.too_little()),
            confidence: self.confidence(kind, decides),
            threshold_ms: self.params.bloat_threshold.as_ms(),
            min_rtt_samples: self.params.min_rtt_samples,
            judged_users: self.judged_users,
            suffering_users: self.suffering_users,
            downstream: self.sides[0],
            upstream: self.sides[1],
            added: decides.medians(),
            queue_bdp: self.suffering.queue_bdp.quantile(0.5),
            sides: self.where_it_is(),
            users: self.users.iter().cloned().collect(),
            flows: self.flows.iter().take(LISTED).cloned().collect(),
            culprits: self.culprits(),
            caveats: self.caveats(),
        }
    }

    fn too_little(&self) -> String {
        format!(
            "no flow has the {} RTT samples on one side of the capture point that p95 needs; the best has {}",
            self.params.min_rtt_samples, self.most_samples
        )
    }

    fn confidence(&self, kind: VerdictKind, decides: &Spread) -> Option<Confidence> {
        if kind == VerdictKind::Clean && 2 * self.begun_before > self.judged_flows {
            return Some(Confidence::Low);
        }
        let samples = decides.samples.quantile(0.5)?;
        Some(match samples {
            200.0.. => Confidence::High,
            60.0.. => Confidence::Medium,
            _ => Confidence::Low,
        })
    }

    fn where_it_is(&self) -> Vec<Side> {
        let share = |n: SideCount| n.suffering_flows as f64 / n.judged_flows.max(1) as f64;
        let [down, up] = self.sides.map(share);
        let is_named = [down > 0.0 && 4.0 * down > up, up > 0.0 && 4.0 * up > down];
        let sides = SIDES.iter().zip(is_named);
        sides
            .filter(|(_, named)| *named)
            .map(|((side, _), _)| *side)
            .collect()
    }

    fn culprits(&self) -> Vec<Culprit> {
        let mut found: Vec<(f64, Culprit)> = Vec::new();
        for candidate in self.candidates.iter() {
            let (mut victims, mut own_victims) = (0, 0);
            let mut spans = Vec::new();
            let mut suffers = false;
            for flow in self.flows.iter().filter(|f| f.side == candidate.side) {
                let from = flow.start_ns.max(candidate.start_ns);
                let to = flow.end_ns.min(candidate.end_ns);
                if from < to {
                    spans.push((from, to));
                    suffers |= flow.flow_id == candidate.flow_id;
                    let other = flow.flow_id != candidate.flow_id;
                    victims += u64::from(other);
                    own_victims += u64::from(other && flow.client == candidate.client);
                }
            }
            let overlap_s = covered_ns(spans) as f64 / 1e9;
            let weight = candidate.queued_bytes * overlap_s;
            if weight > 0.0 {
                found.push((
                    weight,
                    candidate.culprit(overlap_s, [victims, own_victims], suffers),
                ));
            }
        }
        found.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.flow_id.cmp(&y.flow_id)));
        let total: f64 = found.iter().map(|(weight, _)| weight).sum();
        let listed = found.into_iter().take(LISTED);
        listed
            .map(|(weight, culprit)| Culprit {
                share: weight / total,
                ..culprit
            })
            .collect()
    }

    fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if 2 * self.begun_before > self.judged_flows {
            caveats.push("Most flows had begun before the capture: their smallest RTT may already hold a queue, so the true delays may be larger.".to_owned());
        }
        if self.judged_flows > 0 && self.both_sides_judged == 0 {
            caveats.push("No flow has enough RTT samples on both sides of the capture point, so its sides are not compared within one flow.".to_owned());
        }
        if self.sides[0].suffering_flows > 0 {
            caveats.push("Downstream RTTs include the way of the ACKs back, so an upload that fills the queue between client and capture point shows there as well.".to_owned());
        }
        if self
            .sides
            .iter()
            .any(|s| s.suffering_flows > COMPARED as u64)
        {
            caveats.push(format!("Culprits were looked for among the {COMPARED} flows that suffer most and the {COMPARED} that keep most bytes queued."));
        }
        caveats
    }
}

impl Spread {
    fn add(&mut self, added: Delays, queue_bdp: Option<f64>, samples: u64) {
        self.p50_ms.record(added.p50_ms);
        self.p95_ms.record(added.p95_ms);
        self.p99_ms.record(added.p99_ms);
        self.samples.record(samples as f64);
        if let Some(bdp) = queue_bdp {
            self.queue_bdp.record(bdp);
        }
    }

    fn medians(&self) -> Option<Delays> {
        Some(Delays {
            p50_ms: self.p50_ms.quantile(0.5)?,
            p95_ms: self.p95_ms.quantile(0.5)?,
            p99_ms: self.p99_ms.quantile(0.5)?,
        })
    }
}
/// How much time the spans cover together.
fn covered_ns(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let mut covered = 0;
    let mut reached = i64::MIN;
    for (from, to) in spans {
        covered += to.saturating_sub(from.max(reached)).max(0);
        reached = reached.max(to);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Value::{F, I, T, U};
    use crate::testing::{Record, flows_table, rows};
    use crate::view::Index;

    /// A flow from `start` to `end` seconds with an added p95 on the side towards the client.
    fn flow(id: u64, span: (i64, i64), p95_ms: f64, in_flight: f64) -> Record {
        vec![
            ("flow_id", U(id)),
            ("client", T("10.0.0.2")),
            ("server", T("192.0.2.1")),
            ("server_port", U(443)),
            ("start_ns", I(span.0 * 1_000_000_000)),
            ("end_ns", I(span.1 * 1_000_000_000)),
            ("handshake", T("complete")),
            ("handshake_up_ms", F(10.0)),
            ("rtt_down_samples", U(300)),
            ("rtt_down_min_ms", F(40.0)),
            ("rtt_down_p50_ms", F(40.0 + p95_ms / 2.0)),
            ("added_down_p50_ms", F(p95_ms / 2.0)),
            ("added_down_p95_ms", F(p95_ms)),
            ("added_down_p99_ms", F(p95_ms * 1.2)),
            ("in_flight_down_p50_bytes", F(in_flight)),
        ]
    }

    fn verdict(records: &[Record]) -> Verdict {
        let table = flows_table();
        let mut judge = Judge::new(SummaryParams::default());
        judge.add(
            "flows",
            &View::new(&Index::of(&table), &rows(&table, records)),
        );
        judge.verdict()
    }

    #[test]
    fn a_bulk_flow_is_the_culprit_of_those_that_wait_with_it() {
        let verdict = verdict(&[
            flow(1, (0, 100), 400.0, 600_000.0),
            flow(2, (20, 40), 500.0, 3_000.0),
            flow(3, (30, 50), 90.0, 3_000.0),
        ]);
        assert_eq!(verdict.kind, VerdictKind::Bloated);
        assert_eq!(
            (
                verdict.downstream.judged_flows,
                verdict.downstream.suffering_flows
            ),
            (3, 2)
        );
        assert_eq!(verdict.sides, [Side::Downstream]);
        assert_eq!(verdict.flows[0].flow_id, 2);
        let culprit = &verdict.culprits[0];
        // 600 kB in flight, of 240 ms RTT 200 ms in the queue.
        assert_eq!(
            (culprit.flow_id, culprit.queued_bytes, culprit.victims),
            (1, 500_000.0, 1)
        );
        assert!(culprit.suffers && culprit.share > 0.95, "{culprit:?}");
        // 500 ms over a floor of 40 ms down and 10 ms up.
        assert_eq!(verdict.flows[0].queue_bdp, Some(10.0));
        assert_eq!(verdict.confidence, Some(Confidence::High));
    }

    #[test]
    fn no_column_matters_but_those_that_it_asks_for() {
        let table = flows_table();
        let records = [flow(1, (0, 100), 400.0, 6e5), flow(2, (20, 40), 500.0, 3e3)];
        let mut judge = Judge::new(SummaryParams::default());
        let asked = View::asked_by(&table, |view| judge.add("flows", view));
        assert!(!asked.contains("rate_up_bps"));
        let mut few = unbloat_table::Rows::new(&table);
        few.keep_only(&table, |column| asked.contains(column.name));
        few.append_merged([&rows(&table, &records)]);
        judge.add("flows", &View::new(&Index::of(&table), &few));
        assert_eq!(judge.verdict(), verdict(&records));
    }

    #[test]
    fn a_full_window_while_nobody_suffers_is_no_culprit() {
        let verdict = verdict(&[flow(1, (0, 10), 400.0, 9e5), flow(2, (50, 90), 80.0, 9e5)]);
        assert_eq!(verdict.culprits.len(), 1);
        assert_eq!(verdict.culprits[0].flow_id, 1);
    }

    #[test]
    fn nobody_above_the_threshold_is_a_clean_verdict() {
        let clean = verdict(&[flow(1, (0, 10), 100.0, 5e4)]);
        assert_eq!(clean.kind, VerdictKind::Clean);
        assert!(
            clean.sentences()[0].contains("nobody"),
            "{:?}",
            clean.sentences()
        );
    }

    #[test]
    fn too_few_samples_are_inconclusive_with_the_reason() {
        let mut record = flow(1, (0, 10), 900.0, 5e5);
        record.retain(|(name, _)| *name != "rtt_down_samples");
        record.push(("rtt_down_samples", U(19)));
        let verdict = verdict(&[record]);
        assert_eq!(
            (verdict.kind, verdict.confidence),
            (VerdictKind::Inconclusive, None)
        );
        assert!(verdict.reason.unwrap().contains("the best has 19"));
    }

    #[test]
    fn flows_that_began_before_the_capture_cannot_acquit_with_confidence() {
        let mut record = flow(1, (0, 10), 10.0, 5e4);
        record.retain(|(name, _)| *name != "handshake");
        record.push(("handshake", T("unseen")));
        let verdict = verdict(&[record]);
        assert_eq!(
            (verdict.kind, verdict.confidence),
            (VerdictKind::Clean, Some(Confidence::Low))
        );
        assert!(verdict.caveats[0].contains("begun before"));
    }

    #[test]
    fn a_verdict_survives_json() {
        let verdict = verdict(&[flow(1, (0, 10), 400.0, 9e5)]);
        let text = serde_json::to_string(&verdict).unwrap();
        assert!(text.contains(r#""kind":"bloated""#));
        assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    }

    #[test]
    fn overlapping_spans_are_counted_once() {
        assert_eq!(covered_ns(vec![(5, 9), (0, 4), (2, 6), (20, 21)]), 10);
        assert_eq!(covered_ns(vec![]), 0);
    }
}
