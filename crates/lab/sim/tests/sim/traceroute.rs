//! Probes to every hop: round trips as arithmetic has them, and a queue that shows from its own hop on.

use crate::scenario::Run;

/// Propagation in ms and rate in Mbit/s of each hop, in the order in which packets pass them.
const DOWN: [(f64, f64); 3] = [(3.0, 50.0), (7.0, 20.0), (11.0, 2.0)];
const UP: [(f64, f64); 3] = [(13.0, 1.0), (5.0, 10.0), (2.0, 40.0)];
/// IP lengths of a probe and of its answer.
const PROBE: f64 = 60.0;
const ANSWER: f64 = 56.0;

fn hops(direction: &str, hops: &[(f64, f64)]) -> String {
    let each = hops.iter().map(|(delay, rate)| {
        format!("[[link.{direction}.hop]]\ndelay = \"{delay} ms\"\nrate = \"{rate} Mbit/s\"\n")
    });
    each.collect()
}

/// What passing a hop takes on an idle path.
fn passing_ms((delay, mbps): (f64, f64), bytes: f64) -> f64 {
    delay + bytes * 8.0 / (mbps * 1e3)
}

#[test]
fn idle_round_trips_are_propagation_and_serialisation_of_the_hops_so_far() {
    for own_ms in [0.0, 4.0] {
        let text = format!(
            "[scenario]\nduration = \"19.99 s\"\n{}{}[[flow]]\napp = \"traceroute\"\ndelay = \"{own_ms} ms\"\n",
            hops("down", &DOWN),
            hops("up", &UP)
        );
        let run = Run::of(&text);
        let mut expected = 2.0 * own_ms;
        for (hop, (up, down)) in UP.into_iter().zip(DOWN.into_iter().rev()).enumerate() {
            expected += passing_ms(up, PROBE) + passing_ms(down, ANSWER);
            for what in ["min", "mean", "p50", "p99"] {
                let ms = run.get("traceroute", &format!("hop{}_rtt_{what}_ms", hop + 1));
                assert!((ms - expected).abs() < 1e-3, "{what}: {ms} {expected}");
            }
        }
        // Of 200 probes a third goes on behind each router, and only those answers come from there.
        let sent = |subject: &str| {
            let path = &run.outcomes.hops;
            let (hops, hop) = match subject.split_at(2) {
                ("up", hop) => (&path.up, hop),
                (_, hop) => (&path.down, hop),
            };
            hops[hop.parse::<usize>().unwrap() - 1].offered_packets
        };
        assert_eq!(["up1", "up2", "up3"].map(sent), [200, 133, 66]);
        let answers = ["dn1", "dn2", "dn3"].map(sent);
        assert!(answers.is_sorted() && answers[2] - answers[0] == 134);
    }
}

#[test]
fn a_full_queue_shows_at_its_hop_and_at_those_behind_it() {
    // Packets of 1 kB at twice the rate: the queue holds 40 of them, and always has room for an answer.
    let queue = "rate = \"2 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"40500 B\" }\n";
    let load = "[[flow]]\napp = { kind = \"onoff\", rate = \"4 Mbit/s\" }\n";
    let path = |full: usize, flows: &str| {
        let down = (1..=3).map(|hop| {
            let inside = if hop == full { queue } else { "" };
            format!("[[link.down.hop]]\ndelay = \"5 ms\"\n{inside}")
        });
        let up = "[[link.up.hop]]\ndelay = \"5 ms\"\n".repeat(3);
        let head = "[scenario]\nduration = \"60 s\"\nwarmup = \"5 s\"\n";
        let down: String = down.collect();
        Run::of(&format!(
            "{head}{down}{up}[[flow]]\napp = \"traceroute\"\n{flows}"
        ))
    };
    for full in 1..=3 {
        let (idle, loaded) = (path(full, ""), path(full, load));
        for hop in 1..=3 {
            let name = format!("hop{hop}_rtt_mean_ms");
            let [before, after] = [&idle, &loaded].map(|run| run.get("traceroute", &name));
            let rise = after - before;
            // The last hop of the downlink is the first one of the client.
            if hop + full > 3 {
                // 39 to 40 packets of 4 ms, and the rest of the one being sent.
                assert!((154.0..165.0).contains(&rise), "{full} {hop}: {rise}");
            } else {
                assert_eq!(rise, 0.0, "{full} {hop}");
            }
            let lost = loaded.get("traceroute", &format!("hop{hop}_unanswered"));
            assert_eq!(lost, 0.0);
        }
    }
}

#[test]
fn probes_that_are_lost_are_counted_at_their_hop() {
    let text = "[scenario]\nduration = \"100 s\"\n[[link.down.hop]]\ndelay = \"5 ms\"\n[[link.down.hop]]\ndelay = \"5 ms\"\n[[link.up.hop]]\ndelay = \"5 ms\"\n[[link.up.hop]]\ndelay = \"5 ms\"\nloss = 0.2\n[[flow]]\napp = \"traceroute\"\n";
    let run = Run::of(text);
    assert_eq!(run.get("traceroute", "hop1_unanswered"), 0.0);
    let lost = run.get("traceroute", "hop2_unanswered");
    assert_eq!(lost, run.get("up.hop2", "drops"));
    assert!((70.0..130.0).contains(&lost), "{lost}");
}
