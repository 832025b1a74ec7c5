//! From a request to its answer.

use crate::account::Lines;
use crate::admission::Full;
use crate::answer::{
    Answer, BYTES, JSON, LINES, Why, answer, guard, json, no_method, refusal, text,
};
use crate::counters::count;
use crate::large::Large;
use crate::load_socket::{self, LoadSocket};
use crate::options::{LARGE, duration};
use crate::peer::Peer;
use crate::query::Query;
use crate::route::{Lost, Route};
use crate::session::{Id, NoFlow, Session, Transfer};
use crate::shared::{NDT7_TESTS, Shared};
use crate::socket::Handshake;
use crate::tokens::bearer;
use crate::upload::upload;
use crate::{host, ndt7, origin, page, socket};
use bytes::Bytes;
use http_body::Body;
use hyper::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Request, Response, StatusCode};
use serde_json::json as object;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::time::timeout;
use tracing::{info, trace};
use unbloat_units::Direction;

type Refused = Box<Response<Answer>>;

/// Answers; what a limit or a wrong request asks for is a refusal in words.
pub async fn serve<B: Body<Data = Bytes>>(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    request: Request<B>,
) -> Response<Answer> {
    count(&shared.counters.requests, 1);
    // A request without a body of its own length takes no time; those that do begin a longer one.
    let busy = peer.begin(shared.transfer_end(Instant::now()));
    let (parts, body) = request.into_parts();
    let outcome = Asked::of(&shared, &peer, &parts);
    let response = match outcome {
        Ok(asked) => {
            trace!(connection = peer.number, route = ?asked.route, "request");
            asked.answer(body).await
        }
        Err(refused) => Err(refused),
    };
    drop(busy);
    let mut response = response.unwrap_or_else(|refused| {
        let full = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        count(
            &shared.counters.refused,
            u64::from(full.contains(&refused.status())),
        );
        // Not the path, which may hold a session's secret.
        info!(
            client = %peer.from,
            connection = peer.number,
            status = refused.status().as_u16(),
            reason = refused.extensions().get().map(|Why(why)| why.as_str()),
            "request refused"
        );
        *refused
    });
    guard(response.headers_mut());
    response
}

/// A request that may be answered.
struct Asked<'a> {
    shared: &'a Arc<Shared>,
    peer: &'a Arc<Peer>,
    parts: &'a Parts,
    route: Route,
    query: Query,
    session: Option<Arc<Session>>,
}

fn refuse<T>(status: StatusCode, why: &str) -> Result<T, Refused> {
    Err(Box::new(refusal(status, why)))
}

fn full<T>(full: Full, what: &str) -> Result<T, Refused> {
    match full {
        Full::All => {
            let why = format!("this server has reached its limit of {what}; try again later");
            refuse(StatusCode::SERVICE_UNAVAILABLE, &why)
        }
        Full::Network => {
            let why = format!("your network has reached its limit of {what}");
            refuse(StatusCode::TOO_MANY_REQUESTS, &why)
        }
        Full::Address => {
            let why = format!("your address has reached its limit of {what}");
            refuse(StatusCode::TOO_MANY_REQUESTS, &why)
        }
    }
}

impl<'a> Asked<'a> {
    fn of(
        shared: &'a Arc<Shared>,
        peer: &'a Arc<Peer>,
        parts: &'a Parts,
    ) -> Result<Asked<'a>, Refused> {
        if let Some(why) = peer.refused {
            return full(why, "connections");
        }
        let route = match Route::of(&parts.method, parts.uri.path()) {
            Ok(route) => route,
            Err(Lost::NoPath) => return refuse(StatusCode::NOT_FOUND, "not found"),
            Err(Lost::NoMethod(allowed)) => return Err(Box::new(no_method(allowed))),
        };
        if route.is_of_visitors_own() && !origin::is_own(parts) {
            let why = "pages of other sites must not use this server";
            return refuse(StatusCode::FORBIDDEN, why);
        }
        let query = match Query::parse(parts.uri.query().unwrap_or_default()) {
            Ok(query) => query,
            Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let mut asked = Asked {
            shared,
            peer,
            parts,
            route,
            query,
            session: None,
        };
        asked.session = asked.find_session()?;
        asked.check_token()?;
        Ok(asked)
    }

