//! Which answer a path names.

use crate::ndt7::Test;
use crate::session::Id;
use hyper::Method;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Nq,
    Small,
    Large,
    Upload,
    Page(&'static crate::page::Asset),
    OpenSession,
    Session(Id),
    CloseSession(Id),
    Account(Id),
    Echo,
    /// Load for the page.
    Load,
    /// The verdict on a run of the page.
    Judge,
    Ndt7Locate,
    Ndt7(Test),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    NoPath,
    /// What may be done there.
    NoMethod(&'static str),
}

impl Route {
    pub fn of(method: &Method, path: &str) -> Result<Route, Lost> {
        let get = method == Method::GET || method == Method::HEAD;
        let reads = |route| get.then_some(route).ok_or(Lost::NoMethod("GET, HEAD"));
        let posts = |route| {
            let post = method == Method::POST;
            post.then_some(route).ok_or(Lost::NoMethod("POST"))
        };
        match path {
            "/.well-known/nq" => reads(Route::Nq),
            "/small" => reads(Route::Small),
            "/large" => reads(Route::Large),
            "/unbloat/v1/ws" => reads(Route::Echo),
            "/unbloat/v1/ws/load" => reads(Route::Load),
            "/unbloat/v1/verdict" => posts(Route::Judge),
            "/ndt7" => reads(Route::Ndt7Locate),
            "/ndt/v7/download" => reads(Route::Ndt7(Test::Download)),
            "/ndt/v7/upload" => reads(Route::Ndt7(Test::Upload)),
            "/upload" => posts(Route::Upload),
            "/unbloat/v1/session" => posts(Route::OpenSession),
            _ => match path.strip_prefix("/unbloat/v1/session/") {
                Some(rest) => session(rest, method),
                None => {
                    let asset = crate::page::find(path).ok_or(Lost::NoPath)?;
                    reads(Route::Page(asset))
                }
            },
        }
    }

    /// Whether it may be had without a token.
    pub fn is_public(self) -> bool {
        matches!(self, Route::Page(_) | Route::Ndt7Locate)
    }

    /// Whether a page of another site could have its visitors load this server, or take its places. The description is no such thing, nor is
    /// what a visitor goes to.
    pub fn is_of_visitors_own(self) -> bool {
        !matches!(
            self,
            Route::Nq | Route::Small | Route::Page(_) | Route::Ndt7Locate
        )
    }

    /// The session that the path names.
    pub fn session(self) -> Option<Id> {
        match self {
            Route::Session(id) | Route::CloseSession(id) | Route::Account(id) => Some(id),
            _ => None,
        }
    }
}

fn session(rest: &str, method: &Method) -> Result<Route, Lost> {
    let (id, below) = rest.split_once('/').unwrap_or((rest, ""));
    let id = Id::parse(id).ok_or(Lost::NoPath)?;
    match (below, method) {
        ("account", &Method::GET) => Ok(Route::Account(id)),
        ("account", _) => Err(Lost::NoMethod("GET")),
        ("", &Method::GET) => Ok(Route::Session(id)),
        ("", &Method::DELETE) => Ok(Route::CloseSession(id)),
        ("", _) => Err(Lost::NoMethod("GET, DELETE")),
        _ => Err(Lost::NoPath),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_methods_find_their_answers() {
        let of = |method: Method, path: &str| Route::of(&method, path);
        assert_eq!(of(Method::GET, "/small"), Ok(Route::Small));
        assert_eq!(of(Method::HEAD, "/large"), Ok(Route::Large));
        assert_eq!(of(Method::POST, "/large"), Err(Lost::NoMethod("GET, HEAD")));
        assert_eq!(of(Method::POST, "/upload"), Ok(Route::Upload));
        assert_eq!(of(Method::GET, "/../small"), Err(Lost::NoPath));
        let id = "00112233445566778899aabbccddeeff";
        let route = of(Method::GET, &format!("/unbloat/v1/session/{id}/account"));
        assert!(matches!(route, Ok(Route::Account(found)) if found.to_string() == id));
        let ended = of(Method::DELETE, &format!("/unbloat/v1/session/{id}"));
        assert!(matches!(ended, Ok(Route::CloseSession(_))));
        assert_eq!(
            of(Method::GET, "/unbloat/v1/session/xyz"),
            Err(Lost::NoPath)
        );
        let below = of(Method::GET, &format!("/unbloat/v1/session/{id}/more"));
        assert_eq!(below, Err(Lost::NoPath));
        assert!(of(Method::GET, "/").unwrap().is_public());
    }
}
