//! A stand-in for Cloudflare's speed test, for Apple's service, for M-Lab's Locate and for a server with a large file.
//!
//! # References
//! `@cloudflare/speedtest` 1.14 (npm) for `__down` and `__up`; draft-ietf-ippm-responsiveness-09, 5, with the keys of its older clients for Apple's service;
//! M-Lab's Locate API 2.0.0 (m-lab/locate, `USAGE.md`);
//! RFC 9110 for all else.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

const FILE: u64 = 40_000_000;

/// What such servers do beside what is wanted of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    None,
    /// A login page in place of all else.
    Portal,
    Elsewhere,
    /// The file is of a few bytes more than a description may have.
    Short,
    Gzip,
    /// 429 from this request on.
    Busy {
        after: usize,
    },
    /// Bodies end before what was asked for, and in the middle of nothing.
    Early,
    Endless,
    /// Answers an upload before it has come.
    Unread,
    /// While it sends a file, small requests wait 300 ms.
    Slow,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<String>>,
    /// Large answers that are under way.
    large: AtomicUsize,
}

pub struct StandIn {
    pub address: SocketAddr,
    /// Of its certificate, if it has one.
    pub pin: Option<[u8; 32]>,
    seen: Arc<Seen>,
    /// Ends with it.
    _runtime: tokio::runtime::Runtime,
}

impl StandIn {
    pub fn plain(quirk: Quirk) -> StandIn {
        StandIn::serve(StandIn::listener("127.0.0.1"), quirk, None)
    }

    pub fn tls(quirk: Quirk, alpn: &[&[u8]]) -> StandIn {
        StandIn::serve(StandIn::listener("127.0.0.1"), quirk, Some(alpn))
    }

    pub fn listener(ip: &str) -> TcpListener {
        TcpListener::bind((ip, 0)).unwrap()
    }

    pub fn serve(listener: TcpListener, quirk: Quirk, alpn: Option<&[&[u8]]>) -> StandIn {
        let address = listener.local_addr().unwrap();
        let identity = alpn.map(|alpn| unbloat_server::testing::tls(&["127.0.0.1"], alpn));
        let pin = identity.as_ref().map(|(_, pin)| *pin);
        let acceptor = identity.map(|(config, _)| TlsAcceptor::from(Arc::new(config)));
        let seen = Arc::new(Seen::default());
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        listener.set_nonblocking(true).unwrap();
        let of_task = seen.clone();
        runtime.spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, of_peer) = (acceptor.clone(), of_task.clone());
                // Clients go as they like.
                tokio::spawn(async move {
                    match acceptor {
                        None => talk(stream, false, (quirk, of_peer)).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                let is_two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                                talk(stream, is_two, (quirk, of_peer)).await;
                            }
                        }
                    }
                });
            }
        });
        StandIn {
            address,
            pin,
            seen,
            _runtime: runtime,
        }
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }
}

async fn talk<S>(stream: S, is_two: bool, (quirk, seen): (Quirk, Arc<Seen>))
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| answer(request, quirk, seen.clone()));
    let stream = TokioIo::new(stream);
    let _ = match is_two {
        true => {
            let builder = http2::Builder::new(TokioExecutor::new());
            builder.serve_connection(stream, service).await
        }
        false => {
            http1::Builder::new()
                .serve_connection(stream, service)
                .await
        }
    };
}

type Answer = Result<Response<Zeros>, Infallible>;

