//! What a person sees, drawn into memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use unbloat_experiment::outcome::{FlowSnapshot, LatenessSnapshot, Outcomes, PathSnapshot};
use unbloat_experiment::scenario::toml::Node;
use unbloat_tui::{Live, LiveView, Snapshot, draw};
use unbloat_units::{Both, Bytes, Delta, Direction, Time};

fn frame(live: &Live, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(live, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    let rows: Vec<String> = (0..height).map(|y| row(y).trim_end().to_owned()).collect();
    rows.join("\n")
}

fn snapshot(tenths: i64, flows: usize) -> Snapshot {
    let seconds = tenths as u64;
    let path = |share: u64| PathSnapshot {
        backlog_bytes: Bytes::new(9_000 * seconds / share),
        backlog_packets: 6 * seconds / share,
        wait: Some(Delta::ms(3 * tenths)),
        delivered_bytes: Bytes::new(250_000 * seconds / share),
        drops: seconds / 40,
        marks: 0,
    };
    let flow = |n: usize| FlowSnapshot {
        name: format!("flow-{n}"),
        connections: 1,
        cwnd_bytes: Some(Bytes::new(150_000)),
        in_flight_bytes: Some(Bytes::new(140_000)),
        srtt: Some(Delta::ms(42)),
        delivered_bytes: Bytes::new(240_000 * seconds),
        retransmissions: 7,
    };
    Snapshot {
        at: Time::from_ns(tenths * 100_000_000),
        duration: Some(Delta::secs(60)),
        paths: Both::new(path(1), path(20)),
        flows: (0..flows).map(flow).collect(),
        lateness: Some(LatenessSnapshot {
            p50: Delta::ns(4_200),
            p99: Delta::ns(23_400),
            max: Delta::ns(104_000),
            is_too_late: false,
        }),
    }
}

fn watched(flows: usize) -> Live {
    let mut live = Live::new("bulk-and-call");
    (1..=100).for_each(|tenths| live.take(snapshot(tenths, flows)));
    live
}

/// The frame of 80 columns and 24 rows as stored; UNBLOAT_BLESS=1 stores it anew.
#[test]
fn everything_fits_an_old_terminal() {
    let drawn = frame(&watched(3), 80, 24);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/80x24.txt");
    if std::env::var_os("UNBLOAT_BLESS").is_some() {
        std::fs::write(path, format!("{drawn}\n")).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored.trim_end() == drawn.trim_end(),
        "drawn otherwise than {path}:\n{drawn}"
    );
}

#[test]
fn flows_that_do_not_fit_are_counted() {
    let drawn = frame(&watched(50), 80, 24);
    assert!(
        drawn.contains("flow-0 ") && drawn.contains("and 40 more"),
        "{drawn}"
    );
}

#[test]
fn a_narrow_terminal_shows_fewer_columns_and_cuts_none() {
    let drawn = frame(&watched(3), 60, 40);
    assert!(
        drawn.contains("flow-0") && drawn.contains("srtt"),
        "{drawn}"
    );
    assert!(
        drawn.contains("retransmits") && !drawn.contains("conns"),
        "{drawn}"
    );
    assert!(drawn.contains("end the run"), "{drawn}");
}

#[test]
fn keys_pause_and_explain_and_end() {
    let mut view = LiveView::new("bulk");
    view.take(snapshot(10, 1));
    let shown = |seen: &LiveView| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| seen.draw(frame)).unwrap();
        terminal.backend().to_string()
    };
    assert!(!view.press(KeyCode::Char(' ').into()));
    let paused = shown(&view);
    view.take(snapshot(20, 1));
    assert!(
        paused.contains("PAUSED") && shown(&view) == paused,
        "{paused}"
    );
    view.press(KeyCode::Char('p').into());
    assert!(shown(&view).contains("2.0 s of 60 s"));
    view.press(KeyCode::Char('?').into());
    assert!(shown(&view).contains("95 of 100 waits"));
    view.press(KeyCode::Esc.into());
    assert!(!shown(&view).contains("95 of 100 waits"));
    assert!(view.press(KeyCode::Char('q').into()));
}

