//! Packets that are answered, or not: round trips and losses.

use crate::metrics::{Metric, Spans};
use unbloat_units::{Delta, Time};

/// How long an answer may take at least.
const LINGER: Delta = Delta::secs(10);

/// What was sent to one place, numbered from 0, and what came back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    sent: Vec<Time>,
    /// By number.
    answered: Vec<bool>,
    pub(crate) times: Spans,
}

impl Answers {
    /// The number of the next one.
    pub(crate) fn next(&self) -> u64 {
        self.sent.len() as u64
    }

    pub(crate) fn sent(&mut self, now: Time) {
        self.sent.push(now);
        self.answered.push(false);
    }

    pub(crate) fn answered(&mut self, now: Time, number: u64) {
        self.answered[number as usize] = true;
        self.times.push(now, now.since(self.sent[number as usize]));
    }

    /// Counts those since `from` that are lost, as far as can be known: a later one was answered, or they are older than `ping` waits
    /// for (iputils: twice the longest round trip, and 10 s without any). The others that have no answer are in flight.
    fn open(&self, from: Time, now: Time) -> (usize, usize) {
        let newest = self.answered.iter().rposition(|is_answered| *is_answered);
        let longest = self.times.since(Time::MIN).into_iter().max();
        let patience = longest.map_or(LINGER, |rtt| LINGER.max(rtt * 2));
        let open = self.sent.iter().zip(&self.answered).enumerate();
        let open = open.filter(|(_, (sent, is_answered))| **sent >= from && !**is_answered);
        let (lost, in_flight): (Vec<_>, Vec<_>) = open.partition(|(number, (sent, _))| {
            newest.is_some_and(|newest| *number < newest) || now.since(**sent) > patience
        });
        (lost.len(), in_flight.len())
    }

    /// Round trips from `from` on, `unanswered` and `in_flight`; each name begins with `prefix`.
    pub(crate) fn metrics(&self, prefix: &str, from: Time, now: Time) -> Vec<Metric> {
        let mut metrics = self.times.metrics(&format!("{prefix}rtt"), from);
        let (lost, in_flight) = self.open(from, now);
        for (name, count) in [("unanswered", lost), ("in_flight", in_flight)] {
            metrics.push(Metric::new(format!("{prefix}{name}"), count as f64));
        }
        metrics
    }
}
