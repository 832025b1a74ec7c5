//! What a server of the responsiveness draft offers, and a session where it is ours.

use crate::error::{TestError, root};
use crate::flow::Flow;
use crate::http::{self, Sender};
use crate::options::Options;
use crate::plan::{Load, Stack};
use crate::public::{self, BOUND, Nearest, Public};
use crate::target::{Origin, Target};
use crate::upload::Body;
use hyper::body::Body as _;
use hyper::{Method, StatusCode, Uri};
use serde::Deserialize;
use std::fmt::Write;
use std::io;
use std::time::Duration;
use unbloat_units::{Bytes, Direction};

/// For the whole answer to a request of the service, however it comes: a few hundred bytes.
pub const ANSWER_TIME: Duration = Duration::from_secs(10);
/// A description is some hundred bytes long.
const LARGEST_CONFIG: usize = 64 * 1024;
const SESSION_PATH: &str = "/unbloat/v1/session";
/// Version of the session protocol, docs/protocol.md.
const SESSION_VERSION: u32 = 1;

/// Paths of one server, all on the host that was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Empty where there is no such thing.
    pub small: String,
    pub small_method: Method,
    pub large: String,
    pub upload: String,
    /// Bytes of each download; one that has more or less is no answer to what was asked.
    pub object: Option<u64>,
    /// Bytes of each upload; endless if none is given.
    pub piece: Option<u64>,
    /// Of a server of others: what a test may receive from it and send to it, each.
    pub bound: Option<Bytes>,
    /// Of all three.
    pub port: u16,
    /// Connect there instead, and keep the URLs.
    pub endpoint: Option<String>,
    pub session: Option<Session>,
    pub token: Option<String>,
    pub(crate) congestion_control: Option<String>,
}

/// A session on a server of ours.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Session {
    #[serde(rename = "session")]
    pub id: String,
    version: u32,
    pub echo_port: Option<u16>,
}

impl Session {
    /// None: it is no session of a server of ours.
    pub(crate) fn read(text: &[u8]) -> Option<Session> {
        let session: Session = serde_json::from_slice(text).ok()?;
        let is_ours = session.version == SESSION_VERSION
            && (1..=64).contains(&session.id.len())
            && session.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then_some(session)
    }

    pub fn path(&self) -> String {
        format!("{SESSION_PATH}/{}", self.id)
    }
}

#[derive(Deserialize)]
struct Config {
    version: u32,
    urls: Urls,
    test_endpoint: Option<String>,
}

/// Keys of the draft, and those that its clients and servers used before.
#[derive(Deserialize)]
struct Urls {
    small_download_url: Option<String>,
    large_download_url: Option<String>,
    upload_url: Option<String>,
    small_https_download_url: Option<String>,
    large_https_download_url: Option<String>,
    https_upload_url: Option<String>,
}

impl Service {
    /// What stands in place of a description, or of any other answer.
    pub(crate) const LOGIN: &str = "it is a web page; if this network has a login page, log in with a browser, then test again";

    /// Without paths.
    pub(crate) fn of_paths(port: u16, options: &Options) -> Service {
        Service {
            small: String::new(),
            small_method: Method::GET,
            large: String::new(),
            upload: String::new(),
            object: None,
            piece: None,
            bound: None,
            port,
            endpoint: None,
            session: None,
            token: options.token.clone(),
            congestion_control: None,
        }
    }

    /// Whether it has what such a load needs. A server of others carries one direction at a time: from one end alone, both at once tell no direction.
    pub fn carries(&self, load: Load) -> bool {
        let has = |path: &str, way| !load.has(way) || !path.is_empty();
        let has_all = has(&self.large, Direction::Down) && has(&self.upload, Direction::Up);
        has_all && (load != Load::Both || self.bound.is_none())
    }

