//! The metrics of `unbloat monitor`.

use unbloat_metrics::{Page, Unit};
use unbloat_monitor::{Change, Episode, Event, EventKind, Probe, Span};
use unbloat_units::{Both, Bytes, Direction};

/// What is counted since the start, and what was seen last.
#[derive(Default)]
pub struct Told {
    watched_s: f64,
    sides: Both<Side>,
    span: Option<Span>,
    pub is_lost: bool,
    pub dropped: u64,
    pub history: Bytes,
    pub alerts_sent: u64,
    pub alerts_held_back: u64,
    pub tests: u64,
    pub tests_failed: u64,
    pub test_bytes: u64,
    probe: Option<Probe>,
    clock_steps: u64,
    losses: u64,
}

#[derive(Default)]
struct Side {
    standing_s: f64,
    loaded_s: f64,
    episodes: u64,
    open: Option<Episode>,
}

impl Told {
    pub fn span(&mut self, span: &Span, open: Both<Option<&Episode>>) {
        self.watched_s += span.length.as_secs();
        for (way, seen) in span.directions.entries() {
            let side = &mut self.sides[way];
            side.standing_s += seen.standing.as_secs();
            side.loaded_s += seen.loaded.as_secs();
            side.open = open[way].cloned();
        }
        self.span = Some(span.clone());
    }

    pub fn change(&mut self, change: &Change) {
        if let Change::Began(episode) = change {
            self.sides[episode.direction].episodes += 1;
        }
    }

