//! The account of a session: a line of JSON every 50 ms, of what is new. It shares the path with the load that it tells
//! of, so nothing is told twice.

use crate::peer::{Busy, Peer};
use crate::session::{Flow, Watching};
use bytes::Bytes;
use http_body::Frame;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior, interval};
use unbloat_os::clock::monotonic;

const EVERY: Duration = Duration::from_millis(50);

/// What a connection's kernel says is told in one of so many lines, 250 ms apart; connections take turns, so that lines
/// are of one length.
const TURNS: u64 = 5;

/// A reader that has not taken for so long what was written before that reads no more.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Lines {
    watching: Watching,
    ticks: Interval,
    told: Told,
    busy: Busy,
    peer: Arc<Peer>,
    reading: Reading,
}

/// How far a reader is. Lines are small: what the kernel takes of them for one who reads nothing lasts for hours.
#[derive(Default)]
struct Reading {
    /// Acknowledged bytes that show that it has read.
    goal: u64,
}

impl Reading {
    /// Whether it took all that there was when this was last true; `of` is what its kernel acknowledged, and what it has not yet.
    fn goes_on(&mut self, of: Option<(u64, u64)>) -> bool {
        // QUIC has no more on its way than the reader wants.
        let Some((acked, pending)) = of else {
            return true;
        };
        let has_read = acked >= self.goal;
        if has_read {
            self.goal = acked + pending;
        }
        has_read
    }
}

impl Lines {
    pub fn new(watching: Watching, peer: &Arc<Peer>) -> Lines {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let busy = peer.begin(Instant::now() + PATIENCE);
        Lines {
            watching,
            ticks,
            told: Told::default(),
            busy,
            peer: Arc::clone(peer),
            reading: Reading::default(),
        }
    }

    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Frame<Bytes>>> {
        ready!(self.ticks.poll_tick(context));
        if self.watching.0.has_ended() {
            return Poll::Ready(None);
        }
        let now = Instant::now();
        if self.reading.goes_on(self.peer.acknowledged()) {
            self.busy.lasts(now + PATIENCE);
        }
        let flows = self.watching.0.flows(now);
        let line = self.told.next(&flows.into_iter().collect());
        let mut text = serde_json::to_vec(&line).expect("our own values have a JSON form");
        text.push(b'\n');
        Poll::Ready(Some(Frame::data(text.into())))
    }
}

/// What the reader knows already.
#[derive(Default)]
struct Told {
    lines: u64,
    flows: BTreeMap<u16, ToldFlow>,
    /// Of those that carry open flows.
    connections: BTreeMap<u64, States>,
    numbers: Numbers,
}

/// Connections as this account numbers them: how many there are in all is nobody's business.
#[derive(Default)]
struct Numbers {
    known: BTreeMap<u64, u64>,
    last: u64,
}

impl Numbers {
    fn of(&mut self, connection: u64) -> u64 {
        *self.known.entry(connection).or_insert_with(|| {
            self.last += 1;
            self.last
        })
    }
}

struct ToldFlow {
    flow: Arc<Flow>,
    open: bool,
    bytes: u64,
}

impl ToldFlow {
    fn is_of(&self, flow: Option<&Arc<Flow>>) -> bool {
        flow.is_some_and(|flow| Arc::ptr_eq(flow, &self.flow))
    }
}

impl Told {
    fn next(&mut self, flows: &BTreeMap<u16, Arc<Flow>>) -> Line {
        self.lines += 1;
        let begun = monotonic();
        let mut line = Line::default();
        let mut due = BTreeMap::new();
        let gone = |(number, told): &(&u16, &ToldFlow)| !told.is_of(flows.get(number));
        for (&number, told) in self.flows.iter().filter(gone).filter(|(_, t)| t.open) {
            let connection = self.numbers.of(told.flow.peer.number);
            line.flows.push(Entry::of(number, connection, &told.flow));
            due.insert(told.flow.peer.number, States::of(&told.flow));
        }
        self.flows
            .retain(|number, told| told.is_of(flows.get(number)));
        for (&number, flow) in flows {
            if self.tell(number, flow, &mut line) {
                due.insert(flow.peer.number, States::of(flow));
            }
        }
        // A busy machine may have made it wait on the way.
        line.time_ns = (begun + (monotonic().since(begun)) / 2).as_ns();
        line.connections = self.changed(due);
        line
    }

