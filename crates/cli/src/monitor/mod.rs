//! `unbloat monitor`: watches an interface for months.

mod args;
mod probe;
mod told;

pub use args::Args;

use crate::confine::{NAMES_SENDERS, drop_capabilities};
use crate::exit::{Exit, Failure};
use crate::interface::{self};
use crate::print::{self, PrintError, note};
use crate::span::stop_after;
use crate::stop::stop_on_ctrl_c;
use crate::unit;
use probe::Tests;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use told::Told;
use unbloat_history::{History, HistoryError, Retention};
use unbloat_html::{MonitorPage, render_monitor};
use unbloat_metrics::Board;
use unbloat_monitor::{
    Alerts, Calendar, Change, Episodes, Event, EventKind, Params, Probe, Record, Span, WEEK, thin,
};
use unbloat_monitor_host::{Notifier, Seen, watch};
use unbloat_os::clock::{monotonic, wall};
use unbloat_run::{Clock, Input, RunInfo};
use unbloat_units::{Both, Delta, Time};

/// Between two writings of today's run and of the page.
const SAVE: Delta = Delta::secs(600);
/// Without a queue for so long, an episode is over when the monitor stops.
const OVER: Delta = Delta::secs(15);
/// Alerts within an hour.
const ALERTS: usize = 12;
/// The page of a history.
const PAGE: &str = "index.html";
/// Resolution of the page's charts of weeks.
const COARSE: Delta = Delta::secs(600);

pub fn run(args: &Args) -> Result<Exit, Failure> {
    if args.unit {
        print::raw(&unit::repeated(args::UNIT, std::env::args().skip(1)))?;
        return Ok(Exit::Complete);
    }
    interface::check(&args.interface)?;
    drop_capabilities(NAMES_SENDERS);
    let stop = stop_on_ctrl_c()?;
    let mut monitor = Monitor::start(args, &stop)?;
    if let Some(span) = args.duration {
        stop_after(span, &stop);
    }
    let ended = watch(&args.options(), &stop, &mut |seen| monitor.take(seen));
    monitor.end();
    ended?;
    monitor.failed.map_or(Ok(Exit::Complete), Err)
}

struct Monitor {
    history: History,
    calendar: Calendar,
    episodes: Episodes,
    told: Told,
    board: Option<Board>,
    notifier: Option<Notifier>,
    alerts: Alerts,
    tests: Option<Tests>,
    interface: String,
    is_json: bool,
    /// Each line begins with its priority, for the journal.
    has_journal: bool,
    saved: Option<Time>,
    /// The history could not be written the last time.
    is_unwritten: bool,
    stop: Arc<AtomicBool>,
    /// What ends the command: standard output is gone.
    failed: Option<Failure>,
}

/// Priorities of sd-daemon(3).
#[derive(Clone, Copy)]
enum Priority {
    Warning = 4,
    Notice = 5,
    Info = 6,
}

impl Monitor {
    fn start(args: &Args, stop: &Arc<AtomicBool>) -> Result<Monitor, Failure> {
        let command = std::env::args().collect();
        let mut info = RunInfo::new("unbloat monitor", env!("CARGO_PKG_VERSION"), command);
        info.clock = Clock::Real;
        info.inputs = vec![Input {
            name: args.interface.clone(),
            size_bytes: None,
        }];
        let retention = Retention {
            disk: args.disk,
            ..Retention::default()
        };
        let history = History::open(&args.folder(), retention, info).map_err(unwritten)?;
        let failed = |text: String| note!("unbloat: {text}");
        let notifier = args.alert().map(|line| Notifier::start(line, failed));
        let notifier = notifier
            .transpose()
            .map_err(|error| format!("cannot start a thread for alerts: {error}"))?;
        let mut monitor = Monitor {
            history,
            calendar: Calendar::default(),
            episodes: Episodes::new(Params::default()),
            told: Told::default(),
            board: args.metrics.board("monitor")?,
            notifier,
            alerts: Alerts::new(ALERTS),
            tests: Tests::new(args, monotonic()),
            interface: args.interface.clone(),
            is_json: args.json,
            has_journal: std::env::var_os("JOURNAL_STREAM").is_some(),
            saved: None,
            is_unwritten: false,
            stop: Arc::clone(stop),
            failed: None,
        };
        monitor.look_at_clocks();
        let text = format!(
            "monitoring {} until Ctrl-C; history in {}",
            args.interface,
            monitor.history.folder().display()
        );
        monitor.event(EventKind::Started, text);
        monitor.publish();
        Ok(monitor)
    }

