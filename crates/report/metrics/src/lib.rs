//! Metrics for Prometheus: a [`Page`] of them, and a listener that serves it at `/metrics`, over HTTP/1.1, one request a connection.
//!
//! # Bounds
//! Whoever reaches the address is a stranger: at most [`CONNECTIONS`] at once (the oldest gives way), a head of at most [`LONGEST_HEAD`]
//! bytes, and [`PATIENCE`] for all of a connection. On the loopback address a `Host` other than it is refused: a page of another site could
//! give its own name that address, and read what is there. No body is read. Only `GET` and `HEAD` of `/metrics` are answered with the page.

mod page;
mod process;

pub use page::{Family, LONGEST_LABEL, MOST_SERIES, Page, Unit};
pub use process::process_page;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tracing::{debug, info};

/// Served at once; a scrape takes milliseconds.
const CONNECTIONS: usize = 8;
const LONGEST_HEAD: usize = 8_192;
/// For reading a request and writing its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// After an error of `accept`, which is of this process (no descriptors left) or of the client.
const PAUSE: Duration = Duration::from_millis(100);

/// Where metrics are served: an address, or a port on the loopback address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(SocketAddr);

impl Place {
    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Place, &'static str> {
        if let Ok(port) = text.parse() {
            return Ok(Place((Ipv4Addr::LOCALHOST, port).into()));
        }
        let address = text.parse().map(Place);
        address.map_err(|_| "expected PORT or ADDRESS:PORT, such as 9910 or 192.0.2.1:9910")
    }
}

/// The newest page, which the command puts here and the listener serves.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Page>>);

impl Board {
    pub fn put(&self, page: Page) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }

    pub fn page(&self) -> Page {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Who makes the page when it is asked for.
type Source = dyn Fn() -> Page + Send + Sync;

/// Serves until the process ends. Returns the address, whose port the kernel chose if none was given.
///
/// # Errors
/// The address cannot be listened on.
pub fn serve(
    place: Place,
    source: impl Fn() -> Page + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(place.0)?;
    let at = listener.local_addr()?;
    info!(address = %at, "serving metrics");
    let source: Arc<Source> = Arc::new(source);
    let name = || thread::Builder::new().name("metrics".to_owned());
    name().spawn(move || accept(&listener, &source))?;
    Ok(at)
}

fn accept(listener: &TcpListener, source: &Arc<Source>) {
    let open = Arc::new(Mutex::new(BTreeMap::new()));
    for number in 0_u64.. {
        let accepted = listener.accept().and_then(|(stream, _)| {
            let copy = stream.try_clone()?;
            Ok((stream, copy))
        });
        let Ok((stream, copy)) = accepted else {
            thread::sleep(PAUSE);
            continue;
        };
        let mut all = open.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, copy);
        // A scrape takes milliseconds: who is here longer than so many others says nothing.
        if all.len() > CONNECTIONS
            && let Some((_, oldest)) = all.pop_first()
        {
            debug!("too many connections for metrics; the oldest is closed");
            let _ = oldest.shutdown(Shutdown::Both);
        }
        drop(all);
        let held = Held {
            open: Arc::clone(&open),
            number,
        };
        let source = Arc::clone(source);
        let spawned = thread::Builder::new()
            .name("metrics".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                let _held = held;
                let _ = answer(&stream, &*source, Instant::now() + PATIENCE);
            });
        drop(spawned);
    }
}

/// Connections, by number.
type Open = Arc<Mutex<BTreeMap<u64, TcpStream>>>;

/// A place among the connections, given back however its thread ends.
struct Held {
    open: Open,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.number);
    }
}

fn answer(mut stream: &TcpStream, source: &Source, until: Instant) -> io::Result<()> {
    let head = read_head(stream, until)?;
    let is_local = stream.local_addr()?.ip().is_loopback();
    let reply = reply(head.as_deref(), is_local, source);
    let mut rest = reply.as_slice();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(rest)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => rest = &rest[written..],
        }
    }
    stream.shutdown(Shutdown::Write)
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

/// The head of a request; `None` if it is too long.
fn read_head(mut stream: &TcpStream, until: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut piece = [0; 1_024];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let seen = head.len().saturating_sub(3);
        head.extend_from_slice(&piece[..read]);
        if let Some(end) = head[seen..].windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(seen + end);
            return Ok(Some(head));
        }
        if head.len() > LONGEST_HEAD {
            return Ok(None);
        }
    }
}