    /// Whether the flow's connection is to be told of as well.
    fn tell(&mut self, number: u16, flow: &Arc<Flow>, line: &mut Line) -> bool {
        match self.flows.get_mut(&number) {
            Some(told) if !told.open => false,
            Some(told) if flow.end().is_none() => {
                let bytes = flow.bytes.load(Ordering::Relaxed);
                if bytes != told.bytes {
                    line.bytes.push((number, bytes));
                    told.bytes = bytes;
                }
                (self.lines + flow.peer.number).is_multiple_of(TURNS)
            }
            _ => {
                let connection = self.numbers.of(flow.peer.number);
                let entry = Entry::of(number, connection, flow);
                let told = ToldFlow {
                    flow: Arc::clone(flow),
                    open: entry.open,
                    bytes: entry.bytes,
                };
                self.flows.insert(number, told);
                line.flows.push(entry);
                true
            }
        }
    }

    fn changed(&mut self, due: BTreeMap<u64, States>) -> Vec<Connection> {
        let mut connections = Vec::new();
        for (number, states) in due {
            let before = self.connections.entry(number).or_default();
            let connection = Connection {
                connection: self.numbers.of(number),
                states: states.less(before),
            };
            *before = states;
            if !connection.states.are_empty() {
                connections.push(connection);
            }
        }
        let open = self.flows.values().filter(|told| told.open);
        let open: Vec<u64> = open.map(|told| told.flow.peer.number).collect();
        self.connections.retain(|number, _| open.contains(number));
        self.numbers.known.retain(|number, _| open.contains(number));
        connections
    }
}

#[derive(Default, Serialize)]
struct Line {
    time_ns: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flows: Vec<Entry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bytes: Vec<(u16, u64)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections: Vec<Connection>,
}

#[derive(Serialize)]
struct Entry {
    flow: u16,
    direction: &'static str,
    connection: u64,
    open: bool,
    bytes: u64,
    start_ns: i64,
    last_ns: u64,
}

impl Entry {
    fn of(number: u16, connection: u64, flow: &Flow) -> Entry {
        // Before its bytes: of what has ended, they are all.
        let open = flow.end().is_none();
        Entry {
            flow: number,
            direction: flow.direction.name(),
            connection,
            open,
            bytes: flow.bytes.load(Ordering::Relaxed),
            start_ns: flow.start_ns,
            last_ns: flow.last_ns(),
        }
    }
}

#[derive(Serialize)]
struct Connection {
    connection: u64,
    #[serde(flatten)]
    states: States,
}

/// Fields of the accounts of a connection, by name.
#[derive(Default, Serialize)]
struct States {
    #[serde(skip_serializing_if = "Map::is_empty")]
    tcp: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    quic: Map<String, Value>,
}

impl States {
    fn of(flow: &Flow) -> States {
        let (tcp, quic) = match flow.end() {
            Some(end) => (end.tcp, end.quic),
            None => (flow.peer.tcp(), flow.peer.quic()),
        };
        States {
            tcp: fields(tcp),
            quic: fields(quic),
        }
    }

    /// Without what is as it was.
    fn less(&self, before: &States) -> States {
        States {
            tcp: changed(&self.tcp, &before.tcp),
            quic: changed(&self.quic, &before.quic),
        }
    }

    fn are_empty(&self) -> bool {
        self.tcp.is_empty() && self.quic.is_empty()
    }
}

