//! Answers many clients, and cannot be made to answer anyone else.
//!
//! # References
//! irtt 0.9.2 (`server.go`, `sconn.go`): what a server checks, restricts and tells.
//!
//! # Where we differ
//!
//! | irtt | here | why |
//! |---|---|---|
//! | an open makes a session | the token is a code over address and agreed parameters; the first echo with it makes one | a flood of opens with forged sources takes no memory and no place |
//! | the reply to an open is longer than it | until an address has shown that it hears us, it gets no more bytes than came from it | nobody can be flooded through us. Our client pads its open; irtt's does not and has its answer at its second try, after a second |
//! | the length of replies is that agreed | no longer than the request | the same |
//! | a late request empties the window and moves it back | it sets its own bit | what is known to have come stays known |
//! | fills replies with what was asked for | sends back the request's bytes, and says so (`none`) to who asks for else | nothing to compute, and who wants random bytes sends such |

mod credit;
mod session;
mod token;

use crate::Clocks;
use crate::error::WireError;
use crate::wire::{
    EchoReply, Key, Layout, PROTOCOL_VERSION, Params, Request, decode_request, encode_open_reply,
};
use credit::Credit;
use session::Session;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use token::Tokens;
use unbloat_params::defaults;
use unbloat_units::{Delta, Time};

defaults! {
    /// What a server allows.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// Sessions at one time.
        pub clients: usize = 512;
        /// Sessions at one time of one IPv4 address or one IPv6 network of 64 bits.
        pub clients_per_host: usize = 32;
        /// From one request of a session to the next, on average; irtt's default.
        pub min_interval: Delta = Delta::ms(10);
        /// Requests that may come at once; irtt's default.
        pub burst: u32 = 5;
        /// From the first request of a session to its last.
        pub max_duration: Delta = Delta::secs(600);
        /// UDP payload of a request.
        pub max_length: u16 = 1472;
        /// A session without requests for that long is forgotten; irtt's default.
        pub idle: Delta = Delta::secs(60);
    }
}

/// Past its duration a session is answered for that long (irtt's `maxDurationGrace`).
const DURATION_GRACE: Delta = Delta::secs(2);
/// The interval agreed is at most this part of [`Limits::idle`] (irtt's `maxIntervalTimeoutFactor`).
const INTERVALS_BEFORE_IDLE: i64 = 4;

/// What to do after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Send what was written, to where the packet came from, with this byte of DSCP and ECN.
    Send { tos: u8 },
    /// The session was closed as the client asked; irtt answers nothing.
    Closed,
}

/// Why a packet gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("token was not issued to this address, or has expired")]
    Token,
    #[error("request of {len} bytes is shorter than its answer of {needed} bytes")]
    Short { len: usize, needed: usize },
    #[error("request of {len} bytes exceeds the limit of {max} bytes")]
    Long { len: usize, max: u16 },
    #[error("requests arrive more often than every {min}")]
    Interval { min: Delta },
    #[error(
        "the answer would be longer than everything received from this unverified address; the next try will succeed"
    )]
    Unproven,
}

/// What a server has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub opened: u64,
    /// Opens that were answered with a refusal.
    pub refused: u64,
    pub echoed: u64,
    pub closed: u64,
    /// Packets without an answer, but for closes.
    pub denied: u64,
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// Answers clients. Memory is bounded by [`Limits::clients`] and a few hundred kilobytes of credit.
#[derive(Clone, Debug)]
pub struct Server {
    limits: Limits,
    keys: Vec<Key>,
    tokens: Tokens,
    sessions: BTreeMap<u64, Session>,
    /// No session is idle before that.
    next_idle: Time,
    credit: Credit,
    tally: Tally,
}

