//! One frame.

use crate::host::controls::{Order, name};
use crate::host::help::draw_help;
use crate::host::{HostLive, HostView};
use crate::keys::key_line;
use crate::view::{bytes, columns, per_second, span};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};
use std::collections::VecDeque;
use unbloat_responsiveness::MEANINGS;
use unbloat_units::{Delta, Rate};
use unbloat_untrusted::in_line;
use unbloat_watch::{FlowLayers, InterfaceLayers, Layer, Wait};

/// Devices that are shown at most, so that flows have room.
const MOST_INTERFACES: usize = 8;

/// Curves that stay below this are drawn flat.
const CURVE_FLOOR: Delta = Delta::ms(10);

/// Between items of the legend.
const GAP: &str = "   ";

/// Lower terminals have no room for a legend.
const ROOM_FOR_LEGEND: u16 = 12;

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

/// Columns of devices that narrow terminals do without, in this order.
const SPARED_OF_INTERFACES: [&str; 4] = ["T_Q so far", "drops", "T_D", "queue"];

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

/// Columns of flows that narrow terminals do without, in this order.
const SPARED: [&str; 7] = [
    "total so far",
    "device",
    "acked",
    "RTT_Q",
    "T_D",
    "out",
    "socket",
];

const KEYS: [(&str, &str); 6] = [
    ("r", "reverse"),
    ("s", "sort"),
    ("/", "filter"),
    ("space", "pause"),
    ("?", "help"),
    ("q", "quit"),
];

const TYPING: [(&str, &str); 2] = [("Esc", "remove"), ("Enter", "done")];

/// Draws what is seen now: devices, then flows in the chosen order; or the help.
pub(super) fn draw(view: &mut HostView, frame: &mut Frame<'_>) {
    let area = frame.area();
    let legend = match area.height >= ROOM_FOR_LEGEND && !view.controls.is_helping {
        true => legend(area.width),
        false => Vec::new(),
    };
    let [head, body, below, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(legend.len() as u16),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(header(view), head);
    match view.controls.is_helping {
        true => draw_help(&mut view.controls, body, frame),
        false => tables(view, body, frame),
    }
    frame.render_widget(Paragraph::new(legend), below);
    let foot_line = match view.controls.is_typing {
        true => {
            let typed = format!("filter: {}█  ", view.controls.filter);
            let mut line = key_line(&TYPING, foot.width.saturating_sub(typed.len() as u16));
            line.spans.insert(0, Span::from(typed));
            line
        }
        false => key_line(&KEYS, foot.width),
    };
    frame.render_widget(foot_line, foot);
}

/// What is watched, and what the person at the terminal has chosen.
fn header(view: &HostView) -> Paragraph<'static> {
    let live = view.shown();
    let mut spans = vec![
        Span::from("unbloat watch  ").bold(),
        Span::from(in_line(live.title())),
    ];
    let mut say = |text: String, colour| {
        spans.push(Span::styled(format!("  {text}"), Style::new().fg(colour)));
    };
    if view.controls.is_paused {
        say("PAUSED".to_owned(), Color::Yellow);
    } else if live.now().span == Delta::ZERO {
        say("waiting for the first sample".to_owned(), Color::DarkGray);
    }
    if !view.controls.filter.is_empty() {
        say(format!("filter: {}", view.controls.filter), Color::Yellow);
    }
    if let Some(why) = live.estimated() {
        say(format!("ESTIMATED: {}", in_line(why)), Color::Yellow);
    }
    Paragraph::new(Line::from(spans))
}

/// What the words and colours mean, in lines of so many columns.
fn legend(room: u16) -> Vec<Line<'static>> {
    let words = [
        "T_Q: wait in the queue discipline",
        "T_D: in the driver",
        "below: added behind it",
        "~ estimated",
        "- unknown",
    ];
    let words = words.iter().map(|words| words.dark_gray());
    let colours = MEANINGS.iter().zip(1..).map(|((from, meaning), next)| {
        let text = match MEANINGS.get(next) {
            Some((to, _)) if *from == Delta::ZERO => {
                format!("below {:.0} ms: {meaning}", to.as_ms())
            }
            _ => format!("{:.0} ms: {meaning}", from.as_ms()),
        };
        Span::styled(text, felt(*from))
    });
    let mut lines = vec![Line::default()];
    for item in words.chain(colours) {
        let used = lines.last().map_or(0, Line::width);
        if used > 0 && used + GAP.len() + item.width() > usize::from(room) {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            if !line.spans.is_empty() {
                line.push_span(GAP);
            }
            line.push_span(item);
        }
    }
    lines
}

