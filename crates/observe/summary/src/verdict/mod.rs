//! The verdict: does a queue stand, in which direction, where, who fills it, who waits, and how sure
//! that is.
//!
//! # The rule
//! 1. *Evidence* is table `standing`: round trips between the capture point and either host, by the capture's own clock, above
//!    the least of them, less all that the answering host may have waited, that stayed in runs of at least a second. Variation alone is none:
//!    delayed acknowledgments, think time, wake-ups and jitter leave low samples or bound nothing.
//! 2. *Place* is the leg whose round trips are late: before or after the capture point.
//! 3. *Direction*. The clock of the host that answers divides the leg's delay between the way out and the way back, where it fits the round
//!    trips; it adds nothing to them. Else the direction is that of the traffic that the delay is explained by, if one direction's is and
//!    the other's is not.
//! 4. *Words*, by the median of the delay while it stood at half of `bloat_threshold` (60 ms) or more: from the threshold *bloated*, below it
//!    *slight*; where nothing stood *clean* if the direction was loaded, and *not tested* if it was not. 60 ms is where DSLReports'
//!    grade C begins.
//! 5. *Explained*: the client's captured traffic in that direction went at a steady pace or kept its bytes
//!    in flight with the delay, and made up more than a few packets of queue (rate x delay). Then its flows
//!    fill the queue, each by its share of the rate. Else the queue is filled by traffic that was not
//!    captured; that needs more evidence: a delay that stays is a queue's only if it was seen to grow, because a longer route adds all
//!    of its delay at once.
//! 6. *Clean* needs load: two seconds of busy windows in a direction whose whole path was seen, with more on
//!    the way than a first window, of a flow that neither its receive window nor its application limited.
//! 7. *Other delays* are distinguished from queues by `unbloat-trace` for each leg: see table `standing`. They are
//!    the answer where nothing else is, and never where a queue stands.
//! 8. *Left out* is the delay of a flow that no captured traffic explains and that another flow between the same hosts did not have meanwhile.
//! 9. *Cannot tell* comes with the reason: what this capture point, or this capture, does not show.
//! 10. *How much* is the median of the flow that saw most of it. Where its host may have held back a tenth of that or more before it
//!     answered, a flow between the same hosts that was answered sooner tells, above the same floor. What the full link takes to send a
//!     full packet is taken off: the packet's round trip contains it, the floor does not.
//! 11. *Confidence* is the probability that the sentence is right, set by the benchmark in `docs/verdicts.md`.
//!
//! # References
//! Nichols and Jacobson 2012 and RFC 8289 for what a standing queue is; Sundaresan and others, "TCP Congestion
//! Signatures" (IMC 2017), for telling one's own queue from others'; DSLReports' grades of added delay.
//!
//! Lists are cut at a fixed length.

mod claim;
mod confidence;
mod direction;
mod judge;
mod leaders;
mod row;
mod sentences;
use unbloat_units::{Both, Direction};

#[cfg(test)]
mod tests;

pub(crate) use judge::Judge;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What was found, of a direction or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// A queue stands, long enough to be felt.
    Bloated,
    /// A queue stands that calls and games may feel, or a longer one stood for a moment of a long load.
    Slight,
    /// Under load no queue stands.
    Clean,
    /// There was delay, and something other than a queue made it.
    OtherDelay,
    /// Nothing loaded the path enough to fill a queue.
    NotTested,
    CannotTell,
}

/// How sure a sentence is, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

/// Why nothing can be said, or why nothing was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No transfer that fills a path.
    NotLoaded,
    /// The receive window held the transfer back.
    ReceiveWindow,
    /// The application held the transfer back.
    Application,
    /// The receiving end, and no timestamps: the queue is behind the capture point's back.
    Vantage,
    /// Only one direction was captured, and no timestamps.
    OneSided,
    /// Too few delays that bound the hosts' own wait.
    Samples,
    /// The capture began and ended within the load: what stood all the time looks like the floor.
    Floor,
    /// Less than two seconds of load.
    Short,
    /// The delay stands, and no captured traffic explains it.
    Unexplained,
    /// The load is UDP, whose delays are not seen.
    Udp,
    /// Most of the capture could not be read.
    Unreadable,
}

/// Where the queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Between the sending host and the capture point.
    BeforeCapture,
    /// Between the capture point and the receiving host.
    AfterCapture,
    /// In the sending host or its neighbour, on which the capture was made: packets are captured after they have waited there.
    SendingHost,
}

