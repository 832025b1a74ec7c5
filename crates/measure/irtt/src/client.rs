//! Opens a session, keeps the pace and books what came of every request.
//!
//! # References
//! irtt 0.9.2 (`client.go`, `recorder.go`, `conn.go`): when opens are tried again, when the next request is due, how long last replies
//! are awaited.
//!
//! # Where we differ
//!
//! | irtt | here | why |
//! |---|---|---|
//! | the open is as long as its parameters | it is padded with parameters without meaning | it is not shorter than its reply, so no server has to answer with more bytes than it got |
//! | stops when the server restricts anything, unless told otherwise | goes on with less, never with more, and tells what was agreed | the caller decides whether less is enough |
//! | a request is lost when the test is over | also as soon as a later reply says so, until its own reply comes nevertheless | to be seen while it happens |

mod demand;
mod session;

use crate::Clocks;
use crate::account::Account;
use crate::echo::Echo;
use crate::error::{ClientError, WireError};
use crate::wire::{
    Key, Layout, PROTOCOL_VERSION, Params, ReceivedStats, Reply, StampAt, StampClock, decode_reply,
    encode_close, encode_open,
};
use session::Session;
use unbloat_params::defaults;
use unbloat_units::{Delta, Time};

defaults! {
    /// What a client does.
    ///
    /// 100 small requests a second for ten seconds.
    #[derive(Clone, Debug)]
    pub struct Plan {
        pub duration: Delta = Delta::secs(10);
        pub interval: Delta = Delta::ms(10);
        /// UDP payload of request and reply; at least their header of 60 bytes (76 with a key).
        pub length: u16 = 0;
        /// DSCP and ECN of requests; the server uses the same if it can.
        pub tos: u8 = 0;
        pub key: Option<Key> = None;
    }
}

/// irtt's `DefaultOpenTimeouts`.
const OPEN_TIMEOUTS: [Delta; 4] = [
    Delta::secs(1),
    Delta::secs(2),
    Delta::secs(4),
    Delta::secs(8),
];
/// Bytes of an open: more than a reply with any parameters takes.
const OPEN_LEN: usize = 128;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send what was written, now. Then poll again.
    Send,
    /// Nothing until that time of the monotonic clock, or until a packet comes.
    Wait(Time),
    /// Nothing any more.
    Done,
}

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server agreed: requests follow.
    Opened,
    /// First reply to this request.
    Reply { seq: u32 },
    /// A further reply to it.
    Duplicate { seq: u32 },
    /// A reply to nothing that was sent, or to another session. Passed over.
    Stray,
    /// The session is over.
    Ended,
}

/// How well the client itself kept the pace: what it missed is no matter of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Requests that were not sent because their time had passed by more than half an interval.
    pub missed: u64,
    /// How much later than due the latest request was sent.
    pub worst: Delta,
}

/// One end of a session. Memory is 200 bytes a request, for at most 2^20 requests: a session that would send more ends with them.
#[derive(Clone, Debug)]
pub struct Client {
    plan: Plan,
    state: State,
    session: Session,
    /// The caller says when requests are sent.
    is_on_demand: bool,
}

#[derive(Clone, Debug)]
enum State {
    Opening {
        tries: usize,
        since: Option<Time>,
        next: Time,
    },
    Running,
    /// Awaiting last replies.
    Draining {
        until: Time,
    },
    /// A close is to be sent.
    Closing,
    Done(Result<(), ClientError>),
}

impl Client {
    pub fn new(plan: Plan) -> Client {
        Client {
            plan,
            state: State::Opening {
                tries: 0,
                since: None,
                next: Time::MIN,
            },
            session: Session::default(),
            is_on_demand: false,
        }
    }

    /// What to do at `now`; what is to be sent is written to `out`.
    pub fn poll(&mut self, now: Clocks, out: &mut Vec<u8>) -> Poll {
        match self.state {
            State::Opening { tries, since, next } => self.open(now.mono, tries, since, next, out),
            State::Running => self.run(now, out),
            State::Draining { until } if now.mono < until && self.session.awaits_replies() => {
                Poll::Wait(until)
            }
            State::Draining { .. } => {
                self.state = State::Closing;
                self.poll(now, out)
            }
            State::Closing => {
                self.session.settle();
                self.state = State::Done(Ok(()));
                encode_close(self.session.token, self.plan.key.as_ref(), out);
                Poll::Send
            }
            State::Done(_) => Poll::Done,
        }
    }

    fn open(
        &mut self,
        now: Time,
        tries: usize,
        since: Option<Time>,
        next: Time,
        out: &mut Vec<u8>,
    ) -> Poll {
        if now < next {
            return Poll::Wait(next);
        }
        let since = since.unwrap_or(now);
        let Some(&timeout) = OPEN_TIMEOUTS.get(tries) else {
            self.state = State::Done(Err(ClientError::NoAnswer {
                tries: tries as u32,
                waited: now - since,
            }));
            return Poll::Done;
        };
        self.state = State::Opening {
            tries: tries + 1,
            since: Some(since),
            next: now + timeout,
        };
        encode_open(&self.asked(), OPEN_LEN, self.plan.key.as_ref(), out);
        Poll::Send
    }