fn tables(view: &mut HostView, area: Rect, frame: &mut Frame<'_>) {
    let live = view.frozen.as_ref().unwrap_or(&view.live);
    let (busy, idle): (Vec<_>, Vec<_>) = live
        .now()
        .interfaces
        .iter()
        .partition(|seen| view.is_chosen || is_busy(seen));
    let rows = busy.len().min(MOST_INTERFACES) as u16;
    let heights = [
        rows + u16::from(rows > 0),
        u16::from(!idle.is_empty()),
        1,
        2,
    ];
    let [devices, idle_devices, _, flows] = Layout::vertical([
        Constraint::Length(heights[0]),
        Constraint::Length(heights[1]),
        Constraint::Length(heights[2]),
        Constraint::Min(heights[3]),
    ])
    .areas(area);
    if rows > 0 {
        interface_table(live, &busy, devices, frame);
    }
    let names: Vec<String> = idle.iter().map(|seen| in_line(&seen.name)).collect();
    let text = format!("idle: {}", names.join(", "));
    frame.render_widget(Line::from(text.dark_gray()), idle_devices);
    let chosen = view.controls.chosen(&live.now().flows);
    match chosen.is_empty() {
        true => frame.render_widget(
            Paragraph::new(nothing(live, &view.controls.filter)).wrap(Wrap { trim: true }),
            flows,
        ),
        false => flow_table(live, &chosen, &view.controls, flows, frame),
    }
}

/// It carried or dropped something.
fn is_busy(seen: &InterfaceLayers) -> bool {
    let queue = seen.queue.as_ref();
    let rates = [seen.rates.entered, seen.rates.left, seen.rates.done];
    rates.iter().flatten().any(|rate| *rate > Rate::bps(0))
        || seen.dropped > 0
        || queue.is_some_and(|queue| queue.backlog.as_u64() > 0 || queue.dropped > 0)
}

/// Why there are no flows, and what to do.
fn nothing(live: &HostLive, filter: &str) -> String {
    match live.now() {
        now if now.span == Delta::ZERO => String::new(),
        now if !now.flows.is_empty() => format!(
            "None of {} flows matches \"{filter}\". Esc removes the filter.",
            now.flows.len()
        ),
        _ => "No flow sent anything in the last sample, so nothing can wait here. Start an upload or a download, for example `unbloat test HOST` in another \
              terminal. This view shows the network namespace in which it runs; `ip netns exec NAME unbloat watch` shows another one."
            .to_owned(),
    }
}

fn interface_table(live: &HostLive, shown: &[&InterfaceLayers], area: Rect, frame: &mut Frame<'_>) {
    let columns = columns(&INTERFACES, &SPARED_OF_INTERFACES, area.width);
    let cell = |seen: &InterfaceLayers, column: &str| {
        let queue = seen.queue.as_ref();
        match column {
            "device" => Cell::from(in_line(&seen.name)),
            "queue" => Cell::from(queue.map_or("-".to_owned(), |queue| in_line(&queue.kind))),
            "backlog" => right(bytes(queue.map(|queue| queue.backlog))),
            "T_Q" => waited(seen.qdisc.as_ref()),
            "T_D" => waited(seen.driver.as_ref()),
            "out" => right(per_second(seen.rates.left.or(seen.rates.done))),
            "drops" => {
                let drops = seen.dropped + queue.map_or(0, |queue| queue.dropped);
                right(drops.to_string())
            }
            _ => Cell::from(curve(live.of_interface(seen.index), INTERFACES[7].1)),
        }
    };
    let rows = shown.iter().take(MOST_INTERFACES);
    let rows = rows.map(|seen| Row::new(columns.iter().map(|(name, _)| cell(seen, name))));
    let widths = columns.iter().map(|(_, width)| Constraint::Length(*width));
    let head = columns.iter().map(|(name, _)| match *name {
        "device" | "queue" | "T_Q so far" => Cell::from(*name),
        _ => right((*name).to_owned()),
    });
    let head = Row::new(head).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
}