fn reply(head: Option<&[u8]>, is_local: bool, source: &Source) -> Vec<u8> {
    let Some(head) = head else {
        return plain(
            "431 Request Header Fields Too Large",
            "the request is too long\n",
        );
    };
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version] = words[..] else {
        return plain("400 Bad Request", "this is no request of HTTP/1\n");
    };
    if !version.starts_with("HTTP/1.") {
        return plain("400 Bad Request", "this is no request of HTTP/1\n");
    }
    let fields = lines.filter_map(|line| line.split_once(':'));
    let mut hosts = fields.filter(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
    if is_local && !hosts.all(|(_, host)| is_this_host(host)) {
        return plain("403 Forbidden", "ask by the address or as localhost\n");
    }
    let path = target.split('?').next().unwrap_or_default();
    if path != "/metrics" {
        return plain("404 Not Found", "the metrics are at /metrics\n");
    }
    if !matches!(method, "GET" | "HEAD") {
        return plain("405 Method Not Allowed", "use GET\n");
    }
    let body = source().render();
    let mut reply = headed("200 OK", page::CONTENT_TYPE, body.len());
    if method == "GET" {
        reply.extend_from_slice(body.as_bytes());
    }
    reply
}

/// Names that no other host can have: an address, with or without a port, and `localhost`.
fn is_this_host(host: &str) -> bool {
    let host = host.trim();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_address = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    name.eq_ignore_ascii_case("localhost") || is_address(name) || is_address(host)
}

fn plain(status: &str, body: &str) -> Vec<u8> {
    let mut reply = headed(status, "text/plain; charset=utf-8", body.len());
    reply.extend_from_slice(body.as_bytes());
    reply
}

fn headed(status: &str, kind: &str, length: usize) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> SocketAddr {
        let board = Board::default();
        let mut page = Page::default();
        page.gauge("unbloat_delay", Unit::Seconds, "Delay.")
            .value(0.5);
        board.put(page);
        serve("0".parse().unwrap(), move || board.page()).unwrap()
    }

    fn ask(at: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(at).unwrap();
        // It may be closed meanwhile.
        let _ = stream.write_all(request);
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply);
        reply
    }

    #[test]
    fn a_port_alone_is_on_the_loopback_address() {
        let at: Place = "9910".parse().unwrap();
        assert_eq!(at.address(), "127.0.0.1:9910".parse().unwrap());
        let open: Place = "[::]:1".parse().unwrap();
        assert_eq!(open.address(), "[::]:1".parse().unwrap());
        assert!("localhost:1".parse::<Place>().is_err() && "70000".parse::<Place>().is_err());
    }

    #[test]
    fn the_page_is_served_to_get_and_its_head_to_head() {
        let at = start();
        assert!(at.ip().is_loopback());
        let text = ask(at, b"GET /metrics HTTP/1.1\r\nHost: localhost:9910\r\n\r\n");
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"),
            "{text}"
        );
        assert!(text.contains("\nunbloat_delay_seconds 0.5\n"));
        let head = ask(at, b"HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn strangers_get_an_answer_and_no_more() {
        let at = start();
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"\xff\xfe\r\n\r\n", "400"),
            (b"GET /metrics SPDY/3\r\n\r\n", "400"),
            (
                b"GET /metrics HTTP/1.1\r\nhost: evil.example:9910\r\n\r\n",
                "403",
            ),
            (b"GET /metrics HTTP/1.1\r\nHost: [::1]:9910\r\n\r\n", "200"),
            (b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200"),
        ] {
            let reply = ask(at, request);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
        }
        let long = [
            b"GET /metrics HTTP/1.1\r\nx: ",
            &[b'a'; 2 * LONGEST_HEAD][..],
        ]
        .concat();
        let reply = ask(at, &long);
        assert!(
            reply.is_empty() || reply.starts_with("HTTP/1.1 431"),
            "{reply}"
        );
    }

    #[test]
    fn silent_connections_keep_nobody_out() {
        let at = start();
        let silent: Vec<TcpStream> = (0..2 * CONNECTIONS)
            .map(|_| TcpStream::connect(at).unwrap())
            .collect();
        let reply = ask(at, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        // The oldest are gone before their time.
        let mut first = &silent[0];
        first.set_read_timeout(Some(PATIENCE / 2)).unwrap();
        assert_eq!(first.read(&mut [0]).unwrap(), 0);
        drop(silent);
    }
}
