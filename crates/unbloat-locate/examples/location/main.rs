//! Puts a queue at each place of a path in turn and counts how often `unbloat locate` names it.
//!
//! Each trial runs in a kernel of its own in virtual time (`unbloat-guest`), so neither load of the machine
//! nor its speed has a part in it, and the same trial gives the same verdict.
//!
//!     cargo run --release -p unbloat-locate --example location -- [TRIALS] [AT A TIME] [FIRST]

mod bed;
mod inside;
mod modem;
mod traffic;
mod trial;

use inside::{inside, outside};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use trial::{Direction, Holder, Judged, Trial};
use unbloat_guest::{Kernel, over_host};

fn main() -> Result<(), bed::Fault> {
    over_host(inside);
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|a| a.parse())
        .collect::<Result<_, _>>()?;
    let of = |at: usize, or| arguments.get(at).copied().unwrap_or(or);
    let (trials, at_a_time, first) = (of(0, 100), of(1, 2), of(2, 0));
    let kernel = Kernel::ensure()?;
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
                    one(&kernel, &Trial::draw(number), &scores);
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

fn one(kernel: &Kernel, trial: &Trial, scores: &Mutex<Scores>) {
    let (column, said) = match outside(kernel, trial) {
        Ok((outcome, took)) => {
            let column = match outcome.judged {
                Judged::Right => 0,
                Judged::Inconclusive => 1,
                Judged::Wrong => 2,
                Judged::CertainlyWrong => 3,
            };
            let mut said = format!("{:?} after {took:.1?}: {}", outcome.judged, outcome.verdict);
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
        Holder::Link(link) => match trial.direction {
            Direction::Up => format!("hop {}", link - 1),
            Direction::Down => format!("hop {link}"),
            Direction::Both => format!("hops {} and {link}", link - 1),
        },
    }
}