/// As many flows as fit, and how many do not; on narrow terminals fewer columns.
fn flow_table(
    live: &HostLive,
    chosen: &[&FlowLayers],
    controls: &super::Controls,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let columns = columns(&FLOWS, &SPARED, area.width);
    let room = usize::from(area.height.saturating_sub(1));
    let rest = chosen.get(controls.skipped..).unwrap_or_default();
    let unseen = live.now().more_flows;
    let is_cut = rest.len() > room || unseen > 0;
    let shown = rest.len().min(room.saturating_sub(usize::from(is_cut)));
    let row = |flow: &&FlowLayers| Row::new(columns.iter().map(|(name, _)| cell(live, flow, name)));
    let mut rows: Vec<Row<'_>> = rest.iter().take(shown).map(row).collect();
    if is_cut {
        let more = (rest.len() - shown) as u64 + unseen;
        rows.push(Row::new([format!("and {more} more")]));
    }
    let widths = columns.iter().map(|(name, width)| match *name {
        "flow" => Constraint::Min(*width),
        _ => Constraint::Length(*width),
    });
    let head = columns.iter().map(|(name, _)| {
        let sorted = match controls.order {
            Order::Total => "total so far",
            order => order.name(),
        };
        let (text, style) = match (*name == sorted, controls.is_reversed) {
            (false, _) => ((*name).to_owned(), Style::new()),
            (true, false) => (format!("{name}▼"), Style::new().fg(Color::Cyan).bold()),
            (true, true) => (format!("{name}▲"), Style::new().fg(Color::Cyan).bold()),
        };
        match *name {
            "flow" | "device" | "total so far" => Cell::from(text),
            _ => right(text),
        }
        .style(style)
    });
    let head = Row::new(head).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
}

fn cell(live: &HostLive, flow: &FlowLayers, column: &str) -> Cell<'static> {
    match column {
        "flow" => Cell::from(in_line(&name(flow))),
        "device" => Cell::from(in_line(flow.interface.as_deref().unwrap_or("-"))),
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

/// The layer's wait, bold where it is the longest of the flow's.
fn layer(flow: &FlowLayers, which: Layer, is_estimated: bool) -> Cell<'static> {
    let Some(delay) = flow.delay(which) else {
        return right("-".to_owned());
    };
    let text = format!("{}{}", if is_estimated { "~" } else { "" }, span(delay));
    let is_worst = flow.worst().is_some_and(|(worst, _)| worst == which);
    let style = match is_worst {
        true => felt(delay).add_modifier(Modifier::BOLD),
        false => felt(delay),
    };
    right(text).style(style)
}

fn waited(seen: Option<&Wait>) -> Cell<'static> {
    let style = seen.map_or(Style::new(), |wait| felt(wait.mean()));
    right(wait(seen)).style(style)
}