    pub fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::ClockStep => self.clock_steps += 1,
            EventKind::InterfaceLost => {
                self.losses += 1;
                self.is_lost = true;
            }
            EventKind::InterfaceBack => self.is_lost = false,
            _ => {}
        }
    }

    pub fn probe(&mut self, probe: &Probe) {
        self.tests += 1;
        self.tests_failed += u64::from(probe.error.is_some());
        if probe.error.is_none() {
            self.probe = Some(probe.clone());
        }
    }

    pub fn page(&self) -> Page {
        let mut page = Page::default();
        self.counts(&mut page);
        self.delays(&mut page);
        self.episodes(&mut page);
        self.tests(&mut page);
        page
    }

    fn counts(&self, page: &mut Page) {
        let seconds = Unit::Seconds;
        page.counter(
            "unbloat_monitor_watched",
            seconds,
            "Time that was monitored.",
        )
        .value(self.watched_s);
        for (way, side) in self.sides.entries() {
            let labels = [("direction", way.name())];
            page.counter(
                "unbloat_monitor_standing",
                seconds,
                "Time for which a queue stood.",
            )
            .sample(&labels, side.standing_s);
            page.counter(
                "unbloat_monitor_loaded",
                seconds,
                "Time in which traffic loaded the direction.",
            )
            .sample(&labels, side.loaded_s);
            page.counter(
                "unbloat_monitor_episodes",
                Unit::None,
                "Episodes of bufferbloat.",
            )
            .sample(&labels, side.episodes as f64);
        }
        page.gauge(
            "unbloat_monitor_interface_up",
            Unit::None,
            "1 while the interface can be captured.",
        )
        .value(f64::from(u8::from(!self.is_lost)));
        page.counter(
            "unbloat_monitor_interface_losses",
            Unit::None,
            "Times that the interface was lost.",
        )
        .value(self.losses as f64);
        page.counter(
            "unbloat_monitor_clock_steps",
            Unit::None,
            "Times that the wall clock was set.",
        )
        .value(self.clock_steps as f64);
        page.gauge(
            "unbloat_monitor_history",
            Unit::Bytes,
            "Disk space of the history.",
        )
        .value(self.history.as_u64() as f64);
        page.counter(
            "unbloat_monitor_dropped_records",
            Unit::None,
            "Records that a full day did not take.",
        )
        .value(self.dropped as f64);
        let alerts = page.counter(
            "unbloat_monitor_alerts",
            Unit::None,
            "Alerts, sent or held back by their bound.",
        );
        alerts.sample(&[("result", "sent")], self.alerts_sent as f64);
        alerts.sample(&[("result", "held_back")], self.alerts_held_back as f64);
    }

    /// Of the last span.
    fn delays(&self, page: &mut Page) {
        let Some(span) = &self.span else {
            return;
        };
        let seconds = |ms: Option<f64>| ms.map(|ms| ms / 1e3);
        for (way, seen) in span.directions.entries() {
            let delay = page.gauge(
                "unbloat_monitor_added_delay",
                Unit::Seconds,
                "Added delay in the last interval.",
            );
            for (statistic, ms) in [
                ("sustained", seen.sustained_ms),
                ("p50", seen.standing_p50_ms),
                ("p95", seen.standing_p95_ms),
            ] {
                let labels = [("direction", way.name()), ("statistic", statistic)];
                delay.sample(&labels, seconds(ms));
            }
            let labels = [("direction", way.name())];
            page.gauge(
                "unbloat_monitor_rate",
                Unit::BytesPerSecond,
                "Rate of busy windows in the last interval.",
            )
            .sample(&labels, seen.peak_bps.map(|bps| bps / 8.0));
            page.gauge(
                "unbloat_monitor_flows",
                Unit::None,
                "Flows whose delay was measured in the last interval.",
            )
            .sample(&labels, seen.flows as f64);
        }
        for net in &span.networks {
            let labels = [
                ("direction", net.direction.name()),
                ("network", net.network.as_str()),
            ];
            page.gauge("unbloat_monitor_network_delay", Unit::Seconds, "Sustained delay of a network of peers in the last interval; the 8 with most delay.")
                .sample(&labels, seconds(net.sustained_ms));
        }
        for layer in &span.layers {
            let wait = page.gauge(
                "unbloat_monitor_layer_wait",
                Unit::Seconds,
                "Wait in a layer of this host in the last interval.",
            );
            wait.sample(
                &[("layer", layer.layer), ("statistic", "mean")],
                layer.mean_ms / 1e3,
            );
            wait.sample(
                &[("layer", layer.layer), ("statistic", "p95")],
                seconds(layer.p95_ms),
            );
        }
    }

    fn episodes(&self, page: &mut Page) {
        for (way, side) in self.sides.entries() {
            let active = f64::from(u8::from(side.open.is_some()));
            page.gauge(
                "unbloat_monitor_episode_active",
                Unit::None,
                "1 during an episode of bufferbloat.",
            )
            .sample(&[("direction", way.name())], active);
            let Some(open) = &side.open else {
                continue;
            };
            for culprit in open.shares().iter().take(4) {
                let labels = [
                    ("direction", way.name()),
                    ("client", culprit.client.as_str()),
                    ("server", culprit.server.as_str()),
                    ("process", culprit.process.as_deref().unwrap_or("")),
                ];
                page.gauge(
                    "unbloat_monitor_culprit",
                    Unit::Ratio,
                    "Fraction of the queued bytes of the present episode, by flow.",
                )
                .sample(&labels, culprit.share);
            }
        }
    }

    fn tests(&self, page: &mut Page) {
        let tests = page.counter("unbloat_monitor_tests", Unit::None, "Active tests.");
        tests.sample(
            &[("result", "complete")],
            (self.tests - self.tests_failed) as f64,
        );
        tests.sample(&[("result", "failed")], self.tests_failed as f64);
        page.counter(
            "unbloat_monitor_test_traffic",
            Unit::Bytes,
            "Bytes that passed the interface during active tests.",
        )
        .value(self.test_bytes as f64);
        let Some(probe) = &self.probe else {
            return;
        };
        for (way, ms, bps) in [
            (Direction::Down, probe.added_down_ms, probe.down_bps),
            (Direction::Up, probe.added_up_ms, probe.up_bps),
        ] {
            let labels = [("direction", way.name())];
            page.gauge(
                "unbloat_monitor_test_added_delay",
                Unit::Seconds,
                "p95 added delay under load of the last active test.",
            )
            .sample(&labels, ms.map(|ms| ms / 1e3));
            page.gauge(
                "unbloat_monitor_test_rate",
                Unit::BytesPerSecond,
                "Throughput of the last active test.",
            )
            .sample(&labels, bps.map(|bps| bps / 8.0));
        }
    }
}
