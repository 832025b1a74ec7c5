//! Workloads between two addresses of this machine.

use fastrand::Rng;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU8, Ordering};
use unbloat_os::clock::{Clock, monotonic};
use unbloat_os::tcp_info::TcpInfo;
use unbloat_units::{Bytes, Delta, Direction, Time};
use unbloat_workload::{Config, Conn, Metric, NAMES, Workload};
use unbloat_workload_host::{
    ConnectionEnd, FlowReport, Plan, Report, Settings, Site, Tcp, Traffic, Watch,
};

/// Tests run side by side: each has addresses of its own.
fn sites() -> Vec<Site> {
    static USED: AtomicU8 = AtomicU8::new(1);
    let net = USED.fetch_add(1, Ordering::Relaxed);
    let site = |host| Site {
        namespace: None,
        address: Ipv4Addr::new(127, 45, net, host),
    };
    vec![site(1), site(2)]
}

fn config(name: &str, params: &str) -> Config {
    let params: serde_json::Value = serde_json::from_str(params).unwrap();
    Config::read(name, params).unwrap().unwrap()
}

fn plan(workload: Config) -> Plan {
    Plan {
        name: workload.name().to_owned(),
        workload,
        counts_from: Time::from_ns(0),
        start: Time::from_ns(0),
        stop: None,
        client: 0,
        server: 1,
        dscp: 0,
        rng: Rng::with_seed(1),
        tcp: [Tcp::default(), Tcp::default()],
    }
}

#[derive(Default)]
struct Seen {
    samples: u64,
    /// Bytes received by server and client over all connections that ended.
    received: [u64; 2],
    ended: u64,
}

impl Watch for Seen {
    fn sample(&mut self, _at: Time, _flow: u32, _id: u32, _sender: Direction, info: &TcpInfo) {
        assert!(info.cwnd() > Bytes::ZERO);
        self.samples += 1;
    }

    fn ended(&mut self, _at: Time, _flow: u32, _conn: Conn, closed: &ConnectionEnd) {
        self.ended += 1;
        for (sum, end) in self.received.iter_mut().zip(&closed.ends) {
            *sum += end.as_ref().map_or(0, |info| info.received().as_u64());
        }
    }
}

fn run(plans: Vec<Plan>, duration: Delta) -> (Report, Seen) {
    let mut seen = Seen::default();
    let traffic = Traffic::new(plans, sites(), Settings::new(duration)).unwrap();
    let report = traffic.run(Clock::from(monotonic()), &mut seen).unwrap();
    (report, seen)
}

fn metric(flow: &FlowReport, name: &str, end: Time) -> f64 {
    let metrics = flow.workload.metrics(Time::from_ns(0), end);
    let found = metrics.iter().find(|metric: &&Metric| metric.name == name);
    found
        .unwrap_or_else(|| panic!("{name} among {metrics:?}"))
        .value
}

#[test]
fn a_finite_transfer_is_done_to_the_byte_in_both_directions() {
    // At the server, where the client's FIN counts as one, then at the client.
    for (direction, received) in [("down", [301, 5_000_000]), ("up", [5_000_001, 0])] {
        let params = format!("{{\"direction\": \"{direction}\", \"size\": \"5 MB\"}}");
        let (report, seen) = run(vec![plan(config("finite", &params))], Delta::ms(300));
        assert_eq!(seen.received, received, "{direction}");
        assert_eq!(report.flows[0].connections, 1);
        assert_eq!(report.flows[0].failed, 0);
        assert!(!report.is_cut);
    }
}

/// Clients' ports are the kernel's choice, which gives one port to connections to several servers: of so many flows, in all but one run of
/// hundreds some pair shares one.
#[test]
fn flows_whose_clients_have_the_same_port_are_told_apart() {
    const FLOWS: usize = 240;
    for _ in 0..2 {
        let params = r#"{"direction": "down", "size": "10 kB"}"#;
        let plans = (0..FLOWS).map(|_| plan(config("finite", params)));
        let (report, seen) = run(plans.collect(), Delta::ms(500));
        let is_whole = |flow: &FlowReport| flow.connections == 1 && flow.failed == 0;
        assert!(report.flows.iter().all(is_whole));
        assert_eq!(seen.received, [301, 10_000].map(|each| each * FLOWS as u64));
    }
}

