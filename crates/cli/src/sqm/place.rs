//! Where to shape: devices, queue disciplines of the kernel, existing configurations.

use super::args::CheckArgs;
use super::given::{Given, Line};
use super::{measured, sweep};
use crate::exit::Failure;
use crate::print::note;
use crate::route;
use crate::shaping::{best_here, best_of};
use std::path::Path;
use unbloat_os::files;
use unbloat_responsiveness::{LoadedDirection, SHAPER_DOWN, SHAPER_UP};
use unbloat_sqm::uci::{self, Section};
use unbloat_sqm::{Bypass, Detection, Device, Facts, Plan, Qdisc, detect};
use unbloat_sqm_host::{Look, Router, header_bytes};
use unbloat_units::{Both, Delta, Framing, Rate};

/// Whose queue discipline a plan takes where none is given.
#[derive(Clone, Copy)]
pub enum Site<'l> {
    Here,
    Router(&'l Look),
    /// Some OpenWrt, with sqm-scripts, which bring CAKE.
    Openwrt,
}

/// The plan for this host, or for a router.
pub fn plan(given: &Given, site: Site<'_>) -> Result<Plan, Failure> {
    let framing = framing(&given.line)?.unwrap_or(Framing::NONE);
    let shares = shares(given);
    let line = rates(&given.line, framing)?;
    let rates = line.zip(shares).map(|(rate, of)| Some(share(rate?, of)));
    if rates == Both::default() {
        return Err("no rates: give --test RUN, or --rate-down and --rate-up".into());
    }
    let router = match site {
        Site::Router(look) => Some(look),
        Site::Here | Site::Openwrt => None,
    };
    let device = device(given, router)?;
    let header_bytes = match site {
        Site::Here => header_bytes(&device),
        Site::Router(look) => look.header_bytes(&device),
        // Not known; to count it twice wastes a little, not at all would leave a queue in the modem.
        Site::Openwrt => 0,
    };
    let mut plan = Plan::new(device, rates, framing, qdisc(given, site)?)?;
    plan.nat = given.nat;
    plan.header_bytes = header_bytes;
    Ok(plan.with_rtt(rtt(given)?))
}

/// The round trip that was given, or that of the test.
fn rtt(given: &Given) -> Result<Option<Delta>, Failure> {
    let run = given.line.test.as_deref().filter(|_| given.rtt.is_none());
    let tested = run.map(crate::loadtest::read).transpose()?;
    Ok(given
        .rtt
        .or(tested.and_then(|tested| tested.verdict.idle_rtt())))
}

/// The device that was named, or that by which the test of the rates ran, or that of the default route.
pub fn device(given: &Given, router: Option<&Look>) -> Result<Device, Failure> {
    let named = given.interface.as_ref();
    let (None, None) = (named, router) else {
        return of_line(named, router);
    };
    let run = given.line.test.as_deref();
    let tested = run.map(crate::loadtest::read).transpose()?;
    let device = match tested.and_then(|tested| tested.server.address) {
        Some(server) => route::device_to(server.ip())?,
        None => of_line(None, None)?,
    };
    if unbloat_os::device::is_tunnel(device.as_str()).unwrap_or(false) {
        note!(
            "unbloat: {device} is a tunnel: packets beside it share its line and are not shaped; give --interface to shape the device of the line"
        );
    }
    Ok(device)
}

/// The device that was named, or that of the default route.
pub fn of_line(named: Option<&Device>, router: Option<&Look>) -> Result<Device, Failure> {
    if let Some(device) = named {
        return Ok(device.clone());
    }
    match router {
        Some(look) => Ok(look
            .outward
            .first()
            .ok_or("the router has no default route; give --interface")?
            .parse()?),
        None => Ok(route::outward()?),
    }
}

