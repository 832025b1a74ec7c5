//! Laws of a real bed: needs root, and says so when it is skipped.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unbloat_bed::leftovers;
use unbloat_truth::{BedReport, Capture, RunParams, Scenario};

fn run(name: &str, seconds: u64, folder: &Path) -> BedReport {
    let seed = 5;
    let params = RunParams {
        scenario: Scenario::named(name, seed).expect("the scenario exists"),
        name: name.to_owned(),
        seed,
        length: Duration::from_secs(seconds),
        folder: folder.to_owned(),
        capture: Capture::Headers,
        kernel: true,
    };
    unbloat_truth::run(&params, &AtomicBool::new(false)).expect("the bed runs")
}

#[test]
fn a_bed_accounts_for_every_packet_and_leaves_nothing_behind() {
    if !unbloat_skip::is_root("a bed") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let report = run("lossy", 5, folder.path());

    let counts = report.counts;
    let dropped = counts.upstream + counts.tail + counts.downstream;
    assert!(counts.delivered > 2_000 && dropped > 10, "{report:?}");
    assert_eq!(
        (report.inside, report.refused, report.device_drops),
        (0, 0, 0)
    );
    assert_eq!(counts.delivered + dropped, counts.accepted);
    let tapped = packets(&folder.path().join("server.pcap"));
    assert_eq!((tapped, report.tap.missed), (report.tap.packets, 0));
    assert!(tapped > 4_000, "{report:?}");
    assert_eq!(rows(folder.path(), "drops.csv"), dropped);
    assert_eq!(
        packets(&folder.path().join("monitor.pcap")),
        counts.monitored
    );

    let kernel = report.kernel.expect("the kernel was recorded");
    assert_eq!(kernel.lost, 0);
    assert_eq!(rows(folder.path(), "kernel.csv"), kernel.events);
    assert!(rows(folder.path(), "workload.csv") >= 20);
    assert!(leftovers(std::process::id()).is_empty());
}

fn rows(folder: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(folder.join(name)).expect("the table is there");
    text.lines().count() as u64 - 1
}

/// Walks the records of a classic pcap file to its very end.
fn packets(capture: &Path) -> u64 {
    let bytes = fs::read(capture).expect("the capture is there");
    let mut at = 24;
    let mut count = 0;
    while at < bytes.len() {
        let kept = bytes[at + 8..at + 12].try_into().expect("four bytes");
        at += 16 + u32::from_le_bytes(kept) as usize;
        count += 1;
    }
    assert_eq!(at, bytes.len(), "the last record is whole");
    count
}
