//! TCP over a link, by formula.

use crate::scenario::Run;
use unbloat_units::{Delta, Time};

/// Payload of a full packet of 1,500 bytes.
const MSS: u64 = 1_448;

/// Highest and lowest window of each tooth, in packets, and when it ended. The first tooth, of slow start, is left out.
fn teeth(run: &Run) -> Vec<(Time, u64, u64)> {
    let windows: Vec<_> = run
        .outcomes
        .windows
        .iter()
        .map(|sample| (sample.at, sample.cwnd_bytes.as_u64() / MSS))
        .collect();
    let falls = (1..windows.len()).filter(|n| windows[*n].1 < windows[n - 1].1);
    let mut ends: Vec<usize> = Vec::new();
    for fall in falls {
        // Proportional rate reduction steps down over a round trip: one fall.
        let is_new = ends
            .last()
            .is_none_or(|last| windows[fall].0.since(windows[*last].0) > Delta::secs(1));
        if is_new {
            ends.push(fall);
        }
    }
    ends.windows(2)
        .map(|pair| {
            let tooth = &windows[pair[0]..pair[1]];
            let low = tooth.iter().map(|sample| sample.1).min().expect("samples");
            (windows[pair[1]].0, tooth.last().expect("samples").1, low)
        })
        .collect()
}

/// The link holds 48 ms of 1.2 ms, one packet that is being sent and 60 that wait. The first packet that does not fit is lost
/// at a window of one more. Linux takes half of that; with one packet more a round it is back after the sum of all windows
/// between. Until the loss is seen and repaired two round trips and a bit pass: two to three windows of packets.
#[test]
fn reno_saws_between_the_full_pipe_and_half_of_it_in_the_time_that_its_packets_take() {
    let run = Run::of(
        r#"
        [scenario]
        duration = "120 s"
        warmup = "5 s"
        sample_every = "10 ms"

        [link.down]
        rate = "10 Mbit/s"
        delay = "24 ms"
        queue = { kind = "droptail", limit = "60 packets" }

        [link.up]
        delay = "24 ms"

        [[flow]]
        app = "bulk"
        cc = "newreno"
        receive_window = { kind = "static", window = "1 MB" }
        "#,
    );
    let teeth = teeth(&run);
    assert!(teeth.len() > 20, "{teeth:?}");
    let full = 40 + 1 + 60_u64;
    let half = full.div_ceil(2);
    let growth: u64 = (half..=full).sum();
    let packet = Delta::us(1_200).as_secs();
    let period = |rounds: u64| (growth + rounds * (full + 1)) as f64 * packet;
    for pair in teeth.windows(2) {
        let (end, high, low) = pair[1];
        // The window may grow once more before the loss is seen.
        assert!(
            (high == full + 1 || high == full + 2) && low == half,
            "{pair:?}"
        );
        let took = end.since(pair[0].0).as_secs();
        assert!((period(2)..period(3)).contains(&took), "{took} s: {pair:?}");
    }
    // The buffer is more than what half a window leaves of the pipe: the link never idles.
    assert!((run.get("down", "throughput_bps") / 10e6 - 1.0).abs() < 2e-4);
}

/// Milliseconds until so many segments are there, over a path of 400 segments of 0.25 ms and a round trip of 100 ms.
fn completion_ms(segments: u64) -> f64 {
    let text = format!(
        r#"
        [scenario]
        duration = "20 s"

        [link.down]
        rate = "48 Mbit/s"
        delay = "50 ms"
        queue = {{ kind = "droptail", limit = "10000 packets" }}

        [link.up]
        delay = "50 ms"

        [[flow]]
        name = "file"
        app = {{ kind = "finite", size = "{} B" }}
        cc = "newreno"
        receive_window = {{ kind = "static", window = "8 MB" }}
        "#,
        segments * MSS
    );
    Run::of(&text).get("file", "completion_ms")
}

/// Exact: a round trip for the handshake and one for each doubling, the time of the last round's segments on the link, and of
/// one in each round before, since the first ACK waits for the second segment. Once 10 * 2^n segments fill the pipe, after
/// log2(400 / 10) round trips, only the rate counts.
#[test]
fn slow_start_fills_a_pipe_in_one_round_trip_for_each_doubling() {
    // SYN-ACK and the ACK of the request take their time on the link before the data.
    let ahead = (60.0 + 52.0) * 8.0 / 48e3;
    let mut expected = 0.0;
    for rounds in 1..=10_u32 {
        let last = 10 * (1_u64 << (rounds - 1));
        let is_full = last / 2 > 400;
        if is_full {
            expected += last as f64 * 0.25;
        } else {
            let begin = f64::from(rounds + 1) * 100.0 + ahead;
            expected = begin + last as f64 * 0.25 + f64::from(rounds - 1) * 0.25;
        }
        let found = completion_ms(2 * last - 10);
        assert!(
            (found - expected).abs() < 2e-6,
            "{rounds} rounds: {found} instead of {expected}"
        );
    }
}

/// Through coupled queues each flow keeps the window that its own law makes of its marks: p for L4S packets and a quarter of p^2 for
/// classic ones (RFC 9332 section 2.1, k = 2). Prague's law stands in its file; CUBIC is in its region of Reno here: sqrt(3 / 2p).
/// That the shares differ is for the round trips, of which only the classic one is lengthened by a queue.
#[test]
fn prague_and_cubic_share_coupled_queues_as_their_laws_say() {
    let run = Run::of(
        r#"
        [scenario]
        duration = "120 s"
        warmup = "10 s"

        [link.down]
        rate = "40 Mbit/s"
        delay = "10 ms"
        queue = "dualpi2"

        [link.up]
        delay = "10 ms"

        [[flow]]
        name = "prague"
        app = "bulk"
        cc = "prague"
        ecn = "accurate"

        [[flow]]
        name = "cubic"
        app = "bulk"
        ecn = "classic"
        "#,
    );
    let window = |flow: &str| {
        let bits = run.get(flow, "goodput_bps") * run.get(flow, "rtt_mean_ms") / 1e3;
        bits / (8 * MSS) as f64
    };
    let rounds_per_reference = run.get("prague", "rtt_mean_ms") / 25.0;
    let segments = run.get("prague", "goodput_bps") * 110.0 / (8 * MSS) as f64;
    // A hundred or so of them are CUBIC's.
    let p = (run.get("down", "marks_early") - 100.0) / segments;
    let growth = (1.0 - p) * rounds_per_reference * rounds_per_reference;
    let half = growth / rounds_per_reference;
    let prague = (half + (half * half + 2.0 * growth).sqrt()) / p;
    let cubic = 1.5_f64.sqrt() / (p / 2.0);
    for (flow, expected) in [("prague", prague), ("cubic", cubic)] {
        let found = window(flow);
        assert!(
            (found / expected - 1.0).abs() < 0.12,
            "{flow}: {found}, by its law {expected}"
        );
    }
}
