//! What casts doubt on a run of the page.

use super::stage::Base;
use super::{PageLoad, PageRun, StageNumbers, Watched};
use crate::load::Doubt;
use std::collections::BTreeSet;
use unbloat_units::{Direction, Rate};

const HIDDEN_MS: f64 = 500.0;
/// Lateness of the timer that sends: from here on the browser is busy, from there on too busy.
const BUSY_MS: f64 = 8.0;
const TOO_BUSY_MS: f64 = 50.0;
/// Of a stage's messages: where more than this are held back, by losses or by a busy browser, the fastest of a round is late for the same reason. On 15 emulated
/// paths the added delay was wrong by half and more in both stages above, and by a sixth at most in the five between a quarter and this.
const MOST_HELD: f64 = 0.4;
/// Of a stage's messages: beyond, the browser sent so few that what it measured is its own delay. Not calibrated: at two thirds the idle delay was wrong by
/// a second in one run on a busy machine, at half or less the verdict was right in four.
const MOST_SKIPPED: f64 = 0.5;
/// Failures that are repeated in words.
const MOST_FAILURES: usize = 5;

pub fn doubts(run: &PageRun, base: Option<Base>, stages: &[StageNumbers]) -> Vec<Doubt> {
    let watched = &run.watched;
    let mut all = of_page(watched);
    if let Some(standing) = base.and_then(|base| base.standing) {
        all.push(doubt(false, format!("a queue of {:.0} ms stood before the test started its load: other traffic uses the line, or a radio was asleep; added delay is relative to the minimum round-trip time of the run", standing.as_ms())));
    }
    all.extend(stages.iter().flat_map(|stage| of_answers(stage, watched)));
    all.extend(stages.iter().flat_map(|stage| of_loads(stage, watched)));
    let failures: BTreeSet<&String> = watched.failures.iter().collect();
    let failures = failures.into_iter().take(MOST_FAILURES);
    all.extend(failures.map(|failure| doubt(false, failure.chars().take(200).collect::<String>())));
    all.sort_by_key(|doubt| !doubt.is_fatal);
    all
}

fn doubt(is_fatal: bool, reason: impl Into<String>) -> Doubt {
    Doubt {
        is_fatal,
        reason: reason.into(),
    }
}

fn of_page(watched: &Watched) -> Vec<Doubt> {
    let mut all = Vec::new();
    if watched.hidden_ms > HIDDEN_MS {
        all.push(doubt(true, format!("the page was in the background for {:.1} s, where browsers slow it down: keep it in front", watched.hidden_ms / 1e3)));
    }
    let late = watched.late_p95_ms;
    if late > TOO_BUSY_MS {
        all.push(doubt(true, format!("the browser or its device was too busy (5 % of the messages left {late:.0} ms late or more): close other tabs and programs")));
    } else if late > BUSY_MS {
        all.push(doubt(false, format!("the browser was busy: 5 % of the messages left {late:.0} ms late or more, and answers may have waited as long")));
    }
    if watched.network_changed {
        all.push(doubt(
            true,
            "the device changed its network during the test",
        ));
    }
    if watched.lanes_lost > 0 {
        all.push(doubt(
            false,
            format!(
                "{} of the connections that measure delay broke",
                watched.lanes_lost
            ),
        ));
    }
    all
}

fn of_answers(stage: &StageNumbers, watched: &Watched) -> Vec<Doubt> {
    let mut all = Vec::new();
    let due = stage.seconds * 1e3 / watched.interval_ms.max(1.0);
    let came = stage.samples + stage.held;
    let during = during(stage.name);
    let skipped = 1.0 - (came + stage.unanswered) as f64 / due.max(1.0);
    if skipped > MOST_SKIPPED {
        all.push(doubt(
            true,
            format!("the browser or its device was too busy: it skipped {:.0} % of the messages {during}", 100.0 * skipped),
        ));
    } else if (stage.samples as f64) < 0.2 * due {
        all.push(doubt(
            true,
            format!(
                "only {} of {due:.0} messages measured the delay {during}",
                stage.samples
            ),
        ));
    } else if (came as f64) < 0.8 * due {
        all.push(doubt(
            false,
            format!("only {came} of {due:.0} messages came back {during}"),
        ));
    }
    let held = stage.held as f64 / (came.max(1)) as f64;
    if held > MOST_HELD {
        let why = match watched.late_p95_ms > BUSY_MS {
            true => {
                format!("answers came in bursts {during}: the browser or its device was too busy")
            }
            false => format!(
                "{:.0} % of the answers {during} waited for retransmissions, so a browser cannot measure the queue (`unbloat test` can)",
                100.0 * held
            ),
        };
        // What both loads do together is not graded.
        all.push(doubt(stage.name != PageLoad::Both, why));
    } else if held > 0.05 {
        all.push(doubt(false, format!("{:.0} % of the answers {during} waited for retransmissions on their connection and are excluded", 100.0 * held)));
    }
    if let Some(beyond) = stage.beyond_kernel() {
        all.push(doubt(
            stage.name != PageLoad::Both,
            format!(
                "messages {during} took {:.0} ms longer than the load's own packets, as measured by the server's kernel: the browser delayed them, or there is a proxy on the path (`unbloat test` measures without a browser)",
                beyond.as_ms()
            ),
        ));
    }
    let p95_ms = stage.p95().map_or(0.0, |p95| p95.as_ms());
    if stage.name == PageLoad::Idle && p95_ms > 30.0 {
        all.push(doubt(false, format!("idle delay was unsteady (p95 {p95_ms:.0} ms above the median): other traffic uses the network, or the radio signal is weak")));
    }
    if stage.growing {
        all.push(doubt(false, format!("the delay still grew at the end {during}: the buffer is larger than this test could fill, so added delay can be higher than measured")));
    }
    all
}

fn of_loads(stage: &StageNumbers, watched: &Watched) -> Vec<Doubt> {
    let mut all = Vec::new();
    let (loads, rates) = (stage.name.loads(), stage.rates());
    for direction in Direction::BOTH.into_iter().filter(|way| loads[*way]) {
        let (rate, word) = (rates[direction], direction.load());
        let during = during(stage.name);
        match rate.map(Rate::as_bps_f64) {
            Some(bps) if bps >= 1e3 => {
                if let Some(limit) = watched.limit_bps.filter(|limit| bps > 0.9 * limit) {
                    all.push(doubt(false, format!("the server's own limit of {} restricted the {word} {during}: the line may be faster, and may bloat at a higher rate", Rate::from_bps_f64(limit))));
                }
            }
            _ => all.push(doubt(
                stage.name != PageLoad::Both,
                format!("the {word} carried nothing {during}"),
            )),
        }
    }
    all
}

fn during(load: PageLoad) -> &'static str {
    match load {
        PageLoad::Idle => "without load",
        PageLoad::Down => "during the download",
        PageLoad::Up => "during the upload",
        PageLoad::Both => "during both loads",
    }
}
