//! Command lines of this program that put a cure in place.

use super::Cure;
use unbloat_sqm::{Plan, Qdisc, tc};
use unbloat_units::{Cells, Framing, Rate};

/// Without the program.
pub(super) fn of(cure: &Cure<'_>) -> Vec<Vec<String>> {
    let device = cure.device.as_str();
    let mut all = Vec::new();
    match cure.plan {
        Some(plan) if plan.qdisc == Qdisc::OwnCake => {
            let words = tc::commands(plan).into_iter();
            all.extend(words.map(|words| words[1..].to_vec()));
        }
        Some(plan) => all.push(apply(plan)),
        None if cure.follows => all.push(owned(&["shape", "--interface", device, "--follow"])),
        None => {}
    }
    if cure.holds_window {
        all.push(owned(&["drwa", "--cgroup", "/"]));
    }
    all
}

/// The same plan by options, whatever the defaults are then.
fn apply(plan: &Plan) -> Vec<String> {
    let qdisc = match plan.qdisc {
        Qdisc::Cake => "cake",
        Qdisc::FqCodel => "fq-codel",
        Qdisc::OwnCake => "own-cake",
        Qdisc::Fifo => "fifo",
    };
    let mut words = owned(&["sqm", "apply", "--interface", plan.device.as_str()]);
    for (option, rate) in [("--rate-down", plan.down), ("--rate-up", plan.up)] {
        if let Some(rate) = rate {
            words.extend([option.to_owned(), bits(rate)]);
        }
    }
    words.extend(owned(&["--percent", "100", "--qdisc", qdisc]));
    if plan.framing != Framing::NONE {
        let line = match plan.framing.cells {
            Cells::None => "none",
            Cells::Atm => "atm",
            Cells::Ptm => "ptm",
        };
        words.extend(owned(&["--line", line]));
        words.push(format!("--overhead={}", plan.framing.overhead_bytes));
        words.push(format!("--mpu={}", plan.framing.minimum_bytes));
    }
    if plan.nat {
        words.push("--nat".to_owned());
    }
    words
}

fn bits(rate: Rate) -> String {
    format!("{}bit/s", rate.as_bps())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
