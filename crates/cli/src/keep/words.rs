//! Command lines of this program that put a cure in place.

use super::Cure;
use crate::shaping::following;
use unbloat_sqm::{Plan, Qdisc, tc};
use unbloat_units::{Cells, Framing, Rate};

/// Without the program.
pub(super) fn of(cure: &Cure<'_>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    match cure.plan {
        Some(plan) if plan.qdisc == Qdisc::OwnCake => {
            let words = tc::commands(plan).into_iter();
            all.extend(words.map(|words| words[1..].to_vec()));
        }
        Some(plan) => all.push(apply(plan)),
        None if cure.follows => all.push(following(cure.device, cure.rtt)),
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
    if let Some(rtt) = plan.rtt {
        words.extend(["--rtt".to_owned(), tc::cake_rtt(rtt)]);
    }
    words
}

fn bits(rate: Rate) -> String {
    format!("{}bit/s", rate.as_bps())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_sqm::Device;
    use unbloat_units::{Both, Delta};

    #[test]
    fn a_long_round_trip_is_kept_with_the_shaper() {
        let device: Device = "wan0".parse().unwrap();
        let rtt = Some(Delta::ms(226));
        let rates = Both::new(None, Some(Rate::mbps(6)));
        let plan = |qdisc| {
            let plan = Plan::new(device.clone(), rates, Framing::NONE, qdisc).unwrap();
            plan.with_rtt(rtt)
        };
        let words = |shaper: Option<&Plan>| {
            let cure = Cure {
                device: &device,
                plan: shaper,
                follows: shaper.is_none(),
                rtt,
                holds_window: false,
            };
            of(&cure)[0].join(" ")
        };
        let lines = [
            words(Some(&plan(Qdisc::Cake))),
            words(Some(&plan(Qdisc::OwnCake))),
            words(None),
        ];
        assert!(
            lines.iter().all(|line| line.contains("--rtt 226000us")),
            "{lines:?}"
        );
    }
}
