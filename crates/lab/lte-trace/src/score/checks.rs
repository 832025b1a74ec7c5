//! Where the analysis can be right or wrong by itself: its numbers against the truth, flow by flow.

use super::check::{Bound, Check, mean, percent};
use super::joined::{Joined, Pair};
use super::seen::Seen;
use crate::truth::{SLOT, UserTruth};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use unbloat_stats::quantile;

/// All checks of a trace.
pub fn checks(seen: &Seen, users: &[UserTruth]) -> Vec<Check> {
    let joined = Joined::new(seen, users);
    let mut list = conserved(seen, &joined);
    list.extend(handshakes(&joined));
    list.extend(promotions(seen, &joined));
    list.extend(losses(&joined));
    list.extend(slow_starts(&joined));
    list.extend(ticks(&joined));
    list.extend(windows(&joined));
    list.extend(bandwidth(seen, &joined, users));
    list
}

const EXACT: &str = "every packet is in the capture once";

fn conserved(seen: &Seen, joined: &Joined<'_>) -> Vec<Check> {
    let pairs = &joined.pairs;
    let equal = pairs
        .iter()
        .filter(|pair| pair.seen.packets == pair.truth.packets);
    let closed = || {
        pairs
            .iter()
            .filter(|pair| pair.seen.is_closed && pair.truth.read.down > 0)
    };
    let bytes = closed().filter(|pair| pair.seen.unique_bytes == pair.truth.read);
    vec![
        Check::new(
            "section 3.1",
            "flows found, of flows with packets",
            percent(joined.found, joined.sent),
        )
        .bounded(Bound::AtLeast(100.0, EXACT)),
        Check::new(
            "section 3.1",
            "flows whose packets are counted exactly, both ways",
            percent(equal.count(), joined.sent),
        )
        .bounded(Bound::AtLeast(100.0, EXACT)),
        Check::new(
            "section 4.1",
            "closed flows whose bytes are those that applications read",
            percent(bytes.count(), closed().count()),
        )
        .bounded(Bound::AtLeast(
            100.0,
            "a connection closes after all is read",
        )),
        Check::new(
            "section 3.1",
            "packets that the parser could not read",
            Some(seen.skipped as f64),
        )
        .bounded(Bound::AtMost(0.0, EXACT)),
    ]
}

fn handshakes(joined: &Joined<'_>) -> Vec<Check> {
    let errors = joined.pairs.iter().filter_map(|pair| {
        let ms = pair.seen.handshake_up_ms?;
        Some((ms - pair.truth.core_rtt.as_ms()).abs())
    });
    let mut errors: Vec<f64> = errors.collect();
    vec![
        Check::new(
            "Fig. 7, section 4.2",
            "M-S or M-P, largest error",
            quantile(&mut errors, 1.0),
        )
        .bounded(Bound::AtMost(
            0.01,
            "the server's line takes 0.5 us for a SYN-ACK, times are kept to 1 us",
        )),
    ]
}

fn promotions(seen: &Seen, joined: &Joined<'_>) -> Vec<Check> {
    let judged = seen.promotions.iter().filter_map(|promotion| {
        let pair = joined.by_id(promotion.flow_id)?;
        let error = promotion.promotion_ms - pair.truth.promotion.as_ms();
        Some((error, 1e3 * pair.user.tick_s?))
    });
    let judged: Vec<(f64, f64)> = judged.collect();
    let errors: Vec<f64> = judged.iter().map(|(error, _)| *error).collect();
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    let within = judged
        .iter()
        .filter(|(error, tick)| error.abs() <= tick + GRANTS_MS);
    let check = |name, value| Check::new("section 4.2", name, value);
    vec![
        check("promotion delay, mean error", mean(&errors)),
        check(
            "promotion delay, 90th percentile of errors",
            quantile(&mut sizes, 0.9),
        ),
        check(
            "promotion delays right within a tick of the client's clock and 20 ms",
            percent(within.count(), judged.len()),
        )
        .bounded(Bound::AtLeast(
            90.0,
            "SYN and ACK wait up to 10 ms each for a grant; a tenth of blocks is sent again",
        )),
    ]
}

/// Two waits for an opportunity to ask for a grant.
const GRANTS_MS: f64 = 20.0;

