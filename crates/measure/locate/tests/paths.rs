//! Thousands of paths drawn by seed, in virtual time: how often is the queue named right, how often
//! wrong with certainty?

use fastrand::Rng;
use std::net::{IpAddr, Ipv4Addr};
use unbloat_locate::{
    Confidence, Evidence, Finding, HopKind, Node, Params, Phase, Probe, Reason, Verdict, locate,
};
use unbloat_units::Delta;

const ROUNDS: u32 = 80;
const PER_SECOND: u32 = 10;

/// One path. Delays in ms.
struct Path {
    hops: usize,
    /// Propagation there and back, up to each hop.
    base: Vec<f64>,
    /// Mean wait behind others' packets before each hop, at any time.
    cross: Vec<f64>,
    /// The queue is before this hop; 0 is none.
    at: usize,
    queue: f64,
    sawtooth_rounds: f64,
    slow: Option<(usize, f64)>,
    limited: Option<usize>,
    silent: Option<usize>,
    shared: Option<usize>,
    other_way: Option<usize>,
}

fn up_to(rng: &mut Rng, most: f64) -> f64 {
    rng.f64() * most
}

fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * (1.0 - rng.f64()).ln()
}

impl Path {
    fn draw(rng: &mut Rng, has_queue: bool) -> Path {
        let hops = rng.usize(3..=12);
        let mut delay = 0.0;
        let base = (0..hops).map(|_| {
            delay += 0.2 + exponential(rng, 4.0);
            delay
        });
        let base = base.collect();
        let cross = (0..hops)
            .map(|_| match rng.u8(..8) {
                0 => up_to(rng, 6.0),
                _ => up_to(rng, 0.7),
            })
            .collect();
        let mut inner = |chance: f64| (rng.f64() < chance).then(|| rng.usize(1..hops));
        let [slow, limited, silent, shared, other_way] = [0.7, 0.7, 0.3, 0.2, 0.05].map(&mut inner);
        let at = if has_queue { rng.usize(1..=hops) } else { 0 };
        Path {
            hops,
            base,
            cross,
            at,
            queue: 12.0 * 30.0_f64.powf(rng.f64()),
            sawtooth_rounds: 5.0 + up_to(rng, 60.0),
            slow: slow.map(|hop| (hop, 3.0 + up_to(rng, 40.0))),
            limited,
            silent: silent.filter(|_| silent != slow),
            shared,
            // At the queue itself nobody could tell.
            other_way: other_way.filter(|&hop| hop > at + 2),
        }
    }

    fn wait(&self, hop: usize, round: f64, rng: &mut Rng) -> f64 {
        if self.at == 0 || hop < self.at || self.other_way == Some(hop) {
            return 0.0;
        }
        let phase = (round / self.sawtooth_rounds).fract();
        self.queue * (0.65 + 0.35 * phase) * (0.93 + up_to(rng, 0.07))
    }

    fn rtt(&self, hop: usize, round: f64, is_loaded: bool, rng: &mut Rng) -> f64 {
        let others: f64 = (0..hop).map(|at| exponential(rng, self.cross[at])).sum();
        let mut rtt = self.base[hop - 1] + others + exponential(rng, 0.3);
        if let Some((_, slow)) = self.slow.filter(|&(at, _)| at == hop) {
            let busier = if is_loaded { 1.7 } else { 1.0 };
            rtt += exponential(rng, slow * busier);
        }
        if is_loaded {
            rtt += self.wait(hop, round, rng);
        }
        rtt
    }

    fn probe(&self, rng: &mut Rng) -> Evidence {
        let mut probes = Vec::new();
        for phase in [Phase::Idle, Phase::Up] {
            let mut tokens = 6.0;
            for round in 0..ROUNDS {
                tokens = f64::min(tokens + 1.0 / f64::from(PER_SECOND), 6.0);
                for hop in 1..=self.hops {
                    let mut is_answered = self.silent != Some(hop) && rng.f64() > 0.02;
                    if self.limited == Some(hop) {
                        is_answered &= tokens >= 1.0;
                        tokens -= f64::from(u8::from(is_answered));
                    }
                    let at = f64::from(round) + hop as f64 / self.hops as f64;
                    let is_loaded = phase == Phase::Up;
                    let rtt = Delta::from_secs_f64(self.rtt(hop, at, is_loaded, rng) / 1e3);
                    let half = u8::from(self.shared == Some(hop) && rng.bool());
                    let address: IpAddr = Ipv4Addr::new(10, 0, hop as u8, half).into();
                    probes.push(Probe {
                        hop: hop as u8,
                        phase,
                        round,
                        answer: is_answered.then_some((address, rtt)),
                    });
                }
            }
        }
        Evidence {
            probes,
            far_end: Some(self.hops as u8),
            ..Evidence::default()
        }
    }

