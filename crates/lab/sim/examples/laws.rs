//! M/M/1/K, M/D/1/K and IPP/M/1/K from the simulator beside the models: every load from 0.5 to 0.99 and every size from 1 to
//! 1,000, each with as many packets as its standard error of 0.4 % takes, up to a limit.
//!
//! `cargo run --release -p unbloat-sim --example laws [MILLION_PACKETS]`

#[path = "../tests/datagrams/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod datagrams;
#[path = "../tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use datagrams::Load;
use datagrams::chain::Chain;
use unbloat_workload::kind::onoff::Sizes;

const LOADS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];
const PLACES: [u32; 4] = [1, 10, 100, 1_000];
/// Standard error that is aimed at, relative to the delay.
const ERROR: f64 = 0.004;

#[expect(clippy::disallowed_methods, reason = "an argument")]
fn main() {
    let most = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let most = most.unwrap_or(100_u64) * 1_000_000;
    println!(
        "| chain | load | places | packets | delay | closed form | off | standard error | loss | closed form |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (name, sizes, bursts) in [
        ("M/M/1/K", Sizes::Exponential, None),
        ("M/D/1/K", Sizes::Fixed, None),
        (
            "IPP/M/1/K, 10 on, 10 off",
            Sizes::Exponential,
            Some((10.0, 10.0)),
        ),
    ] {
        for rho in LOADS {
            for places in PLACES {
                let load = Load { rho, sizes, bursts };
                row(name, Chain { load, places }, most);
            }
        }
    }
}

/// One point of the grid. Times are in mean times of transmission.
fn row(name: &str, chain: Chain, most: u64) {
    let model = chain.model();
    let packets = chain.packets_for(ERROR, 1.0).min(most);
    let found = chain.simulate(packets);
    let (delay, expected) = (found.delay, model.mean_delay());
    println!(
        "| {name} | {} | {} | {:.1} M | {:.4} | {expected:.4} | {:+.2} % | {:.2} % | {:.3e} | {:.3e} |",
        chain.load.rho,
        chain.places,
        packets as f64 / 1e6,
        delay.mean,
        100.0 * (delay.mean / expected - 1.0),
        100.0 * delay.error / expected,
        found.loss.mean,
        model.loss(),
    );
}
