//! The first contact: addresses, what the server offers, a session.

use super::endpoint;
use crate::addresses::{addresses, first};
use crate::error::TestError;
use crate::http::Dialer;
use crate::load::Carrier;
use crate::measured::Server;
use crate::ndt7::{self, Refusal};
use crate::options::{Http, Options};
use crate::plan::Load;
use crate::public::Public;
use crate::service::{self, ANSWER_TIME, Service};
use crate::socket::Settings;
use crate::target::{Origin, Target};
use rustls::CertificateError;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use tracing::info;
use unbloat_os::clock::Clock;
use unbloat_responsiveness::Echoless;
use unbloat_units::Direction;

const QUIC_LIMITATION: &str = "the kernel's view, and the limit of 5 ms on what waits unsent: QUIC lives in programs, not in the kernel, so senders' buffers are as their libraries have them";

const NDT7_LIMITATION: &str = "probes of HTTP and responsiveness: ndt7 has none of them, so added delay is that of ICMP and of TCP handshakes; one connection, one way at a time (--echo HOST:PORT adds datagrams)";

/// Whom a test deals with.
pub(super) struct Met {
    pub(super) server: Server,
    pub(super) carrier: Option<Carrier>,
    /// Where datagrams may be echoed, in the order in which to ask.
    pub(super) echo: Vec<SocketAddr>,
    pub(super) limitations: Vec<String>,
}

pub(super) async fn meet(options: &Options, clock: Clock) -> Result<Met, TestError> {
    let settings = Settings::of(options)?;
    let mut met = match &options.target {
        Target::Responsiveness(origin) | Target::Cloudflare(origin) => {
            responsiveness(options, origin, settings, clock).await?
        }
        Target::Irtt { host, port } => Met {
            server: Server::default(),
            carrier: None,
            echo: addresses(host, *port, options.ip).await?,
            limitations: vec![
                "load: an irtt server echoes datagrams and carries nothing else".to_owned(),
            ],
        },
        Target::Ndt7(origin) => {
            let service = Service::ndt7(origin.port, options);
            of_ndt7(options, (origin, service), settings, clock).await?
        }
        Target::Mlab(origin) => of_mlab(options, origin, settings, clock).await?,
    };
    if let Some((host, port)) = &options.echo {
        met.echo = addresses(host, *port, options.ip).await?;
    }
    Ok(met)
}

