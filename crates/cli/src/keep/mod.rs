//! Cures that return after a reboot: files by which the system itself puts them in place again, written and removed.

mod program;
mod words;

use crate::exit::Failure;
use crate::kernel::of_kernel;
use crate::print::note;
use crate::unit::quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;
use unbloat_os::files;
use unbloat_sqm::networkd::File;
use unbloat_sqm::systemd::{Link, Service, Unit, Work};
use unbloat_sqm::{Device, Plan};
use unbloat_sqm_host::Router;
use unbloat_undo::{Claim, Journals, Purpose, Resource, Step, UndoError, write_link, write_text};
use unbloat_units::Delta;

/// As sd_booted(3) and systemd-detect-virt(1) look for them.
const SYSTEMD: &str = "/run/systemd/system";
const CONTAINER: &str = "/run/systemd/container";
/// A service that fails at its start has done so by then.
const SETTLED: Duration = Duration::from_secs(1);

/// A cure, as far as it is to return.
#[derive(Clone, Copy)]
pub struct Cure<'a> {
    pub device: &'a Device,
    pub plan: Option<&'a Plan>,
    /// CAKE in user space with rates that follow the line.
    pub follows: bool,
    /// Round trip of the idle path, for these.
    pub rtt: Option<Delta>,
    /// Receive windows of all downloads.
    pub holds_window: bool,
}

/// The files that have a cure return.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Keep {
    pub files: Vec<File>,
    /// Symbolic links, with what they point to: they have units started at boot.
    pub links: Vec<File>,
    #[serde(skip)]
    units: Vec<String>,
    #[serde(skip)]
    device: Device,
    #[serde(skip)]
    plan: Option<Plan>,
}

/// What is remembered of it.
#[derive(Serialize, Deserialize)]
struct Note {
    plan: Option<Plan>,
}

/// Files that are there, and are removed again unless they are kept.
pub struct Written {
    claim: Claim,
    links: Vec<File>,
}

/// What an earlier command kept.
#[derive(Serialize, JsonSchema)]
pub struct Kept {
    pub device: Device,
    /// The command that kept it.
    pub command: String,
    pub plan: Option<Plan>,
    pub files: Vec<String>,
    /// A file that was changed since, which `sqm remove` refuses to remove.
    pub edited: Option<String>,
}

impl Keep {
    /// Chooses what this system uses. Nothing is changed.
    pub fn of(cure: &Cure<'_>) -> Result<Keep, Failure> {
        if !Path::new(SYSTEMD).exists() {
            if Router::here().is_some() {
                return Err("on this OpenWrt, /etc/config/sqm keeps a shaper after a reboot; run `unbloat sqm apply --keep --test latest`, which writes it".into());
            }
            let commands = words::of(cure).into_iter().map(|words| words.join(" "));
            return Err(format!("cannot keep the change after a reboot: neither systemd nor OpenWrt's sqm-scripts run here; add `{command}` to the start scripts of this system", command = commands.collect::<Vec<_>>().join("` and `")).into());
        }
        by_systemd(cure)
    }

    /// The device that has to be free.
    pub fn check_free(&self, journals: &Journals) -> Result<(), UndoError> {
        match journals.kept(&resource(&self.device))? {
            Some(kept) => Err(UndoError::Kept {
                resource: kept.resource().clone(),
                command: kept.purpose().command.clone(),
            }),
            None => Ok(()),
        }
    }

    /// For people: why, and each file with its content.
    pub fn text(&self) -> String {
        let file = |file: &File| format!("# {}\n{}\n", file.path, file.text);
        let link = |link: &File| format!("# {} -> {}\n", link.path, link.text);
        let files = self.files.iter().map(file);
        files.chain(self.links.iter().map(link)).collect()
    }

    pub fn removal(&self) -> String {
        format!("unbloat sqm remove --interface {}", self.device)
    }

    /// Writes the files. Units of this program are started: they put the cure in place now, too.
    pub fn write(&self, journals: &Journals) -> Result<Written, Failure> {
        let purpose = Purpose {
            note: serde_json::to_string(&Note {
                plan: self.plan.clone(),
            })
            .map_err(|error| format!("cannot save the plan: {error}"))?,
            ..Purpose::this_command()
        };
        let mut claim = journals.take(&resource(&self.device), &purpose)?;
        claim.before(Step::Units)?;
        for file in &self.files {
            let path = Path::new(&file.path);
            make_folder(&mut claim, path)?;
            claim.before(Step::file(path, &file.text)?)?;
            write_text(path, &file.text)?;
        }
        ask(&claim, &["daemon-reload"])?;
        for unit in &self.units {
            claim.before(Step::Unit { name: unit.clone() })?;
            start(&claim, unit)?;
        }
        Ok(Written {
            claim,
            links: self.links.clone(),
        })
    }
}

impl Written {
    /// Has the units started at each boot, says how to remove all, and leaves it in place.
    pub fn keep(mut self) -> Result<(), Failure> {
        for link in &self.links {
            let path = Path::new(&link.path);
            make_folder(&mut self.claim, path)?;
            self.claim.before(Step::symbolic_link(path, &link.text)?)?;
            write_link(path, &link.text)?;
        }
        Ok(self.claim.keep()?)
    }

