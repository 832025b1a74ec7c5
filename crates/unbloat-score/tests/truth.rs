//! The bounds on short beds: needs root, and says so when it is skipped.
//!
//! The bounds are those of the full run (`docs/truth.md`) except where a comment below says why a
//! short run needs another.

use std::path::Path;
use unbloat_score::{Bed, QUANTITIES, Score, Tools};

const SEED: u64 = 7;

fn scores(name: &str, secs: u64, folder: &Path, tools: Tools) -> Vec<Score> {
    Bed::make(name, secs, SEED, folder).expect("the bed runs");
    let bed = Bed::read(name, folder, tools).expect("the bed can be read");
    QUANTITIES
        .iter()
        .flat_map(|quantity| quantity.score(&bed))
        .collect()
}

/// Seconds of each bed; only on small ones is tshark asked, which takes its time.
const BEDS: [(&str, u64, Tools); 5] = [
    ("lossy", 15, Tools::LeaveOut),
    ("steps", 20, Tools::LeaveOut),
    ("ticks-10", 10, Tools::LeaveOut),
    ("promotion", 20, Tools::Ask),
    ("rto", 40, Tools::LeaveOut),
];

/// How far a short run may leave the full run's bound.
fn is_close_enough(score: &Score) -> bool {
    let within = |most: f64| score.figure.is_some_and(|figure| figure <= most);
    match (score.quantity, score.measure) {
        // 1 % of some 300 losses is three packets, and each DSACK that is lost on its way is one.
        ("retransmissions", _) => within(0.03),
        // 0.1 % needs a window of 3 s without a queue that grows; ten seconds hold few of them.
        ("timestamp tick G", "largest error") => within(0.002),
        _ => false,
    }
}

#[test]
fn the_analyser_keeps_to_the_truth() {
    // SAFETY: geteuid has no conditions and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped 1 test: truth beds make namespaces and need root");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let all: Vec<Score> = BEDS
        .iter()
        .flat_map(|&(name, secs, tools)| scores(name, secs, &folder.path().join(name), tools))
        .collect();
    print!("{}", unbloat_score::table(&all));

    let missed: Vec<String> = all
        .iter()
        .filter(|score| !score.is_hit() && !is_close_enough(score))
        .map(Score::to_string)
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));

    let compared = |quantity, measure| {
        let found = all
            .iter()
            .find(|s| s.quantity == quantity && s.measure == measure);
        found.expect("it is scored").n
    };
    assert!(compared("gap fills", "told apart rightly") > 200);
    assert!(compared("handshake split", "largest difference") > 100);
    assert!(compared("promotion delay", "median error") >= 10);
    assert!(compared("retransmission timeouts", "recall") >= 100);
    assert!(compared("bandwidth", "mean error, windows of 1.0 s") >= 20);
}
