//! Promotion delays against the bed's radio.

use super::Quantity;
use crate::analysed::Row;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::share;
use crate::tuple::Tuple;
use std::collections::BTreeMap;
use unbloat_stats::quantile;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "promotion delay",
    beds: &["promotion"],
    definition: "Each row of table `promotions`, matched by the SYN of its flow, compared with the time for which that SYN \
        waited for the radio. `T` is the tail of the bed. Neither tool reports promotion delays.",
    score,
};

fn score(bed: &Bed) -> Vec<Score> {
    let promotions = bed.truth.promotions.iter();
    let truth: BTreeMap<(Tuple, u32), f64> = promotions
        .map(|p| ((p.tuple, p.seq), p.promotion_ms))
        .collect();
    let promoted = |row: Row<'_>| {
        let up = bed.at_monitor.data_tuple(row).map(Tuple::reversed)?;
        let syn = bed.monitor.of(up).next()?;
        truth.get(&(syn.tuple, syn.seq))
    };
    let mut errors = Vec::new();
    let mut beyond_bound = 0;
    let mut invented = 0;
    for row in bed.at_monitor.table("promotions").rows() {
        let Some((ours, theirs)) = row.number("promotion_ms").zip(promoted(row)) else {
            invented += 1;
            continue;
        };
        let error = (ours - theirs).abs();
        beyond_bound += usize::from(row.number("promotion_error_ms") < Some(error));
        errors.push(error);
    }
    let syns = || {
        let flows = bed.at_monitor.table("flows").rows();
        flows.filter(|flow| promoted(*flow).is_some())
    };
    let is_complete = |flow: &Row<'_>| flow.text("handshake") == "complete";
    let silence_s = bed.plan.radio.map_or(0.0, |radio| radio.tail.as_secs());
    let is_silent = |flow: &Row<'_>| flow.number("silence_before_s") > Some(silence_s);
    let is_first = |flow: &Row<'_>| flow.number("silence_before_s").is_none();
    let asked = syns().filter(|f| is_complete(f) && is_silent(f)).count();
    let of_firsts = syns().filter(|f| is_complete(f) && is_first(f)).count();
    let broken = syns().filter(|f| !is_complete(f)).count();
    let early = syns()
        .filter(|f| f.number("promotion_ms").is_some())
        .count();
    let n = errors.len();
    let median = quantile(&mut errors, 0.5);
    let p90 = quantile(&mut errors, 0.9);
    let largest = quantile(&mut errors, 1.0).map_or_else(String::new, |ms| Unit::Ms.show(ms));
    vec![
        Score::new("median error", Unit::Ms, n, median)
            .at_most(2.0)
            .note(format!("{invented} rows without a promotion"))
            .note(format!("the largest error is {largest}, {beyond_bound} errors exceed their stated bound")),
        Score::new("90th percentile of errors", Unit::Ms, n, p90).at_most(10.0),
        Score::new("handshakes after T of silence with a figure", Unit::Share, asked, share(n, asked))
            .note(format!("{early} of the {n} were known at the end of their flow, the others later"))
            .note(format!(
                "{} promotions in total: {} started with a packet other than a SYN, {of_firsts} with the first packet of their user \
                 (the silence before it is unknown), {broken} with a SYN that was not answered or sent twice",
                truth.len(),
                truth.len() - syns().count(),
            )),
    ]
}
