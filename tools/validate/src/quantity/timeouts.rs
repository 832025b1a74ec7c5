//! Retransmission timeouts against the sender's own record of them.

use super::Quantity;
use crate::analysed::Row;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use unbloat_units::Delta;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "retransmission timeouts",
    beds: &["rto", "lossy", "mix"],
    definition: "Events `rto` of downlink data at the monitor, compared with the server kernel's entries into the state Loss. They are \
        matched one to one by connection and time: the monitor sees the copy one path delay after the timer expired. Also \
        shown: the paper's detector, Rss > 1.5 (events `slow_start`), which may be up to 1 s early or late. Neither tool \
        reports timeouts. Bounds apply to beds with at least 100 timeouts; the other beds show how many are reported where \
        there are almost none. The notes list false detections (precision) and missed timeouts (recall).",
    score,
};

const LOSS: u32 = 4;
/// The bounds are about that many.
const ENOUGH: usize = 100;
/// Between a decision of the kernel and its packet at the monitor, beyond the path's delay.
const LATENESS: Delta = Delta::ms(10);
/// Rss looks at 200 ms after the last duplicate ACK; a timeout as far as this from that ACK is taken
/// as found, although Linux, whose timer runs for at least 200 ms and a round trip after the last
/// ACK, sends again only when those 200 ms are over.
const AROUND: Delta = Delta::secs(1);

type Times = BTreeMap<Tuple, Vec<i64>>;

/// Timers that ran out; a repeated SYN-ACK enters Loss too, but that is not about data.
fn truth(bed: &Bed) -> Times {
    let mut times = Times::new();
    let losses = bed
        .truth
        .kernel
        .iter()
        .filter(|r| r.kind == "ca_state" && r.value == LOSS);
    for row in losses.filter(|r| r.srtt_us > 0 || r.snd_nxt.wrapping_sub(r.snd_una) != 1) {
        times.entry(row.tuple()).or_default().push(row.time_ns);
    }
    times.values_mut().for_each(|t| t.sort_unstable());
    times
}

fn ours(bed: &Bed, kind: &str) -> Times {
    let mut times = Times::new();
    let is_down = |event: &Row<'_>| event.text("side") == "down";
    for event in bed.at_monitor.events(kind).filter(is_down) {
        if let Some((tuple, time)) = bed
            .at_monitor
            .data_tuple(event)
            .zip(bed.at_monitor.time_ns(event))
        {
            times.entry(tuple).or_default().push(time);
        }
    }
    times.values_mut().for_each(|t| t.sort_unstable());
    times
}

/// Matches one to one, in time order; ours must lie within `earliest..=latest` of the truth.
/// Returns how many matched, and examples of those that did not.
fn matched(
    truth: &Times,
    ours: &Times,
    earliest: Delta,
    latest: Delta,
) -> (usize, Vec<String>, Vec<String>) {
    let [mut missed, mut invented] = [Vec::new(), Vec::new()];
    let mut found = 0;
    for (tuple, times) in ours {
        let mut left = truth.get(tuple).cloned().unwrap_or_default();
        for &time in times {
            let near = |&t: &i64| (earliest.as_ns()..=latest.as_ns()).contains(&(time - t));
            if let Some(at) = left.iter().position(near) {
                left.remove(at);
                found += 1;
            } else {
                invented.push(format!("{tuple} at {time}"));
            }
        }
        missed.extend(left.iter().map(|time| format!("{tuple} at {time}")));
    }
    let unseen = truth.iter().filter(|(tuple, _)| !ours.contains_key(tuple));
    missed.extend(
        unseen.flat_map(|(tuple, times)| times.iter().map(move |t| format!("{tuple} at {t}"))),
    );
    (found, missed, invented)
}

fn score(bed: &Bed) -> Vec<Score> {
    let truth = truth(bed);
    let n: usize = truth.values().map(Vec::len).sum();
    let latest = bed.plan.to_monitor() + LATENESS;
    let events = ours(bed, "rto");
    let told: usize = events.values().map(Vec::len).sum();
    let (found, missed, invented) = matched(&truth, &events, Delta::ZERO - LATENESS, latest);
    let slow_starts = ours(bed, "slow_start");
    let told_by_rss: usize = slow_starts.values().map(Vec::len).sum();
    let (found_by_rss, ..) = matched(&truth, &slow_starts, Delta::ZERO - AROUND, AROUND);
    let avoidable = bed.at_monitor.total("avoidable_rtos_down");
    let avoidable_share = share(avoidable, bed.at_monitor.total("rtos_down"));
    let examples = |score: Score, examples: &[String]| {
        examples
            .iter()
            .take(3)
            .fold(score, |score, example| score.note(example.as_str()))
    };
    let bounded = |score: Score| {
        if n < ENOUGH {
            score
        } else {
            score.at_least(0.95)
        }
    };
    let precision = Score::new("precision", Unit::Share, told, share(found, told));
    let recall = Score::new("recall", Unit::Share, n, share(found, n));
    vec![
        examples(bounded(precision), &invented),
        examples(bounded(recall), &missed),
        Score::new(
            "precision of Rss > 1.5",
            Unit::Share,
            told_by_rss,
            share(found_by_rss, told_by_rss),
        ),
        Score::new(
            "recall of Rss > 1.5",
            Unit::Share,
            n,
            share(found_by_rss, n),
        ),
        Score::new(
            "avoidable with SACK samples",
            Unit::Share,
            avoidable,
            avoidable_share,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_is_found_once() {
        let tuple = |port| Tuple {
            source: ([10, 0, 0, 1].into(), port),
            destination: ([10, 0, 0, 2].into(), 80),
        };
        let truth = Times::from([(tuple(1), vec![100, 200]), (tuple(2), vec![100])]);
        let ours = Times::from([(tuple(1), vec![105, 106, 300]), (tuple(3), vec![100])]);
        let (found, missed, invented) = matched(&truth, &ours, Delta::ZERO, Delta::ns(20));
        assert_eq!((found, missed.len(), invented.len()), (1, 2, 3));
    }
}
