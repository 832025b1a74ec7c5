//! One frame.

use crate::host::HostLive;
use crate::view::{bytes, per_second, printable, span};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use std::collections::VecDeque;
use unbloat_units::Delta;
use unbloat_watch::{FlowLayers, InterfaceLayers, Layer, Wait};

/// Devices that are shown at most, so that flows have room.
const MOST_INTERFACES: usize = 8;

/// Curves that stay below this are drawn flat.
const CURVE_FLOOR: Delta = Delta::ms(10);

/// From here on a layer's wait is drawn in red: a conversation notices it.
const LONG: Delta = Delta::ms(100);

const INTERFACES: [(&str, u16); 8] = [
    ("device", 10),
    ("queue", 10),
    ("backlog", 9),
    ("T_Q", 8),
    ("T_D", 8),
    ("out", 12),
    ("drops", 6),
    ("T_Q so far", 16),
];

const FLOWS: [(&str, u16); 10] = [
    ("flow", 30),
    ("device", 7),
    ("socket", 8),
    ("T_Q", 8),
    ("T_D", 8),
    ("below", 8),
    ("RTT_Q", 8),
    ("out", 12),
    ("acked", 12),
    ("total so far", 12),
];

/// Columns of flows that narrow terminals do without, the first ones last.
const SPARED: [&str; 5] = ["total so far", "device", "acked", "RTT_Q", "T_D"];

/// Draws what is seen now: devices, then flows, longest wait first.
pub fn draw_host(live: &HostLive, frame: &mut Frame<'_>) {
    let interfaces = live.now().interfaces.len().min(MOST_INTERFACES) as u16;
    let [head, devices, _, flows, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(interfaces + 1),
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(header(live), head);
    interface_table(live, devices, frame);
    flow_table(live, flows, frame);
    let foot_text = "~ estimated   - unknown   below: longer than ever behind the driver   q ends";
    frame.render_widget(Line::from(foot_text.dark_gray()), foot);
}

fn header(live: &HostLive) -> Paragraph<'static> {
    let mut spans = vec![Span::from(printable(live.title())).bold()];
    if live.now().span == Delta::ZERO {
        spans.push("   looking ...".dark_gray());
    }
    if let Some(why) = live.estimated() {
        let text = format!("   ESTIMATED: {}", printable(why));
        spans.push(Span::styled(text, Style::new().fg(Color::Yellow)));
    }
    Paragraph::new(Line::from(spans))
}

fn interface_table(live: &HostLive, area: Rect, frame: &mut Frame<'_>) {
    let row = |seen: &InterfaceLayers| {
        let queue = seen.queue.as_ref();
        let drops = seen.dropped + queue.map_or(0, |queue| queue.dropped);
        Row::new([
            Cell::from(printable(&seen.name)),
            Cell::from(queue.map_or("-".to_owned(), |queue| printable(&queue.kind))),
            right(bytes(queue.map(|queue| queue.backlog))),
            right(wait(seen.qdisc.as_ref())),
            right(wait(seen.driver.as_ref())),
            right(per_second(seen.rates.left.or(seen.rates.done))),
            right(drops.to_string()),
            Cell::from(curve(live.of_interface(seen.index), INTERFACES[7].1)),
        ])
    };
    let rows = live.now().interfaces.iter().take(MOST_INTERFACES).map(row);
    let widths = INTERFACES.map(|(_, width)| Constraint::Length(width));
    let head = INTERFACES
        .iter()
        .enumerate()
        .map(|(at, (name, _))| match at {
            0 | 1 | 7 => Cell::from(*name),
            _ => right((*name).to_owned()),
        });
    let head = Row::new(head).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
}

