//! What is kept.

use crate::episode::Episode;
use crate::span::{Filler, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_summary::{Place, VerdictKind};
use unbloat_units::{Delta, Direction, Time, named};

/// A piece of history. Times are nanoseconds since 1970, of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// One direction over a span.
    Delay(Delay),
    /// One network of peers over a span.
    Network(NetworkDelay),
    /// One layer of this host over a span.
    Layer(LayerDelay),
    /// What happened.
    Event(Event),
    /// An active test.
    Probe(Probe),
}

/// One direction over a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delay {
    /// Start of the span, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Time that was watched.
    pub span_ms: u64,
    /// Seen from the clients.
    pub direction: Direction,
    /// bloated, slight, clean, other_delay, not_tested or cannot_tell.
    #[schemars(with = "String")]
    pub verdict: VerdictKind,
    /// Time for which a queue stood.
    pub standing_s: f64,
    /// Time in which traffic loaded the direction.
    pub loaded_s: f64,
    /// Largest delay above the floor that a flow stayed above for 1.5 s; flows with timestamps in both directions.
    pub sustained_ms: Option<f64>,
    /// Median delay while a queue stood.
    pub standing_p50_ms: Option<f64>,
    /// 95th percentile of it.
    pub standing_p95_ms: Option<f64>,
    /// Rate of busy windows.
    pub peak_bps: Option<f64>,
    /// Flows whose delay was measured.
    pub flows: u64,
}

/// One network of peers over a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkDelay {
    /// Start of the span, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Time that was watched.
    pub span_ms: u64,
    /// Seen from the clients.
    pub direction: Direction,
    /// Network of the servers: IPv4 /24, IPv6 /48, or other.
    pub network: String,
    /// Flows whose delay was measured.
    pub flows: u64,
    /// Time with samples, summed over flows.
    pub measured_s: f64,
    /// Time for which the delay stood, summed over flows.
    pub standing_s: f64,
    /// Largest delay above the floor that a flow stayed above for 1.5 s.
    pub sustained_ms: Option<f64>,
}

/// One layer of this host over a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerDelay {
    /// Start of the span, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Time that was watched.
    pub span_ms: u64,
    /// socket, qdisc, driver or below; of socket and below the worst flow.
    pub layer: String,
    /// Mean wait.
    pub mean_ms: f64,
    /// 95th percentile of the worst sample of 10 s; of socket and below the largest mean.
    pub p95_ms: Option<f64>,
    /// False for estimates from kernel statistics.
    pub is_measured: bool,
}

/// An active test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Its start, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Its server.
    pub server: String,
    /// Why there is no result.
    pub error: Option<String>,
    /// Its grade.
    pub grade: Option<String>,
    /// p95 added delay under download load.
    pub added_down_ms: Option<f64>,
    /// p95 added delay under upload load.
    pub added_up_ms: Option<f64>,
    /// Download throughput.
    pub down_bps: Option<f64>,
    /// Upload throughput.
    pub up_bps: Option<f64>,
    /// Bytes that passed the interface meanwhile.
    pub bytes: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// Its begin, in nanoseconds since 1970.
    pub start_ns: i64,
    /// Its end; of an episode that goes on, the end so far.
    pub end_ns: i64,
    /// Of an episode: whether it has ended.
    pub is_over: bool,
    /// Of an episode: direction of the queue, seen from the clients.
    pub direction: Option<Direction>,
    /// Of an episode: time for which the queue stood.
    pub standing_s: Option<f64>,
    /// Of an episode: median delay while the queue stood.
    pub p50_ms: Option<f64>,
    /// Of an episode: largest 95th percentile of the delay over a span.
    pub p95_ms: Option<f64>,
    /// Of an episode: where the queue is, seen from the interface.
    pub place: Option<String>,
    /// Of an episode: who filled the queue, largest part first; empty if that traffic was not captured.
    pub culprits: Vec<Culprit>,
    /// Of an episode: networks whose flows waited.
    pub waiting: Vec<String>,
    /// Of an episode: layer of this host with the longest wait, and its mean wait in ms.
    pub layer: Option<String>,
    /// In words.
    pub text: String,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum EventKind {
        /// A queue stood.
        Episode = "episode",
        /// The monitor started.
        Started = "started",
        /// The monitor stopped.
        Stopped = "stopped",
        /// The interface is gone.
        InterfaceLost = "interface_lost",
        /// The interface is back.
        InterfaceBack = "interface_back",
        /// The wall clock was set.
        ClockStep = "clock_step",
    }
}

/// Who filled a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// Address of the client.
    pub client: String,
    /// Name of the server if it was seen, else its address.
    pub server: String,
    /// Port of the server.
    pub server_port: u64,
    /// Process of this host, if known.
    pub process: Option<String>,
    /// Fraction of the captured bytes that waited.
    pub share: f64,
}

impl Culprit {
    /// Adds a flow's part to the culprits; flows between the same ends are one. The largest stay first.
    pub(crate) fn add(all: &mut Vec<Culprit>, filler: &Filler, weight: f64) {
        let is_same = |known: &&mut Culprit| {
            known.client == filler.client
                && known.server == filler.server
                && known.server_port == filler.server_port
        };
        match all.iter_mut().find(is_same) {
            Some(known) => {
                known.share += weight;
                if known.process.is_none() {
                    known.process.clone_from(&filler.process);
                }
            }
            None => all.push(Culprit {
                client: filler.client.clone(),
                server: filler.server.clone(),
                server_port: filler.server_port,
                process: filler.process.clone(),
                share: weight,
            }),
        }
        all.sort_by(|a, b| b.share.total_cmp(&a.share));
    }

