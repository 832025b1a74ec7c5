//! `unbloat sqm search`: finds the knee of each direction by short tests.

use super::args::SearchArgs;
use super::document::{Planned, Searched};
use super::{formats, place, print_json, tell, text};
use crate::exit::{Exit, Failure};
use crate::print::note;
use crate::recovery;
use crate::shaping::{BOTH, Distrusted, Ground, Placed, Search};
use crate::stop::stop_on_ctrl_c;
use unbloat_sqm::{KneeParams, Plan};
use unbloat_units::{Both, Framing, Rate};

pub fn run(args: &SearchArgs) -> Result<Exit, Failure> {
    let mut all = args.options.options()?;
    let (Some(options), true) = (all.pop(), all.is_empty()) else {
        return Err("the search repeats one test; give at most one congestion control and one receive window".into());
    };
    // Must precede threads and claims.
    let _guard = recovery::guarded()?;
    let stop = stop_on_ctrl_c()?;
    let given = &args.given;
    let framing = place::framing(&given.line)?.unwrap_or(Framing::NONE);
    let known = place::rates(&given.line, framing)?;
    let ground = ground(args, known)?;
    let mut search = Search {
        ground: &ground,
        framing,
        nat: given.nat,
        rtt: given.rtt,
        held: Both::default(),
        args: &args.options,
        options: &options,
        stop: &stop,
    };
    let measured = match known == Both::default() {
        true => search.measure()?,
        false => Some(known),
    };
    let Some(measured) = measured else {
        return Ok(Exit::Interrupted);
    };
    let params = |rate: Rate| {
        let usual = KneeParams::of(rate, ground.qdisc);
        KneeParams {
            target: args.target_delay.unwrap_or(usual.target),
            first_percent: given.percent.unwrap_or(unbloat_sqm::SHARE_PERCENT),
            ..usual
        }
    };
    let sought = match search.run(measured, params) {
        Err(error) if error.is::<Distrusted>() => {
            note!("unbloat: {error}");
            return Ok(Exit::Untrusted);
        }
        sought => sought?,
    };
    let searched = |state| Searched {
        measured_bps: measured.map(|rate| rate.map(Rate::as_bps)),
        trials: &sought.trials,
        state,
    };
    let Some(rates) = sought.found else {
        return Ok(Exit::Interrupted);
    };
    if let Some((way, why)) = sought.without.first() {
        note!("unbloat: {}: {why}", way.name());
        if args.options.json {
            print_json(&Planned {
                plan: None,
                formats: None,
                search: Some(searched(None)),
                keep: None,
            })?;
        }
        return Ok(Exit::OutOfBounds);
    }
    let plan = Plan::new(ground.device.clone(), rates, framing, ground.qdisc)?;
    let mut plan = plan.with_rtt(search.rtt);
    plan.header_bytes = ground.header_bytes();
    plan.nat = given.nat;
    let placed = args.apply.then(|| ground.apply(&plan)).transpose()?;
    let kept = placed.map(Placed::keep).transpose()?;
    if args.options.json {
        print_json(&Planned {
            plan: Some(&plan),
            formats: Some(formats(&plan)),
            search: Some(searched(kept)),
            keep: None,
        })?;
        return Ok(Exit::Complete);
    }
    note!("{}", text::plan(&plan));
    if let Some(state) = kept {
        note!("unbloat: {state}");
    }
    tell(&plan, args.form)?;
    Ok(Exit::Complete)
}

fn ground(args: &SearchArgs, known: Both<Option<Rate>>) -> Result<Ground, Failure> {
    let named = args.given.interface.as_ref();
    let chosen = args.given.qdisc.map(Into::into);
    let mut ground = match &args.router {
        Some(target) => Ground::there(target, named)?,
        None => Ground::here(place::device(&args.given, None)?, chosen)?,
    };
    ground.qdisc = chosen.unwrap_or(ground.qdisc);
    // Now, not after a minute of tests.
    ground.check(match known == Both::default() {
        true => BOTH,
        false => known.map(|rate| rate.is_some()),
    })?;
    ground.say_what_may_stay();
    Ok(ground)
}
