//! The web page's test: from what the page measured to the same verdict that `unbloat test` gives.
//!
//! The page knows round trips of small messages over several WebSockets, and counters of received bytes. A stage's ramp does not count. Nor does a
//! message that its own connection held back: TCP delivers in order, so behind a lost segment a lane's answers wait for its retransmission.
//! That is a wait of one lane and not of the queue; such a message was overtaken by later messages of at least half of the other lanes.

mod bounds;
mod doubts;
mod stage;

use crate::fields::ms_or_null;
use crate::load::LoadedDirection;
use crate::uses::Use;
use crate::verdict::{Verdict, verdict};
use serde::{Deserialize, Serialize};
pub use stage::StageNumbers;
use unbloat_units::{Delta, Direction};

/// What the page measured. Times are of the page, in milliseconds since its run began. Longer lists than a page has are refused: each is
/// gone through once for each stage.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PageRun {
    #[serde(deserialize_with = "bounds::stages")]
    pub stages: Vec<PageStage>,
    /// `[lane, sent_ms, rtt_ms]` of each message that came back.
    #[serde(deserialize_with = "bounds::samples")]
    pub samples: Vec<(u16, f64, f64)>,
    /// `sent_ms` of those that did not.
    #[serde(deserialize_with = "bounds::readings")]
    pub unanswered: Vec<f64>,
    /// Counters of received bytes: `[at_ms, bytes]`, ascending.
    #[serde(deserialize_with = "bounds::readings")]
    pub down: Vec<(f64, f64)>,
    #[serde(deserialize_with = "bounds::readings")]
    pub up: Vec<(f64, f64)>,
    /// `[at_ms, rtt_ms]` of the load's connections, as the server's kernel measures them: this device's kernel answers those, not the browser.
    #[serde(default, deserialize_with = "bounds::readings")]
    pub round_trips: Vec<(f64, f64)>,
    pub watched: Watched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageLoad {
    Idle,
    Down,
    Up,
    Both,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct PageStage {
    pub name: PageLoad,
    pub start_ms: f64,
    pub end_ms: f64,
}

/// What the page saw of itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Watched {
    /// In the background.
    pub hidden_ms: f64,
    /// Of the timer that sends messages.
    pub late_p95_ms: f64,
    #[serde(deserialize_with = "bounds::failures")]
    pub failures: Vec<String>,
    pub lanes: u32,
    pub lanes_lost: u32,
    /// Between messages.
    pub interval_ms: f64,
    pub network_changed: bool,
    /// Load connections of each direction.
    pub connections: u32,
    /// Of the server's sockets, by the server.
    pub congestion_control: Option<String>,
    pub limit_bps: Option<f64>,
}

/// What the page shows.
#[derive(Clone, Debug, Serialize)]
pub struct PageVerdict {
    pub verdict: Verdict,
    /// What it means for calls, games, video and web pages.
    pub uses: Vec<Use>,
    pub summary: Summary,
    /// How the path was loaded, and what a browser cannot do.
    pub limits: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Median idle round trip.
    #[serde(rename = "base_ms", with = "ms_or_null")]
    pub base: Option<Delta>,
    pub stages: Vec<StageNumbers>,
}

/// Judges a run of the page.
pub fn judge_page(run: &PageRun) -> PageVerdict {
    let (base, stages) = stage::all(run);
    let directions = Direction::BOTH.into_iter().filter_map(|direction| {
        let name = match direction {
            Direction::Down => PageLoad::Down,
            Direction::Up => PageLoad::Up,
        };
        let stage = stages.iter().find(|stage| stage.name == name)?;
        let delivered = stage.rates()[direction]?;
        Some(LoadedDirection {
            direction,
            delivered,
            line: stage.line(direction)?,
            is_steady: stage.is_steady(),
            added: stage.mean()?,
            added_p95: stage.p95()?,
            idle_rtt: base?.rtt,
            unsent: None,
            is_starved: false,
            located: None,
        })
    });
    let verdict = verdict(directions.collect(), doubts::doubts(run, base, &stages));
    PageVerdict {
        uses: verdict.uses(),
        verdict,
        limits: limits(&run.watched),
        summary: Summary {
            base: base.map(|base| base.rtt),
            stages,
        },
    }
}

fn limits(watched: &Watched) -> Vec<String> {
    let control = watched
        .congestion_control
        .as_deref()
        .unwrap_or("an unknown");
    vec![
        format!(
            "Load: {} connections each way. The server sends with {control} congestion control; uploads use this device's own, which a page can neither see nor set.",
            watched.connections
        ),
        "A browser cannot measure one-way delay: the direction follows from which load raises the round-trip time.".to_owned(),
        "A browser cannot limit unsent data in its send buffer, see packets, or find the hop of the queue. `unbloat test` can.".to_owned(),
    ]
}

#[cfg(test)]
mod tests;
