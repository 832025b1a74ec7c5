//! Experiments on this machine's kernel. They need root; without it they say so and pass.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unbloat_experiment::outcome::{Outcomes, Snapshot, is_conserved};
use unbloat_experiment::scenario::toml::Node;
use unbloat_experiment::scenario::{Experiment, build};
use unbloat_lab::{Beside, Captures, LabError, Options, Ran, Timing, run};
use unbloat_link::Place;
use unbloat_units::{Both, Delta, Time};

const LINE: &str = r#"
    [scenario]
    duration = "4 s"
    warmup = "1 s"
    [link.down]
    rate = "10 Mbit/s"
    delay = "10 ms"
    queue = { kind = "droptail", limit = "60 packets" }
    [link.up]
    rate = "10 Mbit/s"
    delay = "10 ms"
"#;

fn experiment(flows: &str) -> Experiment {
    let scenario = Node::parse(&format!("{LINE}{flows}")).unwrap();
    build(&scenario, &|name| Err(format!("no file {name}"))).unwrap()
}

fn options() -> Options<'static> {
    Options {
        timing: Timing::Spin,
        has_offloads: true,
        keeps_series: true,
        captures: None,
        beside: Vec::new(),
        watcher: None,
    }
}

/// One experiment after the other: they would take each other's time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn done(experiment: &Experiment, options: &Options<'_>) -> Ran {
    run(experiment, options, &AtomicBool::new(false)).unwrap()
}

fn goodput(outcomes: &Outcomes, flow: usize) -> f64 {
    let metrics = &outcomes.flows[flow].metrics;
    let found = metrics.iter().find(|metric| metric.name == "goodput_bps");
    found.unwrap().value
}

/// Wide enough for a machine that does much else at the same time.
fn is_near(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() < 0.1 * theirs
}

fn a_download_does_as_in_the_simulator() {
    let _turn = turn();
    let experiment = experiment("[[flow]]\napp = \"bulk\"\n[[flow]]\napp = \"ping\"");
    let (ran, simulated) = (done(&experiment, &options()), unbloat_sim::run(&experiment));
    let ours = goodput(&ran.outcomes, 0);
    assert!(is_near(ours, goodput(&simulated, 0)), "{ours}");
    let waits = |outcomes: &Outcomes| {
        outcomes
            .paths
            .down
            .waits(Place::Queue)
            .unwrap()
            .mean_ms()
            .unwrap()
    };
    let [lab, sim] = [&ran.outcomes, &simulated].map(waits);
    assert!(
        (lab - sim).abs() < 0.2 * sim,
        "{lab} ms, and in the simulator {sim} ms"
    );
    assert!(is_conserved(&ran.outcomes));
    assert_eq!(ran.controls[0][0].as_deref(), Some("cubic"));
    assert!(ran.tcp.len() > 300 && ran.outcomes.samples.len() > 300);
    assert!(ran.differences.is_empty(), "{:?}", ran.differences);
}

fn uploads_calls_and_pages_of_several_hosts_share_the_path() {
    let _turn = turn();
    let experiment = experiment(
        "[[flow]]\napp = { kind = \"bulk\", direction = \"up\" }\nclient = \"phone\"\n\
         [[flow]]\napp = \"voice\"\nclient = \"laptop\"\ndelay = \"5 ms\"\n\
         [[flow]]\napp = { kind = \"page\", levels = [1, 6], object_size = \"20 kB\", pause = \"500 ms\" }\nclient = \"laptop\"\nserver = \"Web 1\"",
    );
    let ran = done(&experiment, &options());
    assert!(goodput(&ran.outcomes, 0) > 8e6);
    let found = |flow: usize, name: &str| {
        let metrics = &ran.outcomes.flows[flow].metrics;
        metrics
            .iter()
            .find(|metric| metric.name == name)
            .map(|metric| metric.value)
    };
    assert!(found(1, "mos").is_some_and(|mos| mos > 1.0));
    assert!(found(2, "page_load_p50_ms").is_some());
    let hosts: Vec<_> = ran.settings.keys().map(String::as_str).collect();
    assert_eq!(hosts, ["laptop", "phone", "server", "web-1-server-3"]);
}

