//! Episodes: queues that stood, joined over spans.

use crate::record::Culprit;
use crate::span::{Queue, Span};
use unbloat_summary::{Place, VerdictKind};
use unbloat_units::{Both, Delta, Direction, Time};

/// When episodes begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Queues with less time between them are one episode.
    pub join: Delta,
    /// A queue that stood for less than this opens no episode.
    pub least: Delta,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            join: Delta::secs(90),
            least: Delta::secs(2),
        }
    }
}

/// Culprits that an episode remembers, and networks.
const MOST: usize = 8;

/// A time in which a queue stood in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Counts from 1 since the monitor started.
    pub number: u64,
    pub direction: Direction,
    /// On the monitor's clock.
    pub start: Time,
    pub end: Time,
    /// Time for which the queue stood, of the time from start to end.
    pub standing: Delta,
    /// Median of the delay, weighted by the time it stood, and the largest 95th percentile of a span.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub place: Option<Place>,
    /// Who filled the queue, largest part first; empty if it was not captured.
    pub culprits: Vec<Culprit>,
    /// Networks whose flows waited.
    pub waiting: Vec<String>,
    /// Layer of this host with the longest wait, with the wait, if layers are watched.
    pub layer: Option<(&'static str, f64)>,
}

/// What a span did to the episodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Began(Episode),
    Ended(Episode),
}

/// Joins queues of spans to episodes.
#[derive(Clone, Debug)]
pub struct Episodes {
    params: Params,
    open: Both<Option<Episode>>,
    begun: u64,
}

impl Episodes {
    pub fn new(params: Params) -> Episodes {
        Episodes {
            params,
            open: Both::default(),
            begun: 0,
        }
    }

    /// Takes the next span.
    pub fn take(&mut self, span: &Span) -> Vec<Change> {
        let mut changes = Vec::new();
        for way in Direction::BOTH {
            let seen = &span.directions[way];
            let queue = seen.queue.as_ref();
            if let Some(open) = &mut self.open[way] {
                let joins = |next: &&Queue| next.from.since(open.end) <= self.params.join;
                if let Some(queue) = queue.filter(joins) {
                    open.join(queue, seen.standing, span);
                    continue;
                }
                if span.end.since(open.end) > self.params.join || queue.is_some() {
                    changes.extend(self.open[way].take().map(Change::Ended));
                }
            }
            let begins = |_: &&Queue| {
                seen.verdict == VerdictKind::Bloated && seen.standing >= self.params.least
            };
            if let (None, Some(queue)) = (&self.open[way], queue.filter(begins)) {
                self.begun += 1;
                let mut episode = Episode {
                    number: self.begun,
                    direction: way,
                    start: queue.from,
                    end: queue.from,
                    standing: Delta::ZERO,
                    p50_ms: 0.0,
                    p95_ms: 0.0,
                    place: None,
                    culprits: Vec::new(),
                    waiting: Vec::new(),
                    layer: None,
                };
                episode.join(queue, seen.standing, span);
                changes.push(Change::Began(episode.clone()));
                self.open[way] = Some(episode);
            }
        }
        changes
    }

    /// Ends what is open: nothing is watched any more.
    pub fn end(&mut self) -> Vec<Change> {
        let open = Direction::BOTH.map(|way| self.open[way].take());
        open.into_iter().flatten().map(Change::Ended).collect()
    }

    /// The episode of a direction that goes on.
    pub fn open(&self, direction: Direction) -> Option<&Episode> {
        self.open[direction].as_ref()
    }
}

