//! What kind of answerer each hop is.

use crate::params::Params;
use crate::series::{Answers, Sample, Series};
use crate::statistic::{from_ms, median, quantile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use unbloat_units::{Delta, named};

named! {
    /// How a hop answers; several may hold, the one that matters most for the verdict is named.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum HopKind {
        /// Its answers take as long as the path does.
        #[serde(rename = "plain")]
        Plain = "plain",
        /// It answers at a steady pace that is slower than it is asked.
        #[serde(rename = "rate-limited")]
        RateLimited = "rate-limited",
        /// Its answers take longer at times than those of later hops, idle or under load: they wait for its
        /// processor, what it forwards does not.
        #[serde(rename = "slow path")]
        SlowPath = "slow path",
        /// Its delay under load is lower than that of hops on both sides of it: its answers come back by
        /// another way.
        #[serde(rename = "other way back")]
        OtherWayBack = "other way back",
        /// Another address answered under load than before.
        #[serde(rename = "changed")]
        Changed = "changed",
        /// It answers too seldom to be of use, or never.
        #[serde(rename = "silent")]
        Silent = "silent",
    }
}

impl HopKind {
    /// Whether its delays take part in the verdict.
    pub const fn is_used(self) -> bool {
        matches!(
            self,
            HopKind::Plain | HopKind::RateLimited | HopKind::SlowPath
        )
    }
}

/// One hop under one load, beside itself when idle. Times are of the address that answers most.
#[derive(Clone, Debug, PartialEq)]
pub struct HopReport {
    pub hop: u8,
    pub kind: HopKind,
    /// Who answered most often first.
    pub addresses: Vec<IpAddr>,
    pub idle_sent: usize,
    pub idle_answered: usize,
    pub loaded_sent: usize,
    pub loaded_answered: usize,
    pub idle_p50: Option<Delta>,
    pub loaded_p50: Option<Delta>,
    pub loaded_p95: Option<Delta>,
    /// Median under load less median when idle; of an erratic hop, whose median is its own doing, the least
    /// by which it stands out from a later hop, round by round.
    pub added: Option<Delta>,
    /// What of it is certain to be the path's: no more than at any later hop.
    pub persisting: Option<Delta>,
}

/// What the statistic works on.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) report: HopReport,
    pub(crate) idle: Vec<Sample>,
    pub(crate) loaded: Vec<Sample>,
    pub(crate) compared: Compared,
}

/// How idle and loaded are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Compared {
    Medians,
    /// Waiting for a processor adds to an answer and never takes from it, so the lower end has least of it.
    LowEnds,
    /// What is left when the delay of another hop in the same round is taken away, so that ups and downs of a
    /// queue are no matter: the number of that hop, and the quantile of what is left.
    Beside(u8, f64),
}

impl Compared {
    pub(crate) const fn quantile(self) -> f64 {
        match self {
            Compared::Medians => 0.5,
            Compared::LowEnds => 0.15,
            Compared::Beside(_, quantile) => quantile,
        }
    }
}

impl Hop {
    pub(crate) fn new(series: &Series, params: &Params) -> Hop {
        let address = series.address();
        let of = |answers: &Answers| address.map_or(Vec::new(), |a| answers.samples(a).to_vec());
        let (idle, loaded) = (of(&series.idle), of(&series.loaded));
        let at = |samples: &[Sample], q| quantile_of(samples, q).map(from_ms);
        let (idle_p50, loaded_p50) = (at(&idle, 0.5), at(&loaded, 0.5));
        let report = HopReport {
            hop: series.hop,
            kind: kind(series, (&idle, &loaded), params),
            addresses: series.addresses(),
            idle_sent: series.idle.sent,
            idle_answered: series.idle.answered(),
            loaded_sent: series.loaded.sent,
            loaded_answered: series.loaded.answered(),
            idle_p50,
            loaded_p50,
            loaded_p95: at(&loaded, 0.95),
            added: idle_p50
                .zip(loaded_p50)
                .map(|(before, after)| after - before),
            persisting: None,
        };
        Hop {
            report,
            idle,
            loaded,
            compared: Compared::Medians,
        }
    }

    pub(crate) fn added_ms(&self) -> f64 {
        self.report.added.unwrap_or_default().as_ms()
    }

    /// Its idle round trips vary more than any that go through it. `steady` is a later hop whose do not.
    pub(crate) fn set_erratic(&mut self, steady: Option<&Hop>) {
        const LOW_END: f64 = 0.1;
        self.report.kind = HopKind::SlowPath;
        if !steady.is_some_and(|steady| self.compare_beside(steady, LOW_END)) {
            self.compared = Compared::LowEnds;
            self.report.added = self.stands_out(0.0);
        }
    }

    /// It has answered seldom: what the queue happened to be then must not count.
    pub(crate) fn compare_with(&mut self, steady: &Hop) {
        self.compare_beside(steady, 0.5);
    }

    /// False where too few rounds have answers of both.
    fn compare_beside(&mut self, steady: &Hop, quantile: f64) -> bool {
        let Some(left) = self.beside(steady) else {
            return false;
        };
        self.loaded = left;
        self.compared = Compared::Beside(steady.report.hop, quantile);
        self.report.added = self.stands_out(steady.added_ms());
        true
    }