async fn answer(request: Request<Incoming>, quirk: Quirk, seen: Arc<Seen>) -> Answer {
    let path = request.uri().path_and_query().unwrap().to_string();
    let number = {
        let mut requests = seen.requests.lock().unwrap();
        let authorized = match request.headers().contains_key("authorization") {
            true => " with a token",
            false => "",
        };
        requests.push(format!("{} {path}{authorized}", request.method()));
        requests.len()
    };
    let plain = |status: u16, body: &'static [u8]| {
        let response = Response::builder().status(status);
        Ok(response.body(Zeros::text(body)).unwrap())
    };
    match quirk {
        Quirk::Portal => return plain(200, b"<!doctype html><title>Log in</title>"),
        Quirk::Busy { after } if number > after => return plain(429, b"error code: 1015"),
        Quirk::Gzip => return plain(200, &[0x1f, 0x8b, 8, 0]),
        Quirk::Elsewhere => {
            let to = "http://elsewhere.example/x";
            let response = Response::builder().status(302).header("location", to);
            return Ok(response.body(Zeros::text("")).unwrap());
        }
        _ => {}
    }
    if let Some(ports) = path.strip_prefix("/v2/nearest/ndt/ndt7?ports=") {
        let machines: Vec<String> = ports.split(',').map(machine).collect();
        let text = format!(r#"{{"results":[{}]}}"#, machines.join(","));
        return Ok(Response::new(Zeros::text(text)));
    }
    let asked = match (request.method(), &path[..]) {
        (_, "/api/v1/gm/config") => {
            let authority = request.uri().authority().unwrap();
            let url = format!("https://{authority}/api/v1/gm");
            let urls = format!(
                r#""small_https_download_url":"{url}/small","large_https_download_url":"{url}/large","https_upload_url":"{url}/slurp""#
            );
            let text = format!(r#"{{"version":1,"urls":{{{urls}}}}}"#);
            return Ok(Response::new(Zeros::text(text)));
        }
        (_, "/api/v1/gm/small") => 1,
        (_, "/api/v1/gm/large") => 8 << 30,
        (&Method::POST, "/__up" | "/api/v1/gm/slurp") => {
            let mut body = request.into_body();
            while quirk != Quirk::Unread && matches!(body.frame().await, Some(Ok(_))) {}
            return plain(200, b"OK");
        }
        (_, "/large.iso") if quirk == Quirk::Short => 100_000,
        (_, "/large.iso") => FILE,
        (_, path) => match path.strip_prefix("/__down?bytes=").map(str::parse) {
            Some(Ok(bytes)) => bytes,
            _ => return plain(404, b""),
        },
    };
    let is_small = asked == 0 || request.method() == Method::HEAD;
    if quirk == Quirk::Slow && is_small && seen.large.load(Ordering::Relaxed) > 0 {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let (rest, length) = match quirk {
        _ if asked == 0 => (0, Some(0)),
        Quirk::Early => (1_000, None),
        Quirk::Endless => (u64::MAX, None),
        _ => (asked, Some(asked)),
    };
    let body = Zeros {
        rest,
        length,
        text: None,
        large: (!is_small).then(|| Large::of(seen)),
    };
    Ok(Response::new(body))
}

/// A server of ndt7 at a port, as Locate names one.
fn machine(port: &str) -> String {
    let urls = ["download", "upload"].map(|way| {
        format!(r#""wss:///ndt/v7/{way}":"wss://ndt.measurement-lab.org:{port}/ndt/v7/{way}?access_token=OPENS""#)
    });
    format!(r#"{{"machine":"at-{port}","urls":{{{}}}}}"#, urls.join(","))
}

/// Counts as a large answer as long as it lives.
struct Large(Arc<Seen>);

impl Large {
    fn of(seen: Arc<Seen>) -> Large {
        seen.large.fetch_add(1, Ordering::Relaxed);
        Large(seen)
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        self.0.large.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Zeros {
    rest: u64,
    /// As it is told.
    length: Option<u64>,
    text: Option<Bytes>,
    #[expect(dead_code, reason = "for its drop")]
    large: Option<Large>,
}

impl Zeros {
    fn text(text: impl Into<Bytes>) -> Zeros {
        let text = text.into();
        Zeros {
            rest: 0,
            length: Some(text.len() as u64),
            text: Some(text).filter(|text| !text.is_empty()),
            large: None,
        }
    }
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        static PIECE: [u8; 16 * 1024] = [0; 16 * 1024];
        if let Some(text) = self.text.take() {
            return Poll::Ready(Some(Ok(Frame::data(text))));
        }
        let piece = (PIECE.len() as u64).min(self.rest);
        self.rest -= piece;
        let piece = Bytes::from_static(&PIECE[..piece as usize]);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
