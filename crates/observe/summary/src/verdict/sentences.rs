//! The verdict in plain words.

use super::{
    Confidence, DirectionVerdict, Filler, OtherDelay, OtherKind, Place, Reason, Verdict,
    VerdictKind,
};
use unbloat_units::{Both, Delta, Direction, Rate};

/// So many flows are named in a sentence; the rest is in the list.
const NAMED: usize = 3;

impl Verdict {
    pub(super) fn of(directions: Both<DirectionVerdict>, threshold: Delta) -> Verdict {
        let mut verdict = Verdict {
            kind: VerdictKind::NotTested,
            sentence: String::new(),
            confidence: None,
            confidence_word: None,
            threshold_ms: threshold.as_ms(),
            directions,
            caveats: Vec::new(),
        };
        let main = verdict.by_weight()[0].clone();
        verdict.kind = main.kind;
        verdict.sentence = main.sentence();
        verdict.confidence = main.confidence;
        verdict.confidence_word = main.confidence.map(Confidence::of);
        verdict
    }

    /// Most of the capture could not be read, so that what could says nothing.
    pub(super) fn unread(&mut self, sentence: &str) {
        self.kind = VerdictKind::CannotTell;
        self.sentence = format!("Cannot tell: {sentence}");
        (self.confidence, self.confidence_word) = (None, None);
        for direction in [&mut self.directions.down, &mut self.directions.up] {
            direction.kind = VerdictKind::CannotTell;
            direction.reason = Some(Reason::Unreadable);
            direction.confidence = None;
        }
    }

    /// What was found, in pairs of a label and a sentence: each direction, then how sure.
    pub fn details(&self) -> Vec<(&'static str, String)> {
        let mut details = Vec::new();
        for direction in self.by_weight() {
            details.extend(direction.details());
        }
        if let (Some(confidence), Some(word)) = (self.confidence, self.confidence_word) {
            let percent = 100.0 * confidence;
            details.push(("Confidence", format!("{} ({percent:.0} %).", word.name())));
        }
        details.extend(self.caveats.iter().map(|caveat| ("Note", caveat.clone())));
        details
    }
}

impl Confidence {
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// What a user does in this direction.
fn activity(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "downloading",
        Direction::Up => "uploading",
    }
}

fn label(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "Download",
        Direction::Up => "Upload",
    }
}

fn packets(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "packets towards the client",
        Direction::Up => "packets from the client",
    }
}

fn sender(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "server",
        Direction::Up => "client",
    }
}

fn receiver(direction: Direction) -> &'static str {
    sender(direction.reverse())
}

impl DirectionVerdict {
    /// The answer for this direction in one sentence.
    pub fn sentence(&self) -> String {
        let activity = activity(self.direction);
        match self.kind {
            VerdictKind::Bloated => format!("Bufferbloat when {activity}: {}.", self.wait()),
            VerdictKind::Slight => {
                format!("Slight bufferbloat when {activity}: {}.", self.wait())
            }
            VerdictKind::Clean => format!(
                "No bufferbloat when {activity}: no standing queue during {} s of load.",
                digits(self.loaded_s)
            ),
            VerdictKind::OtherDelay => {
                let is_own = |other: &OtherDelay| other.kind == OtherKind::OwnQueue;
                let queue = match self.other_delays.iter().any(is_own) {
                    true => "no shared queue",
                    false => "no queue",
                };
                format!("Delay, but {queue}: {}.", self.others())
            }
            VerdictKind::NotTested => format!("Not tested: {}.", self.why()),
            VerdictKind::CannotTell => format!("Cannot tell: {}.", self.why()),
        }
    }

    fn wait(&self) -> String {
        let [p50, p95] =
            [self.standing_p50_ms, self.standing_p95_ms].map(Option::unwrap_or_default);
        let place = self.place.map(|place| self.place(place));
        let (p50, p95) = (digits(p50), digits(p95));
        format!(
            "{} wait {p50} ms (p95 {p95} ms) in a queue{}",
            packets(self.direction),
            place.unwrap_or_default()
        )
    }

    fn place(&self, place: Place) -> String {
        let (sender, receiver) = (sender(self.direction), receiver(self.direction));
        match place {
            Place::BeforeCapture => format!(" between the {sender} and the capture point"),
            Place::AfterCapture => format!(" between the capture point and the {receiver}"),
            Place::SendingHost => {
                format!(" in the {sender} or the device next to it, where the capture was made")
            }
        }
    }

    fn others(&self) -> String {
        let name = |kind| match kind {
            OtherKind::ThinkTime => "the server is slow to answer",
            OtherKind::WakeUp => "the radio wakes up from its idle state",
            OtherKind::PowerSave => "the radio saves power and receives only at beacons",
            OtherKind::DelayedAck => "the host delays acknowledgements",
            OtherKind::Hold => "the path paused, then released packets in a burst",
            OtherKind::Jitter => "the delay of the path varies from packet to packet",
            OtherKind::RouteChange => "the route changed",
            OtherKind::OwnQueue => "each flow waits in a queue of its own, and others pass",
        };
        let others = self.other_delays.iter();
        let others: Vec<String> = others
            .map(|other| format!("{} ({} ms)", name(other.kind), digits(other.ms)))
            .collect();
        others.join(", ")
    }

