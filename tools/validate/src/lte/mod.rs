//! The LTE study's chain at scale: traces generated, analysed, and compared with the study and with the truth.

mod bulk;
pub mod capture;
mod cost;
mod document;
mod vary;

use crate::error::ValidateError;
use cost::Cost;
use unbloat_lte_trace::Params;
use unbloat_lte_trace::score::{self, Check, Statistic};
use unbloat_lte_trace_host::analyse;

/// How much is generated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub users: u32,
    pub seeds: u64,
    pub threads: u32,
}

/// One trace, scored.
struct Scored {
    statistics: Vec<Statistic>,
    checks: Vec<Check>,
    packets: u64,
    flows: usize,
}

fn scored(params: &Params, seed: u64, threads: u32) -> Result<Scored, ValidateError> {
    let (seen, users) = analyse(params, seed, threads, Default::default())?;
    Ok(Scored {
        statistics: score::statistics(&seen, &users),
        checks: score::checks(&seen, &users),
        packets: seen.packets,
        flows: seen.flows.len(),
    })
}

/// The whole document, `docs/lte-chain.md`, and whether every check kept its bound.
pub fn lte(plan: Plan, command: &str) -> Result<(String, bool), ValidateError> {
    let params = Params {
        users: plan.users,
        ..Params::default()
    };
    let begun = Cost::so_far();
    let mut traces = Vec::new();
    for seed in 1..=plan.seeds {
        eprintln!("seed {seed} ...");
        traces.push(scored(&params, seed, plan.threads)?);
    }
    let cost = Cost::so_far().since(begun);
    let is_hit = traces
        .iter()
        .flat_map(|trace| &trace.checks)
        .all(|check| check.is_hit() != Some(false));
    let text = document::document(&document::Made {
        plan,
        command,
        params: &params,
        traces: &traces,
        cost,
        variations: &vary::variations(&params, plan.threads)?,
        estimator: &bulk::estimator(plan.threads)?,
        utilisation: &bulk::utilisation(plan.threads)?,
        ticks: &bulk::ticks(plan.threads)?,
    });
    Ok((text, is_hit))
}
