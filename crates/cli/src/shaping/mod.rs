//! Shapers that commands install, temporarily or permanently: in this host's kernel, on a router, or in this process.

mod own;
mod search;

pub use own::Own;
pub use search::{Distrusted, Search};

use crate::exit::Failure;
use crate::print::note;
use crate::recovery;
use std::fmt;
use unbloat_cake_nfqueue::Options;
use unbloat_os::privilege::{Capability, may};
use unbloat_sqm::{Device, Plan, Qdisc, longer_rtt, tc};
use unbloat_sqm_host::{
    Held, Kind, Look, Router, ShaperError, Target, apply, check, header_bytes, offered,
};
use unbloat_undo::Purpose;
use unbloat_units::{Both, Delta, Framing, Rate};

/// Both directions.
pub const BOTH: Both<bool> = Both {
    down: true,
    up: true,
};

/// Where to install a shaper.
pub struct Ground {
    pub device: Device,
    pub qdisc: Qdisc,
    /// The router, and what it has; none: this host.
    there: Option<(Router, Look)>,
}

/// An installed shaper, until it is kept or released; dropping it restores this host.
pub enum Placed<'a> {
    Kernels(Held, &'a Device),
    There(&'a Router, Kind, &'a Device),
    Own(Own, String),
}

impl Ground {
    /// A router; without `device`, its device of the default route.
    pub fn there(target: &Target, device: Option<&Device>) -> Result<Ground, Failure> {
        let router = Router::new(target.clone());
        let look = router.look()?;
        let device = match (device, look.outward.first()) {
            (Some(device), _) => device.clone(),
            (None, Some(outward)) => outward.parse()?,
            (None, None) => return Err(
                "the router has no default route, so its line device is unknown; give --interface"
                    .into(),
            ),
        };
        Ok(Ground {
            device,
            qdisc: best_of(&look)?,
            there: Some((router, look)),
        })
    }

    /// Says how to remove by hand what no process on a router would undo.
    pub fn say_what_may_stay(&self) {
        if let Some((router, _)) = &self.there {
            note!(
                "unbloat: if this process is killed, a shaper may stay on {}; to remove it: {}",
                router.target(),
                router.removal(&self.device)
            );
        }
    }

    /// This host: the queue discipline that was chosen; otherwise the kernel's if it isolates flows, or our own.
    pub fn here(device: Device, chosen: Option<Qdisc>) -> Result<Ground, Failure> {
        let qdisc = match chosen {
            Some(chosen) => chosen,
            None => match best_here()? {
                Some(Qdisc::Fifo) | None => Qdisc::OwnCake,
                Some(best) => best,
            },
        };
        let mut ground = Ground {
            device,
            qdisc,
            there: None,
        };
        if chosen.is_none()
            && let Err(error) = ground.check(BOTH)
            && error.is_of_others()
        {
            note!("unbloat: {error}; using CAKE in user space");
            ground.qdisc = Qdisc::OwnCake;
        }
        Ok(ground)
    }

    /// Whether the device has nothing of others that a shaper in the kernel of these directions would need. Nothing is changed.
    pub fn check(&self, directions: Both<bool>) -> Result<(), ShaperError> {
        let any = directions.map(|is_shaped| is_shaped.then_some(Rate::mbps(1)));
        let plan = Plan::new(self.device.clone(), any, Framing::NONE, self.qdisc);
        let plan = plan.expect("a plan of any rates");
        match &self.there {
            _ if self.qdisc == Qdisc::OwnCake => Ok(()),
            // What is unbloat's own, only root can tell.
            None if !may(Capability::NetAdmin) => Ok(()),
            None => check(&recovery::journals()?, &plan),
            Some((router, look)) => router.check(look.kind, &plan),
        }
    }

    /// What the device's queue counts before the IP packet.
    pub fn header_bytes(&self) -> u8 {
        match &self.there {
            None => header_bytes(&self.device),
            Some((_, look)) => look.header_bytes(&self.device),
        }
    }

    /// The router, if it is one.
    pub fn router(&self) -> Option<(&Target, Kind)> {
        match &self.there {
            None => None,
            Some((router, look)) => Some((router.target(), look.kind)),
        }
    }

