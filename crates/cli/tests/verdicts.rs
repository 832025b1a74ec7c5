//! Verdicts of `unbloat analyze` on the labelled captures of `captures/verdicts`: the short form of `bench/verdicts`.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/verdicts")
}

fn labels() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("labels.json")).unwrap();
    let labels: Value = serde_json::from_str(&text).unwrap();
    labels.as_array().unwrap().clone()
}

fn verdict(file: &str) -> Value {
    let run = tempfile::tempdir().unwrap();
    let out = run.path().join("run");
    let done = Command::new(env!("CARGO_BIN_EXE_unbloat"))
        .arg("analyze")
        .arg(folder().join(file))
        .arg("--out")
        .arg(&out)
        .output();
    let done = done.unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{file}: {told}");
    let text = std::fs::read_to_string(out.join("run.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["verdict"].take()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn accepts(label: &Value, kind: &str) -> bool {
    let words = label["accept"].as_array().unwrap();
    words.iter().any(|word| text(word) == kind)
}

/// What is wrong with a verdict, by its label.
fn faults(label: &Value, verdict: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let kind = text(&verdict["kind"]);
    if !accepts(label, kind) {
        faults.push(format!("says {kind}, right is {}", label["accept"]));
    }
    for way in ["down", "up"] {
        let (true_way, said) = (&label["directions"][way], &verdict["directions"][way]);
        let (is_said, is_true) = (
            text(&said["kind"]) == "bloated",
            accepts(true_way, "bloated"),
        );
        let must_say = true_way["visible"] == "full" && text(&true_way["kind"]) == "bloated";
        if (is_said && !is_true) || (must_say && !is_said) {
            faults.push(format!(
                "{way} is {}, not {}",
                true_way["kind"], said["kind"]
            ));
        }
        if is_said && is_true {
            faults.extend(filler_fault(true_way, said).map(|fault| format!("{way}: {fault}")));
        }
    }
    faults
}

/// Whether the one who fills the queue most is one of those that do, and is not traffic that was not captured, unless it is.
fn filler_fault(label: &Value, said: &Value) -> Option<String> {
    let is_unseen = label["unseen_share"].as_f64().unwrap() >= 0.7;
    if is_unseen != (said["filled_by_unseen"] == true) {
        return Some(format!(
            "filled by traffic that was not captured: {is_unseen}"
        ));
    }
    let share = |flow: &&Value| (flow["share"].as_f64().unwrap_or(0.0) * 1e6) as i64;
    let first = said["fillers"].as_array()?.iter().max_by_key(share)?;
    let fillers = label["fillers"].as_array().unwrap();
    // Where many fill it alike, whoever is named is one of them.
    if fillers.is_empty() {
        return None;
    }
    let is_one = fillers.iter().any(|flow| {
        let ends = [("client", "client_port"), ("server", "server_port")];
        ends.iter()
            .all(|(host, port)| first[host] == flow[host][0] && first[port] == flow[host][1])
    });
    (!is_unseen && !is_one).then(|| format!("{first} does not fill it"))
}

#[test]
fn verdicts_are_right() {
    let labels = labels();
    assert!(labels.len() >= 12, "{} captures", labels.len());
    let wrong = labels.iter().filter_map(|label| {
        let file = text(&label["file"]);
        let faults = faults(label, &verdict(file));
        (!faults.is_empty()).then(|| format!("{file}: {}", faults.join("; ")))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
