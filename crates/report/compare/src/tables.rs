//! A comparison as tables, for files and pipes.

use crate::compare::Comparison;
use crate::row::Interval;
use unbloat_table::{Column, Order, Rows, Table};

/// The tables that only a comparison has.
pub fn all_tables() -> [Table; 4] {
    [quantities(), distributions(), conditions(), judgements()]
}

/// All of them with their rows.
pub fn all_rows(comparison: &Comparison) -> Vec<(Table, Rows)> {
    let [quantities, distributions, conditions, judgements] = all_tables();
    let rows = [
        quantity_rows(&quantities, comparison),
        distribution_rows(&distributions, comparison),
        condition_rows(&conditions, comparison),
        judgement_rows(&judgements, comparison),
    ];
    [quantities, distributions, conditions, judgements]
        .into_iter()
        .zip(rows)
        .collect()
}

fn quantities() -> Table {
    Table {
        name: "quantities",
        doc: "one row per quantity that both runs have (unbloat compare)",
        columns: vec![
            Column::text(
                "topic",
                "throughput, delay, application, loss, rtt, queue, window or other",
            ),
            Column::text(
                "point",
                "what the point of a sweep sets; empty without a sweep",
            ),
            Column::text(
                "subject",
                "a flow by its name, a direction (down, up), the whole run (all), or flows, users",
            ),
            Column::text("metric", "name of the quantity, with its unit"),
            Column::text(
                "statistic",
                "mean (over repeats or time), p50, p95, p99, share or value",
            ),
            Column::f64("a", "value in A"),
            Column::f64("a_low", "lower end of its 95 % confidence interval"),
            Column::f64("a_high", "upper end of it"),
            Column::u64("a_count", "repeats, flows or samples that it rests on"),
            Column::f64("b", "value in B"),
            Column::f64("b_low", "lower end of its 95 % confidence interval"),
            Column::f64("b_high", "upper end of it"),
            Column::u64("b_count", "repeats, flows or samples that it rests on"),
            Column::f64("difference", "B less A"),
            Column::f64(
                "difference_low",
                "lower end of its 95 % confidence interval",
            ),
            Column::f64("difference_high", "upper end of it"),
            Column::f64(
                "relative",
                "the difference over A's value; null where that is 0",
            ),
            Column::f64("margin", "a difference up to this does not matter"),
            Column::text(
                "noise",
                "what the intervals rest on: pairs (repeats with the same seeds), repeats, one_side (repeats of one run only), samples, blocks (of time) or unknown",
            ),
            Column::text(
                "outcome",
                "worse, better, changed (neither good nor bad), cannot_tell or same",
            ),
            Column::bool("key", "whether the verdict speaks of it"),
        ],
    }
}

fn distributions() -> Table {
    Table {
        name: "distributions",
        doc: "one row per distribution that both runs have, over flows, look-ups or time (unbloat compare)",
        columns: vec![
            Column::text(
                "subject",
                "flows, users, a flow by its name, or a direction",
            ),
            Column::text("metric", "name of the quantity, with its unit"),
            Column::text("run", "a or b"),
            Column::u64("count", "values"),
            Column::f64("p1", "1st percentile"),
            Column::f64("p5", "5th percentile"),
            Column::f64("p25", "25th percentile"),
            Column::f64("p50", "median"),
            Column::f64("p75", "75th percentile"),
            Column::f64("p90", "90th percentile"),
            Column::f64("p95", "95th percentile"),
            Column::f64("p99", "99th percentile"),
            Column::f64(
                "ks",
                "largest distance between both distribution functions (Kolmogorov, Smirnov)",
            ),
            Column::f64(
                "ks_p",
                "how often chance makes it so large; null over time, where samples depend on each other",
            ),
            Column::f64(
                "delta",
                "how often a value of B exceeds one of A, less how often it is the other way round (Cliff)",
            ),
            Column::f64(
                "mann_whitney_p",
                "how often chance makes that so large; null over time",
            ),
        ],
    }
}

fn conditions() -> Table {
    Table {
        name: "conditions",
        doc: "one row per setting in which the runs differ (unbloat compare)",
        columns: vec![
            Column::text("what", "name of the setting"),
            Column::text("a", "in A; null where it says nothing of it"),
            Column::text("b", "in B"),
        ],
    }
}

fn judgements() -> Table {
    Table {
        name: "judgements",
        doc: "one row per tolerance given with --within (unbloat compare)",
        columns: vec![
            Column::text("tolerance", "as given"),
            Column::bool("holds", "whether the difference stays within it"),
            Column::bool(
                "sure",
                "whether all of the difference's 95 % confidence interval says the same; null where its noise is not known",
            ),
            Column::text(
                "worst",
                "the result that is furthest off; null where none has that name and unit",
            ),
            Column::f64("difference", "its difference, B less A"),
        ],
    }
}

fn quantity_rows(table: &Table, comparison: &Comparison) -> Rows {
    let mut rows = Rows::new(table);
    for (quantity, number) in comparison.quantities.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.text(quantity.topic.name());
        row.text(quantity.point.as_str());
        row.text(quantity.subject.as_str());
        row.text(quantity.metric.as_str());
        row.text(quantity.statistic);
        for side in [quantity.a, quantity.b] {
            row.f64(side.value);
            row.f64(side.interval.map(|ends| ends.low));
            row.f64(side.interval.map(|ends| ends.high));
            row.u64(side.count);
        }
        row.f64(quantity.difference);
        let ends = |of: fn(Interval) -> f64| quantity.interval.map(of);
        row.f64(ends(|ends| ends.low));
        row.f64(ends(|ends| ends.high));
        row.f64(quantity.relative);
        row.f64(quantity.margin);
        row.text(quantity.noise.name());
        row.text(quantity.outcome.name());
        row.bool(quantity.is_key);
    }
    rows
}

fn distribution_rows(table: &Table, comparison: &Comparison) -> Rows {
    let mut rows = Rows::new(table);
    for (one, number) in comparison.distributions.iter().zip(0..) {
        for (run, count, quantiles) in [
            ("a", one.count_a, one.quantiles_a),
            ("b", one.count_b, one.quantiles_b),
        ] {
            let mut row = rows.row(order(number));
            row.text(one.subject.as_str());
            row.text(one.metric.as_str());
            row.text(run);
            row.u64(count);
            quantiles.into_iter().for_each(|value| row.f64(value));
            row.f64(one.ks);
            row.f64(one.ks_p);
            row.f64(one.delta);
            row.f64(one.mann_whitney_p);
        }
    }
    rows
}

fn condition_rows(table: &Table, comparison: &Comparison) -> Rows {
    let mut rows = Rows::new(table);
    for (condition, number) in comparison.conditions.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.text(condition.what.as_str());
        row.text(condition.a.as_deref());
        row.text(condition.b.as_deref());
    }
    rows
}

fn judgement_rows(table: &Table, comparison: &Comparison) -> Rows {
    let mut rows = Rows::new(table);
    for (judgement, number) in comparison.judgements.iter().zip(0..) {
        let mut row = rows.row(order(number));
        row.text(judgement.tolerance.as_str());
        row.bool(judgement.holds);
        row.bool(judgement.is_sure);
        row.text(judgement.worst.as_deref());
        row.f64(judgement.difference);
    }
    rows
}

fn order(number: u64) -> Order {
    Order {
        written_at: number,
        subject: 0,
    }
}
