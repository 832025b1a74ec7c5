//! The metrics of `unbloat analyze --interface`: the verdict so far.

use unbloat_analyze::Standing;
use unbloat_health::Health;
use unbloat_metrics::{Page, Unit};
use unbloat_summary::{Verdict, VerdictKind};

const KINDS: [(VerdictKind, &str); 6] = [
    (VerdictKind::Bloated, "bloated"),
    (VerdictKind::Slight, "slight"),
    (VerdictKind::Clean, "clean"),
    (VerdictKind::OtherDelay, "other_delay"),
    (VerdictKind::NotTested, "not_tested"),
    (VerdictKind::CannotTell, "cannot_tell"),
];

pub fn page(verdict: &Verdict, standing: &Standing, health: &Health) -> Page {
    let mut page = Page::default();
    page.counter(
        "unbloat_analyze_packets",
        Unit::None,
        "Packets that were analysed.",
    )
    .value(standing.packets as f64);
    page.counter(
        "unbloat_analyze_kernel_dropped_packets",
        Unit::None,
        "Packets that the kernel dropped before they were analysed.",
    )
    .value(health.kernel_drops.map(|drops| drops as f64));
    for (way, found) in verdict.directions.entries() {
        let labels = [("direction", way.name())];
        for (kind, name) in KINDS {
            let is_it = f64::from(u8::from(found.kind == kind));
            page.gauge(
                "unbloat_analyze_verdict",
                Unit::None,
                "1 for the verdict so far.",
            )
            .sample(&[("direction", way.name()), ("verdict", name)], is_it);
        }
        let delay = page.gauge(
            "unbloat_analyze_standing_delay",
            Unit::Seconds,
            "Added delay while a queue stood.",
        );
        for (statistic, ms) in [
            ("p50", found.standing_p50_ms),
            ("p95", found.standing_p95_ms),
        ] {
            delay.sample(
                &[("direction", way.name()), ("statistic", statistic)],
                ms.map(|ms| ms / 1e3),
            );
        }
        page.gauge(
            "unbloat_analyze_standing",
            Unit::Seconds,
            "Time for which a queue stood.",
        )
        .sample(&labels, found.standing_s);
        page.gauge(
            "unbloat_analyze_loaded",
            Unit::Seconds,
            "Time in which traffic loaded the direction.",
        )
        .sample(&labels, found.loaded_s);
        page.gauge(
            "unbloat_analyze_rate",
            Unit::BytesPerSecond,
            "Rate of the client's traffic under load.",
        )
        .sample(&labels, found.rate_bps.map(|bps| bps / 8.0));
    }
    page
}
