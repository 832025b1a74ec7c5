//! Whole packets.

use super::key::{HMAC_AT, HMAC_LEN, Key};
use super::params::{Params, ReceivedStats, StampAt, StampClock};
use super::{MAGIC, flag};
use crate::Clocks;
use crate::echo::Stamp;
use crate::error::WireError;
use unbloat_units::Time;

/// Bytes up to the end of the flags.
const FLAGS_END: usize = 4;
/// Bytes up to the end of the token in a packet without HMAC: the least that an open reply and a close take.
pub const TOKEN_END: usize = FLAGS_END + 8;

/// Which fields the echo packets of a session have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub authenticated: bool,
    pub received_stats: ReceivedStats,
    pub stamp_at: StampAt,
    pub clock: StampClock,
}

impl Layout {
    pub fn new(params: &Params, key: Option<&Key>) -> Layout {
        Layout {
            authenticated: key.is_some(),
            received_stats: params.received_stats,
            stamp_at: params.stamp_at,
            clock: params.clock,
        }
    }

    /// Bytes before the payload of an echo request or reply.
    pub fn header_len(self) -> usize {
        let hmac = if self.authenticated { HMAC_LEN } else { 0 };
        let stats = 4 * usize::from(self.received_stats.count)
            + 8 * usize::from(self.received_stats.window);
        let clocks = usize::from(self.clock.wall) + usize::from(self.clock.mono);
        let stamps = match self.stamp_at {
            StampAt::None => 0,
            StampAt::Both => 2,
            StampAt::Send | StampAt::Receive | StampAt::Midpoint => 1,
        };
        TOKEN_END + hmac + 4 + stats + 8 * clocks * stamps
    }
}

/// What a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Open {
        params: Params,
        /// The client wants to know the parameters, and no session.
        ask_only: bool,
    },
    Echo {
        token: u64,
        seq: u32,
    },
    Close {
        token: u64,
    },
}

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Open {
        token: u64,
        /// There is no session: refused, or only asked for.
        closed: bool,
        params: Params,
    },
    Echo(EchoReply),
}

/// The answer to one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoReply {
    pub token: u64,
    pub seq: u32,
    /// The server ends the session with it.
    pub last: bool,
    /// How many requests reached the server until then, duplicates included.
    pub received_count: Option<u32>,
    /// Bit k: the request with `seq` - k reached the server. Nothing is said by 0.
    pub received_window: Option<u64>,
    pub received: Stamp,
    pub sent: Stamp,
}

/// Reads what came from a client. With a key, only what carries its HMAC is read.
pub fn decode_request(bytes: &[u8], key: Option<&Key>) -> Result<Request, WireError> {
    let (flags, mut fields) = opened(bytes, key)?;
    if flags & flag::REPLY != 0 {
        return Err(WireError::Direction {
            found: "reply",
            awaited: "request",
        });
    }
    if flags & flag::OPEN != 0 {
        let params = Params::decode(fields.rest)?;
        let ask_only = flags & flag::CLOSE != 0;
        return Ok(Request::Open { params, ask_only });
    }
    let token = fields.u64()?;
    if flags & flag::CLOSE != 0 {
        return Ok(Request::Close { token });
    }
    let seq = fields.u32()?;
    Ok(Request::Echo { token, seq })
}

/// Reads what came from a server that agreed to `layout`.
pub fn decode_reply(bytes: &[u8], key: Option<&Key>, layout: Layout) -> Result<Reply, WireError> {
    let (flags, mut fields) = opened(bytes, key)?;
    if flags & flag::REPLY == 0 {
        return Err(WireError::Direction {
            found: "request",
            awaited: "reply",
        });
    }
    let token = fields.u64()?;
    let closed = flags & flag::CLOSE != 0;
    if flags & flag::OPEN != 0 {
        return Ok(Reply::Open {
            token,
            closed,
            params: Params::decode(fields.rest)?,
        });
    }
    let seq = fields.u32()?;
    let received_count = fields.when(layout.received_stats.count, Fields::u32)?;
    let received_window = fields.when(layout.received_stats.window, Fields::u64)?;
    let mut stamps = [Stamp::default(); 2];
    for stamp in &mut stamps[..stamps_of(layout.stamp_at)] {
        stamp.wall = fields.when(layout.clock.wall, Fields::time)?;
        stamp.mono = fields.when(layout.clock.mono, Fields::time)?;
    }
    let (received, sent) = match layout.stamp_at {
        StampAt::Send => (Stamp::default(), stamps[0]),
        StampAt::Midpoint => (stamps[0], stamps[0]),
        StampAt::None | StampAt::Receive | StampAt::Both => (stamps[0], stamps[1]),
    };
    Ok(Reply::Echo(EchoReply {
        token,
        seq,
        last: closed,
        received_count,
        received_window,
        received,
        sent,
    }))
}

pub(crate) fn encode_open(params: &Params, padded_to: usize, key: Option<&Key>, out: &mut Vec<u8>) {
    begin(out, flag::OPEN, key);
    params.encode(out);
    Params::pad(out, padded_to);
    seal(out, key);
}

pub(crate) fn encode_open_reply(
    token: u64,
    closed: bool,
    params: &Params,
    key: Option<&Key>,
    out: &mut Vec<u8>,
) {
    let close = if closed { flag::CLOSE } else { 0 };
    begin(out, flag::OPEN | flag::REPLY | close, key);
    out.extend_from_slice(&token.to_le_bytes());
    params.encode(out);
    seal(out, key);
}