    pub fn release(self) -> Result<(), Failure> {
        Ok(self.claim.undo()?)
    }
}

/// What is kept for a device, to be removed: refused where somebody has changed a file of it.
pub fn take_back(journals: &Journals, device: &Device) -> Result<bool, UndoError> {
    let Some(claim) = journals.kept(&resource(device))? else {
        return Ok(false);
    };
    claim.check_unedited()?;
    claim.undo()?;
    Ok(true)
}

/// What is kept on this host.
pub fn kept(journals: &Journals) -> Result<Vec<Kept>, UndoError> {
    let mut found = Vec::new();
    for holding in journals.holdings()?.into_iter().filter(|held| held.is_kept) {
        let Resource::AfterBoot { device } = &holding.resource else {
            continue;
        };
        let Ok(device) = device.parse::<Device>() else {
            continue;
        };
        let Some(claim) = journals.kept(&holding.resource)? else {
            continue;
        };
        let Ok(note) = serde_json::from_str::<Note>(&claim.purpose().note) else {
            continue;
        };
        let files = claim.files();
        found.push(Kept {
            device,
            plan: note.plan,
            command: holding.purpose.command,
            files: files.map(|(path, _)| path.display().to_string()).collect(),
            edited: match claim.check_unedited() {
                Err(UndoError::Edited { path }) => Some(path.display().to_string()),
                _ => None,
            },
        });
    }
    Ok(found)
}

fn resource(device: &Device) -> Resource {
    Resource::AfterBoot {
        device: device.to_string(),
    }
}

/// The file with which systemd-networkd configures a device of this host, if it does.
pub fn network_file(device: &Device) -> Option<String> {
    let device = Path::new("/sys/class/net").join(device.as_str());
    let index = of_kernel(device.join("ifindex")).ok()?;
    let link = Path::new("/run/systemd/netif/links").join(index.trim());
    let state = files::open_named(&link).ok()?;
    let state = files::text(state, 64 << 10).ok()?;
    let file = state
        .lines()
        .find_map(|line| line.strip_prefix("NETWORK_FILE="))?;
    Some(file.to_owned())
}

fn by_systemd(cure: &Cure<'_>) -> Result<Keep, Failure> {
    let program = program::safe()?;
    let line = |words: &[String]| {
        let all = [std::slice::from_ref(&program), words].concat();
        all.iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let device = cure.device;
    let needs = match Path::new(CONTAINER).exists() {
        true => Vec::new(),
        false => vec![device.clone()],
    };
    let mut all: Vec<Unit> = Vec::new();
    for words in words::of(cure) {
        let (kind, work) = match words[0].as_str() {
            "sqm" => {
                let stop = [
                    "sqm",
                    "remove",
                    "--interface",
                    device.as_str(),
                    "--until-reboot",
                ];
                let stop = stop.map(str::to_owned);
                let (start, stop) = (vec![line(&words)], vec![line(&stop)]);
                ("shaper", Work::Once { start, stop })
            }
            "shape" => ("shaper", Work::Running(line(&words))),
            _ => ("windows", Work::Running(line(&words))),
        };
        let description = match kind {
            "shaper" => format!("Shaper of {device}"),
            _ => format!("Receive windows of downloads, for {device}"),
        };
        let service = Service {
            kind,
            description: &description,
            device,
            needs: needs.clone(),
            work,
        };
        all.push(service.unit());
    }
    Ok(Keep {
        units: all.iter().map(|unit| unit.name.clone()).collect(),
        links: all
            .iter()
            .flat_map(|unit| links(unit.links.clone()))
            .collect(),
        files: all.into_iter().map(|unit| unit.file).collect(),
        device: device.clone(),
        plan: cure.plan.cloned(),
    })
}

fn links(links: Vec<Link>) -> Vec<File> {
    let file = |link: Link| File {
        path: link.path,
        text: link.target,
    };
    links.into_iter().map(file).collect()
}

fn make_folder(claim: &mut Claim, file: &Path) -> Result<(), Failure> {
    let Some(folder) = file.parent() else {
        return Ok(());
    };
    // The folders of systemd itself stay, also those that a minimal system did not have.
    let is_systemds = folder.parent() == Some(Path::new("/etc/systemd"));
    if !is_systemds && let Some(step) = Step::folder(folder)? {
        claim.before(step)?;
    }
    fs::create_dir_all(folder).map_err(|source| format!("{}: {source}", folder.display()).into())
}

fn start(claim: &Claim, unit: &str) -> Result<(), Failure> {
    ask(claim, &["start", unit])?;
    sleep(SETTLED);
    ask(claim, &["is-active", unit])
}

fn ask(claim: &Claim, words: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("systemctl");
    command.args(words);
    claim.lend(&mut command);
    let output = command
        .output()
        .map_err(|error| format!("cannot run systemctl: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "`systemctl {words}` failed: {said}; nothing is kept. `journalctl -u {unit}` shows why",
            words = words.join(" "),
            said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
                .into_owned()
                .trim(),
            unit = words[words.len() - 1]
        )
        .into()),
    }
}

/// Says what is written, before it is.
pub fn show(keep: &Keep) {
    note!("\n{}", keep.text().trim_end());
}