    fn find_session(&self) -> Result<Option<Arc<Session>>, Refused> {
        let id: Option<Id> = self.route.session().or(self.query.session);
        match id.map(|id| self.shared.sessions.find(id, Instant::now())) {
            Some(None) => refuse(
                StatusCode::NOT_FOUND,
                "there is no such session; it may have ended",
            ),
            found => Ok(found.flatten()),
        }
    }

    fn token(&self) -> Option<&str> {
        let header = self.parts.headers.get(AUTHORIZATION);
        let header = header.and_then(|h| h.to_str().ok()).and_then(bearer);
        header.or(self.query.token.as_deref())
    }

    fn check_token(&self) -> Result<(), Refused> {
        let tokens = &self.shared.tokens;
        let known = || self.token().is_some_and(|t| tokens.knows(t));
        if tokens.is_open() || self.route.is_public() || self.session.is_some() || known() {
            return Ok(());
        }
        refuse(
            StatusCode::UNAUTHORIZED,
            "this server needs a token: Authorization: Bearer TOKEN, or token=TOKEN in the query",
        )
    }

    async fn answer<B: Body<Data = Bytes>>(&self, body: B) -> Result<Response<Answer>, Refused> {
        match self.route {
            Route::Nq => self.nq(),
            Route::Small => Ok(text(StatusCode::OK, BYTES, &b"."[..])),
            Route::Large => self.large(),
            Route::Upload => {
                let transfer = self.transfer(Direction::Up)?;
                self.set_congestion_control()?;
                Ok(upload(self.shared, self.peer, transfer, body).await)
            }
            Route::Page(asset) => Ok(shown(asset)),
            Route::OpenSession => self.open_session(),
            Route::Session(_) => self.show_session(StatusCode::OK),
            Route::CloseSession(id) => {
                self.shared.sessions.close(id);
                info!(client = %self.peer.from, "session closed");
                Ok(answer(StatusCode::NO_CONTENT, JSON, Answer::Text(None)))
            }
            Route::Account(_) => self.account(),
            Route::Echo => self.echo(),
            Route::Load => self.load(),
            Route::Judge => {
                if self.session.is_none() {
                    return refuse(
                        StatusCode::BAD_REQUEST,
                        "a verdict needs a session: session=ID",
                    );
                }
                let judge = &self.shared.judge;
                judge
                    .admit(self.peer.from.ip())
                    .or_else(|why| full(why, "verdicts a minute"))?;
                let until = self.shared.transfer_end(Instant::now());
                Ok(judge.judged(body, until).await)
            }
            Route::Ndt7Locate => self.ndt7_locate(),
            Route::Ndt7(test) => self.ndt7(test),
        }
    }

    /// draft-ietf-ippm-responsiveness-09, 5; `urls` also has the keys of the draft's older versions, by which others'
    /// clients still go.
    fn nq(&self) -> Result<Response<Answer>, Refused> {
        let authority = self.authority()?;
        let scheme = if self.peer.is_encrypted {
            "https"
        } else {
            "http"
        };
        let token = self.token_query();
        let url = |path: &str| format!("{scheme}://{authority}/{path}{token}");
        let (small, large, upload) = (url("small"), url("large"), url("upload"));
        let urls = object!({
            "small_download_url": small, "large_download_url": large, "upload_url": upload,
            "small_https_download_url": small, "large_https_download_url": large, "https_upload_url": upload,
        });
        Ok(json(StatusCode::OK, &object!({"version": 1, "urls": urls})))
    }

    fn authority(&self) -> Result<Authority, Refused> {
        match host::asked(self.parts) {
            Some(authority) => Ok(authority),
            None => refuse(StatusCode::BAD_REQUEST, "the request has no host"),
        }
    }

    /// What URLs that we hand out carry, so that they may be used.
    fn token_query(&self) -> String {
        let token = self.query.token.as_deref();
        token.map_or_else(String::new, |token| {
            let value = form_urlencoded::byte_serialize(token.as_bytes());
            format!("?token={}", value.collect::<String>())
        })
    }

