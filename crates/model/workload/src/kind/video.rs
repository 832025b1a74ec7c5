//! Adaptive video: segments of a quality ladder fetched one after the other into a bounded buffer, played in real time.
//!
//! The rate is chosen for each segment by the throughput of the last three (harmonic mean, with a safety factor), which
//! is how simple players do it; playing starts, and starts again after a stall, once `start_after` is buffered.

use super::bulk::REQUEST;
use crate::metrics::Metric;
use crate::workload::{Conn, Happening, Network, Workload};
use serde::Deserialize;
use unbloat_params::defaults;
use unbloat_units::{Delta, Rate, Time};

defaults! {
    /// 240p to 1080p in steps that common services use; our choice.
    #[derive(Clone, Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Params {
        /// Rates of the qualities, lowest first.
        pub ladder: Vec<Rate> = [400, 750, 1_500, 3_000, 4_500, 6_000].map(Rate::kbps).to_vec();
        pub segment: Delta = Delta::secs(4);
        /// No further segment is asked for while this much is buffered.
        pub buffer: Delta = Delta::secs(30);
        pub start_after: Delta = Delta::secs(4);
        /// Share of the measured throughput that a rate may take.
        pub safety: f64 = 0.8;
    }
}

#[derive(Debug)]
pub struct State {
    params: Params,
    start: Time,
    asked: Time,
    quality: usize,
    /// Rates at which the last segments came, newest last, at most three.
    throughput: Vec<Rate>,
    player: Player,
    played_quality: Vec<(Time, usize)>,
}

/// What is buffered, advanced from event to event.
#[derive(Debug, Default)]
struct Player {
    at: Time,
    buffered: Delta,
    is_playing: bool,
    first_frame: Option<Time>,
    /// Begin and end of each stall.
    stalls: Vec<(Time, Option<Time>)>,
}

impl Player {
    /// Plays up to `now`; stalls when the buffer runs dry on the way.
    fn advance(&mut self, now: Time) {
        if self.is_playing {
            let spent = now.since(self.at);
            if spent > self.buffered {
                self.is_playing = false;
                self.stalls.push((self.at + self.buffered, None));
                self.buffered = Delta::ZERO;
            } else {
                self.buffered -= spent;
            }
        }
        self.at = now;
    }

    fn add(&mut self, now: Time, span: Delta, start_after: Delta) {
        self.advance(now);
        self.buffered += span;
        if !self.is_playing && self.buffered >= start_after {
            self.is_playing = true;
            self.first_frame.get_or_insert(now);
            if let Some((_, end)) = self.stalls.last_mut() {
                end.get_or_insert(now);
            }
        }
    }
}

impl State {
    pub fn new(params: Params) -> State {
        let zero = Time::from_ns(0);
        State {
            params,
            start: zero,
            asked: zero,
            quality: 0,
            throughput: Vec::new(),
            player: Player::default(),
            played_quality: Vec::new(),
        }
    }

    fn ask(&mut self, now: Time, network: &mut dyn Network) {
        let Some(&rate) = self.params.ladder.get(self.quality) else {
            return;
        };
        self.asked = now;
        network.exchange(Conn(0), REQUEST, rate * self.params.segment);
    }

    fn choose(&mut self, now: Time) {
        let size = self.params.ladder[self.quality] * self.params.segment;
        self.throughput.extend(size.over(now.since(self.asked)));
        let excess = self.throughput.len().saturating_sub(3);
        self.throughput.drain(..excess);
        let inverse: f64 = self
            .throughput
            .iter()
            .map(|rate| 1.0 / rate.as_bps_f64().max(1.0))
            .sum();
        let allowed = self.params.safety * self.throughput.len() as f64 / inverse;
        let fitting = self
            .params
            .ladder
            .iter()
            .filter(|rate| rate.as_bps_f64() <= allowed)
            .count();
        self.quality = fitting.saturating_sub(1);
    }
}

impl Workload for State {
    fn start(&mut self, now: Time, network: &mut dyn Network) {
        (self.start, self.player.at) = (now, now);
        self.ask(now, network);
    }

    fn on_happening(&mut self, now: Time, happening: Happening, network: &mut dyn Network) {
        match happening {
            Happening::Woke { .. } => self.ask(now, network),
            Happening::Done { .. } => {
                self.played_quality.push((now, self.quality));
                self.player
                    .add(now, self.params.segment, self.params.start_after);
                self.choose(now);
                let room_in = self.player.buffered - self.params.buffer;
                if room_in > Delta::ZERO {
                    network.wake(now + room_in, 0);
                } else {
                    self.ask(now, network);
                }
            }
            _ => {}
        }
    }

    /// `startup_ms`, `stalls`, `stalled_ms`, `bitrate_mean_bps`, `quality_changes`. Start-up counts whenever it was.
    fn metrics(&self, from: Time, now: Time) -> Vec<Metric> {
        let mut player = Player {
            stalls: self.player.stalls.clone(),
            ..self.player
        };
        player.advance(now);
        let within: Vec<_> = player
            .stalls
            .iter()
            .filter(|(_, end)| end.is_none_or(|end| end > from))
            .collect();
        let stalled: f64 = within
            .iter()
            .map(|(begin, end)| end.unwrap_or(now).since((*begin).max(from)).as_ms())
            .sum();
        let fetched: Vec<_> = self
            .played_quality
            .iter()
            .filter(|(at, _)| *at >= from)
            .map(|(_, quality)| *quality)
            .collect();
        let changes = fetched.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let bps: f64 = fetched
            .iter()
            .map(|quality| self.params.ladder[*quality].as_bps_f64())
            .sum();
        let mut metrics = vec![
            Metric::new("stalls", within.len() as f64),
            Metric::new("stalled_ms", stalled),
            Metric::new("quality_changes", changes as f64),
        ];
        metrics.extend(
            self.player
                .first_frame
                .map(|at| Metric::new("startup_ms", at.since(self.start).as_ms())),
        );
        if !fetched.is_empty() {
            metrics.push(Metric::new("bitrate_mean_bps", bps / fetched.len() as f64));
        }
        metrics
    }
}
