//! The weakness of DRWA's published rule, and what dips do about it.

use crate::scenario::Run;

const PUBLISHED: &str = r#""drwa""#;
const DIPPING: &str = r#"{ kind = "drwa", lambda = 2, lambda_unfilled = 2.5, dip_every = "10 s", eager = true, extra_segments = 6 }"#;
fn network(head: &str, flows: &str) -> Run {
    Run::of(&format!(
        r#"
        [scenario]
        {head}

        [link.down]
        rate = "8 Mbit/s"
        delay = "30 ms"
        queue = {{ kind = "droptail", limit = "1 MB" }}

        [link.up]
        rate = "1.5 Mbit/s"
        delay = "30 ms"

        {flows}
        "#
    ))
}

/// Mbit/s of a download and of one that begins on its queue, and the mean round-trip time of the first in ms.
fn shares(window: &str) -> [f64; 3] {
    let flow = |name: &str, start: &str| {
        format!(
            r#"
            [[flow]]
            name = "{name}"
            app = "bulk"
            start = "{start}"
            receive_window = {window}
            "#
        )
    };
    let flows = flow("first", "0 s") + &flow("late", "15 s");
    let head = r#"duration = "120 s"
        warmup = "45 s""#;
    let run = network(head, &flows);
    [
        run.get("first", "goodput_bps") / 1e6,
        run.get("late", "goodput_bps") / 1e6,
        run.get("first", "rtt_mean_ms"),
    ]
}

/// The newest takes nearly all, at a multiple of the delay that is aimed at (PIMRC 2018 says so, too).
#[test]
fn who_begins_on_a_queue_takes_nearly_all_by_the_published_rule() {
    let [first, late, rtt_ms] = shares(PUBLISHED);
    assert!(late > 10.0 * first, "{first} {late}");
    assert!(rtt_ms > 2.0 * 180.0, "{rtt_ms}");
}

#[test]
fn who_begins_on_a_queue_shares_when_all_dip() {
    let [first, late, rtt_ms] = shares(DIPPING);
    assert!((0.6..1.7).contains(&(first / late)), "{first} {late}");
    assert!(first + late > 0.97 * 7.72, "{first} {late}");
    assert!(rtt_ms < 150.0, "{rtt_ms}");
}

/// Goodput in Mbit/s and mean round-trip time in ms of a download beside one with the kernel's own window, which ends after 60 s if so.
fn beside_stock(ends: bool, warmup: &str) -> (f64, f64) {
    let stop = if ends { r#"stop = "60 s""# } else { "" };
    let flows = format!(
        r#"
        [[flow]]
        name = "held"
        app = "bulk"
        receive_window = {DIPPING}
        [[flow]]
        name = "stock"
        app = "bulk"
        receive_window = "drs"
        {stop}
        "#
    );
    let head = format!("duration = \"180 s\"\nwarmup = \"{warmup}\"");
    let run = network(&head, &flows);
    (
        run.get("held", "goodput_bps") / 1e6,
        run.get("held", "rtt_mean_ms"),
    )
}

/// Two dips take the other's queue for the path; one takes it back.
#[test]
fn who_fills_the_buffer_leaves_a_share_after_two_dips_and_its_queue_is_forgotten() {
    let (share, _) = beside_stock(false, "60 s");
    assert!(share > 1.2, "{share}");
    let (goodput, rtt_ms) = beside_stock(true, "90 s");
    assert!(goodput > 0.97 * 7.72, "{goodput}");
    assert!(rtt_ms < 150.0, "{rtt_ms}");
}