impl Server {
    /// With `keys`, only packets with the HMAC of one of them are looked at, and are answered with the same. Each costs a
    /// microsecond for every packet that carries none of them. `secret` makes tokens unguessable: from the system's randomness.
    pub fn new(limits: Limits, keys: Vec<Key>, secret: [u8; 32]) -> Server {
        Server {
            limits,
            keys,
            tokens: Tokens::new(secret),
            sessions: BTreeMap::new(),
            next_idle: Time::MAX,
            credit: Credit::default(),
            tally: Tally::default(),
        }
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Sessions at this time, the idle ones of the last minute included.
    pub fn clients(&self) -> usize {
        self.sessions.len()
    }

    /// Takes a packet that came at `received`, and writes to `out` what is to be sent back.
    ///
    /// `now` is asked when all but the time of sending is written.
    pub fn handle(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        received: Clocks,
        now: impl FnOnce() -> Clocks,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Denial> {
        out.clear();
        self.tally.bytes_in += packet.len() as u64;
        let answer = self.answer(from, packet, received, now, out);
        match answer {
            Ok(_) => self.tally.bytes_out += out.len() as u64,
            Err(_) => {
                out.clear();
                self.tally.denied += 1;
            }
        }
        answer
    }

    fn answer(
        &mut self,
        from: SocketAddr,
        packet: &[u8],
        received: Clocks,
        now: impl FnOnce() -> Clocks,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Denial> {
        let (request, key) = self.read(packet)?;
        self.forget_idle(received.mono);
        match request {
            Request::Open { params, ask_only } => self.open(
                from,
                packet.len(),
                params,
                ask_only,
                key,
                received.mono,
                out,
            ),
            Request::Close { token } => self.close(from, token),
            Request::Echo { token, seq } => {
                let echo = Arrived {
                    from,
                    packet,
                    token,
                    seq,
                    received,
                };
                self.echo(echo, key, now, out)
            }
        }
    }

    /// The request and the number of its key.
    fn read(&self, packet: &[u8]) -> Result<(Request, Option<usize>), WireError> {
        if self.keys.is_empty() {
            return Ok((decode_request(packet, None)?, None));
        }
        let mut last = WireError::Hmac;
        for (number, key) in self.keys.iter().enumerate() {
            match decode_request(packet, Some(key)) {
                Ok(request) => return Ok((request, Some(number))),
                Err(WireError::Hmac) => {}
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    #[expect(clippy::too_many_arguments, reason = "all of one packet")]
    fn open(
        &mut self,
        from: SocketAddr,
        len: usize,
        mut params: Params,
        ask_only: bool,
        key: Option<usize>,
        now: Time,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Denial> {
        let refused = params.version != PROTOCOL_VERSION || !self.has_room(from);
        self.restrict(&mut params);
        let closed = refused || ask_only;
        let layout = Layout::new(&params, key.map(|k| &self.keys[k]));
        let token = match closed {
            true => 0,
            false => self.tokens.give(from, layout, params.dscp, key, now),
        };
        encode_open_reply(token, closed, &params, key.map(|k| &self.keys[k]), out);
        if !self.credit.spend(from, len, out.len(), now) {
            return Err(Denial::Unproven);
        }
        match refused {
            true => self.tally.refused += 1,
            false => self.tally.opened += 1,
        }
        Ok(Answer::Send { tos: params.dscp })
    }

    fn restrict(&self, params: &mut Params) {
        let limits = &self.limits;
        params.version = PROTOCOL_VERSION;
        params.duration = params.duration.min(limits.max_duration);
        params.interval = params
            .interval
            .min(limits.idle / INTERVALS_BEFORE_IDLE)
            .max(limits.min_interval);
        params.length = params.length.min(limits.max_length);
        if !params.fill.is_empty() {
            params.fill = b"none".to_vec();
        }
    }

    fn close(&mut self, from: SocketAddr, token: u64) -> Result<Answer, Denial> {
        match self.sessions.get(&token) {
            Some(session) if session.from == from => {
                self.sessions.remove(&token);
                self.tally.closed += 1;
                Ok(Answer::Closed)
            }
            _ => Err(Denial::Token),
        }
    }

    fn echo(
        &mut self,
        echo: Arrived,
        key: Option<usize>,
        now: impl FnOnce() -> Clocks,
        out: &mut Vec<u8>,
    ) -> Result<Answer, Denial> {
        let len = echo.packet.len();
        if len > usize::from(self.limits.max_length) {
            let max = self.limits.max_length;
            return Err(Denial::Long { len, max });
        }
        let mut fresh = self.first_use(&echo, key)?;
        let refused = fresh.is_some() && !self.has_room(echo.from);
        if let Some(session) = fresh.take_if(|_| !refused) {
            self.next_idle = self.next_idle.min(session.last_used + self.limits.idle);
            self.sessions.insert(echo.token, session);
        }
        let known = self.sessions.get_mut(&echo.token);
        let session = fresh.as_mut().or(known).ok_or(Denial::Token)?;
        let layout = session.layout;
        let needed = layout.header_len();
        if len < needed {
            return Err(Denial::Short { len, needed });
        }
        if !session.earns(echo.seq, echo.received.mono, &self.limits) {
            let min = self.limits.min_interval;
            return Err(Denial::Interval { min });
        }
        session.book(echo.seq);
        let age = echo.received.mono - session.first_used;
        let last = refused || age > self.limits.max_duration + DURATION_GRACE;
        let reply = EchoReply {
            token: echo.token,
            seq: echo.seq,
            last,
            received_count: Some(session.count),
            received_window: Some(session.window_before(echo.seq)),
            ..EchoReply::default()
        };
        let tos = session.dscp;
        let key = key.map(|k| &self.keys[k]);
        let payload = &echo.packet[needed..];
        reply.encode(layout, echo.received, now, payload, key, out);
        if last {
            self.sessions.remove(&echo.token);
        }
        self.tally.echoed += 1;
        Ok(Answer::Send { tos })
    }

    /// The session that a token allows which was not used yet; none if it was, by the same client.
    fn first_use(&self, echo: &Arrived, key: Option<usize>) -> Result<Option<Session>, Denial> {
        if let Some(known) = self.sessions.get(&echo.token) {
            let is_same = known.from == echo.from && known.key == key;
            return is_same.then_some(None).ok_or(Denial::Token);
        }
        let now = echo.received.mono;
        let (layout, dscp) = self
            .tokens
            .accept(echo.token, echo.from, key, now)
            .ok_or(Denial::Token)?;
        let burst = self.limits.burst;
        let session = Session::new(echo.from, layout, dscp, key, now, burst);
        Ok(Some(session))
    }

    /// In all, for the host, and for its network, which may have an eighth of all, or what one host may if that is more.
    fn has_room(&self, from: SocketAddr) -> bool {
        let (host, network) = (host(from.ip()), network(from.ip()));
        let (mut of_host, mut of_network) = (0, 0);
        for session in self.sessions.values() {
            of_host += usize::from(host == self::host(session.from.ip()));
            of_network += usize::from(network == self::network(session.from.ip()));
        }
        let limits = &self.limits;
        self.sessions.len() < limits.clients
            && of_host < limits.clients_per_host
            && of_network < limits.clients_per_host.max(limits.clients / 8)
    }

    /// Looks through the sessions only when one of them may be idle.
    fn forget_idle(&mut self, now: Time) {
        if now < self.next_idle {
            return;
        }
        let idle = self.limits.idle;
        self.sessions
            .retain(|_, session| now - session.last_used < idle);
        let oldest = self.sessions.values().map(|s| s.last_used).min();
        self.next_idle = oldest.map_or(Time::MAX, |oldest| oldest + idle);
    }
}

/// An echo request and how it came.
struct Arrived<'a> {
    from: SocketAddr,
    packet: &'a [u8],
    token: u64,
    seq: u32,
    received: Clocks,
}

/// What one customer has: an IPv4 address, or 64 bits of IPv6.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = u128::from(v6) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        v4 => v4,
    }
}

/// Addresses that are often one customer's: a /24 of IPv4, a /48 of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            IpAddr::V4([a, b, c, 0].into())
        }
        IpAddr::V6(v6) => {
            let network = u128::from(v6) >> 80 << 80;
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

#[cfg(test)]
mod tests;
