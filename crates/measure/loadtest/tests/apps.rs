//! Every application, against a server of ours on the loopback device. Nothing here asserts how fast.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unbloat_loadtest::apps::{App, AppReport, Apps, SUPPORTED, Server};

/// A server that ends with its test.
struct Served {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    server: Server,
}

impl Served {
    fn begin(options: &unbloat_server::Options) -> Served {
        let bound = unbloat_server::Server::bind(options).unwrap();
        let addresses = bound.addresses().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || bound.run(&stopped, || {}).unwrap());
        let server = Server {
            address: addresses.plain.unwrap(),
            host: "localhost".to_owned(),
            tls: None,
            token: None,
            echo: addresses.echo,
        };
        Served {
            stop,
            thread: Some(thread),
            server,
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn run_for(server: &Server, names: &str, span: Duration) -> Vec<AppReport> {
    let apps = Apps::start(server, &App::list(names).unwrap(), 1).unwrap();
    std::thread::sleep(span);
    apps.finish()
}

fn value(report: &AppReport, name: &str) -> f64 {
    let found = report.metrics.iter().find(|metric| metric.name == name);
    found
        .unwrap_or_else(|| panic!("{name} of {report:?}"))
        .value
}

#[test]
fn every_application_says_how_it_went() {
    let served = Served::begin(&unbloat_server::Options::loopback());
    let reports = run_for(&served.server, &SUPPORTED.join(","), Duration::from_secs(4));
    let kinds: Vec<_> = reports.iter().map(|report| report.kind).collect();
    assert_eq!(kinds, SUPPORTED);
    for report in &reports {
        assert_eq!(
            (report.failed, &report.notes[..]),
            (0, &[][..]),
            "{report:?}"
        );
    }
    let [finite, web, page, ranges, video, voice, game, ping] = &reports[..] else {
        panic!("eight of them");
    };
    assert!(value(finite, "completion_ms") > 0.0);
    assert!(value(web, "load_time_p50_ms") > 0.0 && web.connections >= 1);
    assert!(value(page, "page_load_p50_ms") > 0.0 && page.connections == 6);
    assert!(value(ranges, "fetch_p50_ms") > 0.0);
    assert!(value(video, "startup_ms") > 0.0);
    assert!((1.0..=4.5).contains(&value(voice, "mos")));
    assert!(value(game, "lag_up_p50_ms") < 1_000.0 && value(game, "lag_down_p50_ms") >= 0.0);
    assert!(value(ping, "rtt_p50_ms") > 0.0);
    assert!(value(ping, "unanswered") <= 5.0, "{ping:?}");
}

#[test]
fn what_cannot_be_reached_is_a_note_and_no_wait_without_end() {
    let closed = SocketAddr::from(([127, 0, 0, 1], 9));
    let server = Server {
        address: closed,
        host: "localhost".to_owned(),
        tls: None,
        token: None,
        echo: None,
    };
    let begin = Instant::now();
    let reports = run_for(&server, "page,voice", Duration::from_millis(300));
    assert!(begin.elapsed() < Duration::from_secs(10));
    let [page, voice] = &reports[..] else {
        panic!("two of them");
    };
    assert!(
        page.failed > 0 && page.notes[0].contains("refused"),
        "{page:?}"
    );
    assert!(
        voice.notes[0].contains("does not echo datagrams"),
        "{voice:?}"
    );
}

#[test]
fn a_token_opens_both_the_paths_and_the_echo() {
    let mut options = unbloat_server::Options::loopback();
    options.tokens = vec!["secret".to_owned()];
    let served = Served::begin(&options);
    let [stranger] = &run_for(&served.server, "web", Duration::from_secs(3))[..] else {
        panic!("one of them");
    };
    assert!(
        stranger.failed > 0 && stranger.notes[0].contains("401"),
        "{stranger:?}"
    );
    let server = Server {
        token: Some("secret".to_owned()),
        ..served.server.clone()
    };
    let reports = run_for(&server, "finite,voice", Duration::from_secs(2));
    assert!(value(&reports[0], "completion_ms") > 0.0);
    assert!(value(&reports[1], "mos") > 1.0);
}
