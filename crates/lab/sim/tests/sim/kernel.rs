//! Our simulator against the Linux kernel's own queues and TCP, as committed in `unbloat-uml/truth`.
//!
//! docs/referee.md has the table (`cargo run --release -p unbloat-sim --example kernel`), the bounds and the
//! reasons for what differs.

use crate::referee::verdict::{area_between, verdicts};

/// What is known to be beyond its bound.
const MISSES: &[(&str, &str)] = &[("reference-ten-cubic", "dropped")];

/// What the kernel has and we do not.
const NOT_SIMULATED: &[&str] = &[
    "cubic-over-fq",
    "illinois-over-pfifo-100",
    "yeah-over-pfifo-100",
    "nv-over-pfifo-100",
    "illinois-over-pfifo-1000",
    "yeah-over-pfifo-1000",
    "nv-over-pfifo-1000",
    "dctcp-over-step",
];

#[test]
fn every_quantity_but_the_known_ones_is_within_its_bound_of_the_kernels() {
    let (cases, missing) = crate::referee::cases();
    assert_eq!(missing, NOT_SIMULATED);
    let mut misses = Vec::new();
    for case in &cases {
        for verdict in verdicts(case) {
            println!("{} {}: {verdict}", case.name, verdict.quantity);
            if !verdict.is_hit {
                misses.push((case.name.as_str(), verdict.quantity));
            }
        }
    }
    assert_eq!(misses, MISSES);
}

/// Why the window of ten flows is not held to a tenth: the kernel does not hold itself to less.
#[test]
fn ten_flows_that_begin_a_millisecond_apart_move_the_kernels_own_window_as_far() {
    let [together, apart] = ["reference-ten-cubic", "reference-ten-cubic-staggered"]
        .map(|name| crate::referee::kernels(name).cwnd);
    let area = area_between(&together, &apart);
    assert!((0.09..0.11).contains(&area), "{area}");
}