/// The colour of a wait, by what people notice of it.
fn felt(wait: Delta) -> Style {
    match MEANINGS.iter().filter(|(from, _)| wait >= *from).count() {
        0 | 1 => Style::new(),
        2 => Style::new().fg(Color::Yellow),
        3 => Style::new().fg(Color::Red),
        _ => Style::new().fg(Color::White).bg(Color::Red),
    }
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
    use ratatui::crossterm::event::KeyCode;
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

    fn drawn(view: &mut HostView, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn view() -> HostView {
        HostView::new("all devices, every 1 s", None, false)
    }

    /// The frame as stored; UNBLOAT_BLESS=1 stores it anew.
    fn is_as_stored(frame: &str, name: &str) {
        let path = format!("{}/tests/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UNBLOAT_BLESS").is_some() {
            std::fs::write(&path, frame).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == frame, "drawn otherwise than {path}:\n{frame}");
    }

    #[test]
    fn frames_of_all_widths_are_as_stored() {
        let mut view = view();
        let mut layers = example();
        for ms in [10, 40, 500] {
            let mut flow = layers.flows[0].clone();
            flow.flow.to.set_port(9_000 + ms as u16);
            flow.qdisc = measured(ms);
            layers.flows.push(flow);
        }
        let mut idle = layers.interfaces[0].clone();
        (idle.name, idle.index) = ("eth1".to_owned(), 9);
        (idle.queue, idle.rates) = (None, Rates::default());
        layers.interfaces.push(idle);
        view.take(layers.clone());
        view.take(layers);
        for width in [60, 80, 200] {
            is_as_stored(&drawn(&mut view, width, 20), &format!("watch-{width}"));
        }
        view.press(KeyCode::Char('?').into());
        is_as_stored(&drawn(&mut view, 80, 24), "watch-help-80");
    }

    #[test]
    fn a_frame_names_flow_process_layers_and_curves() {
        let mut view = view();
        view.take(Layers {
            flows: Vec::new(),
            ..example()
        });
        view.take(example());
        let frame = drawn(&mut view, 140, 12);
        for text in [
            "all devices",
            "wan0",
            "tbf",
            "80.0 ms",
            "20.0 ms",
            "5.00 ms",
            "95.0 ms",
            "evil\u{fffd} tcp [fd00::2]:443",
            "█",
            " q  quit",
        ] {
            assert!(frame.contains(text), "{text} is not in\n{frame}");
        }
    }

    #[test]
    fn narrow_and_low_terminals_show_what_fits() {
        let mut view = HostView::new("wan0", Some("no BTF".to_owned()), true);
        let mut layers = example();
        layers.flows = vec![layers.flows[0].clone(); 30];
        view.take(layers);
        let frame = drawn(&mut view, 80, 24);
        assert!(
            frame.contains("80.0 ms") && frame.contains("more"),
            "{frame}"
        );
        assert!(frame.contains("ESTIMATED: no BTF"), "{frame}");
        for key in [KeyCode::Null, KeyCode::Char('?')] {
            view.press(key.into());
            for (width, height) in [(1, 1), (20, 3), (300, 2)] {
                drawn(&mut view, width, height);
            }
        }
    }

    /// The colours of a cell that shows this text.
    fn colours(view: &mut HostView, text: &str) -> (Color, Color) {
        let mut terminal = Terminal::new(TestBackend::new(140, 20)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| {
            (0..140)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
        };
        let found = (5..15).find_map(|y| Some((line(y).find(text)?, y)));
        let (byte, y) = found.unwrap();
        let x = line(y)[..byte].chars().count() as u16;
        (buffer[(x, y)].fg, buffer[(x, y)].bg)
    }

    #[test]
    fn the_colour_of_a_wait_is_what_people_notice_of_it() {
        for (ms, text, fg, bg) in [
            (29, "29.0 ms", Color::Reset, Color::Reset),
            (30, "30.0 ms", Color::Yellow, Color::Reset),
            (150, "150 ms", Color::Red, Color::Reset),
            (400, "400 ms", Color::White, Color::Red),
        ] {
            let mut view = view();
            let mut layers = example();
            layers.flows[0].qdisc = measured(ms);
            view.take(layers);
            assert_eq!(colours(&mut view, text), (fg, bg), "{ms}");
        }
    }

    #[test]
    fn an_idle_host_gets_a_hint_instead_of_zeros() {
        let mut view = view();
        let mut layers = example();
        layers.flows.clear();
        layers.interfaces[0].queue = None;
        layers.interfaces[0].rates = Rates::default();
        view.take(layers.clone());
        let frame = drawn(&mut view, 80, 24);
        assert!(frame.contains("idle: wan0"), "{frame}");
        assert!(frame.contains("No flow sent anything"), "{frame}");
        assert!(!frame.contains("drops"), "{frame}");
        let mut chosen = HostView::new("wan0", None, true);
        chosen.take(layers);
        let shown = drawn(&mut chosen, 80, 24);
        assert!(
            shown.contains("drops") && !shown.contains("idle:"),
            "{shown}"
        );
    }

    #[test]
    fn a_paused_view_stays_as_it_is() {
        let mut view = view();
        view.take(example());
        view.press(KeyCode::Char(' ').into());
        let before = drawn(&mut view, 80, 24);
        assert!(before.contains("PAUSED"), "{before}");
        view.take(Layers {
            flows: Vec::new(),
            ..example()
        });
        assert_eq!(drawn(&mut view, 80, 24), before);
        view.press(KeyCode::Char(' ').into());
        assert!(!drawn(&mut view, 80, 24).contains("evil"));
    }

    #[test]
    fn a_filter_that_matches_nothing_says_so() {
        let mut view = view();
        view.take(example());
        for key in "/nowhere".chars().map(KeyCode::Char) {
            view.press(key.into());
        }
        let frame = drawn(&mut view, 80, 24);
        assert!(
            frame.contains("None of 1 flows matches \"nowhere\""),
            "{frame}"
        );
        assert!(frame.contains("filter: nowhere█"), "{frame}");
    }

    #[test]
    fn estimates_are_marked_and_the_unknown_is_no_number() {
        assert_eq!(wait(Some(&Wait::Estimated(Delta::ms(5)))), "~5.00 ms");
        assert_eq!(wait(None), "-");
    }
}
