//! Puts a queue at each place of a path in turn and counts how often `unbloat locate` names it.
//!
//! Each trial runs in a kernel of its own in virtual time (`unbloat-uml`), so neither load of the machine
//! nor its speed has a part in it, and the same trial gives the same verdict.
//!
//!     cargo run --release -p unbloat-locate-host --example location -- [TRIALS] [AT A TIME] [FIRST]
//!
//! `here` in front does the trials in namespaces of this machine and in real time instead (root), one at a time; without
//! the slow router and propagation delay, which not every kernel can make. `lan` does the local network with a peer.

mod bed;
mod inside;
mod lan;
mod modem;
mod traffic;
mod trial;

use bed::Fault;
use inside::{Job, Outcome, inside, outcome, outside};
use lan::{Bottleneck, Lan};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trial::{Direction, Holder, Judged, Trial};
use unbloat_uml::{Kernel, over_host};

fn main() -> Result<(), Fault> {
    over_host(inside);
    let mut words = std::env::args().skip(1).peekable();
    let is_here = words.next_if(|word| word == "here").is_some();
    let is_lan = words.next_if(|word| word == "lan").is_some();
    let arguments: Vec<u64> = words.map(|a| a.parse()).collect::<Result<_, _>>()?;
    let of = |at: usize, or| arguments.get(at).copied().unwrap_or(or);
    let (trials, at_a_time, first) = (of(0, 115), of(1, 2), of(2, 0));
    let kernel = (!is_here).then(Kernel::ensure).transpose()?;
    if is_lan {
        return lans(kernel.as_ref());
    }
    let at_a_time = if is_here { 1 } else { at_a_time };
    let next = AtomicU64::new(first);
    let scores = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + trials {
                        return;
                    }
                    one(kernel.as_ref(), &Trial::draw(number), &scores);
                }
            });
        }
    });
    print(
        &scores.into_inner().unwrap_or_else(|e| e.into_inner()),
        trials,
    );
    Ok(())
}

/// Right, inconclusive, likely wrong, certainly wrong, failed.
type Scores = BTreeMap<(String, String), [u32; 5]>;

/// In a guest, or here.
fn done(kernel: Option<&Kernel>, job: &Job) -> Result<(Outcome, Duration), Fault> {
    let begin = Instant::now();
    match kernel {
        Some(kernel) => outside(kernel, job),
        None => Ok((outcome(job)?, begin.elapsed())),
    }
}

/// Both links, and a gateway that says nothing.
fn lans(kernel: Option<&Kernel>) -> Result<(), Fault> {
    for (bottleneck, is_gateway_silent) in [
        (Bottleneck::Own, false),
        (Bottleneck::Access, false),
        (Bottleneck::Access, true),
    ] {
        let lan = Lan {
            bottleneck,
            is_gateway_silent,
        };
        let (outcome, took) = done(kernel, &Job::Lan(lan.clone()))?;
        println!("{lan:?} {:?} after {took:.1?}", outcome.judged);
        println!("    {}\n    {:?}", outcome.verdict, outcome.hops);
    }
    Ok(())
}

fn one(kernel: Option<&Kernel>, trial: &Trial, scores: &Mutex<Scores>) {
    let job = match kernel {
        Some(_) => Job::Row(trial.clone()),
        None => Job::Row(Trial {
            delay_ms: 0,
            slow_ms: 0,
            ..trial.clone()
        }),
    };
    let (column, said) = match done(kernel, &job) {
        Ok((outcome, took)) => {
            let column = match outcome.judged[0] {
                Judged::Right => 0,
                Judged::Inconclusive => 1,
                Judged::Wrong => 2,
                Judged::CertainlyWrong => 3,
            };
            let mut said = format!(
                "{:?} after {took:.1?}: {}",
                outcome.judged[0], outcome.verdict
            );
            if column > 0 {
                said += &format!("\n    {trial:?}\n    {:?}", outcome.hops);
            }
            (column, said)
        }
        Err(fault) => (4, format!("failed: {fault}")),
    };
    let direction = trial.direction.phase().name().to_owned();
    eprintln!("{:3} {} {direction}: {said}", trial.number, place(trial));
    let mut scores = scores.lock().unwrap_or_else(|e| e.into_inner());
    scores.entry((direction, place(trial))).or_default()[column] += 1;
}

fn print(scores: &Scores, trials: u64) {
    println!(
        "| load | queue at | right | inconclusive | likely, wrong | certain, wrong | failed |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    let mut all = [0; 5];
    for ((direction, place), columns) in scores {
        let [a, b, c, d, e] = columns;
        println!("| {direction} | {place} | {a} | {b} | {c} | {d} | {e} |");
        all.iter_mut().zip(columns).for_each(|(sum, n)| *sum += n);
    }
    let [a, b, c, d, e] = all;
    println!("| all {trials} | | {a} | {b} | {c} | {d} | {e} |");
}

fn place(trial: &Trial) -> String {
    match trial.holder {
        Holder::Qdisc => "this host's qdisc".to_owned(),
        Holder::Device => "this host's device".to_owned(),
        Holder::Below => "a box behind this host's device".to_owned(),
        Holder::Link(link) => match trial.direction {
            Direction::Up => format!("hop {}", link - 1),
            Direction::Down => format!("hop {link}"),
            Direction::Both => format!("hops {} and {link}", link - 1),
        },
    }
}