    /// "rsync 10.0.0.2 > backup.example:443", in the direction of the data.
    pub fn arrow(&self, direction: Direction) -> String {
        let server = match self.server.contains(':') {
            true => format!("[{}]:{}", self.server, self.server_port),
            false => format!("{}:{}", self.server, self.server_port),
        };
        let process = self.process.as_ref();
        let process = process.map_or(String::new(), |name| format!("{name} "));
        match direction {
            Direction::Up => format!("{process}{} > {server}", self.client),
            Direction::Down => format!("{process}{server} > {}", self.client),
        }
    }
}

impl Record {
    pub fn start_ns(&self) -> i64 {
        match self {
            Record::Delay(one) => one.start_ns,
            Record::Network(one) => one.start_ns,
            Record::Layer(one) => one.start_ns,
            Record::Event(one) => one.start_ns,
            Record::Probe(one) => one.start_ns,
        }
    }

    /// The records of a span that began at `start_ns` of the wall clock.
    pub fn of_span(span: &Span, start_ns: i64) -> Vec<Record> {
        let span_ms = u64::try_from(span.length.as_us() / 1_000).unwrap_or(0);
        let mut records = Vec::new();
        for (direction, side) in span.directions.entries() {
            records.push(Record::Delay(Delay {
                start_ns,
                span_ms,
                direction,
                verdict: side.verdict,
                standing_s: side.standing.as_secs(),
                loaded_s: side.loaded.as_secs(),
                sustained_ms: side.sustained_ms,
                standing_p50_ms: side.standing_p50_ms,
                standing_p95_ms: side.standing_p95_ms,
                peak_bps: side.peak_bps,
                flows: side.flows,
            }));
        }
        records.extend(span.networks.iter().map(|net| {
            Record::Network(NetworkDelay {
                start_ns,
                span_ms,
                direction: net.direction,
                network: net.network.clone(),
                flows: net.flows,
                measured_s: net.measured.as_secs(),
                standing_s: net.standing.as_secs(),
                sustained_ms: net.sustained_ms,
            })
        }));
        records.extend(span.layers.iter().map(|layer| {
            Record::Layer(LayerDelay {
                start_ns,
                span_ms,
                layer: layer.layer.to_owned(),
                mean_ms: layer.mean_ms,
                p95_ms: layer.p95_ms,
                is_measured: layer.is_measured,
            })
        }));
        records
    }
}

/// Kind of verdict on some records, and its sentence.
pub fn headline<'a>(records: impl IntoIterator<Item = &'a Record>) -> (&'static str, String) {
    let (mut episodes, mut is_watched) = (Vec::new(), false);
    for record in records {
        match record {
            Record::Event(event) if event.kind == EventKind::Episode => episodes.push(event),
            Record::Delay(delay) => is_watched |= delay.span_ms > 0,
            _ => {}
        }
    }
    let p95_ms = |event: &Event| event.p95_ms.unwrap_or(0.0);
    let worst = episodes.iter().map(|event| (p95_ms(event), event));
    let worst = worst.max_by(|(a, _), (b, _)| a.total_cmp(b));
    match (worst, is_watched) {
        (Some((ms, event)), _) => {
            let way = event.direction.map_or("", |way| way.load());
            let count = match episodes.len() {
                1 => "1 episode".to_owned(),
                n => format!("{n} episodes"),
            };
            let text = format!("{count} of bufferbloat; worst p95 added delay {ms:.0} ms ({way})");
            ("bloated", text)
        }
        (None, true) => ("clean", "No episode of bufferbloat".to_owned()),
        (None, false) => ("unknown", "Nothing was monitored yet".to_owned()),
    }
}

impl Event {
    /// Something other than an episode.
    pub fn other(kind: EventKind, at_ns: i64, text: String) -> Event {
        Event {
            kind,
            start_ns: at_ns,
            end_ns: at_ns,
            is_over: true,
            direction: None,
            standing_s: None,
            p50_ms: None,
            p95_ms: None,
            place: None,
            culprits: Vec::new(),
            waiting: Vec::new(),
            layer: None,
            text,
        }
    }

    /// An episode; `label` gives the wall clock's time of a time of the monitor's clock.
    pub fn of_episode(episode: &Episode, is_over: bool, label: impl Fn(Time) -> i64) -> Event {
        let culprits = episode.shares();
        let load = match episode.direction {
            Direction::Down => "download",
            Direction::Up => "upload",
        };
        let who = match culprits.first() {
            Some(first) => format!(
                "{} ({:.0} % of the queued bytes)",
                first.arrow(episode.direction),
                100.0 * first.share
            ),
            None => "traffic that was not captured".to_owned(),
        };
        let lasted = Delta::ns(episode.end.since(episode.start).as_ns());
        let text = format!(
            "p95 added delay {:.0} ms ({load}), median {:.0} ms, for {:.0} s; filled by {who}",
            episode.p95_ms,
            episode.p50_ms,
            lasted.as_secs()
        );
        Event {
            kind: EventKind::Episode,
            start_ns: label(episode.start),
            end_ns: label(episode.end),
            is_over,
            direction: Some(episode.direction),
            standing_s: Some(episode.standing.as_secs()),
            p50_ms: Some(episode.p50_ms),
            p95_ms: Some(episode.p95_ms),
            place: episode.place.map(|place| place_name(place).to_owned()),
            culprits,
            waiting: episode.waiting.clone(),
            layer: episode.layer.map(|(name, ms)| format!("{name} {ms:.1} ms")),
            text,
        }
    }
}

/// As in run.json.
const fn place_name(place: Place) -> &'static str {
    match place {
        Place::BeforeCapture => "before_capture",
        Place::AfterCapture => "after_capture",
        Place::SendingHost => "sending_host",
    }
}
