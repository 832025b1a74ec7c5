//! The verdict in plain words.

use super::{Confidence, Culprit, Delays, Side, SideCount, Verdict, VerdictKind};
use unbloat_units::Bytes;

/// So many culprits are named in the sentence; the rest is in the list.
const NAMED: usize = 3;

impl Verdict {
    /// One line: the answer.
    pub fn headline(&self) -> String {
        match self.kind {
            VerdictKind::Inconclusive => "Inconclusive".to_owned(),
            VerdictKind::Clean => "No bufferbloat found".to_owned(),
            VerdictKind::Bloated => format!("Bufferbloat{}", self.place(" ")),
        }
    }

    /// What was found, one sentence each: who, how much, where, because of which flows, how sure.
    pub fn sentences(&self) -> Vec<String> {
        let answer = match self.kind {
            VerdictKind::Inconclusive => {
                vec![self.reason.as_deref().map(sentence).unwrap_or_default()]
            }
            VerdictKind::Clean => vec![self.nobody(), self.clean_delay()],
            VerdictKind::Bloated => vec![self.who(), self.how_much(), self.side(), self.because()],
        };
        let sure = self.confidence.map(|c| self.how_sure(c));
        let all = answer.into_iter().chain(sure).filter(|s| !s.is_empty());
        all.chain(self.caveats.iter().cloned()).collect()
    }

    fn who(&self) -> String {
        let threshold = self.threshold_ms;
        let flows = [("downstream", self.downstream), ("upstream", self.upstream)];
        let flows = flows.into_iter().filter(|(_, n)| n.judged_flows > 0);
        let flows: Vec<String> = flows.map(|(side, n)| of_flows(n, side)).collect();
        let users = if self.judged_users == 0 {
            String::new()
        } else {
            let (part, whole) = (self.suffering_users, self.judged_users);
            format!("{part} of {whole} {} and ", plural(whole, "user", "users"))
        };
        format!(
            "Who: {users}{} had more than {threshold} ms of added delay at p95.",
            flows.join(", ")
        )
    }

    fn nobody(&self) -> String {
        let judged = self.downstream.judged_flows + self.upstream.judged_flows;
        format!(
            "Who: nobody. None of {judged} judged {} had more than {} ms of added delay at p95.",
            plural(judged, "flow side", "flow sides"),
            self.threshold_ms
        )
    }

    fn clean_delay(&self) -> String {
        let delays = self.added.map(|d| {
            format!(
                "How much: the median flow's added delay is {}.",
                quantiles(d)
            )
        });
        delays.unwrap_or_default()
    }

    fn how_much(&self) -> String {
        let Some(added) = self.added else {
            return String::new();
        };
        let bdp = self
            .queue_bdp
            .map(|n| format!("; at p95 the queue holds {} BDPs", digits(n)));
        format!(
            "How much: {} (medians over suffering flows){}.",
            quantiles(added),
            bdp.unwrap_or_default()
        )
    }

    fn side(&self) -> String {
        match self.sides.as_slice() {
            [] => String::new(),
            [Side::Downstream] => {
                "Where: downstream, between the capture point and the clients.".to_owned()
            }
            [Side::Upstream] => {
                "Where: upstream, between the capture point and the servers.".to_owned()
            }
            _ => "Where: on both sides of the capture point.".to_owned(),
        }
    }

    fn because(&self) -> String {
        if self.culprits.is_empty() {
            return "Because of: no flow in the capture keeps bytes queued while others suffer; the queue is filled by traffic that was not captured.".to_owned();
        }
        let named: Vec<String> = self
            .culprits
            .iter()
            .take(NAMED)
            .map(Culprit::phrase)
            .collect();
        format!("Because of: {}.", named.join("; "))
    }

    fn how_sure(&self, confidence: Confidence) -> String {
        let (word, why) = match confidence {
            Confidence::High => (
                "high",
                "200 or more RTT samples in the median deciding flow",
            ),
            Confidence::Medium => (
                "medium",
                "60 to 199 RTT samples in the median deciding flow",
            ),
            Confidence::Low => (
                "low",
                "fewer than 60 RTT samples in the median deciding flow, or floors not seen",
            ),
        };
        format!("Confidence: {word} ({why}).")
    }

    fn place(&self, before: &str) -> String {
        match self.sides.as_slice() {
            [] => String::new(),
            [Side::Downstream] => format!("{before}downstream of the capture point"),
            [Side::Upstream] => format!("{before}upstream of the capture point"),
            _ => format!("{before}on both sides of the capture point"),
        }
    }
}

impl Culprit {
    /// "flow 12 (client to server) keeps 1.2 MB queued for 38 s, 71 % of the bytes x time".
    fn phrase(&self) -> String {
        let (arrow, bytes) = (self.arrow(), Bytes::new(self.queued_bytes as u64));
        format!(
            "flow {} ({arrow}) keeps {bytes} queued for {} s, {} % of all queued bytes x time",
            self.flow_id,
            digits(self.overlap_s),
            digits(100.0 * self.share)
        )
    }

    /// Who sends to whom.
    pub fn arrow(&self) -> String {
        match self.side {
            Side::Downstream => format!("{} to {}", self.server, self.client),
            Side::Upstream => format!("{} to {}", self.client, self.server),
        }
    }
}

fn of_flows(count: SideCount, side: &str) -> String {
    let SideCount {
        judged_flows,
        suffering_flows,
    } = count;
    format!(
        "{suffering_flows} of {judged_flows} {} {side}",
        plural(judged_flows, "flow", "flows")
    )
}

fn quantiles(d: Delays) -> String {
    let [p50, p95, p99] = [d.p50_ms, d.p95_ms, d.p99_ms].map(digits);
    format!("p50 {p50} ms, p95 {p95} ms, p99 {p99} ms")
}

/// Three significant digits, no exponent.
fn digits(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{x:.0}"),
        10.0.. => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

fn plural(n: u64, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}

fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
