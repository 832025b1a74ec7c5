//! One connection: exchanges, one after the other.

use crate::apps::app::Tell;
use crate::apps::body::Upload;
use crate::apps::server::Server;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST};
use hyper::{Request, Response};
use std::io;
use std::rc::Rc;
use tokio::sync::mpsc::UnboundedReceiver;
use unbloat_units::{Bytes, Direction};
use unbloat_untrusted::one_line;
use unbloat_workload::{Conn, Happening};

/// Answers of which nothing but words is wanted.
const LARGEST_TEXT: usize = 4_096;

/// What a workload asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order {
    pub(crate) request: Bytes,
    pub(crate) response: Bytes,
}

/// Carries out orders until there will be no more.
pub(crate) async fn carry(
    server: Rc<Server>,
    conn: Conn,
    mut orders: UnboundedReceiver<Order>,
    tell: Tell,
) {
    let carried = async {
        let mut sender = server.connect().await?;
        tell.happened(Happening::Opened { conn });
        while let Some(order) = orders.recv().await {
            exchange(&server, &mut sender, conn, order, &tell).await?;
        }
        Ok(())
    };
    if let Err(error) = carried.await {
        tell.failed(root(&error));
    }
}

async fn exchange(
    server: &Server,
    sender: &mut SendRequest<Upload>,
    conn: Conn,
    order: Order,
    tell: &Tell,
) -> io::Result<()> {
    sender.ready().await.map_err(io::Error::other)?;
    let response = sender.send_request(request(server, order)?).await;
    let response = response.map_err(io::Error::other)?;
    if !response.status().is_success() {
        let status = response.status();
        let said = text(response).await.unwrap_or_default();
        return Err(io::Error::other(format!(
            "the server answered {status}: {}",
            words(&said)
        )));
    }
    match order.response {
        Bytes::ZERO => uploaded(response, conn, order.request, tell).await?,
        size => download(response, conn, size, tell).await?,
    }
    tell.happened(Happening::Done { conn });
    Ok(())
}

fn request(server: &Server, order: Order) -> io::Result<Request<Upload>> {
    let builder = match order.response {
        Bytes::ZERO => Request::post("/upload"),
        size => Request::get(format!("/large?bytes={}", size.as_u64())),
    };
    let mut builder = builder
        .header(HOST, server.authority())
        .header(ACCEPT_ENCODING, "identity");
    if let Some(token) = &server.token {
        builder = builder.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let body = match order.response {
        Bytes::ZERO => Upload::of(order.request),
        _ => Upload::default(),
    };
    builder.body(body).map_err(io::Error::other)
}

async fn uploaded(
    response: Response<Incoming>,
    conn: Conn,
    sent: Bytes,
    tell: &Tell,
) -> io::Result<()> {
    let answer = text(response).await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer).map_err(io::Error::other)?;
    let received = answer["received_bytes"].as_u64().unwrap_or(0);
    if received != sent.as_u64() {
        let why = format!("the server took {received} of {} bytes", sent.as_u64());
        return Err(io::Error::other(why));
    }
    tell.happened(Happening::Read {
        conn,
        direction: Direction::Up,
        bytes: sent,
    });
    Ok(())
}

async fn download(
    response: Response<Incoming>,
    conn: Conn,
    size: Bytes,
    tell: &Tell,
) -> io::Result<()> {
    let mut body = response.into_body();
    let mut read = Bytes::ZERO;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else {
            continue;
        };
        let bytes = Bytes::new(data.len() as u64);
        read += bytes;
        tell.happened(Happening::Read {
            conn,
            direction: Direction::Down,
            bytes,
        });
    }
    match read == size {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "the server gave {} of {} bytes",
            read.as_u64(),
            size.as_u64()
        ))),
    }
}

async fn text(response: Response<Incoming>) -> io::Result<Vec<u8>> {
    let read = Limited::new(response.into_body(), LARGEST_TEXT)
        .collect()
        .await;
    Ok(read.map_err(io::Error::other)?.to_bytes().to_vec())
}

fn words(text: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(text))
}

/// The innermost cause: HTTP's own words say only where it was noticed.
fn root(error: &io::Error) -> String {
    let mut at: &dyn std::error::Error = error;
    while let Some(inner) = at.source() {
        at = inner;
    }
    one_line(&at.to_string())
}
