//! Shapers on this host.

use crate::error::ShaperError;
use crate::run::run_for;
use tracing::info;
use unbloat_os::offload::MERGING;
use unbloat_sqm::tc::{Change, changes};
use unbloat_sqm::{Device, Plan};
use unbloat_undo::{Claim, Journals, Purpose, Resource, Step, outgoing};

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

/// Puts a shaper in place. Where a command is refused, all is as before.
pub fn apply(journals: &Journals, plan: &Plan, command: &str) -> Result<Held, ShaperError> {
    let purpose = Purpose {
        command: command.to_owned(),
        note: serde_json::to_string(plan)?,
    };
    info!(device = plan.device.as_str(), "shaping on this host");
    let mut claim = journals.take(&queues(&plan.device), &purpose)?;
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

/// What `ethtool -K` would do.
fn split(device: &Device) -> Result<(), ShaperError> {
    let mut all = MERGING.into_iter();
    all.try_for_each(|offload| offload.set(device.as_str(), false))
        .map_err(|source| ShaperError::Offloads {
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
