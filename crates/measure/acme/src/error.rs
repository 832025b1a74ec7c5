//! Why there is no certificate.

use instant_acme::{Error, Problem};
use std::io;
use std::path::PathBuf;
use unbloat_server::ServeError;

#[derive(Debug, thiserror::Error)]
pub enum AcmeError {
    #[error(
        "{0:?} is not a domain that can have a certificate; give a name such as test.example.net"
    )]
    Domain(String),
    #[error("{0:?} is not the address of an ACME directory; give https://HOST/PATH")]
    Directory(String),
    #[error("cannot read or write {}: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is not an account of an authority; remove it to make a new one", .0.display())]
    Account(PathBuf),
    #[error("this system trusts no certificate authority; install ca-certificates")]
    NoRoots,
    #[error("{0}")]
    Exchange(String),
    #[error("the authority does not offer TLS-ALPN-01")]
    NoChallenge,
    #[error(
        "the authority could not verify the domain: {0}; it connects to port 443 of the domain's addresses"
    )]
    Unproven(String),
    #[error("the authority refuses: {0}")]
    Refused(String),
    #[error("the authority does not know the account any more")]
    Forgotten,
    #[error("the authority took longer than {0} s")]
    Slow(u64),
    #[error("the authority's certificate cannot be used: {0}")]
    Unusable(#[from] ServeError),
    #[error("the authority's certificate has no valid dates")]
    Dates,
    #[error("cannot make a key: {0}")]
    Key(#[from] rcgen::Error),
    #[error("cannot start: {0}")]
    Start(io::Error),
}

/// RFC 8555, section 6.7.
const FORGOTTEN: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

impl From<Error> for AcmeError {
    fn from(error: Error) -> AcmeError {
        match error {
            Error::Api(problem) if problem.r#type.as_deref() == Some(FORGOTTEN) => {
                AcmeError::Forgotten
            }
            Error::Api(problem) => AcmeError::Refused(words(&problem)),
            Error::Other(error) => AcmeError::Exchange(chain(&*error)),
            error => AcmeError::Exchange(chain(&error)),
        }
    }
}

/// What the authority wrote, without the library's frame.
pub fn words(problem: &Problem) -> String {
    let own = problem.detail.iter().cloned();
    let parts = problem.subproblems.iter();
    let all: Vec<String> = own
        .chain(parts.filter_map(|part| part.detail.clone()))
        .collect();
    match all.is_empty() {
        true => problem.to_string(),
        false => all.join("; "),
    }
}

/// The reasons behind an error: an HTTP client's own words are "client error (Connect)".
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(cause) = behind {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        behind = cause.source();
    }
    text
}
