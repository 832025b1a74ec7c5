//! From reports to the rate of the class, a hundred times a second.

use crate::error::UplinkError;
use crate::news::News;
use crate::report::ReportError;
use crate::shaper::{OPEN, Shaper};
use crate::source::Source;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tracing::{debug, info, trace};
use unbloat_units::{Bytes, Delta, Rate, Time};
use unbloat_uplink::{Params, Valve};

/// Of the network namespace of the calling thread.
const COUNTERS: &str = "/proc/thread-self/net/dev";
/// How often the rate is set.
const EVERY: Duration = Duration::from_millis(10);
/// Within which the modem is to come to its limit.
const OVER: Delta = Delta::ms(30);
/// A source that has been silent for so long knows nothing: the class is opened.
const SILENT: Duration = Duration::from_secs(1);
/// Most news that are taken in between two looks at the clock.
const AT_ONCE: usize = 1_024;
/// How often the state is told.
const TELL: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct Options {
    pub device: String,
    pub source: Source,
    pub valve: Params,
}

/// How it stands, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    pub device: String,
    pub source: &'static str,
    pub queue: &'static str,
    /// What the class lets pass.
    pub rate_bps: u64,
    /// How fast the modem drains.
    pub drain_bps: Option<u64>,
    /// What it is thought to hold, and may hold.
    pub held_bytes: u64,
    pub limit_bytes: u64,
    /// Since the start.
    pub reports: u64,
    pub refused: u64,
    /// No news for a second: everything passes.
    pub is_open: bool,
    /// What the last line that was refused lacked, or why the source ended.
    pub fault: Option<String>,
}

/// Uplink control of a device.
pub struct Control {
    device: String,
    source: Source,
    shaper: Shaper,
    hear: Receiver<News>,
    valve: Valve,
    begun: Instant,
    sent: u64,
    heard: Option<Instant>,
    reports: u64,
    refused: u64,
    fault: Option<String>,
}

impl Control {
    pub fn open(options: &Options) -> Result<Control, UplinkError> {
        let begun = Instant::now();
        let hear = options.source.listen(&options.device, begun)?;
        let shaper = Shaper::open(&options.device)?;
        info!(
            device = options.device,
            source = options.source.name(),
            queue = shaper.queue(),
            "controlling the uplink"
        );
        Ok(Control {
            device: options.device.clone(),
            source: options.source.clone(),
            sent: sent_bytes(&options.device)?,
            shaper,
            hear,
            valve: Valve::new(options.valve, Time::from_ns(0)),
            begun,
            heard: None,
            reports: 0,
            refused: 0,
            fault: None,
        })
    }

