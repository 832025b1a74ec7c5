//! The page of `unbloat monitor`: day, week, this week against the last, episodes with their culprits.

use crate::ReportError;
use crate::html::{SCRIPTLESS, ZOOM, script_json, tiles, write_document};
use crate::numbers::{five_digits, human};
use maud::{Markup, html};
use serde::Serialize;
use std::io::{self, Write};
use unbloat_monitor::{
    Delay, Event, EventKind, NetworkDelay, Probe, Record, WEEK, Week, WeekVerdict, Weeks, headline,
};
use unbloat_units::{Both, Direction};

const SCRIPT: &str = concat!(
    include_str!("../assets/common.js"),
    include_str!("../assets/monitor.js")
);

const DAY_NS: i64 = 86_400_000_000_000;
/// Rows of each table.
const ROWS: usize = 200;
const NETWORKS: usize = 20;

/// What the page shows.
pub struct MonitorPage {
    pub interface: String,
    /// Wall clock, since 1970.
    pub now_ns: i64,
    /// Records of the last 24 hours at least.
    pub fine: Vec<Record>,
    /// Records of the last 14 days, thinned.
    pub coarse: Vec<Record>,
}

/// Delays over time, and the highest rates beside them.
#[derive(Default, Serialize)]
struct Curve {
    at_ms: Vec<f64>,
    delay_ms: Vec<Option<f64>>,
    peak_bps: Vec<Option<f64>>,
}

#[derive(Default, Serialize)]
struct Side {
    day: Curve,
    week: Curve,
    before: Curve,
}

#[derive(Serialize)]
struct Shade {
    start_ms: f64,
    end_ms: f64,
    direction: Option<Direction>,
}

#[derive(Serialize)]
struct Data {
    now_ms: f64,
    directions: Both<Side>,
    episodes: Vec<Shade>,
}

fn ms(ns: i64) -> f64 {
    (ns / 1_000_000) as f64
}

/// Writes the page.
///
/// # Errors
/// It cannot be written.
pub fn render_monitor(page: &MonitorPage, out: &mut dyn Write) -> Result<(), ReportError> {
    let weeks = Weeks::of(&page.coarse, page.now_ns);
    let json = script_json(&data(page, &weeks)).map_err(io::Error::from)?;
    let title = format!("unbloat: {}", page.interface);
    Ok(write_document(
        out,
        &title,
        body(page, &weeks),
        &json,
        SCRIPT,
    )?)
}

fn delays(records: &[Record], direction: Direction) -> impl Iterator<Item = &Delay> {
    records.iter().filter_map(move |record| match record {
        Record::Delay(delay) if delay.direction == direction => Some(delay),
        _ => None,
    })
}

fn events(records: &[Record]) -> impl Iterator<Item = &Event> {
    records.iter().filter_map(|record| match record {
        Record::Event(event) => Some(event),
        _ => None,
    })
}

