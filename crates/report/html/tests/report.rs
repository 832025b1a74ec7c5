//! The report over made-up runs: whole, bounded, and safe against what hosts call themselves.

mod synthetic;

use std::path::Path;
use synthetic::HOSTILE;
use unbloat_html::{RenderOptions, Rendered, ReportError, render, verdict_text};
use unbloat_run::{RunInfo, RunReader, RunWriter};
use unbloat_summary::{Outcome, Verdict};
use unbloat_table::{Row, columns};

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
    assert!(html.contains("30 of 1,500 flows are included"));
    assert!(html.contains("in bins of 10 ms"));
    let data = data(&html);
    let flows = data["flows"].as_array().unwrap();
    let has = |id: u64| flows.iter().find(|f| f["id"] == id);
    let down = &outcome.verdict.directions.down;
    assert!(!down.fillers.is_empty());
    for filler in &down.fillers {
        let flow = has(filler.flow_id).expect("a time line of each flow that fills the queue");
        let t = flow["down"]["in_flight"]["t"].as_array().unwrap();
        assert!(t.len() > 50 && t.windows(2).all(|w| w[0].as_i64() < w[1].as_i64()));
        assert_eq!(
            flow["down"]["in_flight"]["v"][0].as_array().unwrap().len(),
            t.len()
        );
    }
    let named: Vec<u64> = outcome.verdict.named_flows().collect();
    assert!(named.iter().all(|id| has(*id).is_some()));
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
    assert!(html.contains("Not tested: nothing loaded the path"));
    assert!(verdict_text(&outcome.verdict, 80).starts_with("Not tested: "));
}

#[test]
fn the_terminal_text_is_short_aligned_and_cannot_steer_the_terminal() {
    let (.., outcome) = report(1000, &RenderOptions::default());
    let mut verdict: Verdict = outcome.verdict;
    verdict.directions.down.waiting[0].server = "evil\x1b[2J\r\n:443".to_owned();
    let text = verdict_text(&verdict, 100);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        (8..=28).contains(&lines.len()),
        "{} lines:\n{text}",
        lines.len()
    );
    assert!(!text.contains(['\x1b', '\r']));
    assert!(lines.iter().all(|l| l.trim_end() == *l));
    let head = lines
        .iter()
        .position(|l| l.trim_start().starts_with("flows that wait"))
        .unwrap();
    let width = |line: &str| line.chars().count();
    assert_eq!(
        width(lines[head]),
        width(lines[head + 1]),
        "columns end at one place"
    );
}

columns! {
    struct HopRow<'a>: hops = "" {
        load: &'a str = "",
        hop: u64 = "",
        address: &'a str = "",
        kind: &'a str = "",
        is_far_end: bool = "",
        idle_p50_ms: f64 = "",
        loaded_p50_ms: f64 = "",
        persisting_ms: f64 = "",
    }

    struct LocationRow<'a>: locations = "" {
        finding: &'a str = "",
        text: &'a str = "",
    }
}

/// A path of a peer, two routers, of which one is silent, and the far end, as `unbloat locate` writes it.
fn located(dir: &Path) -> RunReader {
    let hops = [(0, 1.0, 1.5), (1, 1.0, 1.25), (3, 9.0, 89.0)];
    let hops = hops.map(|(hop, idle_p50_ms, loaded_p50_ms)| HopRow {
        load: "up",
        hop,
        address: "10.0.0.1",
        kind: "plain",
        is_far_end: hop == 3,
        idle_p50_ms,
        loaded_p50_ms,
        persisting_ms: loaded_p50_ms - idle_p50_ms,
    });
    let location = LocationRow {
        finding: "queue",
        text: "During upload: the queue is <here>\n  also there",
    };
    let (hops, hop_rows) = HopRow::filled(hops);
    let (locations, location_rows) = LocationRow::filled([location]);
    let info = RunInfo::new("unbloat locate", "0.1.0", Vec::new());
    let tables = [hops, locations];
    let mut writer = RunWriter::create(&dir.join("run"), &info, &tables).expect("a fresh folder");
    for (at, rows) in [hop_rows, location_rows].iter().enumerate() {
        writer.append(at, rows).expect("rows of that table");
    }
    RunReader::open(&writer.finish(&info).expect("a whole run")).expect("a run")
}

#[test]
fn a_located_queue_is_said_first_and_drawn_hop_by_hop() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut out = Vec::new();
    render(&located(dir.path()), &mut out, &RenderOptions::default()).expect("a report");
    let html = String::from_utf8(out).expect("UTF-8");
    assert!(html.contains("<p>During upload: the queue is &lt;here&gt;<br>  also there</p>"));
    assert!(html.contains("<summary>Hops (3)</summary>"));
    assert!(html.contains("<td>3, the far end</td>"));
    let data = data(&html);
    let figures = data["sweep"].as_array().expect("figures");
    let ids: Vec<&str> = figures
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(ids, ["locate-added", "locate-up"]);
    for figure in figures {
        assert_eq!(figure["ticks"].to_string(), r#"["here","peer","1","3"]"#);
    }
    let added = &data["figures"]["locate-added"][0];
    assert_eq!(added["series"], "during upload");
    assert_eq!(added["x"].to_string(), "[0.0,1.0,2.0,3.0]");
    assert_eq!(added["y"].to_string(), "[0.0,0.5,0.25,80.0]");
    let trips = data["figures"]["locate-up"].as_array().expect("curves");
    assert_eq!(trips.len(), 2, "nobody measured a 95th percentile");
}
