//! Alerts: a command gets them on standard input, a webhook by POST, as JSON.
//!
//! Nothing is sent anywhere but where the user said. One thread sends; at most [`WAITING`] wait for it, and none is waited for.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tracing::{info, warn};
use url::Url;

/// Alerts that may wait to be sent.
const WAITING: usize = 16;
/// For one alert.
const PATIENCE: Duration = Duration::from_secs(20);
/// Of an answer; only its status counts.
const MOST_ANSWER: usize = 4_096;

/// Whom to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A command line for `/bin/sh`.
    Command(String),
    Web(Url),
}

/// Why an alert was not taken.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Slow,
    #[error("the command failed with {0}")]
    Failed(std::process::ExitStatus),
    #[error("the server answered: {0}")]
    Refused(String),
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// An `http` or `https` address with a host.
pub struct WebAddress(pub Url);

impl FromStr for WebAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<WebAddress, String> {
        let url: Url = text.parse().map_err(|error| format!("{error}"))?;
        match (url.scheme(), url.host_str()) {
            ("http" | "https", Some(_)) => Ok(WebAddress(url)),
            _ => Err("expected http://HOST/PATH or https://HOST/PATH".to_owned()),
        }
    }
}

impl Hook {
    /// A webhook.
    ///
    /// # Errors
    /// This is no address of HTTP.
    pub fn web(text: &str) -> Result<Hook, String> {
        text.parse().map(|WebAddress(url)| Hook::Web(url))
    }

    fn send(&self, document: &str) -> Result<(), HookError> {
        let until = Instant::now() + PATIENCE;
        match self {
            Hook::Command(line) => run(line, document, until),
            Hook::Web(url) => post(url, document, until),
        }
    }

    /// What may be shown: addresses of webhooks hold secrets.
    fn shown(&self) -> String {
        match self {
            Hook::Command(line) => line.clone(),
            Hook::Web(url) => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        }
    }
}