/// An echo request: what the server will fill in is zero, and so is the rest up to `len`.
pub(crate) fn encode_echo(
    token: u64,
    seq: u32,
    len: usize,
    layout: Layout,
    key: Option<&Key>,
    out: &mut Vec<u8>,
) {
    begin(out, 0, key);
    out.extend_from_slice(&token.to_le_bytes());
    out.extend_from_slice(&seq.to_le_bytes());
    out.resize(len.max(layout.header_len()), 0);
    seal(out, key);
}

impl EchoReply {
    /// Its header and then `payload`. `now` is asked when all but the time of sending is written.
    pub(crate) fn encode(
        &self,
        layout: Layout,
        received: Clocks,
        now: impl FnOnce() -> Clocks,
        payload: &[u8],
        key: Option<&Key>,
        out: &mut Vec<u8>,
    ) {
        begin(
            out,
            flag::REPLY | if self.last { flag::CLOSE } else { 0 },
            key,
        );
        out.extend_from_slice(&self.token.to_le_bytes());
        out.extend_from_slice(&self.seq.to_le_bytes());
        if layout.received_stats.count {
            out.extend_from_slice(&self.received_count.unwrap_or(0).to_le_bytes());
        }
        if layout.received_stats.window {
            out.extend_from_slice(&self.received_window.unwrap_or(0).to_le_bytes());
        }
        let stamps_at = out.len();
        out.resize(layout.header_len(), 0);
        out.extend_from_slice(payload);
        let sent = now();
        let stamps = match layout.stamp_at {
            StampAt::None => [None, None],
            StampAt::Send => [Some(sent), None],
            StampAt::Receive => [Some(received), None],
            StampAt::Both => [Some(received), Some(sent)],
            StampAt::Midpoint => [Some(midpoint(received, sent)), None],
        };
        let mut at = stamps_at;
        for stamp in stamps.into_iter().flatten() {
            let times = [
                (layout.clock.wall, stamp.wall),
                (layout.clock.mono, stamp.mono),
            ];
            for (_, time) in times.into_iter().filter(|&(wanted, _)| wanted) {
                out[at..at + 8].copy_from_slice(&time.as_ns().to_le_bytes());
                at += 8;
            }
        }
        seal(out, key);
    }
}

pub(crate) fn encode_close(token: u64, key: Option<&Key>, out: &mut Vec<u8>) {
    begin(out, flag::CLOSE, key);
    out.extend_from_slice(&token.to_le_bytes());
    seal(out, key);
}

fn midpoint(a: Clocks, b: Clocks) -> Clocks {
    Clocks {
        wall: a.wall + (b.wall - a.wall) / 2,
        mono: a.mono + (b.mono - a.mono) / 2,
    }
}

fn stamps_of(at: StampAt) -> usize {
    match at {
        StampAt::None => 0,
        StampAt::Both => 2,
        StampAt::Send | StampAt::Receive | StampAt::Midpoint => 1,
    }
}

fn begin(out: &mut Vec<u8>, flags: u8, key: Option<&Key>) {
    out.clear();
    out.extend_from_slice(&MAGIC);
    out.push(flags | if key.is_some() { flag::HMAC } else { 0 });
    out.resize(FLAGS_END + if key.is_some() { HMAC_LEN } else { 0 }, 0);
}

fn seal(out: &mut [u8], key: Option<&Key>) {
    if let Some(key) = key {
        key.seal(out);
    }
}

/// Checks all that every packet has; the flags and what follows them and the HMAC.
fn opened<'a>(bytes: &'a [u8], key: Option<&Key>) -> Result<(u8, Fields<'a>), WireError> {
    let len = bytes.len();
    let Some((&[m0, m1, m2, flags], _)) = bytes.split_first_chunk() else {
        return Err(WireError::Short {
            len,
            needed: FLAGS_END,
        });
    };
    if [m0, m1, m2] != MAGIC {
        return Err(WireError::Magic);
    }
    if flags & !flag::ALL != 0 {
        return Err(WireError::Flags { flags });
    }
    let start = match (key, flags & flag::HMAC != 0) {
        (None, false) => FLAGS_END,
        (None, true) => return Err(WireError::UnexpectedHmac),
        (Some(_), false) => return Err(WireError::Unauthenticated),
        (Some(key), true) => {
            let needed = HMAC_AT + HMAC_LEN;
            if len < needed {
                return Err(WireError::Short { len, needed });
            }
            if !key.verifies(bytes) {
                return Err(WireError::Hmac);
            }
            needed
        }
    };
    let rest = &bytes[start..];
    Ok((flags, Fields { rest, len }))
}

/// Reads fields in turn.
struct Fields<'a> {
    rest: &'a [u8],
    /// Of the whole packet, for the error.
    len: usize,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (&field, rest) = self.rest.split_first_chunk().ok_or(WireError::Short {
            len: self.len,
            needed: self.len - self.rest.len() + N,
        })?;
        self.rest = rest;
        Ok(field)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, WireError> {
        self.take().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Result<Time, WireError> {
        self.take().map(|ns| Time::from_ns(i64::from_le_bytes(ns)))
    }

    fn when<T>(
        &mut self,
        there: bool,
        read: fn(&mut Self) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        there.then(|| read(self)).transpose()
    }
}
