//! Results by name: totals over flows, compared with what can be counted otherwise (sizes of files, what the link carried, the flows
//! themselves), and the document that names all results.

use crate::scenario::Run;
use unbloat_experiment::outcome::{Layer, results};
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
    let bytes: f64 = read
        .map(|flow| flow.record.read.down.total().as_u64() as f64)
        .sum();
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

const PATH: &str = "[link.down]\ndelay = \"50 ms\"\n[link.up]\ndelay = \"50 ms\"\n";

/// A window of 40 full segments on a path that could hold more: that is what is in flight.
#[test]
fn percentiles_of_windows_are_those_of_a_constant_window() {
    let text = format!(
        "[scenario]\nduration = \"10 s\"\nwarmup = \"2 s\"\n{PATH}[[flow]]\napp = \"bulk\"\nreceive_window = {{ kind = \"static\", window = \"57920 B\" }}\n"
    );
    for keeps_series in [true, false] {
        let mut experiment = crate::scenario::experiment(&text);
        experiment.keeps_series = keeps_series;
        let run = Run::from(&experiment);
        for what in ["p50", "p95", "max"] {
            let bytes = run.get("bulk", &format!("in_flight_{what}_bytes"));
            assert!((bytes / 57_920.0 - 1.0).abs() < 0.025, "{what}: {bytes}");
        }
        assert!(run.get("bulk", "in_flight_max_bytes") <= 57_920.0);
        assert_eq!(run.outcomes.windows.is_empty(), !keeps_series);
        assert_eq!(run.outcomes.samples.is_empty(), !keeps_series);
        // 40 segments in each of the 98 round trips after the handshake, less those in which the window opened.
        if let Some(last) = run.outcomes.windows.last() {
            let acked = last.acked_segments;
            assert!((3_700..=3_920).contains(&acked), "{acked}");
        }
    }
}

/// Counts of a Poisson process have the variance of their mean: 125 datagrams a second deviate by 1 / sqrt(125).
#[test]
fn goodput_of_poisson_traffic_deviates_as_it_must() {
    let text = format!(
        "[scenario]\nduration = \"600 s\"\nwarmup = \"10 s\"\n{PATH}[[flow]]\napp = {{ kind = \"onoff\", rate = \"1 Mbit/s\" }}\n"
    );
    let rsd = Run::of(&text).get("onoff", "goodput_rsd");
    assert!((rsd * 125_f64.sqrt() - 1.0).abs() < 0.1, "{rsd}");
}

/// Nothing but propagation: a round trip for set-up, half of one for the request, half of one for the response.
#[test]
fn parts_of_a_load_are_those_of_an_idle_path() {
    let text = format!(
        "[scenario]\nduration = \"60 s\"\n{PATH}[[flow]]\napp = {{ kind = \"web\", sizes = [\"8 KiB\"] }}\n[[flow]]\napp = {{ kind = \"page\", levels = [1, 4], connections = 2, object_size = \"5 kB\" }}\n"
    );
    let run = Run::of(&text);
    for subject in ["web", "page"] {
        for (part, ms) in [("setup", 100.0), ("request", 50.0), ("response", 50.0)] {
            assert_eq!(run.get(subject, &format!("{part}_time_mean_ms")), ms);
            assert_eq!(run.get(subject, &format!("{part}_time_p99_ms")), ms);
        }
    }
    assert_eq!(run.get("web", "load_time_mean_ms"), 200.0);
    let times = &run.outcomes.flows[1].times;
    let count = |what: &str| times.iter().filter(|time| time.what == what).count();
    // Two connections and five objects for each page.
    let pages = count("page_load");
    assert!(pages > 5);
    assert_eq!([count("setup"), count("request") / 5], [2 * pages, pages]);
}

#[test]
fn a_flow_that_is_not_enabled_is_as_if_it_were_not_there() {
    let flow = |enabled: &str| {
        let head = format!("[scenario]\nduration = \"5 s\"\n{PATH}rate = \"2 Mbit/s\"\n");
        let web = "[[flow]]\napp = { kind = \"web\", every = \"100 ms\" }\n";
        format!(
            "{head}{web}[[flow]]\nname = \"upload\"\napp = {{ kind = \"bulk\", direction = \"up\" }}\nenabled = {enabled}\n{web}"
        )
    };
    let of = |enabled: &str, subject: &str| -> Vec<f64> {
        let found = results(&Run::of(&flow(enabled)).outcomes);
        let own = found.iter().filter(|result| result.subject == subject);
        own.map(|result| result.value).collect()
    };
    assert_eq!(of("false", "upload"), [0.0; 0]);
    assert!(!of("true", "upload").is_empty());
    let run = Run::of(&flow("false"));
    assert_eq!(
        run.get("all", "connections"),
        run.get("web_*", "connections")
    );
    // What is random comes out the same: as many objects are asked for.
    let with = Run::of(&flow("true"));
    assert_eq!(
        with.get("web_*", "connections"),
        run.get("web_*", "connections")
    );
    assert!(with.get("web_1", "load_time_mean_ms") > run.get("web_1", "load_time_mean_ms"));
}