fn episodes(page: &MonitorPage) -> Vec<&Event> {
    let mut all: Vec<&Event> = events(&page.coarse)
        .filter(|event| event.kind == EventKind::Episode)
        .collect();
    all.sort_by_key(|event| std::cmp::Reverse(event.start_ns));
    all
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// In order, each with the middle of its time.
fn curve<'a>(delays: impl Iterator<Item = &'a Delay>, from_ns: i64, until_ns: i64) -> Curve {
    let within = delays.filter(|delay| (from_ns..until_ns).contains(&delay.start_ns));
    let mut points: Vec<(f64, Option<f64>, Option<f64>)> = within
        .map(|delay| {
            let middle = ms(delay.start_ns) + delay.span_ms as f64 / 2.0;
            // What stood counts where no timestamps show the path.
            let delay_ms = larger(delay.sustained_ms, delay.standing_p95_ms);
            let delay_ms = delay_ms.map(|ms| (ms * 10.0).round() / 10.0);
            (middle, delay_ms, delay.peak_bps.map(five_digits))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve {
        at_ms: points.iter().map(|point| point.0).collect(),
        delay_ms: points.iter().map(|point| point.1).collect(),
        peak_bps: points.iter().map(|point| point.2).collect(),
    }
}

fn data(page: &MonitorPage, weeks: &Weeks) -> Data {
    let now = page.now_ns;
    let week = now - WEEK.as_ns();
    let shade = |event: &&Event| Shade {
        start_ms: ms(event.start_ns),
        end_ms: ms(event.end_ns),
        direction: event.direction,
    };
    Data {
        now_ms: ms(now),
        directions: Both::of(|way| Side {
            day: curve(delays(&page.fine, way), now - DAY_NS, i64::MAX),
            week: curve(delays(&page.coarse, way), week, i64::MAX),
            before: match has_last(&weeks.this, &weeks.last) {
                true => curve(delays(&page.coarse, way), week - WEEK.as_ns(), week),
                false => Curve::default(),
            },
        }),
        episodes: episodes(page).iter().map(shade).collect(),
    }
}

fn body(page: &MonitorPage, weeks: &Weeks) -> Markup {
    html! {
        main {
            header {
                h1 { "unbloat monitor" }
                p { (page.interface) ", until " (time(page.now_ns)) }
            }
            (verdict(page, weeks))
            section #figures-section {
                h2 { "Added delay" }
                p.note { "Sustained delay: no packet of the worst flow waited less for 1.5 s. " (ZOOM) " " span #zone {} }
                div #hours .scroll tabindex="0" role="region" aria-label="Hour by hour" {}
                div #figures {}
                noscript { p { (SCRIPTLESS) } }
            }
            (weeks_table(weeks))
            (episode_table(page))
            (network_table(page))
            (probe_table(page))
            (event_table(page))
        }
    }
}

/// In UTC; the script puts the reader's time in its place.
fn time(ns: i64) -> Markup {
    let text = unbloat_run::TraceStart(unbloat_units::Time::from_ns(ns)).rfc3339();
    let minute = text.get(..16).unwrap_or(&text).replace('T', " ");
    html! { time data-ms=(ms(ns)) { (minute) " UTC" } }
}

fn verdict(page: &MonitorPage, weeks: &Weeks) -> Markup {
    let since = page.now_ns - DAY_NS;
    let day = episodes(page)
        .into_iter()
        .filter(|event| event.end_ns >= since);
    let watched: f64 = [&weeks.this.down, &weeks.last.down]
        .map(|week| week.watched_s)
        .iter()
        .sum();
    let worst = day.max_by(|a, b| a.p95_ms.unwrap_or(0.0).total_cmp(&b.p95_ms.unwrap_or(0.0)));
    let (kind, found) = headline(page.coarse.iter().filter(|record| match record {
        Record::Event(event) => event.end_ns >= since,
        other => other.start_ns() >= since,
    }));
    let (class, headline) = match kind {
        "unknown" => ("inconclusive", found),
        kind => (kind, format!("{found}, in the last 24 h")),
    };
    let standing = |week: &Both<Week>| week.down.standing_s + week.up.standing_s;
    let numbers = vec![
        (
            lasted(standing(&weeks.this)),
            "standing queue, this week".to_owned(),
        ),
        match has_last(&weeks.this, &weeks.last) {
            true => (
                lasted(standing(&weeks.last)),
                "standing queue, last week".to_owned(),
            ),
            false => ("–".to_owned(), "last week: hardly monitored".to_owned()),
        },
        (lasted(watched), "monitored in two weeks".to_owned()),
    ];
    html! {
        section.card.verdict.(class) {
            h2 { (headline) }
            (tiles(&numbers))
            @if let Some(worst) = worst {
                dl { dt { "Culprit" } dd { (culprit(worst)) } dt { "When" } dd { (time(worst.start_ns)) } }
            }
        }
    }
}

fn culprit(event: &Event) -> String {
    let way = event.direction.unwrap_or_default();
    match event.culprits.first() {
        Some(first) => format!("{} ({:.0} %)", first.arrow(way), 100.0 * first.share),
        None => "not captured".to_owned(),
    }
}

fn table(title: &str, heads: &[&str], rows: Vec<Vec<Markup>>) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (title) }
                div.scroll tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { @for head in heads { th.text scope="col" { (head) } } } }
                        tbody { @for row in &rows { tr { @for cell in row { td.text { (cell) } } } } }
                    }
                }
            }
        }
    }
}

fn cell(text: impl Into<String>) -> Markup {
    let text: String = text.into();
    html! { (text) }
}

/// Whether the last week was monitored for long enough to be shown beside this one.
fn has_last(this: &Both<Week>, last: &Both<Week>) -> bool {
    last.down.watched_s > 0.1 * this.down.watched_s
}

/// A length of time in the unit that people use for it.
fn lasted(seconds: f64) -> String {
    match seconds {
        7_200.0.. => human(seconds / 3_600.0, "h"),
        120.0.. => human(seconds / 60.0, "min"),
        _ => human(seconds, "s"),
    }
}

/// Text that may take several lines.
fn prose(text: &str) -> Markup {
    html! { span.prose { (text) } }
}

fn number(value: Option<f64>, unit: &str) -> Markup {
    cell(value.map_or("–".to_owned(), |value| human(value, unit)))
}