    /// Reads a description (draft-ietf-ippm-responsiveness-09, 5); why not, in words.
    pub fn parse(text: &[u8], origin: &Origin, options: &Options) -> Result<Service, String> {
        let config: Config = serde_json::from_slice(text).map_err(|error| unread(text, &error))?;
        if config.version != 1 {
            return Err(format!(
                "it has version {}, but only version 1 is supported",
                config.version
            ));
        }
        let urls = config.urls;
        let place = |new: Option<String>, old: Option<String>, key: &str| {
            let url = new.or(old).ok_or_else(|| format!("it has no {key}"))?;
            place_on(origin, &url)
        };
        let [(port, small), (of_large, large), (of_upload, upload)] = [
            place(
                urls.small_download_url,
                urls.small_https_download_url,
                "small_download_url",
            )?,
            place(
                urls.large_download_url,
                urls.large_https_download_url,
                "large_download_url",
            )?,
            place(urls.upload_url, urls.https_upload_url, "upload_url")?,
        ];
        if [of_large, of_upload] != [port; 2] {
            return Err("its URLs have different ports".to_owned());
        }
        Ok(Service {
            small,
            large,
            upload,
            endpoint: config.test_endpoint.filter(|endpoint| is_name(endpoint)),
            bound: Public::of(&options.target).map(|_| BOUND),
            congestion_control: options.congestion_control.clone(),
            ..Service::of_paths(port, options)
        })
    }

    /// What a server of ndt7 has: all paths are the protocol's.
    pub fn ndt7(port: u16, options: &Options) -> Service {
        Service {
            large: "/ndt/v7/download".to_owned(),
            upload: "/ndt/v7/upload".to_owned(),
            ..Service::of_paths(port, options)
        }
    }

    /// Where a flow's data comes from or goes to, with what is asked of a server of ours.
    pub fn load_path(&self, flow: &Flow) -> String {
        let base = match flow.direction {
            Direction::Down => &self.large,
            Direction::Up => &self.upload,
        };
        let Some(session) = &self.session else {
            return base.clone();
        };
        let separator = if base.contains('?') { '&' } else { '?' };
        let mut path = format!(
            "{base}{separator}session={}&flow={}",
            session.id, flow.number
        );
        if flow.direction == Direction::Down {
            if flow.stack == Stack::NetworkOnly {
                path += "&unsent_ms=5";
            }
            if let Some(name) = &self.congestion_control {
                // Names of congestion controls need no escaping; others are refused before.
                let _ = write!(path, "&congestion_control={name}");
            }
        }
        path
    }
}

/// What came in place of a description.
pub(crate) fn unread(text: &[u8], error: &serde_json::Error) -> String {
    match text.trim_ascii_start() {
        [b'<', ..] => Service::LOGIN.to_owned(),
        [0x1f, 0x8b, ..] => "it is compressed (gzip), which was not asked for".to_owned(),
        _ => error.to_string(),
    }
}

/// Port and path of a URL that must be on the server that was asked (the draft: all on one host).
fn place_on(origin: &Origin, url: &str) -> Result<(u16, String), String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url:?} is not a URL"))?;
    let host = uri.host().ok_or_else(|| format!("{url:?} names no host"))?;
    if !host
        .trim_matches(['[', ']'])
        .eq_ignore_ascii_case(&origin.host)
    {
        return Err(format!("its URLs are on another host, {host}"));
    }
    let usual = if uri.scheme_str() == Some("http") {
        80
    } else {
        443
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    // A query may follow the host at once (RFC 3986, 3.3), in a request it may not (RFC 9112, 3.2.1).
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((uri.port_u16().unwrap_or(usual), format!("{slash}{path}")))
}

fn is_name(endpoint: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
    !endpoint.is_empty() && endpoint.len() < 256 && endpoint.chars().all(is_fit)
}

/// The answer to a request, if all of it comes in time.
pub async fn in_time<T>(
    patience: Duration,
    (method, url): (Method, &str),
    asking: impl Future<Output = T>,
) -> Result<T, TestError> {
    let answered = tokio::time::timeout(patience, asking).await;
    answered.map_err(|_| TestError::Silent {
        request: format!("{method} {url}"),
        waited_s: patience.as_secs_f64(),
    })
}

