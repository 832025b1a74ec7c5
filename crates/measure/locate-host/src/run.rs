//! A run: discovery, idle, then each load.

use crate::discover::{Way, discover};
use crate::error::LocateError;
use crate::options::{Load, Options, Stage};
use crate::probe::Kind;
use crate::prober::Prober;
use crate::record::{Counts, Record};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{debug, info};
use unbloat_locate::{Evidence, LayerDelay, Layers, PEER, Params, Phase, Verdict, locate};

/// Between two calls of the watcher.
const TELL_EVERY: Duration = Duration::from_millis(250);
/// For answers that are on their way when all is over.
pub(crate) const LAST: Duration = Duration::from_millis(500);

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
    /// Why there is no verdict for a load that failed, nor for those after it.
    pub failed: Option<String>,
}

impl Located {
    /// Judges anew, with what somebody has measured of this host's driver under each load.
    pub fn explain(&mut self, params: &Params, driver: impl Fn(Phase) -> Option<LayerDelay>) {
        let loads: Vec<Phase> = self.verdicts.iter().map(|verdict| verdict.load).collect();
        self.verdicts = verdicts(&self.records, self.far_end, &loads, params, driver);
    }
}

/// Called ten times a second with the stage of the measurement.
pub type Watcher<'a> = &'a mut dyn FnMut(Stage);

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
    watcher(Stage::Discover);
    let way = discover(&mut prober, options, stop)?.ok_or(LocateError::Stopped)?;
    if let (Some(at), Kind::Udp) = (way.far_end, options.kind) {
        prober.echo_far_end(at)?;
    }
    let mut run = Run {
        options,
        prober,
        way,
        watcher,
        stop,
        told: None,
        rounds: [0; 4],
    };
    run.measure(Stage::Measure(Phase::Idle), options.idle)?;
    let mut done = Vec::new();
    let mut failed = None;
    for &direction in &options.loads {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match run.loaded(direction, load) {
            Ok(()) => {}
            Err(_) if stop.load(Ordering::Relaxed) => break,
            // What is known of other loads stays true.
            Err(error @ LocateError::Load { .. }) if !done.is_empty() => {
                info!(%error, "load failed");
                failed = Some(error.to_string());
                break;
            }
            Err(error) => return Err(error),
        }
        if !stop.load(Ordering::Relaxed) {
            done.push(direction);
        }
    }
    Ok(run.finish(done, failed))
}

struct Run<'a> {
    options: &'a Options,
    prober: Prober,
    way: Way,
    watcher: Watcher<'a>,
    stop: &'a AtomicBool,
    told: Option<Instant>,
    /// Of each phase.
    rounds: [u32; 4],
}

/// Ends a load, whatever happens.
struct Loading<'a> {
    load: &'a mut dyn Load,
    is_over: bool,
}

impl Loading<'_> {
    fn stop(mut self) -> Result<(), String> {
        self.is_over = true;
        self.load.stop()
    }
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            // Something else has failed, which is told.
            let _ = self.load.stop();
        }
    }
}

impl Run<'_> {
    fn loaded(&mut self, direction: Phase, load: &mut dyn Load) -> Result<(), LocateError> {
        let loading = Loading {
            load,
            is_over: false,
        };
        let failed = |message| LocateError::Load { direction, message };
        loading.load.start(direction).map_err(failed)?;
        self.measure(Stage::Fill(direction), self.options.fill)?;
        self.measure(Stage::Measure(direction), self.options.loaded)?;
        loading.stop().map_err(failed)?;
        match self.options.loads.last() == Some(&direction) {
            // Nothing is measured any more.
            true => Ok(()),
            false => self.measure(Stage::Drain, self.options.drain),
        }
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
        info!(
            ?stage,
            hops = self.way.last,
            lasts_s = span.as_secs_f64(),
            "stage begins"
        );
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
        (self.watcher)(stage);
    }

    fn finish(mut self, done: Vec<Phase>, failed: Option<String>) -> Located {
        // What cannot be read any more is missed, no more.
        let _ = self.prober.wait(Instant::now() + LAST, |_| {});
        let records = self.prober.book.records;
        let counts = &self.prober.book.counts;
        debug!(?counts, "probes");
        Located {
            verdicts: verdicts(
                &records,
                self.way.far_end,
                &done,
                &self.options.params,
                |_| None,
            ),
            far_end: self.way.far_end,
            is_cut: failed.is_none() && done.len() < self.options.loads.len(),
            failed,
            counts: self.prober.book.counts,
            records,
        }
    }
}

pub(crate) fn verdicts(
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
        let verdict = locate(&evidence, load, params);
        info!(?load, far_end, finding = ?verdict.finding, "verdict");
        verdict
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
