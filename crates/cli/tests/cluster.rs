//! `unbloat cluster` as docs/cluster.md shows it.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the first block of code behind a heading of docs/cluster.md.
fn block(heading: &str) -> String {
    let text = fs::read_to_string(root().join("docs/cluster.md")).unwrap();
    let behind = text.split(heading).nth(1).expect(heading);
    behind.split("```").nth(1).expect(heading).to_owned()
}

/// Bytes of every table of a run.
fn tables(run: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut tables: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|name| name == "parquet"))
        .map(|file| {
            (
                file.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(&file).unwrap(),
            )
        })
        .collect();
    tables.sort();
    tables
}

fn sh(folder: &Path, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_unbloat")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with two captures in `caps`.
fn captures() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("caps")).unwrap();
    let shipped = root().join("captures/verdicts");
    let mut names: Vec<_> = fs::read_dir(shipped)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.retain(|name| name.to_string_lossy().ends_with(".pcap.zst"));
    names.sort();
    for (number, name) in names.iter().take(2).enumerate() {
        // The shell loop names captures without compression.
        let plain = format!("zstd -dq '{}' -o caps/{number}.pcap", name.display());
        sh(folder.path(), &plain);
    }
    folder
}

#[test]
fn the_shell_loop_of_the_documentation_writes_the_tables_of_one_process() {
    let folder = captures();
    sh(
        folder.path(),
        "unbloat analyze 'caps/*.pcap' --out one --quiet",
    );
    sh(folder.path(), &block("### A shell loop"));
    let (one, many) = (
        tables(&folder.path().join("one")),
        tables(&folder.path().join("run-1")),
    );
    assert!(one.len() > 10, "{} tables", one.len());
    for (wanted, found) in one.iter().zip(&many) {
        assert!(wanted == found, "{} and {} differ", wanted.0, found.0);
    }
    assert_eq!(one.len(), many.len());
    assert!(folder.path().join("run-1/report.html").exists());
}

#[test]
fn a_plan_is_printed_as_its_schema_says() {
    let folder = captures();
    sh(folder.path(), "unbloat cluster index job 'caps/*.pcap'");
    let plan = "unbloat cluster plan job --slices 3 --buckets 2 --json";
    let plan: Value = serde_json::from_str(&sh(folder.path(), plan)).unwrap();
    let schema = sh(folder.path(), "unbloat schema cluster-plan");
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(
        unbloat_testkit::violations(&schema, &plan),
        Vec::<String>::new()
    );
    assert_eq!(plan["slices"], 3);
    assert!(plan["packets"].as_u64().unwrap() > 1000, "{plan}");
}
