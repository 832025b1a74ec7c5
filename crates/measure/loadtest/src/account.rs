//! The account that a server of ours keeps of a session: what reached it, and what its kernel says.

use crate::error::root;
use crate::http;
use crate::load::Carrier;
use crate::measured::{Count, Counter, KernelSample, KernelState, Side};
use crate::options::Http;
use crate::service::{ANSWER_TIME, in_time};
use crate::upload::Body;
use http_body_util::BodyExt;
use hyper::Method;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use unbloat_os::lock::lock;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

/// A line is some kilobytes where 16 flows begin.
const LONGEST_LINE: usize = 256 * 1024;
/// Our server writes one every 50 ms.
const LINES_PER_S: f64 = 20.0;
/// As many more as clocks and queues may add.
const SPARE_LINES: f64 = 40.0;

/// Which way a flow goes that this test has, or had a short while ago; none for any other number.
pub type Ours<'a> = &'a dyn Fn(u16) -> Option<Direction>;

/// What is new since the line before.
#[derive(Deserialize)]
struct Line {
    time_ns: i64,
    #[serde(default)]
    flows: Vec<FlowLine>,
    #[serde(default)]
    bytes: Vec<(u16, u64)>,
    #[serde(default)]
    connections: Vec<ConnectionLine>,
}

/// Of a flow that began or ended.
#[derive(Deserialize)]
struct FlowLine {
    flow: u16,
    direction: Word,
    connection: u64,
    open: bool,
    bytes: u64,
}

impl FlowLine {
    fn is_one_of(&self, ours: Ours<'_>) -> bool {
        ours(self.flow) == Some(self.direction.into())
    }

    fn begun(&self) -> OpenFlow {
        OpenFlow {
            direction: self.direction.into(),
            connection: self.connection,
            bytes: self.bytes,
        }
    }
}

#[derive(Deserialize)]
struct ConnectionLine {
    connection: u64,
    tcp: Option<Tcp>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Down,
    Up,
}

impl From<Word> for Direction {
    fn from(word: Word) -> Direction {
        match word {
            Word::Down => Direction::Down,
            Word::Up => Direction::Up,
        }
    }
}

/// None is what was told before.
#[derive(Default, Deserialize)]
struct Tcp {
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    cwnd_bytes: Option<u64>,
    in_flight_bytes: Option<u64>,
    unsent_bytes: Option<u64>,
    acked_bytes: Option<u64>,
    /// Absent from servers of before; their `in_flight_bytes` are all that is unacknowledged.
    delivered_bytes: Option<u64>,
    received_bytes: Option<u64>,
    retransmissions: Option<u64>,
    delivery_rate_bps: Option<f64>,
    busy_ms: Option<f64>,
    window_limited_ms: Option<f64>,
    buffer_limited_ms: Option<f64>,
}

/// What came of the account so far, by the server's clock. It grows no faster than that of a server that keeps to the protocol,
/// whatever comes: so many lines a second, and in each at most one count and one sample of a flow that is ours.
pub struct Account {
    pub counts: Vec<Count>,
    pub kernel: Vec<KernelSample>,
    begun: Time,
    lines: u32,
    open: BTreeMap<u16, OpenFlow>,
    /// Of connections with open flows.
    connections: BTreeMap<u64, Tcp>,
    /// The least that our clock was ahead of the server's when a line came: their difference and the way of the fastest line.
    ahead: Option<Delta>,
    /// Why it ended.
    pub failure: Option<String>,
}

struct OpenFlow {
    direction: Direction,
    connection: u64,
    bytes: u64,
}

impl Account {
    /// The account of a session that was asked for at `begun`.
    pub fn new(begun: Time) -> Account {
        Account {
            counts: Vec::new(),
            kernel: Vec::new(),
            begun,
            lines: 0,
            open: BTreeMap::new(),
            connections: BTreeMap::new(),
            ahead: None,
            failure: None,
        }
    }