    fn why(&self) -> String {
        let (activity, sender) = (activity(self.direction), sender(self.direction));
        match self.reason {
            None | Some(Reason::NotLoaded) => format!("nothing loaded the path when {activity}"),
            Some(Reason::ReceiveWindow) => {
                "the receive window limited the transfer, so it could not fill a queue".to_owned()
            }
            Some(Reason::Application) => {
                format!("the {sender}'s application sent less than the path can carry")
            }
            Some(Reason::Vantage) => format!(
                "the path from the {sender} to the capture point is not visible from here without TCP timestamps; capture at the {sender}, or enable timestamps"
            ),
            Some(Reason::OneSided) => {
                "only one direction was captured, and it has no TCP timestamps".to_owned()
            }
            Some(Reason::Samples) => "too few round trips were measured under load".to_owned(),
            Some(Reason::Floor) => "no flow that measured it began on an empty path, so a permanent queue cannot be distinguished from the delay of the path".to_owned(),
            Some(Reason::Short) => "the load lasted less than two seconds".to_owned(),
            Some(Reason::Unexplained) => format!(
                "{} were delayed by {} ms, and no captured traffic explains it",
                packets(self.direction),
                digits(self.standing_p50_ms.unwrap_or_default())
            ),
            Some(Reason::Unreadable) => "most of the capture could not be read".to_owned(),
            Some(Reason::Udp) => {
                "the load is UDP or QUIC: only the spin bit shows round trips, and these do not distinguish the directions".to_owned()
            }
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let mut details = vec![(label(self.direction), self.sentence())];
        let stands = matches!(self.kind, VerdictKind::Bloated | VerdictKind::Slight);
        if stands {
            details.push(("How much", self.how_much()));
            details.push(("Filled by", self.filled_by()));
            details.push(("Who waits", self.who_waits()));
        }
        if self.flows_left_out > 0 {
            let n = self.flows_left_out;
            details.push((
                "Left out",
                format!(
                    "the delay of {n} {}: other flows between the same hosts did not have it at the same time.",
                    plural(n, "flow", "flows")
                ),
            ));
        }
        if !stands && self.kind != VerdictKind::OtherDelay && !self.other_delays.is_empty() {
            details.push(("Other delay", format!("{}.", self.others())));
        }
        details
    }

    fn how_much(&self) -> String {
        let bdp = self.queue_bdp.map(|bdp| format!(", {} BDP", digits(bdp)));
        let rate = self.rate_bps.map(|bps| {
            let rate = Rate::from_bps_f64(bps);
            format!(" at {rate}")
        });
        let (about, floor) = match self.floor_seen {
            true => ("about", ""),
            false => (
                "at least",
                " above the least delay of a capture that began under load, so the empty path was not seen",
            ),
        };
        format!(
            "{about} {} ms{floor}, standing for {} s{}{}.",
            digits(self.standing_p50_ms.unwrap_or_default()),
            digits(self.standing_s),
            rate.unwrap_or_default(),
            bdp.unwrap_or_default()
        )
    }

    fn filled_by(&self) -> String {
        if self.filled_by_unseen && self.fillers.is_empty() {
            return "traffic that was not captured: no captured flow explains the queue."
                .to_owned();
        }
        let named = self.fillers.iter().take(NAMED);
        let named: Vec<String> = named.map(|f| f.phrase(self.direction)).collect();
        let named = named.join("; ");
        match self.filled_by_unseen {
            true => format!("acknowledgments of {named}, or traffic that was not captured."),
            false => format!("{named}."),
        }
    }

    fn who_waits(&self) -> String {
        let (flows, clients) = (self.waiting_flows, self.waiting_clients);
        format!(
            "{flows} {} of {clients} {}.",
            plural(flows, "flow", "flows"),
            plural(clients, "client", "clients")
        )
    }
}

impl Filler {
    /// "flow 12, 192.0.2.1:80 to 10.0.0.2:4711 (71 %)".
    fn phrase(&self, direction: Direction) -> String {
        format!(
            "flow {}, {} ({:.0} %)",
            self.flow_id,
            self.arrow(direction),
            100.0 * self.share
        )
    }

    /// Who sends to whom.
    pub fn arrow(&self, direction: Direction) -> String {
        let server = endpoint(&self.server, self.server_port);
        let client = endpoint(&self.client, self.client_port);
        match direction {
            Direction::Down => format!("{server} to {client}"),
            Direction::Up => format!("{client} to {server}"),
        }
    }
}

/// Address or name with its port.
pub(crate) fn endpoint(host: &str, port: u64) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Three significant digits, no exponent.
fn digits(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        100.0.. => format!("{x:.0}"),
        10.0.. => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

fn plural(n: u64, one: &'static str, many: &'static str) -> &'static str {
    if n == 1 { one } else { many }
}
