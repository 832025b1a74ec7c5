//! Promotion delays against the bed's radio.

use super::Quantity;
use crate::analysed::Row;
use crate::bed::Bed;
use crate::score::{Score, Unit};
use crate::statistics::quantile;
use crate::tuple::Tuple;
use std::collections::BTreeMap;

pub(super) const QUANTITY: Quantity = Quantity {
    name: "promotion delay",
    beds: &["promotion"],
    definition: "`promotion_ms` of each flow whose SYN started a promotion, against how long the bed held that SYN. \
        `T` is the bed's tail. Neither tool has such a figure.",
    score,
};

fn score(bed: &Bed) -> Vec<Score> {
    let first = bed.truth.promotions.iter().filter(|p| p.first);
    let mut truth: BTreeMap<(Tuple, u32), f64> = first
        .map(|p| ((p.tuple(), p.seq), p.promotion_ms))
        .collect();
    let mut errors = Vec::new();
    let mut invented = 0;
    for flow in bed.at_monitor.table("flows").rows() {
        let Some(ours) = flow.number("promotion_ms") else {
            continue;
        };
        let up = bed.at_monitor.data_tuple(flow).map(Tuple::reversed);
        let syn = up.and_then(|up| bed.monitor.of(up).next());
        match syn.and_then(|syn| truth.remove(&(syn.tuple, syn.seq))) {
            Some(theirs) => errors.push((ours - theirs).abs()),
            None => invented += 1,
        }
    }
    let flows = || bed.at_monitor.table("flows").rows();
    let silence_s = bed.path.radio.map_or(0.0, |radio| radio.tail.as_secs());
    let is_untold = |flow: &Row<'_>| {
        flow.number("promotion_ms").is_none()
            && flow.text("handshake") == "complete"
            && flow.number("silence_before_s") > Some(silence_s)
    };
    let tickless = flows().filter(is_untold).count();
    let n = errors.len();
    let median = quantile(&mut errors, 0.5);
    let p90 = quantile(&mut errors, 0.9);
    vec![
        Score::new("median error", Unit::Ms, n, median)
            .at_most(2.0)
            .note(format!("{invented} of ours without a promotion"))
            .note(format!(
                "{} promotions without our figure, {tickless} of them of complete handshakes after T of silence, whose client's tick was not known yet",
                truth.len()
            )),
        Score::new("90th percentile of errors", Unit::Ms, n, p90).at_most(10.0),
    ]
}
