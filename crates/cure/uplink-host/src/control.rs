//! From reports to the rate of the class, a hundred times a second.

use crate::error::UplinkError;
use crate::news::News;
use crate::shaper::{OPEN, Shaper, index};
use crate::tap;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use tracing::{debug, info, trace};
use unbloat_units::{Delta, Rate, Time};
use unbloat_uplink::{Params, Valve};

/// How often the rate is set.
const EVERY: Duration = Duration::from_millis(10);
/// Within which the modem is to come to its limit.
const OVER: Delta = Delta::ms(30);
/// After so long without news nothing is known: the class is opened.
const SILENT: Duration = Duration::from_secs(1);
/// News that wait; they are taken in one after the other.
const WAITING: usize = 1_024;
/// How often the state is told.
const TELL: Duration = Duration::from_secs(1);

/// How it stands, for people and programs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct State {
    pub device: String,
    pub queue: &'static str,
    /// What the class lets pass.
    pub rate_bps: u64,
    /// How fast the modem drains.
    pub drain_bps: Option<u64>,
    /// What it is thought to hold, and may hold.
    pub held_bytes: u64,
    pub limit_bytes: u64,
    /// Answers of far ends that told what the modem has drained, since the start.
    pub reports: u64,
    /// No report for a second: everything passes.
    pub is_open: bool,
}

/// Uplink control of a device.
pub struct Control {
    device: String,
    shaper: Shaper,
    hear: Receiver<News>,
    valve: Valve,
    begun: Instant,
    heard: Option<Instant>,
    reports: u64,
}

impl Control {
    pub fn open(device: &str, valve: Params) -> Result<Control, UplinkError> {
        let begun = Instant::now();
        let (tell, hear) = sync_channel(WAITING);
        tap::listen(device, begun, tell)?;
        let shaper = Shaper::open(device)?;
        info!(device, queue = shaper.queue(), "controlling the uplink");
        Ok(Control {
            device: device.to_owned(),
            shaper,
            hear,
            valve: Valve::new(valve, Time::from_ns(0)),
            begun,
            heard: None,
            reports: 0,
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
                // A device may have gone, or have another name, and nobody says so.
                index(&self.device)?;
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
                Ok(News::Occupancy(occupancy)) => {
                    self.valve.learn(self.now(), occupancy);
                    self.reports += 1;
                    self.heard = Some(Instant::now());
                }
                Ok(News::Left(bytes)) => self.valve.released(self.now(), bytes),
                Ok(News::Ended(source)) => {
                    index(&self.device)?;
                    return Err(tap::failed(&self.device, source));
                }
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(left);
                    return Ok(());
                }
            }
        }
    }

    fn set(&mut self) -> Result<(), UplinkError> {
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
            queue: self.shaper.queue(),
            rate_bps: self.shaper.rate().as_bps(),
            drain_bps: self.valve.rate().map(Rate::as_bps),
            held_bytes: self.valve.held(now).as_u64(),
            limit_bytes: self.valve.limit().as_u64(),
            reports: self.reports,
            is_open: self.is_open(),
        }
    }
}
