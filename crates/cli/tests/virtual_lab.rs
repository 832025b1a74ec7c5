//! `unbloat lab run --virtual`: Linux's TCP in virtual time.

use std::path::Path;
use std::process::{Command, Output};

const PING: &str = r#"
[scenario]
duration = "5 s"
[link.down]
delay = "10 ms"
[link.up]
delay = "10 ms"
[[flow]]
name = "ping"
app = "ping"
"#;

const BULK: &str = r#"
[scenario]
duration = "8 s"
[link.down]
rate = "10 Mbit/s"
delay = "20 ms"
[link.up]
rate = "10 Mbit/s"
delay = "20 ms"
[[flow]]
name = "bulk"
app = "bulk"
cc = "cubic"
[[flow]]
name = "ping"
app = "ping"
"#;

fn unbloat(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_unbloat"))
        .args(arguments)
        .output();
    output.unwrap()
}

/// Runs a scenario; its results as CSV.
fn results(text: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let mut arguments = vec!["lab", "run", "--virtual", "-q", file];
    arguments.extend(["--format", "csv", "--table", "results"]);
    arguments.extend(more);
    let output = unbloat(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn value(results: &str, subject: &str, metric: &str) -> f64 {
    let wanted = format!(",{subject},{metric},");
    let line = results.lines().find(|line| line.contains(&wanted));
    let line = line.unwrap_or_else(|| panic!("no {subject}.{metric} in {results}"));
    line.rsplit(',').next().unwrap().parse().unwrap()
}

fn a_kernel_that_was_built_is_not_built_again() {
    let built = unbloat(&["lab", "kernel", "build"]);
    let message = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{message}");
}

fn a_ping_over_20_ms_takes_20_ms() {
    let results = results(PING, &[]);
    let rtt_ms = value(&results, "ping", "rtt_mean_ms");
    // The application looks at the clock some times, which takes 256 ns.
    assert!((rtt_ms - 20.0).abs() < 0.02, "{rtt_ms}");
    assert_eq!(value(&results, "lab", "lateness_max_us"), 0.0);
}

fn the_same_seed_gives_the_same_results() {
    let first = results(BULK, &[]);
    assert_eq!(first, results(BULK, &[]));
    assert!(value(&first, "bulk", "goodput_bps") > 9e6, "{first}");
}

fn clients_share_some_hops_and_not_others() {
    const LINES: &str = r#"
        scenario = { duration = "6 s", warmup = "2 s" }
        link.up = { delay = "20 ms" }

        [[link.down.hop]]
        rate = "10 Mbit/s"
        queue = { kind = "fq_codel" }

        [[link.down.hop]]
        clients = ["slow"]
        rate = "2 Mbit/s"
        queue = { kind = "droptail", limit = "30 packets" }

        [[flow]]
        name = "slow"
        client = "slow"
        app = "bulk"
        cc = "cubic"

        [[flow]]
        name = "fast"
        client = "fast"
        app = "bulk"
        cc = "cubic"
        "#;
    let results = results(LINES, &[]);
    let [slow, fast] = ["slow", "fast"].map(|flow| value(&results, flow, "goodput_bps") / 1e6);
    assert!((1.7..=2.0).contains(&slow), "{slow} {results}");
    // What the slow line leaves of the rate that both share.
    assert!((7.0..=8.0).contains(&fast), "{fast} {results}");
    let [core, line] = ["down.hop1", "down.hop2"];
    let wait_ms = |hop| value(&results, hop, "queue_delay_p50_ms");
    assert!(wait_ms(line) > 50.0 && wait_ms(core) < 20.0, "{results}");
    assert!(value(&results, line, "throughput_bps") < 2.05e6);
}

/// With free room in the congestion window, sockets once took a megabyte more.
fn a_send_buffer_bounds_what_is_in_flight() {
    let more = [
        "--set",
        "flow.0.send_buffer=100 kB",
        "--set",
        "flow.0.receive_window={ kind = \"static\", window = \"3 MB\" }",
        "--set",
        "link.down.queue={ kind = \"droptail\", limit = \"10 MB\" }",
    ];
    let most = value(&results(BULK, &more), "bulk", "in_flight_max_bytes");
    assert!((90e3..105e3).contains(&most), "{most}");
}

fn queues_of_the_kernel_take_the_place_of_ours() {
    let with = |queue: &str| {
        let set = format!("link.down.queue={{ kernel = \"{queue}\" }}");
        results(BULK, &["--set", &set])
    };
    for (queue, least_ms, most_ms) in [
        ("cake", 40.0, 43.0),
        ("fq_codel limit 1000", 40.0, 43.0),
        ("pfifo limit 1000", 150.0, 1000.0),
    ] {
        let results = with(queue);
        let rtt_ms = value(&results, "ping", "rtt_p50_ms");
        assert!((least_ms..most_ms).contains(&rtt_ms), "{queue}: {rtt_ms}");
        // What the queue itself did is told as of one of ours: what the ping waited for is the queue alone.
        let wait_ms = value(&results, "down", "queue_delay_max_ms");
        assert!(wait_ms > 5.0, "{queue}: {wait_ms}");
        let goodput = value(&results, "bulk", "goodput_bps");
        assert!((8e6..9.7e6).contains(&goodput), "{queue}: {goodput}");
    }
}

fn a_sweep_gives_a_row_for_each_point_and_the_folder_says_which_clock() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out_text = out.to_str().unwrap();
    let set = "link.down.delay=[\"5 ms\", \"15 ms\", \"90 ms\"]";
    let results = results(PING, &["--set", set, "--out", out_text]);
    let rtts: Vec<_> = results
        .lines()
        .filter(|line| line.contains(",rtt_mean_ms,"))
        .collect();
    assert_eq!(rtts.len(), 3, "{results}");
    let info = std::fs::read_to_string(out.join("run.json")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["clock"], "virtual");
    assert!(
        info["kernel"].as_str().unwrap().contains("User Mode Linux"),
        "{info}"
    );
}

fn captures_of_hosts_and_path_come_out_of_the_guest() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    results(
        PING,
        &["--out", out.to_str().unwrap(), "--capture", "headers"],
    );
    let names = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let captures: Vec<_> = names.filter(|path| has_packets(path)).collect();
    assert!(captures.len() >= 2, "{captures:?}");
}