/// Asks for the description.
pub async fn describe(
    sender: &mut Sender,
    origin: &Origin,
    options: &Options,
    patience: Duration,
) -> Result<Service, TestError> {
    let url = origin.url(&origin.path);
    let said = described(sender, origin, options, patience).await?;
    let service = match (said, &options.target) {
        (Said::Text(text), Target::Cloudflare(_)) => Service::cloudflare(&text, origin, options),
        (Said::Text(text), _) => Service::parse(&text, origin, options),
        (Said::More(length), Target::Responsiveness(_)) if !origin.is_well_known() => {
            Service::file(length, origin, options)
        }
        (Said::More(length), _) => Err(format!("it is of {}", Bytes::new(length))),
    };
    service.map_err(|reason| TestError::Config { url, reason })
}

/// Asks M-Lab's Locate for servers, the nearest first.
pub(crate) async fn nearest(
    sender: &mut Sender,
    origin: &Origin,
    options: &Options,
) -> Result<Vec<Nearest>, TestError> {
    let found = match described(sender, origin, options, ANSWER_TIME).await? {
        Said::Text(text) => public::nearest(&text, origin, options),
        Said::More(length) => Err(format!("it is of {}", Bytes::new(length))),
    };
    let url = origin.url(&origin.path);
    found.map_err(|reason| TestError::Config { url, reason })
}

/// The body of a successful answer to the request for the description.
async fn described(
    sender: &mut Sender,
    origin: &Origin,
    options: &Options,
    patience: Duration,
) -> Result<Said, TestError> {
    let url = origin.url(&origin.path);
    let asking = get(sender, origin, (Method::GET, &origin.path), options);
    let answer = in_time(patience, (Method::GET, &url), asking).await?;
    let (status, said) = answer.map_err(|error| TestError::Http {
        to: origin.authority(),
        wanted: options.http.name(),
        reason: root(&error),
    })?;
    match status.is_success() {
        true => Ok(said),
        false => Err(refused(url, status, said)),
    }
}

/// Asks for a session; none where the server knows of no such thing.
pub async fn session(
    sender: &mut Sender,
    origin: &Origin,
    options: &Options,
    patience: Duration,
) -> Result<Option<Session>, TestError> {
    // Names of congestion controls need no escaping; others are refused before.
    let control = options.congestion_control.as_ref();
    let path = control.map_or(SESSION_PATH.to_owned(), |name| {
        format!("{SESSION_PATH}?congestion_control={name}")
    });
    let url = origin.url(SESSION_PATH);
    let asking = get(sender, origin, (Method::POST, &path), options);
    let answer = in_time(patience, (Method::POST, &url), asking).await?;
    let Ok((status, said)) = answer else {
        return Ok(None);
    };
    let is_unknown_control = status == StatusCode::BAD_REQUEST && control.is_some();
    if is_unknown_control
        || matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::SERVICE_UNAVAILABLE
        )
    {
        return Err(refused(url, status, said));
    }
    match said {
        Said::Text(text) => Ok(Session::read(&text).filter(|_| status.is_success())),
        Said::More(_) => Ok(None),
    }
}

fn refused(url: String, status: StatusCode, said: Said) -> TestError {
    let text = match said {
        Said::Text(text) => String::from_utf8_lossy(&text).into_owned(),
        Said::More(_) => String::new(),
    };
    TestError::Refused {
        url,
        status: status.as_u16(),
        text,
    }
}

/// The body of an answer.
enum Said {
    Text(bytes::Bytes),
    /// It is so many bytes long, and was not read.
    More(u64),
}