impl Episode {
    fn join(&mut self, queue: &Queue, standing: Delta, span: &Span) {
        let (before, added) = (self.standing.as_secs(), standing.as_secs());
        let all = (before + added).max(f64::MIN_POSITIVE);
        self.p50_ms = (self.p50_ms * before + queue.p50_ms * added) / all;
        self.p95_ms = self.p95_ms.max(queue.p95_ms);
        self.standing += standing;
        self.start = self.start.min(queue.from);
        self.end = self.end.max(queue.until);
        self.place = queue.place.or(self.place);
        for filler in &queue.fillers {
            let weight = filler.share * queue.p50_ms * added;
            Culprit::add(&mut self.culprits, filler, weight);
        }
        self.culprits.truncate(MOST);
        for network in &queue.waiting {
            if self.waiting.len() < MOST && !self.waiting.contains(network) {
                self.waiting.push(network.clone());
            }
        }
        let worst = span.layers.iter().map(|layer| (layer.layer, layer.mean_ms));
        let worst = worst.max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some(worst) = worst.filter(|worst| self.layer.is_none_or(|known| worst.1 > known.1))
        {
            self.layer = Some(worst);
        }
    }

    /// Culprits with what part of the queue was theirs, largest first.
    pub fn shares(&self) -> Vec<Culprit> {
        let total: f64 = self.culprits.iter().map(|culprit| culprit.share).sum();
        let mut shares: Vec<Culprit> = self.culprits.clone();
        for culprit in &mut shares {
            culprit.share /= total.max(f64::MIN_POSITIVE);
        }
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::{DirectionSpan, Filler};

    fn at(s: i64) -> Time {
        Time::from_ns(0) + Delta::secs(s)
    }

    fn quiet() -> DirectionSpan {
        DirectionSpan {
            verdict: VerdictKind::NotTested,
            standing: Delta::ZERO,
            loaded: Delta::ZERO,
            sustained_ms: None,
            standing_p50_ms: None,
            standing_p95_ms: None,
            peak_bps: None,
            flows: 0,
            queue: None,
        }
    }

    fn stood(from: i64, until: i64, ms: f64, server: &str) -> DirectionSpan {
        let filler = Filler {
            client: "10.0.0.2".to_owned(),
            client_port: 40_000,
            server: server.to_owned(),
            server_port: 443,
            process: None,
            share: 1.0,
        };
        DirectionSpan {
            verdict: VerdictKind::Bloated,
            standing: Delta::secs(until - from),
            queue: Some(Queue {
                from: at(from),
                until: at(until),
                p50_ms: ms,
                p95_ms: ms + 10.0,
                place: None,
                fillers: vec![filler],
                waiting: vec!["192.0.2.0/24".to_owned()],
            }),
            ..quiet()
        }
    }

    fn span(end: i64, up: DirectionSpan) -> Span {
        Span {
            end: at(end),
            length: Delta::secs(60),
            directions: Both::new(quiet(), up),
            networks: Vec::new(),
            layers: Vec::new(),
        }
    }

    #[test]
    fn spans_of_one_queue_are_one_episode_with_the_largest_culprit_first() {
        let mut episodes = Episodes::new(Params::default());
        let began = episodes.take(&span(60, stood(40, 60, 100.0, "a")));
        assert!(matches!(&began[..], [Change::Began(episode)] if episode.start == at(40)));
        assert_eq!(episodes.take(&span(120, stood(60, 110, 200.0, "b"))), []);
        assert_eq!(episodes.take(&span(180, quiet())), []);
        let changes = episodes.take(&span(240, quiet()));
        let [Change::Ended(episode)] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert_eq!((episode.start, episode.end), (at(40), at(110)));
        assert_eq!(episode.standing, Delta::secs(70));
        assert_eq!(episode.p95_ms, 210.0);
        assert!((episode.p50_ms - 171.43).abs() < 0.01);
        let shares = episode.shares();
        assert_eq!(shares[0].server, "b");
        assert!((shares[0].share - 10.0 / 12.0).abs() < 1e-9);
    }

    #[test]
    fn queues_far_apart_are_two_and_short_ones_none() {
        let mut episodes = Episodes::new(Params::default());
        assert_eq!(episodes.take(&span(60, stood(58, 59, 100.0, "a"))), []);
        episodes.take(&span(120, stood(100, 110, 100.0, "a")));
        let changes = episodes.take(&span(360, stood(340, 350, 100.0, "a")));
        assert!(
            matches!(&changes[..], [Change::Ended(one), Change::Began(two)] if one.number == 1 && two.number == 2),
            "{changes:?}"
        );
        assert_eq!(episodes.end().len(), 1);
    }
}
