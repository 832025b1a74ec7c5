//! The demo without hosts: the same kind of path before and after, in the simulator.

use crate::exit::{Exit, Failure};
use crate::print;
use crate::stop::stop_on_ctrl_c;
use std::convert::Infallible;
use std::path::Path;
use unbloat_api::experiment::{Changes, Plan, Run, Simulator, run_all};

const SCENARIO: &str = include_str!("../../included/bulk-and-call.toml");
/// The buffer of the scenario, and CAKE at 95 % of its rate.
const QUEUES: &str =
    r#"link.down.queue=[{kind="droptail",limit="1 MB"},{kind="cake",rate="19 Mbit/s"}]"#;

/// Simulates the path without and with a shaper, and prints both.
pub fn run() -> Result<Exit, Failure> {
    let changes = Changes {
        set: &[QUEUES.to_owned()],
        seed: None,
        repeats: None,
    };
    let plan = Plan::of_text(Path::new("bulk-and-call.toml"), SCENARIO, &changes)?;
    let stop = stop_on_ctrl_c()?;
    let Ok(campaign) = run_all::<Infallible>(&plan, &Simulator { threads: 2 }, &(), &stop);
    let [before, after] = &campaign.runs[..] else {
        return Ok(Exit::Interrupted);
    };
    if campaign.is_cut {
        return Ok(Exit::Interrupted);
    }
    let row = |label: &str, subject, metric, unit: &dyn Fn(f64) -> String| {
        let [old, new] =
            [before, after].map(|run| value(run, subject, metric).map_or("-".to_owned(), unit));
        format!("  {label:<38}{old:>13}{new:>13}\n")
    };
    let millis = |ms: f64| format!("{ms:.0} ms");
    let rows = [
        row("round trip of a ping, mean", "ping", "rtt_mean_ms", &millis),
        row(
            "round trip of a ping, 95th percentile",
            "ping",
            "rtt_p95_ms",
            &millis,
        ),
        row(
            "call quality downstream (MOS, 1 to 4.4)",
            "call",
            "mos_down",
            &|mos| format!("{mos:.1}"),
        ),
        row("download", "download", "goodput_bps", &|bps| {
            format!("{:.1} Mbit/s", bps / 1e6)
        }),
    ];
    let head = format!("  {:<38}{:>13}{:>13}\n", "", "before", "after");
    print::text(&format!(
        "Simulated, 60 s: a download and a call over a line of 20 Mbit/s with a buffer of 1 MB.\n\
         After: CAKE in front of that buffer, at 95 % of the rate (unbloat fix).\n\n{head}{}",
        rows.concat()
    ))?;
    Ok(Exit::Complete)
}

fn value(run: &Run, subject: &str, metric: &str) -> Option<f64> {
    let mut results = run.results.iter();
    let found = results.find(|result| result.subject == subject && result.metric == metric)?;
    Some(found.value)
}