    fn take(&mut self, seen: Seen) {
        self.look_at_clocks();
        match seen {
            Seen::Span(span) => self.span(&span),
            Seen::Lost(why) => {
                let text = format!("{} cannot be captured any more: {why}", self.interface);
                self.event(EventKind::InterfaceLost, text);
                let changes = self.episodes.end();
                self.changes(changes);
            }
            Seen::Back => {
                let text = format!("{} can be captured again", self.interface);
                self.event(EventKind::InterfaceBack, text);
            }
            Seen::Idle => {}
        }
        let (now, now_ns) = (monotonic(), self.now_ns());
        if let Some(probe) = self
            .tests
            .as_mut()
            .and_then(|tests| tests.look(now, now_ns))
        {
            self.probe(probe);
        }
    }

    fn look_at_clocks(&mut self) {
        let step = self.calendar.look(monotonic(), wall().as_ns());
        if let Some(step) = step {
            let text = format!("the wall clock moved by {:.0} s", step.0.as_secs());
            self.event(EventKind::ClockStep, text);
        }
    }

    fn now_ns(&self) -> i64 {
        self.calendar.label(monotonic())
    }

    fn span(&mut self, span: &Span) {
        let changes = self.episodes.take(span);
        let open = Both::of(|way| self.episodes.open(way));
        self.told.span(span, open);
        for record in Record::of_span(span, self.calendar.label(span.start())) {
            self.keep(record);
        }
        self.changes(changes);
        let now = monotonic();
        if self.saved.is_none_or(|saved| now.since(saved) >= SAVE) {
            self.saved = Some(now);
            self.save();
        }
        self.publish();
    }

