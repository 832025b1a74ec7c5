//! Whether a run is to be believed, and what it cost.

use unbloat_emulator::Report;
use unbloat_outcome::RunResult;
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// How well emulator and workloads kept to time.
#[derive(Debug)]
pub struct Verdict {
    pub emulator: Report,
    /// How late workloads were woken, in µs.
    pub app_lateness_us: LogHistogram,
    pub traffic_cpu: Delta,
}

impl Verdict {
    /// Every reason not to believe the run.
    pub fn doubts(&self) -> Vec<String> {
        let doubts = self.emulator.doubts();
        doubts.iter().map(ToString::to_string).collect()
    }

    pub fn is_trustworthy(&self) -> bool {
        self.emulator.doubts().is_empty()
    }
}

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
