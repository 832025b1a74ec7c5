//! Localisation during load that somebody else makes, whose stages it follows.

use crate::discover::discover;
use crate::error::LocateError;
use crate::options::Options;
use crate::probe::Kind;
use crate::prober::Prober;
use crate::run::{LAST, Located, verdicts};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::info;
use unbloat_locate::Phase;

/// What is not repeated for so long holds no more: the stage has ended.
const HOLDS: Duration = Duration::from_millis(100);
/// Between stages.
const LOOKS: Duration = Duration::from_millis(10);

/// What the path does at this moment, said again and again by who loads it.
#[derive(Default)]
pub struct Signal(Mutex<Option<(Phase, Instant)>>);

impl Signal {
    /// None: nothing that can be compared, such as a queue that fills.
    pub fn set(&self, phase: Option<Phase>) {
        let said = phase.map(|phase| (phase, Instant::now()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }

    fn phase(&self) -> Option<Phase> {
        let said = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.filter(|(_, at)| at.elapsed() < HOLDS)
            .map(|(phase, _)| phase)
    }
}

/// Who follows: told once all hops are known, then of each round, and whether it is the first of its phase.
pub trait Follower {
    fn is_ready(&mut self);
    fn round(&mut self, phase: Phase, is_new: bool);
}

/// Asks all hops during each phase that is signalled, until it is stopped. A verdict for each load that was seen.
pub fn follow(
    options: &Options,
    signal: &Signal,
    follower: &mut dyn Follower,
    stop: &AtomicBool,
) -> Result<Located, LocateError> {
    options.check()?;
    let mut prober = Prober::open(options)?;
    let way = discover(&mut prober, options, stop)?.ok_or(LocateError::Stopped)?;
    if let (Some(at), Kind::Udp) = (way.far_end, options.kind) {
        prober.echo_far_end(at)?;
    }
    follower.is_ready();
    let mut rounds = [0; 4];
    let mut before = None;
    while !stop.load(Ordering::Relaxed) {
        let Some(phase) = signal.phase() else {
            before = None;
            prober.wait(Instant::now() + LOOKS, |_| {})?;
            continue;
        };
        if before != Some(phase) {
            info!(?phase, "asking all hops");
        }
        follower.round(phase, before != Some(phase));
        before = Some(phase);
        let each = options.round(usize::from(way.last)) / u32::from(way.last.max(1));
        let mut next = Instant::now();
        for hop in 1..=way.last {
            prober.ask(hop, Some(phase), rounds[phase as usize])?;
            next += each;
            prober.wait(next, |_| {})?;
        }
        rounds[phase as usize] += 1;
    }
    // What cannot be read any more is missed, no more.
    let _ = prober.wait(Instant::now() + LAST, |_| {});
    let loads = [Phase::Down, Phase::Up, Phase::Both];
    let seen: Vec<Phase> = loads
        .into_iter()
        .filter(|load| rounds[*load as usize] > 0)
        .collect();
    let records = prober.book.records;
    Ok(Located {
        verdicts: verdicts(&records, way.far_end, &seen, &options.params, |_| None),
        far_end: way.far_end,
        is_cut: false,
        failed: None,
        counts: prober.book.counts,
        records,
    })
}