fn a_run_that_is_stopped_tells_what_is_known() {
    let _turn = turn();
    let experiment = experiment("[[flow]]\napp = \"bulk\"");
    let (stop, told) = (AtomicBool::new(false), AtomicU64::new(0));
    let watcher = |snapshot: &Snapshot| {
        told.fetch_add(1, Ordering::Relaxed);
        if snapshot.at > Time::from_ns(0) + Delta::secs(2) {
            assert!(snapshot.paths.down.delivered_bytes > unbloat_units::Bytes::ZERO);
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = Options {
        watcher: Some(&watcher),
        ..options()
    };
    let ran = run(&experiment, &options, &stop).unwrap();
    assert!(ran.is_cut && ran.outcomes.end < Time::from_ns(0) + Delta::ms(3_500));
    assert!(told.load(Ordering::Relaxed) > 5);
    assert!(goodput(&ran.outcomes, 0) > 5e6);
}

fn captures_hold_what_passed() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        captures: Some(Captures {
            folder: folder.path().to_owned(),
            snap_len: 256,
            hosts: None,
        }),
        ..options()
    };
    let ran = done(
        &experiment("[[flow]]\napp = { kind = \"finite\", size = \"300 kB\" }"),
        &options,
    );
    let names: Vec<_> = ran.captures.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["server", "client", "path-server-side", "path-client-side"]
    );
    let Both { down, up } = &ran.outcomes.paths;
    let path = ran.captures[2].packets;
    assert_eq!(path, down.offered_packets + up.delivered_packets);
    for file in &ran.captures {
        assert!(file.packets > 20 && file.missed == 0, "{file:?}");
        assert!(file.path.metadata().unwrap().len() > 24 + 16 * file.packets);
    }
}

/// Two hops, and a client with a slower and lossy line of its own.
const CELL: &str = r#"
    [scenario]
    duration = "4 s"
    [[link.down.hop]]
    delay = "10 ms"
    [[link.down.hop]]
    rate = "10 Mbit/s"
    [[link.up.hop]]
    [[link.up.hop]]
    delay = "10 ms"
    [[link.clients.phone.down.hop]]
    delay = "10 ms"
    [[link.clients.phone.down.hop]]
    rate = "2 Mbit/s"
    loss = 0.01
    queue = { kind = "droptail", limit = "20 kB" }
    [[link.clients.phone.up.hop]]
    [[link.clients.phone.up.hop]]
    delay = "10 ms"
    [[flow]]
    app = "bulk"
    [[flow]]
    app = "bulk"
    client = "phone"
"#;

fn the_path_tells_of_every_packet_where_it_was_and_what_became_of_it() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        captures: Some(Captures {
            folder: folder.path().to_owned(),
            snap_len: 128,
            hosts: Some(vec!["phone".to_owned()]),
        }),
        ..options()
    };
    let scenario = Node::parse(CELL).unwrap();
    let experiment = build(&scenario, &|name| Err(format!("no file {name}"))).unwrap();
    let ran = done(&experiment, &options);
    assert!((1.5e6..1.95e6).contains(&goodput(&ran.outcomes, 1)));
    assert!(goodput(&ran.outcomes, 0) > 7e6);
    let rows = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let rows = text.lines().skip(1);
        rows.map(|row| row.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let (crossed, lost) = (rows("path-packets.csv"), rows("path-drops.csv"));
    let Both { down, up } = &ran.outcomes.paths;
    let delivered = down.delivered_packets + up.delivered_packets;
    let offered = down.offered_packets + up.offered_packets;
    assert_eq!(crossed.len() as u64, delivered);
    assert_eq!(
        (crossed.len() + lost.len()) as u64,
        offered - ran.outcomes.under_way
    );
    let is_at_phones_line = |row: &Vec<String>| row[4] == "10.45.0.2" && row[9] == "2";
    assert!(lost.len() > 10 && lost.iter().all(is_at_phones_line));
    let number = |text: &String| text.parse::<i64>().unwrap();
    for row in crossed.iter().filter(|row| row[0] == "down") {
        assert_eq!(number(&row[16]) - number(&row[7]), 10_000_000, "{row:?}");
    }
    let names: Vec<_> = ran.captures.iter().map(|file| file.name.as_str()).collect();
    let expected = [
        "phone",
        "path-server-side",
        "path-client-side",
        "path-router1",
    ];
    assert_eq!(names, expected);
    let router = ran.captures.iter().find(|one| one.name == "path-router1");
    let came = |all: &[Vec<String>]| {
        all.iter()
            .filter(|row| !row.last().unwrap().is_empty())
            .count()
    };
    let seen = router.unwrap().packets;
    assert!(seen >= (came(&crossed) + came(&lost)) as u64 && seen <= offered);
}

