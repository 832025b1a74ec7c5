//! Stands in for `quic` in a build without HTTP/3: nothing is opened, and what would be opened has no values.

use crate::upload::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use hyper::{Request, Response};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

#[derive(Clone, Debug)]
pub enum Crypto {}

/// Its field is private, so that code for it compiles elsewhere.
#[derive(Clone)]
pub struct Sender(Crypto);

#[derive(Debug)]
pub enum Connection {}

pub enum Download {}

pub struct Opened {
    pub sender: Sender,
    pub connection: Connection,
    pub round_trips: u8,
}

pub fn crypto(_: rustls::ClientConfig) -> Option<Crypto> {
    None
}

pub async fn connect(_: (SocketAddr, &str), crypto: Crypto, _: Option<u32>) -> io::Result<Opened> {
    match crypto {}
}

pub fn close(connection: &Connection) {
    match *connection {}
}

pub async fn send(sender: &mut Sender, _: Request<Body>) -> io::Result<Response<Download>> {
    match sender.0 {}
}

impl HttpBody for Download {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match *self {}
    }
}