/// Sends alerts on a thread of its own.
pub struct Notifier {
    queue: Option<SyncSender<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Notifier {
    /// `failed` is told of alerts that were not taken.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        hooks: Vec<Hook>,
        failed: impl Fn(String) + Send + 'static,
    ) -> io::Result<Notifier> {
        let (queue, alerts) = sync_channel::<String>(WAITING);
        let thread = thread::Builder::new()
            .name("alerts".to_owned())
            .spawn(move || {
                for document in alerts {
                    for hook in &hooks {
                        match hook.send(&document) {
                            Ok(()) => info!(to = hook.shown(), "alert sent"),
                            Err(error) => {
                                warn!(to = hook.shown(), %error, "alert not sent");
                                failed(format!("alert to {} failed: {error}", hook.shown()));
                            }
                        }
                    }
                }
            })?;
        Ok(Notifier {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Sends soon; false if too many wait already.
    pub fn send(&self, document: String) -> bool {
        let Some(queue) = &self.queue else {
            return false;
        };
        match queue.try_send(document) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }
}

impl Drop for Notifier {
    /// Waits for what is being sent.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(line: &str, document: &str, until: Instant) -> Result<(), HookError> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    // A document is far smaller than a pipe's buffer, so this does not wait for the command.
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(document.as_bytes());
    }
    let status = wait(&mut child, until)?;
    match status.success() {
        true => Ok(()),
        false => Err(HookError::Failed(status)),
    }
}

fn wait(child: &mut Child, until: Instant) -> Result<std::process::ExitStatus, HookError> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(HookError::Slow);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// RFC 9112: one request, then the connection is closed.
fn post(url: &Url, document: &str, until: Instant) -> Result<(), HookError> {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or(80);
    let stream = connect((host.trim_matches(['[', ']']), port), until)?;
    let authority = match url.port() {
        Some(given) => format!("{host}:{given}"),
        None => host.to_owned(),
    };
    let query = url
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let request = format!(
        "POST {}{query} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: unbloat/{}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{document}",
        url.path(),
        env!("CARGO_PKG_VERSION"),
        document.len()
    );
    let mut timed = Timed { stream, until };
    let status = match url.scheme() {
        "https" => {
            let config = Arc::new(config()?);
            let name = ServerName::try_from(host.to_owned());
            let name = name.map_err(|error| io::Error::other(error.to_string()))?;
            let mut tls = StreamOwned::new(ClientConnection::new(config, name)?, timed);
            exchange(&mut tls, &request)?
        }
        _ => exchange(&mut timed, &request)?,
    };
    match status
        .split(' ')
        .nth(1)
        .is_some_and(|code| code.starts_with('2'))
    {
        true => Ok(()),
        false => {
            let shown = status.chars().filter(|c| !c.is_control()).take(80);
            Err(HookError::Refused(shown.collect()))
        }
    }
}

fn connect(host: (&str, u16), until: Instant) -> Result<TcpStream, HookError> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn config() -> Result<ClientConfig, HookError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The status line of the answer.
fn exchange(stream: &mut (impl Read + Write), request: &str) -> Result<String, HookError> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    let mut piece = [0; 512];
    while answer.len() < MOST_ANSWER && !answer.contains(&b'\n') {
        match stream.read(&mut piece)? {
            0 => break,
            read => answer.extend_from_slice(&piece[..read]),
        }
    }
    let text = String::from_utf8_lossy(&answer);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// A stream that gives up at a moment.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::Mutex;

    fn server(answer: &'static str) -> (Url, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
        let thread = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            let mut piece = [0; 1_024];
            while !got.ends_with(b"}") {
                let read = stream.read(&mut piece).unwrap();
                got.extend_from_slice(&piece[..read]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(got).unwrap()
        });
        (url.parse().unwrap(), thread)
    }

    #[test]
    fn a_webhook_gets_the_document_and_its_refusal_is_an_error() {
        let (url, thread) = server("HTTP/1.1 204 No Content\r\n\r\n");
        Hook::Web(url).send("{\"a\":1}").unwrap();
        let got = thread.join().unwrap();
        assert!(
            got.starts_with("POST /hook?key=1 HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{got}"
        );
        assert!(
            got.ends_with("Content-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}"),
            "{got}"
        );
        let (other, refusing) = server("HTTP/1.1 403 Forbidden\x1b\r\n\r\n");
        let refused = Hook::Web(other).send("{}").unwrap_err().to_string();
        assert_eq!(refused, "the server answered: HTTP/1.1 403 Forbidden");
        refusing.join().unwrap();
    }

    #[test]
    fn a_command_gets_the_document_on_its_standard_input() {
        let check = |line: &str| Hook::Command(line.to_owned()).send("{\"a\":1}");
        check("test \"$(cat)\" = '{\"a\":1}'").unwrap();
        check("exit 0").unwrap();
        assert!(matches!(
            check("cat > /dev/null; exit 3"),
            Err(HookError::Failed(_))
        ));
    }

    #[test]
    fn the_address_of_a_webhook_is_checked_and_its_path_not_shown() {
        assert!(Hook::web("ftp://host/x").is_err() && Hook::web("nonsense").is_err());
        // Names in other scripts are given as the DNS has them.
        assert!(Hook::web("https://bücher.example/x").is_err());
        assert!(Hook::web("https://xn--bcher-kva.example/x").is_ok());
        let hook = Hook::web("https://hooks.example/SECRET?token=SECRET").unwrap();
        assert_eq!(hook.shown(), "https://hooks.example");
    }

    #[test]
    fn failures_are_told_and_nobody_waits_for_alerts() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let told_too = Arc::clone(&told);
        let failed = move |text| told_too.lock().unwrap().push(text);
        let notifier = Notifier::start(vec![Hook::Command("exit 7".to_owned())], failed).unwrap();
        let sent = (0..3 * WAITING)
            .filter(|_| notifier.send("{}".to_owned()))
            .count();
        assert!(sent >= WAITING);
        drop(notifier);
        assert_eq!(told.lock().unwrap().len(), sent);
    }
}
