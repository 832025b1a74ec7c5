//! How long the path is, and who answers on it.

use crate::error::LocateError;
use crate::options::Options;
use crate::prober::Prober;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{debug, info};

/// All hops that have not answered are asked so often, far apart in time, then once more one by one.
const TRIES: u32 = 3;
/// Between probes: no burst that a limiter would cut.
const STEP: Duration = Duration::from_millis(10);
/// For the answers to a try.
const PATIENCE: Duration = Duration::from_millis(600);
/// So many silent hops in a row are asked one by one, then nothing is expected behind them.
const GAP: u8 = 5;

/// What is known of the path before it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The last hop worth asking.
    pub(crate) last: u8,
    pub(crate) far_end: Option<u8>,
}

struct Known {
    has_answered: Vec<bool>,
    far_end: Option<u8>,
}

impl Known {
    fn note(&mut self, hop: u8, is_end: bool) {
        if let Some(has) = self.has_answered.get_mut(usize::from(hop)) {
            *has = true;
        }
        if is_end {
            self.far_end = Some(self.far_end.map_or(hop, |before| before.min(hop)));
        }
    }

    fn end(&self, options: &Options) -> u8 {
        self.far_end.unwrap_or(options.most_hops)
    }

    /// Silent ones up to the end, or a gap behind the last that has answered.
    fn open(&self, options: &Options) -> Vec<u8> {
        let last = self
            .last()
            .map_or(options.most_hops, |last| last.saturating_add(GAP));
        let is_open = |hop: &u8| !self.has_answered[usize::from(*hop)];
        (1..=self.end(options).min(last)).filter(is_open).collect()
    }

    fn last(&self) -> Option<u8> {
        let last = self.has_answered.iter().rposition(|&has| has)?;
        u8::try_from(last).ok()
    }
}

/// None: it was stopped before anything was known.
pub(crate) fn discover(
    prober: &mut Prober,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Option<Way>, LocateError> {
    let mut known = Known {
        has_answered: vec![false; usize::from(options.most_hops) + 1],
        far_end: None,
    };
    for _ in 0..TRIES {
        for hop in known.open(options) {
            if hop > known.end(options) {
                break;
            }
            prober.ask(hop, None, 0)?;
            prober.wait(Instant::now() + STEP, |a| known.note(a.hop, a.is_end))?;
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !known.open(options).is_empty() {
            prober.wait(Instant::now() + STEP, |a| known.note(a.hop, a.is_end))?;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
    }
    one_by_one(prober, options, &mut known)?;
    for hop in (1..=known.end(options)).filter(|hop| known.has_answered[usize::from(*hop)]) {
        debug!(
            hop,
            address = prober.book.addresses.get(&hop).map(display),
            "hop answers"
        );
    }
    let last = known.far_end.or_else(|| known.last());
    let last = last.ok_or(LocateError::NoAnswer {
        target: options.target,
        kind: options.kind,
        other: options.kind.other(),
    })?;
    info!(
        target = %options.target,
        last_hop = last,
        far_end = known.far_end,
        answering = known.has_answered.iter().filter(|has| **has).count(),
        "hops found"
    );
    Ok(Some(Way {
        last,
        far_end: known.far_end,
    }))
}

/// For routers that quote so little that their answer fits any probe.
fn one_by_one(
    prober: &mut Prober,
    options: &Options,
    known: &mut Known,
) -> Result<(), LocateError> {
    let open = known.open(options);
    for hop in open.into_iter().take(GAP.into()) {
        prober.book.alone_from = Some(prober.book.records.len());
        prober.ask(hop, None, 0)?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && !known.has_answered[usize::from(hop)] {
            prober.wait(Instant::now() + STEP, |a| known.note(a.hop, a.is_end))?;
        }
    }
    prober.book.alone_from = None;
    Ok(())
}
