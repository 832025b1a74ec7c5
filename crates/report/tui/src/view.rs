//! One frame.

use crate::Live;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Gauge, Paragraph, Row, Sparkline, Table};
use std::collections::VecDeque;
use unbloat_experiment::outcome::FlowSnapshot;
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};

const COLOURS: Both<Color> = Both::new(Color::Cyan, Color::Magenta);

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
    frame.render_widget(Line::from("q ends the run".dark_gray()), foot);
}

fn header(live: &Live) -> Paragraph<'static> {
    let mut spans = vec![Span::from(printable(live.title())).bold()];
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
    frame.render_widget(labelled("backlog", text), backlog);
    curve(live.backlogs(direction), colour, backlog_curve, frame);
    frame.render_widget(
        labelled("rate", per_second(live.path_rate(direction))),
        rate,
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
    let line = Line::from(vec![
        "drops   ".dark_gray(),
        Span::styled(drops, style),
        "   marks ".dark_gray(),
        Span::from(seen.marks.to_string()),
    ]);
    frame.render_widget(line, lost);
}

fn labelled(label: &str, text: String) -> Line<'static> {
    Line::from(vec![
        format!("{label:<8}").dark_gray(),
        Span::from(text).bold(),
    ])
}

/// The newest values that fit, at the right end.
fn curve(values: &VecDeque<u64>, colour: Color, area: Rect, frame: &mut Frame<'_>) {
    let width = usize::from(area.width);
    let kept = values.len().min(width);
    let mut shown = vec![0; width - kept];
    shown.extend(values.iter().skip(values.len() - kept));
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

/// As many flows as fit, and how many do not.
fn table(live: &Live, area: Rect, frame: &mut Frame<'_>) {
    let flows = &live.now().flows;
    let room = usize::from(area.height.saturating_sub(1));
    let shown = if flows.len() > room {
        room.saturating_sub(1)
    } else {
        flows.len()
    };
    let right = |text: String| Cell::from(Line::from(text).alignment(Alignment::Right));
    let row = |flow: &FlowSnapshot| {
        Row::new([
            Cell::from(printable(&flow.name)),
            right(flow.connections.to_string()),
            right(per_second(live.flow_rate(&flow.name))),
            right(bytes(flow.cwnd_bytes)),
            right(bytes(flow.in_flight_bytes)),
            right(flow.srtt.map_or("-".to_owned(), span)),
            right(flow.retransmissions.to_string()),
        ])
    };
    let mut rows: Vec<Row<'_>> = flows.iter().take(shown).map(row).collect();
    if shown < flows.len() {
        rows.push(Row::new([format!("and {} more", flows.len() - shown)]));
    }
    let heads = COLUMNS.iter().enumerate().map(|(at, (name, _))| match at {
        0 => Cell::from(*name),
        _ => right((*name).to_owned()),
    });
    let widths = COLUMNS.iter().enumerate().map(|(at, (_, width))| match at {
        0 => Constraint::Min(*width),
        _ => Constraint::Length(*width),
    });
    let head = Row::new(heads).style(Style::new().fg(Color::DarkGray));
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        area,
    );
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

/// Names come from scenarios and commands: a control character would steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}
