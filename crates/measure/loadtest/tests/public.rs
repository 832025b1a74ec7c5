//! Servers of others: stand-ins by their public descriptions, with what such servers do amiss; and what a path does, by its own queues.

mod stand_in;

use stand_in::{Quirk, StandIn};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use unbloat_loadtest::{
    Findings, Http, Load, Measured, Options, Origin, Plan, Rule, Stack, Target, TestError, measure,
};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host};
use unbloat_responsiveness::Kind;
use unbloat_server::Server;
use unbloat_text::Layout;
use unbloat_units::{Delta, Direction, Rate};

/// What is not in the plan of a test takes no time.
fn plan(lengths_ms: [i64; 3]) -> Plan {
    let [idle, down, up] = lengths_ms.map(Delta::ms);
    let stacks = [Stack::NetworkOnly];
    Plan::of("short", Delta::ms(500), [idle, down, up, up], &stacks)
}

fn origin(of: &StandIn, path: &str) -> Origin {
    Origin {
        host: "127.0.0.1".to_owned(),
        port: of.address.port(),
        is_tls: of.pin.is_some(),
        path: path.to_owned(),
    }
}

fn cloudflare(of: &StandIn) -> Options {
    options(of, Target::Cloudflare(origin(of, "/__down?bytes=0")))
}

fn file(of: &StandIn) -> Options {
    options(of, Target::Responsiveness(origin(of, "/large.iso")))
}

fn options(of: &StandIn, target: Target) -> Options {
    let mut options = Options::of(target);
    options.trust.pin = of.pin;
    options.address = Some(of.address.ip());
    options.plan = plan([1_000, 1_500, 1_500]);
    options
}

fn run(options: &Options) -> Result<Measured, TestError> {
    measure(options, &AtomicBool::new(false), &mut |_| {})
}

fn found(measured: &Measured) -> Findings {
    unbloat_loadtest::findings(measured, Rule::Worst)
}

fn loads(measured: &Measured) -> Vec<Load> {
    measured.stages.iter().map(|stage| stage.load).collect()
}

fn reasons(findings: &Findings) -> String {
    let doubts = findings.verdict.doubts.iter();
    let reasons: Vec<&str> = doubts.map(|doubt| &doubt.reason[..]).collect();
    reasons.join("\n")
}

fn failures(measured: &Measured) -> String {
    let flows = measured.flows.iter();
    let failures: Vec<&str> = flows.filter_map(|flow| flow.failure.as_deref()).collect();
    failures.join("\n")
}

fn both_directions_are_loaded_one_at_a_time_in_pieces_as_the_service_wants_them() {
    let server = StandIn::tls(Quirk::None, &[b"h2"]);
    let measured = run(&cloudflare(&server)).unwrap();
    assert_eq!(loads(&measured), [Load::Idle, Load::Down, Load::Up]);
    assert_eq!(failures(&measured), "");
    assert_eq!(measured.server.http, Some(Http::Two));
    for direction in Direction::BOTH {
        let of = measured
            .flows
            .iter()
            .filter(|flow| flow.direction == direction);
        assert!((4..=6).contains(&of.clone().count()));
        assert!(of.map(|flow| flow.bytes.as_u64()).sum::<u64>() > 0);
    }
    let asked = server.asked();
    let allowed = [
        "GET /__down?bytes=0",
        "GET /__down?bytes=25000000",
        "POST /__up",
    ];
    for request in &asked {
        assert!(allowed.contains(&&request[..]), "{request}");
    }
    // One to be greeted; probes of two kinds, five a second each.
    let probes = asked
        .iter()
        .filter(|request| request.ends_with("=0"))
        .count();
    assert!((10..=45).contains(&probes), "{probes}");
}

fn a_service_by_name_gets_no_session_no_token_and_one_direction_at_a_time() {
    let server = StandIn::tls(Quirk::None, &[b"h2"]);
    for (name, request) in [
        ("apple", "GET /api/v1/gm/config"),
        ("cloudflare", "GET /__down?bytes=0"),
    ] {
        let mut target: Target = name.parse().unwrap();
        if let Target::Responsiveness(origin) | Target::Cloudflare(origin) = &mut target {
            origin.port = server.address.port();
        }
        let before = server.asked().len();
        let mut options = options(&server, target);
        options.token = Some("SECRET".to_owned());
        let measured = run(&options).unwrap();
        assert_eq!(
            loads(&measured),
            [Load::Idle, Load::Down, Load::Up],
            "{name}"
        );
        assert_eq!(failures(&measured), "");
        assert!(measured.flows.iter().all(|flow| flow.bytes.as_u64() > 0));
        let asked = &server.asked()[before..];
        assert_eq!(asked[0], request);
        let is_unfit = |one: &&String| one.contains("session") || one.contains("token");
        assert_eq!(asked.iter().find(is_unfit), None);
    }
}

