//! Options of `unbloat serve`.

use super::follow::Files;
use super::unit;
use crate::confine::{CapabilitySet, May};
use crate::exit::Failure;
use crate::metrics::MetricsArgs;
use crate::secret::{self};
use std::net::SocketAddr;
use std::path::PathBuf;
use unbloat_os::folders;
use unbloat_server::{Certificate, Limits, Options};
use unbloat_units::{Bytes, Delta, Rate};

/// Run the server for live tests by `unbloat test`, browsers and others.
///
/// Clients need not be trusted: the limits below bound what they can use. In addition, a connection is limited to headers of
/// 16 kB (HTTP/1.1: 128 kB) and 64 fields, 128 concurrent requests, 30 s without a request, and 10 s for TLS and a header. The irtt
/// echo replies only to clients that have proved their address, at most 100 packets per second to each, never longer than the request.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat serve
  unbloat serve --name test.example.net --token-file tokens \\
    --max-rate '200 Mbit/s'
  unbloat serve --cert chain.pem --key key.pem --listen 0.0.0.0:443
  unbloat serve --listen 10.0.0.1:4043 --listen-plain 10.0.0.1:4080 --json
On another host:
  unbloat test https://HOST:4043 --pin FINGERPRINT
  irtt client HOST")]
pub struct Args {
    /// Address for TLS over TCP (HTTP/1.1, HTTP/2) and QUIC over UDP (HTTP/3) [default: port 4043 on all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// Additional address for HTTP without TLS, for test beds
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen_plain: Option<SocketAddr>,

    /// Address for the irtt protocol over UDP [default: port 2112 on all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen_echo: Option<SocketAddr>,

    #[arg(long, conflicts_with = "listen_echo", help = "Do not serve irtt")]
    no_echo: bool,

    /// Certificate chain, PEM, read again when it changes [default: generated at the first start, and its fingerprint printed]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,

    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,

    /// Announce this server on the local network (multicast DNS), so that `unbloat test` finds it without a name
    #[cfg(feature = "announce")]
    #[arg(long)]
    pub announce: bool,

    /// Additional name or address in the generated certificate, besides localhost and the listening address (may be repeated)
    #[arg(long = "name", value_name = "HOST", conflicts_with = "cert")]
    names: Vec<String>,

    /// Accept only clients with this token (may be repeated). Other users of this machine can see it, so prefer --token-file
    #[arg(long = "token", value_name = "TOKEN")]
    tokens: Vec<String>,

    /// File with one token per line
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Congestion controls that clients may request in addition to net.ipv4.tcp_allowed_congestion_control, comma-separated;
    /// requires CAP_NET_ADMIN, therefore not with --user
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        conflicts_with = "user"
    )]
    allow_congestion_control: Vec<String>,

    /// Drop root privileges after startup and run as this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Print a systemd unit with these options and exit (sandboxed, with a dynamic user)
    #[arg(long, conflicts_with = "user")]
    pub unit: bool,

    /// Print JSON, one object with the listening addresses and the fingerprint
    #[arg(long)]
    json: bool,

    /// Number of threads, besides that of the irtt echo [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    #[command(flatten)]
    pub metrics: MetricsArgs,

    #[command(flatten)]
    bounds: Bounds,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct Bounds {
    /// Maximum concurrent connections, at most 1/8 of them from one network (IPv4 /24, IPv6 /48)
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections)]
    max_connections: usize,

    /// Maximum concurrent connections from one IPv4 address or IPv6 /64
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections_per_address)]
    max_connections_per_address: usize,

    /// Maximum concurrent sessions of `unbloat test`, at most 32 of them from one address
    #[arg(long, value_name = "N", default_value_t = Limits::default().sessions)]
    max_sessions: usize,

    /// Maximum concurrent irtt clients
    #[arg(long, value_name = "N", default_value_t = Limits::default().echo_clients)]
    max_echo_clients: usize,

    /// Maximum duration of a download or upload
    #[arg(long, value_name = "SPAN", default_value = "60 s")]
    max_transfer_time: Delta,

    /// Maximum size of an upload
    #[arg(long, value_name = "SIZE", default_value = "8192 MiB")]
    max_upload: Bytes,

    /// Maximum total rate of all clients, per direction [default: unlimited]
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Rate>,

    /// Maximum memory of the server. Above it, refuse new connections and close some of the address with the most
    #[arg(long, value_name = "SIZE", default_value = "1024 MiB")]
    max_memory: Bytes,
}