/// As many flows as fit, and how many do not; on narrow terminals fewer columns.
fn flow_table(live: &HostLive, area: Rect, frame: &mut Frame<'_>) {
    let columns = columns(area.width);
    let flows = &live.now().flows;
    let room = usize::from(area.height.saturating_sub(1));
    let more = live.now().more_flows + flows.len().saturating_sub(room) as u64;
    let shown = if more > 0 {
        room.saturating_sub(1)
    } else {
        flows.len()
    };
    let mut rows: Vec<Row<'_>> = flows
        .iter()
        .take(shown)
        .map(|flow| Row::new(columns.iter().map(|(name, _)| cell(live, flow, name))))
        .collect();
    if more > 0 {
        let hidden = flows.len() - shown.min(flows.len());
        rows.push(Row::new([format!(
            "and {} more",
            hidden as u64 + live.now().more_flows
        )]));
    }
    let widths = columns.iter().map(|(name, width)| match *name {
        "flow" => Constraint::Min(*width),
        _ => Constraint::Length(*width),
    });
    let head = columns.iter().map(|(name, _)| match *name {
        "flow" | "device" | "total so far" => Cell::from(*name),
        _ => right((*name).to_owned()),
    });
    let head = Row::new(head).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
}

fn columns(room: u16) -> Vec<(&'static str, u16)> {
    let mut columns = FLOWS.to_vec();
    for spared in SPARED {
        let needed: u16 = columns.iter().map(|(_, width)| width + 1).sum();
        if needed <= room.saturating_add(1) {
            break;
        }
        columns.retain(|(name, _)| *name != spared);
    }
    columns
}

fn cell(live: &HostLive, flow: &FlowLayers, column: &str) -> Cell<'static> {
    match column {
        "flow" => Cell::from(name(flow)),
        "device" => Cell::from(printable(flow.interface.as_deref().unwrap_or("-"))),
        "socket" => layer(flow, Layer::Socket, false),
        "T_Q" => layer(flow, Layer::Qdisc, is_estimated(flow.qdisc.as_ref())),
        "T_D" => layer(flow, Layer::Driver, is_estimated(flow.driver.as_ref())),
        "below" => layer(
            flow,
            Layer::Below,
            is_estimated(flow.round_trip.rtt_f.as_ref()),
        ),
        "RTT_Q" => right(wait(flow.round_trip.rtt_q.as_ref())),
        "out" => right(per_second(flow.rates.left.or(flow.rates.sent))),
        "acked" => right(per_second(flow.rates.acknowledged)),
        _ => Cell::from(curve(
            live.of_flow(flow.flow, flow.interface.as_deref()),
            12,
        )),
    }
}

/// The layer's wait, emphasised where it is the longest of the flow's.
fn layer(flow: &FlowLayers, which: Layer, is_estimated: bool) -> Cell<'static> {
    let Some(delay) = flow.delay(which) else {
        return right("-".to_owned());
    };
    let text = format!("{}{}", if is_estimated { "~" } else { "" }, span(delay));
    let is_worst = flow.worst().is_some_and(|(worst, _)| worst == which);
    let style = match (is_worst, delay >= LONG) {
        (true, true) => Style::new().fg(Color::Red).bold(),
        (true, false) => Style::new().bold(),
        _ => Style::new(),
    };
    right(text).style(style)
}

fn name(flow: &FlowLayers) -> String {
    let process = flow
        .process
        .as_ref()
        .map(|process| format!("{} ", process.name));
    printable(&format!(
        "{}{} {}",
        process.unwrap_or_default(),
        flow.flow.protocol,
        flow.flow.to
    ))
}

fn is_estimated(wait: Option<&Wait>) -> bool {
    matches!(wait, Some(Wait::Estimated(_)))
}

fn wait(wait: Option<&Wait>) -> String {
    match wait {
        None => "-".to_owned(),
        Some(Wait::Estimated(delta)) => format!("~{}", span(*delta)),
        Some(Wait::Measured(spread)) => span(spread.mean),
    }
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).alignment(Alignment::Right))
}

