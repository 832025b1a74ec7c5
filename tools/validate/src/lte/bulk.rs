//! The study's own experiments: downloads without a pause, one a user.

use crate::error::ValidateError;
use unbloat_lte_trace::score::{self, against_received};
use unbloat_lte_trace::{Params, Use};
use unbloat_lte_trace_host::analyse;
use unbloat_units::Delta;

const USERS: u32 = 10;
const SEED: u64 = 1;

fn bulk(length: Delta) -> Params {
    Params {
        users: USERS,
        usage: Use::Bulk,
        session: length,
        drain: Delta::ZERO,
        ..Params::default()
    }
}

/// Error of the estimator as in section 6.2.
pub(super) struct Estimator {
    pub name: &'static str,
    /// Mean errors in windows of 1.0 s and of 0.1 s: against what the client received, and against the radio.
    pub errors: Vec<Option<f64>>,
}

pub(super) fn estimator(threads: u32) -> Result<Vec<Estimator>, ValidateError> {
    let cases = [
        ("default", 0.5, Delta::secs(1)),
        ("rates that hold for 5 s", 0.5, Delta::secs(5)),
        ("rates that vary half as much", 0.25, Delta::secs(1)),
        ("both", 0.25, Delta::secs(5)),
        ("rates that do not vary", 0.0, Delta::secs(1)),
    ];
    let mut list = Vec::new();
    for (name, rate_spread, rate_hold) in cases {
        eprintln!("estimator, {name} ...");
        let params = Params {
            rate_spread,
            rate_hold,
            ..bulk(Delta::secs(60))
        };
        let (seen, users) = analyse(&params, SEED, threads, Default::default())?;
        let windows = [Delta::secs(1), Delta::ms(100)];
        let errors = windows.map(|window| against_received(&seen, &users, window));
        let errors = errors.iter().flatten().map(|check| check.value);
        list.push(Estimator {
            name,
            errors: errors.collect(),
        });
    }
    Ok(list)
}

/// Throughput over what the radio could carry, by round trip (section 6.3).
pub(super) struct Utilisation {
    pub rtt: Delta,
    /// By spread of the rates.
    pub percent: Vec<Option<f64>>,
}

/// Spreads of the rates, which change every 500 ms in the mean.
pub(super) const SPREADS: [f64; 3] = [0.25, 0.5, 1.0];

pub(super) fn utilisation(threads: u32) -> Result<Vec<Utilisation>, ValidateError> {
    let mut list = Vec::new();
    for ms in [20, 100, 200, 400, 600, 1_000] {
        let rtt = Delta::ms(ms);
        eprintln!("utilisation, round trip {rtt} ...");
        let mut percent = Vec::new();
        for rate_spread in SPREADS {
            let params = Params {
                server_rtt: Some(rtt),
                rate_hold: Delta::ms(500),
                rate_spread,
                ..bulk(Delta::secs(60))
            };
            let (_, users) = analyse(&params, SEED, threads, Default::default())?;
            percent.push(score::utilisation(&users, params.length()));
        }
        list.push(Utilisation { rtt, percent });
    }
    Ok(list)
}

/// Error of G against delta_G (Fig. 18): flows of that length.
pub(super) struct Ticks {
    pub delta_g: Delta,
    /// Flows with an estimate, their median and their largest error in percent.
    pub flows: usize,
    pub median: Option<f64>,
    pub most: Option<f64>,
}

pub(super) fn ticks(threads: u32) -> Result<Vec<Ticks>, ValidateError> {
    let mut list = Vec::new();
    for ms in [250, 500, 1_000, 2_000, 3_000, 5_000, 10_000] {
        let delta_g = Delta::ms(ms);
        eprintln!("tick, delta_G {delta_g} ...");
        // A flow begins within the first second.
        let params = bulk(delta_g + Delta::ms(1_500));
        let analysis = unbloat_trace::Params {
            delta_g,
            ..Default::default()
        };
        let (seen, users) = analyse(&params, SEED, threads, analysis)?;
        let mut errors = Vec::new();
        for flow in &seen.flows {
            let user = users.iter().find(|user| user.client == flow.name.client);
            let truth = user.and_then(|user| user.tick_s);
            if let Some((raw, truth)) = flow.tick_raw_ms.zip(truth) {
                errors.push(100.0 * (raw / (1e3 * truth) - 1.0).abs());
            }
        }
        errors.sort_by(f64::total_cmp);
        list.push(Ticks {
            delta_g,
            flows: errors.len(),
            median: errors.get(errors.len() / 2).copied(),
            most: errors.last().copied(),
        });
    }
    Ok(list)
}
