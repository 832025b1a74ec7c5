//! What the name of a result says: its unit, which way is better, how large a difference matters, and where it is listed.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::named;

named! {
    /// What a result is about, in the order in which results are listed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Topic with ALL {
        Throughput = "throughput",
        Delay = "delay",
        /// What users of applications notice.
        Application = "application",
        Loss = "loss",
        Rtt = "rtt",
        Queue = "queue",
        Window = "window",
        Other = "other",
    }
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    More,
    Less,
    Neither,
}

/// A difference matters when it exceeds both: a share of the mean of the two values, and an absolute amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin {
    share: f64,
    least: f64,
}

impl Margin {
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        (self.share * (a.abs() + b.abs()) / 2.0).max(self.least)
    }
}

/// All that a name says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meaning {
    pub topic: Topic,
    pub goal: Goal,
    /// Whether the verdict speaks of it.
    pub is_key: bool,
    pub(crate) margin: Margin,
}

use Goal::{Less, More, Neither};
use Topic::{Application, Delay, Loss, Other, Queue, Rtt, Throughput, Window};

/// A [`base`], and what it means. `*_` stands for any words before, `_*` for any words behind. What is not here is neither good nor bad:
/// `goodput_rsd`, how far a rate varies, is no rate.
const RULES: &[(&str, Topic, Goal, bool)] = &[
    ("goodput", Throughput, More, true),
    ("delivered", Throughput, More, true),
    // Of acknowledgements and copies, too: more of it is no good by itself.
    ("throughput", Throughput, Neither, false),
    ("jain_index", Throughput, More, false),
    ("bandwidth", Throughput, More, false),
    ("utilisation", Throughput, More, false),
    ("rate", Throughput, More, false),
    ("late_share", Application, Less, true),
    ("mos", Application, More, true),
    ("rpm", Application, More, true),
    ("load_time", Application, Less, true),
    ("page_load", Application, Less, true),
    ("fetch", Application, Less, true),
    ("stalls", Application, Less, true),
    ("stalled", Application, Less, true),
    ("startup", Application, Less, true),
    ("completion", Application, Less, true),
    ("unfinished", Application, Less, true),
    ("quality_changes", Application, Less, false),
    ("bitrate", Application, More, true),
    ("first_byte", Application, Less, true),
    ("dns_latency", Application, Less, true),
    ("retransmissions", Loss, Less, true),
    ("retransmission_rate", Loss, Less, true),
    ("retransmitted_share", Loss, Less, true),
    ("drops", Loss, Less, true),
    ("drops_*", Loss, Less, false),
    ("loss_share", Loss, Less, true),
    ("lost_share", Loss, Less, true),
    ("marks", Loss, Neither, false),
    ("marks_*", Loss, Neither, false),
    ("timeouts", Loss, Less, true),
    ("timeouts_in_recovery", Loss, Less, true),
    ("rtos", Loss, Less, true),
    ("delay", Delay, Less, true),
    ("*_delay", Delay, Less, true),
    ("added", Delay, Less, true),
    ("standing_share", Delay, Less, true),
    ("wait", Delay, Less, false),
    ("jitter", Delay, Less, false),
    ("srtt", Rtt, Less, false),
    ("rtt", Rtt, Less, true),
    ("handshake", Rtt, Less, false),
    ("path", Queue, Less, true),
    ("*_backlog", Queue, Less, false),
    ("full_window_share", Window, Neither, false),
    ("in_flight", Window, Neither, false),
    ("cwnd", Window, Neither, true),
];