/// A server of ndt7, as long as `used` takes.
fn beside_ndt7<T>(used: impl FnOnce(u16) -> T) -> T {
    let server = Server::bind(&unbloat_server::Options::loopback()).unwrap();
    let (port, stop) = (server.addresses().tls.port(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| server.run(&stop, || {}).unwrap());
        let came = used(port);
        stop.store(true, Ordering::Relaxed);
        came
    })
}

/// `mlab`, as it is typed, answered by the stand-in with servers at these ports.
fn mlab(locate: &StandIn, ports: &[u16]) -> Options {
    let mut target: Target = "mlab".parse().unwrap();
    if let Target::Mlab(origin) = &mut target {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        origin.port = locate.address.port();
        origin.path = format!("{}?ports={}", origin.path, ports.join(","));
    }
    let mut options = options(locate, target);
    // Three certificates.
    options.trust.pin = None;
    options.trust.is_blind = true;
    options.token = Some("SECRET".to_owned());
    options
}

fn mlab_is_the_nearest_server_that_takes_the_test() {
    let locate = StandIn::tls(Quirk::None, &[b"h2"]);
    let [busy, busier] = [0, 0].map(|after| StandIn::tls(Quirk::Busy { after }, &[b"http/1.1"]));
    let [one, two] = [&busy, &busier].map(|server| server.address.port());
    beside_ndt7(|port| {
        let measured = run(&mlab(&locate, &[one, port, two])).unwrap();
        assert_eq!(loads(&measured), [Load::Idle, Load::Down, Load::Up]);
        assert_eq!(failures(&measured), "");
        assert_eq!(measured.server.address.unwrap().port(), port);
        for flow in &measured.flows {
            let bytes = flow.bytes.as_u64();
            assert!((1..=1_020_000_000).contains(&bytes), "{bytes}");
        }
    });
    // The one that refused was asked once, with what opens it and no token of the user's.
    let asked = busy.asked();
    let opened = "GET /ndt/v7/upload?access_token=OPENS&client_name=unbloat&client_version=";
    assert!(
        asked.len() == 1 && asked[0].starts_with(opened),
        "{asked:?}"
    );
    assert!(!asked[0].contains("with a token"), "{asked:?}");
    assert_eq!((locate.asked().len(), busier.asked().len()), (1, 0));

    let refused = run(&mlab(&locate, &[one, two])).unwrap_err().to_string();
    assert!(
        refused.contains("429") && !refused.contains("OPENS"),
        "{refused}"
    );
    assert_eq!((busy.asked().len(), busier.asked().len()), (2, 1));
}

fn a_file_is_downloaded_and_nothing_is_uploaded() {
    for (server, http) in [
        (StandIn::tls(Quirk::None, &[b"http/1.1"]), Http::One),
        (StandIn::tls(Quirk::None, &[b"h2"]), Http::Two),
        (StandIn::tls(Quirk::None, &[]), Http::One),
        (StandIn::plain(Quirk::None), Http::One),
    ] {
        let measured = run(&file(&server)).unwrap();
        assert_eq!(loads(&measured), [Load::Idle, Load::Down]);
        assert_eq!(
            (failures(&measured), measured.server.http),
            (String::new(), Some(http))
        );
        let asked = server.asked();
        let is_fit = |one: &String| ["GET /large.iso", "HEAD /large.iso"].contains(&&one[..]);
        assert!(asked.iter().all(is_fit), "{asked:?}");
    }
}

fn what_is_no_file_and_no_service_is_refused_with_a_reason() {
    for (quirk, why) in [
        (Quirk::Portal, "log in with a browser"),
        (
            Quirk::Elsewhere,
            "it redirects to http://elsewhere.example/x",
        ),
        (Quirk::Short, "too short to load a line"),
        (Quirk::Gzip, "compressed"),
        (Quirk::Busy { after: 0 }, "429"),
    ] {
        let server = StandIn::plain(quirk);
        let refused = run(&file(&server)).unwrap_err().to_string();
        assert!(refused.contains(why), "{quirk:?}: {refused}");
        assert_eq!(server.asked().len(), 1, "{quirk:?}");
    }
    for (quirk, why) in [
        (Quirk::Portal, "log in with a browser"),
        (Quirk::Elsewhere, "it redirects to"),
        (Quirk::Busy { after: 0 }, "429"),
    ] {
        let server = StandIn::plain(quirk);
        let refused = run(&cloudflare(&server)).unwrap_err().to_string();
        assert!(refused.contains(why), "{quirk:?}: {refused}");
        assert_eq!(server.asked().len(), 1, "{quirk:?}");
    }
}