async fn responsiveness(
    options: &Options,
    origin: &Origin,
    settings: Settings,
    clock: Clock,
) -> Result<Met, TestError> {
    if let Some(reason) = unfit(options, origin) {
        return Err(TestError::Unsupported {
            target: options.target.clone(),
            reason,
        });
    }
    let all = asked(options, origin).await?;
    let mut dialer = Dialer::new(options, origin.clone(), all[0], clock)?;
    // QUIC's service is found over TCP, as browsers do.
    let met_by = match options.http {
        Http::Three => Http::Two,
        // Without TLS, only servers that were set up for tests speak HTTP/2.
        Http::Two if !origin.is_tls && !origin.is_well_known() => Http::One,
        http => http,
    };
    let attempt = |to| {
        let dialer = dialer.at(to);
        async move { dialer.open_beside(met_by).await }
    };
    let opened = first(&all, attempt).await;
    let (address, connection) = opened.map_err(|failed| refused(origin, options, failed))?;
    dialer.address = address;
    let mut spoken = connection.http();
    let tls = connection.tls_version.map(str::to_owned);
    let (mut sender, _) = connection.into_parts();
    let mut service = service::describe(&mut sender, origin, options, ANSWER_TIME).await?;
    if service.bound.is_none() {
        service.session = service::session(&mut sender, origin, options, ANSWER_TIME).await?;
    }
    dialer.origin.port = service.port;
    dialer.address.set_port(service.port);
    let asked = dialer.address;
    if let Some(endpoint) = &service.endpoint {
        let named = addresses(endpoint, service.port, options.ip).await?;
        dialer.address = believed(&dialer, (origin, &named), met_by, options).await?;
    }
    let mut limitations = Vec::new();
    if options.http == Http::Three {
        spoken = over_quic(&dialer, options).await?;
        limitations.push(QUIC_LIMITATION.to_owned());
    }
    let port = service
        .session
        .as_ref()
        .and_then(|session| session.echo_port);
    let echo = port.map(|port| SocketAddr::new(dialer.address.ip(), port));
    let echo: Vec<SocketAddr> = echo.into_iter().collect();
    if !service.carries(Load::Up) {
        limitations.push("upload: a file can only be downloaded".to_owned());
    }
    if service.session.is_none() {
        limitations.push(
            "server statistics: the server has no sessions, so upload goodput is what its TCP acknowledged (over HTTP/3: unknown), and its socket buffers are not limited"
                .to_owned(),
        );
    }
    let has_none = echo.is_empty() && options.echo.is_none();
    if has_none {
        limitations.push(
            "datagrams: the server has no echo (add an irtt server with --echo HOST:PORT)"
                .to_owned(),
        );
    }
    let server = Server {
        address: Some(dialer.address),
        asked: (asked.ip() != dialer.address.ip()).then_some(asked),
        http: Some(spoken),
        tls,
        has_account: service.session.is_some(),
        echoless: (has_none && service.session.is_some()).then_some(Echoless::Off),
        ..Server::default()
    };
    let carrier = Carrier::new(dialer, service, settings, spoken);
    Ok(Met {
        server,
        carrier: Some(carrier),
        echo,
        limitations,
    })
}

/// The address that the server named for its load, once a handshake has shown that it serves the same name.
async fn believed(
    dialer: &Dialer,
    (origin, named): (&Origin, &[SocketAddr]),
    http: Http,
    options: &Options,
) -> Result<SocketAddr, TestError> {
    if let Some(same) = named.iter().find(|to| to.ip() == dialer.address.ip()) {
        return Ok(*same);
    }
    let refusal =
        |to: &SocketAddr| endpoint::refusal((origin, dialer.address), *to, &options.trust);
    let allowed: Vec<SocketAddr> = named
        .iter()
        .filter(|to| refusal(to).is_none())
        .copied()
        .collect();
    let refused = |to: SocketAddr, reason: String| TestError::Endpoint { named: to, reason };
    if let (true, Some(reason)) = (allowed.is_empty(), refusal(&named[0])) {
        return Err(refused(named[0], reason.to_owned()));
    }
    info!(asked = %dialer.address, ?allowed, "server names another address for its load");
    let attempt = |to| {
        let dialer = dialer.at(to);
        async move { dialer.open_beside(http).await }
    };
    let opened = first(&allowed, attempt).await;
    let (to, _) = opened.map_err(|(to, error)| refused(to, crate::error::root(&error)))?;
    Ok(to)
}

/// The nearest of M-Lab's servers that takes the test. Each is asked once.
async fn of_mlab(
    options: &Options,
    origin: &Origin,
    settings: Settings,
    clock: Clock,
) -> Result<Met, TestError> {
    let all = asked(options, origin).await?;
    let dialer = Dialer::new(options, origin.clone(), all[0], clock)?;
    let attempt = |to| {
        let dialer = dialer.at(to);
        async move { dialer.open_beside(Http::Two).await }
    };
    let opened = first(&all, attempt).await;
    let (_, connection) = opened.map_err(|failed| refused(origin, options, failed))?;
    let (mut sender, _) = connection.into_parts();
    let named = service::nearest(&mut sender, origin, options).await?;
    let mut refusal = None;
    for nearest in named {
        let server = (&nearest.origin, nearest.service);
        match of_ndt7(options, server, settings.clone(), clock).await {
            Ok(met) => return Ok(met),
            Err(error) => {
                info!(server = nearest.origin.host, %error, "server does not take the test");
                // The nearest says best why there is no test.
                refusal.get_or_insert(error);
            }
        }
    }
    Err(refusal.expect("it names a server"))
}