/// The newest waits that fit, the newest at the right, against the longest of them.
fn curve(waits: Option<&VecDeque<Delta>>, width: u16) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(waits) = waits else {
        return String::new();
    };
    let width = usize::from(width);
    let shown = waits.iter().skip(waits.len().saturating_sub(width));
    let most = shown
        .clone()
        .copied()
        .max()
        .unwrap_or(CURVE_FLOOR)
        .max(CURVE_FLOOR);
    let step = |wait: &Delta| {
        let share = wait.as_ns() as f64 / most.as_ns() as f64;
        STEPS[((share * 7.0).round() as usize).min(7)]
    };
    let drawn: String = shown.map(step).collect();
    let blank = width.saturating_sub(waits.len());
    format!("{}{drawn}", " ".repeat(blank))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use unbloat_units::{Bytes, Rate, Time};
    use unbloat_watch::layers::{QueueLayer, Rates, RoundTrip, SocketLayer};
    use unbloat_watch::{Flow, Layers, Process, Protocol, Spread};

    fn measured(ms: i64) -> Option<Wait> {
        Some(Wait::Measured(Spread {
            count: 100,
            mean: Delta::ms(ms),
            p50: Delta::ms(ms),
            p95: Delta::ms(2 * ms),
            p99: Delta::ms(3 * ms),
        }))
    }

    /// One flow behind a bucket.
    pub(crate) fn example() -> Layers {
        let rates = Rates {
            left: Some(Rate::mbps(20)),
            ..Rates::default()
        };
        let flow = FlowLayers {
            flow: Flow {
                protocol: Protocol::TCP,
                from: "[fd00::1]:40000".parse().unwrap(),
                to: "[fd00::2]:443".parse().unwrap(),
            },
            interface: Some("wan0".to_owned()),
            process: Some(Process {
                pid: 7,
                name: "evil\n".to_owned(),
            }),
            socket: Some(SocketLayer {
                unsent: Bytes::new(50_000),
                wait: Some(Delta::ms(20)),
                in_flight: Bytes::new(200_000),
                cwnd: Bytes::new(210_000),
                retransmissions: 3,
            }),
            qdisc: measured(80),
            driver: None,
            round_trip: RoundTrip {
                rtt_q: measured(95),
                rtt_f: measured(15),
                rtt_b: None,
                floor: Some(Delta::ms(10)),
                added: Some(Delta::ms(5)),
            },
            rates,
            untimed_packets: 0,
            held: Some(Bytes::new(220_000)),
        };
        let interface = InterfaceLayers {
            name: "wan0".to_owned(),
            index: 3,
            queue: Some(QueueLayer {
                kind: "tbf".to_owned(),
                backlog: Bytes::new(200_000),
                packets: 130,
                dropped: 4,
                wait: Some(Delta::ms(80)),
            }),
            qdisc: measured(80),
            driver: None,
            driver_bytes: None,
            dropped: 0,
            rates,
        };
        Layers {
            at: Time::from_ns(1_000_000_000),
            span: Delta::secs(1),
            interfaces: vec![interface],
            flows: vec![flow],
            more_flows: 0,
        }
    }

    fn drawn(live: &HostLive, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw_host(live, frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_frame_names_flow_process_layers_and_curves() {
        let mut live = HostLive::new("here", None);
        live.take(Layers {
            flows: Vec::new(),
            ..example()
        });
        live.take(example());
        let frame = drawn(&live, 140, 12);
        for text in [
            "here",
            "wan0",
            "tbf",
            "80.0 ms",
            "20.0 ms",
            "5.00 ms",
            "95.0 ms",
            "evil\u{fffd} tcp [fd00::2]:443",
            "█",
        ] {
            assert!(frame.contains(text), "{text} is not in\n{frame}");
        }
    }

    #[test]
    fn narrow_and_low_terminals_show_what_fits() {
        let mut live = HostLive::new("here", Some("no BTF".to_owned()));
        let mut layers = example();
        layers.flows = vec![layers.flows[0].clone(); 30];
        live.take(layers);
        let frame = drawn(&live, 80, 24);
        assert!(
            frame.contains("80.0 ms") && frame.contains("more"),
            "{frame}"
        );
        assert!(frame.contains("ESTIMATED: no BTF"), "{frame}");
        for (width, height) in [(1, 1), (20, 3), (300, 2)] {
            drawn(&live, width, height);
        }
    }

    #[test]
    fn estimates_are_marked_and_the_unknown_is_no_number() {
        assert_eq!(wait(Some(&Wait::Estimated(Delta::ms(5)))), "~5.00 ms");
        assert_eq!(wait(None), "-");
    }
}
