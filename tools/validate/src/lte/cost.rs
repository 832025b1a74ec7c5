//! What a run costs, as the kernel counts it.

use std::fs;

/// Ticks of `/proc/self/stat` a second, on every architecture of Linux.
const TICKS: f64 = 100.0;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub cpu_s: f64,
    pub peak_mb: f64,
}

impl Cost {
    /// Of this process; zeros where the kernel does not tell.
    pub(super) fn so_far() -> Cost {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let stat = read("/proc/self/stat");
        // The name in parentheses may hold spaces; user and system time are fields 14 and 15.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
        let status = read("/proc/self/status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = peak.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        Cost {
            cpu_s: ticks / TICKS,
            peak_mb: kb.unwrap_or(0.0) / 1e3,
        }
    }

    pub(super) fn since(self, earlier: Cost) -> Cost {
        Cost {
            cpu_s: self.cpu_s - earlier.cpu_s,
            peak_mb: self.peak_mb,
        }
    }
}
