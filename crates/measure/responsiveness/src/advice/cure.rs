//! What can be done, and how it is said.

use crate::fields::{self, bps_or_null};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_units::{Bytes, Direction, Rate};

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cure {
    Nothing,
    Repeat,
    /// The server echoes nothing that waits beside the load.
    MeasureDelay,
    /// A shaper with a queue for each flow.
    Shaper {
        #[serde(rename = "down_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        down: Option<Rate>,
        #[serde(rename = "up_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        up: Option<Rate>,
        site: Site,
    },
    /// A shaper whose rates follow the line's, from these.
    AdaptiveShaper {
        #[serde(rename = "down_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        down: Option<Rate>,
        #[serde(rename = "up_bps", with = "bps_or_null")]
        #[schemars(with = "Option<u64>")]
        up: Option<Rate>,
    },
    /// Receive windows of this host's downloads that hold what the path holds.
    ReceiveWindow,
    /// A short queue in front of this host's device.
    DeviceQueue,
    /// A short queue in this host's driver.
    DriverQueue,
    /// The local network.
    LocalLink,
    /// The queue is where nothing on this side reaches it.
    Elsewhere,
    /// A limit on what senders write ahead: here for uploads, on the server for downloads.
    NotsentLowat {
        direction: Direction,
        #[serde(with = "fields::bytes")]
        #[schemars(with = "u64")]
        bytes: Bytes,
    },
}

/// Where a shaper helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// On this host for this host, on the router for everybody.
    Anywhere,
    /// The queue is in front of the router.
    ThisHost,
}

impl Cure {
    /// What `fix` does of it, in a few words. None: it cannot carry it out.
    pub fn action(&self) -> Option<String> {
        match *self {
            Cure::Shaper { down, up, .. } => Some(format!("shape {}", Rates(down, up))),
            Cure::AdaptiveShaper { .. } => {
                Some("shape both directions with rates that follow the line".to_owned())
            }
            Cure::ReceiveWindow => Some("limit the receive windows of downloads".to_owned()),
            _ => None,
        }
    }
}

impl fmt::Display for Cure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Cure::Nothing => f.write_str("Nothing to fix. If calls still stutter at times, test again while they do."),
            Cure::Repeat => f.write_str("Test again: nothing can be concluded from this run."),
            Cure::MeasureDelay => f.write_str("Test against `unbloat serve`, or add an irtt server with --echo HOST:PORT, with stages down and up."),
            Cure::Shaper { down, up, site } => {
                write!(f, "Shape {}", Rates(down, up))?;
                f.write_str(match site {
                    Site::Anywhere => ": enable SQM (CAKE or fq_codel) on the router, or run `unbloat fix` on this host.",
                    Site::ThisHost => " on this host (`unbloat fix`); a shaper on the router does not reach this queue.",
                })
            }
            Cure::AdaptiveShaper { down, up } => write!(
                f,
                "Shape with a rate that follows the line, starting with {}: `unbloat autorate` on the router, or `unbloat shape --follow` on this host.",
                Rates(down, up)
            ),
            Cure::ReceiveWindow => f.write_str(
                "Limit the receive windows of this host's downloads to what the path needs: `unbloat drwa`.",
            ),
            Cure::DeviceQueue => f.write_str(
                "Replace the queue discipline of this host's sending device with fq_codel or CAKE (`tc qdisc replace dev DEVICE root fq_codel`).",
            ),
            Cure::DriverQueue => f.write_str(
                "Enable byte queue limits (BQL) for this host's sending device, or shorten its transmit ring (`ethtool -G DEVICE tx N`).",
            ),
            Cure::LocalLink => f.write_str(
                "Fix the local network: use a cable or move closer to the access point, and update its firmware to one with fq_codel. SQM on the access line does not reach this queue.",
            ),
            Cure::Elsewhere => f.write_str(
                "Nothing on this side reaches the queue: it is beyond the access line. A shaper here would help only while this line's own traffic fills it. Contact the operator of that link.",
            ),
            Cure::NotsentLowat {
                direction: Direction::Up,
                bytes,
            } => write!(
                f,
                "Limit unsent data on this host to {bytes} a connection (TCP_NOTSENT_LOWAT, net.ipv4.tcp_notsent_lowat)."
            ),
            Cure::NotsentLowat {
                direction: Direction::Down,
                bytes,
            } => write!(
                f,
                "Limit unsent data on the server to {bytes} a connection (TCP_NOTSENT_LOWAT); nothing on this side helps."
            ),
        }
    }
}

/// Down and up, those that there are.
struct Rates(Option<Rate>, Option<Rate>);

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(down), Some(up)) => write!(f, "downloads to {down} and uploads to {up}"),
            (Some(down), None) => write!(f, "downloads to {down}"),
            (None, Some(up)) => write!(f, "uploads to {up}"),
            (None, None) => f.write_str("the line"),
        }
    }
}