async fn of_ndt7(
    options: &Options,
    (origin, service): (&Origin, Service),
    settings: Settings,
    clock: Clock,
) -> Result<Met, TestError> {
    if options.http == Http::Three {
        return Err(TestError::Unsupported {
            target: options.target.clone(),
            reason: "ndt7 goes over HTTP/1.1 alone",
        });
    }
    let options = &Options {
        http: Http::One,
        ..options.clone()
    };
    let all = asked(options, origin).await?;
    let mut dialer = Dialer::new(options, origin.clone(), all[0], clock)?;
    // An upload that sends nothing shows whether the server speaks it.
    let attempt = |to| {
        let dialer = dialer.at(to);
        async move { dialer.stream(&Settings::default()).await }
    };
    let opened = first(&all, attempt).await;
    let (to, (stream, _)) = opened.map_err(|failed| refused(origin, options, failed))?;
    dialer.address = to;
    let upgraded = ndt7::upgrade(stream, &dialer, &service, Direction::Up).await;
    upgraded.map_err(|refusal| match refusal {
        Refusal::Status(status) => TestError::Refused {
            // What follows the path may hold a token.
            url: origin.url(service.upload.split('?').next().unwrap_or_default()),
            status,
            text: String::new(),
        },
        Refusal::Failed(error) => refused(origin, options, (to, error)),
    })?;
    let mut carrier = Carrier::new(dialer, service, settings, Http::One);
    carrier.ndt7 = Some(Mutex::default());
    Ok(Met {
        server: Server {
            address: Some(to),
            http: Some(Http::One),
            ..Server::default()
        },
        carrier: Some(carrier),
        echo: Vec::new(),
        limitations: vec![NDT7_LIMITATION.to_owned()],
    })
}

/// Why HTTP/3 does not go with the rest of what is wanted.
fn unfit(options: &Options, origin: &Origin) -> Option<&'static str> {
    if options.http != Http::Three {
        None
    } else if !origin.is_tls {
        Some("HTTP/3 has no form without TLS; take HTTP/1.1 or 2")
    } else if options.congestion_control.is_some() {
        Some(
            "congestion controls are TCP's, and QUIC here has its own cubic; leave it out or take HTTP/1.1 or 2",
        )
    } else {
        None
    }
}

/// Tries whether the server speaks HTTP/3 where it is to carry load.
async fn over_quic(dialer: &Dialer, options: &Options) -> Result<Http, TestError> {
    let opened = dialer.open_beside(Http::Three).await;
    let opened = opened.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => TestError::NoQuic { to: dialer.address },
        _ => TestError::Http {
            to: dialer.origin.authority(),
            wanted: options.http.name(),
            reason: crate::error::root(&error),
        },
    })?;
    Ok(opened.http())
}

fn refused(origin: &Origin, options: &Options, (to, error): (SocketAddr, io::Error)) -> TestError {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::ApplicationVerificationFailure,
        )) => TestError::Pin {
            to: origin.authority(),
        },
        Some(rustls::Error::InvalidCertificate(_)) if Public::of(&options.target).is_some() => {
            TestError::Impostor {
                to: origin.authority(),
                reason: error.to_string(),
            }
        }
        Some(rustls::Error::InvalidCertificate(_)) => TestError::Certificate {
            to: origin.authority(),
            reason: error.to_string(),
        },
        Some(_) => TestError::Http {
            to: origin.authority(),
            wanted: options.http.name(),
            reason: error.to_string(),
        },
        None => TestError::Connect { to, source: error },
    }
}

/// Where the target may be asked.
async fn asked(options: &Options, origin: &Origin) -> Result<Vec<SocketAddr>, TestError> {
    match options.address {
        Some(address) => Ok(vec![SocketAddr::new(address, origin.port)]),
        None => addresses(&origin.host, origin.port, options.ip).await,
    }
}
