//! Shapers that commands install, temporarily or permanently: in this host's kernel, on a router, or in this process.

mod own;
mod search;

pub use own::Own;
pub use search::{End, Search, SearchError};

use crate::print::note;
use crate::recovery;
use std::fmt;
use unbloat_cake_nfqueue::{Options, ShapeError};
use unbloat_sqm::{Device, DeviceError, Plan, Qdisc};
use unbloat_sqm_host::{Held, Kind, Router, ShaperError, Target, apply, offered};
use unbloat_undo::{Journals, Purpose, UndoError};

#[derive(Debug, thiserror::Error)]
pub enum ShapingError {
    #[error("the router has no default route, so its line device is unknown; give --interface")]
    NoOutward,
    #[error(
        "the router's kernel supports neither CAKE nor HTB; shape on this host instead (without --router)"
    )]
    NothingOffered,
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Shaper(#[from] ShaperError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    Undo(#[from] UndoError),
}

/// Where to install a shaper.
pub struct Ground {
    pub device: Device,
    pub qdisc: Qdisc,
    side: Side,
}

enum Side {
    Here(Journals),
    There(Router, Kind),
}

/// An installed shaper, until it is kept or released; dropping it restores this host.
pub enum Placed<'a> {
    Kernels(Held, &'a Device),
    There(&'a Router, Kind, &'a Device),
    Own(Own, String),
}

impl Ground {
    /// A router; without `device`, its device of the default route.
    pub fn there(target: &Target, device: Option<&Device>) -> Result<Ground, ShapingError> {
        let router = Router::new(target.clone());
        let look = router.look()?;
        // No process on the router would undo it.
        note!(
            "unbloat: if this process is killed, a shaper may stay on {target}; to remove it: unbloat sqm remove --router {target}"
        );
        let names: Vec<&str> = look.offered.iter().map(String::as_str).collect();
        let qdisc = Qdisc::best(&names).ok_or(ShapingError::NothingOffered)?;
        let device = match (device, look.outward) {
            (Some(device), _) => device.clone(),
            (None, Some(outward)) => outward.parse()?,
            (None, None) => return Err(ShapingError::NoOutward),
        };
        Ok(Ground {
            device,
            qdisc,
            side: Side::There(router, look.kind),
        })
    }

    /// This host: the kernel's queue discipline if it isolates flows, otherwise our own.
    pub fn here(device: Device) -> Result<Ground, ShapingError> {
        let journals = recovery::journals()?;
        let qdisc = match offered()?.best() {
            Some(Qdisc::Fifo) | None => Qdisc::OwnCake,
            Some(best) => best,
        };
        Ok(Ground {
            device,
            qdisc,
            side: Side::Here(journals),
        })
    }

    /// The router, if it is one.
    pub fn router(&self) -> Option<(&Target, Kind)> {
        match &self.side {
            Side::Here(_) => None,
            Side::There(router, kind) => Some((router.target(), *kind)),
        }
    }

    pub fn apply(&self, plan: &Plan) -> Result<Placed<'_>, ShapingError> {
        let command = Purpose::this_command().command;
        Ok(match (&self.side, plan.qdisc) {
            (Side::Here(_), Qdisc::OwnCake) => {
                let how = unbloat_sqm::tc::text(&unbloat_sqm::tc::commands(plan));
                self.own(crate::shape::of_plan(plan), how.trim())?
            }
            (Side::Here(journals), _) => {
                Placed::Kernels(apply(journals, plan, &command)?, &self.device)
            }
            (Side::There(router, kind), _) => {
                router.apply(*kind, plan)?;
                Placed::There(router, *kind, &self.device)
            }
        })
    }

    /// Our own shaper, with rates that follow the line. None on a router.
    pub fn follow(&self) -> Result<Option<Placed<'_>>, ShapingError> {
        let options = crate::shape::following(self.device.as_str());
        match self.side {
            Side::Here(_) => self.own(options, &self.following()).map(Some),
            Side::There(..) => Ok(None),
        }
    }

    /// The command that runs it.
    pub fn following(&self) -> String {
        format!("unbloat shape --interface {} --follow", self.device)
    }

    fn own(&self, options: Options, command: &str) -> Result<Placed<'_>, ShapingError> {
        Ok(Placed::Own(Own::begin(options)?, command.to_owned()))
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.side {
            Side::Here(_) => f.write_str("on this host"),
            Side::There(router, _) => write!(f, "on {}", router.target()),
        }
    }
}

impl Placed<'_> {
    /// Keeps the shaper if it is permanent. Returns how to remove it, or how to run it.
    pub fn keep(self) -> Result<String, ShapingError> {
        Ok(match self {
            Placed::Kernels(held, device) => {
                held.keep()?;
                format!("kept; to remove it: unbloat sqm remove --interface {device}")
            }
            Placed::There(router, _, _) => {
                let target = router.target();
                format!("kept; to remove it: unbloat sqm remove --router {target}")
            }
            Placed::Own(own, command) => {
                own.end()?;
                format!("to shape permanently, keep running `{command}`")
            }
        })
    }

    pub fn release(self) -> Result<(), ShapingError> {
        match self {
            Placed::Kernels(held, _) => held.release()?,
            Placed::There(router, kind, device) => {
                router.remove(kind, device)?;
            }
            Placed::Own(own, _) => own.end()?,
        }
        Ok(())
    }
}
