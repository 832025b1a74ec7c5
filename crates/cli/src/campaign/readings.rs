//! Converts the findings of a test to the numbers that a campaign compares.

use unbloat_campaign::Reading;
use unbloat_loadtest::{Findings, LoadFindings, Measured};
use unbloat_units::Direction;

/// Mean round-trip time under load minus the idle median.
pub const ADDED_MEAN: &str = "added_mean_ms";

pub fn readings(measured: &Measured, found: &Findings) -> Vec<Reading> {
    let mut list = List::default();
    if let Some([p50, p95, p99]) = found.idle.rtt {
        for (name, span) in [
            ("rtt_p50_ms", p50),
            ("rtt_p95_ms", p95),
            ("rtt_p99_ms", p99),
        ] {
            list.add("idle", "all", name, span.as_ms());
        }
    }
    for load in &found.loads {
        of_load(load, &mut list);
    }
    // The graded values; a run without a grade has none.
    let graded = found
        .verdict
        .grade
        .iter()
        .flat_map(|_| &found.verdict.directions);
    for load in graded {
        list.add(load.direction.name(), "all", ADDED_MEAN, load.added.as_ms());
    }
    for app in &measured.apps {
        let load = measured
            .stages
            .get(app.stage)
            .map_or("idle", |stage| stage.load.name());
        for metric in &app.report.metrics {
            list.add(load, &app.report.name, &metric.name, metric.value);
        }
        list.add(load, &app.report.name, "failed", app.report.failed as f64);
    }
    list.readings
}

fn of_load(found: &LoadFindings, list: &mut List) {
    let load = found.load.name();
    for direction in Direction::BOTH {
        let name = direction.name();
        for (metric, rate) in [
            ("delivered_bps", found.delivered[direction]),
            ("goodput_bps", found.goodput[direction]),
        ] {
            if let Some(rate) = rate {
                list.add(load, name, metric, rate.as_bps_f64());
            }
        }
        if let Some(added) = &found.added[direction] {
            let quantiles = [
                ("added_p50_ms", added.p50),
                ("added_p95_ms", added.p95),
                ("added_p99_ms", added.p99),
            ];
            for (metric, estimate) in quantiles {
                list.add(load, name, metric, estimate.value.as_ms());
            }
        }
        if let Some(loss) = found.account.loss()[direction] {
            list.add(load, name, "loss_share", loss);
        }
    }
    if let Some(added) = &found.added_rtt {
        let quantiles = [
            ("added_p50_ms", added.p50),
            ("added_p95_ms", added.p95),
            ("added_p99_ms", added.p99),
        ];
        for (metric, estimate) in quantiles {
            list.add(load, "all", metric, estimate.value.as_ms());
        }
    }
    if let Some(rpm) = found.rpm {
        list.add(load, "all", "rpm", rpm.as_f64());
    }
}

#[derive(Default)]
struct List {
    readings: Vec<Reading>,
}

impl List {
    fn add(&mut self, load: &str, subject: &str, metric: &str, value: f64) {
        if value.is_finite() {
            self.readings.push(Reading {
                load: load.to_owned(),
                subject: subject.to_owned(),
                metric: metric.to_owned(),
                value,
            });
        }
    }
}
