//! Our simulator beside the Linux kernel at random points of a grid: `bench/sim/grid --seed N --samples M`.
//!
//! Both sides run each point several times, with other seeds and other starts of the flows; a difference counts only beyond
//! what both sides' spread explains.

mod answer;
mod cell;
#[path = "../../tests/sim/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;
#[path = "../../tests/sim/referee/translate.rs"]
mod translate;

use answer::{Answer, QUANTITIES, Verdict, verdicts};
use cell::Cell;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use unbloat_uml::{GuestError, referee};

const USAGE: &str = "usage: grid [--seed N] [--samples M] [--runs R] [--threads T] [--only CONTROL/QUEUE/RATE/RTT/FLOWS]...";
/// The simulator is fast: it has more runs.
const OURS_PER_KERNELS: u64 = 4;

struct Arguments {
    seed: u64,
    samples: usize,
    /// Of the kernel, at each point.
    runs: u64,
    threads: usize,
    only: Vec<Cell>,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("grid: {message}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seed: 1,
        samples: 24,
        runs: 4,
        threads: 1,
        only: Vec::new(),
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let number = || value.parse::<u64>().map_err(|_| USAGE);
        match word.as_str() {
            "--seed" => arguments.seed = number()?,
            "--samples" => arguments.samples = number()? as usize,
            "--runs" => arguments.runs = number()?.max(2),
            "--threads" => arguments.threads = number()?.max(1) as usize,
            "--only" => arguments.only.push(value.parse()?),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(arguments)
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let Arguments { seed, runs, .. } = arguments;
    let cells = if arguments.only.is_empty() {
        Cell::draw(*seed, arguments.samples)
    } else {
        arguments.only.clone()
    };
    println!(
        "Seed {seed}: {} of {} points; {runs} runs of the kernel and {} of ours each. Cells are *kernel / ours*.\n",
        cells.len(),
        Cell::all().len(),
        runs * OURS_PER_KERNELS
    );
    println!("| point | {} |", QUANTITIES.join(" | "));
    println!("|---|{}", "---|".repeat(QUANTITIES.len()));
    let rows = rows(arguments, &cells).map_err(|error| error.to_string())?;
    let judged = rows.len() * QUANTITIES.len();
    let missed: Vec<usize> = (0..QUANTITIES.len())
        .map(|n| rows.iter().filter(|verdicts| !verdicts[n].is_hit).count())
        .collect();
    let clean = rows
        .iter()
        .filter(|row| row.iter().all(|v| v.is_hit))
        .count();
    println!(
        "\n{} of {judged} quantities are within their bounds, and all of {clean} of {} points. Beyond: {}.",
        judged - missed.iter().sum::<usize>(),
        rows.len(),
        QUANTITIES
            .iter()
            .zip(&missed)
            .map(|(name, count)| format!("{name} {count}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    Ok(())
}

/// Prints each row as it is there.
fn rows(arguments: &Arguments, cells: &[Cell]) -> Result<Vec<[Verdict; 5]>, GuestError> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let work = || {
            while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                let verdicts = compare(cell, arguments)?;
                let texts = verdicts.map(|verdict| text(&verdict));
                println!("| {cell} | {} |", texts.join(" | "));
                rows.lock().expect("nobody panics").push(verdicts);
            }
            Ok::<(), GuestError>(())
        };
        let threads: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().expect("nobody panics")?;
        }
        Ok::<(), GuestError>(())
    })?;
    Ok(rows.into_inner().expect("nobody panics"))
}

fn compare(cell: &Cell, arguments: &Arguments) -> Result<[Verdict; 5], GuestError> {
    let seeds = |count| (1..=count).map(|run| arguments.seed * 1_000 + run);
    let kernels = seeds(arguments.runs)
        .map(|seed| referee(&cell.scenario(seed)).map(|outcome| Answer::of_kernel(&outcome)));
    let kernels: Vec<_> = kernels.collect::<Result<_, _>>()?;
    let ours: Vec<_> = seeds(arguments.runs * OURS_PER_KERNELS)
        .map(|seed| {
            let scenario = cell.scenario(seed);
            let experiment = translate::experiment(&scenario).expect("the grid has what we have");
            Answer::of_sim(&unbloat_sim::run(&experiment), &scenario)
        })
        .collect();
    Ok(verdicts(cell, &kernels, &ours))
}

/// What is beyond its bound stands out.
fn text(verdict: &Verdict) -> String {
    let Verdict {
        kernels,
        ours,
        is_hit,
    } = verdict;
    let mark = if *is_hit { "" } else { "**" };
    let digits = match kernels.value.max(ours.value) {
        large if large >= 100.0 => 0,
        medium if medium >= 10.0 => 1,
        _ => 2,
    };
    let spread = kernels.error.hypot(ours.error);
    format!(
        "{mark}{:.digits$} / {:.digits$}{mark} ± {spread:.digits$}",
        kernels.value, ours.value
    )
}
