//! A bound on the frames of HTTP/3, for a server of strangers and for their client.
//!
//! `h3` reads on until a frame that is not DATA is complete, and looks at its length after that; and whatever is read gives the sender
//! room for more. So who claims a length of 4 GiB has it held. Here the bytes are looked at on their way from QUIC to `h3`: types
//! and lengths alone (RFC 9114, 7.1). A stream with too long a frame is refused (H3_EXCESSIVE_LOAD, RFC 9114, 10.5.1), and a control
//! stream with one ends its connection. `h3` would need no more than a bound in its decoder; until it has one this stands before it.

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{
    BidiStream, Connection, ConnectionErrorIncoming, OpenStreams, RecvStream, SendStream,
    StreamErrorIncoming, StreamId, WriteBuf,
};
use quinn::VarInt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

/// SETTINGS and its like are some dozen bytes.
const CONTROL_BYTES: u64 = 4 << 10;
/// RFC 9114, 7.2.1.
const DATA: u64 = 0;
/// draft-ietf-webtrans-http3: it has no length, and there is none here.
const WEBTRANSPORT: u64 = 0x41;
/// RFC 9114, 6.2.1: type of a stream.
const CONTROL: u64 = 0;
/// RFC 9204, 4.2: types of the streams of QPACK's encoder and decoder.
const QPACK: [u64; 2] = [2, 3];
/// RFC 9114, 8.1.
const EXCESSIVE_LOAD: u32 = 0x107;

/// A number of RFC 9000, 16, byte by byte.
#[derive(Debug, Default)]
struct Number {
    value: u64,
    missing: u8,
    has_begun: bool,
}

impl Number {
    fn push(&mut self, byte: u8) -> Option<u64> {
        if self.has_begun {
            self.value = self.value << 8 | u64::from(byte);
            self.missing -= 1;
        } else {
            *self = Number {
                value: u64::from(byte & 0x3f),
                missing: (1 << (byte >> 6)) - 1,
                has_begun: true,
            };
        }
        if self.missing > 0 {
            return None;
        }
        self.has_begun = false;
        Some(self.value)
    }
}

/// Where a stream stands.
#[derive(Debug)]
enum At {
    /// Before the type of a stream that has one.
    Stream,
    Type,
    Length {
        kind: u64,
    },
    Payload {
        left: u64,
    },
    /// `h3` keeps it and never reads it: it has no dynamic table.
    Unread,
    /// It has no frames, and `h3` stops it.
    Beyond,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

#[derive(Debug)]
pub(crate) struct Meter {
    at: At,
    number: Number,
    most: u64,
}

impl Meter {
    pub(crate) fn of_request(most: u64) -> Meter {
        Meter {
            at: At::Type,
            number: Number::default(),
            most,
        }
    }

    pub(crate) fn of_one_way() -> Meter {
        Meter {
            at: At::Stream,
            number: Number::default(),
            most: CONTROL_BYTES,
        }
    }

    /// Looks at what comes next.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while let Some((first, rest)) = bytes.split_first() {
            match &mut self.at {
                At::Unread | At::Beyond => return Ok(()),
                At::Payload { left } => {
                    let skipped = usize::try_from(*left).unwrap_or(usize::MAX);
                    let skipped = skipped.min(bytes.len());
                    *left -= skipped as u64;
                    bytes = &bytes[skipped..];
                    if *left == 0 {
                        self.at = At::Type;
                    }
                    continue;
                }
                At::Stream | At::Type | At::Length { .. } => bytes = rest,
            }
            if let Some(number) = self.number.push(*first) {
                self.at = self.next(number)?;
            }
        }
        Ok(())
    }

    fn next(&self, number: u64) -> Result<At, TooLong> {
        match self.at {
            At::Stream if number == CONTROL => Ok(At::Type),
            At::Stream if QPACK.contains(&number) => Ok(At::Unread),
            At::Stream => Ok(At::Beyond),
            At::Type if number == WEBTRANSPORT => Err(TooLong),
            At::Length { kind } if kind != DATA && number > self.most => Err(TooLong),
            At::Length { .. } if number == 0 => Ok(At::Type),
            At::Length { .. } => Ok(At::Payload { left: number }),
            At::Type | At::Payload { .. } | At::Unread | At::Beyond => {
                Ok(At::Length { kind: number })
            }
        }
    }
}

