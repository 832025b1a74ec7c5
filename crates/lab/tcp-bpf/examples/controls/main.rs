//! Loaded controls beside those of the referee's kernel, over the same path: the table of docs/controls.md.
//!
//!     cargo run --release -p unbloat-tcp-bpf --example controls -- [REPEATS] [SECONDS]
//!
//! All controls run at the same time, each between two hosts of its own. Needs root.

mod referee;
mod transfer;

use referee::Truth;
use std::fmt::Write;
use std::path::Path;
use transfer::{Run, transfer};
use unbloat_tcp_bpf::{ControlError, Provided, provide};

/// The first two are everybody's own: what they differ by is not the control's doing.
const CONTROLS: [&str; 7] = [
    "reno",
    "cubic",
    "vegas",
    "bic",
    "htcp",
    "highspeed",
    "westwood",
];
const LIMITS: [u32; 2] = [100, 1_000];
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/controls.md");
const BEGIN: &str = "<!-- made by the example controls -->\n";
const END: &str = "<!-- end -->";

type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let number = |n: usize, default: u64| match std::env::args().nth(n) {
        Some(text) => text.parse::<u64>(),
        None => Ok(default),
    };
    let (repeats, seconds) = (number(1, 3)?, number(2, 60)?);
    let provided = CONTROLS.map(provide).into_iter();
    let controls: Vec<Provided> = provided.collect::<Result<_, ControlError>>()?;
    let mut table = head(seconds)?;
    for limit in LIMITS {
        let mut all: Vec<Vec<Run>> = CONTROLS.iter().map(|_| Vec::new()).collect();
        for _ in 0..repeats {
            for (runs, run) in all.iter_mut().zip(at_once(&controls, limit, seconds)?) {
                runs.push(run);
            }
        }
        for ((name, control), runs) in CONTROLS.iter().zip(&controls).zip(&all) {
            let truth = Truth::read(name, limit)?;
            writeln!(table, "{}", row(name, control, limit, runs, &truth))?;
        }
    }
    print!("{table}");
    if seconds == 60 {
        write_into(Path::new(DOCUMENT), &table)?;
    }
    Ok(())
}

fn at_once(provided: &[Provided], limit: u32, seconds: u64) -> Result<Vec<Run>, Fault> {
    std::thread::scope(|scope| {
        let start = |control: &Provided| {
            let name = control.name().to_owned();
            scope.spawn(move || transfer(&name, limit, seconds))
        };
        let threads: Vec<_> = provided.iter().map(start).collect();
        let join =
            |thread: std::thread::ScopedJoinHandle<'_, Result<Run, Fault>>| match thread.join() {
                Ok(run) => run,
                Err(_) => Err("a thread panicked".into()),
            };
        threads.into_iter().map(join).collect()
    })
}

fn head(seconds: u64) -> Result<String, Fault> {
    let mut head = String::new();
    let name = rustix::system::uname();
    writeln!(
        head,
        "Linux {}, {seconds} s each; cells are *referee / here (least to most)*.\n",
        name.release().to_string_lossy()
    )?;
    writeln!(
        head,
        "| control | is | buffer, packets | goodput, Mbit/s | mean wait, ms | p95 wait, ms | dropped | late p99, us |"
    )?;
    writeln!(head, "|---|---|---|---|---|---|---|---|")?;
    Ok(head)
}

fn row(name: &str, control: &Provided, limit: u32, runs: &[Run], truth: &Truth) -> String {
    let is = match control {
        Provided::Own(_) => "the kernel's",
        Provided::Loaded(_) => "loaded",
    };
    let cell = |referee: f64, digits: usize, of: fn(&Run) -> f64| {
        let (low, high) = range(runs.iter().map(of));
        if format!("{low:.digits$}") == format!("{high:.digits$}") {
            return format!("{referee:.digits$} / {low:.digits$}");
        }
        format!("{referee:.digits$} / {low:.digits$} to {high:.digits$}")
    };
    let (_, late) = range(runs.iter().map(|run| run.late_p99_us));
    format!(
        "| {name} | {is} | {limit} | {} | {} | {} | {} | {late:.0} |",
        cell(truth.goodput_mbps, 3, |run| run.goodput_mbps),
        cell(truth.mean_ms, 1, |run| run.mean_ms),
        cell(truth.p95_ms, 1, |run| run.p95_ms),
        cell(truth.dropped, 0, |run| run.dropped),
    )
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Puts the table between its marks.
fn write_into(document: &Path, table: &str) -> Result<(), Fault> {
    let text = std::fs::read_to_string(document)?;
    let marks = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = marks.ok_or("docs/controls.md has lost the marks of its table")?;
    std::fs::write(document, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(())
}
