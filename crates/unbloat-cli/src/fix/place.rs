//! Where a cure goes: a device of this host, or a router.

use super::window::Window;
use super::{Args, FixError, route};
use crate::recovery;
use std::fmt;
use unbloat_remedy::{Proposal, Tested};
use unbloat_shaper::{Held, Kind, Router, apply, offered};
use unbloat_sqm::{Device, Framing, Plan, Qdisc, tc};
use unbloat_undo::{Journals, Purpose};

/// All that a proposal asks for.
pub struct Cures {
    shaper: Option<(Place, Plan)>,
    holds_window: bool,
}

/// What is in place, until it is kept or released.
pub struct Placed<'a> {
    shaper: Option<Shaped<'a>>,
    window: Option<Window>,
}

struct Place {
    device: Device,
    qdisc: Qdisc,
    side: Side,
}

enum Side {
    Here(Journals),
    There(Router, Kind),
}

enum Shaped<'a> {
    Here(Held, &'a Device),
    There(&'a Router, Kind, &'a Device),
}

impl Cures {
    pub fn of(args: &Args, tested: &Tested, proposal: &Proposal) -> Result<Cures, FixError> {
        let shapes = proposal.shaped != [None; 2];
        let place = shapes.then(|| Place::of(args, tested)).transpose()?;
        let shaper = place.map(|place| {
            let plan = place.plan(proposal)?;
            Ok::<_, FixError>((place, plan))
        });
        Ok(Cures {
            shaper: shaper.transpose()?,
            holds_window: proposal.holds_window,
        })
    }

    pub fn plan(&self) -> Option<&Plan> {
        self.shaper.as_ref().map(|(_, plan)| plan)
    }

    /// Everything that is done, as commands that do it.
    pub fn lines(&self) -> Vec<String> {
        let commands = self.plan().map(tc::commands).unwrap_or_default();
        let mut lines: Vec<String> = tc::text(&commands).lines().map(str::to_owned).collect();
        if self.holds_window {
            lines.push(
                "unbloat drwa --cgroup / (of the second test alone, until you run it)".into(),
            );
        }
        lines
    }

    pub fn apply(&self) -> Result<Placed<'_>, FixError> {
        // The window first: it goes by itself if the shaper fails.
        let window = self.holds_window.then(Window::begin).transpose()?;
        let shaper = self.shaper.as_ref().map(|(place, plan)| place.apply(plan));
        Ok(Placed {
            shaper: shaper.transpose()?,
            window,
        })
    }
}

impl fmt::Display for Cures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shaper {
            Some((place, _)) => place.fmt(f),
            None => f.write_str("on this host"),
        }
    }
}

impl Placed<'_> {
    /// Leaves what can stay, and says how it goes.
    pub fn keep(self) -> Result<String, FixError> {
        let mut said = Vec::new();
        if let Some(shaper) = self.shaper {
            said.push(shaper.keep()?);
        }
        if let Some(window) = self.window {
            window.end()?;
            said.push("`unbloat drwa --cgroup /` holds all downloads so as long as it runs".into());
        }
        Ok(said.join("; "))
    }

    pub fn release(self) -> Result<(), FixError> {
        let window = self.window.map_or(Ok(()), Window::end);
        self.shaper.map_or(Ok(()), Shaped::release)?;
        Ok(window?)
    }
}

impl Place {
    fn of(args: &Args, tested: &Tested) -> Result<Place, FixError> {
        if let Some(target) = &args.router {
            let router = Router::new(target.clone());
            let look = router.look()?;
            let names: Vec<&str> = look.offered.iter().map(String::as_str).collect();
            let qdisc = Qdisc::best(&names).ok_or(FixError::NothingOffered)?;
            let outward = look.outward.ok_or(FixError::NoOutward)?;
            return Ok(Place {
                device: outward.parse()?,
                qdisc,
                side: Side::There(router, look.kind),
            });
        }
        let journals = recovery::journals()?;
        let device = match (&args.interface, tested.address) {
            (Some(device), _) => device.clone(),
            (None, Some(address)) => route::device_to(address.ip())?,
            (None, None) => return Err(FixError::NoAddress),
        };
        Ok(Place {
            device,
            qdisc: offered()?.best().ok_or(FixError::NothingOffered)?,
            side: Side::Here(journals),
        })
    }

    fn plan(&self, proposal: &Proposal) -> Result<Plan, FixError> {
        let device = self.device.clone();
        Ok(Plan::new(
            device,
            proposal.shaped,
            Framing::NONE,
            self.qdisc,
        )?)
    }

    fn apply(&self, plan: &Plan) -> Result<Shaped<'_>, FixError> {
        Ok(match &self.side {
            Side::Here(journals) => {
                let command = Purpose::this_command().command;
                Shaped::Here(apply(journals, plan, &command)?, &self.device)
            }
            Side::There(router, kind) => {
                router.apply(*kind, plan)?;
                Shaped::There(router, *kind, &self.device)
            }
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.side {
            Side::Here(_) => f.write_str("on this host"),
            Side::There(router, _) => write!(f, "on {}", router.target()),
        }
    }
}

impl Shaped<'_> {
    /// Leaves it there, and says how it goes.
    fn keep(self) -> Result<String, FixError> {
        match self {
            Shaped::Here(held, device) => {
                held.keep()?;
                Ok(format!(
                    "kept: unbloat sqm remove --interface {device} takes it away"
                ))
            }
            Shaped::There(router, _, _) => {
                let target = router.target();
                Ok(format!(
                    "kept: unbloat sqm remove --router {target} takes it away"
                ))
            }
        }
    }

    fn release(self) -> Result<(), FixError> {
        match self {
            Shaped::Here(held, _) => held.release()?,
            Shaped::There(router, kind, device) => {
                router.remove(kind, device)?;
            }
        }
        Ok(())
    }
}