fn who_answers_429_is_asked_for_nothing_more() {
    let server = StandIn::plain(Quirk::Busy { after: 8 });
    let measured = run(&cloudflare(&server)).unwrap();
    // Those that were under way when the first was refused.
    let asked = server.asked().len();
    assert!((9..=25).contains(&asked), "{asked}");
    let findings = found(&measured);
    assert!(
        reasons(&findings).contains("it answered 429; test again later"),
        "{findings:?}"
    );
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.asked().len(), asked);
}

fn bodies_of_another_length_than_was_asked_for_end_their_connection() {
    for (quirk, why, request) in [
        (Quirk::Early, "ended", "GET /__down?bytes=25000000"),
        (
            Quirk::Endless,
            "more than the 25000000 bytes",
            "GET /__down?bytes=25000000",
        ),
        (
            Quirk::Unread,
            "answered before it had the data",
            "POST /__up",
        ),
    ] {
        let server = StandIn::plain(quirk);
        let measured = run(&cloudflare(&server)).unwrap();
        let failures = failures(&measured);
        assert!(failures.contains(why), "{quirk:?}: {failures}");
        // None is asked for again.
        let asked = server.asked();
        let asked = asked.iter().filter(|one| *one == request).count();
        assert!((1..=6).contains(&asked), "{quirk:?}: {asked}");
    }
}

fn no_more_is_carried_than_was_said() {
    let server = StandIn::plain(Quirk::None);
    let mut options = cloudflare(&server);
    // A loopback of any speed carries the bound long before.
    options.plan = plan([300, 120_000, 120_000]);
    let measured = run(&options).unwrap();
    for direction in Direction::BOTH {
        let of = measured
            .flows
            .iter()
            .filter(|flow| flow.direction == direction);
        let bytes: u64 = of.map(|flow| flow.bytes.as_u64()).sum();
        assert!(
            (900_000_000..=1_000_000_000).contains(&bytes),
            "{direction:?} {bytes}"
        );
    }
    let told = measured.limitations.join("\n");
    assert!(told.contains("it had carried 1.00 GB"), "{told}");
}

const DOWN: Rate = Rate::mbps(20);
const UP: Rate = Rate::mbps(5);

/// Client, router, server. Packets wait for the router's link of each direction in a buffer of so many bytes.
fn path(bed: &Bed, buffer_bytes: u32) -> [Host; 3] {
    let hosts = ["client", "router", "server"].map(|role| bed.host(role).unwrap());
    let [client, router, server] = &hosts;
    router.forward().unwrap();
    let sides = [
        (client, "left", "10.46.1.1", "10.46.1.2", DOWN),
        (server, "right", "10.46.2.1", "10.46.2.2", UP),
    ];
    for (host, device, address, gateway, rate) in sides {
        host.veth("eth0", router, device).unwrap();
        host.address("eth0", format!("{address}/24").parse().unwrap())
            .unwrap();
        router
            .address(device, format!("{gateway}/24").parse().unwrap())
            .unwrap();
        host.offloads_off("eth0").unwrap();
        router.offloads_off(device).unwrap();
        let buffer = format!("bfifo limit {buffer_bytes}");
        router
            .bottleneck(device, &buffer, rate, Framing::default())
            .unwrap();
        let route = format!("route add 10.46.0.0/16 via {gateway} congctl cubic");
        let mut command: Command = host.command("ip").unwrap();
        assert!(command.args(route.split(' ')).status().unwrap().success());
    }
    hosts
}

/// By the wall clock in nanoseconds: how long a packet waits in each direction.
type Waits = Vec<(i64, [f64; 2])>;

/// Runs a test over the path, and reads its queues meanwhile.
fn over([client, router, _]: &[Host; 3], options: &Options) -> (Measured, Waits) {
    let waits = Mutex::new(Waits::new());
    let stop = AtomicBool::new(false);
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                let wait = [("left", DOWN), ("right", UP)].map(|(device, rate)| {
                    let backlog = router.queue_counters(device).unwrap().backlog_bytes;
                    f64::from(backlog) * 8e3 / rate.as_bps_f64()
                });
                waits.lock().unwrap().push((now.as_nanos() as i64, wait));
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let measured = client.within(|| run(options)).unwrap();
        stop.store(true, Ordering::Relaxed);
        measured.unwrap()
    });
    (measured, waits.into_inner().unwrap())
}

