//! The account that a server of ours keeps of a session: what reached it, and what its kernel says.

use crate::flow::lock;
use crate::http::{self, Dialer};
use crate::load::root;
use crate::measured::{Count, Counter, KernelSample, KernelState, Side};
use crate::options::Http;
use crate::plan::Direction;
use crate::service::Service;
use crate::socket::Settings;
use crate::upload::Body;
use http_body_util::BodyExt;
use hyper::Method;
use serde::Deserialize;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::task::JoinHandle;
use unbloat_traffic::Clock;
use unbloat_units::{Bytes, Delta, Rate, Time};

/// A line is some kilobytes for 16 flows.
const LONGEST_LINE: usize = 256 * 1024;
/// Lines of half an hour.
const MOST_LINES: usize = 36_000;

#[derive(Deserialize)]
struct Line {
    time_ns: i64,
    flows: Vec<FlowLine>,
}

#[derive(Deserialize)]
struct FlowLine {
    flow: u16,
    direction: Word,
    open: bool,
    bytes: u64,
    last_ns: i64,
    tcp: Option<Tcp>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Down,
    Up,
}

#[derive(Deserialize)]
struct Tcp {
    rtt_ms: Option<f64>,
    min_rtt_ms: Option<f64>,
    cwnd_bytes: Option<u64>,
    in_flight_bytes: Option<u64>,
    unsent_bytes: Option<u64>,
    acked_bytes: Option<u64>,
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
    /// The least that our clock was ahead of the server's when a line came: their difference and the way of the fastest line.
    ahead: Option<Delta>,
    /// Why it ended.
    pub failure: Option<String>,
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
        for flow in line.flows {
            // What has ended says the same in each line.
            if !flow.open && line.time_ns.saturating_sub(flow.last_ns) > 1_000_000_000 {
                continue;
            }
            let at = Time::from_ns(line.time_ns);
            let direction = match flow.direction {
                Word::Down => Direction::Down,
                Word::Up => Direction::Up,
            };
            if let Word::Up = flow.direction {
                self.counts.push(Count {
                    at,
                    flow: flow.flow,
                    direction,
                    counter: Counter::ServerRead,
                    bytes: Bytes::new(flow.bytes),
                });
            }
            self.kernel
                .extend(flow.tcp.filter(|_| flow.open).map(|tcp| KernelSample {
                    at,
                    side: Side::Server,
                    flow: flow.flow,
                    direction,
                    state: tcp.state(),
                }));
        }
        Ok(())
    }

    /// Both lists by our clock. The difference is known but for the way of the fastest line, an idle one-way delay.
    pub fn by_our_clock(self) -> (Vec<Count>, Vec<KernelSample>) {
        let ahead = self.ahead.unwrap_or(Delta::ZERO);
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

impl Tcp {
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
            received: bytes(self.received_bytes),
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
    let (mut sender, _handle) = dialer
        .open(Http::One, &Settings::default())
        .await?
        .into_parts();
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
        let line = |ms: i64, bytes| {
            format!(
                r#"{{"time_ns":{},"flows":[{{"flow":3,"direction":"up","connection":1,"open":true,"bytes":{bytes},
                "start_ns":0,"last_ns":0,"tcp":{{"rtt_ms":12.5,"cwnd_bytes":9}},"quic":null}}]}}"#,
                ms * 1_000_000
            )
        };
        // The second line came fastest: 1000 ms ahead, of which some are its way.
        account
            .take(line(9_000, 10).as_bytes(), at(10_040))
            .unwrap();
        account
            .take(line(9_050, 20).as_bytes(), at(10_050))
            .unwrap();
        let (counts, kernel) = account.by_our_clock();
        assert_eq!([counts[0].at, counts[1].at], [at(10_000), at(10_050)]);
        assert_eq!(counts[1].bytes, Bytes::new(20));
        assert_eq!(kernel[0].state.rtt, Some(Delta::us(12_500)));
        assert_eq!(kernel[0].state.min_rtt, None);
    }

    #[test]
    fn a_line_that_is_none_ends_it_with_a_reason() {
        let mut account = Account::default();
        assert!(
            account
                .take(b"{\"time_ns\":1}", at(0))
                .unwrap_err()
                .contains("flows")
        );
        assert!(account.counts.is_empty());
    }
}
