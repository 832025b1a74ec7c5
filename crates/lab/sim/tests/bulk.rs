//! Bulk transfers against what can be told by hand.

mod support;

use support::{experiment, fifo, flow, metric};
use unbloat_experiment::outcome::is_conserved;
use unbloat_link::Place;
use unbloat_sim::run;
use unbloat_units::{Delta, Rate};
use unbloat_workload::Config as Workload;

#[test]
fn one_flow_fills_a_link_whose_buffer_holds_a_bdp() {
    for control in ["newreno", "cubic"] {
        let flows = vec![flow("bulk", Workload::Bulk(Default::default()), control)];
        let mut plan = experiment(Rate::mbps(10), Delta::ms(20), fifo(100), flows);
        plan.warmup = Delta::secs(10);
        let outcomes = run(&plan);
        assert!(is_conserved(&outcomes));
        // 1,448 of 1,500 bytes are payload.
        let expected = 10e6 * 1_448.0 / 1_500.0;
        let goodput = metric(&outcomes, 0, "goodput_bps");
        assert!(
            (goodput / expected - 1.0).abs() < 0.01,
            "{control}: {goodput}"
        );
        let waits = outcomes
            .paths
            .down
            .waits(Place::Queue)
            .expect("packets wait");
        assert!(
            waits.max <= Delta::us(1_200) * 100,
            "{control}: {}",
            waits.max
        );
    }
}

#[test]
fn the_same_experiment_gives_the_same_outcome() {
    let flows = || {
        (0..3)
            .map(|n| {
                flow(
                    &format!("bulk{n}"),
                    Workload::Bulk(Default::default()),
                    "cubic",
                )
            })
            .collect()
    };
    let plan = experiment(Rate::mbps(10), Delta::ms(20), fifo(60), flows());
    let [first, second] = [run(&plan), run(&plan)];
    assert_eq!(first.tasks, second.tasks);
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}
