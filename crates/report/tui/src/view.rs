//! One frame.

use crate::Live;
use crate::keys::key_line;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Sparkline, Table};
use std::collections::VecDeque;
use unbloat_experiment::outcome::FlowSnapshot;
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};
use unbloat_untrusted::in_line;

const COLOURS: Both<Color> = Both::new(Color::Cyan, Color::Magenta);

const KEYS: [(&str, &str); 3] = [("space", "pause"), ("?", "help"), ("q", "end the run")];

/// Rows of a direction's panel, its frame included.
const PANEL: u16 = 9;

/// Below this many columns the directions stand one above the other.
const WIDE: u16 = 70;

/// Draws what is seen now: time, both directions, flows. Fits 80x24; of smaller terminals it shows what fits.
pub fn draw(live: &Live, frame: &mut Frame<'_>) {
    let area = frame.area();
    let is_wide = area.width >= WIDE;
    let panels = if is_wide { PANEL } else { 2 * PANEL };
    let [head, bar, paths, flows, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(panels),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(header(live), head);
    frame.render_widget(progress(live), bar);
    let halves = [Constraint::Ratio(1, 2); 2];
    let split = if is_wide {
        Layout::horizontal(halves)
    } else {
        Layout::vertical(halves)
    };
    let [down, up] = split.areas(paths);
    panel(live, Direction::Down, down, frame);
    panel(live, Direction::Up, up, frame);
    table(live, flows, frame);
    frame.render_widget(key_line(&KEYS, foot.width), foot);
}

fn header(live: &Live) -> Paragraph<'static> {
    let mut spans = vec![Span::from(in_line(live.title())).bold()];
    if let Some(late) = live.now().lateness {
        let text = format!(
            "   late: p50 {}, p99 {}, max {}",
            span(late.p50),
            span(late.p99),
            span(late.max)
        );
        let style = match late.is_too_late {
            true => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            false => Style::new().fg(Color::DarkGray),
        };
        spans.push(Span::styled(text, style));
        if late.is_too_late {
            spans.push(Span::styled("  NOT TRUSTWORTHY", style));
        }
    }
    Paragraph::new(Line::from(spans))
}

fn progress(live: &Live) -> Gauge<'static> {
    let gone = live.now().at.since(Time::from_ns(0)).as_secs();
    let (share, label) = match (live.now().duration, live.left()) {
        (Some(duration), Some(left)) if duration > Delta::ZERO => (
            gone / duration.as_secs(),
            format!(
                "{gone:.1} s of {:.0} s, {:.0} s left",
                duration.as_secs(),
                left.as_secs().ceil()
            ),
        ),
        _ => (0.0, format!("{gone:.1} s, until it is stopped")),
    };
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    Gauge::default()
        .gauge_style(Style::new().fg(Color::Blue).bg(Color::Black))
        .ratio(share)
        .label(label)
}

fn panel(live: &Live, direction: Direction, area: Rect, frame: &mut Frame<'_>) {
    let colour = COLOURS[direction];
    let seen = &live.now().paths[direction];
    let block = Block::bordered()
        .title(Span::styled(
            format!(" {direction} "),
            Style::new().fg(colour).add_modifier(Modifier::BOLD),
        ))
        .border_style(Style::new().fg(Color::DarkGray));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [backlog, backlog_curve, rate, rate_curve, lost] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(1),
    ])
    .areas(inner);
    let wait = seen
        .wait
        .map_or(String::new(), |wait| format!(", {}", span(wait)));
    let text = format!(
        "{}, {} packets{wait}",
        bytes(Some(seen.backlog_bytes)),
        seen.backlog_packets
    );
    let scale = |most: u64| bytes(Some(Bytes::new(most)));
    labelled(
        "backlog",
        text,
        live.backlogs(direction),
        scale,
        backlog,
        frame,
    );
    curve(live.backlogs(direction), colour, backlog_curve, frame);
    let speed = per_second(live.path_rate(direction));
    let rate_scale = |most: u64| per_second(Some(Rate::bps(most)));
    labelled(
        "rate",
        speed,
        live.rates(direction),
        rate_scale,
        rate,
        frame,
    );
    curve(live.rates(direction), colour, rate_curve, frame);
    let late = live.late_drops(direction);
    let drops = format!(
        "{}{}",
        seen.drops,
        if late > 0 {
            format!(" (+{late} in 1 s)")
        } else {
            String::new()
        }
    );
    let style = if late > 0 {
        Style::new().fg(Color::Red)
    } else {
        Style::new()
    };
    let mut line = Line::from(vec![
        "drops   ".dark_gray(),
        Span::styled(drops, style),
        "  marks ".dark_gray(),
        Span::from(seen.marks.to_string()),
    ]);
    if let Some(p95) = live.wait_p95(direction) {
        line.push_span("  wait p95 ".dark_gray());
        line.push_span(span(p95));
    }
    frame.render_widget(line, lost);
}

