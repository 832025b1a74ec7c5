//! What `unbloat serve` is told.

use super::unit;
use crate::secret::{self, SecretError};
use std::net::SocketAddr;
use std::path::PathBuf;
use unbloat_serve::{Certificate, Limits, Options};
use unbloat_units::{Bytes, Delta, Rate};

/// The other end of a live test: `unbloat test`, goresponsiveness, mach, irtt and ndt7 clients, and with a page for
/// browsers.
///
/// Strangers may use it. What they may have is bounded by the limits below; beyond these a connection gets at most
/// 16 kB (HTTP/1.1: 128 kB) and 64 fields of header, 128 requests at a time, 30 s without a request and 10 s for TLS and a header; the echo
/// answers only who proved its address, at most 100 packets a second each, none longer than what came.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat serve
  unbloat serve --name test.example.net --token-file tokens --rate '200 Mbit/s'
  unbloat serve --cert chain.pem --key key.pem --listen 0.0.0.0:443
  unbloat serve --listen 10.0.0.1:4043 --plain 10.0.0.1:4080 --json
The other side:
  unbloat test https://HOST:4043 --pin FINGERPRINT
  irtt client HOST")]
pub struct Args {
    /// TCP with TLS (HTTP/1.1, HTTP/2) and UDP with QUIC (HTTP/3) [default: port 4043 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// HTTP without TLS too, for test beds
    #[arg(long, value_name = "ADDRESS:PORT")]
    plain: Option<SocketAddr>,

    /// irtt's protocol over UDP [default: port 2112 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    echo: Option<SocketAddr>,

    #[arg(long, conflicts_with = "echo", help = "No irtt")]
    no_echo: bool,

    /// Certificate chain in PEM [default: one is made at the start, and its fingerprint printed]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Name or address that a made certificate is for, beside localhost and the address listened on; may be repeated
    #[arg(long = "name", value_name = "HOST", conflicts_with = "cert")]
    names: Vec<String>,

    /// Who has this token may use the server, and nobody without; may be repeated. Other users of this machine can read
    /// it here: see --token-file
    #[arg(long = "token", value_name = "TOKEN")]
    tokens: Vec<String>,

    /// File with a token in each line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Congestion controls that clients may ask for, beside those that the kernel allows to everybody
    /// (net.ipv4.tcp_allowed_congestion_control); with commas. Those need CAP_NET_ADMIN, so they do not go with --user
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "user"
    )]
    congestion_control: Vec<String>,

    /// Serves as this user, with no other rights, once it listens and has read its files; for those who start it as root
    #[arg(long, value_name = "NAME")]
    user: Option<String>,

    /// Prints a unit of systemd that serves so, as a user of its own and shut off from all that it does not need
    #[arg(long, conflicts_with = "user")]
    pub unit: bool,

    /// Prints where it listens as a line of JSON, for scripts
    #[arg(long)]
    json: bool,

    /// Threads that serve, beside that of the echo [default: all cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    #[command(flatten)]
    bounds: Bounds,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct Bounds {
    /// Connections at a time, an eighth of them from one network (a /24 of IPv4, a /48 of IPv6)
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    connections: usize,

    /// Of these from one IPv4 address or one IPv6 network of 64 bits
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_per_address)]
    connections_per_address: usize,

    /// Sessions of `unbloat test` at a time, of which an address may have 32
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    sessions: usize,

    /// Clients of the echo at a time
    #[arg(long, value_name = "N", default_value_t = Limits::default().echo_clients)]
    echo_clients: usize,

    /// Longest download or upload
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    transfer_time: Delta,

    /// Largest upload
    #[arg(long, value_name = "SIZE", default_value = "8192MiB")]
    transfer_bytes: Bytes,

    /// Rate of all clients together, each way [default: none]
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,

    /// Memory of the server beyond which it takes no more connections, and ends those of the address that has most
    #[arg(long, value_name = "SIZE", default_value = "1024MiB")]
    memory: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum ArgsError {
    #[error("cannot read {file}: {source}")]
    File {
        file: String,
        source: std::io::Error,
    },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{0} holds no token: a server without tokens serves everybody")]
    NoToken(String),
}

impl Args {
    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// A unit that runs the same command; `words` are those of this one after the program's name.
    pub fn unit_file(&self, words: impl Iterator<Item = String>) -> String {
        let files = [
            ("--cert", &self.cert),
            ("--key", &self.key),
            ("--token-file", &self.token_file),
        ];
        unit::file(words, &files)
    }

    pub fn options(&self) -> Result<Options, ArgsError> {
        let usual = Options::default();
        Ok(Options {
            listen: self.listen.unwrap_or(usual.listen),
            plain: self.plain,
            echo: self.echo.or(usual.echo).filter(|_| !self.no_echo),
            certificate: self.certificate()?,
            tokens: self.all_tokens()?,
            congestion_controls: self.congestion_control.clone(),
            limits: self.bounds.limits(),
            threads: self.threads.map_or(usual.threads, usize::from),
        })
    }

    fn certificate(&self) -> Result<Certificate, ArgsError> {
        match (&self.cert, &self.key) {
            (Some(chain), Some(key)) => Ok(Certificate::Given {
                chain: std::fs::read(chain).map_err(|source| ArgsError::File {
                    file: chain.display().to_string(),
                    source,
                })?,
                key: secret::read(key)?,
            }),
            _ => Ok(Certificate::Made {
                names: self.names.clone(),
            }),
        }
    }

    fn all_tokens(&self) -> Result<Vec<String>, ArgsError> {
        let mut tokens = self.tokens.clone();
        if let Some(file) = &self.token_file {
            let bytes = secret::read(file)?;
            let text = String::from_utf8_lossy(&bytes);
            let before = tokens.len();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            tokens.extend(lines.map(str::to_owned));
            if tokens.len() == before {
                return Err(ArgsError::NoToken(file.display().to_string()));
            }
        }
        Ok(tokens)
    }
}

impl Bounds {
    fn limits(&self) -> Limits {
        Limits {
            connections: self.connections,
            connections_per_address: self.connections_per_address,
            sessions: self.sessions,
            echo_clients: self.echo_clients,
            transfer_time: self.transfer_time,
            transfer_bytes: self.transfer_bytes,
            rate: self.rate,
            memory: self.memory,
            ..Limits::default()
        }
    }
}
