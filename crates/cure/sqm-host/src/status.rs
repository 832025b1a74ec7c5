//! What stands on a device.

use crate::error::ShaperError;
use crate::local::queues;
use crate::run::run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_sqm::{Device, Plan};
use unbloat_undo::{Journals, UndoError};

/// One queue discipline, with what it has counted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueStatus {
    pub device: String,
    pub kind: String,
    pub handle: String,
    pub root: bool,
    /// What CAKE shapes to; the kernel counts it in bytes.
    pub rate_bps: Option<u64>,
    pub sent_bytes: u64,
    pub sent_packets: u64,
    pub dropped: u64,
    pub marked: u64,
    pub backlog_bytes: u64,
    /// The worst of CAKE's tins: a moving average of how long packets waited that were held up.
    pub peak_delay_us: Option<u64>,
}

/// A device, and who shapes it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Shaped {
    pub device: Device,
    pub plan: Option<Plan>,
    pub command: Option<String>,
    /// The process that holds it; none where it was kept.
    pub pid: Option<u32>,
    pub queues: Vec<QueueStatus>,
}

/// What stands on a device and on its IFB device, whoever made it; without journals, nobody knows who.
pub fn status(journals: Option<&Journals>, device: &Device) -> Result<Shaped, ShaperError> {
    let resource = queues(device);
    let holdings = journals.map_or(Ok(Vec::new()), Journals::holdings)?;
    let mut holdings = holdings.into_iter();
    let held = holdings.find(|held| held.resource == resource);
    let mut found = of(device)?;
    match of(&device.ifb()) {
        Err(ShaperError::Refused { .. }) => {}
        other => found.extend(other?),
    }
    Ok(Shaped {
        device: device.clone(),
        plan: held
            .as_ref()
            .and_then(|h| serde_json::from_str(&h.purpose.note).ok()),
        pid: held.as_ref().filter(|h| h.is_alive).map(|h| h.pid),
        command: held.map(|h| h.purpose.command),
        queues: found,
    })
}

/// All devices of this namespace that are shaped by unbloat.
pub fn devices(journals: &Journals) -> Result<Vec<Device>, UndoError> {
    let holdings = journals.holdings()?.into_iter();
    Ok(holdings
        .filter_map(|held| match held.resource {
            unbloat_undo::Resource::Queues { device } => device.parse().ok(),
            _ => None,
        })
        .collect())
}

fn of(device: &Device) -> Result<Vec<QueueStatus>, ShaperError> {
    let line = ["tc", "-s", "-j", "qdisc", "show", "dev", device.as_str()];
    let json = run(&line.map(str::to_owned))?;
    read_queues(device.as_str(), &json)
}

/// Reads what `tc -s -j qdisc show dev DEVICE` says.
pub fn read_queues(device: &str, json: &[u8]) -> Result<Vec<QueueStatus>, ShaperError> {
    let all: Vec<Listed> = serde_json::from_slice(json).map_err(|source| ShaperError::Queues {
        device: device.to_owned(),
        source,
    })?;
    let to_status = |listed: Listed| QueueStatus {
        device: device.to_owned(),
        rate_bps: listed
            .options
            .bandwidth
            .and_then(|b| b.as_u64())
            .map(|b| b.saturating_mul(8)),
        peak_delay_us: listed.tins.iter().map(|tin| tin.peak_delay_us).max(),
        marked: listed
            .tins
            .iter()
            .fold(listed.ecn_mark, |sum, tin| sum.saturating_add(tin.ecn_mark)),
        kind: listed.kind.0,
        handle: listed.handle.0,
        root: listed.root,
        sent_bytes: listed.bytes,
        sent_packets: listed.packets,
        dropped: listed.drops,
        backlog_bytes: listed.backlog,
    };
    Ok(all.into_iter().map(to_status).collect())
}

/// A name that tc gives, as it stands in commands: no more than 32 letters, digits, `_`, `-` and `:`.
#[derive(Default, Deserialize)]
#[serde(try_from = "String")]
struct Word(String);

impl TryFrom<String> for Word {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Word, &'static str> {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte);
        match text.len() <= 32 && text.bytes().all(is_fit) {
            true => Ok(Word(text)),
            false => Err("expected a name from tc"),
        }
    }
}

#[derive(Deserialize)]
struct Listed {
    kind: Word,
    #[serde(default)]
    handle: Word,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    drops: u64,
    #[serde(default)]
    backlog: u64,
    #[serde(default)]
    ecn_mark: u64,
    #[serde(default)]
    tins: Vec<Tin>,
}

#[derive(Default, Deserialize)]
struct Options {
    /// A number of bytes a second, or "unlimited".
    bandwidth: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Tin {
    #[serde(default)]
    peak_delay_us: u64,
    #[serde(default)]
    ecn_mark: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As q_cake.c of iproute2 prints it.
    const CAKE: &str = r#"[{"kind":"cake","handle":"800d:","root":true,"refcnt":2,"options":{"bandwidth":2375000,"diffserv":"besteffort",
        "flowmode":"triple-isolate","nat":false,"atm":"atm","overhead":44},"bytes":1500000,"packets":1000,"drops":7,"overlimits":3,
        "requeues":0,"backlog":3000,"qlen":2,"tins":[{"threshold_rate":2375000,"peak_delay_us":1200,"ecn_mark":3,"drops":7}]},
        {"kind":"ingress","handle":"ffff:","parent":"ffff:fff1","options":{},"bytes":9,"packets":1}]"#;

    #[test]
    fn cakes_rate_is_told_in_bits() {
        let found = read_queues("eth0", CAKE.as_bytes()).unwrap();
        assert_eq!(found[0].rate_bps, Some(19_000_000));
        assert_eq!((found[0].marked, found[0].dropped), (3, 7));
        assert_eq!(found[0].peak_delay_us, Some(1200));
        assert_eq!((found[1].kind.as_str(), found[1].root), ("ingress", false));
    }

    #[test]
    fn answers_that_are_no_list_of_queues_are_told() {
        for odd in ["", "{}", "[{}]", "[{\"kind\":7}]", "[", "null"] {
            let read = read_queues("eth0", odd.as_bytes());
            assert!(matches!(read, Err(ShaperError::Queues { .. })), "{odd}");
        }
        let unlimited = br#"[{"kind":"cake","options":{"bandwidth":"unlimited"}}]"#;
        assert_eq!(read_queues("eth0", unlimited).unwrap()[0].rate_bps, None);
    }
}
