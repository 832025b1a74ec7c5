//! Applies a fix: to a device of this host, or to a router.

use super::Args;
use super::window::Window;
use crate::exit::Failure;
use crate::keep::{Cure, Keep};
use crate::print::note;
use crate::route;
use crate::shaping::{BOTH, Ground, Placed as Shaped};
use std::fmt;
use unbloat_fix::Proposal;
use unbloat_responsiveness::document::Test;
use unbloat_sqm::{Device, Plan, tc};
use unbloat_sqm_host::Kind;
use unbloat_units::{Both, Delta, Framing};

/// All changes of a proposal.
pub struct Cures {
    ground: Option<Ground>,
    plan: Option<Plan>,
    follows: bool,
    holds_window: bool,
    /// Round trip of the idle path.
    rtt: Option<Delta>,
}

/// Applied changes, until they are kept or released.
pub struct Placed<'a> {
    shaper: Option<Shaped<'a>>,
    window: Option<Window>,
}

impl Cures {
    pub fn of(args: &Args, tested: &Test, proposal: &Proposal) -> Result<Cures, Failure> {
        let (shapes, follows) = (
            proposal.shaped != Both::default(),
            proposal.followed != Both::default(),
        );
        let mut cures = Cures {
            ground: (shapes || follows)
                .then(|| ground(args, tested))
                .transpose()?,
            plan: None,
            follows,
            holds_window: proposal.holds_window,
            rtt: tested.verdict.idle_rtt(),
        };
        cures.carry_out(proposal)?;
        Ok(cures)
    }

    /// Changes the rates of the shaper, or what is treated at all.
    pub fn carry_out(&mut self, proposal: &Proposal) -> Result<(), Failure> {
        self.holds_window = proposal.holds_window;
        self.plan = match &self.ground {
            Some(ground) if proposal.shaped != Both::default() => {
                let (device, rates) = (ground.device.clone(), proposal.shaped);
                let plan = Plan::new(device, rates, Framing::NONE, ground.qdisc)?;
                Some(plan.with_rtt(self.rtt))
            }
            _ => None,
        };
        Ok(())
    }

    /// The place of a shaper with fixed rates, for which a search makes sense.
    pub fn searchable(&self) -> Option<&Ground> {
        self.ground.as_ref().filter(|_| self.plan.is_some())
    }

    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// All changes, as equivalent commands.
    pub fn lines(&self) -> Vec<String> {
        let commands = self.plan().map(tc::commands).unwrap_or_default();
        let mut lines: Vec<String> = tc::text(&commands).lines().map(str::to_owned).collect();
        if let (Some(ground), true) = (&self.ground, self.follows) {
            lines.push(format!("{} {AFTER}", ground.following(self.rtt)));
        }
        if self.holds_window {
            lines.push(format!("unbloat drwa --cgroup / {AFTER}"));
        }
        lines
    }

    /// What has all changes return after a reboot; none where they do without.
    pub fn keep(&self, device: Option<Device>) -> Result<Option<Keep>, Failure> {
        if let Some(router) = self.ground.as_ref().and_then(Ground::router) {
            return match router {
                (_, Kind::OpenWrt) => Ok(None),
                (target, Kind::Linux) => Err(format!("cannot keep the shaper of {target} after a reboot: it has no OpenWrt with sqm-scripts; run `unbloat sqm apply --keep` on the router itself, or install the files that `unbloat sqm plan --as networkd` prints")
                .into()),
            };
        }
        let device = match (&self.ground, device) {
            (Some(ground), _) => ground.device.clone(),
            (None, Some(device)) => device,
            (None, None) => {
                return Err(
                    "the test has no server address to find the device with; give --interface"
                        .into(),
                );
            }
        };
        let cure = Cure {
            device: &device,
            plan: self.plan(),
            follows: self.follows,
            rtt: self.rtt,
            holds_window: self.holds_window,
        };
        Ok(Some(Keep::of(&cure)?))
    }

    pub fn apply(&self) -> Result<Placed<'_>, Failure> {
        // The window first: dropping it releases it if the shaper fails.
        let window = self.holds_window.then(Window::begin).transpose()?;
        let shaper = match (&self.ground, &self.plan) {
            (Some(ground), Some(plan)) => Some(ground.apply(plan)?),
            (Some(ground), None) if self.follows => ground.follow(self.rtt)?,
            (_, None) | (None, _) => None,
        };
        Ok(Placed { shaper, window })
    }
}

/// Appended to the command of a change that needs a running process.
const AFTER: &str = "(active during the second test only; run it to keep it)";

impl fmt::Display for Cures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ground {
            Some(ground) => ground.fmt(f),
            None => f.write_str("on this host"),
        }
    }
}

impl Placed<'_> {
    /// Keeps what can stay, and describes how to remove or continue it.
    pub fn keep(self) -> Result<String, Failure> {
        let mut said = Vec::new();
        if let Some(shaper) = self.shaper {
            said.push(shaper.keep()?);
        }
        if let Some(window) = self.window {
            window.end()?;
            said.push("`unbloat drwa --cgroup /` limits the receive windows of all downloads while it runs".into());
        }
        Ok(said.join("; "))
    }

    pub fn release(self) -> Result<(), Failure> {
        let window = self.window.map_or(Ok(()), Window::end);
        self.shaper.map_or(Ok(()), Shaped::release)?;
        Ok(window?)
    }
}

/// The device that was named, or that of the route to the server.
pub fn device(args: &Args, tested: &Test) -> Result<Device, Failure> {
    match (&args.interface, tested.server.address) {
        (Some(device), _) => Ok(device.clone()),
        (None, Some(address)) => Ok(route::device_to(address.ip())?),
        (None, None) => {
            Err("the test has no server address to find the device with; give --interface".into())
        }
    }
}

fn ground(args: &Args, tested: &Test) -> Result<Ground, Failure> {
    if let Some(target) = &args.router {
        let ground = Ground::there(target, None)?;
        ground.say_what_may_stay();
        return Ok(ground);
    }
    let device = device(args, tested)?;
    Ground::here(device, args.qdisc.map(Into::into))
}

/// Says before a minute of testing what of others would be in the way of a shaper, where it is known already which one and where.
pub fn foresee(args: &Args) -> Result<(), Failure> {
    let device = || args.interface.clone().or(route::outward().ok());
    let ground = match (&args.router, args.qdisc, device()) {
        (Some(target), ..) => Ground::there(target, None)?,
        (None, Some(chosen), Some(device)) => Ground::here(device, Some(chosen.into()))?,
        // Without a choice, whatever is free is used.
        _ => return Ok(()),
    };
    if let Err(error) = ground.check(BOTH)
        && error.is_of_others()
    {
        note!("unbloat: {error}");
    }
    Ok(())
}