fn losses(joined: &Joined<'_>) -> Vec<Check> {
    let sum = |of: fn(&Pair<'_>) -> u64| joined.pairs.iter().map(of).sum::<u64>();
    // A copy whose original was lost before the monitor is the first that passes it.
    let copies = sum(|pair| {
        let truth = pair.truth;
        truth
            .retransmissions
            .down
            .saturating_sub(truth.lost_before.down)
    });
    let counted = sum(|pair| pair.seen.retransmitted.down);
    let lost = sum(|pair| pair.truth.lost_before.down);
    let upstream = sum(|pair| pair.seen.upstream_loss_down);
    let disordered = sum(|pair| pair.seen.reordered_down + pair.seen.ambiguous_down);
    let relative = |ours: u64, truth: u64| {
        (truth > 0).then(|| 100.0 * (ours as f64 - truth as f64) / truth as f64)
    };
    vec![
        Check::new(
            "section 4.3",
            "packets sent again, counted more or fewer than sent",
            relative(counted, copies).map(f64::abs),
        )
        .bounded(Bound::AtMost(
            2.0,
            "copies that were lost before the monitor, too, are not in the capture",
        )),
        // A loss with nothing behind it leaves no gap; how many are such depends on the flows.
        Check::new(
            "section 4.3",
            "losses before the monitor, found more or fewer than happened",
            relative(upstream, lost).map(f64::abs),
        ),
        Check::new(
            "section 5",
            "packets called reordered or ambiguous; none were",
            Some(disordered as f64),
        ),
    ]
}

fn slow_starts(joined: &Joined<'_>) -> Vec<Check> {
    let by_rss = |pair: &&Pair<'_>| pair.seen.slow_starts_down > 0;
    let happened = |pair: &&Pair<'_>| !pair.truth.undesired.is_empty();
    let found = joined.large().filter(by_rss).count();
    let real = joined.large().filter(happened).count();
    let both = joined.large().filter(by_rss).filter(happened).count();
    let timeouts: usize = joined.large().map(|pair| pair.truth.timeouts.len()).sum();
    let rtos: u64 = joined.large().map(|pair| pair.seen.rtos_down).sum();
    vec![
        Check::new(
            "section 5",
            "large flows with Rss > 1.5 in which a timeout did break off a recovery",
            percent(both, found),
        ),
        Check::new(
            "section 5",
            "large flows with such a timeout that have Rss > 1.5",
            percent(both, real),
        ),
        Check::new(
            "section 5",
            "timeouts found in large flows, of those that expired",
            percent(rtos as usize, timeouts),
        ),
    ]
}

fn ticks(joined: &Joined<'_>) -> Vec<Check> {
    let errors = joined.large().filter_map(|pair| {
        let truth = 1e3 * pair.user.tick_s?;
        Some(100.0 * (pair.seen.tick_raw_ms? / truth - 1.0).abs())
    });
    let mut errors: Vec<f64> = errors.collect();
    vec![
        Check::new(
            "Fig. 18, section 6.1",
            "G of large flows, 95th percentile of errors",
            quantile(&mut errors, 0.95),
        )
        .bounded(Bound::AtMost(
            0.1,
            "the study's own figure for delta_G of 3 s",
        )),
    ]
}

fn windows(joined: &Joined<'_>) -> Vec<Check> {
    let full = |pair: &&Pair<'_>| pair.truth.window_full.is_some();
    let found = |pair: &&Pair<'_>| pair.seen.full_window_share > Some(0.0);
    let known = || {
        joined
            .pairs
            .iter()
            .filter(|pair| pair.seen.full_window_share.is_some())
    };
    let real = known().filter(full).count();
    let both = known().filter(full).filter(found).count();
    let seen = known().filter(found).count();
    vec![
        Check::new(
            "section 7.2",
            "flows whose sender met the window's end that are called full",
            percent(both, real),
        ),
        Check::new(
            "section 7.2",
            "flows called full whose sender met the window's end",
            percent(both, seen),
        ),
    ]
}

/// Estimates beside the throughput at the client as in Fig. 19: windows of 1.0 s and of 0.1 s about the same centres slide over what
/// arrived without a break, and each is compared with the estimate nearest to its centre. Rates in bit/s: estimate and throughputs.
fn beside_client(seen: &Seen, joined: &Joined<'_>, users: &[UserTruth]) -> Vec<[f64; 3]> {
    let mut estimates: BTreeMap<Ipv4Addr, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in &seen.bandwidth {
        if let Some(pair) = joined.by_id(sample.flow_id) {
            let at = (seen.first_ns + sample.time_ns) as f64 / SLOT.as_ns() as f64;
            let list = estimates.entry(pair.user.client).or_default();
            list.push((at, sample.bandwidth_bps));
        }
    }
    let mut found = Vec::new();
    for user in users {
        let Some(list) = estimates.get_mut(&user.client) else {
            continue;
        };
        list.sort_by(|one, other| one.0.total_cmp(&other.0));
        // A slot at either end, which transfers may fill in part.
        for slots in user.arrived.windows(LONG + 2) {
            let [first, .., last] = slots else { continue };
            if (last.0 - first.0) as usize > slots.len() - 1 {
                continue;
            }
            let bps = |part: &[(u32, u32)]| {
                let bytes: u32 = part.iter().map(|(_, bytes)| bytes).sum();
                8.0 * f64::from(bytes) / (part.len() as f64 * SLOT.as_secs())
            };
            let middle = slots.len() / 2;
            let centre = f64::from(slots[middle].0) + 0.5;
            let after = list.partition_point(|(at, _)| *at < centre);
            let near = list[after.saturating_sub(1)..].iter().take(2);
            let distance = |one: &(f64, f64)| (one.0 - centre).abs();
            let nearest = near.min_by(|one, other| distance(one).total_cmp(&distance(other)));
            if let Some(one) = nearest
                && distance(one) <= LONG as f64 / 2.0
            {
                let [long, short] = [&slots[1..=LONG], &slots[middle..=middle]].map(bps);
                found.push([one.1, long, short]);
            }
        }
    }
    found
}

/// Slots of a window of 1.0 s. An estimate beyond it is of other data.
const LONG: usize = 10;

fn bandwidth(seen: &Seen, joined: &Joined<'_>, users: &[UserTruth]) -> Vec<Check> {
    let found = beside_client(seen, joined, users);
    let errors = |of: usize| -> Vec<f64> {
        let relative = found.iter().map(|rates| rates[0] / rates[of] - 1.0);
        relative.map(|error| 100.0 * error).collect()
    };
    let sizes = |of| -> Vec<f64> { errors(of).into_iter().map(f64::abs).collect() };
    let close = found
        .iter()
        .filter(|[ours, long, _]| (ours - long).abs() <= 1e6);
    let check = |name, value| Check::new("Fig. 19, section 6.2", name, value);
    vec![
        check(
            "estimates against the client's throughput over 1.0 s, mean error",
            mean(&sizes(1)),
        ),
        check(
            "estimates against the client's throughput over 0.1 s, mean error",
            mean(&sizes(2)),
        ),
        check("over 1.0 s, bias", mean(&errors(1))),
        check(
            "over 1.0 s, windows with an error of at most 1 Mbit/s",
            percent(close.count(), found.len()),
        ),
    ]
}
