//! Where the added delay of a direction arises.

use crate::fields::ms;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_units::Delta;
use unbloat_units::Direction;

/// The parts of one direction's added delay; null: they cannot be told from what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    pub direction: Direction,
    /// Queues in which other traffic waits too.
    pub shared: Share,
    /// The queue of the load's own flow.
    pub own_queue: Option<Share>,
    /// Sockets, TLS and HTTP of the end hosts.
    pub sockets: Option<Share>,
    /// What a request on a load connection waits.
    pub same_connection: Option<Share>,
    /// What a new connection waits.
    pub setup: Option<Share>,
}

/// A place and the delay in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    pub place: String,
    #[serde(rename = "ms", with = "ms")]
    #[schemars(with = "f64")]
    pub delay: Delta,
    /// The measurements it is the difference of.
    pub from: String,
}

impl Split {
    pub fn new(direction: Direction, split: &crate::Split) -> Split {
        Split {
            direction,
            shared: (&split.shared).into(),
            own_queue: split.own_queue.as_ref().map(Share::from),
            sockets: split.sockets.as_ref().map(Share::from),
            same_connection: split.same_connection.as_ref().map(Share::from),
            setup: split.setup.as_ref().map(Share::from),
        }
    }
}

impl From<&crate::Share> for Share {
    fn from(share: &crate::Share) -> Share {
        Share {
            place: share.place.to_owned(),
            delay: share.delay,
            from: share.from.to_owned(),
        }
    }
}
