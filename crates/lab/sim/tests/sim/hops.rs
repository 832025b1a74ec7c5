//! Several hops in a row are one path, told apart.

use crate::scenario::{Run, experiment};
use unbloat_experiment::outcome::PathRecord;
use unbloat_experiment::scenario::Hop;
use unbloat_units::{Both, Bytes, Direction};

/// Three hops down, of which two have queues that fill, and two up.
const TEXT: &str = r#"
    [scenario]
    duration = "20 s"
    warmup = "2 s"

    [[link.down.hop]]
    rate = "10 Mbit/s"
    queue = { kind = "codel" }
    delay = "5 ms"

    [[link.down.hop]]
    delay = "10 ms"
    loss = 0.0005
    jitter = "2 ms"

    [[link.down.hop]]
    rate = "9 Mbit/s"
    queue = { kind = "droptail", limit = "60 packets" }
    delay = "5 ms"

    [[link.up.hop]]
    rate = "2 Mbit/s"
    delay = "5 ms"

    [[link.up.hop]]
    delay = "15 ms"

    [[flow]]
    app = "bulk"
    count = 2
    cc = "newreno"

    [[flow]]
    name = "call"
    app = "voice"

    [[flow]]
    app = { kind = "onoff", rate = "3 Mbit/s", on = "500 ms", off = "1 s" }
    "#;

#[test]
fn hops_in_a_row_do_what_one_path_of_all_their_elements_does() {
    let mut several = experiment(TEXT);
    // At the very time of a sample a packet may leave before it or after.
    several.sample_every = None;
    let mut one = several.clone();
    let whole = |hops: Vec<Hop>| {
        let elements = hops.into_iter().flat_map(|hop| hop.elements);
        vec![Hop::from(elements.collect::<Vec<_>>())]
    };
    (one.down, one.up) = (whole(one.down), whole(one.up));
    let [apart, together] = [&several, &one].map(Run::from);
    assert!(together.outcomes.hops.iter().all(Vec::is_empty));
    let shown = |run: &Run| format!("{:?}", run.outcomes.flows);
    assert_eq!(shown(&apart), shown(&together));
    let counts = |path: &PathRecord| (path.offered_bytes, path.delivered_bytes, path.drops);
    for (a, b) in apart.outcomes.paths.iter().zip(&together.outcomes.paths) {
        assert_eq!(counts(a), counts(b));
    }
}

#[test]
fn what_leaves_a_hop_enters_the_next_and_each_has_its_own_results() {
    let run = Run::of(TEXT);
    let Both { down, up } = &run.outcomes.hops;
    assert_eq!((down.len(), up.len()), (3, 2));
    for hops in [down, up] {
        for pair in hops.windows(2) {
            assert_eq!(pair[0].delivered_packets, pair[1].offered_packets);
            assert_eq!(pair[0].delivered_bytes, pair[1].offered_bytes);
        }
    }
    let dropped = down.iter().map(|hop| hop.dropped_bytes).sum::<Bytes>();
    assert_eq!(dropped, run.outcomes.paths.down.dropped_bytes);
    assert!(down.iter().all(|hop| hop.dropped_packets > 0));

    // Of the packets that arrive, so a little off where some are dropped behind the first queue.
    let mean = |subject| run.get(subject, "queue_delay_mean_ms");
    let sum = mean("down.hop1") + mean("down.hop3");
    assert!(
        (mean("down") / sum - 1.0).abs() < 0.02,
        "{} {sum}",
        mean("down")
    );
    assert!(
        mean("down.hop3") > 3.0 * mean("down.hop1"),
        "codel keeps the first short"
    );
    let longest = |subject| run.get(subject, "queue_delay_max_ms");
    assert!(longest("down") <= longest("down.hop1") + longest("down.hop3"));
}

#[test]
fn samples_tell_every_place_of_every_hop() {
    let run = Run::of(TEXT);
    let first = &run.outcomes.layers;
    let places = first.iter().take_while(|layer| layer.at == first[0].at);
    let named: Vec<_> = places
        .map(|one| (one.direction, one.hop, one.place.name()))
        .collect();
    assert_eq!(
        named,
        [
            (Direction::Down, 1, "queue"),
            (Direction::Down, 3, "queue"),
            (Direction::Up, 1, "queue")
        ]
    );
    let most = first
        .iter()
        .filter(|one| one.hop == 3)
        .map(|one| one.packets)
        .max();
    assert_eq!(most, Some(60), "the FIFO fills to its limit");
}
