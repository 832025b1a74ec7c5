//! Shapers on this host.

use crate::error::ShaperError;
use crate::run::{run, run_for};
use tracing::info;
use unbloat_os::device::is_ethernet;
use unbloat_os::offload::{MERGING, most_segments, set_most_segments};
use unbloat_sqm::tc::{Change, changes};
use unbloat_sqm::{Device, ETHERNET_HEADER_BYTES, Plan};
use unbloat_undo::{Claim, Journals, Purpose, Resource, Step, UndoError, is_device, outgoing};

/// A shaper that is in place; it goes away when this is dropped, unless it is kept.
#[derive(Debug)]
pub struct Held {
    claim: Claim,
    devices: [Device; 2],
    placed: [Option<Standing>; 2],
}

/// Which disciplines a device of some index has, by kind, parent and handle.
type Standing = (u32, Vec<(String, u32, u32)>);

impl Held {
    /// Whether it is still as it was put in place: its devices are there by their names, and nobody has replaced their disciplines.
    pub fn stands(&self) -> bool {
        self.devices.each_ref().map(standing) == self.placed
    }

    /// Leaves it in place: until [`remove`], or the next boot.
    pub fn keep(self) -> Result<(), ShaperError> {
        Ok(self.claim.keep()?)
    }

    /// Takes it away: the device is as it was.
    pub fn release(self) -> Result<(), ShaperError> {
        Ok(self.claim.undo()?)
    }
}

/// What a device's queue counts before the IP packet.
pub fn header_bytes(device: &Device) -> u8 {
    // Of a device that is not there another step says so.
    match is_ethernet(device.as_str()).unwrap_or(false) {
        true => ETHERNET_HEADER_BYTES,
        false => 0,
    }
}

/// Whether [`apply`] would find the device free of what cannot be restored. Nothing is changed.
pub fn check(journals: &Journals, plan: &Plan) -> Result<(), ShaperError> {
    let claim = journals.take(&queues(&plan.device), &Purpose::this_command())?;
    let free = check_free(plan);
    claim.undo()?;
    free
}

fn check_free(plan: &Plan) -> Result<(), ShaperError> {
    let device = &plan.device;
    if plan.up.is_some() {
        Step::root(device.as_str())?;
    }
    if plan.down.is_some() {
        Step::ingress(device.as_str()).map_err(|error| match error {
            UndoError::CannotSave { kind, .. } => ShaperError::Entry {
                device: device.clone(),
                kind,
            },
            other => other.into(),
        })?;
        if is_device(device.ifb().as_str())? {
            return Err(ShaperError::Ifb {
                device: device.clone(),
                owner: sender_to(&device.ifb()),
            });
        }
    }
    Ok(())
}

/// The device of which what arrives is sent to this one, as far as tc tells.
fn sender_to(ifb: &Device) -> Option<Device> {
    let said = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let said = run(&words).unwrap_or_default();
        String::from_utf8_lossy(&said).into_owned()
    };
    let target = format!("to device {ifb})");
    let listed = said(&["tc", "qdisc", "show"]);
    let mut devices = listed.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let is_entry = matches!(words.next()?, "ingress" | "clsact");
        words.nth(2).filter(|_| is_entry)
    });
    let sends = |device: &&str| {
        let filters = said(&["tc", "filter", "show", "dev", device, "ingress"]);
        filters.contains(&target)
    };
    devices.find(sends)?.parse().ok()
}

/// Puts a shaper in place. Where something of others is in its way nothing is touched; where a command is refused, all is as before.
pub fn apply(journals: &Journals, plan: &Plan, command: &str) -> Result<Held, ShaperError> {
    let plan = &Plan {
        header_bytes: header_bytes(&plan.device),
        ..plan.clone()
    };
    let purpose = Purpose {
        command: command.to_owned(),
        note: serde_json::to_string(plan)?,
    };
    info!(device = plan.device.as_str(), "shaping on this host");
    let mut claim = journals.take(&queues(&plan.device), &purpose)?;
    check_free(plan)?;
    for change in changes(plan) {
        claim_for(&mut claim, plan, &change)?;
        match &change {
            // Not every host has ethtool.
            Change::Split(_) => split(&plan.device)?,
            change => {
                for words in change.words() {
                    run_for(&claim, words)?;
                }
            }
        }
    }
    let devices = [plan.device.clone(), plan.device.ifb()];
    Ok(Held {
        placed: devices.each_ref().map(standing),
        devices,
        claim,
    })
}

/// None: there is no such device.
fn standing(device: &Device) -> Option<Standing> {
    let (index, disciplines) = outgoing(device.as_str()).ok()?;
    let places = disciplines
        .into_iter()
        .map(|d| (d.kind, d.parent, d.handle));
    Some((index, places.collect()))
}

/// Writes down how a change is undone.
fn claim_for(claim: &mut Claim, plan: &Plan, change: &Change) -> Result<(), ShaperError> {
    match change {
        Change::Split(_) => claim.before(Step::offloads(plan.device.as_str())?)?,
        Change::MakeIfb(_) => claim.before(Step::link(plan.device.ifb().as_str())?)?,
        // What is on a device of our own goes with it.
        Change::Shape { device, .. } if *device == plan.device => {
            claim.before(Step::root(device.as_str())?)?;
        }
        Change::Shape { .. } => {}
        Change::Redirect(_) => claim.before(Step::ingress(plan.device.as_str())?)?,
        Change::Run(_) => return Err(ShaperError::OwnCakeIsHeld),
    }
    Ok(())
}

/// What `ethtool -K` and `ip link set` would do.
fn split(device: &Device) -> Result<(), ShaperError> {
    let name = device.as_str();
    let mut all = MERGING.into_iter();
    let split = all.try_for_each(|offload| offload.set(name, false));
    let split = split.and_then(|()| match most_segments(name)? {
        Some(_) => set_most_segments(name, 1),
        // Such a kernel's TCP goes by the offloads.
        None => Ok(()),
    });
    split.map_err(|source| ShaperError::Offloads {
        device: device.to_string(),
        source,
    })
}

/// Takes away what [`Held::keep`] left on the device. False: nothing had been.
pub fn remove(journals: &Journals, device: &Device) -> Result<bool, ShaperError> {
    match journals.kept(&queues(device))? {
        Some(claim) => claim.undo().map(|()| true).map_err(ShaperError::from),
        None => Ok(false),
    }
}

pub(crate) fn queues(device: &Device) -> Resource {
    Resource::Queues {
        device: device.to_string(),
    }
}
