//! Servers of others, which know nothing of unbloat: services by name, and files.
//!
//! None is contacted unless its name was typed. They are asked for little: [`FLOWS`] connections, [`PAIRS_PER_S`] probes a second of each kind, one
//! direction at a time, [`BOUND`] bytes each way. Who answers 429 or 503 is asked for nothing more.

mod apple;
mod cloudflare;
mod file;
mod mlab;

use crate::options::Flows;
use crate::target::Target;
use sha2::{Digest, Sha256};
use unbloat_units::Bytes;

pub(crate) use mlab::{Nearest, nearest};

/// Of one test, in each direction: what bodies of requests and answers hold.
pub const BOUND: Bytes = Bytes::new(1_000_000_000);
/// As many as browsers open to a host.
pub(crate) const FLOWS: Flows = Flows::Ramp {
    first: 4,
    more: 1,
    most: 6,
    segments: 4,
};
pub(crate) const PAIRS_PER_S: u16 = 5;

/// A service that a test knows by its name.
#[derive(Debug)]
pub struct Public {
    pub name: &'static str,
    host: &'static str,
    /// Where the operator says what it does with what it learns.
    policy: &'static str,
    /// It publishes what it learns.
    publishes: bool,
    target: fn(&'static str) -> Target,
}

/// What a service does with what it learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub text: String,
    /// SHA-256 of the text: who agrees, agrees to no other.
    pub digest: [u8; 32],
}

/// All of them.
pub const PUBLIC: [Public; 3] = [cloudflare::PUBLIC, mlab::PUBLIC, apple::PUBLIC];

impl Public {
    pub(crate) fn named(name: &str) -> Option<Target> {
        let mut all = PUBLIC.iter();
        let found = all.find(|one| one.name == name)?;
        Some((found.target)(found.host))
    }

    pub fn of(target: &Target) -> Option<&'static Public> {
        let host = &target.origin()?.host;
        PUBLIC.iter().find(|one| one.host == host)
    }

    /// What the user has to agree to before the first test; none if nothing is published.
    pub fn terms(&self) -> Option<Terms> {
        self.publishes.then(|| {
            let text = format!(
                "{} publishes every test: the public address of this host, the time and all that its server measures ({})",
                self.host, self.policy
            );
            let digest = Sha256::digest(&text).into();
            Terms { text, digest }
        })
    }
}

/// What is to be said before anything is sent to a server of others; none of a server that was set up for tests.
pub fn notice(target: &Target) -> Option<String> {
    let host = &target.origin()?.host;
    match (Public::of(target), target) {
        (Some(known), _) => {
            let server = match target {
                Target::Mlab(_) => "the nearest of M-Lab's servers",
                _ => host,
            };
            let learns = match known.publishes {
                true => "learns and publishes",
                false => "learns",
            };
            Some(format!(
                "each test sends at most {BOUND} to {server} and receives as much; the service {learns} this host's public address, the time and the rates ({})",
                known.policy
            ))
        }
        (None, Target::Responsiveness(origin)) if !origin.is_well_known() => Some(format!(
            "if this is a file, at most {BOUND} of it is downloaded from {host}, and nothing is uploaded"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_known_by_its_name_and_its_address_and_others_are_not() {
        for (typed, name) in [
            ("cloudflare", "cloudflare"),
            ("apple", "apple"),
            ("mlab", "mlab"),
            ("https://mensura.cdn-apple.com/api/v1/gm/config", "apple"),
        ] {
            let target: Target = typed.parse().unwrap();
            assert_eq!(Public::of(&target).map(|known| known.name), Some(name));
            let told = notice(&target).unwrap();
            assert!(
                told.contains("1.00 GB") && told.contains("learns"),
                "{told}"
            );
            let known = Public::of(&target).unwrap();
            assert_eq!(known.terms().is_some(), told.contains("publishes"));
        }
        for typed in ["cloudflare.lan", "apple:4043", "irtt://apple", "ndt7://box"] {
            let target: Target = typed.parse().unwrap();
            assert!(
                Public::of(&target).is_none() && notice(&target).is_none(),
                "{typed}"
            );
        }
        let file = notice(&"https://h/large.iso".parse().unwrap()).unwrap();
        assert!(file.contains("1.00 GB") && file.contains(" h,"), "{file}");
    }
}