#[test]
fn no_terminal_is_too_small_or_too_large() {
    let mut live = watched(5);
    for (width, height) in [(1, 1), (5, 3), (20, 10), (60, 40), (79, 24), (300, 100)] {
        frame(&live, width, height);
        frame(&Live::new(""), width, height);
    }
    live.take(Snapshot {
        at: Time::MAX,
        duration: Some(Delta::ZERO),
        paths: Both::of(|_| PathSnapshot {
            backlog_bytes: Bytes::new(u64::MAX),
            delivered_bytes: Bytes::new(u64::MAX),
            wait: Some(Delta::MAX),
            drops: u64::MAX,
            ..PathSnapshot::default()
        }),
        ..Snapshot::default()
    });
    frame(&live, 80, 24);
}

#[test]
fn a_run_that_is_too_late_says_so_and_names_cannot_steer_the_terminal() {
    let mut live = Live::new("evil\u{1b}[2J");
    let mut seen = snapshot(10, 1);
    seen.flows[0].name = "a\u{7}b\nc".into();
    seen.lateness = seen.lateness.map(|late| LatenessSnapshot {
        is_too_late: true,
        ..late
    });
    live.take(seen);
    let drawn = frame(&live, 100, 30);
    assert!(drawn.contains("NOT TRUSTWORTHY"), "{drawn}");
    assert!(!drawn.contains(['\u{1b}', '\u{7}']), "{drawn}");
}

/// Until a bed fills snapshots, a simulation's series do.
fn snapshots(outcomes: &Outcomes) -> Vec<Snapshot> {
    let of = |sample: &unbloat_experiment::outcome::Sample| {
        let path = |direction: Direction| PathSnapshot {
            backlog_bytes: sample.queue_bytes[direction],
            backlog_packets: u64::from(sample.queue_packets[direction]),
            ..PathSnapshot::default()
        };
        let flows = outcomes.flows.iter().zip(0..).map(|(flow, number)| {
            let newest = outcomes
                .windows
                .iter()
                .rfind(|window| window.flow == number && window.at <= sample.at);
            FlowSnapshot {
                name: flow.name.clone(),
                connections: u64::from(newest.is_some()),
                cwnd_bytes: newest.map(|window| window.cwnd_bytes),
                in_flight_bytes: newest.map(|window| window.in_flight_bytes),
                srtt: newest.map(|window| window.srtt),
                ..FlowSnapshot::default()
            }
        });
        Snapshot {
            at: sample.at,
            duration: Some(Delta::secs(5)),
            paths: Both::of(path),
            flows: flows.collect(),
            lateness: None,
        }
    };
    outcomes.samples.iter().map(of).collect()
}

#[test]
fn a_simulation_can_be_watched() {
    let text = "
        [scenario]
        name = \"watched\"
        duration = \"5 s\"
        [link.down]
        rate = \"10 Mbit/s\"
        delay = \"20 ms\"
        queue = { kind = \"droptail\", limit = \"200 kB\" }
        [link.up]
        rate = \"2 Mbit/s\"
        delay = \"20 ms\"
        [[flow]]
        name = \"download\"
        app = \"bulk\"";
    let scenario = Node::parse(text).unwrap();
    let experiment =
        unbloat_experiment::scenario::build(&scenario, &|_| Err("no files".into())).unwrap();
    let outcomes = unbloat_sim::run(&experiment);
    let mut live = Live::new("watched");
    snapshots(&outcomes)
        .into_iter()
        .for_each(|seen| live.take(seen));
    let drawn = frame(&live, 80, 24);
    assert!(
        drawn.contains("download") && drawn.contains("5.0 s of 5 s, 0 s left"),
        "{drawn}"
    );
    assert!(
        live.backlogs(Direction::Down)
            .iter()
            .any(|bytes| *bytes > 100_000)
    );
}