fn fields(account: Option<impl Serialize>) -> Map<String, Value> {
    match serde_json::to_value(account) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn changed(now: &Map<String, Value>, before: &Map<String, Value>) -> Map<String, Value> {
    let new = now
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(value));
    new.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Limits;
    use crate::session::Sessions;
    use serde_json::json;
    use unbloat_units::Direction;

    #[test]
    fn only_what_is_new_is_told_and_an_end_once() {
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        let sessions = Sessions::new(&Limits::default());
        let session = sessions.open(address, Instant::now()).ok().unwrap();
        let peer = Arc::new(Peer::new(7, (address, 1).into(), true, None));
        let mut told = Told::default();
        let mut next = || {
            let flows = session.flows(Instant::now()).into_iter().collect();
            let line = serde_json::to_value(told.next(&flows)).unwrap();
            let Value::Object(mut line) = line else {
                panic!("{line}")
            };
            assert!(line.remove("time_ns").unwrap().as_i64() > Some(0));
            Value::Object(line)
        };
        let begin = |number| session.begin(number, Direction::Up, &peer).ok().unwrap();
        assert_eq!(next(), json!({}));
        let (first, second) = (begin(3), begin(4));
        let flows = next()["flows"].clone();
        assert_eq!([&flows[0]["flow"], &flows[1]["flow"]], [3, 4]);
        assert_eq!(flows[0]["open"], true);
        first.count(10);
        assert_eq!(next(), json!({"bytes": [[3, 10]]}));
        assert_eq!(next(), json!({}));
        second.count(5);
        drop(second);
        let ended = next()["flows"].clone();
        assert_eq!(
            (&ended[0]["open"], &ended[0]["bytes"], ended.get(1)),
            (&json!(false), &json!(5), None)
        );
        assert_eq!(next(), json!({}));
        first.count(1);
        drop(first);
        let again = begin(3);
        again.count(2);
        let both = next()["flows"].clone();
        assert_eq!([&both[0]["bytes"], &both[1]["bytes"]], [11, 2]);
        assert_eq!([&both[0]["open"], &both[1]["open"]], [false, true]);
    }

    #[test]
    fn a_reader_goes_on_once_it_has_what_was_there_when_it_last_did() {
        let mut reading = Reading::default();
        assert!(reading.goes_on(Some((1_000, 300))));
        assert!(!reading.goes_on(Some((1_000, 400))), "it reads nothing");
        assert!(!reading.goes_on(Some((1_299, 500))), "or next to nothing");
        assert!(reading.goes_on(Some((1_300, 600))));
        assert!(!reading.goes_on(Some((1_301, 600))));
        assert!(reading.goes_on(Some((1_900, 0))));
        assert!(reading.goes_on(Some((1_900, 60))), "nothing was on its way");
        assert!(reading.goes_on(None), "over QUIC");
    }

    #[test]
    fn an_account_that_nobody_reads_is_over_in_time_and_one_that_is_read_is_not() {
        use std::io::{Read, Write};
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let _entered = runtime.as_ref().unwrap().enter();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut reader = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, from) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let peer = Arc::new(Peer::new(1, from, false, None));
        peer.know_socket(&stream);
        let stream = stream.into_std().unwrap();
        let mut reading = Reading::default();
        assert!(reading.goes_on(peer.acknowledged()));
        // All that its kernel takes for it, and ours.
        let mut written = 0;
        while let Ok(more) = (&stream).write(&[7; 64 << 10]) {
            written += more;
        }
        // Its kernel may have acknowledged all until the last pieces.
        while reading.goes_on(peer.acknowledged()) {}
        assert!(!reading.goes_on(peer.acknowledged()));
        reader.read_exact(&mut vec![0; written]).unwrap();
        while !reading.goes_on(peer.acknowledged()) {
            std::thread::yield_now();
        }
        peer.forget_socket();
    }

    #[test]
    fn of_a_connection_only_what_changed_is_told() {
        let states = |rtt_ms: f64| States {
            tcp: fields(Some(json!({"rtt_ms": rtt_ms, "mss_bytes": 1448}))),
            quic: Map::new(),
        };
        let less = states(2.5).less(&states(1.5));
        assert_eq!(Value::Object(less.tcp), json!({"rtt_ms": 2.5}));
        assert!(states(1.5).less(&states(1.5)).are_empty());
    }
}