    /// Takes one line; what is none of ours is left out.
    pub fn take(&mut self, line: &[u8], now: Time, ours: Ours<'_>) -> Result<(), String> {
        let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        self.lines += 1;
        let due = LINES_PER_S * now.since(self.begun).as_secs() + SPARE_LINES;
        if f64::from(self.lines) > due {
            return Err("it has more lines than their time".to_owned());
        }
        let ahead = now.since(Time::from_ns(line.time_ns));
        self.ahead = Some(self.ahead.map_or(ahead, |least| least.min(ahead)));
        let at = Time::from_ns(line.time_ns);
        for flow in line.flows.iter().filter(|flow| flow.is_one_of(ours)) {
            self.open.insert(flow.flow, flow.begun());
        }
        self.open.retain(|number, _| ours(*number).is_some());
        for (number, bytes) in line.bytes {
            if let Some(flow) = self.open.get_mut(&number) {
                flow.bytes = bytes;
            }
        }
        // What is not named stands still.
        let open = self.open.iter();
        self.counts
            .extend(open.filter_map(|(number, flow)| flow.count(at, *number)));
        let mut told = BTreeSet::new();
        for connection in line.connections {
            if let Some(tcp) = connection
                .tcp
                .filter(|_| told.insert(connection.connection))
            {
                self.take_tcp(at, connection.connection, tcp);
            }
        }
        // The line that ends a flow has the last that its kernel said of it.
        for flow in line.flows.iter().filter(|flow| !flow.open) {
            self.open.remove(&flow.flow);
        }
        let still = &self.open;
        let is_used = |number: &u64| still.values().any(|flow| flow.connection == *number);
        self.connections.retain(|number, _| is_used(number));
        Ok(())
    }

    fn take_tcp(&mut self, at: Time, connection: u64, new: Tcp) {
        let mut flows = self
            .open
            .iter()
            .filter(|(_, flow)| flow.connection == connection)
            .peekable();
        if flows.peek().is_none() {
            return;
        }
        let tcp = self.connections.entry(connection).or_default();
        tcp.update(new);
        let state = tcp.state();
        self.kernel.extend(flows.map(|(number, flow)| KernelSample {
            at,
            side: Side::Server,
            flow: *number,
            direction: flow.direction,
            state,
        }));
    }

    /// Both lists by our clock. The difference is known but for the `way` of the fastest line, an idle one-way delay.
    pub fn by_our_clock(self, way: Delta) -> (Vec<Count>, Vec<KernelSample>) {
        let ahead = self.ahead.unwrap_or(Delta::ZERO) - way;
        let counts = self.counts.into_iter().map(|count| Count {
            at: count.at + ahead,
            ..count
        });
        let kernel = self.kernel.into_iter().map(|sample| KernelSample {
            at: sample.at + ahead,
            ..sample
        });
        (counts.collect(), kernel.collect())
    }
}

impl OpenFlow {
    /// Of an upload: what the server's application got.
    fn count(&self, at: Time, number: u16) -> Option<Count> {
        (self.direction == Direction::Up).then_some(Count {
            at,
            flow: number,
            direction: self.direction,
            counter: Counter::ServerRead,
            bytes: Bytes::new(self.bytes),
        })
    }
}

impl Tcp {
    fn update(&mut self, new: Tcp) {
        *self = Tcp {
            rtt_ms: new.rtt_ms.or(self.rtt_ms),
            min_rtt_ms: new.min_rtt_ms.or(self.min_rtt_ms),
            cwnd_bytes: new.cwnd_bytes.or(self.cwnd_bytes),
            in_flight_bytes: new.in_flight_bytes.or(self.in_flight_bytes),
            unsent_bytes: new.unsent_bytes.or(self.unsent_bytes),
            acked_bytes: new.acked_bytes.or(self.acked_bytes),
            delivered_bytes: new.delivered_bytes.or(self.delivered_bytes),
            received_bytes: new.received_bytes.or(self.received_bytes),
            retransmissions: new.retransmissions.or(self.retransmissions),
            delivery_rate_bps: new.delivery_rate_bps.or(self.delivery_rate_bps),
            busy_ms: new.busy_ms.or(self.busy_ms),
            window_limited_ms: new.window_limited_ms.or(self.window_limited_ms),
            buffer_limited_ms: new.buffer_limited_ms.or(self.buffer_limited_ms),
        };
    }

