//! For the fuzz target: what `tc` and reflectors answer, of any bytes.

use crate::{pinger, qdisc};
use unbloat_units::Rate;

/// The number of an echo reply of ours.
pub fn reply(packet: &[u8]) -> Option<u16> {
    pinger::reply(packet)
}

/// What `tc` would be told after it has listed disciplines and classes so; none where that holds no shaper.
pub fn told(listed: &str, classes: &str, rate: Rate) -> Option<Vec<Vec<String>>> {
    let shaper = qdisc::read("eth0", listed, || Ok(classes.to_owned())).ok()?;
    let words = [
        Some(shaper.words(Some(rate))),
        shaper.queue_words(Some(rate)),
    ];
    Some(words.into_iter().flatten().collect())
}
