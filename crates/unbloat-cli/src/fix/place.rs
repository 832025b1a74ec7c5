//! Where a cure goes: a device of this host, or a router.

use super::{Args, FixError, route};
use crate::recovery;
use std::fmt;
use unbloat_remedy::{Proposal, Tested};
use unbloat_shaper::{Held, Kind, Router, apply, offered};
use unbloat_sqm::{Device, Framing, Plan, Qdisc};
use unbloat_undo::{Journals, Purpose};

pub struct Place {
    device: Device,
    qdisc: Qdisc,
    side: Side,
}

enum Side {
    Here(Journals),
    There(Router, Kind),
}

/// A cure that is in place, until it is kept or released.
pub enum Placed<'a> {
    Here(Held, &'a Device),
    There(&'a Router, Kind, &'a Device),
}

impl Place {
    pub fn of(args: &Args, tested: &Tested) -> Result<Place, FixError> {
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

    /// None where no shaper is proposed.
    pub fn plan(&self, proposal: &Proposal) -> Result<Option<Plan>, FixError> {
        if proposal.shaped == [None; 2] {
            return Ok(None);
        }
        let plan = Plan::new(
            self.device.clone(),
            proposal.shaped,
            Framing::NONE,
            self.qdisc,
        )?;
        Ok(Some(plan))
    }

    pub fn apply(&self, plan: &Plan) -> Result<Placed<'_>, FixError> {
        Ok(match &self.side {
            Side::Here(journals) => {
                let command = Purpose::this_command().command;
                Placed::Here(apply(journals, plan, &command)?, &self.device)
            }
            Side::There(router, kind) => {
                router.apply(*kind, plan)?;
                Placed::There(router, *kind, &self.device)
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

impl Placed<'_> {
    /// Leaves it there, and says how it goes.
    pub fn keep(self) -> Result<String, FixError> {
        match self {
            Placed::Here(held, device) => {
                held.keep()?;
                Ok(format!(
                    "kept: unbloat sqm remove --interface {device} takes it away"
                ))
            }
            Placed::There(router, _, _) => {
                let target = router.target();
                Ok(format!(
                    "kept: unbloat sqm remove --router {target} takes it away"
                ))
            }
        }
    }

    pub fn release(self) -> Result<(), FixError> {
        match self {
            Placed::Here(held, _) => held.release()?,
            Placed::There(router, kind, device) => {
                router.remove(kind, device)?;
            }
        }
        Ok(())
    }
}