    fn stands_out(&self, base_ms: f64) -> Option<Delta> {
        let at = |samples: &[Sample]| quantile_of(samples, self.compared.quantile());
        let both = at(&self.idle).zip(at(&self.loaded));
        both.map(|(before, after)| from_ms(after - before + base_ms))
    }

    /// What its round trips under load are beyond what that hop's are longer than when idle, where most rounds
    /// have both.
    fn beside(&self, steady: &Hop) -> Option<Vec<Sample>> {
        let idle = quantile_of(&steady.idle, 0.5)?;
        let added: BTreeMap<u32, f64> = steady
            .loaded
            .iter()
            .map(|&(round, rtt)| (round, rtt - idle))
            .collect();
        let both = self.loaded.iter();
        let left = both.filter_map(|&(round, rtt)| Some((round, rtt - added.get(&round)?)));
        let left: Vec<Sample> = left.collect();
        (left.len() * 3 > self.loaded.len() * 2).then_some(left)
    }

    /// How far the middle half of its idle round trips lies apart, in ms.
    pub(crate) fn idle_spread(&self) -> f64 {
        let of = |q| quantile_of(&self.idle, q).unwrap_or_default();
        of(0.75) - of(0.25)
    }
}

fn quantile_of(samples: &[Sample], q: f64) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().map(|s| s.1).collect();
    quantile(&mut values, q)
}

fn kind(series: &Series, compared: (&[Sample], &[Sample]), params: &Params) -> HopKind {
    let enough = params.min_answers;
    if compared.0.len().min(compared.1.len()) < enough {
        let answered = series.idle.answered().min(series.loaded.answered());
        return match answered < enough {
            true => HopKind::Silent,
            false => HopKind::Changed,
        };
    }
    match is_rate_limited(&series.idle) || is_rate_limited(&series.loaded) {
        true => HopKind::RateLimited,
        false => HopKind::Plain,
    }
}

/// Whether answers are thinned, and lie as far apart as a limiter lets them: loss is not that regular.
fn is_rate_limited(answers: &Answers) -> bool {
    /// What limiters let through at once when they have rested (Linux: 6).
    const BURST: usize = 6;
    const REGULAR: f64 = 0.5;
    if answers.answered() * 10 > answers.sent * 9 {
        return false;
    }
    let rounds = answers.rounds();
    let mut gaps: Vec<f64> = rounds.windows(2).map(|w| f64::from(w[1] - w[0])).collect();
    if gaps.len() >= 2 * BURST {
        gaps.drain(..BURST);
    }
    let Some(middle) = median(&mut gaps) else {
        return false;
    };
    let mut off: Vec<f64> = gaps
        .iter()
        .map(|gap| (gap - middle).abs() / middle)
        .collect();
    middle >= 2.0 && quantile(&mut off, 0.75).is_some_and(|off| off < REGULAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Phase, Probe};
    use std::net::Ipv4Addr;

    fn series(is_answered: impl Fn(u32) -> Option<u8>) -> Series {
        let mut probes = Vec::new();
        for phase in [Phase::Idle, Phase::Up] {
            let count = if phase == Phase::Idle { 0 } else { 100 };
            probes.extend((0..100).map(|round| {
                Probe {
                    hop: 3,
                    phase,
                    round,
                    answer: is_answered(round + count)
                        .map(|last| (Ipv4Addr::new(10, 0, 0, last).into(), Delta::ms(10))),
                }
            }));
        }
        Series::all(&probes, Phase::Up).remove(0)
    }

    fn kind_of(is_answered: impl Fn(u32) -> Option<u8>) -> HopKind {
        Hop::new(&series(is_answered), &Params::default())
            .report
            .kind
    }

    #[test]
    fn answers_at_a_steady_slower_pace_are_a_limit_and_loss_is_not() {
        assert_eq!(kind_of(|_| Some(1)), HopKind::Plain);
        assert_eq!(
            kind_of(|n| (n % 10 == 3).then_some(1)),
            HopKind::RateLimited
        );
        let burst = |n: u32| (n % 100 < 6 || n % 10 == 3).then_some(1);
        assert_eq!(kind_of(burst), HopKind::RateLimited);
        let mut random = fastrand::Rng::with_seed(7);
        let lost: Vec<bool> = (0..200).map(|_| random.u8(..10) < 7).collect();
        assert_eq!(
            kind_of(|n| (!lost[n as usize]).then_some(1)),
            HopKind::Plain
        );
        assert_eq!(kind_of(|n| (n % 50 == 3).then_some(1)), HopKind::Silent);
    }

    #[test]
    fn only_answers_of_the_same_address_are_compared() {
        assert_eq!(
            kind_of(|n| Some(if n < 100 { 1 } else { 2 })),
            HopKind::Changed
        );
        let shared = series(|n| Some(1 + (n % 3 == 0) as u8));
        let hop = Hop::new(&shared, &Params::default());
        assert_eq!(hop.report.kind, HopKind::Plain);
        assert_eq!(hop.report.addresses.len(), 2);
        assert_eq!((hop.report.idle_answered, hop.idle.len()), (100, 66));
    }
}
