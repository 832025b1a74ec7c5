//! Results by name: totals over flows, held against what can be counted otherwise (sizes of files, what the link carried, the flows
//! themselves), and the document that names all results.

mod scenario;

use scenario::Run;
use unbloat_experiment::outcome::results;
use unbloat_link::Place;
use unbloat_qdisc::Reason;
use unbloat_units::Direction;

/// Short files one after the other over a line that could carry ten times as much.
const FILES: &str = r#"
[scenario]
duration = "60 s"
[link.down]
rate = "10 Mbit/s"
delay = "20 ms"
[link.up]
rate = "10 Mbit/s"
delay = "20 ms"
[[flow]]
name = "file"
count = 20
stagger = "2 s"
app = { kind = "finite", size = "250 kB" }
"#;

#[test]
fn a_total_is_all_bytes_over_all_the_time() {
    let run = Run::of(FILES);
    let each = |metric: &str| -> f64 {
        let files = (1..=20).map(|number| run.get(&format!("file_{number}"), metric));
        files.sum()
    };
    assert_eq!(each("unfinished"), 0.0);
    let total = run.get("all", "goodput_down_bps");
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1.0, "{value}");
    near(total, 20.0 * 250_000.0 * 8.0 / 60.0);
    near(run.get("all", "goodput_up_bps"), 20.0 * 300.0 * 8.0 / 60.0);
    assert!(
        each("goodput_bps") > 10e6,
        "the rates of the files do not add up"
    );
    for subject in ["all", "file_*"] {
        let both = run.get(subject, "goodput_bps");
        near(both, total + run.get(subject, "goodput_up_bps"));
    }
}

/// Several kinds of flows, some of which end early, over queues that lose packets.
const MIXED: &str = r#"
[scenario]
duration = "20 s"
warmup = "WARMUP"
[link.down]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "30 packets" }
[link.up]
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "30 packets" }
[[flow]]
name = "download"
app = "bulk"
count = 3
stop = "7 s"
[[flow]]
app = { kind = "bulk", direction = "up" }
start = "3 s"
[[flow]]
app = "web"
[[flow]]
app = "voice"
[[flow]]
app = { kind = "onoff", rate = "3 Mbit/s" }
"#;

/// Data that came out of order before the warm-up ended may be read after it: a window of it for each connection.
#[test]
fn nobody_reads_more_than_the_link_carried() {
    for (warmup, spare_bytes) in [("0 s", 0.0), ("5 s", 3.0 * 3e6)] {
        let run = Run::of(&MIXED.replace("WARMUP", warmup));
        let span = run.outcomes.end.since(run.outcomes.warm_at).as_secs();
        for direction in Direction::BOTH {
            let name = direction.name();
            let read = run.get("all", &format!("goodput_{name}_bps"));
            let carried = run.get(name, "throughput_bps");
            assert!(
                0.0 < read && read < carried + spare_bytes * 8.0 / span,
                "{name}: read {read}, carried {carried}"
            );
            let line = if name == "down" { 10e6 } else { 2e6 };
            assert!(read < line, "{name}: {read}");
        }
    }
}

#[test]
fn a_flow_that_stops_is_rated_over_its_own_time() {
    let run = Run::of(&MIXED.replace("WARMUP", "0 s"));
    let shares = (1..=3).map(|number| run.get(&format!("download_{number}"), "goodput_bps"));
    let read = run.outcomes.flows[..3].iter();
    let bytes: f64 = read.map(|flow| flow.record.read.down.as_u64() as f64).sum();
    let rates: f64 = shares.sum();
    assert!((rates - bytes * 8.0 / 7.0).abs() < 1.0, "{rates}");
    let group = run.get("download_*", "goodput_down_bps");
    assert!((group - bytes * 8.0 / 20.0).abs() < 1.0, "{group}");
}

#[test]
fn counts_of_flows_of_one_name_add_up() {
    let run = Run::of(&MIXED.replace("WARMUP", "0 s"));
    for metric in [
        "connections",
        "segments",
        "retransmissions",
        "timeouts",
        "timeouts_in_recovery",
    ] {
        let downloads = (1..=3).map(|number| run.get(&format!("download_{number}"), metric));
        let downloads: f64 = downloads.sum();
        assert_eq!(run.get("download_*", metric), downloads, "{metric}");
        let others = run.get("bulk", metric) + run.get("web", metric);
        assert_eq!(run.get("all", metric), downloads + others, "{metric}");
    }
    assert!(run.get("download_*", "retransmissions") > 0.0);
}

/// Every ping is answered, lost or on its way: on a path of 2 s each way without loss, those of the last 4 s.
#[test]
fn pings_on_their_way_are_not_lost() {
    let text = |link: &str| {
        format!(
            "[scenario]\nduration = \"20 s\"\n[link.down]\ndelay = \"2 s\"\n{link}\n[link.up]\ndelay = \"2 s\"\n[[flow]]\napp = \"ping\"\n"
        )
    };
    let run = Run::of(&text(""));
    assert_eq!(run.get("ping", "unanswered"), 0.0);
    // Sent at 16.1 s to 20 s; the one of 16 s is answered at 20 s.
    assert_eq!(run.get("ping", "in_flight"), 40.0);
    let lossy = Run::of(&text("loss = 0.1"));
    let lost = lossy.get("ping", "unanswered");
    let drops = lossy.get("down", "drops");
    assert!(lost <= drops && drops <= lost + 3.0, "{lost} of {drops}");
}

/// Names of the document's tables, with what they stand for in their place.
fn documented() -> Vec<String> {
    let path = format!("{}/../../../docs/results.md", env!("CARGO_MANIFEST_DIR"));
    let document = std::fs::read_to_string(path).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| "));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let places = Place::ALL.map(Place::name);
    let reasons = Reason::ALL.map(Reason::name);
    let expanded = quoted
        .flat_map(|name| expand(name, "PLACE", &places))
        .flat_map(|name| expand(&name, "REASON", &reasons))
        .flat_map(|name| expand(&name, "*", &["mean", "p50", "p95", "p99"]));
    expanded.collect()
}

fn expand(name: &str, stands: &str, values: &[&str]) -> Vec<String> {
    match name.contains(stands) {
        true => values
            .iter()
            .map(|value| name.replace(stands, value))
            .collect(),
        false => vec![name.to_owned()],
    }
}

#[test]
fn every_result_stands_in_the_document() {
    let head = "[scenario]\nduration = \"20 s\"\n[link.down]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"fq_codel\"\n[link.up]\nradio = \"lte\"\nrate = \"5 Mbit/s\"\ndevice = {}\n[link.rrc]\n";
    let flows = unbloat_workload::NAMES
        .iter()
        .map(|app| format!("[[flow]]\napp = \"{app}\"\n"));
    let two = "[[flow]]\nname = \"up\"\ncount = 2\napp = { kind = \"bulk\", direction = \"up\" }\n";
    let text = head.to_owned() + &flows.collect::<String>() + two;
    let documented = documented();
    let found = results(&Run::of(&text).outcomes);
    let missing: Vec<_> = found
        .iter()
        .filter(|result| !documented.contains(&result.metric))
        .map(|result| format!("{}.{}", result.subject, result.metric))
        .collect();
    assert!(missing.is_empty(), "docs/results.md lacks {missing:?}");
    assert!(found.len() > 100);
}
