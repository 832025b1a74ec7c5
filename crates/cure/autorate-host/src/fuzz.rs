//! For the fuzz target: what `tc` and reflectors answer, of any bytes.

use crate::{pinger, qdisc};
use std::net::Ipv4Addr;
use unbloat_units::Rate;

/// The number of an echo reply of ours, which nobody can make who has not seen what it answers.
pub fn reply(packet: &[u8]) -> Option<u16> {
    pinger::Asked::new(vec![Ipv4Addr::LOCALHOST]).reply(packet)
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