    pub fn apply(&self, plan: &Plan) -> Result<Placed<'_>, Failure> {
        let command = Purpose::this_command().command;
        Ok(match (&self.there, plan.qdisc) {
            (None, Qdisc::OwnCake) => {
                let how = unbloat_sqm::tc::text(&unbloat_sqm::tc::commands(plan));
                self.own(crate::shape::of_plan(plan), how.trim())?
            }
            (None, _) => {
                let held = apply(&recovery::journals()?, plan, &command)?;
                Placed::Kernels(held, &self.device)
            }
            (Some((router, look)), _) => {
                router.apply(look, plan)?;
                Placed::There(router, look.kind, &self.device)
            }
        })
    }

    /// Our own shaper, with rates that follow the line. None on a router.
    pub fn follow(&self, rtt: Option<Delta>) -> Result<Option<Placed<'_>>, Failure> {
        let longer = rtt.and_then(longer_rtt);
        let options = crate::shape::following(self.device.as_str(), longer);
        match self.there {
            None => self.own(options, &self.following(rtt)).map(Some),
            Some(_) => Ok(None),
        }
    }

    /// The command that runs it.
    pub fn following(&self, rtt: Option<Delta>) -> String {
        format!("unbloat {}", following(&self.device, rtt).join(" "))
    }

    fn own(&self, options: Options, command: &str) -> Result<Placed<'_>, Failure> {
        Ok(Placed::Own(Own::begin(options)?, command.to_owned()))
    }
}

/// The command line, without the program, of our own shaper whose rates follow the line.
pub fn following(device: &Device, rtt: Option<Delta>) -> Vec<String> {
    let mut words = vec!["shape", "--interface", device.as_str(), "--follow"];
    let longer = rtt.and_then(longer_rtt).map(tc::cake_rtt);
    words.extend(longer.iter().flat_map(|span| ["--rtt", span]));
    words.into_iter().map(str::to_owned).collect()
}

/// The best queue discipline of this host's kernel; where only root could try them, the one that a plan for most hosts names.
pub fn best_here() -> Result<Option<Qdisc>, ShaperError> {
    if !may(Capability::SysAdmin) {
        note!(
            "unbloat: only root can try which queue disciplines this kernel has; this plan uses CAKE (--qdisc names another)"
        );
        return Ok(Some(Qdisc::Cake));
    }
    let offered = offered()?;
    let better = offered.unknown_to_tc.iter();
    for kind in better.filter(|kind| matches!(**kind, "cake" | "fq_codel")) {
        note!(
            "unbloat: the kernel has {kind}, but this host's tc is too old for it; a newer iproute2 gives a better shaper"
        );
    }
    Ok(offered.best())
}

/// The best queue discipline of a router.
pub fn best_of(look: &Look) -> Result<Qdisc, Failure> {
    let names: Vec<&str> = look.offered.iter().map(String::as_str).collect();
    let refused = || {
        match &look.refused {
        Some(said) => format!(
            "the router does not let its queue disciplines be tried ({said}); log in as root, on a kernel with IFB devices"
        ),
        None => "the router's kernel supports neither CAKE nor HTB; shape on this host instead (without --router)".to_owned(),
    }
    };
    Qdisc::best(&names).ok_or_else(|| refused().into())
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.there {
            None => f.write_str("on this host"),
            Some((router, _)) => write!(f, "on {}", router.target()),
        }
    }
}

impl Placed<'_> {
    /// Keeps the shaper if it is permanent. Returns how to remove it, or how to run it.
    pub fn keep(self) -> Result<String, Failure> {
        Ok(match self {
            Placed::Kernels(held, device) => {
                held.keep()?;
                format!("kept; to remove it: unbloat sqm remove --interface {device}")
            }
            Placed::There(router, _, device) => {
                format!("kept; to remove it: {}", router.removal(device))
            }
            Placed::Own(own, command) => {
                own.end()?;
                format!("to shape permanently, keep running `{command}`")
            }
        })
    }

    pub fn release(self) -> Result<(), Failure> {
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
