//! What a device and the kernel hold below and above the queue discipline, and what of it can be limited.

use crate::error::UplinkError;
use crate::shaper::commands;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use unbloat_undo::{Claim, Purpose, Resource, Step, recover};
use unbloat_units::Bytes;

const LOW_WATER_MARK: &str = "/proc/sys/net/ipv4/tcp_notsent_lowat";
/// What a socket may hold unsent if nothing was set.
const NO_MARK: u64 = u32::MAX as u64;
/// As docs/uplink.md says: enough for a page of the kernel's writes, 100 ms at 10 Mbit/s.
const ADVISED_MARK: u64 = 131_072;

/// Limits of a device, as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layers {
    pub device: String,
    /// Byte queue limits of each transmit queue; none where the driver does not count bytes.
    pub bql: Vec<Bql>,
    /// Airtime queue limit of the phy, as its debugfs tells it; Wi-Fi only.
    pub aql: Option<String>,
    /// tcp_notsent_lowat: what a socket may hold unsent, in bytes; none: as much as its buffer.
    pub notsent_lowat_bytes: Option<u64>,
    pub advice: Vec<&'static str>,
}

/// A transmit queue's limits (Documentation/ABI/testing/sysfs-class-net-queues).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Bql {
    pub queue: String,
    pub limit_bytes: u64,
    pub limit_max_bytes: u64,
    pub inflight_bytes: u64,
}

pub fn layers(device: &str) -> Result<Layers, UplinkError> {
    let folder = folder(device)?;
    let bql = queues(&folder).into_iter().filter_map(bql_of).collect();
    let mark = number(Path::new(LOW_WATER_MARK)).filter(|mark| *mark < NO_MARK);
    let mut layers = Layers {
        device: device.to_owned(),
        bql,
        aql: aql(&folder),
        notsent_lowat_bytes: mark,
        advice: Vec::new(),
    };
    layers.advice = advice(&layers);
    Ok(layers)
}

fn advice(layers: &Layers) -> Vec<&'static str> {
    // A driver without byte limits has the files all the same, and never anything in flight.
    let counts = layers.bql.iter().any(|queue| queue.limit_bytes > 0);
    let rules = [
        (
            layers
                .notsent_lowat_bytes
                .is_none_or(|mark| mark > ADVISED_MARK),
            "applications that upload live data should set TCP_NOTSENT_LOWAT (128 kB), or the host net.ipv4.tcp_notsent_lowat: data waiting in a socket is delayed as much as data waiting below it",
        ),
        (
            !counts && layers.aql.is_none(),
            "the driver has no byte limit (BQL): its ring is limited in packets of any size; shorten the ring (ethtool -G, or txqueuelen of USB modems)",
        ),
    ];
    let due = rules.into_iter().filter(|(is_due, _)| *is_due);
    due.map(|(_, text)| text).collect()
}

/// What is to be limited while a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in the driver's ring (BQL's limit_max).
    pub bql: Option<Bytes>,
    /// Most bytes that a socket holds unsent, of this host.
    pub notsent_lowat: Option<Bytes>,
}

/// Sets what is given; the claim undoes it. None where there is nothing to set.
pub fn set_limits(device: &str, limits: Limits) -> Result<Option<Claim>, UplinkError> {
    if limits == Limits::default() {
        return Ok(None);
    }
    recover()?;
    let resource = Resource::Device {
        device: device.to_owned(),
    };
    let settings = settings(device, limits)?;
    let mut claim = Claim::take(&resource, &Purpose::this_command())?;
    for (path, value) in settings {
        claim.before(Step::setting(&path)?)?;
        let written = fs::write(&path, value.as_u64().to_string());
        written.map_err(|source| UplinkError::File { path, source })?;
    }
    Ok(Some(claim))
}

/// What [`crate::Control`] and [`set_limits`] would do, a step each: `tc` commands, and files that are written.
pub fn steps(device: &str, limits: Limits) -> Result<Vec<String>, UplinkError> {
    let files = settings(device, limits)?.into_iter();
    let files =
        files.map(|(path, value)| format!("write {} to {}", value.as_u64(), path.display()));
    let mut steps: Vec<String> = files.collect();
    steps.extend(commands(device)?);
    steps.push("set the rate of class 1:1 to what the modem drains".to_owned());
    Ok(steps)
}

/// The files of the limits, and what they are to hold.
fn settings(device: &str, limits: Limits) -> Result<Vec<(PathBuf, Bytes)>, UplinkError> {
    let mut settings = Vec::new();
    if let Some(most) = limits.bql {
        let files = queues(&folder(device)?)
            .into_iter()
            .map(|queue| queue.join("byte_queue_limits/limit_max"));
        let there: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
        if there.is_empty() {
            let why = "its driver does not count bytes (no byte_queue_limits)";
            let text = device.to_owned();
            return Err(UplinkError::NoLimit { text, why });
        }
        settings.extend(there.into_iter().map(|file| (file, most)));
    }
    settings.extend(
        limits
            .notsent_lowat
            .map(|mark| (PathBuf::from(LOW_WATER_MARK), mark)),
    );
    Ok(settings)
}

fn folder(device: &str) -> Result<PathBuf, UplinkError> {
    let folder = Path::new("/sys/class/net").join(device);
    let is_name = !device.is_empty() && !device.contains('/') && device != "." && device != "..";
    match is_name && folder.is_dir() {
        true => Ok(folder),
        false => Err(UplinkError::NoDevice {
            device: device.to_owned(),
        }),
    }
}

/// The transmit queues, by name.
fn queues(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder.join("queues")).into_iter().flatten();
    let mut queues: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("tx-"))
        })
        .collect();
    queues.sort();
    queues
}

fn bql_of(queue: PathBuf) -> Option<Bql> {
    let limits = queue.join("byte_queue_limits");
    Some(Bql {
        limit_bytes: number(&limits.join("limit"))?,
        limit_max_bytes: number(&limits.join("limit_max"))?,
        inflight_bytes: number(&limits.join("inflight"))?,
        queue: queue.file_name()?.to_string_lossy().into_owned(),
    })
}

/// mac80211's, in debugfs.
fn aql(folder: &Path) -> Option<String> {
    let phy = fs::read_to_string(folder.join("phy80211/name")).ok()?;
    let file = Path::new("/sys/kernel/debug/ieee80211")
        .join(phy.trim())
        .join("aql_txq_limit");
    Some(fs::read_to_string(file).ok()?.trim().to_owned())
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_names_of_devices_reach_no_file() {
        for name in ["", "..", "../lo", "no such device", "lo/../lo"] {
            assert!(
                matches!(layers(name), Err(UplinkError::NoDevice { .. })),
                "{name}"
            );
        }
    }

    #[test]
    fn a_ring_without_a_byte_limit_and_sockets_without_a_mark_are_advised_on() {
        let bare = Layers::default();
        assert_eq!(advice(&bare).len(), 2);
        let limited = Layers {
            bql: vec![Bql {
                queue: "tx-0".to_owned(),
                limit_bytes: 3_028,
                limit_max_bytes: 1_879_048_192,
                inflight_bytes: 0,
            }],
            notsent_lowat_bytes: Some(16_384),
            ..Layers::default()
        };
        assert!(advice(&limited).is_empty());
    }
}