/// A stream whose frames are bounded.
pub struct Bounded<S> {
    inner: S,
    meter: Meter,
}

impl<S> Bounded<S> {
    fn request(inner: S, most: u64) -> Bounded<S> {
        Bounded {
            inner,
            meter: Meter::of_request(most),
        }
    }
}

fn too_long<T>() -> Poll<Result<T, StreamErrorIncoming>> {
    Poll::Ready(Err(StreamErrorIncoming::StreamTerminated {
        error_code: EXCESSIVE_LOAD.into(),
    }))
}

/// A stream that goes one way. One that `h3` would not read is read here, and what comes is dropped: it would fill the stream's window, and
/// stay as long as the connection.
pub struct OneWay {
    /// `None`: a task reads it.
    inner: Option<h3_quinn::RecvStream>,
    id: StreamId,
    meter: Meter,
    /// Ends with a frame that is too long.
    quic: quinn::Connection,
}

impl RecvStream for OneWay {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let Some(inner) = &mut self.inner else {
            // Nobody asks.
            return Poll::Pending;
        };
        let data = ready!(inner.poll_data(context))?;
        let taken = data.as_ref().map(|data| self.meter.take(data.chunk()));
        if taken == Some(Err(TooLong)) {
            let why = b"a control frame is too long";
            self.quic.close(VarInt::from_u32(EXCESSIVE_LOAD), why);
            return too_long();
        }
        if matches!(self.meter.at, At::Unread)
            && let Some(mut unread) = self.inner.take()
        {
            tokio::spawn(async move {
                // To its end, or that of its connection.
                while let Ok(Some(_)) = poll_fn(|waker| unread.poll_data(waker)).await {}
            });
        }
        Poll::Ready(Ok(data))
    }

    fn stop_sending(&mut self, code: u64) {
        if let Some(inner) = &mut self.inner {
            inner.stop_sending(code);
        }
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

impl<S: RecvStream<Buf = Bytes>> RecvStream for Bounded<S> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let data = ready!(self.inner.poll_data(context))?;
        if data
            .as_ref()
            .is_none_or(|data| self.meter.take(data.chunk()).is_ok())
        {
            return Poll::Ready(Ok(data));
        }
        self.inner.stop_sending(EXCESSIVE_LOAD.into());
        too_long()
    }

    fn stop_sending(&mut self, code: u64) {
        self.inner.stop_sending(code);
    }

    fn recv_id(&self) -> StreamId {
        self.inner.recv_id()
    }
}

impl<S: SendStream<Bytes>> SendStream<Bytes> for Bounded<S> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.inner.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.inner.poll_finish(context)
    }

    fn reset(&mut self, code: u64) {
        self.inner.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.inner.send_id()
    }
}

impl<S> BidiStream<Bytes> for Bounded<S>
where
    S: BidiStream<Bytes> + RecvStream<Buf = Bytes>,
    S::RecvStream: RecvStream<Buf = Bytes>,
{
    type SendStream = S::SendStream;
    type RecvStream = Bounded<S::RecvStream>;

    fn split(self) -> (Self::SendStream, Self::RecvStream) {
        let (sending, inner) = self.inner.split();
        let receiving = Bounded {
            inner,
            meter: self.meter,
        };
        (sending, receiving)
    }
}

/// A connection all of whose streams are bounded.
pub struct BoundedConnection {
    inner: h3_quinn::Connection,
    quic: quinn::Connection,
    most: u64,
}

impl BoundedConnection {
    /// A header may have `most` bytes.
    pub fn new(quic: quinn::Connection, most: u32) -> BoundedConnection {
        BoundedConnection {
            inner: h3_quinn::Connection::new(quic.clone()),
            quic,
            most: most.into(),
        }
    }
}

type Request = Bounded<h3_quinn::BidiStream<Bytes>>;