    fn run(&mut self, now: Clocks, out: &mut Vec<u8>) -> Poll {
        if self.is_on_demand {
            return Poll::Wait(Time::MAX);
        }
        match self.session.next_request(now.mono) {
            Some(due) if now.mono < due => Poll::Wait(due),
            Some(_) => {
                self.session.request(now, self.plan.key.as_ref(), out);
                Poll::Send
            }
            None => {
                let until = now.mono + self.session.last_wait();
                self.state = State::Draining { until };
                self.poll(now, out)
            }
        }
    }

    /// Takes a packet that came from the server at `received`.
    pub fn on_packet(&mut self, bytes: &[u8], received: Clocks) -> Result<Event, WireError> {
        let key = self.plan.key.as_ref();
        match decode_reply(bytes, key, self.session.layout)? {
            Reply::Open {
                token,
                closed,
                params,
            } => {
                if !matches!(self.state, State::Opening { .. }) {
                    return Ok(Event::Stray);
                }
                Ok(self.opened(token, closed, params))
            }
            Reply::Echo(reply) => match self.state {
                State::Running | State::Draining { .. } if reply.token == self.session.token => {
                    let event = self.session.reply(&reply, received);
                    if reply.last {
                        self.session.settle();
                        self.state = State::Done(Ok(()));
                    }
                    Ok(event)
                }
                _ => Ok(Event::Stray),
            },
        }
    }

    fn opened(&mut self, token: u64, closed: bool, params: Params) -> Event {
        let agreed = match (closed, token) {
            (true, _) => Err(ClientError::Refused),
            (false, 0) => Err(ClientError::NoToken),
            (false, _) => no_more_than(&self.asked(), params),
        };
        match agreed {
            Ok(agreed) => {
                let layout = Layout::new(&agreed, self.plan.key.as_ref());
                self.session = Session::new(token, agreed, layout);
                self.state = State::Running;
                Event::Opened
            }
            Err(error) => {
                self.state = State::Done(Err(error));
                Event::Ended
            }
        }
    }

    fn asked(&self) -> Params {
        Params {
            version: PROTOCOL_VERSION,
            duration: self.plan.duration,
            interval: self.plan.interval,
            length: self.plan.length,
            received_stats: ReceivedStats::BOTH,
            stamp_at: StampAt::Both,
            clock: StampClock::BOTH,
            dscp: self.plan.tos,
            fill: Vec::new(),
        }
    }

    /// Corrects when request `seq` was sent, for a caller that knows it better: by the clock after the call or by the kernel's stamp.
    pub fn sent(&mut self, seq: u32, at: Clocks) {
        if let Some(echo) = self.session.echoes.get_mut(seq as usize) {
            echo.sent = at;
        }
    }

    /// Sends so often from now on, but never more often than was agreed.
    pub fn pace_at(&mut self, interval: Delta) {
        self.session.interval = interval;
    }

    /// Stops sending; replies that are due are still awaited, then the session is closed.
    pub fn stop(&mut self, now: Time) {
        match self.state {
            State::Running => {
                let until = now + self.session.last_wait();
                self.state = State::Draining { until };
            }
            State::Opening { .. } => self.state = State::Done(Ok(())),
            State::Draining { .. } | State::Closing | State::Done(_) => {}
        }
    }

    /// How the session ended; none while it lasts. An error only if it never began.
    pub fn ended(&self) -> Option<Result<(), ClientError>> {
        match self.state {
            State::Done(end) => Some(end),
            _ => None,
        }
    }

    /// What the server agreed to; none before.
    pub fn agreed(&self) -> Option<&Params> {
        (self.session.token != 0).then_some(&self.session.params)
    }

    /// All requests, by sequence number.
    pub fn echoes(&self) -> &[Echo] {
        &self.session.echoes
    }

    pub fn account(&self) -> Account {
        Account::of(&self.session.echoes)
    }

    pub fn pace(&self) -> Pace {
        self.session.pace
    }
}

/// A server may restrict what was asked for, not extend it. Only an interval may become shorter, to a second (irtt's
/// `minRestrictedInterval`): so that it does not take the client for gone.
fn no_more_than(asked: &Params, got: Params) -> Result<Params, ClientError> {
    let version = got.version;
    if version != PROTOCOL_VERSION {
        return Err(ClientError::Version { version });
    }
    let shorter = asked.interval.min(Delta::secs(1));
    let spans = |field, a: Delta, b: Delta| (field, a.as_ns(), b.as_ns());
    let numbers = [
        (
            spans("duration", asked.duration, got.duration),
            got.duration > asked.duration,
        ),
        (
            spans("interval", asked.interval, got.interval),
            got.interval < shorter,
        ),
        (
            ("length", i64::from(asked.length), i64::from(got.length)),
            got.length > asked.length,
        ),
    ];
    for ((field, ours, theirs), wrong) in numbers {
        if wrong {
            return Err(ClientError::Restriction {
                field,
                asked: ours,
                got: theirs,
            });
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests;