/// A phone that uploads while it downloads.
const PHONE: &str = r#"
[scenario]
duration = "20 s"
flow_layers = true
[link.down]
rate = "20 Mbit/s"
delay = "20 ms"
[[link.up.hop]]
rate = "4 Mbit/s"
device = { ring_packets = 4, buffer = "30 kB" }
queue = { kind = "droptail", limit = "200 kB" }
[[link.up.hop]]
delay = "20 ms"
rate = "50 Mbit/s"
[[flow]]
name = "download"
app = "bulk"
[[flow]]
name = "upload"
app = { kind = "bulk", direction = "up" }
"#;

/// What enters a layer leaves it or is still there; what all flows wait together is what the path tells.
#[test]
fn bytes_pass_one_layer_after_the_other() {
    let one_hop = PHONE
        .replace(
            "[[link.up.hop]]\ndelay = \"20 ms\"\nrate = \"50 Mbit/s\"\n",
            "",
        )
        .replace("[[link.up.hop]]", "[link.up]\ndelay = \"20 ms\"");
    for text in [PHONE, &one_hop] {
        let run = Run::of(text);
        let passed = |flow: usize, layer| {
            let layers = run.outcomes.flows[flow].layers.up.as_ref().unwrap();
            let total = layers.bytes(layer).total().as_u64();
            let end = run.outcomes.end;
            let series: u64 = layers
                .bytes(layer)
                .intervals(end)
                .map(|(_, b)| b.as_u64())
                .sum();
            assert_eq!(series, total);
            total
        };
        let mut all = 0;
        for flow in [0, 1] {
            let [socket, tcp, qdisc, driver, firmware] =
                Layer::ALL.map(|layer| passed(flow, layer));
            assert!(tcp >= qdisc && qdisc >= driver && driver >= firmware && firmware > 0);
            // The ring holds four packets, the buffer 30 kB.
            assert!(qdisc - driver <= 4 * 1_500 && driver - firmware <= 30_000 + 1_500);
            if flow == 1 {
                // Headers of 52 bytes for 1448 of payload; written, and not all sent.
                assert!(socket as f64 > tcp as f64 * 1_448.0 / 1_500.0);
            }
            all += firmware;
        }
        // After the firmware the packets take 20 ms, and nothing is lost.
        let up = &run.outcomes.paths.up;
        let delivered = up.delivered_bytes.as_u64();
        assert!(
            all >= delivered && all - delivered < 4_000_000 / 8 / 10,
            "{all} {delivered}"
        );
        let records = if text == PHONE {
            &run.outcomes.hops.up[0]
        } else {
            up
        };
        for place in [Place::Qdisc, Place::Driver, Place::Firmware] {
            let count = |waits: &unbloat_experiment::outcome::Waits| waits.ms.count();
            let flows = run.outcomes.flows.iter();
            let waits = flows.map(|flow| flow.layers.up.as_ref().unwrap().waits(place));
            let waits: Vec<_> = waits.flatten().collect();
            let whole = records.waits(place).unwrap();
            let counts: u64 = waits.iter().map(|waits| count(waits)).sum();
            assert_eq!(counts, count(whole), "{place:?}");
            let sum: f64 = waits
                .iter()
                .map(|w| w.mean_ms().unwrap() * count(w) as f64)
                .sum();
            let mean = whole.mean_ms().unwrap();
            assert!(
                (sum / counts as f64 - mean).abs() < 1e-6 * mean,
                "{place:?}"
            );
        }
        // The ACKs of the download wait behind the upload, in a queue that takes 0.4 s to drain.
        let wait = run.get("download", "up_qdisc_delay_p50_ms");
        assert!((50.0..420.0).contains(&wait), "{wait}");
        assert!(run.get("download", "rtt_p50_ms") > wait);
    }
}