    fn changes(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.told.change(&change);
            let (episode, is_over) = match &change {
                Change::Began(episode) => (episode, false),
                Change::Ended(episode) => (episode, true),
            };
            let calendar = self.calendar;
            let event = Event::of_episode(episode, is_over, |at| calendar.label(at));
            self.say(&event, "began");
            self.alert(&event);
            if is_over {
                self.keep(Record::Event(event));
            } else if self.is_json {
                let printed = print::json(&Record::Event(event));
                self.printed(printed);
            }
        }
    }

    fn event(&mut self, kind: EventKind, text: String) {
        let event = Event::other(kind, self.now_ns(), text);
        self.told.event(&event);
        self.say(&event, "began");
        self.keep(Record::Event(event));
        self.publish();
    }

    fn probe(&mut self, probe: Probe) {
        self.told.probe(&probe);
        self.told.test_bytes = self.tests.as_ref().map_or(0, |tests| tests.moved);
        let text = match (&probe.error, &probe.grade) {
            (Some(error), _) => format!("test of {}: {error}", probe.server),
            (None, grade) => {
                let ms =
                    |ms: Option<f64>| ms.map_or("unknown".to_owned(), |ms| format!("{ms:.0} ms"));
                format!(
                    "test of {}: grade {}, p95 added delay {} (download), {} (upload), {} bytes",
                    probe.server,
                    grade.as_deref().unwrap_or("unknown"),
                    ms(probe.added_down_ms),
                    ms(probe.added_up_ms),
                    probe.bytes
                )
            }
        };
        self.line(Priority::Info, &text);
        self.keep(Record::Probe(probe));
        self.publish();
    }

    /// A line for people: episodes on standard output, all on standard error. An episode that is not over `open`: it may have ended since.
    fn say(&mut self, event: &Event, open: &str) {
        let (priority, text) = match (event.kind, event.is_over) {
            (EventKind::Episode, false) => {
                (Priority::Warning, format!("episode {open}: {}", event.text))
            }
            (EventKind::Episode, true) => {
                (Priority::Notice, format!("episode ended: {}", event.text))
            }
            (EventKind::InterfaceLost | EventKind::ClockStep, _) => {
                (Priority::Warning, event.text.clone())
            }
            _ => (Priority::Info, event.text.clone()),
        };
        self.line(priority, &text);
        if event.kind == EventKind::Episode && !self.is_json {
            let at = unbloat_run::TraceStart(Time::from_ns(event.start_ns)).rfc3339();
            let second = at.split('.').next().unwrap_or(&at);
            let printed = print::line(format!("{second}Z {text}"));
            self.printed(printed);
        }
    }

    fn line(&self, priority: Priority, text: &str) {
        match self.has_journal {
            true => note!("<{}>{text}", priority as u8),
            false => note!("unbloat: {text}"),
        }
    }

    fn printed(&mut self, printed: Result<(), PrintError>) {
        if let Err(error) = printed {
            self.failed = Some(error.into());
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn alert(&mut self, event: &Event) {
        let Some(notifier) = &self.notifier else {
            return;
        };
        let document = Alert {
            program: "unbloat monitor",
            interface: &self.interface,
            event,
        };
        let document = serde_json::to_string(&document).unwrap_or_default();
        if self.alerts.may_send(monotonic()) && notifier.send(document) {
            self.told.alerts_sent += 1;
        }
        self.told.alerts_held_back = self.alerts.held_back;
    }

    fn keep(&mut self, record: Record) {
        if self.is_json {
            let printed = print::json(&record);
            self.printed(printed);
        }
        let now_ns = self.now_ns();
        let added = self.history.add(record, now_ns);
        self.written(added.map_err(unwritten));
    }

    /// A disk that is full may have room again: the monitor goes on.
    fn written(&mut self, written: Result<(), Failure>) {
        match written {
            Ok(()) => {}
            Err(_) if self.is_unwritten => {}
            Err(error) => self.line(
                Priority::Warning,
                &format!("the history is not complete: {error}"),
            ),
        }
    }

    fn save(&mut self) {
        let now_ns = self.now_ns();
        let saved = self.history.save(now_ns).map_err(unwritten);
        let saved = saved.and_then(|()| self.draw(now_ns));
        let is_unwritten = saved.is_err();
        self.written(saved);
        self.is_unwritten = is_unwritten;
        self.told.dropped = self.history.dropped();
        if let Ok(size) = self.history.size() {
            self.told.history = size;
        }
    }

    /// Writes the page of the last two weeks.
    fn draw(&mut self, now_ns: i64) -> Result<(), Failure> {
        let today = Calendar::day_of(now_ns);
        let first = today - 2 * WEEK.as_ns() / Delta::secs(86_400).as_ns();
        let mut coarse = Vec::new();
        let mut fine = Vec::new();
        for day in self.history.days().map_err(unwritten)? {
            if (first..=today).contains(&day) {
                let records = self.history.day(day).map_err(unwritten)?;
                if day >= today - 1 {
                    fine.extend(records.iter().cloned());
                }
                coarse.extend(thin(records, COARSE));
            }
        }
        let page = MonitorPage {
            interface: self.interface.clone(),
            now_ns,
            fine,
            coarse,
        };
        let mut html = Vec::new();
        render_monitor(&page, &mut html)?;
        self.history.put(PAGE, &html, now_ns).map_err(unwritten)
    }

    fn publish(&mut self) {
        if let Some(board) = &self.board {
            board.put(self.told.page());
        }
    }

    /// The command ends; what it watched goes on.
    fn end(&mut self) {
        for change in self.episodes.end() {
            let (Change::Began(episode) | Change::Ended(episode)) = change;
            let calendar = self.calendar;
            let is_over = monotonic().since(episode.end) > OVER;
            let event = Event::of_episode(&episode, is_over, |at| calendar.label(at));
            self.say(&event, "goes on");
            self.keep(Record::Event(event));
        }
        self.event(
            EventKind::Stopped,
            format!("{} is not monitored any more", self.interface),
        );
        self.save();
        self.tests = None;
        self.notifier = None;
    }
}

/// What an alert says.
#[derive(serde::Serialize)]
struct Alert<'a> {
    program: &'static str,
    interface: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

fn unwritten(error: HistoryError) -> Failure {
    format!("{error}; run as root, or choose another folder with --history").into()
}
