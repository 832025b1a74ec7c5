//! Shapers whose rates follow the line, in virtual time.

use unbloat_experiment::outcome::{RunResult, results};
use unbloat_experiment::scenario::toml::Node;
use unbloat_experiment::scenario::{Experiment, build};

/// Behind a 20 Mbit/s line with 300 ms of buffer that falls to 5 Mbit/s for the second of every two times ten seconds.
fn home(autorate: &str, flow: &str) -> Experiment {
    let text = format!(
        r#"
        [scenario]
        duration = "40 s"
        warmup = "2 s"
        sample_every = "0 s"
        [[link.down.hop]]
        steps = [{{ span = "10 s", rate = "20 Mbit/s" }}, {{ span = "10 s", rate = "5 Mbit/s" }}]
        delay = "10 ms"
        queue = {{ kind = "droptail", limit = "500 kB" }}
        [[link.down.hop]]
        queue = {{ kind = "cake", rate = "1 Gbit/s", ingress = true }}
        [[link.up.hop]]
        queue = {{ kind = "cake", rate = "1 Gbit/s" }}
        [[link.up.hop]]
        rate = "5 Mbit/s"
        delay = "10 ms"
        queue = {{ kind = "droptail", limit = "300 ms" }}
        [[flow]]
        name = "load"
        {flow}
        [[flow]]
        name = "ping"
        app = {{ kind = "ping", every = "20 ms" }}
        [autorate]
        {autorate}
        "#
    );
    let files = |_: &str| Err(String::new());
    let built = Node::parse(&text).and_then(|node| build(&node, &files));
    built.unwrap_or_else(|error| panic!("{error}"))
}

fn value(results: &[RunResult], subject: &str, metric: &str) -> f64 {
    let found = results
        .iter()
        .find(|one| one.subject == subject && one.metric == metric);
    found
        .unwrap_or_else(|| panic!("no {subject} {metric}"))
        .value
}

const DOWN: &str = "app = \"bulk\"\ncount = 2";
const UP: &str = "app = { kind = \"bulk\", direction = \"up\" }\ncount = 2";

#[test]
fn following_empties_the_lines_queue_and_keeps_its_goodput_without_being_told_a_rate() {
    for (flow, mean) in [(DOWN, 12.5e6), (UP, 5e6)] {
        let run = |kind| results(&unbloat_sim::run(&home(kind, flow)));
        let (off, follow) = (run("kind = \"off\""), run("kind = \"follow\""));
        let p95 = |of: &[RunResult]| value(of, "ping", "rtt_p95_ms");
        assert!(p95(&off) > 250.0, "{}", p95(&off));
        assert!(p95(&follow) < 100.0, "{}", p95(&follow));
        let goodput = value(&follow, "all", "goodput_bps");
        assert!(goodput > 0.85 * mean, "{goodput}");
    }
}

#[test]
fn cake_autorates_law_keeps_between_the_rates_that_it_was_told() {
    let told = "kind = \"cake_autorate\"\ndown_min = \"2 Mbit/s\"\ndown_base = \"4 Mbit/s\"\ndown_max = \"4 Mbit/s\"";
    let results = results(&unbloat_sim::run(&home(told, DOWN)));
    let goodput = value(&results, "all", "goodput_bps");
    assert!((3.3e6..4e6).contains(&goodput), "{goodput}");
    assert!(value(&results, "ping", "rtt_p95_ms") < 60.0);
}

#[test]
fn an_oracle_keeps_the_queue_that_it_foresees_off_the_line() {
    // A share of 0.9, so that what stands when the line narrows drains within the ten seconds.
    let p95 = |told: &str| {
        let told = format!("kind = \"oracle\"\nshare = 0.9\n{told}");
        let results = results(&unbloat_sim::run(&home(&told, DOWN)));
        assert!(value(&results, "all", "goodput_bps") > 0.7 * 12.5e6);
        value(&results, "ping", "rtt_p95_ms")
    };
    let (late, now) = (p95("behind = \"1 s\""), p95("ahead = \"100 ms\""));
    assert!(now < 60.0 && late > now + 20.0, "{now} {late}");
}

/// Goodput of a download of some seconds after somebody has typed for a minute, over a path that varies.
fn download_after_idle(kind: &str, path: &str, lasts_s: u32) -> f64 {
    let end_s = 62 + lasts_s;
    let text = format!(
        r#"
        [scenario]
        duration = "{end_s} s"
        sample_every = "0 s"
        [[link.down.hop]]
        rate = "60 Mbit/s"
        delay = "10 ms"
        {path}
        queue = {{ kind = "droptail", limit = "300 ms" }}
        [[link.down.hop]]
        queue = {{ kind = "cake", rate = "1 Gbit/s", ingress = true }}
        [[link.up.hop]]
        queue = {{ kind = "cake", rate = "1 Gbit/s" }}
        [[link.up.hop]]
        rate = "10 Mbit/s"
        delay = "10 ms"
        {path}
        queue = {{ kind = "droptail", limit = "300 ms" }}
        [[flow]]
        name = "keys"
        app = {{ kind = "ranges", size = "100 B", every = "200 ms" }}
        [[flow]]
        name = "download"
        app = "bulk"
        start = "62 s"
        [autorate]
        kind = "{kind}"
        "#
    );
    let built = Node::parse(&text).and_then(|node| build(&node, &|_| Err(String::new())));
    let run = unbloat_sim::run(&built.unwrap_or_else(|error| panic!("{error}")));
    value(&results(&run), "download", "goodput_bps")
}

#[test]
fn a_line_that_idles_while_routes_change_is_all_there_when_a_download_begins() {
    let detour = |k: u32| {
        let longer_ms = k % 2 * 25;
        format!("{{ after = \"{} s\", longer = \"{longer_ms} ms\" }}", k * 8)
    };
    let detours: Vec<_> = (1..8).map(detour).collect();
    let path = format!("detours = [{}]", detours.join(", "));
    let [off, follow] = ["off", "follow"].map(|kind| download_after_idle(kind, &path, 4));
    assert!(off > 45e6 && follow > 0.8 * off, "{follow} of {off}");
}

#[test]
fn jitter_that_was_there_without_load_does_not_slow_a_download() {
    for jitter_ms in [25, 40, 70] {
        let path = format!("jitter = \"{jitter_ms} ms\"");
        let [off, follow] = ["off", "follow"].map(|kind| download_after_idle(kind, &path, 20));
        assert!(follow > 0.9 * off, "{jitter_ms} ms: {follow} of {off}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        format!(
            "{:?}",
            results(&unbloat_sim::run(&home("kind = \"follow\"", DOWN)))
        )
    };
    assert_eq!(run(), run());
}

#[test]
fn without_a_shaper_there_is_nothing_to_change() {
    let text = "[link.down]\nrate = \"5 Mbit/s\"\n[link.up]\n[[flow]]\napp = \"bulk\"\n[autorate]\nkind = \"follow\"";
    let fault = Node::parse(text).and_then(|node| build(&node, &|_| Err(String::new())));
    let message = fault.expect_err("refused").to_string();
    assert!(message.contains("no shaper to control"), "{message}");
}