    /// Controls until `stop`, and then puts back what was there. Tells how it stands each second.
    pub fn run(
        mut self,
        stop: &AtomicBool,
        mut tell: impl FnMut(&State),
    ) -> Result<(), UplinkError> {
        let mut due = Instant::now();
        let mut told = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            due += EVERY;
            self.listen(due)?;
            self.set()?;
            if told.elapsed() >= TELL {
                told += TELL;
                let state = self.state();
                debug!(?state, "state");
                tell(&state);
            }
            // A process that was stopped does not make up for it.
            due = due.max(Instant::now() - EVERY);
        }
        info!(device = self.device, "putting back the queues");
        self.shaper.remove()
    }

    fn now(&self) -> Time {
        Time::from_ns(self.begun.elapsed().as_nanos() as i64)
    }

    /// Takes in all news until `due`.
    fn listen(&mut self, due: Instant) -> Result<(), UplinkError> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            match self.hear.recv_timeout(left) {
                Ok(news) => self.take_all(news)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(left);
                    return Ok(());
                }
            }
        }
    }

    /// Takes in news, and all that waited behind it.
    fn take_all(&mut self, first: News) -> Result<(), UplinkError> {
        let waiting = self.hear.try_iter().take(AT_ONCE);
        let mut all: Vec<News> = std::iter::once(first).chain(waiting).collect();
        if !self.source.counts() {
            self.reports += drop_old(&mut all);
        }
        all.into_iter().try_for_each(|news| self.take(news))
    }

    fn take(&mut self, news: News) -> Result<(), UplinkError> {
        match news {
            News::Occupancy(occupancy) => {
                self.count()?;
                self.valve.learn(self.now(), occupancy);
                self.reports += 1;
                self.heard = Some(Instant::now());
                self.fault = None;
            }
            News::Left(bytes) => self.valve.released(self.now(), bytes),
            News::Refused(fault) => self.refuse(&fault),
            News::Ended(error) => {
                info!(%error, "the source ended");
                self.fault = Some(error.to_string());
            }
        }
        Ok(())
    }

    fn refuse(&mut self, fault: &ReportError) {
        trace!(%fault, "report refused");
        self.refused += 1;
        self.fault = Some(fault.to_string());
    }

    /// Tells the valve what has left since it was last told.
    fn count(&mut self) -> Result<(), UplinkError> {
        if self.source.counts() {
            return Ok(());
        }
        let sent = sent_bytes(&self.device)?;
        // A counter that begins anew.
        let bytes = Bytes::new(sent.saturating_sub(self.sent));
        if bytes > Bytes::ZERO {
            self.valve.released(self.now(), bytes);
        }
        self.sent = sent;
        Ok(())
    }

    fn set(&mut self) -> Result<(), UplinkError> {
        self.count()?;
        let rate = match self.is_open() {
            true => OPEN,
            false => self.valve.pace(self.now(), OVER),
        };
        // The kernel's work is saved where a change would not be seen.
        let (new, old) = (rate.as_bps_f64(), self.shaper.rate().as_bps_f64());
        if (new - old).abs() > 0.02 * old {
            trace!(
                rate_bps = rate.as_bps(),
                before_bps = self.shaper.rate().as_bps(),
                "rate"
            );
            self.shaper.set(rate)?;
        }
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.heard.is_none_or(|heard| heard.elapsed() > SILENT)
    }

    fn state(&self) -> State {
        let now = self.now();
        State {
            device: self.device.clone(),
            source: self.source.name(),
            queue: self.shaper.queue(),
            rate_bps: self.shaper.rate().as_bps(),
            drain_bps: self.valve.rate().map(Rate::as_bps),
            held_bytes: self.valve.held(now).as_u64(),
            limit_bytes: self.valve.limit().as_u64(),
            reports: self.reports,
            refused: self.refused,
            is_open: self.is_open(),
            fault: self.fault.clone(),
        }
    }
}

/// Leaves only the last report, and tells how many there were before: while this process waits for a processor, for seconds on a busy machine, they
/// wait for it, and an old one taken for new makes a modem out that drains many times as fast.
fn drop_old(all: &mut Vec<News>) -> u64 {
    let is_report = |news: &News| matches!(news, News::Occupancy(_));
    let mut left = all.iter().filter(|news| is_report(news)).count();
    let before = all.len();
    all.retain(|news| {
        left -= usize::from(is_report(news));
        left == 0 || !is_report(news)
    });
    (before - all.len()) as u64
}

/// What a device has sent. `/sys` would tell of the namespace in which it was mounted.
fn sent_bytes(device: &str) -> Result<u64, UplinkError> {
    let table = fs::read_to_string(COUNTERS).map_err(|source| UplinkError::File {
        path: PathBuf::from(COUNTERS),
        source,
    })?;
    sent_of(&table, device).ok_or_else(|| UplinkError::NoDevice {
        device: device.to_owned(),
    })
}

/// The ninth number behind the name and its colon.
fn sent_of(table: &str, device: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| {
        let (name, counters) = line.rsplit_once(':')?;
        (name.trim() == device).then_some(counters)
    })?;
    line.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_uplink::Occupancy;

    #[test]
    fn of_reports_that_waited_the_last_is_taken() {
        let report = |bytes| News::Occupancy(Occupancy::Bytes(Bytes::new(bytes)));
        let refused = || News::Refused(ReportError::TooLong);
        let mut all = vec![report(1), refused(), report(2), report(3), refused()];
        assert_eq!(drop_old(&mut all), 2);
        assert!(matches!(
            all[..],
            [
                News::Refused(_),
                News::Occupancy(Occupancy::Bytes(bytes)),
                News::Refused(_)
            ] if bytes == Bytes::new(3)
        ));
        let mut one = vec![report(4)];
        assert_eq!((drop_old(&mut one), one.len()), (0, 1));
        assert_eq!(drop_old(&mut vec![refused()]), 0);
    }

    #[test]
    fn the_counter_of_a_device_is_found_by_its_whole_name() {
        let table = "Inter-|   Receive\n face |bytes\n eth0: 1 2 3 4 5 6 7 8 99 10 11 12 13 14 15 16\n\
            th0:5 0 0 0 0 0 0 0 42 1 0 0 0 0 0 0\n";
        assert_eq!(sent_of(table, "th0"), Some(42));
        assert_eq!(sent_of(table, "eth0"), Some(99));
        assert_eq!(sent_of(table, "eth"), None);
    }
}