/// What delayed packets, if no queue did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherKind {
    /// The server had to make its answer first.
    ThinkTime,
    /// A radio or a host slept, and what came after silence waited for it.
    WakeUp,
    /// The radio listens at beacons only (IEEE 802.11 power save).
    PowerSave,
    /// Hosts held acknowledgments back (RFC 1122 §4.2.3.2).
    DelayedAck,
    /// Nothing passed for a while, and then all at once: an outage, a handover, a repeat of the link.
    Hold,
    /// Each packet was delayed by itself, some more and some less: contention, grants, repeats of the link.
    Jitter,
    /// The path became longer or shorter, and stayed so.
    RouteChange,
    /// A flow filled a queue that only its own packets wait in, as with fair queueing.
    OwnQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherDelay {
    pub kind: OtherKind,
    /// Median; of holds the longest, of a route's change the largest step.
    pub ms: f64,
}

/// A flow that keeps bytes in the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filler {
    pub flow_id: u64,
    pub client: String,
    pub client_port: u64,
    /// Name if one was seen, else address.
    pub server: String,
    pub server_port: u64,
    /// Of the captured bytes that waited.
    pub share: f64,
}

/// A flow whose packets waited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingFlow {
    pub flow_id: u64,
    pub client: String,
    pub server: String,
    pub server_port: u64,
    pub standing_p50_ms: f64,
    pub standing_p95_ms: f64,
    pub standing_s: f64,
}

/// The verdict on one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionVerdict {
    pub direction: Direction,
    pub kind: VerdictKind,
    pub reason: Option<Reason>,
    /// Probability that `kind` is right.
    pub confidence: Option<f64>,
    /// Median and 95th percentile over windows of the least added delay in each, where a queue stands.
    pub standing_p50_ms: Option<f64>,
    pub standing_p95_ms: Option<f64>,
    /// The capture has the begin of the flow that tells, and with it the delay of the empty path, unless the queue stood before.
    pub floor_seen: bool,
    /// How long it stood, and in how much of the load's time windows were measured.
    pub standing_s: f64,
    pub loaded_s: f64,
    /// Standing delay over the smallest round trip.
    pub queue_bdp: Option<f64>,
    /// What the client's flows carried meanwhile.
    pub rate_bps: Option<f64>,
    pub from_ns: Option<i64>,
    pub until_ns: Option<i64>,
    pub place: Option<Place>,
    pub fillers: Vec<Filler>,
    /// A queue stands, and no captured flow fills it; with `fillers`, unless their acknowledgments do.
    pub filled_by_unseen: bool,
    /// Flows whose delay was left out, because others between the same hosts did not have it meanwhile.
    pub flows_left_out: u64,
    pub waiting_flows: u64,
    pub waiting_clients: u64,
    /// The worst, worst first.
    pub waiting: Vec<WaitingFlow>,
    /// Also beside `clean`, and where no queue can be told; not beside a queue.
    pub other_delays: Vec<OtherDelay>,
}

/// What a capture says of queues; see the module's rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The worst of both directions.
    pub kind: VerdictKind,
    /// The answer in one sentence.
    pub sentence: String,
    pub confidence: Option<f64>,
    pub confidence_word: Option<Confidence>,
    pub threshold_ms: f64,
    pub directions: Both<DirectionVerdict>,
    /// What to keep in mind; whole sentences.
    pub caveats: Vec<String>,
}

impl Verdict {
    /// The verdict of a capture's run; none of a run that concludes nothing or is of another kind, as a test is.
    ///
    /// # Errors
    /// A capture's verdict that this version does not know.
    pub fn of_run(stored: &Value) -> Result<Option<Verdict>, serde_json::Error> {
        match stored.get("threshold_ms") {
            Some(_) => Verdict::deserialize(stored).map(Some),
            None => Ok(None),
        }
    }

    /// Both directions, the one that decides first.
    pub fn by_weight(&self) -> [&DirectionVerdict; 2] {
        let Both { down, up } = &self.directions;
        // Of two queues the deeper one, and of two that say as much, the one that was loaded for longer.
        let weight = |of: &DirectionVerdict| {
            let depth_ms = of.standing_p50_ms.unwrap_or(0.0);
            (of.kind.weight(), depth_ms, of.loaded_s)
        };
        match weight(up) > weight(down) {
            true => [up, down],
            false => [down, up],
        }
    }

    /// All flows that the verdict names.
    pub fn named_flows(&self) -> impl Iterator<Item = u64> {
        self.by_weight().into_iter().flat_map(|d| {
            let fillers = d.fillers.iter().map(|f| f.flow_id);
            fillers.chain(d.waiting.iter().map(|f| f.flow_id))
        })
    }
}

impl VerdictKind {
    /// Which of two directions decides.
    fn weight(self) -> u8 {
        match self {
            VerdictKind::Bloated => 5,
            VerdictKind::Slight => 4,
            VerdictKind::Clean => 3,
            VerdictKind::CannotTell => 2,
            VerdictKind::OtherDelay => 1,
            VerdictKind::NotTested => 0,
        }
    }
}
