//! What is wanted of a run.

use crate::error::LocateError;
use crate::probe::Kind;
use std::net::IpAddr;
use std::time::Duration;
use unbloat_locate::{Params, Phase};

/// Loads the path, in the direction that it is told: [`Phase::Down`], [`Phase::Up`] or [`Phase::Both`].
pub trait Load {
    /// Begins; returns when data flows.
    fn start(&mut self, direction: Phase) -> Result<(), String>;
    /// Ends what was begun. An error if it had ended before: then what was measured was not under load.
    fn stop(&mut self) -> Result<(), String>;
}

/// What a run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Discover,
    /// Measures.
    Measure(Phase),
    /// Load has begun and fills the queue: what is seen does not count.
    Fill(Phase),
    /// Load has ended and the queue drains.
    Drain,
}

/// Everything has a default but the target.
#[derive(Clone, Debug)]
pub struct Options {
    pub target: IpAddr,
    pub kind: Kind,
    /// Port of UDP and TCP probes.
    pub port: u16,
    /// A second node in the local network to ask beside the path.
    pub peer: Option<IpAddr>,
    /// Between two probes to the same hop.
    pub interval: Duration,
    /// Of all probes to all hops; a longer path is asked less often.
    pub most_per_second: u32,
    pub most_hops: u8,
    /// Directions to load, one after the other.
    pub loads: Vec<Phase>,
    pub idle: Duration,
    pub loaded: Duration,
    pub fill: Duration,
    pub drain: Duration,
    pub params: Params,
}

impl Options {
    pub fn new(target: IpAddr) -> Options {
        Options {
            target,
            kind: Kind::Udp,
            // The first of traceroute: nobody serves there, and everybody who filters knows it.
            port: 33434,
            peer: None,
            interval: Duration::from_millis(100),
            most_per_second: 250,
            most_hops: 30,
            loads: vec![Phase::Down, Phase::Up],
            idle: Duration::from_secs(8),
            loaded: Duration::from_secs(8),
            fill: Duration::from_secs(3),
            drain: Duration::from_secs(2),
            params: Params::default(),
        }
    }

    /// How long all stages after the discovery take.
    pub fn length(&self) -> Duration {
        let count = u32::try_from(self.loads.len()).unwrap_or(u32::MAX);
        let drains = self.drain.saturating_mul(count.saturating_sub(1));
        self.idle + (self.fill + self.loaded).saturating_mul(count) + drains
    }

    /// Refuses what would take forever, flood, or measure nothing.
    pub fn check(&self) -> Result<(), LocateError> {
        const LONGEST: Duration = Duration::from_secs(600);
        let refuse = |what: String, bound| Err(LocateError::Option { what, bound });
        let shortest = Duration::from_millis(500);
        if self.idle < shortest || self.loaded < shortest {
            return refuse(
                format!("measuring for {:?}", self.idle.min(self.loaded)),
                "half a second or more",
            );
        }
        if self.length() > LONGEST {
            return refuse(
                format!("a run of {:?}", self.length()),
                "at most 10 minutes",
            );
        }
        if self.interval < Duration::from_millis(10) || self.interval > Duration::from_secs(10) {
            return refuse(
                format!("an interval of {:?}", self.interval),
                "10 ms to 10 s",
            );
        }
        if !(1..=1000).contains(&self.most_per_second) {
            return refuse(
                format!("{} probes a second", self.most_per_second),
                "1 to 1000",
            );
        }
        if !(1..=64).contains(&self.most_hops) {
            return refuse(format!("{} hops", self.most_hops), "1 to 64");
        }
        Ok(())
    }

    /// Between two rounds over so many hops.
    pub(crate) fn round(&self, hops: usize) -> Duration {
        let hops = u32::try_from(hops).unwrap_or(u32::MAX);
        let bound = Duration::from_secs(1) * hops / self.most_per_second.max(1);
        self.interval.max(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_asked_less_often_so_that_the_whole_rate_holds() {
        let options = Options::new([10, 0, 0, 1].into());
        assert_eq!(options.round(6), Duration::from_millis(100));
        assert_eq!(options.round(50), Duration::from_millis(200));
    }

    #[test]
    fn what_would_flood_or_never_end_is_refused() {
        let good = Options::new([10, 0, 0, 1].into());
        assert!(good.check().is_ok());
        let changes: [fn(&mut Options); 4] = [
            |o| o.interval = Duration::ZERO,
            |o| o.idle = Duration::MAX / 4,
            |o| o.most_per_second = 0,
            |o| o.most_hops = 200,
        ];
        for change in changes {
            let mut options = good.clone();
            change(&mut options);
            assert!(options.check().is_err());
        }
    }
}