#[test]
fn a_page_loads_over_its_connections_and_closes_them() {
    let params =
        r#"{"levels": [1, 9, 12], "object_size": "30 kB", "connections": 6, "pause": "20 ms"}"#;
    let (report, seen) = run(vec![plan(config("page", params))], Delta::secs(1));
    let flow = &report.flows[0];
    // The end of the run may come while the last page still opens its connections.
    let mut loaded = 0;
    let mut count = |name, _, _| loaded += u64::from(name == "page_load");
    flow.workload.each_time(&mut count);
    let has_more = metric(flow, "unfinished", report.end) > 0.0;
    let possible = 6 * loaded..=6 * (loaded + u64::from(has_more));
    assert!(
        loaded >= 1 && possible.contains(&flow.connections),
        "{} connections for {loaded} pages",
        flow.connections
    );
    assert_eq!(flow.failed, 0);
    assert_eq!(seen.ended, flow.connections);
}

#[test]
fn pings_come_back_and_calls_are_heard() {
    let plans = vec![
        plan(config("ping", r#"{"every": "5 ms"}"#)),
        plan(config("voice", "{}")),
        plan(config(
            "onoff",
            r#"{"rate": "4 Mbit/s", "size": "1000 B", "direction": "up"}"#,
        )),
    ];
    let (report, _) = run(plans, Delta::ms(500));
    let [ping, voice, onoff] = &report.flows[..] else {
        panic!("three flows")
    };
    assert!(metric(ping, "unanswered", report.end) <= 1.0);
    assert!(metric(ping, "rtt_p50_ms", report.end) < 2.0);
    assert!(metric(voice, "mos", report.end) > 4.0);
    // 250 are expected in half a second, standard deviation 16; lateness must not thin them out.
    let sent = metric(onoff, "sent", report.end);
    assert!((180.0..320.0).contains(&sent), "{sent}");
    assert!(sent - metric(onoff, "arrived", report.end) <= 1.0);
}

#[test]
fn a_bulk_transfer_fills_the_loopback_and_is_sampled() {
    let (report, seen) = run(vec![plan(config("bulk", "{}"))], Delta::ms(500));
    let goodput = metric(&report.flows[0], "goodput_bps", report.end);
    assert!(goodput > 1e9, "{goodput}");
    assert!((10..=51).contains(&seen.samples), "{}", seen.samples);
}

#[test]
fn a_user_who_leaves_takes_the_connections_along() {
    let mut leaver = plan(config("bulk", r#"{"direction": "up"}"#));
    leaver.stop = Some(Time::from_ns(0) + Delta::ms(100));
    let (report, seen) = run(vec![leaver], Delta::ms(200));
    assert_eq!(seen.ended, 1);
    assert!(!report.is_cut && report.end >= Time::from_ns(0) + Delta::ms(200));
}

#[test]
fn every_workload_runs_beside_every_other() {
    let plans: Vec<_> = NAMES.iter().map(|name| plan(config(name, "{}"))).collect();
    let (report, _) = run(plans, Delta::ms(400));
    for (flow, name) in report.flows.iter().zip(NAMES) {
        assert_eq!((flow.failed, flow.unsent), (0, 0), "{name}");
    }
}

#[test]
fn an_unknown_congestion_control_is_a_fault_that_names_the_flow() {
    let mut odd = plan(config("bulk", "{}"));
    odd.tcp[0].congestion_control = Some("nosuch".to_owned());
    let traffic = Traffic::new(vec![odd], sites(), Settings::new(Delta::ms(100))).unwrap();
    let fault = traffic.run(Clock::from(monotonic()), &mut Seen::default());
    let text = fault
        .err()
        .map(|fault| fault.to_string())
        .unwrap_or_default();
    assert!(text.contains("bulk"), "{text}");
}
