//! Whether a run is to be believed, and what it cost.

use crate::shortage::{Repairs, Shortage};
use unbloat_emulator::Report;
use unbloat_experiment::outcome::RunResult;
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// How well emulator and workloads kept to time, and whether the kernel did what the path does not explain.
#[derive(Debug)]
pub struct Verdict {
    pub emulator: Report,
    /// How late workloads were woken, in µs.
    pub app_lateness_us: LogHistogram,
    pub traffic_cpu: Delta,
    pub repairs: Repairs,
    pub shortage: Shortage,
}

impl Verdict {
    /// Every reason not to believe the run.
    pub fn doubts(&self) -> Vec<String> {
        let doubts = self.emulator.doubts();
        let late = self.app_lateness_us.quantile(0.99).unwrap_or(0.0);
        let bound_us = self.app_bound().as_ns() as f64 / 1e3;
        let apps = (late > bound_us).then(|| {
            format!(
                "1 in 100 application wake-ups was more than {:.1} ms late; the limit is {:.1} ms",
                late / 1e3,
                bound_us / 1e3
            )
        });
        let doubts = doubts.iter().map(ToString::to_string).chain(apps);
        doubts
            .chain(self.unexplained())
            .chain(self.memory())
            .collect()
    }

    fn unexplained(&self) -> Option<String> {
        let count = self.repairs.unexplained()?;
        let Repairs {
            retransmissions,
            duplicates,
            dropped,
        } = self.repairs;
        Some(format!(
            "{count} of {retransmissions} retransmissions have no cause on the path, which dropped {dropped} packets ({duplicates} \
             retransmitted segments had arrived before)"
        ))
    }

    fn memory(&self) -> Option<String> {
        let counts = self.shortage.iter();
        let counts: Vec<_> = counts
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        (!counts.is_empty()).then(|| {
            format!(
                "hosts were short of memory for TCP ({}); raise net.ipv4.tcp_mem, or use fewer flows or smaller windows",
                counts.join(", ")
            )
        })
    }

    /// How late applications may be woken: what real ones bear is more than what the path may add.
    fn app_bound(&self) -> Delta {
        (self.emulator.base_rtt / 20).max(APP_FLOOR)
    }

    pub fn is_trustworthy(&self) -> bool {
        self.doubts().is_empty()
    }
}

/// Lateness of applications that is never held against a run.
const APP_FLOOR: Delta = Delta::ms(1);

/// Results of the lab itself, as of the subject `lab`: bounds may speak of them.
pub fn lab_results(verdict: &Verdict) -> Vec<RunResult> {
    let result = |metric: &str, value: f64| RunResult {
        subject: "lab".to_owned(),
        metric: metric.to_owned(),
        value,
    };
    let report = &verdict.emulator;
    let mut results = Vec::new();
    for (name, lateness) in [
        ("lateness", &report.lateness_us),
        ("app_lateness", &verdict.app_lateness_us),
    ] {
        let quantiles = lateness.quantiles([0.5, 0.99]).into_iter().flatten();
        for (what, value) in ["p50", "p99"].into_iter().zip(quantiles) {
            results.push(result(&format!("{name}_{what}_us"), value));
        }
        results.extend(
            lateness
                .max()
                .map(|max| result(&format!("{name}_max_us"), max)),
        );
    }
    results.push(result("emulator_cpu_s", report.cpu.as_secs()));
    results.push(result("traffic_cpu_s", verdict.traffic_cpu.as_secs()));
    let per_packet = report.cpu_per_packet();
    results.extend(per_packet.map(|cpu| result("cpu_per_packet_us", cpu.as_ns() as f64 / 1e3)));
    results.push(result("device_drops", report.device_drops as f64));
    let is_trustworthy = f64::from(u8::from(verdict.is_trustworthy()));
    results.push(result("trustworthy", is_trustworthy));
    results
}