fn has_packets(path: &Path) -> bool {
    let is_pcap = path.extension().is_some_and(|ending| ending == "pcap");
    // The header of the file alone has 24 bytes.
    is_pcap && path.metadata().unwrap().len() > 24
}

/// 25 downloads with windows of 12 MB over 400 Mbit/s and 100 ms, and a buffer that never drops.
fn large_windows() -> String {
    let mut text = r#"
[scenario]
duration = "8 s"
warmup = "4 s"
[link.down]
rate = "400 Mbit/s"
delay = "50 ms"
queue = { kind = "droptail", limit = "400 MB" }
[link.up]
delay = "50 ms"
"#
    .to_owned();
    for number in 0..25 {
        text.push_str(&format!(
            r#"[[flow]]
name = "bulk {number}"
app = "bulk"
cc = "cubic"
receive_window = {{ kind = "static", window = "12 MB" }}
send_buffer = "12 MB"
"#
        ));
    }
    text
}

fn many_large_windows_have_the_memory_that_they_need() {
    let results = results(&large_windows(), &[]);
    let goodput = value(&results, "all", "goodput_bps");
    assert!(goodput > 380e6, "{goodput}");
    assert_eq!(value(&results, "lab", "trustworthy"), 1.0, "{results}");
}

fn losses_that_the_path_does_not_explain_are_held_against_a_run() {
    // Behind the sockets and in front of the path.
    let lossy = "server: tc qdisc replace dev path root netem limit 10000 loss 1%";
    let results = results(BULK, &["--exec", lossy]);
    assert_eq!(value(&results, "lab", "trustworthy"), 0.0, "{results}");
    assert!(value(&results, "bulk", "retransmissions") > 20.0);
}

fn the_simulator_says_that_it_has_no_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, BULK).unwrap();
    let set = "link.down.queue={ kernel = \"cake\" }";
    let output = unbloat(&["sim", file.to_str().unwrap(), "--no-run", "--set", set]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && message.contains("lab run --virtual"),
        "{message}"
    );
}

unbloat_testkit::main! {
    always() => [
        the_simulator_says_that_it_has_no_kernel,
    ],
    kernel() => [
        a_kernel_that_was_built_is_not_built_again,
        a_ping_over_20_ms_takes_20_ms,
        the_same_seed_gives_the_same_results,
        clients_share_some_hops_and_not_others,
        a_send_buffer_bounds_what_is_in_flight,
        queues_of_the_kernel_take_the_place_of_ours,
        a_sweep_gives_a_row_for_each_point_and_the_folder_says_which_clock,
        captures_of_hosts_and_path_come_out_of_the_guest,
        many_large_windows_have_the_memory_that_they_need,
        losses_that_the_path_does_not_explain_are_held_against_a_run,
    ],
}