    /// Whether a finding names the place, as narrowly as silence and other ways back allow.
    fn is_at(&self, from: Node, to: Node) -> bool {
        let number = |node| match node {
            Node::ThisHost => 0,
            Node::Hop(number, _) | Node::FarEnd(number, _) => usize::from(number),
            Node::Peer(_) => usize::MAX,
        };
        let (from, to) = (number(from), number(to));
        let is_mute = |hop| self.silent == Some(hop) || self.other_way == Some(hop);
        from < self.at && self.at <= to && (from + 1..to).all(is_mute)
    }
}

#[derive(Debug, Default)]
struct Score {
    right: usize,
    likely_wrong: usize,
    certainly_wrong: usize,
    undecided: usize,
}

fn score(paths: u64, has_queue: bool) -> Score {
    let mut score = Score::default();
    for seed in 0..paths {
        let mut rng = Rng::with_seed(seed);
        let path = Path::draw(&mut rng, has_queue);
        let params = Params {
            replicates: 150,
            ..Params::default()
        };
        let verdict = locate(&path.probe(&mut rng), Phase::Up, &params);
        match verdict.finding {
            Finding::Queue {
                step, confidence, ..
            } => {
                if path.is_at(step.place.from, step.place.to) {
                    score.right += 1;
                } else if confidence == Confidence::Certain {
                    eprintln!(
                        "seed {seed}: queue at {} of {}: {verdict}",
                        path.at, path.hops
                    );
                    score.certainly_wrong += 1;
                } else {
                    score.likely_wrong += 1;
                }
            }
            Finding::NoQueue { .. } if has_queue => score.certainly_wrong += 1,
            Finding::NoQueue { .. } => score.right += 1,
            Finding::Inconclusive(_) => score.undecided += 1,
        }
    }
    score
}

#[test]
fn of_random_paths_with_a_queue_95_of_100_are_named_right_and_less_than_one_certainly_wrong() {
    let paths = 1500;
    let score = score(paths, true);
    assert!(score.right as f64 >= 0.95 * paths as f64, "{score:?}");
    assert!(
        score.certainly_wrong as f64 <= 0.01 * paths as f64,
        "{score:?}"
    );
}

#[test]
fn of_random_paths_without_a_queue_less_than_one_of_100_is_given_one() {
    let paths = 600;
    let score = score(paths, false);
    assert!(score.right as f64 >= 0.8 * paths as f64, "{score:?}");
    assert!(
        score.certainly_wrong + score.likely_wrong <= paths as usize / 100,
        "{score:?}"
    );
}

fn fixed(change: impl Fn(&mut Path)) -> Verdict {
    let mut rng = Rng::with_seed(5);
    let mut path = Path {
        hops: 6,
        base: vec![1.0, 4.0, 9.0, 12.0, 20.0, 22.0],
        cross: vec![0.2; 6],
        at: 2,
        queue: 100.0,
        sawtooth_rounds: 33.0,
        slow: None,
        limited: None,
        silent: None,
        shared: None,
        other_way: None,
    };
    change(&mut path);
    locate(&path.probe(&mut rng), Phase::Up, &Params::default())
}

fn kinds(verdict: &Verdict) -> Vec<HopKind> {
    verdict.hops.iter().map(|hop| hop.kind).collect()
}

