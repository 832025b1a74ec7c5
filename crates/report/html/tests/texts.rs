//! What people read of small fixed runs, as stored in `snapshots/`; INSTA_UPDATE=always stores it anew.

#[path = "synthetic/comparison.rs"]
mod comparison;
mod synthetic;

use comparison::comparison;
use unbloat_html::{RenderOptions, comparison_text, render, render_comparison, verdict_text};

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