async fn get(
    sender: &mut Sender,
    origin: &Origin,
    what: (Method, &str),
    options: &Options,
) -> io::Result<(StatusCode, Said)> {
    let request = http::request(origin, what, options.token.as_deref(), Body::Empty)?;
    let response = sender.send(http::fit(request, sender)?).await?;
    let status = response.status();
    let to = response.headers().get(hyper::header::LOCATION);
    if let (true, Some(to)) = (status.is_redirection(), to) {
        let to = String::from_utf8_lossy(to.as_bytes());
        let said = format!(
            "it redirects to {to}, which is not followed; give the address of the server itself, or log in with a browser if that is a login page of this network"
        );
        return Ok((status, Said::Text(said.into())));
    }
    let length = response.body().size_hint().exact();
    if let Some(length) = length.filter(|length| *length > LARGEST_CONFIG as u64) {
        return Ok((status, Said::More(length)));
    }
    let text = http::whole(response.into_body(), LARGEST_CONFIG).await?;
    Ok((status, Said::Text(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Service, String> {
        let target: Target = "box".parse().unwrap();
        let Target::Responsiveness(origin) = target.clone() else {
            panic!("a bare host is such a server");
        };
        Service::parse(text.as_bytes(), &origin, &Options::of(target))
    }

    const URLS: &str = r#""small_download_url":"https://box:4043/s","large_download_url":"https://box:4043/l?a=b","upload_url":"https://BOX:4043/u""#;

    #[test]
    fn a_description_gives_three_paths_and_may_hold_more() {
        let text = format!(
            r#"{{"version":1,"urls":{{{URLS},"new":1}},"test_endpoint":"edge.box","more":[]}}"#
        );
        let service = parse(&text).unwrap();
        assert_eq!(
            [&service.small, &service.large, &service.upload],
            ["/s", "/l?a=b", "/u"]
        );
        assert_eq!(service.endpoint.as_deref(), Some("edge.box"));
    }

    #[test]
    fn the_older_keys_do_where_the_draft_s_are_missing() {
        let text = r#"{"version":1,"urls":{"small_https_download_url":"https://box/s",
            "large_https_download_url":"https://box/l","https_upload_url":"https://box/u"}}"#;
        assert_eq!(parse(text).unwrap().large, "/l");
    }

    #[test]
    fn a_server_that_takes_connections_and_says_nothing_is_named_with_the_request() {
        // The kernel accepts for it.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = silent.local_addr().unwrap();
        let target: Target = format!("http://{address}").parse().unwrap();
        let Target::Responsiveness(origin) = &target else {
            panic!("a URL is such a server");
        };
        let options = Options::of(target.clone());
        let clock = unbloat_os::clock::Clock::from(unbloat_os::clock::monotonic());
        let dialer = http::Dialer::new(&options, origin.clone(), address, clock).unwrap();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        let patience = Duration::from_millis(50);
        for http in [crate::options::Http::One, crate::options::Http::Two] {
            let both = runtime.block_on(async {
                let (mut sender, _link) = dialer.open_beside(http).await.unwrap().into_parts();
                let described = describe(&mut sender, origin, &options, patience).await;
                let (mut other, _other) = dialer.open_beside(http).await.unwrap().into_parts();
                let session = session(&mut other, origin, &options, patience).await;
                [
                    described.unwrap_err().to_string(),
                    session.unwrap_err().to_string(),
                ]
            });
            for (told, request) in both.iter().zip(["GET http://", "POST http://"]) {
                let is_told = told.starts_with(request) && told.contains("in 0.05 s");
                assert!(is_told, "{told}");
            }
        }
    }

    #[test]
    fn what_the_draft_refuses_is_refused() {
        for (text, why) in [
            (format!(r#"{{"version":2,"urls":{{{URLS}}}}}"#), "version 2"),
            (r#"{"version":1,"urls":{}}"#.to_owned(), "no small"),
            (
                format!(r#"{{"version":1,"urls":{{{URLS},"upload_url":"x"}}}}"#),
                "duplicate",
            ),
            (
                format!(
                    r#"{{"version":1,"urls":{{{}}}}}"#,
                    URLS.replace("BOX", "elsewhere")
                ),
                "another host",
            ),
            ("[1".to_owned(), "EOF"),
            (
                "\n<!doctype html><p>Log in".to_owned(),
                "log in with a browser",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