#[test]
fn each_kind_of_hop_is_recognised() {
    use HopKind::{OtherWayBack, Plain, RateLimited, Silent, SlowPath};
    let verdict = fixed(|path| {
        path.slow = Some((3, 25.0));
        path.limited = Some(4);
        path.silent = Some(1);
    });
    assert_eq!(
        kinds(&verdict),
        [Silent, Plain, SlowPath, RateLimited, Plain, Plain]
    );
    let Finding::Queue { step, .. } = &verdict.finding else {
        panic!("{verdict}");
    };
    assert_eq!(step.place.from, Node::ThisHost);
    assert!(matches!(step.place.to, Node::Hop(2, _)), "{verdict}");
    assert!((70.0..105.0).contains(&step.added.as_ms()), "{verdict}");
    let other_way = fixed(|path| path.other_way = Some(4));
    assert_eq!(
        kinds(&other_way),
        [Plain, Plain, Plain, OtherWayBack, Plain, Plain]
    );
}

#[test]
fn a_router_that_is_slow_to_answer_under_load_is_no_queue() {
    let mut rng = Rng::with_seed(9);
    let mut evidence = Evidence::default();
    for phase in [Phase::Idle, Phase::Down] {
        for (round, hop) in (0..80).flat_map(|round| (1..=5).map(move |hop| (round, hop))) {
            let own = if hop == 3 && phase == Phase::Down {
                60.0
            } else {
                0.0
            };
            let rtt = f64::from(hop) * 3.0 + own + exponential(&mut rng, 0.4);
            let address = Ipv4Addr::new(10, 0, hop, 1).into();
            evidence.probes.push(Probe {
                hop,
                phase,
                round,
                answer: Some((address, Delta::from_secs_f64(rtt / 1e3))),
            });
        }
    }
    evidence.far_end = Some(5);
    let verdict = locate(&evidence, Phase::Down, &Params::default());
    assert!(
        matches!(verdict.finding, Finding::NoQueue { .. }),
        "{verdict}"
    );
    assert_eq!(verdict.hops[2].kind, HopKind::SlowPath);
    // The queue may stand behind the last hop that answers.
    let silent = |probe: &Probe| probe.hop < 5;
    let (mut cut, mut unknown) = (evidence.clone(), evidence.clone());
    cut.probes.retain(silent);
    unknown.far_end = None;
    for (seen, last) in [(cut, 4), (unknown, 5)] {
        let other = locate(&seen, Phase::Down, &Params::default());
        let Finding::Inconclusive(Reason::FarEndSilent { until, .. }) = other.finding else {
            panic!("{other}");
        };
        assert!(matches!(until, Node::Hop(hop, _) if hop == last), "{until}");
    }
}

#[test]
fn a_peer_tells_the_own_link_from_the_gateway_that_says_nothing() {
    let near = |at: usize| {
        let mut rng = Rng::with_seed(11);
        let mut path = Path::draw(&mut rng, true);
        (path.at, path.queue, path.silent, path.slow) = (at, 80.0, Some(1), None);
        (path.limited, path.other_way) = (None, None);
        let mut evidence = path.probe(&mut rng);
        for (phase, round) in [Phase::Idle, Phase::Up]
            .iter()
            .flat_map(|&p| (0..ROUNDS).map(move |r| (p, r)))
        {
            let is_met = phase == Phase::Up && at == 1;
            let wait = if is_met {
                path.wait(1, f64::from(round), &mut rng)
            } else {
                0.0
            };
            let rtt = Delta::from_secs_f64((1.0 + wait + exponential(&mut rng, 0.3)) / 1e3);
            let answer = Some((Ipv4Addr::new(192, 168, 1, 7).into(), rtt));
            let hop = unbloat_locate::PEER;
            evidence.probes.push(Probe {
                hop,
                phase,
                round,
                answer,
            });
        }
        match locate(&evidence, Phase::Up, &Params::default()).finding {
            Finding::Queue { step, .. } => step.place,
            other => panic!("{other:?}"),
        }
    };
    let (own, line) = (near(1), near(2));
    assert!(
        matches!((own.from, own.to), (Node::ThisHost, Node::Peer(_))),
        "{own}"
    );
    assert!(
        matches!((line.from, line.to), (Node::Peer(_), Node::Hop(2, _))),
        "{line}"
    );
}

#[test]
fn the_same_seed_gives_the_same_verdict_and_nothing_gives_none() {
    let again = || fixed(|path| path.slow = Some((2, 30.0)));
    assert_eq!(again(), again());
    let empty = locate(&Evidence::default(), Phase::Up, &Params::default());
    assert_eq!(
        empty.to_string(),
        "During upload: inconclusive; no hop answered often enough, idle and under load"
    );
}