impl Connection<Bytes> for BoundedConnection {
    type RecvStream = OneWay;
    type OpenStreams = BoundedOpener;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let inner = ready!(Connection::<Bytes>::poll_accept_recv(
            &mut self.inner,
            context
        ))?;
        Poll::Ready(Ok(OneWay {
            id: inner.recv_id(),
            inner: Some(inner),
            meter: Meter::of_one_way(),
            quic: self.quic.clone(),
        }))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let inner = ready!(self.inner.poll_accept_bidi(context))?;
        Poll::Ready(Ok(Bounded::request(inner, self.most)))
    }

    fn opener(&self) -> BoundedOpener {
        BoundedOpener {
            inner: Connection::<Bytes>::opener(&self.inner),
            most: self.most,
        }
    }
}

/// Opens streams of such a connection.
#[derive(Clone)]
pub struct BoundedOpener {
    inner: h3_quinn::OpenStreams,
    most: u64,
}

macro_rules! opens_bounded {
    ($($kind:ty),+) => {$(
        impl OpenStreams<Bytes> for $kind {
            type BidiStream = Request;
            type SendStream = h3_quinn::SendStream<Bytes>;

            fn poll_open_bidi(
                &mut self,
                context: &mut Context<'_>,
            ) -> Poll<Result<Request, StreamErrorIncoming>> {
                let inner = ready!(self.inner.poll_open_bidi(context))?;
                Poll::Ready(Ok(Bounded::request(inner, self.most)))
            }

            fn poll_open_send(
                &mut self,
                context: &mut Context<'_>,
            ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
                self.inner.poll_open_send(context)
            }

            fn close(&mut self, code: Code, reason: &[u8]) {
                OpenStreams::<Bytes>::close(&mut self.inner, code, reason);
            }
        }
    )+};
}

opens_bounded!(BoundedConnection, BoundedOpener);

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_BYTES: u32 = 16 << 10;

    fn of_request() -> Meter {
        Meter::of_request(HEADER_BYTES.into())
    }

    fn number(value: u64) -> Vec<u8> {
        (value | 3 << 62).to_be_bytes().to_vec()
    }

    /// A frame that claims to be so long, with some of it.
    fn frame(kind: u64, claimed: u64, there: usize) -> Vec<u8> {
        [number(kind), number(claimed), vec![7; there]].concat()
    }

    /// However the bytes are cut.
    fn taken(meter: fn() -> Meter, bytes: &[u8]) -> Result<(), TooLong> {
        let whole = meter().take(bytes);
        for pieces in [1, 3, 7] {
            let mut by_pieces = meter();
            let mut chunks = bytes.chunks(pieces);
            assert_eq!(chunks.try_for_each(|chunk| by_pieces.take(chunk)), whole);
        }
        whole
    }

    #[test]
    fn a_header_has_a_bound_and_a_body_has_none() {
        let most = u64::from(HEADER_BYTES);
        let fits = frame(1, most, HEADER_BYTES as usize);
        let body = frame(DATA, 1 << 40, 100_000);
        let request = [frame(0x21, 0, 0), fits.clone(), body].concat();
        assert_eq!(taken(of_request, &request), Ok(()));
        assert_eq!(taken(of_request, &frame(1, most + 1, 0)), Err(TooLong));
        let second = [fits, frame(DATA, 9, 9), frame(1, 1 << 32, 0)].concat();
        assert_eq!(taken(of_request, &second), Err(TooLong));
        assert_eq!(taken(of_request, &frame(WEBTRANSPORT, 0, 0)), Err(TooLong));
    }

    #[test]
    fn a_control_stream_has_a_tighter_one_and_others_have_no_frames() {
        let stream = |kind: u64, frame: Vec<u8>| [number(kind), frame].concat();
        let settings = [frame(4, 20, 20), frame(7, CONTROL_BYTES + 1, 0)].concat();
        assert_eq!(
            taken(Meter::of_one_way, &stream(CONTROL, frame(4, 20, 20))),
            Ok(())
        );
        assert_eq!(
            taken(Meter::of_one_way, &stream(CONTROL, settings)),
            Err(TooLong)
        );
        assert_eq!(
            taken(Meter::of_one_way, &stream(2, frame(4, 1 << 40, 9))),
            Ok(())
        );
    }
}