fn weeks_table(weeks: &Weeks) -> Markup {
    let row = |way: Direction| {
        let word = match weeks.verdict(way) {
            WeekVerdict::Better => "better",
            WeekVerdict::Worse => "worse",
            WeekVerdict::Same => "no change",
            WeekVerdict::CannotTell => "too little load to compare",
        };
        let (this, last) = (&weeks.this[way], &weeks.last[way]);
        let percent = |week: &Week| week.bloated().map(|part| 100.0 * part);
        vec![
            cell(way.load()),
            cell(word),
            number(percent(this), "%"),
            number(percent(last), "%"),
            cell(format!("{} / {}", this.episodes, last.episodes)),
            number(this.p95_ms, "ms"),
            number(last.p95_ms, "ms"),
        ]
    };
    table(
        "This week against the last",
        &[
            "direction",
            "change",
            "bloated time under load, this week",
            "last week",
            "episodes, this / last",
            "worst p95, this week",
            "last week",
        ],
        Direction::BOTH.map(row).to_vec(),
    )
}

fn episode_table(page: &MonitorPage) -> Markup {
    let rows = episodes(page).into_iter().take(ROWS).map(|event| {
        vec![
            time(event.start_ns),
            cell(event.direction.map_or("", Direction::load)),
            cell(lasted((event.end_ns - event.start_ns) as f64 / 1e9)),
            number(event.p50_ms, "ms"),
            number(event.p95_ms, "ms"),
            prose(&culprit(event)),
            cell(event.place.as_deref().unwrap_or("–").replace('_', " ")),
            cell(event.layer.as_deref().unwrap_or("–")),
            prose(&event.waiting.join(" ")),
        ]
    });
    table(
        "Episodes",
        &[
            "start",
            "direction",
            "length",
            "median",
            "p95",
            "culprit",
            "place",
            "worst layer here",
            "networks that waited",
        ],
        rows.collect(),
    )
}

fn network_table(page: &MonitorPage) -> Markup {
    let mut all: std::collections::BTreeMap<(Direction, &str), NetworkDelay> = Default::default();
    let week = page.now_ns - WEEK.as_ns();
    for record in &page.coarse {
        let Record::Network(net) = record else {
            continue;
        };
        if net.start_ns < week {
            continue;
        }
        let key = (net.direction, net.network.as_str());
        match all.get_mut(&key) {
            Some(known) => {
                known.measured_s += net.measured_s;
                known.standing_s += net.standing_s;
                known.sustained_ms = larger(known.sustained_ms, net.sustained_ms);
            }
            None => drop(all.insert(key, net.clone())),
        }
    }
    let mut all: Vec<NetworkDelay> = all.into_values().collect();
    all.sort_by(|a, b| {
        b.standing_s
            .total_cmp(&a.standing_s)
            .then(b.measured_s.total_cmp(&a.measured_s))
    });
    let rows = all.into_iter().take(NETWORKS).map(|net| {
        vec![
            cell(net.network),
            cell(net.direction.load()),
            number(net.sustained_ms, "ms"),
            cell(lasted(net.standing_s)),
            cell(lasted(net.measured_s)),
        ]
    });
    table(
        "Networks of peers, this week",
        &[
            "network",
            "direction",
            "largest sustained delay",
            "delay stood for",
            "measured for",
        ],
        rows.collect(),
    )
}

fn probe_table(page: &MonitorPage) -> Markup {
    let probes = page.coarse.iter().filter_map(|record| match record {
        Record::Probe(probe) => Some(probe),
        _ => None,
    });
    let mut probes: Vec<&Probe> = probes.collect();
    probes.sort_by_key(|probe| std::cmp::Reverse(probe.start_ns));
    let rows = probes.into_iter().take(ROWS).map(|probe| {
        vec![
            time(probe.start_ns),
            cell(probe.server.as_str()),
            cell(probe.grade.as_deref().unwrap_or("–")),
            number(probe.added_down_ms, "ms"),
            number(probe.added_up_ms, "ms"),
            number(probe.down_bps, "bit/s"),
            number(probe.up_bps, "bit/s"),
            number(Some(probe.bytes as f64), "B"),
            prose(probe.error.as_deref().unwrap_or_default()),
        ]
    });
    table(
        "Active tests",
        &[
            "start",
            "server",
            "grade",
            "p95, download",
            "p95, upload",
            "download",
            "upload",
            "bytes",
            "why there is no result",
        ],
        rows.collect(),
    )
}

fn event_table(page: &MonitorPage) -> Markup {
    let mut others: Vec<&Event> = events(&page.coarse)
        .filter(|event| event.kind != EventKind::Episode)
        .collect();
    others.sort_by_key(|event| std::cmp::Reverse(event.start_ns));
    let rows = others.into_iter().take(ROWS).map(|event| {
        vec![
            time(event.start_ns),
            cell(event.kind.name().replace('_', " ")),
            prose(&event.text),
        ]
    });
    table("Other events", &["time", "event", "text"], rows.collect())
}
