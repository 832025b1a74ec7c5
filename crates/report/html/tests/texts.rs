//! What people read of small fixed runs, as stored in `snapshots/`; INSTA_UPDATE=always stores it anew.

mod synthetic;

use synthetic::HOSTILE;
use unbloat_compare::{Collector, Comparison, Facts, Run, Tolerance, compare};
use unbloat_html::{RenderOptions, comparison_text, render, render_comparison, verdict_text};
use unbloat_table::ColumnData;

/// What stands between head and data of a page: a heading, a paragraph or a row of a table is a line.
fn body(page: &[u8]) -> String {
    const BEGINS: [&str; 10] = [
        "<section",
        "<h2",
        "<p",
        "<ul",
        "<li",
        "<dt",
        "<details",
        "<tr",
        "<div",
        "</section",
    ];
    let page = std::str::from_utf8(page).expect("UTF-8");
    let (_, rest) = page.split_once("<body>").expect("a body");
    let (body, _) = rest.split_once("<script").expect("the data");
    BEGINS.iter().fold(body.to_owned(), |text, tag| {
        text.replace(tag, &format!("\n{tag}"))
    })
}

#[test]
fn a_capture() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (run, outcome) = synthetic::write_run(dir.path(), 150);
    insta::assert_snapshot!("capture_terminal", verdict_text(&outcome.verdict, 80));
    let mut page = Vec::new();
    let run = synthetic::open(&run);
    render(&run, &mut page, &RenderOptions::default()).expect("a report");
    insta::assert_snapshot!("capture_page", body(&page));
}

/// Three repeats of a simulation; what its results are multiplied by.
fn simulated(name: &str, factor: f64) -> Run {
    let facts = Facts {
        name: name.to_owned(),
        clock: "virtual".to_owned(),
        settings: [("scenario".to_owned(), name.to_owned())].into(),
        warnings: vec![format!("{name} was stopped.")],
        verdict: Some(format!("Verdict on {name}.")),
        ..Facts::default()
    };
    let results = [
        ("all", "goodput_bps", 9e6 / factor),
        (HOSTILE, "rtt_p95_ms", 60.0 * factor),
        ("call", "mos", 4.0),
    ];
    let rows: Vec<_> = (0..3)
        .flat_map(|seed| results.map(|(subject, metric, value)| (seed, subject, metric, value)))
        .collect();
    let numbers = |of: fn(&(u64, &str, &str, f64)) -> u64| {
        ColumnData::U64(rows.iter().map(|row| Some(of(row))).collect())
    };
    let values = rows.iter().map(|row| Some(row.3 + row.0 as f64 / 8.0));
    let columns = [
        ("point", numbers(|_| 0)),
        ("seed", numbers(|row| row.0)),
        (
            "subject",
            ColumnData::Text(rows.iter().map(|row| Some(row.1)).collect()),
        ),
        (
            "metric",
            ColumnData::Text(rows.iter().map(|row| Some(row.2)).collect()),
        ),
        ("value", ColumnData::F64(values.collect())),
    ];
    let (names, data): (Vec<String>, Vec<ColumnData>) = columns
        .into_iter()
        .map(|(column, data)| (column.to_owned(), data))
        .unzip();
    let mut collector = Collector::new(facts, 0);
    collector.has_table("results");
    collector
        .add("results", &names, &data)
        .expect("our own table");
    collector.finish()
}

fn comparison() -> Comparison {
    let within: Tolerance = "goodput >= -2 %".parse().expect("a tolerance");
    compare(
        &simulated("before", 1.0),
        &simulated(HOSTILE, 2.0),
        &[within],
    )
}

#[test]
fn two_runs() {
    let comparison = comparison();
    insta::assert_snapshot!("comparison_terminal", comparison_text(&comparison, 100, 30));
    let mut page = Vec::new();
    render_comparison(&comparison, &mut page).expect("a page");
    insta::assert_snapshot!("comparison_page", body(&page));
}

#[test]
fn names_of_runs_and_subjects_never_become_markup() {
    let mut page = Vec::new();
    render_comparison(&comparison(), &mut page).expect("a page");
    let page = String::from_utf8(page).expect("UTF-8");
    assert!(!page.contains("<img") && !page.contains("<script>document.title"));
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, 3, "data, charts and our own");
    assert_eq!(page.matches("</script>").count(), scripts);
    let (_, title) = page.split_once("<title>").expect("a title");
    assert!(title.starts_with("unbloat: before and &lt;/script&gt;&lt;script&gt;"));
}
