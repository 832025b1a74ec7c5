//! What must be reached, and whether it was.

use super::contestants::{REPORT, TCPDUMP, TCPTRACE, TWO_THREADS, UNBLOAT};
use super::result::{Goal, Met, SpeedResult, median, paired};

/// Packets of the study's capture.
pub const STUDY_PACKETS: f64 = 3.8e9;

const GIB: f64 = (1u64 << 30) as f64;

/// Flows that the goal is about: more than `--max-flows` allows, so that the program has to close some early and must say so.
const FLOOD: u32 = 10_000_000;

/// Wall time says something about threads only while nobody else wants the processors.
const IDLE_LOAD: f64 = 0.7;

pub fn judge(result: &SpeedResult) -> Vec<Goal> {
    let rate = |capture, who| Some(result.row(capture, who)?.packets_per_cpu_s? / 1e6);
    let times = |capture, who| result.row(capture, who)?.times_unbloat;
    let gtpu = ratio(result, ("nogtpu", UNBLOAT), ("gtpu", UNBLOAT));
    let report = |capture| ratio(result, (capture, TCPTRACE), (capture, REPORT));
    let two_threads = ratio(result, ("paper", TWO_THREADS), ("paper", UNBLOAT));
    vec![
        at_least("paper-like trace", 8.0, " Mpps", rate("paper", UNBLOAT)),
        at_least(
            "paper-like trace, tables and report written",
            4.0,
            " Mpps",
            rate("paper", REPORT),
        ),
        at_least("many flows", 4.0, " Mpps", rate("many", UNBLOAT)),
        at_least(
            "many flows, tables and report written",
            2.0,
            " Mpps",
            rate("many", REPORT),
        ),
        at_least("GTP-U over the same without", 0.9, "", gtpu),
        at_least(
            "CPU of tcptrace -l -r -n, paper-like",
            10.0,
            " x",
            times("paper", TCPTRACE),
        ),
        at_least(
            "CPU of tcptrace -l -r -n, paper-like, over tables and report",
            5.0,
            " x",
            report("paper"),
        ),
        at_least(
            "CPU of tcptrace -l -r -n, many flows",
            12.0,
            " x",
            times("many", TCPTRACE),
        ),
        at_least(
            "CPU of tcptrace -l -r -n, many flows, over tables and report",
            8.0,
            " x",
            report("many"),
        ),
        at_least(
            "CPU of tcpdump -w /dev/null, paper-like",
            1.0,
            " x",
            times("paper", TCPDUMP),
        ),
        two_cores(result),
        at_most("CPU on two threads over one", 1.05, " x", two_threads),
        at_most(
            "memory a live flow",
            512.0,
            " B",
            result.memory.bytes_per_live_flow,
        ),
        at_most(
            "memory growth, trace tenfold",
            5.0,
            " %",
            result.memory.tenfold_growth_pct,
        ),
        flood(result),
    ]
}

/// CPU time of the first over the second, round by round.
fn ratio(result: &SpeedResult, above: (&str, &str), below: (&str, &str)) -> Option<f64> {
    paired(
        &result.row(above.0, above.1)?.cpu_s,
        &result.row(below.0, below.1)?.cpu_s,
    )
}

fn two_cores(result: &SpeedResult) -> Goal {
    let rows = result
        .row("paper", UNBLOAT)
        .zip(result.row("paper", TWO_THREADS));
    let found = rows.and_then(|(one, two)| paired(&one.wall_s, &two.wall_s));
    let mut goal = at_least("wall time on one thread over two", 1.8, " x", found);
    let load = median(&result.loads).unwrap_or(f64::NAN);
    // One process of ours is always running, so a load of 1 is an idle machine.
    if load > 1.0 + IDLE_LOAD {
        goal.met = Met::Untold;
        goal.found += &format!(", at load {load:.1}: others ran meanwhile");
    }
    goal
}

fn flood(result: &SpeedResult) -> Goal {
    let flood = &result.flood;
    let gib = flood.peak_rss_bytes.map(|bytes| bytes as f64 / GIB);
    let mut goal = at_most(
        "SYN flood of 10 million flows",
        2.0,
        " GiB, loss reported",
        gib,
    );
    if flood.flows < FLOOD {
        goal.met = Met::Untold;
        goal.found += &format!(", with {} flows only", flood.flows);
    } else if goal.met == Met::Hit && flood.said.is_empty() {
        goal.met = Met::Miss;
        goal.found += ", but silent about the flows given up";
    }
    if let Some(why) = &flood.failed {
        goal.met = Met::Miss;
        goal.found = why.clone();
    }
    goal
}

fn at_least(name: &'static str, wanted: f64, unit: &str, found: Option<f64>) -> Goal {
    goal(name, format!("at least {wanted}{unit}"), unit, found, |x| {
        x >= wanted
    })
}

fn at_most(name: &'static str, wanted: f64, unit: &str, found: Option<f64>) -> Goal {
    goal(name, format!("at most {wanted}{unit}"), unit, found, |x| {
        x <= wanted
    })
}

fn goal(
    name: &'static str,
    wanted: String,
    unit: &str,
    found: Option<f64>,
    is_met: impl Fn(f64) -> bool,
) -> Goal {
    let met = match found {
        Some(x) if is_met(x) => Met::Hit,
        Some(_) => Met::Miss,
        None => Met::Untold,
    };
    let unit = unit.split(',').next().unwrap_or_default();
    let found = found.map_or_else(|| "not measured".to_owned(), |x| format!("{x:.2}{unit}"));
    Goal {
        name,
        wanted,
        found,
        met,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_neither_hit_nor_miss() {
        assert_eq!(at_least("x", 1.0, "", None).met, Met::Untold);
        assert_eq!(at_least("x", 1.0, "", Some(1.0)).met, Met::Hit);
        assert_eq!(at_most("x", 1.0, "", Some(1.1)).met, Met::Miss);
    }
}