    fn large(&self) -> Result<Response<Answer>, Refused> {
        let bytes = self.query.bytes.unwrap_or(LARGE);
        if bytes > LARGE {
            return refuse(StatusCode::BAD_REQUEST, "bytes must be at most 8589934592");
        }
        let transfer = self.transfer(Direction::Down)?;
        self.set_congestion_control()?;
        if let Some(ms) = self.query.unsent_ms {
            self.peer.hold_unsent(ms);
        }
        let until = self.shared.transfer_end(Instant::now());
        let large = Large::new(bytes, self.shared, self.peer, transfer, until);
        Ok(answer(
            StatusCode::OK,
            BYTES,
            Answer::Large(Box::new(large)),
        ))
    }

    /// The one that the query names, if it names one that there is for it.
    fn congestion_control(&self) -> Result<Option<&String>, Refused> {
        let name = self.query.congestion_control.as_ref();
        let Some(unknown) = name.filter(|name| !self.shared.controls.allow(name)) else {
            return Ok(name);
        };
        let known = self.shared.controls.names();
        let why = format!(
            "this server sends with {known}, not with {unknown} (its operator may allow more: unbloat serve --allow-congestion-control NAME)"
        );
        refuse(StatusCode::BAD_REQUEST, &why)
    }

    fn set_congestion_control(&self) -> Result<(), Refused> {
        let Some(name) = self.congestion_control()? else {
            return Ok(());
        };
        self.peer.set_congestion_control(name).or_else(|error| {
            let why = format!("congestion control {name}: {error}");
            refuse(StatusCode::BAD_REQUEST, &why)
        })
    }

    fn transfer(&self, direction: Direction) -> Result<Option<Transfer>, Refused> {
        let Some(session) = &self.session else {
            return Ok(None);
        };
        let Some(number) = self.query.flow else {
            return refuse(StatusCode::BAD_REQUEST, "session=ID needs flow=K");
        };
        match session.begin(number, direction, self.peer) {
            Ok(transfer) => Ok(Some(transfer)),
            Err(NoFlow::Taken) => {
                let why = format!("flow {number} of this session is already running");
                refuse(StatusCode::CONFLICT, &why)
            }
            Err(NoFlow::Enough) => {
                let most = self.shared.limits.flows_per_session;
                let why = format!("this session has reached its limit of {most} flows");
                refuse(StatusCode::TOO_MANY_REQUESTS, &why)
            }
        }
    }

    /// With a congestion control, so that who asks for one that there is not for it hears so before the test.
    fn open_session(&self) -> Result<Response<Answer>, Refused> {
        self.congestion_control()?;
        if self.shared.memory_is_full.load(Ordering::Relaxed) {
            return full(Full::All, "memory");
        }
        let opened = self
            .shared
            .sessions
            .open(self.peer.from.ip(), Instant::now());
        match opened {
            Ok(session) => {
                info!(
                    client = %self.peer.from,
                    sessions = self.shared.sessions.count(),
                    "session opened"
                );
                Ok(self.shown_session(&session, StatusCode::CREATED))
            }
            Err(why) => full(why, "sessions"),
        }
    }

    fn show_session(&self, status: StatusCode) -> Result<Response<Answer>, Refused> {
        match &self.session {
            Some(session) => Ok(self.shown_session(session, status)),
            None => refuse(StatusCode::NOT_FOUND, "there is no such session"),
        }
    }

    fn shown_session(&self, session: &Session, status: StatusCode) -> Response<Answer> {
        let limits = &self.shared.limits;
        let value = object!({
            "session": session.id.to_string(),
            "version": 1,
            "echo_port": self.shared.echo_port,
            "expires_s": session.expires(Instant::now()).as_secs(),
            "limits": {
                "sessions": limits.sessions,
                "flows_per_session": limits.flows_per_session,
                "connections_per_address": limits.connections_per_address,
                "transfer_s": limits.transfer_time.as_secs(),
                "transfer_bytes": limits.transfer_bytes.as_u64(),
                "rate_bps": limits.rate.map(unbloat_units::Rate::as_bps),
            },
        });
        json(status, &value)
    }

