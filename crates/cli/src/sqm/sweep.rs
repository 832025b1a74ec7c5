//! Delay as a function of packet size.

use crate::events::bar_target;
use crate::exit::Failure;
use crate::print::note;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::AtomicBool;
use unbloat_sqm::Sample;

/// Sends echo requests of many sizes to a host, for 75 s.
pub fn measure(host: &str) -> Result<Vec<Sample>, Failure> {
    let address = unbloat_loadtest::answering(host, None)?;
    note!(
        "unbloat: sending echo requests of 241 sizes to {host}; nothing else should use the line"
    );
    let bar = ProgressBar::with_draw_target(Some(1_000), bar_target(false)).with_style(
        ProgressStyle::with_template("{bar:20} {percent} %").expect("a template of ours"),
    );
    let never = AtomicBool::new(false);
    let mut progress = |share: f64| bar.set_position((share * 1_000.0) as u64);
    let echoed = unbloat_loadtest::sweep(address, &never, &mut progress);
    bar.finish_and_clear();
    let echoed =
        echoed.map_err(|source| format!("cannot send echo requests to {host}: {source}"))?;
    if echoed.is_empty() {
        return Err(format!(
            "{host} does not answer echo requests; give another host behind the line"
        )
        .into());
    }
    let sample = |one: unbloat_loadtest::Echoed| Sample {
        ip_bytes: one.ip_bytes,
        delay: one.round_trip,
    };
    Ok(echoed.into_iter().map(sample).collect())
}