/// A label and what is so now; at the right, where there is room, the top of the curve below.
fn labelled(
    label: &str,
    text: String,
    curve: &VecDeque<u64>,
    scale: impl Fn(u64) -> String,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let line = Line::from(vec![
        format!("{label:<8}").dark_gray(),
        Span::from(text).bold(),
    ]);
    let top = newest(curve, area.width).max().map_or(0, |most| *most);
    let top = Line::from(format!("top {}", scale(top)).dark_gray());
    let has_room = line.width() + 2 + top.width() <= usize::from(area.width);
    frame.render_widget(line, area);
    if has_room {
        frame.render_widget(top.alignment(Alignment::Right), area);
    }
}

/// The newest values that fit.
fn newest(values: &VecDeque<u64>, room: u16) -> impl Iterator<Item = &u64> {
    values
        .iter()
        .skip(values.len().saturating_sub(usize::from(room)))
}

/// The newest values that fit, at the right end.
fn curve(values: &VecDeque<u64>, colour: Color, area: Rect, frame: &mut Frame<'_>) {
    let mut shown = vec![0; usize::from(area.width).saturating_sub(values.len())];
    shown.extend(newest(values, area.width));
    let line = Sparkline::default()
        .data(shown)
        .style(Style::new().fg(colour));
    frame.render_widget(line, area);
}

const COLUMNS: [(&str, u16); 7] = [
    ("flow", 14),
    ("conns", 5),
    ("rate", 12),
    ("cwnd", 9),
    ("in flight", 9),
    ("srtt", 9),
    ("retransmits", 11),
];

/// Columns that narrow terminals do without, in this order.
const SPARED: [&str; 4] = ["conns", "in flight", "cwnd", "retransmits"];

/// As many flows as fit, and how many do not; on narrow terminals fewer columns.
fn table(live: &Live, area: Rect, frame: &mut Frame<'_>) {
    let columns = columns(&COLUMNS, &SPARED, area.width);
    let flows = &live.now().flows;
    let room = usize::from(area.height.saturating_sub(1));
    let shown = if flows.len() > room {
        room.saturating_sub(1)
    } else {
        flows.len()
    };
    let right = |text: String| Cell::from(Line::from(text).alignment(Alignment::Right));
    let row = |flow: &FlowSnapshot| {
        Row::new(columns.iter().map(|(name, _)| match *name {
            "flow" => Cell::from(in_line(&flow.name)),
            "conns" => right(flow.connections.to_string()),
            "rate" => right(per_second(live.flow_rate(&flow.name))),
            "cwnd" => right(bytes(flow.cwnd_bytes)),
            "in flight" => right(bytes(flow.in_flight_bytes)),
            "srtt" => right(flow.srtt.map_or("-".to_owned(), span)),
            _ => right(flow.retransmissions.to_string()),
        }))
    };
    let mut rows: Vec<Row<'_>> = flows.iter().take(shown).map(row).collect();
    if shown < flows.len() {
        rows.push(Row::new([format!("and {} more", flows.len() - shown)]));
    }
    let heads = columns.iter().enumerate().map(|(at, (name, _))| match at {
        0 => Cell::from(*name),
        _ => right((*name).to_owned()),
    });
    let widths = columns.iter().enumerate().map(|(at, (_, width))| match at {
        0 => Constraint::Min(*width),
        _ => Constraint::Length(*width),
    });
    let head = Row::new(heads).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
}

/// Without those that there is no room for.
pub(crate) fn columns(
    all: &[(&'static str, u16)],
    spared: &[&str],
    room: u16,
) -> Vec<(&'static str, u16)> {
    let mut columns = all.to_vec();
    for name in spared {
        let needed: u16 = columns.iter().map(|(_, width)| width + 1).sum();
        if needed <= room.saturating_add(1) {
            break;
        }
        columns.retain(|(column, _)| column != name);
    }
    columns
}

pub(crate) fn bytes(value: Option<Bytes>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

pub(crate) fn per_second(rate: Option<Rate>) -> String {
    rate.map_or("-".to_owned(), |rate| rate.to_string())
}

/// Three digits: "338 ms", "1.23 ms", "23.4 µs".
pub(crate) fn span(span: Delta) -> String {
    let ns = span.as_ns() as f64;
    let (value, unit) = match ns.abs() {
        1e9.. => (ns / 1e9, "s"),
        1e6.. => (ns / 1e6, "ms"),
        _ => (ns / 1e3, "µs"),
    };
    match value.abs() {
        100.0.. => format!("{value:.0} {unit}"),
        10.0.. => format!("{value:.1} {unit}"),
        _ => format!("{value:.2} {unit}"),
    }
}