/// Of the queue of a direction while it is judged, ms.
fn truth(waits: &Waits, measured: &Measured, findings: &Findings, way: Direction) -> [f64; 2] {
    let judged = findings.of(way).unwrap();
    let at = |time: unbloat_units::Time| measured.begun_ns + time.as_ns();
    let span = at(judged.from)..at(judged.to);
    let within = waits.iter().filter(|(time, _)| span.contains(time));
    let mut of: Vec<f64> = within
        .map(|(_, both)| both[usize::from(way == Direction::Up)])
        .collect();
    assert!(of.len() > 100, "{}", of.len());
    of.sort_by(f64::total_cmp);
    [0.5, 0.95].map(|q| of[((of.len() - 1) as f64 * q) as usize])
}

fn long(server: &StandIn, target: fn(&StandIn) -> Options) -> Options {
    let mut options = target(server);
    options.plan = plan([3_000, 8_000, 8_000]);
    options.plan.interval = Delta::secs(1);
    options
}

/// Every round trip beside what the router's queues were at that time.
fn added_delay_is_that_of_the_queues_of_the_path() {
    let bed = Bed::new().unwrap();
    let hosts = path(&bed, 150_000);
    let listener = hosts[2].within(|| StandIn::listener("10.46.2.1")).unwrap();
    let server = StandIn::serve(listener, Quirk::None, None);
    let (measured, waits) = over(&hosts, &long(&server, cloudflare));
    let findings = found(&measured);
    let details = unbloat_loadtest::detailed_text(&measured, &findings, Layout::default());
    for way in Direction::BOTH {
        let added = findings
            .of(way)
            .and_then(|load| load.added_rtt)
            .expect(&details);
        let told = [added.p50, added.p95].map(|estimate| estimate.value.as_ms());
        let known = truth(&waits, &measured, &findings, way);
        println!("{way:?}: p50, p95 said {told:.1?} ms, is {known:.1?} ms");
        for (said, is) in told.into_iter().zip(known) {
            let allowed = (0.05 * is).max(5.0);
            assert!(
                (said - is).abs() <= allowed,
                "{way:?} {said} {is}\n{details}"
            );
        }
    }
    assert_eq!(findings.verdict.kind, Kind::Bloated, "{details}");
    assert!(details.contains("Uploads add 2"), "{details}");
    assert!(!details.contains("High"), "{details}");
}

fn a_slow_server_on_a_clean_line_is_no_bufferbloat() {
    let bed = Bed::new().unwrap();
    let hosts = path(&bed, 8_000);
    let listener = hosts[2].within(|| StandIn::listener("10.46.2.1")).unwrap();
    let server = StandIn::serve(listener, Quirk::Slow, None);
    let (measured, _) = over(&hosts, &long(&server, file));
    let findings = found(&measured);
    let told = reasons(&findings);
    assert_eq!(
        findings.verdict.kind,
        Kind::Clean,
        "{} {told}",
        findings.verdict.headline
    );
    assert!(
        told.contains("the server is slow, not the network"),
        "{told}"
    );
}

/// Without ICMP there are two probes; that both say the same is enough.
fn a_server_that_answers_no_icmp_is_judged_by_handshakes() {
    let bed = Bed::new().unwrap();
    let hosts = path(&bed, 150_000);
    hosts[2].set("net/ipv4/icmp_echo_ignore_all", "1").unwrap();
    let listener = hosts[2].within(|| StandIn::listener("10.46.2.1")).unwrap();
    let server = StandIn::serve(listener, Quirk::None, None);
    let (measured, waits) = over(&hosts, &long(&server, file));
    let findings = found(&measured);
    let told = reasons(&findings);
    assert!(told.contains("that of TCP handshakes"), "{told}");
    let way = Direction::Down;
    let said = findings
        .of(way)
        .unwrap()
        .added_rtt
        .unwrap()
        .p50
        .value
        .as_ms();
    let [is, _] = truth(&waits, &measured, &findings, way);
    assert!((said - is).abs() <= (0.1 * is).max(5.0), "{said} {is}");
}

unbloat_testkit::main! {
    always() => [
        both_directions_are_loaded_one_at_a_time_in_pieces_as_the_service_wants_them,
        a_service_by_name_gets_no_session_no_token_and_one_direction_at_a_time,
        mlab_is_the_nearest_server_that_takes_the_test,
        a_file_is_downloaded_and_nothing_is_uploaded,
        what_is_no_file_and_no_service_is_refused_with_a_reason,
        who_answers_429_is_asked_for_nothing_more,
        bodies_of_another_length_than_was_asked_for_end_their_connection,
        no_more_is_carried_than_was_said,
    ],
    root("a bed").and(tools(&["ip"])) => [
        added_delay_is_that_of_the_queues_of_the_path,
        a_slow_server_on_a_clean_line_is_no_bufferbloat,
        a_server_that_answers_no_icmp_is_judged_by_handshakes,
    ],
}