/// The receive window closes: what arrives is what is read, and the rest of the line stays idle.
#[test]
fn a_slow_reader_closes_the_window() {
    let text = r#"
        [scenario]
        duration = "12 s"
        [link.down]
        rate = "3 Mbit/s"
        delay = "50 ms"
        [link.up]
        delay = "50 ms"
        [[flow]]
        app = "bulk"
        receive_window = { kind = "static", window = "100 kB" }
        read_rate = "300 kbit/s"
        read_ahead = "600 kB"
    "#;
    let run = Run::of(text);
    let read = run.outcomes.flows[0].record.read.down.total().as_u64() as f64;
    // 600 kB take 1.7 s of the line at 2.9 Mbit/s of payload; then 37.5 kB a second.
    let expected = 600e3 + (12.0 - 1.9) * 37.5e3;
    assert!((read / expected - 1.0).abs() < 0.03, "{read} of {expected}");
    let delivered = run.outcomes.paths.down.delivered_bytes.as_u64() as f64;
    let ahead = delivered * 1_448.0 / 1_500.0 - read;
    assert!(ahead < 110e3 && ahead > 80e3, "{ahead} wait to be read");
    let samples = &run.outcomes.windows;
    let late = samples
        .iter()
        .filter(|sample| sample.at.as_ns() > 4_000_000_000);
    assert!(late.map(|s| s.in_flight_bytes.as_u64()).max().unwrap() < 30_000);
    // 1 MB in 12 s of a line of 4.5 MB.
    let utilisation = run.get("down", "utilisation");
    assert!(
        (utilisation - delivered / 4.5e6).abs() < 1e-6,
        "{utilisation}"
    );
}

/// Requests each 20 s through a radio whose tail is 5 s, and a client with a radio of its own that is silent after the first second.
#[test]
fn a_radio_is_connected_from_each_promotion_to_the_end_of_its_tail() {
    let text = r#"
        [scenario]
        duration = "90 s"
        [link.down]
        rate = "10 Mbit/s"
        delay = "20 ms"
        [link.up]
        delay = "20 ms"
        [link.rrc]
        tail = "5 s"
        [link.clients.phone.rrc]
        [link.clients.phone.down]
        rate = "10 Mbit/s"
        [link.clients.phone.up]
        [[flow]]
        name = "player"
        app = { kind = "ranges", size = "1 MB", every = "20 s" }
        [[flow]]
        name = "file"
        client = "phone"
        app = { kind = "finite", size = "100 kB" }
    "#;
    let run = Run::of(text);
    // Five requests, at 0, 20, 40, 60 and 80 s; each takes 0.8 s of the line after a promotion, and the tail.
    assert_eq!(run.get("radio", "promotions"), 5.0);
    let connected = run.get("radio", "connected_ms");
    assert!((connected - 5.0 * 5_950.0).abs() < 500.0, "{connected}");
    assert_eq!(run.get("radio", "connected_share"), connected / 90e3);
    assert_eq!(run.get("radio.phone", "promotions"), 1.0);
    let phone = run.get("radio.phone", "connected_ms");
    assert!((11_600.0..12_500.0).contains(&phone), "{phone}");
}

#[test]
fn a_full_line_is_utilised_and_no_line_beyond_what_it_can() {
    let text = |rate: &str| {
        format!(
            "[scenario]\nduration = \"30 s\"\nwarmup = \"5 s\"\n[link.down]\n{rate}\ndelay = \"20 ms\"\n[link.up]\ndelay = \"20 ms\"\n[[flow]]\napp = \"bulk\"\n"
        )
    };
    let steps = "steps = [{ span = \"500 ms\", rate = \"20 Mbit/s\" }, { span = \"1 s\", rate = \"5 Mbit/s\" }]\nqueue = { kind = \"droptail\", limit = \"2 MB\" }";
    let markov = "markov = [{ rate = \"20 Mbit/s\", stay = \"500 ms\" }, { rate = \"5 Mbit/s\", stay = \"500 ms\" }]\nqueue = { kind = \"droptail\", limit = \"2 MB\" }";
    for rate in ["rate = \"10 Mbit/s\"", steps, markov] {
        let share = Run::of(&text(rate)).get("down", "utilisation");
        assert!((0.95..1.005).contains(&share), "{rate}: {share}");
    }
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
        .flat_map(|name| expand(&name, "hopN", &["hop1", "hop2"]))
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
    let head = "[scenario]\nduration = \"20 s\"\nflow_layers = true\n[link.down]\nrate = \"5 Mbit/s\"\ndelay = \"20 ms\"\nqueue = \"fq_codel\"\n[link.up]\nradio = \"lte\"\nrate = \"5 Mbit/s\"\ndevice = {}\n[link.rrc]\n";
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
