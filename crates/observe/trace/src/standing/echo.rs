//! Loops by echoes: from the first packet with a timestamp to the first packet of the other host that echoes it, both as they passed the
//! capture point.
//!
//! Only the capture's clock measures them. A host's clock may tick at any rate, drift, step or stand still: its timestamps only
//! show which packet answers which. They give a loop to each host, whichever of the two sends data.
//!
//! # References
//! RFC 7323 §4.3 (which segment is echoed); Pollere's pping and Strowes, "Passively measuring TCP round-trip times" (CACM 56(10), 2013), for
//! the method.
//!
//! # Where we differ
//! Those remember every timestamp. We keep a few a round trip, because a window of a quarter of a second needs no more.

use super::make_room;
use crate::tcp::since_micros;
use unbloat_units::Seq;

/// Timestamps of one host that wait for their echo.
#[derive(Clone, Default)]
pub(super) struct Stamps {
    /// The last one that was not older than the one before it.
    newest: Option<Seq>,
    /// How many in a row were older.
    older: u8,
    /// Two that wait passed at least so many microseconds apart.
    apart_us: u32,
    /// In the order in which they passed.
    waiting: Vec<Stamp>,
}

#[derive(Clone, Copy)]
struct Stamp {
    value: Seq,
    /// In microseconds of the flow's life, wrapping.
    sent_us: u32,
}

impl Stamps {
    /// So many wait at once, and so many samples a round trip gives at most.
    const WAITING: usize = 16;
    /// So many older ones in a row are no reordering: the clock was set, or another machine has taken the connection over.
    const STEPPED: u8 = 8;

    /// The host sends a packet with this timestamp.
    #[inline]
    pub(super) fn send(&mut self, value: Seq, now_us: u32) {
        if self.newest != Some(value) {
            self.send_another(value, now_us);
        }
    }

    #[inline]
    fn send_another(&mut self, value: Seq, now_us: u32) {
        let is_older = self.newest.is_some_and(|newest| value.before(newest));
        if is_older && self.older < Self::STEPPED {
            self.older += 1;
            return;
        }
        self.older = 0;
        self.newest = Some(value);
        if is_older {
            // Packets before this one may have had the same timestamp.
            return;
        }
        if let Some(last) = self.waiting.last()
            && now_us.wrapping_sub(last.sent_us) < self.apart_us
        {
            return;
        }
        if self.waiting.len() == Self::WAITING {
            self.thin();
        }
        make_room(&mut self.waiting);
        self.waiting.push(Stamp {
            value,
            sent_us: now_us,
        });
    }

    /// A round trip is longer than all that wait: half of them cover twice its time.
    #[cold]
    fn thin(&mut self) {
        let mut is_kept = false;
        self.waiting.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.apart_us = self.apart_us.max(500).saturating_mul(2);
    }

    /// The other host echoes this timestamp. Returns how long ago it passed, in microseconds, if nobody has asked before
    /// and the capture's clock was not set back meanwhile.
    #[inline]
    pub(super) fn echo(&mut self, value: Seq, now_us: u32) -> Option<u32> {
        let at = self.waiting.iter().position(|stamp| stamp.value == value)?;
        let since = since_micros(now_us, self.waiting[at].sent_us);
        // Those before it were never echoed, and will not be.
        self.waiting.drain(..=at);
        let loop_us = u32::try_from(since.as_us()).ok()?;
        self.apart_us = loop_us / Self::WAITING as u32;
        Some(loop_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops of a host whose packets `(ms, timestamp)` come back after `loop_ms`.
    fn loops(packets: impl Iterator<Item = (u32, u32)>, loop_ms: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut events: Vec<(u32, bool, u32)> = packets
            .flat_map(|(ms, value)| [(ms, true, value), (ms + loop_ms(ms), false, value)])
            .collect();
        events.sort_by_key(|&(ms, is_sent, _)| (ms, !is_sent));
        let mut stamps = Stamps::default();
        let mut found = Vec::new();
        for (ms, is_sent, value) in events {
            match is_sent {
                true => stamps.send(Seq::new(value), ms * 1_000),
                false => found.extend(stamps.echo(Seq::new(value), ms * 1_000)),
            }
        }
        found.iter().map(|us| us / 1_000).collect()
    }

    #[test]
    fn a_loop_is_measured_whatever_the_clock() {
        type Clock = fn(u32) -> u32;
        let clocks: [(&str, Clock); 5] = [
            ("1 kHz", |ms| ms),
            ("1 MHz, wraps", |ms| {
                (u32::MAX - 2_000_000).wrapping_add(ms * 1_000)
            }),
            ("10 Hz", |ms| ms / 100),
            ("steps back", |ms| if ms < 2_000 { 9_000 + ms } else { ms }),
            ("at random", |ms| ms.wrapping_mul(2_654_435_761)),
        ];
        for (name, clock) in clocks {
            let found = loops((0..5_000).map(|ms| (ms, clock(ms))), |ms| 40 + ms / 25);
            assert!(found.len() >= 40, "{name}: {}", found.len());
            // Of packets with the same timestamp it is the first that counts.
            assert!(
                found.iter().all(|ms| (40..=240).contains(ms)),
                "{name}: {found:?}"
            );
            assert!(found.last() > Some(&220), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_coarse_clock_that_steps_back_makes_no_loop_shorter() {
        for tick_ms in [100, 500, 1_000] {
            let clock = |ms| (if ms < 3_050 { 900_000 } else { 0 } + ms) / tick_ms;
            let packets = (0..20_000).step_by(20).map(|ms| (ms, clock(ms)));
            let found = loops(packets, |_| 160);
            assert!(found.len() as u32 + 8 > 20_000 / tick_ms, "{tick_ms} ms");
            assert!(found.iter().all(|&ms| ms == 160), "{tick_ms} ms: {found:?}");
        }
    }

    #[test]
    fn a_clock_that_stands_still_measures_nothing_but_its_first_packet() {
        assert_eq!(loops((0..5_000).map(|ms| (ms, 7)), |_| 40), [40]);
    }

    #[test]
    fn a_capture_whose_clock_is_set_back_measures_no_loop() {
        let mut stamps = Stamps::default();
        stamps.send(Seq::new(1), 500_000);
        assert_eq!(stamps.echo(Seq::new(1), 200_000), None);
        stamps.send(Seq::new(2), 210_000);
        assert_eq!(stamps.echo(Seq::new(2), 250_000), Some(40_000));
    }

    #[test]
    fn a_round_trip_of_any_length_is_sampled_in_bounded_memory() {
        for loop_ms in [1, 30, 700, 20_000] {
            let mut most = 0;
            let mut stamps = Stamps::default();
            let mut count = 0;
            for ms in 0..100_000_u32 {
                stamps.send(Seq::new(ms), ms * 1_000);
                most = most.max(stamps.waiting.len());
                let echoed = ms.checked_sub(loop_ms);
                count += u32::from(
                    echoed.is_some_and(|value| stamps.echo(Seq::new(value), ms * 1_000).is_some()),
                );
            }
            assert!(most <= Stamps::WAITING, "{loop_ms} ms: {most}");
            let round_trips = 100_000 / loop_ms;
            assert!(
                count >= 4 * round_trips.min(20_000),
                "{loop_ms} ms: {count}"
            );
        }
    }
}