fn a_command_runs_beside_the_flows_and_ends_with_them() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let beside = |text: String| text.parse::<Beside>().unwrap();
    let options = Options {
        beside: vec![
            beside(format!(
                "client: cat /proc/net/route > {}; exit 3",
                seen.display()
            )),
            beside("server: sleep 1000".to_owned()),
        ],
        ..options()
    };
    let ran = done(&experiment("[[flow]]\napp = \"ping\""), &options);
    let codes: Vec<_> = ran.beside.iter().map(|ended| ended.exit_code).collect();
    assert_eq!(codes, [Some(3), None]);
    assert!(std::fs::read_to_string(&seen).unwrap().contains("path"));
}

fn what_no_kernel_does_is_refused_by_name() {
    for (key, told) in [
        ("cc = \"ledbat\"", "cc = \"ledbat\""),
        ("cc = \"bbr3\"", "cc = \"bbr3\""),
        (
            "receive_window = \"drs2012\"",
            "receive_window = \"drs2012\"",
        ),
        ("ecn = \"accurate\"", "ecn = \"accurate\""),
    ] {
        let experiment = experiment(&format!("[[flow]]\napp = \"bulk\"\n{key}"));
        let refused = run(&experiment, &options(), &AtomicBool::new(false));
        let error = refused.err().unwrap();
        assert!(matches!(error, LabError::OnlySim { .. }), "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    let probes = experiment("[[flow]]\napp = \"traceroute\"");
    let refused = run(&probes, &options(), &AtomicBool::new(false));
    assert!(matches!(refused, Err(LabError::NoRouters(_))));
}

/// The clamp of one flow's client leaves that of the other alone.
fn a_window_law_is_held_by_a_program_for_its_flow_only() {
    let _turn = turn();
    let flows = "[[flow]]\napp = \"bulk\"\nreceive_window = { kind = \"drwa\", initial = \"10 kB\", max = \"10 kB\" }\n\
                 [[flow]]\napp = \"bulk\"";
    let ran = done(&experiment(flows), &options());
    let settled = Time::from_ns(0) + Delta::secs(1);
    // What is offered, not what is in flight: that the kernel counts in segments, and takes short ones for whole.
    let offered = |flow: u32| {
        let samples = ran
            .tcp
            .iter()
            .filter(|sample| sample.flow == flow && sample.at > settled);
        let windows = samples.map(|sample| sample.info.peer_window().as_u64());
        windows.max().unwrap()
    };
    // Rounded up to whole units of the window.
    assert!(offered(0) <= 11_000, "{}", offered(0));
    assert!(offered(1) > 20_000, "{}", offered(1));
    let told = "receive_window \"drwa\" is a BPF program that bounds the kernel's own window";
    assert!(ran.differences.iter().any(|difference| difference == told));
}

fn what_the_kernel_cannot_be_told_is_named() {
    let experiment = experiment(
        "[[flow]]\nname = \"odd\"\napp = \"bulk\"\ninitial_window = 4\ncc = { kind = \"cubic\", beta = 500 }",
    );
    let mapping = unbloat_lab::Mapping::of(&experiment.flows).unwrap();
    let named: Vec<_> = mapping.differences.iter().map(String::as_str).collect();
    let expected = [
        "odd: initial_window is the kernel's own",
        "odd: parameters of cc \"cubic\" are those of the kernel",
    ];
    assert_eq!(named, expected);
}

/// A burst of chances each millisecond, a gap, one chance in 3 ms, and again.
fn chances() -> Vec<u8> {
    let burst = (1..=150).flat_map(|ms| [ms; 2]);
    let slow = (100..=200).map(|third| third * 3);
    let times = burst.chain(slow).map(|ms| format!("{ms}\n"));
    times.collect::<String>().into_bytes()
}

/// More than the link ever carries, so that a sender who is held up for a while changes nothing.
const VARIES: &str = r#"
    [scenario]
    duration = "6 s"
    interval = "100 ms"
    [link.down]
    delay = "10 ms"
    LINE
    QUEUE
    [link.up]
    delay = "10 ms"
    [[flow]]
    app = { kind = "onoff", rate = "30 Mbit/s", size = "1000 B" }
"#;

fn varying(line: &str, queue: &str) -> Experiment {
    let text = VARIES.replace("LINE", line).replace("QUEUE", queue);
    build(&Node::parse(&text).unwrap(), &|_| Ok(chances())).unwrap()
}

/// The kernel's FIFO over a rate that varies gives each packet out when ours does, and drops as many.
fn a_queue_of_the_kernel_is_emptied_as_the_rate_of_its_link_varies() {
    let _turn = turn();
    for line in [
        r#"trace = "a.down""#,
        r#"steps = [{ span = "150 ms", rate = "20 Mbit/s" }, { span = "150 ms", rate = "0 Mbit/s" }, { span = "300 ms", rate = "3 Mbit/s" }]"#,
        r#"markov = [{ rate = "15 Mbit/s", stay = "150 ms" }, { rate = "2 Mbit/s", stay = "150 ms" }]"#,
    ] {
        let kernels = varying(line, r#"queue = { kernel = "pfifo limit 200" }"#);
        let ours = r#"queue = { kind = "droptail", limit = "200 packets" }"#;
        let simulated = unbloat_sim::run(&varying(line, ours));
        // A thread that is held up moves bytes from one interval to the next. Not time and again.
        let mut tries = Vec::new();
        let is_alike = (0..5).any(|_| {
            let ran = done(&kernels, &options());
            tries.push([&ran.outcomes, &simulated].map(queue));
            are_alike(&ran.outcomes, &simulated)
        });
        assert!(is_alike, "{line}: {tries:?}");
    }
}

/// Whether at no time more than 2 % of all bytes that arrive are ahead or behind, and packets wait as long and are dropped as often.
fn are_alike(lab: &Outcomes, sim: &Outcomes) -> bool {
    let [ours, theirs] = [lab, sim].map(arrived);
    let most = theirs.last().unwrap() / 50;
    let apart = ours.iter().zip(&theirs).map(|(a, b)| a.abs_diff(*b));
    let is_in_time = ours.len() == theirs.len() && apart.max().unwrap() < most;
    let mut both = queue(lab).into_iter().zip(queue(sim));
    is_in_time && both.all(|(in_lab, in_sim)| is_near(in_lab, in_sim))
}

/// Mean and longest wait in ms, and how many were dropped.
fn queue(outcomes: &Outcomes) -> [f64; 3] {
    let down = &outcomes.paths.down;
    let waits = down.waits(Place::Queue).unwrap();
    let dropped = down.dropped_packets as f64;
    [waits.mean_ms().unwrap(), waits.max.as_ms(), dropped]
}

/// Bytes that the first flow had read by the end of each interval.
fn arrived(outcomes: &Outcomes) -> Vec<u64> {
    let read = outcomes.flows[0].record.read.down.intervals(outcomes.end);
    let mut sum = 0;
    let sums = read.map(|(_, bytes)| {
        sum += bytes.as_u64();
        sum
    });
    sums.collect()
}

unbloat_testkit::main! {
    always() => [
        what_no_kernel_does_is_refused_by_name,
        what_the_kernel_cannot_be_told_is_named,
    ],
    root("an emulated path") => [
        a_download_does_as_in_the_simulator,
        a_queue_of_the_kernel_is_emptied_as_the_rate_of_its_link_varies,
        uploads_calls_and_pages_of_several_hosts_share_the_path,
        a_run_that_is_stopped_tells_what_is_known,
        captures_hold_what_passed,
        the_path_tells_of_every_packet_where_it_was_and_what_became_of_it,
        a_command_runs_beside_the_flows_and_ends_with_them,
        a_window_law_is_held_by_a_program_for_its_flow_only,
    ],
}
