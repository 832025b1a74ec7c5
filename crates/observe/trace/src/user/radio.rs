//! The state of a user's radio, and what it costs (§4.1 and §7, Fig. 4).
//!
//! A packet of either direction finds the radio on, or has it switched on, which takes a promotion.
//! After a packet the radio stays on for `tail`; another packet begins the tail anew. Silence of at
//! most `radio_active` counts as active time, longer silence as tail, and what goes beyond `tail` as
//! idle, but for the promotion at its end.
//!
//! ```text
//! packets   ||||| ||                                  |
//! state     active|tail ............|idle ...|promotion|tail ............|
//! ```
//!
//! # Where we differ
//! 1. Fig. 4 draws no promotion. Here it ends when its packet passes, which is true of packets from
//!    the client; one towards the client waits for its promotion after it has passed the monitor, so
//!    its tail ends later by as much as stands here too early.
//! 2. Whether the radio was on before a user's first packet is known only if the trace is by then
//!    longer than the tail; if it is not, no promotion is counted.
//! 3. The tail after the last packet counts in full, whatever the trace shows of it.
//! 4. Idle is free: paging wakes the radio with traffic or without.
//! 5. A late close costs what its packets add to the radio's energy. Other traffic may pay the same
//!    promotion or tail anyway, and a late close can even save the next promotion, so the sum over
//!    users is less than that of `close_energy_mj` over flows.

use crate::params::Params;
use unbloat_units::{Both, Delta, Time};

/// A radio between the user's first packet and now.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    promotions: u32,
    /// Silences longer than `radio_active`, and what of them was tail and promotion.
    silent: Delta,
    tail: Delta,
    promoting: Delta,
    /// Of users with late closes.
    late: Option<Box<Late>>,
}

/// What late closes cost.
#[derive(Clone, Debug, Default)]
struct Late {
    /// Their packets since the last packet of anything else.
    close: Option<LateClose>,
    avoidable_j: f64,
}

#[derive(Clone, Debug)]
struct LateClose {
    /// The last packet of anything else.
    useful: Time,
    /// Energy since then.
    spent_j: f64,
}

/// What a radio did between its user's first and last packet, and in the tail after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RadioSums {
    pub(super) promotions: u64,
    pub(super) active: Delta,
    pub(super) tail: Delta,
    pub(super) idle: Delta,
    pub(super) energy_j: f64,
    pub(super) avoidable_j: f64,
}

impl Radio {
    pub(super) fn new(now: Time, origin: Time, params: &Params) -> Radio {
        Radio {
            promotions: u32::from(now.since(origin) > params.tail),
            silent: Delta::ZERO,
            tail: Delta::ZERO,
            promoting: Delta::ZERO,
            late: None,
        }
    }

    /// A packet ends a silence longer than `radio_active`.
    #[cold]
    pub(super) fn on_silence(&mut self, silence: Delta, params: &Params) {
        let tail = silence.min(params.tail);
        self.silent += silence;
        self.tail += tail;
        self.promoting += params.power.promotion.min(silence - tail);
        self.promotions += u32::from(silence > params.tail);
    }

    /// Whether packets have to be shown to [`Radio::on_packet`] that belong to no late close.
    #[inline]
    pub(super) fn is_closing_late(&self) -> bool {
        self.late.as_ref().is_some_and(|late| late.close.is_some())
    }

    /// Takes in a packet `silence` after the user's one before it, which came at `last`.
    #[cold]
    pub(super) fn on_packet(
        &mut self,
        closes_late: bool,
        last: Time,
        silence: Delta,
        params: &Params,
    ) {
        let late = self.late.get_or_insert_default();
        let close = late.close.get_or_insert(LateClose {
            useful: last,
            spent_j: 0.0,
        });
        close.spent_j += silence_j(silence, params);
        if !closes_late {
            // Without the late close the same silence would have been one.
            let needed_j = silence_j(last.since(close.useful) + silence, params);
            late.avoidable_j += close.spent_j - needed_j;
            late.close = None;
        }
    }

    /// The sums, `span` being the time from the user's first packet to the last.
    pub(super) fn finish(&mut self, span: Delta, payload: Both<u64>, params: &Params) -> RadioSums {
        let power = &params.power;
        let active = span - self.silent;
        let tail = self.tail + params.tail;
        let on_j = power.active_w * active.as_secs() + power.tail_j(tail);
        let promotions_j = f64::from(self.promotions) * power.promotion_j();
        let late = *self.late.take().unwrap_or_default();
        let late_j = late.close.map_or(0.0, |close| close.spent_j);
        RadioSums {
            promotions: u64::from(self.promotions),
            active,
            tail,
            idle: self.silent - self.tail - self.promoting,
            energy_j: promotions_j + on_j + power.transfer_j(payload.down, payload.up),
            avoidable_j: late.avoidable_j + late_j,
        }
    }
}

