//! A run: discovery, idle, then each load.

use crate::discover::{Way, discover};
use crate::error::LocateError;
use crate::options::{Kind, Load, Options, Stage};
use crate::prober::Prober;
use crate::record::{Counts, Record};
use crate::snapshot::{HopLine, Snapshot};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use unbloat_hop::{Evidence, LayerDelay, Layers, PEER, Params, Phase, Verdict, locate};

/// Between two snapshots.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// For answers that are on their way when all is over.
const LAST: Duration = Duration::from_millis(500);

/// What a run has found.
#[derive(Clone, Debug)]
pub struct Located {
    /// One for each load, in their order.
    pub verdicts: Vec<Verdict>,
    pub far_end: Option<u8>,
    pub records: Vec<Record>,
    pub counts: Counts,
    /// It was stopped: loads that were not measured have no verdict.
    pub is_cut: bool,
}

impl Located {
    /// Judges anew, with what somebody has measured of this host's driver under each load.
    pub fn explain(&mut self, params: &Params, driver: impl Fn(Phase) -> Option<LayerDelay>) {
        let loads: Vec<Phase> = self.verdicts.iter().map(|verdict| verdict.load).collect();
        self.verdicts = verdicts(&self.records, self.far_end, &loads, params, driver);
    }
}

/// Who is told how the run stands.
pub type Watcher<'a> = &'a mut dyn FnMut(&Snapshot);

/// Measures the path to [`Options::target`] and says where its queues stand. Sets no load itself: without
/// [`Options::loads`], `load` is not asked.
pub fn run(
    options: &Options,
    load: &mut dyn Load,
    watcher: Watcher<'_>,
    stop: &AtomicBool,
) -> Result<Located, LocateError> {
    options.check()?;
    let mut prober = Prober::open(options)?;
    let way = discover(&mut prober, options)?;
    if let (Some(at), Kind::Udp) = (way.far_end, options.kind) {
        prober.echo_far_end(at)?;
    }
    let mut run = Run {
        options,
        prober,
        way,
        watcher,
        stop,
        begin: Instant::now(),
        told: None,
        rounds: [0; 4],
    };
    run.measure(Stage::Measure(Phase::Idle), options.idle)?;
    let mut done = Vec::new();
    for &direction in &options.loads {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        run.loaded(direction, load)?;
        if !stop.load(Ordering::Relaxed) {
            done.push(direction);
        }
    }
    Ok(run.finish(done))
}

struct Run<'a> {
    options: &'a Options,
    prober: Prober,
    way: Way,
    watcher: Watcher<'a>,
    stop: &'a AtomicBool,
    begin: Instant,
    told: Option<Instant>,
    /// Of each phase.
    rounds: [u32; 4],
}

/// Ends a load, whatever happens.
struct Loading<'a>(&'a mut dyn Load);

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Run<'_> {
    fn loaded(&mut self, direction: Phase, load: &mut dyn Load) -> Result<(), LocateError> {
        let loading = Loading(load);
        let started = loading.0.start(direction);
        started.map_err(|message| LocateError::Load { direction, message })?;
        self.measure(Stage::Fill(direction), self.options.fill)?;
        self.measure(Stage::Measure(direction), self.options.loaded)?;
        drop(loading);
        self.measure(Stage::Drain, self.options.drain)
    }

    /// Asks all hops in turn, evenly over each round, for so long.
    fn measure(&mut self, stage: Stage, span: Duration) -> Result<(), LocateError> {
        let peer = self.options.peer.map(|_| PEER);
        let hops: Vec<u8> = peer.into_iter().chain(1..=self.way.last).collect();
        let each = self.options.round(hops.len()) / hops.len() as u32;
        let phase = match stage {
            Stage::Measure(phase) => Some(phase),
            _ => None,
        };
        let end = Instant::now() + span;
        let mut next = Instant::now();
        while next < end {
            let round = self.round(phase);
            for &hop in &hops {
                self.prober.ask(hop, phase, round)?;
                next += each;
                self.prober.wait(next, |_| {})?;
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            // Held up for long: what was missed is not made up for by a burst.
            if next + self.options.interval < Instant::now() {
                next = Instant::now();
            }
            self.tell(stage);
        }
        Ok(())
    }

    fn round(&mut self, phase: Option<Phase>) -> u32 {
        let Some(phase) = phase else { return 0 };
        let number = &mut self.rounds[phase as usize];
        *number += 1;
        *number - 1
    }

    fn tell(&mut self, stage: Stage) {
        if self.told.is_some_and(|told| told.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        (self.watcher)(&Snapshot {
            stage,
            elapsed: self.begin.elapsed(),
            length: self.options.length(),
            hops: HopLine::all(&self.prober.book.records),
        });
    }

    fn finish(mut self, done: Vec<Phase>) -> Located {
        // What cannot be read any more is missed, no more.
        let _ = self.prober.wait(Instant::now() + LAST, |_| {});
        let records = self.prober.book.records;
        Located {
            verdicts: verdicts(
                &records,
                self.way.far_end,
                &done,
                &self.options.params,
                |_| None,
            ),
            far_end: self.way.far_end,
            is_cut: done.len() < self.options.loads.len(),
            counts: self.prober.book.counts,
            records,
        }
    }
}

fn verdicts(
    records: &[Record],
    far_end: Option<u8>,
    loads: &[Phase],
    params: &Params,
    driver: impl Fn(Phase) -> Option<LayerDelay>,
) -> Vec<Verdict> {
    let mut evidence = Evidence {
        probes: records.iter().filter_map(Record::probe).collect(),
        far_end,
        layers: Layers::default(),
    };
    let judge = |&load: &Phase| {
        evidence.layers.qdisc = qdisc(records, load);
        evidence.layers.driver = driver(load);
        locate(&evidence, load, params)
    };
    loads.iter().map(judge).collect()
}

/// What probes have waited in this host's queue discipline; None where the kernel gave no stamps.
fn qdisc(records: &[Record], load: Phase) -> Option<LayerDelay> {
    let of = |phase| {
        let counted = records.iter().filter(|record| record.phase == Some(phase));
        let waits = counted.filter(|record| !record.is_of_peer());
        waits.filter_map(Record::in_qdisc).collect::<Vec<_>>()
    };
    let delay = LayerDelay {
        idle: of(Phase::Idle),
        loaded: of(load),
    };
    (!delay.idle.is_empty() && !delay.loaded.is_empty()).then_some(delay)
}
