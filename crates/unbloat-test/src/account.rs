//! The account that a server of ours keeps of a session: what reached it, and what its kernel says.

use crate::flow::lock;
use crate::http::{self, Dialer};
use crate::load::root;
use crate::measured::{Count, Counter, KernelSample, KernelState, Side};
use crate::options::Http;
use crate::plan::Direction;
use crate::service::Service;
use crate::upload::Body;
use http_body_util::BodyExt;
use hyper::Method;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use unbloat_traffic::Clock;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// A line is some kilobytes where 16 flows begin.
const LONGEST_LINE: usize = 256 * 1024;
/// Lines of half an hour.
const MOST_LINES: usize = 36_000;
/// Open at a time: no plan has as many.
const MOST_FLOWS: usize = 1_024;

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

/// What came of the account so far, by the server's clock.
#[derive(Default)]
pub struct Account {
    pub counts: Vec<Count>,
    pub kernel: Vec<KernelSample>,
    lines: usize,
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
    /// Takes one line; what is none of ours is left out.
    pub fn take(&mut self, line: &[u8], now: Time) -> Result<(), String> {
        let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        self.lines += 1;
        if self.lines > MOST_LINES {
            return Err("it is longer than any test".to_owned());
        }
        let ahead = now.since(Time::from_ns(line.time_ns));
        self.ahead = Some(self.ahead.map_or(ahead, |least| least.min(ahead)));
        let at = Time::from_ns(line.time_ns);
        for flow in &line.flows {
            self.take_flow(flow)?;
        }
        for (number, bytes) in line.bytes {
            if let Some(flow) = self.open.get_mut(&number) {
                flow.bytes = bytes;
            }
        }
        // What is not named stands still.
        let open = self.open.iter();
        self.counts
            .extend(open.filter_map(|(number, flow)| flow.count(at, *number)));
        for connection in line.connections {
            if let Some(tcp) = connection.tcp {
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

    fn take_flow(&mut self, said: &FlowLine) -> Result<(), String> {
        let flow = OpenFlow {
            direction: match said.direction {
                Word::Down => Direction::Down,
                Word::Up => Direction::Up,
            },
            connection: said.connection,
            bytes: said.bytes,
        };
        self.open.insert(said.flow, flow);
        match self.open.len() > MOST_FLOWS {
            true => Err("it has more flows than any test".to_owned()),
            false => Ok(()),
        }
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
pub fn read(dialer: Dialer, service: Service) -> (Arc<Mutex<Account>>, JoinHandle<()>) {
    let account = Arc::new(Mutex::new(Account::default()));
    let shared = account.clone();
    let task = tokio::spawn(async move {
        let ended = follow(&dialer, &service, &shared).await;
        let why = ended.map_or_else(|error| root(&error), |()| "the server ended it".to_owned());
        lock(&shared).failure = Some(why);
    });
    (account, task)
}

async fn follow(dialer: &Dialer, service: &Service, into: &Mutex<Account>) -> io::Result<()> {
    let Some(session) = &service.session else {
        return Ok(());
    };
    let path = format!("{}/account", session.path());
    let (mut sender, _handle) = dialer.open_beside(Http::One).await?.into_parts();
    let token = service.token.as_deref();
    let request = http::request(&dialer.origin, (Method::GET, &path), token, Body::Empty)?;
    let response = sender.send(http::fit(request, &sender)?).await?;
    if !response.status().is_success() {
        return Err(io::Error::other(response.status().to_string()));
    }
    let mut body = response.into_body();
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(io::Error::other)?;
        rest.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..]));
        take_lines(&mut rest, dialer.clock, into)?;
    }
    Ok(())
}

fn take_lines(rest: &mut Vec<u8>, clock: Clock, into: &Mutex<Account>) -> io::Result<()> {
    let now = clock.now();
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let taken = lock(into).take(&rest[..end], now);
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

    fn at(ms: i64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    #[test]
    fn times_of_the_server_become_ours_by_the_fastest_line() {
        let mut account = Account::default();
        let line = |ms: i64, more: &str| format!(r#"{{"time_ns":{}{more}}}"#, ms * 1_000_000);
        let begun = r#","flows":[{"flow":3,"direction":"up","connection":1,"open":true,"bytes":10,"start_ns":0,"last_ns":0}],
            "connections":[{"connection":1,"tcp":{"rtt_ms":12.5,"cwnd_bytes":9}}]"#;
        // The second line came fastest: 1000 ms ahead, of which some are its way.
        account
            .take(line(9_000, begun).as_bytes(), at(10_040))
            .unwrap();
        account
            .take(line(9_050, r#","bytes":[[3,20]]"#).as_bytes(), at(10_050))
            .unwrap();
        let (counts, kernel) = account.by_our_clock(Delta::ms(20));
        assert_eq!([counts[0].at, counts[1].at], [at(9_980), at(10_030)]);
        assert_eq!(counts[1].bytes, Bytes::new(20));
        assert_eq!(kernel[0].state.rtt, Some(Delta::us(12_500)));
        assert_eq!(kernel[0].state.min_rtt, None);
    }

    #[test]
    fn what_a_line_does_not_name_is_as_it_was_until_its_flow_ends() {
        let mut account = Account::default();
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
            account.take(line.as_bytes(), at(0)).unwrap();
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
        let mut account = Account::default();
        assert!(
            account
                .take(b"{\"flows\":[]}", at(0))
                .unwrap_err()
                .contains("time_ns")
        );
        assert!(account.counts.is_empty());
    }
}