    fn state(&self) -> KernelState {
        let span = |ms: Option<f64>| {
            ms.filter(|ms| ms.is_finite())
                .map(|ms| Delta::from_secs_f64(ms / 1e3))
        };
        let bytes = |bytes: Option<u64>| Bytes::new(bytes.unwrap_or(0));
        KernelState {
            rtt: span(self.rtt_ms),
            min_rtt: span(self.min_rtt_ms),
            cwnd: bytes(self.cwnd_bytes),
            in_flight: bytes(self.in_flight_bytes),
            unsent: bytes(self.unsent_bytes),
            acked: bytes(self.acked_bytes),
            delivered: self.delivered_bytes.map(Bytes::new),
            received: bytes(self.received_bytes),
            segments_received: None,
            retransmissions: self.retransmissions.unwrap_or(0),
            delivery_rate: self.delivery_rate_bps.map(Rate::from_bps_f64),
            busy: span(self.busy_ms),
            window_limited: span(self.window_limited_ms),
            buffer_limited: span(self.buffer_limited_ms),
        }
    }
}

/// Reads the account over a connection of its own until it is aborted.
pub fn read(carrier: Arc<Carrier>) -> (Arc<Mutex<Account>>, JoinHandle<()>) {
    let account = Arc::new(Mutex::new(Account::new(carrier.dialer.clock.now())));
    let shared = account.clone();
    let task = tokio::spawn(async move {
        let ended = follow(&carrier, &shared).await;
        let why = ended.map_or_else(|error| root(&error), |()| "the server ended it".to_owned());
        lock(&shared).failure = Some(why);
    });
    (account, task)
}

async fn follow(carrier: &Carrier, into: &Mutex<Account>) -> io::Result<()> {
    let Carrier {
        dialer, service, ..
    } = carrier;
    let Some(session) = &service.session else {
        return Ok(());
    };
    let path = format!("{}/account", session.path());
    let (mut sender, _handle) = dialer.open_beside(Http::One).await?.into_parts();
    let token = service.token.as_deref();
    let request = http::request(&dialer.origin, (Method::GET, &path), token, Body::Empty)?;
    // Its lines come as long as the test lasts.
    let (request, url) = (http::fit(request, &sender)?, dialer.origin.url(&path));
    let answer = in_time(ANSWER_TIME, (Method::GET, &url), sender.send(request)).await;
    let response = answer.map_err(io::Error::other)??;
    if !response.status().is_success() {
        return Err(io::Error::other(response.status().to_string()));
    }
    let mut body = response.into_body();
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        rest.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..]));
        take_lines(&mut rest, carrier, into)?;
    }
    Ok(())
}