/// Joules of a silence and of the promotion that may end it.
fn silence_j(silence: Delta, params: &Params) -> f64 {
    let power = &params.power;
    if silence <= params.radio_active {
        return power.active_w * silence.as_secs();
    }
    let promotion = if silence > params.tail {
        power.promotion_j()
    } else {
        0.0
    };
    power.tail_j(silence.min(params.tail)) + promotion
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Time {
        Time::default() + Delta::from_secs_f64(s)
    }

    /// A packet: when, and whether it belongs to a late close.
    type Packet = (f64, bool);

    /// What the radio of a user with these packets does.
    fn run(packets: &[Packet]) -> RadioSums {
        let params = Params::default();
        let start = at(packets[0].0);
        let mut last = start;
        let mut radio = Radio::new(start, at(0.0), &params);
        for &(s, closes_late) in &packets[1..] {
            let silence = at(s).since(last);
            if silence > params.radio_active {
                radio.on_silence(silence, &params);
            }
            if closes_late || radio.is_closing_late() {
                radio.on_packet(closes_late, last, silence, &params);
            }
            last = at(s);
        }
        radio.finish(last.since(start), Both::default(), &params)
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    const PROMOTION_J: f64 = 1.2107 * 0.2601;

    #[test]
    fn the_delayed_fin_of_fig_4_costs_a_promotion_and_a_tail() {
        let sums = run(&[(1.0, false), (13.0, true)]);
        assert_eq!((sums.promotions, sums.active), (1, Delta::ZERO));
        assert_eq!(sums.tail, Delta::secs(20));
        assert_eq!(sums.idle, Delta::us(2_000_000 - 260_100));
        assert!(close(sums.energy_j, PROMOTION_J + 20.0 * 1.06));
        assert!(close(sums.avoidable_j, PROMOTION_J + 10.0 * 1.06));
    }

    #[test]
    fn packets_in_short_succession_are_active_time() {
        let sums = run(&[(0.0, false), (0.1, false), (0.15, false)]);
        assert_eq!(sums.active, Delta::ms(150));
        assert_eq!((sums.promotions, sums.idle), (0, Delta::ZERO));
        assert!(close(sums.energy_j, 0.15 * 1.28804 + 10.6));
    }

    #[test]
    fn silences_of_more_than_the_active_time_are_tail() {
        let sums = run(&[(0.0, false), (0.5, false)]);
        let tail = Delta::ms(500) + Delta::secs(10);
        assert_eq!((sums.active, sums.tail), (Delta::ZERO, tail));
    }

    #[test]
    fn the_first_packet_promotes_if_the_radio_is_known_to_have_been_off() {
        assert_eq!(run(&[(20.0, false), (20.05, false)]).promotions, 1);
        assert_eq!(run(&[(10.0, false)]).promotions, 0);
    }

    #[test]
    fn a_silence_of_exactly_the_tail_needs_no_promotion() {
        assert_eq!(run(&[(0.0, false), (10.0, false)]).promotions, 0);
        let sums = run(&[(0.0, false), (10.1, false)]);
        // The promotion takes all of the idle time.
        assert_eq!((sums.promotions, sums.idle), (1, Delta::ZERO));
    }

    #[test]
    fn a_late_close_while_other_traffic_keeps_the_radio_on_costs_nothing() {
        let sums = run(&[(0.0, false), (2.0, true), (4.0, false)]);
        assert!(close(sums.avoidable_j, 0.0), "{}", sums.avoidable_j);
    }

    #[test]
    fn a_late_close_that_saves_the_next_promotion_is_credited_with_it() {
        let sums = run(&[(0.0, false), (8.0, true), (12.0, false)]);
        assert!(close(sums.avoidable_j, 2.0 * 1.06 - PROMOTION_J));
    }

    #[test]
    fn what_late_closes_cost_is_the_energy_with_them_less_that_without() {
        const GAPS: [f64; 4] = [0.03, 4.0, 9.0, 12.5];
        for case in 0..8_u32.pow(5) {
            let mut now = 0.0;
            let mut packets = vec![(now, false)];
            for i in 0..5 {
                let choice = case >> (3 * i) & 7;
                now += GAPS[choice as usize & 3];
                packets.push((now, choice & 4 != 0));
            }
            let useful: Vec<Packet> = packets.iter().copied().filter(|p| !p.1).collect();
            let (with, without) = (run(&packets), run(&useful));
            let difference = with.energy_j - without.energy_j;
            assert!(
                (with.avoidable_j - difference).abs() < 1e-6,
                "{packets:?}: {} but {difference}",
                with.avoidable_j
            );
        }
    }
}
