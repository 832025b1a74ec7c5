//! The bounds on short beds: needs root.
//!
//! The bounds are those of the full run (`docs/truth.md`) except where a comment below says why a
//! short run needs another.

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;
use unbloat_units::Delta;
use unbloat_validate::{Bed, BedParams, BedReport, QUANTITIES, Score, Tools, make};

const SEED: u64 = 7;

fn made(name: &str, secs: i64, folder: &Path) -> BedReport {
    make(&BedParams {
        name,
        seed: SEED,
        length: Delta::secs(secs),
        folder,
        sender_log: Some(Path::new(env!("CARGO_BIN_EXE_unbloat-validate"))),
    })
    .expect("the bed runs")
}

/// Every packet is somewhere, and every row that was written is there.
fn assert_is_accounted_for(report: &BedReport, folder: &Path) {
    let rows = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).expect("the table is there");
        text.lines().count() as u64 - 1
    };
    let (crossed, lost) = (rows("path-packets.csv"), rows("path-drops.csv"));
    assert_eq!(crossed, report.delivered_packets);
    let ended = report.offered_packets - report.under_way_packets;
    assert_eq!(crossed + lost, ended, "{report:?}");
    assert!(report.monitor_packets <= report.offered_packets);
    assert!(report.monitor_packets >= crossed);
    assert!(report.server_packets > 1_000, "{report:?}");
    assert_eq!(rows("sender.csv"), report.sender_events);
    assert!(rows("connections.csv") >= 3);
}

fn scores(name: &str, secs: i64, folder: &Path, tools: Tools) -> Vec<Score> {
    let report = made(name, secs, folder);
    assert_is_accounted_for(&report, folder);
    let bed = Bed::read(name, folder, tools).expect("the bed can be read");
    QUANTITIES
        .iter()
        .flat_map(|quantity| quantity.score(&bed))
        .collect()
}

/// Seconds of each bed; only on a small one is tshark asked, which takes its time. With less than 30 s of
/// steps the mean over some 30 windows strays by 1 % from run to run. Ticks are known by the times of the first and the last packet of a
/// user, which a loaded machine sends late: 15 s were too few.
///
/// Beds wait for most of their time: two at once, one of each row, do not disturb each other. Both rows take as long.
const BEDS: [&[(&str, i64, Tools)]; 2] = [
    &[
        ("ticks-10", 45, Tools::LeaveOut),
        ("steps", 35, Tools::LeaveOut),
    ],
    &[
        ("rto", 40, Tools::LeaveOut),
        ("promotion", 25, Tools::Ask),
        ("lossy", 15, Tools::LeaveOut),
    ],
];

/// Of the few uplink losses of a short bed, 1 % is less than a packet: one DSACK may be lost.
fn is_close_enough(score: &Score) -> bool {
    let one_packet = 1.0 / score.n.max(1) as f64;
    score.quantity == "retransmissions" && score.figure.is_some_and(|figure| figure <= one_packet)
}

fn the_analyser_keeps_to_the_truth() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let all: Vec<Score> = thread::scope(|scope| {
        let running = BEDS.map(|beds| {
            let folder = folder.path();
            scope.spawn(move || {
                beds.iter()
                    .flat_map(|&(name, secs, tools)| scores(name, secs, &folder.join(name), tools))
                    .collect::<Vec<_>>()
            })
        });
        running
            .into_iter()
            .flat_map(|beds| beds.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    print!("{}", unbloat_validate::table(&all));

    let missed: Vec<String> = all
        .iter()
        .filter(|score| !score.is_hit() && !is_close_enough(score))
        .map(Score::to_string)
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));

    let scored = |quantity, measure| {
        let found = all
            .iter()
            .find(|s| s.quantity == quantity && s.measure == measure);
        found.expect("it is scored")
    };
    let compared = |quantity, measure| scored(quantity, measure).n;
    assert!(compared("gap fills", "classified correctly") > 200);
    assert!(compared("handshake split", "largest difference") > 100);
    let told = scored(
        "promotion delay",
        "handshakes after T of silence with a figure",
    );
    assert!(told.n >= 40 && told.figure >= Some(0.9), "{told}");
    let of_rto = |s: &&Score| s.bed == "rto" && s.measure == "recall";
    assert!(all.iter().find(of_rto).expect("it is scored").n >= 100);
    assert!(compared("bandwidth", "mean error, windows of 1.0 s") >= 200);
}

unbloat_testkit::main! {
    root("a bed") => [
        the_analyser_keeps_to_the_truth,
    ],
}
