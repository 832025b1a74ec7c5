//! Apple's service for `networkQuality`, which speaks draft-ietf-ippm-responsiveness with the keys of its older clients.
//!
//! # References
//! The default of Apple's `networkQuality -C` and of goresponsiveness: the description at `/api/v1/gm/config`, whose `test_endpoint` names a server nearby.

use super::Public;
use crate::target::{Origin, Target};

pub(super) const PUBLIC: Public = Public {
    name: "apple",
    host: "mensura.cdn-apple.com",
    policy: "https://www.apple.com/legal/privacy/",
    publishes: false,
    target: |host| {
        Target::Responsiveness(Origin {
            host: host.to_owned(),
            port: 443,
            is_tls: true,
            path: "/api/v1/gm/config".to_owned(),
        })
    },
};