impl Args {
    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The systemd unit that runs the same command; `words` are the arguments of this one.
    pub fn unit_file(&self, words: impl Iterator<Item = String>) -> String {
        let files = [
            ("--cert", &self.cert),
            ("--key", &self.key),
            ("--token-file", &self.token_file),
        ];
        unit::file(words, &files, self.announces())
    }

    pub fn options(&self) -> Result<Options, Failure> {
        let usual = Options::default();
        Ok(Options {
            listen: self.listen.unwrap_or(usual.listen),
            plain: self.listen_plain,
            echo: self.listen_echo.or(usual.echo).filter(|_| !self.no_echo),
            certificate: self.certificate()?,
            tokens: self.all_tokens()?,
            congestion_controls: self.allow_congestion_control.clone(),
            limits: self.bounds.limits(),
            threads: self.threads.map_or(usual.threads, usize::from),
        })
    }

    #[cfg(feature = "announce")]
    pub fn announces(&self) -> bool {
        self.announce
    }

    #[cfg(not(feature = "announce"))]
    pub fn announces(&self) -> bool {
        false
    }

    /// What root keeps while it serves.
    pub fn capabilities(&self) -> CapabilitySet {
        match self.allow_congestion_control.is_empty() {
            true => CapabilitySet::empty(),
            false => CapabilitySet::NET_ADMIN,
        }
    }

    /// Folders of the files that are read while it serves: of a certificate that is renewed, also where its links lead.
    pub fn reads(&self) -> Vec<(May, PathBuf)> {
        let files = [&self.cert, &self.key].into_iter().flatten();
        let places = files.flat_map(|file| [Some(file.clone()), file.canonicalize().ok()]);
        let folders = places
            .flatten()
            .filter_map(|mut file| file.pop().then_some(file));
        folders.map(|folder| (May::Read, folder)).collect()
    }

    /// Files that may change while the server runs.
    pub fn files(&self) -> Option<Files> {
        let (chain, key) = self.cert.clone().zip(self.key.clone())?;
        Some(Files { chain, key })
    }

    fn certificate(&self) -> Result<Certificate, Failure> {
        if let Some(files) = self.files() {
            let (chain, key) = files.read()?;
            return Ok(Certificate::Given { chain, key });
        }
        Ok(Certificate::Kept {
            file: folders::data().join("serve.pem"),
            names: self.names.clone(),
        })
    }

    fn all_tokens(&self) -> Result<Vec<String>, Failure> {
        let mut tokens = self.tokens.clone();
        if let Some(file) = &self.token_file {
            let bytes = secret::read(file)?;
            let text = String::from_utf8_lossy(&bytes);
            let before = tokens.len();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            tokens.extend(lines.map(str::to_owned));
            if tokens.len() == before {
                return Err(format!("{} contains no token, and a server without tokens accepts all clients; add one token per line", file.display()).into());
            }
        }
        Ok(tokens)
    }
}

impl Bounds {
    fn limits(&self) -> Limits {
        Limits {
            connections: self.max_connections,
            connections_per_address: self.max_connections_per_address,
            sessions: self.max_sessions,
            echo_clients: self.max_echo_clients,
            transfer_time: self.max_transfer_time,
            transfer_bytes: self.max_upload,
            rate: self.max_rate,
            memory: self.max_memory,
            ..Limits::default()
        }
    }
}
