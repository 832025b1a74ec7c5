//! A whole test against a server of ours over the loopback device: what comes of it, never how fast.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use unbloat_loadtest::{
    Counter, Fate, Flows, Http, Introduction, Load, Measured, Options, Plan, Probe, ProbeKind,
    Rule, Side, Stack, Target, TestError, introduce, measure,
};
use unbloat_server::Server;
use unbloat_text::Layout;
use unbloat_units::{Delta, Direction};

struct Served {
    options: Options,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A server, and options of a test of a second and a half against it.
fn served() -> Served {
    let server = Server::bind(&unbloat_server::Options::loopback()).unwrap();
    let addresses = server.addresses();
    let target = format!("localhost:{}", addresses.tls.port());
    let mut options = Options::of(target.parse().unwrap());
    options.trust.pin = Some(pin(&addresses.fingerprint));
    options.ip = Some(unbloat_loadtest::IpVersion::Four);
    let lengths = [300, 400, 400, 400].map(Delta::ms);
    options.plan = Plan::of("short", Delta::ms(100), lengths, &[Stack::NetworkOnly]);
    options.flows = Flows::Fixed(2);
    let stop = Arc::new(AtomicBool::new(false));
    let of_server = stop.clone();
    let thread = std::thread::spawn(move || server.run(&of_server, || {}).unwrap());
    Served {
        options,
        stop,
        thread: Some(thread),
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_server_that_is_asked_who_it_is_sees_no_failure() {
    let server = Server::bind(&unbloat_server::Options::loopback()).unwrap();
    let addresses = server.addresses();
    let target = format!("localhost:{}", addresses.tls.port());
    let Target::Responsiveness(origin) = target.parse().unwrap() else {
        panic!("{target}");
    };
    let expected = pin(&addresses.fingerprint);
    let counts = server.counts();
    let stop = Arc::new(AtomicBool::new(false));
    let of_server = stop.clone();
    let thread = std::thread::spawn(move || server.run(&of_server, || {}).unwrap());
    let shown = introduce(&origin, Some(unbloat_loadtest::IpVersion::Four)).unwrap();
    assert_eq!(shown, Introduction::Stranger(expected));
    stop.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    assert_eq!((counts().accepted, counts().failed), (1, 0));
}

fn pin(hex: &str) -> [u8; 32] {
    std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
}

fn run(options: &Options) -> Measured {
    measure(options, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn check_loads(measured: &Measured) {
    let loads: Vec<Load> = measured.stages.iter().map(|stage| stage.load).collect();
    assert_eq!(loads, [Load::Idle, Load::Down, Load::Up, Load::Both]);
    assert!(
        measured
            .stages
            .windows(2)
            .all(|pair| pair[0].end <= pair[1].begin)
    );
    assert_eq!(measured.flows.len(), 8);
    for flow in &measured.flows {
        assert_eq!(flow.failure, None);
        assert!(measured.stages[flow.stage].load.has(flow.direction));
    }
    for direction in Direction::BOTH {
        let of_direction = measured
            .flows
            .iter()
            .filter(|flow| flow.direction == direction);
        assert!(of_direction.map(|flow| flow.bytes.as_u64()).sum::<u64>() > 0);
    }
    let probes = |kind| {
        measured
            .probes
            .iter()
            .filter(move |probe| probe.kind == kind)
    };
    for kind in [ProbeKind::Foreign, ProbeKind::SelfHttp] {
        assert!(probes(kind).any(|probe| probe.answer.is_some()), "{kind:?}");
    }
    assert!(probes(ProbeKind::Foreign).all(|probe| probe.flow.is_none()));
    assert!(probes(ProbeKind::SelfHttp).all(|probe| probe.tcp.is_none()));
    let may_ping = !measured
        .limitations
        .iter()
        .any(|one| one.starts_with("ICMP"));
    let came = probes(ProbeKind::Icmp).any(|probe| probe.answer.is_some());
    assert_eq!(came, may_ping, "{:?}", measured.limitations);
}

#[test]
fn a_test_of_our_server_sees_both_directions_from_both_ends() {
    let served = served();
    let measured = run(&served.options);
    check_loads(&measured);
    assert!(measured.server.has_account);
    let counters = [
        Counter::ClientRead,
        Counter::ServerRead,
        Counter::Acknowledged,
    ];
    for counter in counters {
        let counts = measured
            .counts
            .iter()
            .filter(|count| count.counter == counter);
        assert!(
            counts.clone().any(|count| count.bytes.as_u64() > 0),
            "{counter:?}"
        );
    }
    for side in [Side::Client, Side::Server] {
        assert!(
            measured.kernel.iter().any(|sample| sample.side == side),
            "{side:?}"
        );
    }
    let back = measured
        .echoes
        .iter()
        .filter(|echo| echo.fate == Fate::Back);
    assert!(back.clone().count() > 10 && back.clone().all(|echo| echo.added_up.is_some()));
    let findings = unbloat_loadtest::findings(&measured, Rule::DslReports);
    assert_eq!(findings.loads.len(), 3);
    let sent = |at: usize| findings.loads[at].in_flight;
    assert!(sent(0).down.is_some() && sent(1).up.is_some() && sent(0).up.is_none());
    let json = serde_json::to_value(unbloat_loadtest::document(&measured, &findings)).unwrap();
    assert_eq!(json["schema"], "unbloat.test/2");
    let schema = include_str!("../../../../docs/schema/test.json");
    let schema = serde_json::from_str(schema).unwrap();
    let violations = unbloat_testkit::violations(&schema, &json);
    assert_eq!(violations, Vec::<String>::new());
}

#[test]
fn http_1_has_tcp_s_own_round_trip_for_self_probes() {
    let mut served = served();
    served.options.http = Http::One;
    let measured = run(&served.options);
    check_loads(&measured);
    assert_eq!(measured.server.http, Some(Http::One));
}

#[test]
fn http_3_carries_load_and_probes_over_connections_of_quic() {
    let mut served = served();
    served.options.http = Http::Three;
    let measured = run(&served.options);
    check_loads(&measured);
    assert_eq!(measured.server.http, Some(Http::Three));
    let foreign = measured
        .probes
        .iter()
        .filter(|probe| probe.kind == ProbeKind::Foreign && probe.answer.is_some());
    for probe in foreign {
        // The server wants each address proved: one round trip more.
        assert_eq!((probe.tcp, probe.tls_round_trips), (None, 2));
        assert!(probe.tls.is_some());
    }
    let has = |counter| {
        let mut counts = measured.counts.iter();
        counts.any(|count| count.counter == counter && count.bytes.as_u64() > 0)
    };
    assert!(has(Counter::ClientRead) && has(Counter::ServerRead));
    assert!(measured.kernel.is_empty() && !has(Counter::Acknowledged));
    let stacks = measured.stages.iter().map(|stage| stage.stack);
    assert!(stacks.into_iter().all(|stack| stack == Stack::AsIs));
    assert!(
        measured
            .limitations
            .iter()
            .any(|one| one.contains("unsent"))
    );
}

#[test]
fn http_3_does_not_go_with_what_is_tcp_s() {
    let mut served = served();
    served.options.http = Http::Three;
    served.options.congestion_control = Some("reno".to_owned());
    let error = measure(&served.options, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, TestError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("QUIC"), "{error}");
}

#[test]
fn ndt7_is_one_connection_each_way_and_what_both_kernels_say() {
    let mut served = served();
    let port = served.options.target.to_string();
    let port = port
        .split([':', '/'])
        .find_map(|part| part.parse::<u16>().ok());
    served.options.target = format!("ndt7://localhost:{}", port.unwrap())
        .parse()
        .unwrap();
    let measured = run(&served.options);
    let loads: Vec<Load> = measured.stages.iter().map(|stage| stage.load).collect();
    assert_eq!(loads, [Load::Idle, Load::Down, Load::Up]);
    assert_eq!(measured.flows.len(), 2);
    for flow in &measured.flows {
        assert_eq!(flow.failure, None);
        assert!(flow.bytes.as_u64() > 0);
    }
    // Handshakes and nothing over them.
    let mut probes = measured.probes.iter();
    assert!(probes.any(|probe| probe.kind == ProbeKind::Foreign && probe.tcp.is_some()));
    let is_own = |probe: &Probe| probe.kind == ProbeKind::SelfHttp || probe.tls.is_some();
    assert!(!measured.probes.iter().any(is_own));
    assert!(measured.echoes.is_empty());
    for side in [Side::Client, Side::Server] {
        let mut samples = measured.kernel.iter();
        assert!(
            samples.any(|sample| sample.side == side && sample.state.rtt.is_some()),
            "{side:?}"
        );
    }
    let findings = unbloat_loadtest::findings(&measured, Rule::DslReports);
    assert_eq!(findings.loads.len(), 2);
    assert!(findings.loads.iter().all(|load| load.view.tcp.is_some()));
    let told = unbloat_loadtest::detailed_text(&measured, &findings, Layout::default());
    assert!(told.contains("--echo HOST:PORT"), "{told}");
}

#[test]
fn a_certificate_that_is_not_trusted_ends_it_with_the_way_out() {
    let mut served = served();
    served.options.trust.pin = Some([0; 32]);
    let error = measure(&served.options, &AtomicBool::new(false), &mut |_| {}).unwrap_err();
    assert!(matches!(error, TestError::Pin { .. }), "{error}");
    assert!(error.to_string().contains("--pin"), "{error}");
}

#[test]
fn without_datagrams_the_port_is_named_and_there_is_no_verdict() {
    let mut served = served();
    // It is there and says nothing, as behind a firewall.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    served.options.echo = Some(("127.0.0.1".to_owned(), port));
    let measured = run(&served.options);
    let findings = unbloat_loadtest::findings(&measured, Rule::DslReports);
    let told = unbloat_loadtest::text(&measured, &findings, Layout::default());
    let expected = format!("No verdict: UDP port {port} of the server gives no answer");
    assert!(told.starts_with(&expected), "{told}");
    assert!(!told.contains("Test against `unbloat serve`"), "{told}");
    let address = measured.server.address.unwrap();
    assert!(told.contains(&format!("server    {address}\n")), "{told}");
    assert_eq!(findings.verdict.fatal().count(), 1);
}

#[test]
fn a_stopped_test_has_what_was_seen_until_then() {
    let served = served();
    let stop = AtomicBool::new(false);
    let mut halt =
        |at: &unbloat_loadtest::Progress| stop.store(at.load == Load::Down, Ordering::Relaxed);
    let measured = measure(&served.options, &stop, &mut halt).unwrap();
    assert!(measured.is_cut);
    assert_eq!(measured.stages.len(), 2);
}

#[test]
fn a_server_that_goes_away_ends_the_test_at_once_with_what_was_seen() {
    let mut served = served();
    let lengths = [300, 1_000, 30_000, 30_000].map(Delta::ms);
    served.options.plan = Plan::of("short", Delta::ms(100), lengths, &[Stack::NetworkOnly]);
    let stop = served.stop.clone();
    let mut end_server = |at: &unbloat_loadtest::Progress| {
        let is_time = at.load == Load::Up && at.elapsed > Delta::ms(200);
        stop.fetch_or(is_time, Ordering::Relaxed);
    };
    let measured = measure(&served.options, &AtomicBool::new(false), &mut end_server).unwrap();
    let gone = measured.gone.expect("the server went away");
    assert_eq!(measured.stages.len(), 3);
    let up = &measured.stages[2];
    assert!(up.is_cut && up.begin <= gone.at && !measured.is_cut);
    let findings = unbloat_loadtest::findings(&measured, Rule::DslReports);
    assert_eq!(findings.loads.len(), 1);
    let told = unbloat_loadtest::detailed_text(&measured, &findings, Layout::default());
    assert!(told.contains("the server went away"), "{told}");
    let json = serde_json::to_string(&unbloat_loadtest::document(&measured, &findings)).unwrap();
    assert!(!json.contains("docs.rs"), "{json}");
}