    fn echo(&self) -> Result<Response<Answer>, Refused> {
        let (upgrade, response) = Handshake::of(self.parts, None)?.split();
        let busy = self.peer.begin(self.shared.transfer_end(Instant::now()));
        let limit = duration(self.shared.limits.session_time);
        tokio::spawn(async move {
            let _busy = busy;
            if let Some(stream) = Handshake::stream(upgrade, socket::LONGEST).await {
                // Out of time: the client finds the connection closed.
                let _ = timeout(limit, socket::echo(stream)).await;
            }
        });
        Ok(response)
    }

    fn load(&self) -> Result<Response<Answer>, Refused> {
        let (upgrade, response) = Handshake::of(self.parts, None)?.split();
        let Some(transfer) = self.transfer(Direction::Up)? else {
            return refuse(
                StatusCode::BAD_REQUEST,
                "load needs a session: session=ID&flow=K",
            );
        };
        self.set_congestion_control()?;
        if let Some(ms) = self.query.unsent_ms {
            self.peer.hold_unsent(ms);
        }
        let (shared, peer) = (Arc::clone(self.shared), Arc::clone(self.peer));
        let limit = duration(self.shared.limits.session_time);
        let busy = self.peer.begin(Instant::now() + limit);
        tokio::spawn(async move {
            let _busy = busy;
            if let Some(stream) = Handshake::stream(upgrade, load_socket::LONGEST).await {
                let load = LoadSocket {
                    shared: &shared,
                    peer: &peer,
                    transfer,
                };
                // Out of time: the client finds the connection closed.
                let _ = timeout(limit, load.run(stream)).await;
            }
        });
        Ok(response)
    }

    fn ndt7(&self, test: ndt7::Test) -> Result<Response<Answer>, Refused> {
        let (upgrade, response) = Handshake::of(self.parts, Some(ndt7::PROTOCOL))?.split();
        let place = match self.shared.ndt7.admit(self.peer.from.ip()) {
            Ok(place) => place,
            Err(why) => return full(why, "tests by ndt7"),
        };
        let (shared, peer) = (Arc::clone(self.shared), Arc::clone(self.peer));
        info!(client = %peer.from, ?test, "ndt7 test begins");
        let busy = self.peer.begin(Instant::now() + ndt7::HARD_END);
        tokio::spawn(async move {
            let _held = (place, busy);
            if let Some(stream) = Handshake::thin_stream(upgrade, ndt7::LONGEST).await {
                // Out of time: the client finds the connection closed.
                let _ = timeout(ndt7::HARD_END, ndt7::run(test, &shared, &peer, stream)).await;
            }
        });
        Ok(response)
    }

    /// What M-Lab's locate services answer, version 1 (`fqdn`) and 2 (`results`).
    fn ndt7_locate(&self) -> Result<Response<Answer>, Refused> {
        if self.shared.ndt7.taken() >= NDT7_TESTS {
            return Ok(answer(StatusCode::NO_CONTENT, JSON, Answer::Text(None)));
        }
        let authority = self.authority()?;
        let scheme = if self.peer.is_encrypted { "wss" } else { "ws" };
        let token = self.token_query();
        let mut urls = serde_json::Map::new();
        for path in ["/ndt/v7/download", "/ndt/v7/upload"] {
            let url = format!("{scheme}://{authority}{path}{token}");
            urls.insert(format!("{scheme}://{path}"), url.into());
        }
        let machine = authority.host();
        let results = object!([{"machine": machine, "urls": urls}]);
        Ok(json(
            StatusCode::OK,
            &object!({"fqdn": authority.as_str(), "results": results}),
        ))
    }

    fn account(&self) -> Result<Response<Answer>, Refused> {
        match self.session.as_ref().and_then(|s| s.watch()) {
            Some(watching) => {
                let lines = Lines::new(watching, self.peer);
                Ok(answer(
                    StatusCode::OK,
                    LINES,
                    Answer::Account(Box::new(lines)),
                ))
            }
            None => refuse(
                StatusCode::CONFLICT,
                "this session's account is already being read",
            ),
        }
    }
}

/// The page loads nothing from elsewhere, and the browser sees to it.
fn shown(asset: &'static page::Asset) -> Response<Answer> {
    let mut response = text(
        StatusCode::OK,
        HeaderValue::from_static(asset.kind),
        asset.text,
    );
    let policy = HeaderValue::from_static(page::POLICY);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}