/// The configuration to check, and what is known about its host and line.
pub fn config(args: &CheckArgs) -> Result<(Vec<Section>, Facts), Failure> {
    let framing = framing(&args.line)?;
    let measured = rates(&args.line, framing.unwrap_or(Framing::NONE))?;
    let (sections, known) = match &args.router {
        Some(target) => {
            let router = Router::new(target.clone());
            (router.config()?, router.look()?.facts())
        }
        None => (
            read(&args.file)?,
            Facts {
                bypass: bypass(&args.file),
                ..Facts::default()
            },
        ),
    };
    let facts = Facts {
        measured,
        framing,
        ..known
    };
    Ok((sections, facts))
}

/// What the firewall's configuration beside that of sqm says of forwarding in hardware. One that cannot be read says nothing.
fn bypass(of_sqm: &Path) -> Option<Bypass> {
    let sections = read(&of_sqm.with_file_name("firewall")).ok()?;
    let defaults = sections.iter().find(|it| it.kind == "defaults")?;
    let is_on = |key: &str| {
        let mut entries = defaults.options.iter().rev();
        entries
            .find(|it| it.key == key)
            .is_some_and(|it| it.value == "1")
    };
    (is_on("flow_offloading") && is_on("flow_offloading_hw")).then_some(Bypass::Uci)
}

fn read(path: &Path) -> Result<Vec<Section>, Failure> {
    /// More than any configuration that is read.
    const LONGEST: u64 = 1 << 20;
    let file = path.display().to_string();
    let read = files::open_any(path).and_then(|opened| files::all(opened, LONGEST));
    let bytes = read.map_err(|source| format!("cannot read {file}: {source}"))?;
    uci::read(&String::from_utf8_lossy(&bytes)).map_err(|error| format!("{file}: {error}").into())
}

/// The framing as given or as detected by a sweep over packet sizes; none if unknown.
pub fn framing(line: &Line) -> Result<Option<Framing>, Failure> {
    let Some(host) = &line.sweep else {
        return Ok(line.framing());
    };
    match detect(&sweep::measure(host)?) {
        Detection::Atm { framing, rate } => {
            note!(
                "unbloat: detected {framing}: delay rises in steps with packet size; {rate} over the round trip"
            );
            Ok(Some(framing))
        }
        Detection::NoCells { rate } => {
            note!(
                "unbloat: detected no cells: delay is linear in packet size; {rate} over the round trip; give --overhead, which delay does not reveal"
            );
            Ok(None)
        }
        Detection::Inconclusive(why) => {
            note!("unbloat: cannot determine whether the line uses cells: {why}; give --line");
            Ok(None)
        }
    }
}

pub fn rates(given: &Line, framing: Framing) -> Result<Both<Option<Rate>>, Failure> {
    if let Some(run) = &given.test {
        let framed = |load: LoadedDirection| framing.of_ip(load.line);
        return Ok(measured::of_test(run)?.map(|load| load.map(framed)));
    }
    Ok(Both::new(given.rate_down, given.rate_up))
}

/// Fraction of the line rate: as the test recommends, or the same in both directions.
fn shares(given: &Given) -> Both<f64> {
    match (given.percent, &given.line.test) {
        (None, Some(_)) => Both::new(SHAPER_DOWN, SHAPER_UP),
        (percent, _) => {
            let share = percent.unwrap_or(unbloat_sqm::SHARE_PERCENT) as f64 / 100.0;
            Both::new(share, share)
        }
    }
}

/// Rounded to 1 kbit/s; all of it is all of it.
fn share(rate: Rate, share: f64) -> Rate {
    if share == 1.0 {
        return rate;
    }
    let bps = rate.as_bps_f64() * share;
    Rate::from_bps_f64((bps / 1e3).round() * 1e3)
}

fn qdisc(given: &Given, site: Site<'_>) -> Result<Qdisc, Failure> {
    if let Some(choice) = given.qdisc {
        return Ok(choice.into());
    }
    let best = match site {
        Site::Openwrt => Some(Qdisc::Cake),
        Site::Router(look) => Some(best_of(look)?),
        Site::Here => best_here()?,
    };
    best.ok_or_else(|| "the kernel supports neither CAKE nor HTB; use `unbloat shape`, which shapes in user space (--qdisc own-cake prints its command)".into())
}