/// Words that say which value of a quantity, or which way, and not what it is of.
fn is_statistic(word: &str) -> bool {
    let quantile = word.strip_prefix('p').unwrap_or_default();
    matches!(word, "mean" | "max" | "min" | "down" | "up")
        || (!quantile.is_empty() && quantile.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What a name is of: `queue_delay` of `queue_delay_p95_ms`.
fn base(metric: &str) -> String {
    let words = without_unit(metric).split('_');
    let words: Vec<&str> = words.filter(|word| !is_statistic(word)).collect();
    words.join("_")
}

fn fits(pattern: &str, base: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => base.ends_with(end),
        (_, Some(start)) => base.starts_with(start),
        _ => pattern == base,
    }
}

/// What a result of this name is about.
pub fn meaning(metric: &str) -> Meaning {
    let base = base(metric);
    let rule = RULES.iter().find(|(pattern, ..)| fits(pattern, &base));
    let &(_, topic, goal, is_key) = rule.unwrap_or(&("", Other, Neither, false));
    // Quantiles and wholes say it better.
    let mut words = metric.split('_');
    let is_minor = metric.starts_with("mos_")
        || words.any(|word| matches!(word, "mean" | "max" | "min" | "packets"));
    Meaning {
        topic,
        goal,
        is_key: is_key && !is_minor,
        margin: margin(metric, topic, unit(metric)),
    }
}

/// The unit that a name ends with: as a suffix, or of headline numbers in brackets.
pub fn unit(metric: &str) -> &str {
    if let Some((_, unit)) = metric
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['))
    {
        return unit;
    }
    match metric.rsplit_once('_') {
        Some((_, "us")) => "µs",
        Some((_, "ms")) => "ms",
        Some((_, "s")) => "s",
        Some((_, "bps")) => "bit/s",
        Some((_, "bytes")) => "B",
        Some((_, "packets")) => "packets",
        Some((_, "pct")) => "%",
        _ => "",
    }
}

/// A name without the unit that it ends with.
pub fn without_unit(metric: &str) -> &str {
    match unit(metric) {
        "" => metric,
        _ if metric.ends_with(']') => metric,
        _ => metric.rsplit_once('_').map_or(metric, |(name, _)| name),
    }
}

/// 5 % of a rate, 10 % of a delay but not less than 3 ms: differences that nobody notices are none. MOS steps of 0.1 are the
/// precision of the E-model's curve; the rest follows the spread of repeats of a bloated link.
fn margin(metric: &str, topic: Topic, unit: &str) -> Margin {
    let (share, least) = match (unit, topic) {
        ("ms", _) => (0.10, 3.0),
        ("µs", _) => (0.10, 50.0),
        ("s", _) => (0.10, 0.003),
        ("bit/s", _) => (0.05, 1_000.0),
        ("B", _) => (0.10, 3_000.0),
        ("packets", _) => (0.10, 2.0),
        ("%", _) => (0.10, 1.0),
        _ if metric.contains("share") || metric.contains("rate") => (0.0, 0.01),
        _ if metric.contains("mos") => (0.0, 0.1),
        _ if metric.contains("jain") => (0.0, 0.02),
        _ if metric.contains("stall") || metric.contains("unfinished") => (0.10, 0.5),
        (_, Loss) => (0.20, 10.0),
        _ => (0.10, 0.0),
    };
    Margin { share, least }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_topic_goal_and_unit() {
        for (name, topic, goal, unit, is_key) in [
            ("goodput_bps", Throughput, More, "bit/s", true),
            ("queue_delay_p95_ms", Delay, Less, "ms", true),
            ("queue_delay_mean_ms", Delay, Less, "ms", false),
            ("retransmission_rate_down", Loss, Less, "", true),
            ("rate_down_bps", Throughput, More, "bit/s", false),
            ("mos_down", Application, More, "", false),
            ("page_load_p95_ms", Application, Less, "ms", true),
            ("stalled_ms", Application, Less, "ms", true),
            ("rtt_p95_ms", Rtt, Less, "ms", true),
            ("cwnd_bytes", Window, Neither, "B", true),
            ("goodput_rsd", Other, Neither, "", false),
            ("goodput_down_bps", Throughput, More, "bit/s", true),
            ("rtt_rsd", Other, Neither, "", false),
            ("socket_0_backlog_bytes", Queue, Less, "B", false),
            ("drops_overflow", Loss, Less, "", false),
            ("wifi_delay_p50_ms", Delay, Less, "ms", true),
            // Parts of other words.
            ("atmospheric_rtt_drift", Other, Neither, "", false),
            ("limit_down_rwnd_share", Other, Neither, "", false),
            ("delivered_down_bps", Throughput, More, "bit/s", true),
            ("added_up_ms", Delay, Less, "ms", true),
            ("segments", Other, Neither, "", false),
            ("flows of at most 5 s [%]", Other, Neither, "%", false),
        ] {
            let found = meaning(name);
            assert_eq!(
                (found.topic, found.goal, found.is_key),
                (topic, goal, is_key),
                "{name}"
            );
            assert_eq!(super::unit(name), unit, "{name}");
        }
    }

    #[test]
    fn margins_are_the_same_from_both_sides() {
        let margin = meaning("rtt_p95_ms").margin;
        assert_eq!(margin.of(1.0, 2.0), 3.0);
        assert_eq!(margin.of(100.0, 300.0), margin.of(300.0, 100.0));
        assert_eq!(without_unit("rtt_p95_ms"), "rtt_p95");
        assert_eq!(without_unit("jain_index"), "jain_index");
    }
}