fn take_lines(rest: &mut Vec<u8>, carrier: &Carrier, into: &Mutex<Account>) -> io::Result<()> {
    let now = carrier.dialer.clock.now();
    let ours = |number| carrier.flows.direction(number, now);
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let taken = lock(into).take(&rest[..end], now, &ours);
        taken.map_err(io::Error::other)?;
        rest.drain(..=end);
    }
    match rest.len() > LONGEST_LINE {
        true => Err(io::Error::other("its line is too long")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows 0 to 9 are uploads of ours.
    const UP: fn(u16) -> Option<Direction> = |number| (number < 10).then_some(Direction::Up);

    fn at(ms: i64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    #[test]
    fn times_of_the_server_become_ours_by_the_fastest_line() {
        let mut account = Account::new(at(0));
        let line = |ms: i64, more: &str| format!(r#"{{"time_ns":{}{more}}}"#, ms * 1_000_000);
        let begun = r#","flows":[{"flow":3,"direction":"up","connection":1,"open":true,"bytes":10,"start_ns":0,"last_ns":0}],
            "connections":[{"connection":1,"tcp":{"rtt_ms":12.5,"cwnd_bytes":9}}]"#;
        // The second line came fastest: 1000 ms ahead, of which some are its way.
        account
            .take(line(9_000, begun).as_bytes(), at(10_040), &UP)
            .unwrap();
        account
            .take(
                line(9_050, r#","bytes":[[3,20]]"#).as_bytes(),
                at(10_050),
                &UP,
            )
            .unwrap();
        let (counts, kernel) = account.by_our_clock(Delta::ms(20));
        assert_eq!([counts[0].at, counts[1].at], [at(9_980), at(10_030)]);
        assert_eq!(counts[1].bytes, Bytes::new(20));
        assert_eq!(kernel[0].state.rtt, Some(Delta::us(12_500)));
        assert_eq!(kernel[0].state.min_rtt, None);
    }

    #[test]
    fn what_a_line_does_not_name_is_as_it_was_until_its_flow_ends() {
        let mut account = Account::new(at(0));
        let flow = |number, open, bytes| {
            format!(
                r#"{{"flow":{number},"direction":"up","connection":1,"open":{open},"bytes":{bytes}}}"#
            )
        };
        let lines = [
            format!(
                r#"{{"time_ns":1,"flows":[{},{}]}}"#,
                flow(3, true, 0),
                flow(4, true, 0)
            ),
            r#"{"time_ns":2,"connections":[{"connection":1,"tcp":{"rtt_ms":1.5,"cwnd_bytes":9}}]}"#
                .to_owned(),
            r#"{"time_ns":3,"bytes":[[3,7],[99,1]],"connections":[{"connection":2,"tcp":{}}]}"#
                .to_owned(),
            // What ends a flow comes with the last that its kernel said.
            format!(
                r#"{{"time_ns":4,"flows":[{}],"connections":[{{"connection":1,"tcp":{{"cwnd_bytes":7}}}}]}}"#,
                flow(4, false, 5)
            ),
            r#"{"time_ns":5,"connections":[{"connection":1,"tcp":{"cwnd_bytes":8}}]}"#.to_owned(),
        ];
        for line in lines {
            account.take(line.as_bytes(), at(0), &UP).unwrap();
        }
        let counts = |number| {
            let of = account.counts.iter().filter(move |c| c.flow == number);
            of.map(|c| c.bytes.as_u64()).collect::<Vec<_>>()
        };
        assert_eq!(counts(3), [0, 0, 7, 7, 7]);
        assert_eq!(counts(4), [0, 0, 0, 5]);
        let kernel = account.kernel.iter();
        let told = kernel.map(|s| (s.flow, s.state.cwnd.as_u64(), s.state.rtt));
        let rtt = Some(Delta::us(1_500));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                (3, 9, rtt),
                (4, 9, rtt),
                (3, 7, rtt),
                (4, 7, rtt),
                (3, 8, rtt)
            ]
        );
    }

    #[test]
    fn a_line_that_is_none_ends_it_with_a_reason() {
        let mut account = Account::new(at(0));
        assert!(
            account
                .take(b"{\"flows\":[]}", at(0), &UP)
                .unwrap_err()
                .contains("time_ns")
        );
        assert!(account.counts.is_empty());
    }

    #[test]
    fn flows_that_are_none_of_ours_take_nothing() {
        let mut account = Account::new(at(0));
        let flows: Vec<String> = (0..1_024)
            .map(|n| {
                format!(r#"{{"flow":{n},"direction":"up","connection":1,"open":true,"bytes":0}}"#)
            })
            .collect();
        let line = format!(r#"{{"time_ns":1,"flows":[{}]}}"#, flows.join(","));
        account.take(line.as_bytes(), at(0), &UP).unwrap();
        let downs = line.replace("up", "down").replace(":1,", ":2,");
        account.take(downs.as_bytes(), at(0), &UP).unwrap();
        assert_eq!(account.counts.len(), 20);
        let gone = |_| None;
        account.take(br#"{"time_ns":3}"#, at(0), &gone).unwrap();
        assert_eq!(account.counts.len(), 20, "they ended long ago");
    }

    #[test]
    fn a_connection_is_told_of_once_a_line() {
        let mut account = Account::new(at(0));
        let begun = r#"{"time_ns":1,"flows":[{"flow":3,"direction":"up","connection":1,"open":true,"bytes":0}]}"#;
        account.take(begun.as_bytes(), at(0), &UP).unwrap();
        let again = [r#"{"connection":1,"tcp":{"rtt_ms":1}}"#; 5_000].join(",");
        let line = format!(r#"{{"time_ns":2,"connections":[{again}]}}"#);
        account.take(line.as_bytes(), at(0), &UP).unwrap();
        assert_eq!(account.kernel.len(), 1);
    }

    #[test]
    fn lines_come_no_faster_than_their_time() {
        let mut account = Account::new(at(0));
        let mut take = |ms| account.take(br#"{"time_ns":2}"#, at(ms), &UP);
        let at_once = (0..20_000).take_while(|_| take(0).is_ok()).count();
        assert_eq!(at_once, 40);
        let mut slow = Account::new(at(0));
        // A path may hold some back and deliver them in one piece.
        for n in 0..36_000 {
            let now = at(n / 20 * 1_000 + 900);
            slow.take(br#"{"time_ns":2}"#, now, &UP).unwrap();
        }
    }
}
