//! Round trips of echo requests over their sizes, on an idle line: what a line cuts packets into is seen in them.
//!
//! Sizes come in an order that chance gives each round, so that what slowly changes on the path looks like no size's.

use crate::ping::Pinger;
use fastrand::Rng;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_os::clock::{Clock, monotonic};
use unbloat_os::icmp::HEADER;
use unbloat_units::Delta;

/// Behind the header of ICMP: five cells of ATM, each size, since an overhead is told to the step between sizes.
const PAYLOADS: std::ops::RangeInclusive<usize> = 16..=256;
/// For each size; of these round trips the least counts, which is one that waited nowhere.
const ROUNDS: u32 = 16;
/// The longest one takes less on a line of 250 kbit/s.
const EVERY: Delta = Delta::ms(20);
/// For the last answers.
const PATIENCE: Delta = Delta::secs(1);

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echoed {
    pub ip_bytes: u32,
    pub round_trip: Delta,
}

/// A minute and a quarter of requests; ends early when `stop` is set. `progress` gets the share that is done. Unanswered requests are left out.
pub fn sweep(
    to: IpAddr,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> io::Result<Vec<Echoed>> {
    let clock = Clock::from(monotonic());
    let mut pinger = Pinger::open(SocketAddr::new(to, 0), clock)?;
    let ip_header = if to.is_ipv6() { 40 } else { 20 };
    let mut payloads: Vec<usize> = PAYLOADS.collect();
    let mut rng = Rng::with_seed(1);
    let (mut sent, mut due) = (Vec::new(), clock.now());
    for round in 0..ROUNDS {
        rng.shuffle(&mut payloads);
        progress(f64::from(round) / f64::from(ROUNDS));
        for &payload in &payloads {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            pinger.send(payload);
            sent.push((ip_header + HEADER + payload) as u32);
            due = (due + EVERY).max(clock.now());
            pinger.listen(due);
        }
    }
    pinger.listen(clock.now() + PATIENCE);
    let answers = sent.into_iter().zip(pinger.round_trips());
    let echoed = answers.filter_map(|(ip_bytes, answer)| {
        Some(Echoed {
            ip_bytes,
            round_trip: answer?,
        })
    });
    Ok(echoed.collect())
}
