//! The first contact: addresses, what the server offers, a session.

use crate::error::TestError;
use crate::http::Dialer;
use crate::load::Carrier;
use crate::measured::Server;
use crate::options::{Http, IpVersion, Options};
use crate::service;
use crate::socket::Settings;
use crate::target::{Origin, Target};
use std::io;
use std::net::SocketAddr;
use unbloat_traffic::Clock;

/// Whom a test deals with.
pub(super) struct Met {
    pub(super) server: Server,
    pub(super) carrier: Option<Carrier>,
    pub(super) echo: Option<SocketAddr>,
    pub(super) lacks: Vec<String>,
}

pub(super) async fn meet(options: &Options, clock: Clock) -> Result<Met, TestError> {
    let settings = Settings::of(options)?;
    if options.http == Http::Three {
        return Err(unsupported(options, "load over HTTP/3 is not known to it"));
    }
    let mut met = match &options.target {
        Target::Responsiveness(origin) => responsiveness(options, origin, settings, clock).await?,
        Target::Irtt { host, port } => Met {
            server: Server::default(),
            carrier: None,
            echo: Some(address(host, *port, options.ip).await?),
            lacks: vec![
                "load: an irtt server echoes datagrams and carries nothing else".to_owned(),
            ],
        },
        Target::Ndt7(_) => return Err(unsupported(options, "ndt7 is not known to it")),
    };
    if let Some((host, port)) = &options.echo {
        met.echo = Some(address(host, *port, options.ip).await?);
    }
    Ok(met)
}

async fn responsiveness(
    options: &Options,
    origin: &Origin,
    settings: Settings,
    clock: Clock,
) -> Result<Met, TestError> {
    let first = address(&origin.host, origin.port, options.ip).await?;
    let mut dialer = Dialer::new(options, origin.clone(), first, clock)?;
    let connection = dialer.open(options.http, &Settings::default()).await;
    let connection = connection.map_err(|error| refused(&dialer, options, error))?;
    let spoken = connection.http();
    let tls = connection.tls_version.map(str::to_owned);
    let (mut sender, _) = connection.into_parts();
    let mut service = service::describe(&mut sender, origin, options).await?;
    service.session = service::session(&mut sender, origin, options).await?;
    dialer.origin.port = service.port;
    dialer.address.set_port(service.port);
    if let Some(endpoint) = &service.endpoint {
        dialer.address = address(endpoint, service.port, options.ip).await?;
    }
    let mut lacks = Vec::new();
    let port = service
        .session
        .as_ref()
        .and_then(|session| session.echo_port);
    let echo = port.map(|port| SocketAddr::new(dialer.address.ip(), port));
    if service.session.is_none() {
        lacks.push(
            "the server's side: no sessions there, so goodput up is what its TCP acknowledged, and its sockets are as they are"
                .to_owned(),
        );
    }
    if echo.is_none() && options.echo.is_none() {
        lacks.push(
            "datagrams: the server has no echo (--echo HOST:PORT names an irtt server beside it)"
                .to_owned(),
        );
    }
    let server = Server {
        address: Some(dialer.address),
        http: Some(spoken),
        tls,
        has_account: service.session.is_some(),
        ..Server::default()
    };
    let carrier = Carrier::new(dialer, service, settings, spoken);
    Ok(Met {
        server,
        carrier: Some(carrier),
        echo,
        lacks,
    })
}

fn unsupported(options: &Options, reason: &'static str) -> TestError {
    TestError::Unsupported {
        target: options.target.clone(),
        reason,
    }
}

fn refused(dialer: &Dialer, options: &Options, error: io::Error) -> TestError {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(_)) => TestError::Certificate {
            to: dialer.origin.authority(),
            reason: error.to_string(),
        },
        Some(_) => TestError::Http {
            to: dialer.origin.authority(),
            wanted: options.http.name(),
            reason: error.to_string(),
        },
        None => TestError::Connect {
            to: dialer.address,
            source: error,
        },
    }
}

/// The first address of a name, of the wanted version of IP.
async fn address(host: &str, port: u16, ip: Option<IpVersion>) -> Result<SocketAddr, TestError> {
    let found = tokio::net::lookup_host((host, port)).await;
    let mut found = found.map_err(|source| TestError::Name {
        host: host.to_owned(),
        source,
    })?;
    let is_wanted = |address: &SocketAddr| match ip {
        None => true,
        Some(IpVersion::Four) => address.is_ipv4(),
        Some(IpVersion::Six) => address.is_ipv6(),
    };
    found.find(is_wanted).ok_or_else(|| TestError::NoAddress {
        host: host.to_owned(),
    })
}
