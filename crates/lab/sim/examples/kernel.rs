//! Our simulator beside the Linux kernel: the table of docs/referee.md.
//!
//! `cargo run --release -p unbloat-sim --example kernel`

#[path = "../tests/sim/referee/mod.rs"]
mod referee;
#[path = "../tests/sim/support/mod.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use referee::verdict::verdicts;

fn main() {
    let (cases, missing) = referee::cases();
    for (number, case) in cases.iter().enumerate() {
        let verdicts = verdicts(case);
        if number == 0 {
            let heads: Vec<_> = verdicts.iter().map(|verdict| verdict.quantity).collect();
            println!("| scenario | {} |", heads.join(" | "));
            println!("|---|{}", "---|".repeat(heads.len()));
        }
        let cells: Vec<_> = verdicts.iter().map(ToString::to_string).collect();
        println!("| {} | {} |", case.name, cells.join(" | "));
    }
    println!("\nNot simulated: {}.", missing.join(", "));
}
