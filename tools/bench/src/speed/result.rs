//! What a run of the bench found.

use super::machine::Machine;
use crate::process::Usage;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct SpeedResult {
    pub date: String,
    pub machine: Machine,
    pub rounds: u32,
    /// Load average at the beginning of each round: what others did meanwhile.
    pub loads: Vec<f64>,
    pub captures: Vec<Capture>,
    pub rows: Vec<Row>,
    pub memory: Memory,
    pub flood: Flood,
    pub goals: Vec<Goal>,
    /// CPU minutes of one core for the study's 3.8 billion packets at the paper-like rate.
    pub whole_study_cpu_minutes: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Capture {
    pub name: String,
    pub purpose: String,
    pub packets: u64,
    pub flows: u64,
    /// Most that were alive at once, by the engine's count.
    pub peak_live_flows: u64,
    pub bytes: u64,
}

/// One contestant on one capture.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub capture: String,
    pub contestant: String,
    /// In the order of rounds; empty if it is absent or failed.
    pub cpu_s: Vec<f64>,
    pub wall_s: Vec<f64>,
    pub peak_rss_bytes: Vec<u64>,
    /// Packets per CPU-second, median.
    pub packets_per_cpu_s: Option<f64>,
    /// Its CPU time over that of `unbloat analyze --no-run` in the same round, median.
    pub times_unbloat: Option<f64>,
    /// Why there are no numbers.
    pub absent: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Memory {
    pub empty_rss_bytes: Option<u64>,
    pub many_rss_bytes: Option<u64>,
    pub million_rss_bytes: Option<u64>,
    /// Slope of the peak from `many` to `million`, over flows alive at once.
    pub bytes_per_live_flow: Option<f64>,
    /// What that line has left at no flow: buffers, batches, rows, the program itself.
    pub bytes_beside_flows: Option<f64>,
    /// All of `many` but what an empty capture takes, charged to its flows.
    pub charged_bytes_per_live_flow: Option<f64>,
    pub once_rss_bytes: Option<u64>,
    pub tenfold_rss_bytes: Option<u64>,
    /// Growth of the peak when the trace grows tenfold at equal concurrency.
    pub tenfold_growth_pct: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Flood {
    pub flows: u32,
    pub cpu_s: Option<f64>,
    pub peak_rss_bytes: Option<u64>,
    /// What unbloat said of flows that it gave up.
    pub said: Vec<String>,
    pub failed: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    pub name: &'static str,
    pub wanted: String,
    pub found: String,
    pub met: Met,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    Hit,
    Miss,
    /// The machine was too busy, or a tool is absent.
    Untold,
}

impl Row {
    pub fn new(capture: &str, contestant: &str) -> Row {
        Row {
            capture: capture.to_owned(),
            contestant: contestant.to_owned(),
            cpu_s: Vec::new(),
            wall_s: Vec::new(),
            peak_rss_bytes: Vec::new(),
            packets_per_cpu_s: None,
            times_unbloat: None,
            absent: None,
        }
    }

    pub fn add(&mut self, usage: Usage) {
        self.cpu_s.push(usage.cpu_s);
        self.wall_s.push(usage.wall_s);
        self.peak_rss_bytes.push(usage.peak_rss_bytes);
    }

    pub fn peak_rss(&self) -> Option<u64> {
        self.peak_rss_bytes.iter().copied().max()
    }
}

impl SpeedResult {
    pub fn capture(&self, name: &str) -> Option<&Capture> {
        self.captures.iter().find(|c| c.name == name)
    }

    pub fn row(&self, capture: &str, contestant: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|r| r.capture == capture && r.contestant == contestant)
    }
}

/// The middle one; the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Median of the ratios round by round, so that a slow phase of the machine hits both.
pub fn paired(above: &[f64], below: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = above.iter().zip(below).map(|(a, b)| a / b).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round() {
        assert_eq!(paired(&[2.0, 20.0, 6.0], &[1.0, 10.0, 2.0]), Some(2.0));
        assert_eq!(paired(&[2.0, 9.0], &[1.0]), Some(2.0));
        assert_eq!(paired(&[], &[1.0]), None);
    }

    #[test]
    fn the_median_of_two_is_their_mean() {
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0, 9.0]), Some(3.0));
    }
}
