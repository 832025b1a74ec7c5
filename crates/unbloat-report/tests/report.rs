//! The report over made-up runs: whole, bounded, and safe against what hosts call themselves.

mod synthetic;

use std::path::Path;
use synthetic::HOSTILE;
use unbloat_report::{RenderOptions, Rendered, ReportError, render, verdict_text};
use unbloat_summary::{Outcome, Verdict};

fn report(flows: u64, options: &RenderOptions) -> (String, Rendered, Outcome) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (run, outcome) = synthetic::write_run(dir.path(), flows);
    let (html, rendered) = rendered(&run, options).expect("a report");
    (html, rendered, outcome)
}

fn rendered(run: &Path, options: &RenderOptions) -> Result<(String, Rendered), ReportError> {
    let mut out = Vec::new();
    let rendered = render(&synthetic::open(run), &mut out, options)?;
    Ok((String::from_utf8(out).expect("UTF-8"), rendered))
}

/// The JSON that the page's script reads.
fn data(html: &str) -> serde_json::Value {
    let (_, rest) = html.split_once("id=\"data\">").expect("the data element");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn names_from_packets_never_become_markup() {
    let (html, ..) = report(400, &RenderOptions::default());
    assert!(!html.contains("<script>document.title"));
    assert!(!html.contains("<img"));
    let scripts = html.matches("<script").count();
    assert_eq!(scripts, 3, "data, charts and our own");
    assert_eq!(html.matches("</script>").count(), scripts);
    let text = data(&html).to_string();
    assert!(
        text.contains("document.title='broken'"),
        "the name is there as data: {HOSTILE}"
    );
}

#[test]
fn the_file_forbids_itself_the_network_and_names_no_address_to_fetch() {
    let (html, ..) = report(60, &RenderOptions::default());
    let (_, policy) = html
        .split_once("Content-Security-Policy\" content=\"")
        .expect("a policy");
    let (policy, _) = policy.split_once('"').expect("its end");
    assert!(policy.contains("default-src 'none'"), "{policy}");
    assert!(
        !policy.contains("connect-src") && !policy.contains("script-src 'unsafe"),
        "{policy}"
    );
    for fetch in [
        "src=\"http",
        "href=\"http",
        "@import",
        "url(http",
        "<link",
        "<iframe",
    ] {
        assert!(!html.contains(fetch), "{fetch}");
    }
}

#[test]
fn every_figure_of_the_study_gets_its_curves() {
    let (html, ..) = report(2000, &RenderOptions::default());
    let figures = &data(&html)["figures"];
    for figure in [
        "2", "3", "4", "5", "6", "7", "8", "10", "13", "14", "19", "20", "21", "22",
    ] {
        let curves = figures[figure]
            .as_array()
            .unwrap_or_else(|| panic!("figure {figure}"));
        let own = curves
            .iter()
            .filter(|c| !c["series"].as_str().unwrap().starts_with("paper"));
        assert!(own.clone().count() > 0, "figure {figure}");
        assert!(
            own.into_iter()
                .all(|c| c["x"].as_array().unwrap().len() > 1),
            "figure {figure}"
        );
    }
    assert!(
        html.contains("50 % TCP DL"),
        "Table 1 is among the key numbers"
    );
}

#[test]
fn the_flows_of_the_verdict_have_time_lines_and_the_rest_is_counted() {
    let options = RenderOptions {
        flows: 30,
        ..RenderOptions::default()
    };
    let (html, rendered, outcome) = report(1500, &options);
    assert_eq!((rendered.flows, rendered.flows_total), (30, 1500));
    assert_eq!(rendered.bytes, html.len() as u64);
    assert!(html.contains("This file holds 30 of 1,500 flows"));
    let data = data(&html);
    let flows = data["flows"].as_array().unwrap();
    let has = |id: u64| flows.iter().find(|f| f["id"] == id);
    for culprit in &outcome.verdict.culprits {
        let flow = has(culprit.flow_id).expect("a time line of each culprit");
        let t = flow["down"]["in_flight"]["t"].as_array().unwrap();
        assert!(t.len() > 50 && t.windows(2).all(|w| w[0].as_i64() < w[1].as_i64()));
        assert_eq!(
            flow["down"]["in_flight"]["v"][0].as_array().unwrap().len(),
            t.len()
        );
    }
    assert!(
        outcome
            .verdict
            .flows
            .iter()
            .all(|f| has(f.flow_id).is_some())
    );
}

#[test]
fn one_flow_can_be_asked_for_and_a_missing_one_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (run, _) = synthetic::write_run(dir.path(), 300);
    let only = |id| RenderOptions {
        only_flow: Some(id),
        ..RenderOptions::default()
    };
    let (html, one) = rendered(&run, &only(7)).expect("a report");
    assert_eq!((one.flows, one.flows_total), (1, 300));
    assert_eq!(data(&html)["flows"][0]["id"], 7);
    let error = rendered(&run, &only(301))
        .expect_err("no such flow")
        .to_string();
    assert!(error.contains("no flow 301"), "{error}");
}

#[test]
fn a_large_run_makes_no_larger_file_than_promised() {
    let (_, rendered, _) = report(30_000, &RenderOptions::default());
    assert!(rendered.bytes < RenderOptions::LARGEST_FILE, "{rendered:?}");
    assert_eq!(rendered.flows, 200);
}

#[test]
fn a_run_without_flows_still_reports() {
    let (html, rendered, outcome) = report(0, &RenderOptions::default());
    assert_eq!(rendered.flows_total, 0);
    assert!(html.contains("Inconclusive"));
    assert!(verdict_text(&outcome.verdict, 80).starts_with("Inconclusive\n"));
}

#[test]
fn the_terminal_text_is_short_aligned_and_cannot_steer_the_terminal() {
    let (.., outcome) = report(1000, &RenderOptions::default());
    let mut verdict: Verdict = outcome.verdict;
    verdict.flows[0].server = "evil\x1b[2J\r\n:443".to_owned();
    let text = verdict_text(&verdict, 100);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        (10..=28).contains(&lines.len()),
        "{} lines:\n{text}",
        lines.len()
    );
    assert!(!text.contains(['\x1b', '\r']));
    assert!(lines.iter().all(|l| l.trim_end() == *l));
    let head = lines
        .iter()
        .position(|l| l.trim_start().starts_with("worst flows"))
        .unwrap();
    let width = |line: &str| line.chars().count();
    assert_eq!(
        width(lines[head]),
        width(lines[head + 1]),
        "columns end at one place"
    );
}
