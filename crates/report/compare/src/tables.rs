//! A comparison as tables, for files and pipes.

use crate::compare::Comparison;
use crate::row::{Interval, Row as Quantity};
use unbloat_table::{Row, Rows, Table, columns};

columns! {
    pub struct QuantityColumns<'a>: quantities = "one row per quantity that both runs have (unbloat compare)" {
        topic: &'a str = "throughput, delay, application, loss, rtt, queue, window or other",
        point: &'a str = "what the point of a sweep sets; empty without a sweep",
        subject: &'a str = "a flow by its name, a direction (down, up), the whole run (all), or flows, users",
        metric: &'a str = "name of the quantity, with its unit",
        statistic: &'a str = "mean (over repeats or time), p50, p95, p99, share or value",
        a: f64 = "value in A",
        a_low: Option<f64> = "lower end of its 95 % confidence interval",
        a_high: Option<f64> = "upper end of it",
        a_count: u64 = "repeats, flows or samples that it rests on",
        b: f64 = "value in B",
        b_low: Option<f64> = "lower end of its 95 % confidence interval",
        b_high: Option<f64> = "upper end of it",
        b_count: u64 = "repeats, flows or samples that it rests on",
        difference: f64 = "B less A",
        difference_low: Option<f64> = "lower end of its 95 % confidence interval",
        difference_high: Option<f64> = "upper end of it",
        relative: Option<f64> = "the difference over A's value; null where that is 0",
        margin: f64 = "a difference up to this does not matter",
        noise: &'a str = "what the intervals rest on: pairs (repeats with the same seeds), repeats, one_side (repeats of one run only), samples, blocks (of time) or unknown",
        outcome: &'a str = "worse, better, changed (neither good nor bad), cannot_tell or same",
        key: bool = "whether the verdict speaks of it",
    }

    pub struct DistributionColumns<'a>: distributions = "one row per distribution that both runs have, over flows, look-ups or time (unbloat compare)" {
        subject: &'a str = "flows, users, a flow by its name, or a direction",
        metric: &'a str = "name of the quantity, with its unit",
        run: &'a str = "a or b",
        count: u64 = "values",
        p1: f64 = "1st percentile",
        p5: f64 = "5th percentile",
        p25: f64 = "25th percentile",
        p50: f64 = "median",
        p75: f64 = "75th percentile",
        p90: f64 = "90th percentile",
        p95: f64 = "95th percentile",
        p99: f64 = "99th percentile",
        ks: f64 = "largest distance between both distribution functions (Kolmogorov, Smirnov)",
        ks_p: Option<f64> = "how often chance makes it so large; null over time, where samples depend on each other",
        delta: f64 = "how often a value of B exceeds one of A, less how often it is the other way round (Cliff)",
        mann_whitney_p: Option<f64> = "how often chance makes that so large; null over time",
    }

    pub struct ConditionColumns<'a>: conditions = "one row per setting in which the runs differ (unbloat compare)" {
        what: &'a str = "name of the setting",
        a: Option<&'a str> = "in A; null where it says nothing of it",
        b: Option<&'a str> = "in B",
    }

    pub struct JudgementColumns<'a>: judgements = "one row per tolerance given with --within (unbloat compare)" {
        tolerance: &'a str = "as given",
        holds: bool = "whether the difference stays within it",
        sure: Option<bool> = "whether all of the difference's 95 % confidence interval says the same; null where its noise is not known",
        worst: Option<&'a str> = "the result that is furthest off; null where none has that name and unit",
        difference: Option<f64> = "its difference, B less A",
    }
}

/// The tables that only a comparison has.
pub fn all_tables() -> [Table; 4] {
    [
        QuantityColumns::table(),
        DistributionColumns::table(),
        ConditionColumns::table(),
        JudgementColumns::table(),
    ]
}

/// All of them with their rows.
pub fn all_rows(comparison: &Comparison) -> Vec<(Table, Rows)> {
    let conditions = comparison.conditions.iter();
    let judgements = comparison.judgements.iter();
    vec![
        QuantityColumns::filled(comparison.quantities.iter().map(quantity_row)),
        DistributionColumns::filled(distribution_rows(comparison)),
        ConditionColumns::filled(conditions.map(|condition| ConditionColumns {
            what: &condition.what,
            a: condition.a.as_deref(),
            b: condition.b.as_deref(),
        })),
        JudgementColumns::filled(judgements.map(|judgement| JudgementColumns {
            tolerance: &judgement.tolerance,
            holds: judgement.holds,
            sure: judgement.is_sure,
            worst: judgement.worst.as_deref(),
            difference: judgement.difference,
        })),
    ]
}

fn quantity_row(quantity: &Quantity) -> QuantityColumns<'_> {
    let (a, b) = (quantity.a, quantity.b);
    let low = |interval: Option<Interval>| interval.map(|ends| ends.low);
    let high = |interval: Option<Interval>| interval.map(|ends| ends.high);
    QuantityColumns {
        topic: quantity.topic.name(),
        point: &quantity.point,
        subject: &quantity.subject,
        metric: &quantity.metric,
        statistic: quantity.statistic,
        a: a.value,
        a_low: low(a.interval),
        a_high: high(a.interval),
        a_count: a.count,
        b: b.value,
        b_low: low(b.interval),
        b_high: high(b.interval),
        b_count: b.count,
        difference: quantity.difference,
        difference_low: low(quantity.interval),
        difference_high: high(quantity.interval),
        relative: quantity.relative,
        margin: quantity.margin,
        noise: quantity.noise.name(),
        outcome: quantity.outcome.name(),
        key: quantity.is_key,
    }
}

fn distribution_rows(comparison: &Comparison) -> impl Iterator<Item = DistributionColumns<'_>> {
    comparison.distributions.iter().flat_map(|one| {
        let sides = [
            ("a", one.count_a, one.quantiles_a),
            ("b", one.count_b, one.quantiles_b),
        ];
        sides.map(
            |(run, count, [p1, p5, p25, p50, p75, p90, p95, p99])| DistributionColumns {
                subject: &one.subject,
                metric: &one.metric,
                run,
                count,
                p1,
                p5,
                p25,
                p50,
                p75,
                p90,
                p95,
                p99,
                ks: one.ks,
                ks_p: one.ks_p,
                delta: one.delta,
                mann_whitney_p: one.mann_whitney_p,
            },
        )
    })
}
