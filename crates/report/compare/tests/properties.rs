//! What holds of any two runs.

use proptest::prelude::*;
use unbloat_compare::{Collector, Comparison, Facts, Outcome, Overall, Run, Tolerance, compare};
use unbloat_table::{ColumnData, Row, columns};

/// Rows of a table by column: (name, values).
#[derive(Debug)]
struct Piece {
    table: &'static str,
    columns: Vec<(&'static str, ColumnData)>,
}

impl Piece {
    fn rows(&self) -> usize {
        let is_known = |row| {
            let of_column = |(_, data): &(&str, ColumnData)| {
                data.as_f64(row).is_some() || data.as_text(row).is_some()
            };
            self.columns.iter().any(of_column)
        };
        (0..).take_while(|&row| is_known(row)).count()
    }

    fn permuted(&self, order: &[usize]) -> Piece {
        let permute = |data: &ColumnData| match data {
            ColumnData::U64(v) => ColumnData::U64(order.iter().map(|i| v.get(*i)).collect()),
            ColumnData::I64(v) => ColumnData::I64(order.iter().map(|i| v.get(*i)).collect()),
            ColumnData::F64(v) => ColumnData::F64(order.iter().map(|i| v.get(*i)).collect()),
            ColumnData::Bool(v) => ColumnData::Bool(order.iter().map(|i| v.get(*i)).collect()),
            ColumnData::Text(v) => ColumnData::Text(order.iter().map(|i| v.get(*i)).collect()),
        };
        let columns = self
            .columns
            .iter()
            .map(|(name, data)| (*name, permute(data)));
        Piece {
            table: self.table,
            columns: columns.collect(),
        }
    }
}

fn run(name: &str, pieces: &[Piece]) -> Run {
    let facts = Facts {
        name: name.into(),
        clock: "virtual".into(),
        ..Facts::default()
    };
    let mut collector = Collector::new(facts, 0);
    for piece in pieces {
        let (names, columns): (Vec<String>, Vec<ColumnData>) = piece
            .columns
            .iter()
            .map(|(column, data)| ((*column).to_owned(), data.clone()))
            .unzip();
        collector.has_table(piece.table);
        collector
            .add(piece.table, &names, &columns, piece.rows())
            .expect("our own tables");
    }
    collector.finish()
}

fn texts(values: &[String]) -> ColumnData {
    ColumnData::Text(values.iter().map(|value| Some(value.as_str())).collect())
}

fn results(rows: &[(u8, u8, usize, f64)]) -> Piece {
    const METRICS: [&str; 4] = ["goodput_bps", "rtt_p95_ms", "mos", "drops"];
    let numbers = |of: fn(&(u8, u8, usize, f64)) -> u64| {
        ColumnData::U64(rows.iter().map(|row| Some(of(row))).collect())
    };
    let subjects: Vec<String> = rows
        .iter()
        .map(|row| format!("flow-{}", row.1 % 3))
        .collect();
    let metrics: Vec<String> = rows
        .iter()
        .map(|row| METRICS[row.2 % 4].to_owned())
        .collect();
    Piece {
        table: "results",
        columns: vec![
            ("point", numbers(|_| 0)),
            ("seed", numbers(|row| u64::from(row.0))),
            ("subject", texts(&subjects)),
            ("metric", texts(&metrics)),
            (
                "value",
                ColumnData::F64(rows.iter().map(|row| Some(row.3)).collect()),
            ),
        ],
    }
}

fn queue(rows: &[(i64, bool, u64)]) -> Piece {
    let directions: Vec<String> = rows
        .iter()
        .map(|row| if row.1 { "up" } else { "down" }.to_owned())
        .collect();
    let bytes = || ColumnData::U64(rows.iter().map(|row| Some(row.2)).collect());
    Piece {
        table: "queue_series",
        columns: vec![
            (
                "time_ns",
                ColumnData::I64(rows.iter().map(|row| Some(row.0)).collect()),
            ),
            ("direction", texts(&directions)),
            ("hop", ColumnData::U64(rows.iter().map(|_| None).collect())),
            ("place", texts(&vec!["path".to_owned(); rows.len()])),
            ("backlog_bytes", bytes()),
            ("backlog_packets", bytes()),
        ],
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        0.0..1e3,
        -1e3..1e9,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(-1e308),
        Just(0.0),
    ]
}

prop_compose! {
    fn any_run()(
        values in prop::collection::vec((0..6u8, any::<u8>(), 0..4usize, any_number()), 0..60),
        samples in prop::collection::vec((-5..120_000_000_000i64, any::<bool>(), 0..1_000_000u64), 0..300),
    ) -> Vec<Piece> {
        vec![results(&values), queue(&samples)]
    }
}

fn negated(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Better => Outcome::Worse,
        Outcome::Worse => Outcome::Better,
        other => other,
    }
}

