//! A server that wants its load carried by another address (`test_endpoint`).

use rustls::ServerConfig;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use unbloat_loadtest::{Flows, Http, Options, Plan, Rule, Stack, TestError, measure};
use unbloat_units::Delta;

const ASKED: [u8; 4] = [127, 0, 0, 1];
const NAMED: [u8; 4] = [127, 0, 0, 77];

struct Identity {
    config: Arc<ServerConfig>,
    pin: [u8; 32],
}

impl Identity {
    fn new() -> Identity {
        let (config, pin) = unbloat_server::testing::tls(&["127.0.0.1"], &[]);
        Identity {
            config: Arc::new(config),
            pin,
        }
    }
}

/// The plainest server of the draft: HTTP/1.1, a thread for each connection.
#[derive(Clone, Default)]
struct Server {
    connections: Arc<AtomicUsize>,
    /// Their first lines.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn serve(listener: TcpListener, tls: Option<Arc<ServerConfig>>) -> Server {
        let server = Server::default();
        let ours = server.clone();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            // To the end of this process.
            for stream in listener.incoming().map_while(Result::ok) {
                server.connections.fetch_add(1, Ordering::SeqCst);
                let (server, tls) = (server.clone(), tls.clone());
                std::thread::spawn(move || server.talk(stream, tls, port));
            }
        });
        ours
    }

    fn talk(&self, stream: TcpStream, tls: Option<Arc<ServerConfig>>, port: u16) {
        // Clients go as they like.
        let _ = match tls {
            None => self.answer(stream, ("http", port)),
            Some(tls) => {
                let session = rustls::ServerConnection::new(tls).unwrap();
                self.answer(rustls::StreamOwned::new(session, stream), ("https", port))
            }
        };
    }

    fn answer(&self, mut stream: impl Read + Write, (scheme, port): (&str, u16)) -> io::Result<()> {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let urls = ["small_download", "large_download", "upload"]
            .map(|name| format!(r#""{name}_url":"{url}/{name}""#));
        let named = std::net::Ipv4Addr::from(NAMED);
        let description = format!(
            r#"{{"version":1,"urls":{{{}}},"test_endpoint":"{named}"}}"#,
            urls.join(",")
        );
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte)?;
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let line = head.lines().next().unwrap_or_default().to_owned();
            self.requests.lock().unwrap().push(line.clone());
            let (status, body) = match line.split(' ').nth(1).unwrap_or_default() {
                "/.well-known/nq" => ("200 OK", description.as_bytes().to_vec()),
                "/large_download" => ("200 OK", vec![7; 1 << 20]),
                "/small_download" => ("200 OK", vec![7]),
                "/upload" => loop {
                    if stream.read(&mut [0; 1 << 16])? == 0 {
                        return Ok(());
                    }
                },
                _ => ("404 Not Found", Vec::new()),
            };
            write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            )?;
            stream.write_all(&body)?;
        }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Two listeners at one port of two addresses.
fn listeners() -> [TcpListener; 2] {
    loop {
        let asked = TcpListener::bind(SocketAddr::from((ASKED, 0))).unwrap();
        let port = asked.local_addr().unwrap().port();
        if let Ok(named) = TcpListener::bind(SocketAddr::from((NAMED, port))) {
            return [asked, named];
        }
    }
}

fn options(scheme: &str, port: u16) -> Options {
    let mut options = Options::of(format!("{scheme}://127.0.0.1:{port}").parse().unwrap());
    options.http = Http::One;
    let lengths = [100, 200, 200, 0].map(Delta::ms);
    options.plan = Plan::of("short", Delta::ms(100), lengths, &[Stack::AsIs]);
    options.flows = Flows::Fixed(1);
    options.token = Some("SECRET".to_owned());
    options
}

fn refused(options: &Options) -> String {
    let error = measure(options, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, TestError::Endpoint { .. }), "{error}");
    error.to_string()
}

#[test]
fn without_tls_nothing_is_sent_to_another_address() {
    let [asked, named] = listeners();
    let port = asked.local_addr().unwrap().port();
    let (asked, named) = (Server::serve(asked, None), Server::serve(named, None));
    let told = refused(&options("http", port));
    assert!(told.contains("127.0.0.77"), "{told}");
    assert_eq!((asked.connections() > 0, named.connections()), (true, 0));
}

#[test]
fn who_believes_anybody_is_led_nowhere() {
    let [asked, named] = listeners();
    let port = asked.local_addr().unwrap().port();
    let identity = Identity::new();
    let _asked = Server::serve(asked, Some(identity.config.clone()));
    let named = Server::serve(named, Some(identity.config));
    let mut options = options("https", port);
    options.trust.is_blind = true;
    refused(&options);
    assert_eq!(named.connections(), 0);
}

#[test]
fn another_certificate_gets_a_handshake_and_nothing_more() {
    let [asked, named] = listeners();
    let port = asked.local_addr().unwrap().port();
    let identity = Identity::new();
    let _asked = Server::serve(asked, Some(identity.config));
    let named = Server::serve(named, Some(Identity::new().config));
    let mut options = options("https", port);
    options.trust.pin = Some(identity.pin);
    let told = refused(&options);
    assert!(told.contains("certificate"), "{told}");
    assert_eq!(named.requests.lock().unwrap().len(), 0);
}

#[test]
fn the_same_certificate_carries_the_load_and_is_named() {
    let [asked, named] = listeners();
    let port = asked.local_addr().unwrap().port();
    let identity = Identity::new();
    let asked = Server::serve(asked, Some(identity.config.clone()));
    let named = Server::serve(named, Some(identity.config));
    let mut options = options("https", port);
    options.trust.pin = Some(identity.pin);
    let lengths = [100, 20_000, 0, 0].map(Delta::ms);
    options.plan = Plan::of("short", Delta::ms(100), lengths, &[Stack::AsIs]);
    let lines = |server: &Server| server.requests.lock().unwrap().join("\n");
    let stop = AtomicBool::new(false);
    // On a busy machine a load takes its time to begin.
    let mut until_loaded = |_: &unbloat_loadtest::Progress| {
        stop.fetch_or(lines(&named).contains("/large_download"), Ordering::Relaxed);
    };
    let measured = measure(&options, &stop, &mut until_loaded).unwrap();
    assert!(
        stop.load(Ordering::Relaxed),
        "{:?} {}",
        measured.flows,
        lines(&named)
    );
    assert!(!lines(&asked).contains("/large_download"));
    let findings = unbloat_loadtest::findings(&measured, Rule::DslReports);
    let text = unbloat_loadtest::text(&measured, &findings, unbloat_text::Layout::default());
    let first = text.lines().next().unwrap();
    assert!(
        first.contains(&format!("127.0.0.77:{port}"))
            && first.contains(&format!("127.0.0.1:{port}")),
        "{first}"
    );
    let json = serde_json::to_value(unbloat_loadtest::document(&measured, &findings)).unwrap();
    assert_eq!(json["server"]["asked_address"], format!("127.0.0.1:{port}"));
}
