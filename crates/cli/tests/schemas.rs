//! What commands print with `--json` is as its published schema says.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn unbloat() -> Command {
    Command::new(env!("CARGO_BIN_EXE_unbloat"))
}

/// Fails if the document is not as `unbloat schema NAME` says, or says more than it.
fn check(name: &str, document: &str) {
    let printed = unbloat().args(["schema", name]).output().unwrap();
    let mut schema: Value = serde_json::from_slice(&printed.stdout).unwrap();
    let document: Value = serde_json::from_str(document).expect(document);
    let violations = unbloat_testkit::violations(&schema, &document);
    assert_eq!(violations, Vec::<String>::new(), "{name}: {document}");
    // A schema that allows anything proves nothing.
    schema["type"] = "string".into();
    let refusals = unbloat_testkit::violations(&schema, &document);
    assert_ne!(refusals, Vec::<String>::new(), "{name}");
}

fn printed(words: &str) -> String {
    let output = unbloat().args(words.split(' ')).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() != Some(1), "{words}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

const RATES: &str = "--interface eth0 --rate-down 20Mbit/s --rate-up 5Mbit/s";

#[test]
fn figures_of_papers_are_as_their_schema_says() {
    check("paper", &printed("paper cellnet2012 fig4 --json"));
    check("paper", &printed("paper imc2012 fig9 --json"));
}

#[test]
fn plans_of_sqm_are_as_their_schema_says() {
    check("sqm-plan", &printed(&format!("sqm plan {RATES} --json")));
    let tc_only = printed(&format!("sqm plan {RATES} --qdisc fifo --json"));
    check("sqm-plan", &tc_only);
}

#[test]
fn findings_of_sqm_are_as_their_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("sqm");
    let text =
        "config queue 'eth1'\n\toption enabled '1'\n\toption download '0'\n\toption upload '0'\n";
    std::fs::write(&config, text).unwrap();
    let findings = printed(&format!("sqm check {} --json", config.display()));
    assert!(findings.contains("\"reason\""), "{findings}");
    check("sqm-check", &findings);
}

#[test]
fn dry_runs_are_as_their_schema_says() {
    check(
        "dry-run",
        &printed("uplink --interface lo --dry-run --json"),
    );
}

#[test]
fn addresses_of_a_server_are_as_their_schema_says() {
    let mut server = unbloat()
        .args(["serve", "--listen", "127.0.0.1:0", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let read = BufReader::new(server.stdout.take().unwrap()).read_line(&mut line);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(read.unwrap() > 0);
    check("serve", &line);
}