fn assert_mirrored(ab: &Comparison, ba: &Comparison) -> Result<(), TestCaseError> {
    prop_assert_eq!(ab.quantities.len(), ba.quantities.len());
    for (x, y) in ab.quantities.iter().zip(&ba.quantities) {
        prop_assert_eq!(x.difference, -y.difference);
        prop_assert_eq!(x.margin, y.margin);
        prop_assert_eq!(x.outcome, negated(y.outcome));
        prop_assert_eq!(
            x.interval.map(|ends| (ends.low, ends.high)),
            y.interval.map(|ends| (-ends.high, -ends.low))
        );
    }
    for (x, y) in ab.distributions.iter().zip(&ba.distributions) {
        prop_assert_eq!(
            (x.delta, x.ks, x.quantiles_a),
            (-y.delta, y.ks, y.quantiles_b)
        );
    }
    prop_assert_eq!(&ab.only_in_a, &ba.only_in_b);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_run_against_itself_has_no_difference(pieces in any_run()) {
        let one = run("one", &pieces);
        let found = compare(&one, &one, &["rtt_p95 0 %".parse::<Tolerance>().unwrap()]);
        prop_assert!(found.quantities.iter().all(|row| row.difference == 0.0 && row.outcome == Outcome::Same));
        prop_assert!(found.distributions.iter().all(|row| row.delta == 0.0 && row.ks == 0.0));
        prop_assert!(matches!(found.verdict.overall, Overall::Same | Overall::NothingInCommon));
        prop_assert!(found.conditions.is_empty() && found.only_in_a.is_empty());
        let has_rtt = found.quantities.iter().any(|row| row.metric == "rtt_p95_ms");
        prop_assert_eq!(found.judgements[0].holds, has_rtt);
    }

    #[test]
    fn swapping_the_runs_negates(a in any_run(), b in any_run()) {
        let (a, b) = (run("a", &a), run("b", &b));
        assert_mirrored(&compare(&a, &b, &[]), &compare(&b, &a, &[]))?;
    }

    #[test]
    fn the_order_of_rows_does_not_matter(pieces in any_run(), seed in any::<u64>()) {
        let shuffled: Vec<Piece> = pieces.iter().map(|piece| {
            let mut order: Vec<usize> = (0..piece.rows()).collect();
            order.sort_by_key(|i| (*i as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            piece.permuted(&order)
        }).collect();
        let other = run("b", &pieces);
        let (one, two) = (compare(&run("a", &pieces), &other, &[]), compare(&run("a", &shuffled), &other, &[]));
        prop_assert_eq!(one, two);
    }
}

#[test]
fn alike_runs_are_seldom_called_different_and_different_ones_are_found() {
    let noise = |seed: u64| {
        let mixed = (0..12).fold(0.0, |sum, i| {
            let x = seed
                .wrapping_mul(12)
                .wrapping_add(i)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum + ((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64
                / (1_u64 << 53) as f64
        });
        mixed - 6.0
    };
    let of = |first: u64, mean: f64| {
        let rows: Vec<_> = (0..10_u8)
            .map(|seed| {
                (
                    seed.wrapping_add(first as u8),
                    0,
                    1,
                    mean + 10.0 * noise(first + u64::from(seed)),
                )
            })
            .collect();
        run("x", &[results(&rows)])
    };
    let outcome =
        |a: &Run, b: &Run| compare(a, b, &["rtt_p95 0 ms".parse().unwrap()]).quantities[0].outcome;
    let mut wrong = 0;
    for trial in 0..200 {
        let (a, b) = (of(trial * 100, 100.0), of(trial * 100 + 50, 100.0));
        wrong += usize::from(outcome(&a, &b).differs());
        assert_eq!(
            outcome(&a, &of(trial * 100 + 50, 130.0)),
            Outcome::Worse,
            "trial {trial}"
        );
    }
    // 5 % of 200, within what chance makes of that.
    assert!((1..=22).contains(&wrong), "{wrong} of 200");
}

#[test]
fn single_runs_differ_with_a_question_mark() {
    let a = run("a", &[results(&[(1, 0, 0, 20e6)])]);
    let b = run("b", &[results(&[(1, 0, 0, 10e6)])]);
    let found = compare(&a, &b, &[]);
    assert_eq!(found.verdict.overall, Overall::Worse);
    assert_eq!(
        (found.verdict.key.worse, found.verdict.key.unrepeated),
        (1, 1)
    );
    assert_eq!(found.quantities[0].relative, Some(-0.5));
}

/// A test of two stages of ten seconds: uploads add `ms`, jitter around it.
fn test(name: &str, ms: f64, jitter_seed: u64) -> Run {
    let whole = |values: &[u64]| ColumnData::U64(values.iter().copied().map(Some).collect());
    let times = |values: &[i64]| ColumnData::I64(values.iter().copied().map(Some).collect());
    let stages = Piece {
        table: "stages",
        columns: vec![
            ("stage", whole(&[0, 1])),
            ("load", texts(&["idle".to_owned(), "up".to_owned()])),
            ("begin_ns", times(&[0, 10_000_000_000])),
            (
                "judged_from_ns",
                ColumnData::I64([None, Some(12_000_000_000)].into_iter().collect()),
            ),
            ("end_ns", times(&[10_000_000_000, 20_000_000_000])),
        ],
    };
    let at: Vec<i64> = (0..2_000).map(|n| n * 10_000_000).collect();
    let stage: Vec<u64> = at
        .iter()
        .map(|&at| u64::from(at >= 10_000_000_000))
        .collect();
    let added = |load_ms: f64| {
        let of = |(n, &in_load): (usize, &u64)| {
            let jitter = (n as u64 * 7_919 + jitter_seed) % 11;
            // The ramp counts for nothing.
            let ramp_ms = if (1_000..1_200).contains(&n) {
                5_000.0
            } else {
                0.0
            };
            Some(load_ms * in_load as f64 + jitter as f64 / 10.0 + ramp_ms)
        };
        ColumnData::F64(stage.iter().enumerate().map(of).collect())
    };
    let fates: Vec<String> = (0..2_000)
        .map(|n| {
            if n >= 1_000 && n % 20 == 0 {
                "lost_up"
            } else {
                "back"
            }
            .to_owned()
        })
        .collect();
    let echoes = Piece {
        table: "echoes",
        columns: vec![
            ("time_ns", times(&at)),
            ("stage", whole(&stage)),
            ("fate", texts(&fates)),
            ("added_down_ms", added(0.0)),
            ("added_up_ms", added(ms)),
        ],
    };
    let goodput = Piece {
        table: "goodput_series",
        columns: vec![
            ("time_ns", times(&at[1_000..])),
            ("stage", whole(&stage[1_000..])),
            ("direction", texts(&vec!["up".to_owned(); 1_000])),
            (
                "delivered_bps",
                ColumnData::F64((0..1_000).map(|n| Some(5e6 + f64::from(n % 7))).collect()),
            ),
        ],
    };
    run(name, &[stages, echoes, goodput])
}

#[test]
fn two_tests_are_compared_stage_by_stage_without_their_ramps() {
    let (before, after) = (test("before", 200.0, 1), test("after", 5.0, 4));
    let found = compare(&before, &after, &[]);
    assert_eq!(found.verdict.overall, Overall::Better, "{found:?}");
    let leading = &found.quantities[found.verdict.leading[0]];
    assert_eq!(
        (&leading.subject[..], &leading.metric[..]),
        ("up", "added_up_ms")
    );
    assert!((leading.difference + 195.0).abs() < 0.5, "{leading:?}");
    assert_ne!(leading.noise, unbloat_compare::Noise::Unknown);
    let value = |subject: &str, metric: &str| {
        let is_it = |row: &&unbloat_compare::Row| row.subject == subject && row.metric == metric;
        found.quantities.iter().find(is_it).map(|row| row.a.value)
    };
    assert_eq!(value("up", "loss_up_share"), Some(0.05));
    assert_eq!(value("idle", "loss_up_share"), Some(0.0));
    assert!(value("up", "delivered_up_bps").is_some_and(|bps| (bps - 5e6).abs() < 10.0));
    // The same again differs in nothing.
    let again = compare(&before, &test("again", 200.0, 4), &[]);
    assert_eq!(again.verdict.overall, Overall::Same, "{:?}", again.verdict);
}

/// A day of the monitor, in minutes, of which in every other one a queue of so many ms stood.
fn day(name: &str, number: i64, standing_ms: f64) -> Run {
    columns! {
        struct Minute: monitor_delays = "" {
            start_ns: i64 = "",
            direction: &'static str = "",
            standing_s: f64 = "",
            loaded_s: f64 = "",
            standing_p50_ms: Option<f64> = "",
        }
    }
    let minutes = (0..1_440_i64).map(|minute| {
        let stands = standing_ms > 0.0 && minute % 2 == 0;
        Minute {
            start_ns: (number * 1_440 + minute) * 60_000_000_000,
            direction: "up",
            standing_s: if stands { 30.0 } else { 0.0 },
            loaded_s: 30.0,
            standing_p50_ms: stands.then_some(standing_ms),
        }
    });
    let (table, rows) = Minute::filled(minutes);
    let names: Vec<String> = table.columns.iter().map(|c| c.name.to_owned()).collect();
    let facts = Facts {
        name: name.to_owned(),
        ..Facts::default()
    };
    let mut collector = Collector::new(facts, 0);
    let added = collector.add("monitor_delays", &names, rows.columns(), rows.len());
    added.expect("columns of these types");
    collector.finish()
}

#[test]
fn two_days_of_the_monitor_are_compared() {
    let found = compare(
        &day("monday", 20_000, 200.0),
        &day("tuesday", 20_001, 80.0),
        &[],
    );
    assert_eq!(
        found.verdict.overall,
        Overall::Better,
        "{:?}",
        found.verdict
    );
    let leading = &found.quantities[found.verdict.leading[0]];
    assert_eq!(leading.metric, "standing_delay_ms");
    assert!((leading.difference + 120.0).abs() < 2.0, "{leading:?}");
    let cured = compare(
        &day("monday", 20_000, 200.0),
        &day("cured", 20_002, 0.0),
        &[],
    );
    let most = &cured.quantities[cured.verdict.leading[0]];
    assert_eq!(most.metric, "standing_share");
    assert_eq!((most.a.value, most.b.value), (0.5, 0.0));
}

#[test]
fn a_table_of_wrong_types_is_an_error_that_names_table_and_column() {
    columns! {
        struct Wrong<'a>: results = "" {
            point: &'a str = "",
            seed: u64 = "",
        }
    }
    let wrong_row = Wrong {
        point: "zero",
        seed: 1,
    };
    let (_, rows) = Wrong::filled([wrong_row]);
    let names = ["point".to_owned(), "seed".to_owned()];
    let mut collector = Collector::new(Facts::default(), 0);
    let wrong = collector
        .add("results", &names, rows.columns(), rows.len())
        .unwrap_err()
        .to_string();
    assert!(
        wrong.contains("table results, column point contains text"),
        "{wrong}"
    );
    let missing = collector
        .add("results", &[], &[], 0)
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("table results has no column point"),
        "{missing}"
    );
}

#[test]
fn hostile_names_are_cut_and_their_number_is_bounded() {
    let rows: Vec<(i64, bool, u64)> = (0..5_000).map(|i| (i, false, 1)).collect();
    let mut piece = queue(&rows);
    let directions: Vec<String> = (0..5_000)
        .map(|i| format!("{i}{}", "x".repeat(10_000)))
        .collect();
    piece.columns[1].1 = texts(&directions);
    let one = run("a", &[piece]);
    let found = compare(&one, &one, &[]);
    assert!(found.distributions.len() <= 2_000);
    assert!(
        found
            .distributions
            .iter()
            .all(|row| row.subject.len() <= 200)
    );
    assert!(
        found
            .cautions
            .iter()
            .any(|caution| caution.contains("too large to compare")),
        "{:?}",
        found.cautions
    );
}
