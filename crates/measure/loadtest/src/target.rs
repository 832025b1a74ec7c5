//! Whom to ask: what a user types, and what it means.

use crate::public::Public;
use hyper::Uri;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use unbloat_untrusted::without_tokens;

/// Port of `unbloat serve`.
pub const PORT: u16 = 4043;
const IRTT_PORT: u16 = 2112;
const CONFIG_PATH: &str = "/.well-known/nq";

/// The other end of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Speaks the responsiveness draft, with our sessions if it is `unbloat serve`; or has a large file there.
    Responsiveness(Origin),
    /// Echoes datagrams as irtt does, and nothing more.
    Irtt { host: String, port: u16 },
    /// Speaks ndt7.
    Ndt7(Origin),
    /// Answers as Cloudflare's speed test does.
    Cloudflare(Origin),
    /// Names servers that speak ndt7, as M-Lab's Locate does.
    Mlab(Origin),
}

impl Target {
    /// None of what has no HTTP.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Target::Responsiveness(origin)
            | Target::Ndt7(origin)
            | Target::Cloudflare(origin)
            | Target::Mlab(origin) => Some(origin),
            Target::Irtt { .. } => None,
        }
    }
}

/// A server of HTTP and where its description lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    /// With its query.
    pub path: String,
}

impl Origin {
    /// Host and port as a URL has them.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }

    /// Where the draft puts its description: nothing else is there.
    pub fn is_well_known(&self) -> bool {
        self.path.starts_with(CONFIG_PATH)
    }

    fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// A URL of this server.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme(), self.authority())
    }
}

fn authority(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// As it was typed, in full; but for a token in its query, because it is written into files that are passed on.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Responsiveness(origin) | Target::Cloudflare(origin) | Target::Mlab(origin) => {
                f.write_str(&without_tokens(&origin.url(&origin.path)))
            }
            Target::Irtt { host, port } => write!(f, "irtt://{}", authority(host, *port)),
            Target::Ndt7(origin) => {
                let scheme = if origin.is_tls { "ndt7" } else { "ndt7+http" };
                write!(f, "{scheme}://{}", origin.authority())
            }
        }
    }
}

/// Why a text names no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error(
        "{0:?} is not a server; give HOST, HOST:PORT, https://HOST/PATH, ndt7://HOST, irtt://HOST, cloudflare, mlab or apple"
    )]
    NoHost(String),
    #[error("{0:?} contains a user name or password, which unbloat does not send; remove it")]
    Credentials(String),
    #[error("unknown scheme {scheme:?}; use https, http, irtt, ndt7 or ndt7+http")]
    Scheme { scheme: String },
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Target, TargetError> {
        if let Some(known) = Public::named(text) {
            return Ok(known);
        }
        let no_host = || TargetError::NoHost(text.to_owned());
        let (scheme, rest) = text.split_once("://").unwrap_or(("unbloat", text));
        let full = match rest.parse::<Ipv6Addr>() {
            Ok(address) => format!("http://[{address}]"),
            Err(_) => format!("http://{rest}"),
        };
        let uri: Uri = full.parse().map_err(|_| no_host())?;
        let authority = uri.authority().ok_or_else(no_host)?;
        if authority.as_str().contains('@') {
            return Err(TargetError::Credentials(text.to_owned()));
        }
        let host = host_of(authority.host()).ok_or_else(no_host)?.to_owned();
        let path = uri.path_and_query().map(|path| path.as_str());
        let path = path.filter(|path| *path != "/").unwrap_or(CONFIG_PATH);
        let origin = |port: u16, is_tls| Origin {
            host: host.clone(),
            port: uri.port_u16().unwrap_or(port),
            is_tls,
            path: path.to_owned(),
        };
        Ok(match scheme {
            "unbloat" => Target::Responsiveness(origin(PORT, true)),
            "https" => Target::Responsiveness(origin(443, true)),
            "http" => Target::Responsiveness(origin(80, false)),
            "ndt7" => Target::Ndt7(origin(443, true)),
            "ndt7+http" => Target::Ndt7(origin(80, false)),
            "irtt" => Target::Irtt {
                port: uri.port_u16().unwrap_or(IRTT_PORT),
                host,
            },
            _ => {
                let scheme = scheme.to_owned();
                return Err(TargetError::Scheme { scheme });
            }
        })
    }
}

/// The host of an authority. Brackets belong around an IPv6 address alone, which may name its interface behind a `%`.
fn host_of(text: &str) -> Option<&str> {
    let Some(inner) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    else {
        return (!text.is_empty() && !text.contains(['[', ']'])).then_some(text);
    };
    let address = inner.split_once('%').map_or(inner, |(address, _)| address);
    address.parse::<Ipv6Addr>().is_ok().then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match text.parse::<Target>() {
            Ok(target) => target.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_bare_host_is_a_server_of_ours() {
        assert_eq!(said("box"), "https://box:4043/.well-known/nq");
        assert_eq!(said("10.0.0.1:99"), "https://10.0.0.1:99/.well-known/nq");
        assert_eq!(said("fd00::1"), "https://[fd00::1]:4043/.well-known/nq");
        assert_eq!(said("[fd00::1]:7"), "https://[fd00::1]:7/.well-known/nq");
    }

    #[test]
    fn a_scheme_says_what_is_spoken() {
        assert_eq!(said("https://h/a?b=c"), "https://h:443/a?b=c");
        assert_eq!(said("https://h/a?token=s"), "https://h:443/a?token=…");
        assert_eq!(said("http://h:8080"), "http://h:8080/.well-known/nq");
        assert_eq!(said("irtt://h"), "irtt://h:2112");
        assert_eq!(said("irtt://[fd00::1]"), "irtt://[fd00::1]:2112");
        assert_eq!(said("ndt7+http://h"), "ndt7+http://h:80");
        assert_eq!(said("ndt7://h"), "ndt7://h:443");
    }

    #[test]
    fn what_names_no_server_is_refused_with_what_would() {
        for (text, why) in [
            ("", "is not a server"),
            ("https://", "is not a server"),
            ("a b", "is not a server"),
            ("ndt7://a[fd00::1]", "is not a server"),
            ("irtt://[%81]", "is not a server"),
            ("[box]", "is not a server"),
            ("https://me:secret@h", "password"),
            ("ftp://h", "use https"),
        ] {
            assert!(said(text).contains(why), "{text}: {}", said(text));
        }
    }
}
