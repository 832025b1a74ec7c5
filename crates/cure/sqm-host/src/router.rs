//! Shapers on a router, over ssh.

use crate::error::ShaperError;
use crate::kind::Kind;
use crate::reply::{lines, values};
use crate::run::{command, start};
use crate::script::{self, ENTRY, IFB, OWNER, ROOT};
use crate::status::{QueueStatus, read_queues};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
use tracing::{debug, info, trace};
use unbloat_sqm::uci::{self, Section};
use unbloat_sqm::{Bypass, Device, ETHERNET_HEADER_BYTES, Facts, Plan};

const LONGEST_TARGET: usize = 255;
/// Of sqm-scripts.
const CONFIG: &str = "/etc/config/sqm";

/// `[USER@]HOST` as ssh takes it: a host of its configuration, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target(String);

impl FromStr for Target {
    type Err = ShaperError;

    fn from_str(text: &str) -> Result<Target, ShaperError> {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        let is_part =
            |part: &str| !part.is_empty() && !part.starts_with('-') && part.bytes().all(is_fit);
        let is_target = match text.split_once('@') {
            Some((user, host)) => is_part(user) && is_part(host),
            None => is_part(text),
        };
        if is_target && text.len() <= LONGEST_TARGET {
            return Ok(Target(text.to_owned()));
        }
        let target = text.chars().take(80).collect();
        Err(ShaperError::Target { target })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a router is and has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Look {
    pub kind: Kind,
    pub devices: Vec<String>,
    /// Devices of its default routes, the usual one first.
    pub outward: Vec<String>,
    /// Disciplines, and `ifb`.
    pub offered: Vec<String>,
    /// Why disciplines could not be tried, in its own words.
    #[serde(skip)]
    pub refused: Option<String>,
    #[serde(skip)]
    ethernet: Vec<String>,
    #[serde(skip)]
    bypass: Option<Bypass>,
}

impl Look {
    /// Out of a router's answer.
    pub(crate) fn of(target: &str, lines: &[String]) -> Result<Look, ShaperError> {
        // Devices and disciplines have names alike; whatever else stands there is none.
        let names = |word: &str| -> Vec<String> {
            let all = values(lines, word).into_iter();
            all.filter(|name| name.parse::<Device>().is_ok())
                .map(str::to_owned)
                .collect()
        };
        let kind = match values(lines, "kind").as_slice() {
            ["openwrt"] => Kind::OpenWrt,
            ["linux"] => Kind::Linux,
            other => {
                return Err(ShaperError::Reply {
                    target: target.to_owned(),
                    said: crate::quote::shown(format!("kind {other:?}").as_bytes()),
                });
            }
        };
        Ok(Look {
            kind,
            devices: names("device"),
            outward: {
                let mut seen = BTreeSet::new();
                let mut all = names("outward");
                all.retain(|name| seen.insert(name.clone()));
                all
            },
            offered: names("offers"),
            refused: values(lines, "refused")
                .first()
                .map(|said| crate::quote::shown(said.as_bytes())),
            ethernet: names("ethernet"),
            bypass: match values(lines, "bypass").first() {
                Some(&"uci") => Some(Bypass::Uci),
                Some(_) => Some(Bypass::Flowtable),
                None => None,
            },
        })
    }

    /// What a device's queue counts before the IP packet.
    pub fn header_bytes(&self, device: &Device) -> u8 {
        let is_ethernet = self.ethernet.iter().any(|name| name == device.as_str());
        if is_ethernet {
            ETHERNET_HEADER_BYTES
        } else {
            0
        }
    }

    /// For judging its configuration.
    pub fn facts(&self) -> Facts {
        Facts {
            devices: Some(self.devices.clone()),
            outward: self.outward.clone(),
            ethernet: self.ethernet.clone(),
            // Where none could be tried, nothing is known.
            offered: self.refused.is_none().then(|| self.offered.clone()),
            bypass: self.bypass,
            ..Facts::default()
        }
    }
}

/// A router, reached by the system's ssh with the user's keys; nothing is asked for. Or this host, which is one.
#[derive(Clone, Debug)]
pub struct Router {
    target: Target,
    /// None: it is this host.
    ssh: Option<OsString>,
    /// Where it keeps state, instead of the usual place.
    state: Option<String>,
    /// For one answer.
    patience: Duration,
    /// After which it takes back a change that nobody confirmed.
    within: Duration,
}

impl Router {
    pub fn new(target: Target) -> Router {
        Router {
            target,
            ssh: Some("ssh".into()),
            state: None,
            patience: Duration::from_secs(30),
            within: Duration::from_secs(60),
        }
    }

    /// This host, if it is an OpenWrt with sqm-scripts.
    pub fn here() -> Option<Router> {
        let is_openwrt = Path::new("/etc/init.d/sqm").exists() && Path::new(CONFIG).exists();
        is_openwrt.then(|| Router {
            ssh: None,
            ..Router::new(Target("this host".to_owned()))
        })
    }

    /// Whether this host's own configuration has a shaper of ours for the device.
    pub fn keeps(&self, device: &Device) -> bool {
        let folder = self.folder(Kind::OpenWrt, device);
        self.ssh.is_none() && Path::new(&folder).join("revert").exists()
    }

    /// The command that removes a shaper from it.
    pub fn removal(&self, device: &Device) -> String {
        match self.ssh {
            Some(_) => format!(
                "unbloat sqm remove --router {} --interface {device}",
                self.target
            ),
            None => format!("unbloat sqm remove --interface {device}"),
        }
    }

    /// Another program in place of ssh.
    pub fn by(mut self, ssh: impl Into<OsString>) -> Router {
        self.ssh = Some(ssh.into());
        self
    }

    /// Keeps state on the router in another folder.
    pub fn state_in(mut self, folder: &str) -> Router {
        self.state = Some(folder.to_owned());
        self
    }

    /// How long an answer may take, and when the router takes back what is not confirmed.
    pub fn times(mut self, patience: Duration, within: Duration) -> Router {
        (self.patience, self.within) = (patience, within);
        self
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Asks what it is and has.
    pub fn look(&self) -> Result<Look, ShaperError> {
        Look::of(&self.target.to_string(), &self.ask(&script::look())?)
    }

    /// Its configuration of sqm-scripts.
    pub fn config(&self) -> Result<Vec<Section>, ShaperError> {
        let text = self.ask(&script::export())?.join("\n");
        uci::read(&text).map_err(|source| ShaperError::Config {
            target: self.target.to_string(),
            source,
        })
    }

    /// Whether [`Router::apply`] would find the device free of what cannot be restored. Nothing is changed.
    pub fn check(&self, kind: Kind, plan: &Plan) -> Result<(), ShaperError> {
        let folder = self.folder(kind, &plan.device);
        let lines = self.ask(&script::check(kind, plan, &folder))?;
        self.free(&plan.device, &lines)
    }

    fn free(&self, device: &Device, lines: &[String]) -> Result<(), ShaperError> {
        in_the_way(device, lines).map_or(Ok(()), |source| {
            Err(ShaperError::There {
                target: self.target.to_string(),
                source: Box::new(source),
            })
        })
    }

    /// Puts a shaper in place, and confirms it over a second connection. Without that the router takes it back by itself.
    pub fn apply(&self, look: &Look, plan: &Plan) -> Result<(), ShaperError> {
        let kind = look.kind;
        let plan = &Plan {
            header_bytes: look.header_bytes(&plan.device),
            ..plan.clone()
        };
        let folder = self.folder(kind, &plan.device);
        info!(target = %self.target, device = plan.device.as_str(), ?kind, "shaping on the router");
        let lines = self.ask(&script::apply(kind, plan, &folder, self.within)?)?;
        self.free(&plan.device, &lines)?;
        self.ask(&script::confirm(kind, &folder))
            .map(drop)
            .map_err(|why| ShaperError::LostContact {
                target: self.target.to_string(),
                why: Box::new(why),
                within: self.within,
            })
    }

    /// Takes the shaper back: the router is as before. False: there was none of ours.
    pub fn remove(&self, kind: Kind, device: &Device) -> Result<bool, ShaperError> {
        info!(target = %self.target, device = device.as_str(), "removing the shaper of the router");
        let lines = self.ask(&script::remove(&self.folder(kind, device)))?;
        Ok(!lines.iter().any(|line| line == "nothing"))
    }

    /// Whether the device is shaped by us, and what stands on it.
    pub fn status(
        &self,
        kind: Kind,
        device: &Device,
    ) -> Result<(bool, Vec<QueueStatus>), ShaperError> {
        let lines = self.ask(&script::status(device, &self.folder(kind, device)))?;
        standing(device, &lines)
    }

    fn folder(&self, kind: Kind, device: &Device) -> String {
        script::folder(kind, self.state.as_deref(), device)
    }

    /// Has the router's sh read a script. ssh asks for no password, and what follows the target is one word that we wrote.
    fn ask(&self, script: &str) -> Result<Vec<String>, ShaperError> {
        const OPTIONS: [&str; 9] = [
            "-T",
            "-oBatchMode=yes",
            // A router has no use for the user's keys, display and tunnels, whatever the configuration forwards.
            "-a",
            "-x",
            "-oClearAllForwardings=yes",
            "-oConnectTimeout=10",
            "-oServerAliveInterval=5",
            "-oServerAliveCountMax=3",
            "--",
        ];
        debug!(target = %self.target, "asking the router");
        trace!(script, "script for the router");
        let words = match &self.ssh {
            Some(ssh) => {
                let mut words = vec![ssh.clone()];
                words.extend(OPTIONS.map(OsString::from));
                words.extend([self.target.0.as_str(), "sh -s"].map(OsString::from));
                words
            }
            None => ["sh", "-s"].map(OsString::from).to_vec(),
        };
        let said = start(command(&words), script.as_bytes(), self.patience)?;
        lines(&self.target.0, &said)
    }
}

/// Out of a router's answer: what keeps a device from being shaped.
fn in_the_way(device: &Device, lines: &[String]) -> Option<ShaperError> {
    let device = device.clone();
    let first = |word: &str| values(lines, word).first().copied();
    let shown = |kind: &str| crate::quote::shown(kind.as_bytes());
    if let Some(kind) = first(ROOT).map(shown) {
        return Some(ShaperError::Root { device, kind });
    }
    if let Some(kind) = first(ENTRY).map(shown) {
        return Some(ShaperError::Entry { device, kind });
    }
    first(IFB).map(|_| ShaperError::Ifb {
        device,
        owner: first(OWNER).and_then(|name| name.parse().ok()),
    })
}

/// Out of a router's answer: whether the device is shaped by us, and what stands on it.
pub(crate) fn standing(
    device: &Device,
    lines: &[String],
) -> Result<(bool, Vec<QueueStatus>), ShaperError> {
    let ifb = values(lines, "ifb")
        .first()
        .and_then(|name| name.parse().ok());
    let names = [Some(device.clone()), ifb].into_iter().flatten();
    let mut queues = Vec::new();
    for (json, name) in values(lines, "queues").into_iter().zip(names) {
        queues.extend(read_queues(name.as_str(), json.as_bytes())?);
    }
    Ok((lines.iter().any(|line| line == "shaped"), queues))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_are_options_or_commands_are_refused() {
        let hostile = [
            "",
            "-oProxyCommand=reboot",
            "a b",
            "a;b",
            "$(id)",
            "root@",
            "@host",
            "root@-x",
            "-l@host",
            "a@b@c",
            "host\n",
            "`x`",
            "a'b",
            "ho/st",
        ];
        for target in hostile {
            assert!(target.parse::<Target>().is_err(), "{target:?}");
        }
        for target in [
            "root@192.168.1.1",
            "router",
            "admin@fe80::1",
            "my-router.lan",
        ] {
            assert_eq!(target.parse::<Target>().unwrap().to_string(), target);
        }
    }
}
